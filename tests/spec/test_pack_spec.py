"""What `sutler pack` promises, through the front door."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sutler as api
from tests.conftest import Plant, Sutler

TREE = {
    "README.md": "# Wheel\n",
    "pyproject.toml": "[project]\nname = 'wheel'\n",
    "src": {"main.py": "def main() -> None: ...\n", "axle.py": "AXLES = 2\n"},
    "tests": {"test_axle.py": "def test_axle() -> None: ...\n"},
    ".gitignore": "*.tmp\n",
    "scratch.tmp": "no\n",
    ".env": "TOKEN=abc\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\0\0",
}
FORMATS = ("markdown", "xml", "json")


def shown(text: bytes | str) -> list[str]:
    return [section.path for section in api.parse(text).sections]


def test_packs_the_folder_it_stands_in(plant: Plant, sutler: Sutler) -> None:
    """`sutler pack` without a word packs this folder to stdout; stderr has the summary: its
    six lines, and one for each folder in which a name rule left files out."""
    ran = sutler("pack", cwd=plant(TREE))
    assert ran.code == 0
    assert shown(ran.out) == [
        "README.md",
        ".gitignore",
        "pyproject.toml",
        "src/axle.py",
        "src/main.py",
        "tests/test_axle.py",
    ]
    lines = ran.err.splitlines()
    assert len(lines) == 7
    assert "by name" in lines[2]
    assert "packed  6 of 9 files" in lines[0]
    for reason in ("1 binary", "1 credentials", "1 ignored"):
        assert reason in lines[1]


@pytest.mark.parametrize("format", FORMATS)
def test_unpack_gives_back_what_was_packed(
    plant: Plant, sutler: Sutler, tmp_path: Path, format: str
) -> None:
    """parse(render(x)) == x through the command line: bytes and executable bits, whatever the
    encoding.
    """
    folder = plant(
        {
            "crlf.txt": b"a\r\nb\rc\n",
            "bom.txt": b"\xef\xbb\xbfhello",
            "utf16.txt": "snow ☃\n".encode("utf-16"),
            "latin.txt": "caf\xe9\n".encode("latin-1"),
            "fence.md": "````\n```\n</file>\n## Manifest\n",
            "empty.txt": "",
            "sub dir/with 'quotes\".txt": "x",
            "run.sh": "#!/bin/sh\n",
        }
    )
    (folder / "run.sh").chmod(0o755)
    assert sutler("pack", "-f", format, "-o", "../pack", cwd=folder).code == 0
    assert sutler("unpack", "pack", "-d", "back", cwd=tmp_path).code == 0
    before = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    back = tmp_path / "back"
    after = {
        str(path.relative_to(back)): path.read_bytes() for path in back.rglob("*") if path.is_file()
    }
    assert after == before
    assert os.access(back / "run.sh", os.X_OK)
    assert not os.access(back / "empty.txt", os.X_OK)


def test_a_pack_of_a_pack_unpacks(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    """An earlier pack stays out as generated; one that is named is material like any other."""
    folder = plant({"a.md": "one\n"})
    inner = sutler("pack", cwd=folder).out
    (folder / "pack.md").write_bytes(inner)
    assert shown(sutler("pack", cwd=folder).out) == ["a.md"]
    assert "generated" in sutler("why", "pack.md", cwd=folder).text
    outer = sutler("pack", "a.md", "pack.md", cwd=folder).out
    assert shown(outer) == ["a.md", "pack.md"]
    assert sutler("unpack", "-", "-d", str(tmp_path / "out"), stdin=outer).code == 0
    assert (tmp_path / "out" / "pack.md").read_bytes() == inner


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2"},
        {"PYTHONHASHSEED": "3"},
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
        {"TZ": "Pacific/Apia"},
    ],
    ids=str,
)
def test_same_tree_same_bytes(plant: Plant, sutler: Sutler, env: dict[str, str]) -> None:
    """Whatever the hash seed, the locale or the time zone, the same tree gives the same bytes."""
    folder = plant(
        {**TREE, "naïve.txt": "é\n", **{f"d{i}/f{i}.py": f"x = {i}\n" for i in range(30)}}
    )
    plain = sutler("pack", "--max-tokens", "900", cwd=folder)
    assert plain.code == 0
    assert sutler("pack", "--max-tokens", "900", cwd=folder, env=env).out == plain.out


def test_readdir_order_does_not_show(plant: Plant, sutler: Sutler) -> None:
    """A scan that gets its names in another order gives the same bytes."""
    folder = plant({f"d{i % 7}/f{i}.py": f"x = {i}\n" for i in range(60)})
    shuffled = """
import os, random, sys
real = os.scandir
class Shuffled(list):
    def __init__(self, *where):
        with real(*where) as rows:
            super().__init__(rows)
        random.Random(5).shuffle(self)
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
os.scandir = Shuffled
from sutler.fronts.cli.main import run
sys.exit(run(["pack", "-q"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", shuffled], cwd=folder, capture_output=True, check=True, timeout=60
    )
    assert done.stdout == sutler("pack", "-q", cwd=folder).out


@pytest.mark.parametrize("format", ["markdown", "xml"])
@pytest.mark.parametrize("lines", [8, 8_000], ids=["small", "large"])
def test_worker_processes_do_not_show(
    plant: Plant, sutler: Sutler, format: str, lines: int
) -> None:
    """A tree, also one so large that worker processes build it, gives the same bytes and the same
    account on one core. The account has the pack's id, which covers every byte.
    """
    texts = {f"t{i}.md": f"{'`' * (i % 9)} é {i}\n" * lines for i in range(80)}
    odd = {
        "bom.txt": b"\xef\xbb\xbfmark\n",
        "latin.txt": b"caf\xe9\n",
        "no.bin": b"\0\1\2",
        "wide.txt": "x".encode("utf-16"),
        "a b.txt": "space",
        'q"uo`te.txt': "\n",
        "<x>&.txt": "x\n",
        "ä\n.txt": "x\r\n",
    }
    folder = plant(
        {**texts, **odd, "empty.txt": "", "no-newline.txt": "x", "a": {"b": {"c.py": "c = 1\n"}}}
    )
    (folder / "t1.md").chmod(0o755)
    words = f"pack -q --no-budget --cut-over 200k --json -f {format}".split()
    (folder / "cut.txt").write_text("line\n" * 50_000)
    without = f"""
import os, sys
os.sched_getaffinity = lambda _: {{0}}
from sutler.fronts.cli.main import run
sys.exit(run({words}))
"""
    done = subprocess.run(
        [sys.executable, "-c", without], cwd=folder, capture_output=True, check=True, timeout=60
    )
    there, absent = (
        json.loads(out)["report"] for out in (sutler(*words, cwd=folder).out, done.stdout)
    )
    assert there == absent
    assert (len(there["shown"]), len(there["excluded"])) == (91, 1)
    assert {one["path"] for one in there["shown"] if one["level"] != "full"} == {"cut.txt"}


def test_one_changed_file_changes_its_section_and_the_manifest(
    plant: Plant, sutler: Sutler
) -> None:
    """A second run over an unchanged tree is byte-identical; a change stays local, so prompt caches
    hold.
    """
    folder = plant(TREE)
    before = sutler("pack", cwd=folder).text
    assert sutler("pack", cwd=folder).text == before
    (folder / "src/axle.py").write_text("AXLES = 3\n")
    after = sutler("pack", cwd=folder).text
    changed = [(a, b) for a, b in zip(before.split("\n"), after.split("\n"), strict=True) if a != b]
    assert changed[0] == ("AXLES = 2", "AXLES = 3")
    assert [json.loads(b).get("path", "end") for _, b in changed[1:]] == ["src/axle.py", "end"]


def test_a_pack_does_not_pack_the_pack_before_it(plant: Plant, sutler: Sutler) -> None:
    """-o inside the tree: the second run gives the same bytes."""
    folder = plant(TREE)
    for words in (["-o", "pack.md"], ["-o", "part.md", "--split", "20k"]):
        written = "pack.md" if len(words) == 2 else "part.1.md"
        assert sutler("pack", *words, cwd=folder).code == 0
        first = (folder / written).read_bytes()
        assert sutler("pack", *words, cwd=folder).code == 0
        assert (folder / written).read_bytes() == first
        (folder / written).unlink()


def test_budget_flags(plant: Plant, sutler: Sutler) -> None:
    folder = plant({f"f{i}.py": f"value = {i}\n" * 200 for i in range(30)})
    for flag, limit, count in (
        ("--max-chars", 6_000, len),
        ("--max-bytes", 6_000, lambda text: len(text.encode())),
    ):
        ran = sutler("pack", flag, str(limit), cwd=folder)
        assert ran.code == 0
        assert count(ran.text) <= limit
    assert len(sutler("pack", "--tier", "cheap", cwd=folder).text) <= 25_000
    ran = sutler("pack", "--max-tokens", "2k", "--json", cwd=folder)
    assert json.loads(ran.out)["report"]["used"] <= 2_000
    assert len(shown(sutler("pack", "--no-budget", cwd=folder).out)) == 30


def test_required_text_over_the_budget_is_refused(plant: Plant, sutler: Sutler) -> None:
    """Exit 3 with the figures, and not a silently broken prompt."""
    ran = sutler("pack", "--max-tokens", "300", "--goal", "mend " * 500, cwd=plant(TREE))
    assert (ran.code, ran.out) == (3, b"")
    assert "the required text costs" in ran.err
    assert "and the budget is 300" in ran.err


def test_the_goal_stands_in_the_pack(plant: Plant, sutler: Sutler) -> None:
    folder = plant(TREE)
    for ran in (
        sutler("pack", "--goal", "mend the axle", cwd=folder),
        sutler("pack", "--goal", "-", cwd=folder, stdin=b"mend the axle"),
    ):
        assert api.parse(ran.out).preamble.goal.text == "mend the axle"


def test_several_paths_files_and_folders_mixed(plant: Plant, sutler: Sutler) -> None:
    """Named files bypass ignore rules, but not credentials."""
    folder = plant(TREE)
    ran = sutler("pack", "src", "scratch.tmp", "README.md", ".env", "--mode", "ignore", cwd=folder)
    assert ran.code == 0
    assert sorted(shown(ran.out)) == ["README.md", "scratch.tmp", "src/axle.py", "src/main.py"]
    assert "1 credentials" in ran.err


def test_stdin_lists_files(plant: Plant, sutler: Sutler) -> None:
    folder = plant(TREE)
    for names in (
        b"src/axle.py\nREADME.md\n",
        b"src/axle.py\0README.md\0",
        b"src/axle.py\r\nREADME.md",
    ):
        assert shown(sutler("pack", "--stdin", cwd=folder, stdin=names).out) == [
            "README.md",
            "src/axle.py",
        ]


def test_another_repository_is_its_own_root(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    """Inside one repository paths stay relative to where the user stands; a folder in none, and
    another repository, is a root of its own.
    """
    plant(TREE)
    assert "src/axle.py" in shown(sutler("pack", "project", cwd=tmp_path).out)
    (tmp_path / ".git").mkdir()
    assert "project/src/axle.py" in shown(sutler("pack", "project", cwd=tmp_path).out)
    (tmp_path / "project" / ".git").mkdir()
    assert "src/axle.py" in shown(sutler("pack", "project", cwd=tmp_path).out)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-i", "*.py"], ["src/axle.py", "src/main.py", "tests/test_axle.py"]),
        (["-i", "src/"], ["src/axle.py", "src/main.py"]),
        (["-e", "*.py", "-e", ".gitignore"], ["README.md", "pyproject.toml"]),
        (["-i", "*.{md,toml}"], ["README.md", "pyproject.toml"]),
        (["-d", "0"], ["README.md", ".gitignore", "pyproject.toml"]),
        (["--max-files", "1"], ["README.md"]),
        (
            ["--no-hidden"],
            ["README.md", "pyproject.toml", "src/axle.py", "src/main.py", "tests/test_axle.py"],
        ),
    ],
)
def test_selection_flags(
    plant: Plant, sutler: Sutler, words: list[str], expected: list[str]
) -> None:
    assert shown(sutler("pack", *words, cwd=plant(TREE)).out) == expected


def test_split_parts_are_complete_packs(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    folder = plant({f"f{i}.py": f"value = {i}\n" * 40 for i in range(20)})
    ran = sutler("pack", "--split", "4k", "-o", "../out.md", cwd=folder)
    assert ran.code == 0
    parts = sorted(tmp_path.glob("out.*.md"))
    assert len(parts) > 2
    assert all(part.stat().st_size <= 4_000 for part in parts)
    assert sutler("unpack", *map(str, parts), "-d", "back", cwd=tmp_path).code == 0
    assert len(list((tmp_path / "back").iterdir())) == 20
    assert sutler("unpack", str(parts[0]), "-d", "half", cwd=tmp_path).code == 2


def test_line_numbers_unpack_to_the_same_file(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    folder = plant({"a.py": "one\ntwo"})
    ran = sutler("pack", "-n", cwd=folder)
    assert "    2| two" in ran.text
    assert sutler("unpack", "-", "-d", "back", cwd=tmp_path, stdin=ran.out).code == 0
    assert (tmp_path / "back/a.py").read_text() == "one\ntwo"


def test_config_from_every_place(plant: Plant, sutler: Sutler) -> None:
    """defaults < user < project < environment < flags, each shown with its origin."""
    folder = plant({**TREE, "sutler.toml": "format = 'xml'\ndepth = 0\n"})
    ran = sutler("config", "--json", cwd=folder, env={"SUTLER_MAX_TOKENS": "7k"})
    settings = json.loads(ran.out)["settings"]
    assert (settings["format"]["value"], settings["format"]["origin"]) == ("xml", "sutler.toml")
    assert (settings["max_tokens"]["value"], settings["max_tokens"]["origin"]) == (
        7_000,
        "environment",
    )
    assert settings["hidden"]["origin"] == "default"
    assert sutler("pack", "-f", "json", cwd=folder).out.startswith(b"{")


def test_a_project_cannot_widen(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("pack", cwd=plant({**TREE, "sutler.toml": "default_excludes = false\n"}))
    assert ran.code == 2
    assert "sutler.toml:1: 'default_excludes' may not be set by a project" in ran.err


def test_dot_env_changes_nothing(plant: Plant, sutler: Sutler) -> None:
    """T24: settings are never read from a .env file."""
    folder = plant({**TREE, ".env": "SUTLER_FORMAT=json\nSUTLER_DEPTH=0\n"})
    assert sutler("pack", cwd=folder).out.startswith(b"# sutler pack")


def test_python_api(plant: Plant) -> None:
    """sutler.Project(path).pack(...) gives the same bytes as the command line."""
    folder = plant(TREE)
    pack = api.Project(folder).pack(max_tokens=3_000, exclude=["tests/"])
    text = pack.text()
    assert pack.report.tokens is not None
    assert pack.report.tokens <= 3_000
    assert "tests/test_axle.py" not in shown(text)
    assert {str(one.path): one.reason for one in pack.report.shown}["README.md"] == "entry document"


def test_reports_may_not_be_read_early(plant: Plant) -> None:
    with pytest.raises(api.SutlerError, match="has not been read yet"):
        _ = api.Project(plant(TREE)).pack().report


@pytest.mark.parametrize(
    ("words", "level"), [((), "outline"), (("--no-budget",), "head_tail"), (("-n",), "head_tail")]
)
def test_large_code_shows_its_outline_where_a_budget_limits(
    plant: Plant, sutler: Sutler, words: tuple[str, ...], level: str
) -> None:
    code = "".join(f"def step_{n}(value):\n    return value + {n}\n\n" for n in range(2_000))
    ran = sutler("pack", *words, cwd=plant({"steps.py": code}))
    assert [one.level for one in api.parse(ran.out).sections] == [level]


def test_settings_of_tools_take_no_room_from_the_project(plant: Plant, sutler: Sutler) -> None:
    """Names and folders that begin with a dot stand behind files of the same kind without one."""
    hidden = {".chglog/config.yml": "a: 1\n" * 100, "ui/.storybook/main.yml": "b: 1\n" * 100}
    shown = {"deploy/values.yml": "c: 1\n" * 100, "tests/test_a.py": "d = 1\n" * 100}
    folder = plant({**hidden, **shown})
    short = api.parse(sutler("pack", "--max-chars", "2600", cwd=folder).out).sections
    assert {str(one.path) for one in short} == set(shown)


FORMAL = ("LICENSE", "README.zh-CN.md", "CHANGELOG.md", ".github/workflows/ci.yml")


def test_what_explains_the_code_comes_before_rights_and_versions(
    plant: Plant, sutler: Sutler
) -> None:
    """Where room is short a licence, a changelog, a translation or a workflow takes none from code,
    documents or tests; where there is room they stand at the end."""
    files = {"cart.py": "a = 1\n", "guide.md": "How.\n", "tests/test_cart.py": "b = 1\n"}
    read = {".github/README.md": "# Cart\n"}
    folder = plant({**files, **read, **dict.fromkeys(FORMAL, "long text\n" * 90)})
    order = [one.path for one in api.parse(sutler("pack", cwd=folder).out).sections]
    assert (order[0], set(order[-4:])) == (".github/README.md", set(FORMAL))
    short = api.parse(sutler("pack", "--max-chars", "2300", cwd=folder).out).sections
    assert {one.path for one in short} == {*files, *read}


def test_parts_hold_the_whole_project(plant: Plant, sutler: Sutler) -> None:
    """The default limit is for one file: parts hold everything, unless a limit is given."""
    folder = plant({f"f{number:02}.txt": f"{number:02} line\n" * 4_000 for number in range(20)})
    ran = sutler("pack", "--split", "200k", "-o", "../out.md", "--json", cwd=folder)
    assert len(json.loads(ran.out)["report"]["shown"]) == 20
    parts = [api.parse(part.read_bytes()) for part in folder.parent.glob("out.*.md")]
    assert sum(len(part.sections) for part in parts) == 20
    limited = ("--max-bytes", "100k", "-o", "../few.md", "--json")
    ran = sutler("pack", "--split", "50k", *limited, cwd=folder)
    whole = [one for one in json.loads(ran.out)["report"]["shown"] if one["level"] == "full"]
    assert 1 <= len(whole) <= 3
