from __future__ import annotations

import pytest

from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import FileEntry
from sutler.survey.code import code_facts
from sutler.survey.graph import users
from sutler.survey.risks import ENOUGH_HOTSPOTS, MAX_HOTSPOTS, hotspots
from sutler.survey.wire import RiskHotspot


def spots(files: dict[str, str]) -> list[RiskHotspot]:
    entries = [
        (FileEntry(RelPath(path), len(text)), facts_of(path))
        for path, text in sorted(files.items())
    ]
    code = {path: code_facts(path, text) for path, text in files.items()}
    sources = {path: (facts_of(path).language, text) for path, text in files.items()}
    return list(hotspots(entries, files, code, users(sources)))


@pytest.mark.parametrize(
    ("path", "text", "indicator"),
    [
        ("a.py", "x\neval(y)", "eval of a string (line 2)"),
        ("a.py", "run(x, shell=True)", "subprocess through a shell (line 1)"),
        ("a.py", "pickle.loads(x)", "deserialises untrusted data (line 1)"),
        ("a.py", "yaml.load(x)", "yaml.load without a safe loader (line 1)"),
        ("a.py", "get(u, verify=False)", "TLS verification off (line 1)"),
        ("a.py", 'q = "SELECT a FROM b WHERE c=" + d', "SQL built from strings (line 1)"),
        ("a.py", 'q = f"select a from {b}"', "SQL built from strings (line 1)"),
        ("a.js", "el.innerHTML = x", "raw HTML injected (line 1)"),
        ("a.go", "InsecureSkipVerify: true", "TLS verification off (line 1)"),
        ("a.rs", "unsafe { x }", "unsafe block (line 1)"),
        ("a.c", "strcpy(a, b);", "unbounded string function (line 1)"),
        ("a.php", "unserialize($x);", "runs or deserialises input (line 1)"),
        ("a.rb", "Marshal.load(x)", "deserialises or bypasses escaping (line 1)"),
        ("a.py", "h = md5(password.encode())", "weak hash (line 1)"),
        ("a.php", "<?php\nreturn sha1($user->api_key . $salt);", "weak hash (line 2)"),
        ("a.ts", 'const password = "hunter22"', "credential in the source (line 1)"),
    ],
)
def test_security_indicators(path: str, text: str, indicator: str) -> None:
    found = spots({path: text})
    assert [(spot.risk_type, spot.indicators) for spot in found] == [("security", (indicator,))]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "# eval(x)\nself.evaluate(x)\nmodel.eval()"),
        ("a.py", "yaml.load(x, Loader=SafeLoader)"),
        ("test_a.py", "eval(x)"),
        ("a_pb2.py", "eval(x)"),
        ("vendor/a.py", "eval(x)"),
        ("a.md", "eval(x)"),
        ("a.py", "name = md5(url.encode()).hexdigest()"),
        ("a.py", "token = md5(token, usedforsecurity=False)"),
        ("a.py", "class SHA1(Digest): ...\ndef md5(password): ..."),
        ("a.js", "throw Error('Update the settings in ' + name)"),
        ("a.js", "const FORM = () => ({\n" + "  field: text(),\n" * 90 + "})\n"),
    ],
)
def test_what_is_no_risk(path: str, text: str) -> None:
    assert spots({path: text}) == []


@pytest.mark.parametrize(
    "text",
    [
        "'SELECT ' + rows",
        "'select name from ' + table",
        "'update users set ' + x",
        "'delete from ' + t",
    ],
)
def test_statements_built_from_strings(text: str) -> None:
    (spot,) = spots({"a.js": f"run({text})"})
    assert spot.indicators == ("SQL built from strings (line 1)",)


def test_performance() -> None:
    loops = "for a in b:\n    for c in d:\n        for e in f:\n            pass\n"
    assert spots({"a.py": loops})[0].indicators == ("three nested loops (line 3)",)
    assert (
        spots({"a.py": "for a in b:\n    pass\nfor c in d:\n    for e in f:\n        pass\n"}) == []
    )
    assert spots({"a.js": "fs.readFileSync(x)"})[0].risk_type == "performance"


def test_complexity() -> None:
    body = "def long():\n" + "    if x: pass\n" * 200 + "y = 1\n" * 700
    (spot,) = spots({"a.py": body})
    assert (spot.risk_type, spot.indicators) == (
        "complexity",
        ("long: 200 branches, 201 lines (line 1)", "901 lines", "200 branches in the file"),
    )


BRANCHES = "if x:\n    y = 1\n" * 6


def test_coupling_out_and_in() -> None:
    """A file without branches declares names: its users are no risk."""
    foreign = "".join(f"import m{n}\n" for n in range(30))
    own = "".join(f"import u{n}\n" for n in range(12)) + BRANCHES
    files = (
        {"a.py": foreign + own + "".join(f"import v{n}\n" for n in range(15))}
        | {f"v{n}.py": "y = 1\n" for n in range(15)}
        | {f"u{n}.py": "from core.base import x\n" for n in range(12)}
        | {"core/base.py": "x = 1\n" * 100 + BRANCHES}
        | {f"w{n}.py": "from core.names import x\n" for n in range(12)}
        | {"core/names.py": "x = 1\n" * 100}
    )
    found = {spot.path: spot.indicators for spot in spots(files) if spot.risk_type == "coupling"}
    assert found == {
        "a.py": ("uses 27 files of the project",),
        "core/base.py": ("used by 12 files",),
    }


def test_a_project_without_long_functions_shows_its_branching_ones() -> None:
    plain = "def f{n}(x):\n" + "    if x:\n        x = 1\n" * 7
    files = {f"m{n}.py": plain.format(n=n) for n in range(9)} | {
        "flat.py": "def g(x):\n    x = 1\n"
    }
    found = spots(files)
    assert [spot.path for spot in found] == [f"m{n}.py" for n in range(ENOUGH_HOTSPOTS)]
    assert found[0].indicators == ("f0: 7 branches, 15 lines (line 1)",)
    long = "def h(x):\n" + "    if x:\n        x = 1\n" * 40
    assert next(spot.path for spot in spots({"long.py": long} | files)) == "long.py"


def test_a_file_without_functions_has_its_branches_counted() -> None:
    found = spots({"run.sh": "if x; then\n  y\nfi\n" * 20})
    assert found[0].indicators == ("20 branches in 60 lines",)


def test_a_header_is_not_coupled_beside_its_source() -> None:
    body = "    if (x) { x = 1; }\n" * 30 + "}\n" + "\n" * 60
    use = '#include "part.h"\nint f(void) { return first(1); }\n'
    found = spots(
        {f"u{n}.c": use for n in range(12)}
        | {"part.c": "int first(int x) {\n" + body}
        | {"part.h": "int first(int x);\nstatic inline int next(int x) {\n" + body}
    )
    assert [spot.path for spot in found if spot.risk_type == "coupling"] == ["part.c"]


def test_a_shell_script_that_runs_what_it_loads() -> None:
    files = {"run.sh": 'eval "$1"\ncurl -s $url | sudo bash\nrm -rf $dir\necho eval\n'}
    assert spots(files)[0].indicators == (
        "eval of a string (line 1)",
        "runs what it downloads (line 2)",
        "removes the folder of a variable (line 3)",
    )


def test_at_most_twenty_most_indicators_first() -> None:
    files = {f"f{n:02}.py": "eval(x)\n" for n in range(30)} | {"z.py": "eval(x)\nexec(y)\n"}
    found = spots(files)
    assert (len(found), found[0].path) == (MAX_HOTSPOTS, "z.py")


def test_comments_strings_and_copies_are_no_risk() -> None:
    files = {
        "a.py": '"""Never eval(x)."""\n# eval(x)\nHELP = "use eval(x) with care"\n',
        "static/jquery-3.6.0.js": "eval(x)\n",
        "gen.py": "# Code generated by x. DO NOT EDIT.\neval(x)\n",
        "tests/test_a.py": "eval(x)\n",
        "examples/b.py": "eval(x)\n",
    }
    assert spots(files) == []


def test_vendored_code_and_the_history_of_a_database_are_no_hotspots() -> None:
    text = "def run():\n    eval(x)\n"
    files = {"assets/vendors/a.py": text, "db/migrations/1.py": text, "app/b.py": text}
    assert [spot.path for spot in spots(files)] == ["app/b.py"]


def test_a_label_is_no_credential() -> None:
    assert spots({"a.py": 'PASSWORD = "Password"\n'}) == []
    marked = spots({"a.py": 'PASSWORD = "[REDACTED:password:1]"\n'})
    assert marked[0].indicators == ("credential in the source (line 1)",)
