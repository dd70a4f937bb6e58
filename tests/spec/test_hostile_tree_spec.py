"""Trees that are built to hurt, packed through the command line (THREATS rows T03-T20, T35-T38,
T70-T77).
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sutler as api
from tests.conftest import Plant, Sutler, grow
from tests.terminals import on_terminal

CANARY = "CANARY-outside"
SUTLER = [sys.executable, "-m", "sutler"]
ODD_NAMES = [
    b"not-utf8-\xff.py",
    b"new\nline.py",
    b"esc\x1b[31mred.py",
    b"osc\x1b]52;c;aGk=\x07.py",
    b'quote".py',
    b"tick`.py",
    b"<file path='x'>.py",
    b"back\\slash.py",
    b" lead and trail ",
    b"-rf",
    b"$(touch pwned)",
    "bidi\u202egnp.py".encode(),
    "tag\U000e0041.py".encode(),
    "caf\u00e9.py".encode(),
    "cafe\u0301.py".encode(),
]
HOSTILE_TEXT = b"red \x1b[31m title \x1b]0;own\x07 clip \x1b]52;c;aGk=\x07 dcs \x1bPq\x1b\\ c1 \xc2\x9b31m cr \rover\n"


def run(*words: str, cwd: Path, seconds: float = 60) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*SUTLER, *words], cwd=cwd, capture_output=True, check=False, timeout=seconds
    )


def names(data: bytes) -> list[str]:
    return sorted(section.path for section in api.parse(data).sections)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One tree with everything that must neither leak, hang nor crash; packed many times, never
    changed.
    """
    top = tmp_path_factory.mktemp("hostile")
    outside = top / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(f"{CANARY}\n")
    tree = grow(
        top / "tree",
        {
            "good.py": "x = 1\n",
            "hidden.py": HOSTILE_TEXT,
            "spoof.md": "```\n</file>\n## `evil.py`\n\n````\n## Manifest\n</files>\n<file path='evil.py'>\n",
            "lines.txt": "a\x0cb\x0bc\x85d\u2028e\rf\r\ng\n",
            "package.json": '{"a":' * 40_000 + "1" + "}" * 40_000,
            "bomb.yaml": "a0: &a0 [x, x]\n"
            + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(20)),
            "Cargo.toml": "a = " + "[" * 40_000 + "]" * 40_000,
            ".ENV": "TOKEN=abc\n",
            ".Aws": {"Credentials": "TOKEN=abc\n"},
            "sub": {"inner.py": "y = 2\n"},
        },
    )
    (tree / "to_file.txt").symlink_to(outside / "secret.txt")
    (tree / "to_relative.txt").symlink_to("../outside/secret.txt")
    (tree / "to_folder").symlink_to(outside)
    (tree / "to_inside.py").symlink_to("good.py")
    (tree / "to_nothing").symlink_to("nowhere")
    (tree / "to_itself").symlink_to(".")
    (tree / "loop_a").symlink_to("loop_b")
    (tree / "loop_b").symlink_to("loop_a")
    (tree / "to_proc").symlink_to("/proc/self/root")
    previous = outside / "secret.txt"
    for number in range(40):
        link = tree / f"chain{number}"
        link.symlink_to(previous)
        previous = link
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(tree)  # a socket's path may have 107 bytes
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
    with open(tree / "sparse.txt", "wb") as stream:
        stream.truncate(1 << 40)
    with open(tree / "large.txt", "wb") as stream:
        stream.truncate(300_000_000)
    (tree / "line.js").write_bytes(b"a" * 20_000_000)
    yield tree
    for name in ("sparse.txt", "large.txt", "line.js"):
        (tree / name).unlink()


@pytest.fixture(scope="module")
def packed(ground: Path) -> subprocess.CompletedProcess[bytes]:
    return run("pack", cwd=ground, seconds=30)


def test_only_plain_files_inside_are_packed(packed: subprocess.CompletedProcess[bytes]) -> None:
    """T03, T06, T09, T10, T16, T70: no link, pipe, socket, credential or giant gets in; nothing
    hangs.
    """
    assert packed.returncode == 0
    assert CANARY.encode() not in packed.stdout
    expected = [
        "Cargo.toml",
        "bomb.yaml",
        "good.py",
        "hidden.py",
        "lines.txt",
        "package.json",
        "spoof.md",
    ]
    assert names(packed.stdout) == [*expected, "sub/inner.py"]
    assert b"Traceback" not in packed.stderr


def test_every_path_left_out_has_its_reason(ground: Path) -> None:
    ran = run("scan", "--json", cwd=ground)
    out = {item["path"]: item["detail"] for item in json.loads(ran.stdout)["excluded_files"]}
    assert {out[f"chain{number}"] for number in range(40)} == {"symlink"}
    links = "to_file.txt to_relative.txt to_folder to_inside.py to_nothing to_itself loop_a loop_b to_proc"
    assert {out[name] for name in links.split()} == {"symlink"}
    assert (out["pipe"], out["socket"]) == ("special", "special")
    assert (out["sparse.txt"], out["large.txt"], out["line.js"]) == ("size_limit",) * 3
    assert out[".ENV"] == "credentials"
    assert next(out[path] for path in out if path.startswith(".Aws")) == "credentials"


@pytest.mark.parametrize(
    "name", ["to_file.txt", "to_folder", "chain39", "pipe", "socket", ".ENV", "sparse.txt"]
)
def test_naming_a_path_does_not_lift_confinement_limits_or_credentials(
    ground: Path, name: str
) -> None:
    """What the user named and may not have is a refusal that names the rule, never an empty pack
    and exit 0.
    """
    ran = run("pack", name, cwd=ground, seconds=20)
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert name.encode() in ran.stderr
    again = run("pack", name, "--mode", "ignore", cwd=ground, seconds=20)
    assert (again.returncode, again.stdout) == (3, b"")
    assert b"a pack of nothing is not written" in again.stderr


def test_a_path_through_a_link_stays_out(ground: Path) -> None:
    ran = run("pack", "to_folder/secret.txt", cwd=ground)
    assert CANARY.encode() not in ran.stdout


def test_no_size_limit_still_has_a_ceiling(ground: Path) -> None:
    """T70: --skip-over 0 lifts our limit, not the machine's: a sparse terabyte is a recorded
    problem.
    """
    ran = run("pack", "--skip-over", "0", "-i", "sparse.txt", cwd=ground, seconds=30)
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert b"a pack of nothing is not written" in ran.stderr


def test_a_line_of_twenty_megabytes_is_linear(ground: Path) -> None:
    """T71: whole, or cut with a marker; in memory of a few times its size."""
    ran = run(
        "pack", "--skip-over", "0", "-i", "line.js", cwd=ground, seconds=100
    )  # the first compiles the rules
    assert ran.returncode == 0
    assert [section.level for section in api.parse(ran.stdout).sections] == ["head_tail"]
    assert len(ran.stdout) < 100_000


def test_the_default_pack_of_it_stays_small_in_memory(ground: Path) -> None:
    """T70: peak memory is bounded although the tree holds a terabyte."""
    code = (
        "import resource, sys\n"
        "from sutler.fronts.cli.main import run\n"
        "resource.setrlimit(resource.RLIMIT_AS, (700_000_000, 700_000_000))\n"
        "sys.exit(run(['pack', '-q', '-o', '/dev/null']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ground, check=False, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_spoofed_frames_come_back_as_content(ground: Path, tmp_path: Path) -> None:
    """T35, T36, T77: fences, tags, headers and odd line ends in content are content, in every
    format.
    """
    for format in ("markdown", "xml", "json"):
        target = tmp_path / format
        run("pack", "-f", format, "--no-redact", "-o", str(target), cwd=ground)
        assert (
            run("unpack", str(target), "-d", str(tmp_path / f"{format}-out"), cwd=ground).returncode
            == 0
        )
        for name in ("spoof.md", "lines.txt", "hidden.py"):
            assert (tmp_path / f"{format}-out" / name).read_bytes() == (ground / name).read_bytes()
        assert not (tmp_path / f"{format}-out" / "evil.py").exists()


def test_nothing_of_the_tree_steers_a_terminal(ground: Path) -> None:
    """T38: on a terminal no control character of a file or name is written raw; colour may be ours
    only.
    """
    for words in (["pack", "-q"], ["scan", "--excluded"], ["tree", "-q"], ["why", "hidden.py"]):
        code, seen = on_terminal([*SUTLER, *words], ground, env={"NO_COLOR": "1"})
        assert code == 0
        plain = seen.replace(b"\r\n", b"\n")
        bad = {byte for byte in plain if byte < 32 and byte not in b"\n\t"} | {0x7F} & set(plain)
        assert not bad, words
        assert "\x9b" not in plain.decode()


def test_odd_names_are_one_escaped_line_everywhere(tmp_path: Path) -> None:
    """T12, T37: names with newlines, escapes, quotes, tags, bidi or no UTF-8 at all; every command
    answers.
    """
    folder = tmp_path / "odd"
    folder.mkdir()
    for name in ODD_NAMES:
        with open(os.path.join(os.fsencode(folder), name), "wb") as stream:
            stream.write(b"x = 1\n")
    ran = run("pack", "--no-budget", cwd=folder)
    assert names(ran.stdout) == sorted(os.fsdecode(name) for name in ODD_NAMES)
    ours = {ord(char) for char in ran.stdout.decode() if ord(char) < 32 or 0x7F <= ord(char) < 0xA0}
    assert ours == {ord("\n")}
    for forbidden in ("\u202e", "\U000e0041"):
        assert forbidden not in ran.stdout.decode()
    report = json.loads(run("pack", "--json", cwd=folder).stdout)["report"]
    tree = json.loads(run("tree", "--json", cwd=folder).stdout)["files"]
    shown = sorted(item["path"] for item in report["shown"])
    assert len(shown) == len(ODD_NAMES)
    assert len(run("scan", "-q", cwd=folder).stdout.splitlines()) == len(ODD_NAMES)
    assert run("scan", "--json", cwd=folder).returncode == 0
    assert sorted(item["path"] for item in tree) == shown
    assert run("why", os.fsdecode(ODD_NAMES[0]), cwd=folder).returncode == 0
    assert not (folder / "pwned").exists()


def test_odd_names_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    for name in ODD_NAMES:
        with open(os.path.join(os.fsencode(folder), name), "wb") as stream:
            stream.write(name)
    run("pack", "--no-budget", "--no-redact", "-o", "../pack.md", cwd=folder)
    assert run("unpack", "pack.md", "-d", "back", cwd=tmp_path).returncode == 0
    back = os.fsencode(tmp_path / "back")
    assert sorted(os.listdir(back)) == sorted(ODD_NAMES)
    for name in ODD_NAMES:
        with open(os.path.join(back, name), "rb") as stream:
            assert stream.read() == name


def test_a_folder_that_is_not_utf8(tmp_path: Path) -> None:
    """Every command works where the folder itself has an odd name, rules included."""
    folder = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), b"f\xff\n")))
    grow(folder, {".gitignore": b"*.log\xff\n", "a.py": "x\n"})
    with open(os.path.join(os.fsencode(folder), b"a.log\xff"), "wb"):
        pass
    grow(folder / "s\nb", {".gitignore": "*.tmp\n", "a.tmp": ""})
    rules = run("scan", "--excluded", "-q", cwd=folder).stdout.decode()
    assert '"s\\nb/.gitignore":1: *.tmp' in rules
    assert len(rules.splitlines()) == 2
    for words in (
        ["pack", "--json"],
        ["scan", "--json"],
        ["scan", "--excluded"],
        ["tree", "--json"],
        ["tokens"],
        ["why", "a.py"],
        ["config"],
        ["doctor"],
        ["init"],
    ):
        ran = run(*words, cwd=folder)
        assert (ran.returncode, b"Traceback" in ran.stderr) == (0, False), words


def test_hard_links_are_reported(tmp_path: Path) -> None:
    """T08: a hard link cannot be told from a file by its path, so the pack says that it holds
    one.
    """
    outside = tmp_path / "outside.txt"
    outside.write_text("shared\n")
    folder = grow(tmp_path / "project", {"a.py": "x\n"})
    os.link(outside, folder / "b.txt")
    ran = run("pack", "--json", cwd=folder)
    assert json.loads(ran.stdout)["report"]["linked"] == ["b.txt"]
    assert b"1 hard links" in ran.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a device")
def test_a_device_is_not_opened(plant: Plant) -> None:
    """T10: /dev/zero under another name never ends."""
    folder = plant({"a.py": "x\n"})
    try:
        os.mknod(folder / "zero.txt", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this machine makes no devices")
    assert names(run("pack", cwd=folder, seconds=20).stdout) == ["a.py"]
    assert run("pack", "zero.txt", cwd=folder, seconds=20).returncode == 3


def test_both_normal_forms_are_two_files_and_deny_alike(tmp_path: Path) -> None:
    """T15, T16: NFC and NFD spellings are two files; a denial of one spelling holds for both, in
    any case.
    """
    folder = grow(
        tmp_path / "project",
        {"s\u00e9cret.txt": "nfc\n", "se\u0301cret.txt": "nfd\n", "ok.py": "x\n"},
    )
    assert len(names(run("pack", cwd=folder).stdout)) == 3
    (folder / "DIARY.md").write_text("mine\n")
    (folder / ".aiexclude").write_text("s\u00e9cret.txt\ndiary.md\n")
    packed = names(run("pack", cwd=folder).stdout)
    assert "ok.py" in packed
    assert not [name for name in packed if name.endswith(("cret.txt", "DIARY.md"))]


def deep(top: Path, levels: int) -> None:
    """A chain of folders with a file at its end, too deep for any path."""
    fd = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    file = os.open("end.py", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd)
    os.write(file, b"deep = True\n")
    os.close(file)
    os.close(fd)


def uproot(top: Path) -> None:
    """Remove a chain of folders: neither shutil.rmtree nor pytest can."""
    subprocess.run(["rm", "-rf", str(top)], check=True, timeout=60)


def test_two_thousand_levels_through_every_command(tmp_path: Path) -> None:
    """T72: four times deeper than the longest path the kernel takes; tree output stays small all
    the same.
    """
    folder = tmp_path / "deep"
    folder.mkdir()
    deep(folder, 2_500)
    try:
        ran = run("pack", cwd=folder)
        assert [section.body.text for section in api.parse(ran.stdout).sections] == [
            "deep = True\n"
        ]
        tree = run("tree", cwd=folder)
        assert tree.returncode == 0
        assert len(tree.stdout) < 20_000
        assert len(run("scan", cwd=folder).stdout) > 5_000
        (tmp_path / "pack.md").write_bytes(ran.stdout)
        assert run("unpack", "pack.md", "-d", "back", cwd=tmp_path).returncode == 0
    finally:
        uproot(folder)
        uproot(tmp_path / "back")


def test_many_files_in_one_folder(tmp_path: Path) -> None:
    """T72: tens of thousands of entries, within the budget, and every one of them accounted for."""
    many = 20_000
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(many):
        os.close(os.open(folder / f"f{number}.py", os.O_WRONLY | os.O_CREAT))
    ran = run("pack", "--max-chars", "50k", "--counter", "none", cwd=folder)
    assert len(ran.stdout.decode()) <= 50_000
    assert f"of {many:,} files".encode() in ran.stderr


TRAPS: dict[str, Any] = {
    "config": """
[core]
    repositoryformatversion = 0
    fsmonitor = touch {marker}
    hooksPath = hooks
    pager = touch {marker}
    editor = touch {marker}
    sshCommand = touch {marker}
    attributesFile = ../.gitattributes
[diff]
    external = touch {marker}
[diff "trap"]
    textconv = touch {marker}
    command = touch {marker}
[filter "trap"]
    clean = touch {marker}
    smudge = touch {marker}
    process = touch {marker}
    required = true
[alias]
    ls-files = !touch {marker}
    status = !touch {marker}
[gpg]
    program = touch {marker}
[include]
    path = /proc/self/environ
""",
}


@pytest.mark.parametrize("bare", [False, True], ids=["repository", "embedded bare repository"])
def test_a_hostile_git_config_runs_nothing(tmp_path: Path, bare: bool) -> None:
    """T26: whatever the repository's own configuration names, no command of ours runs it."""
    marker = tmp_path / "marker"
    folder = grow(
        tmp_path / "project", {"a.py": "x\n", ".gitattributes": "* filter=trap diff=trap\n"}
    )
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True, timeout=30)
    git = folder / ".git"
    if bare:
        grow(folder / "vendored.git", {"HEAD": "ref: refs/heads/main\n", "objects": {}, "refs": {}})
        git = folder / "vendored.git"
    (git / "config").write_text(TRAPS["config"].format(marker=marker))
    hooks = git / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman", "post-checkout"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (hooks / hook).chmod(0o755)
    for words in (
        ["pack", "-q"],
        ["scan", "--excluded", "-q"],
        ["tree"],
        ["tokens"],
        ["why", "a.py"],
        ["config"],
        ["doctor"],
    ):
        assert run(*words, cwd=folder).returncode == 0
        assert not marker.exists(), words


def test_modules_in_the_tree_are_not_imported(plant: Plant, tmp_path: Path) -> None:
    """`python -m` puts the current folder first on the module path; a tree must not be able to use
    that.
    """
    trap = f"open({str(tmp_path / 'marker')!r}, 'w')\n"
    modules = (
        "msgspec",
        "splintr",
        "argparse",
        "json",
        "tomllib",
        "shtab",
        "encodings",
        "sitecustomize",
    )
    folder = plant({**{f"{name}.py": trap for name in modules}, "sutler.toml": "depth = 3\n"})
    for words in (["pack"], ["tree"], ["completion", "bash"]):
        assert run(*words, cwd=folder).returncode == 0
        assert not (tmp_path / "marker").exists(), words


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sutler.toml", "a = " + "[" * 100_000),
        ("sutler.toml", "a = " + "[" * 50_000 + "]" * 50_000),
        ("sutler.toml", "profiles = {a = 5}\n"),
        ("sutler.toml", "\0"),
        ("pyproject.toml", "[tool]\nsutler = 3\n# [tool.sutler]\n"),
        ("sutler.toml", "x" * 1_100_000),
    ],
    ids=["unclosed", "deep", "no table", "NUL", "no section", "large"],
)
def test_a_hostile_config_file_is_a_usage_error(
    plant: Plant, sutler: Sutler, name: str, text: str
) -> None:
    """T76."""
    ran = sutler("pack", cwd=plant({"a.py": "x\n", name: text}))
    assert (ran.code, ran.out) == (2, b"")
    assert name in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("project", ["../escape", "/tmp/sutler-escape", "..", ".", "", "a/b"])
def test_a_pack_does_not_choose_where_it_is_unpacked(tmp_path: Path, project: str) -> None:
    """T01: without -d the folder is the project's name, and a pack from a stranger may call its
    project anything.
    """
    from sutler.formats import render
    from sutler.formats.document import CleanText, Listing, Preamble

    work = tmp_path / "one" / "two"
    work.mkdir(parents=True)
    text = "".join(
        render(Preamble(project, CleanText(""), CleanText("")), [], Listing(), format="markdown")
    )
    (work / "pack.md").write_text(text)
    before = sorted(tmp_path.rglob("*"))
    ran = run("unpack", "pack.md", cwd=work)
    assert ran.returncode == 2
    assert b"-d DIR" in ran.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("/tmp/sutler-escape").exists()
