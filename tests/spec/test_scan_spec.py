"""What a scan promises, on real trees."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sutler.paths import RelPath
from sutler.scan.root import Root
from sutler.scan.snapshot import Excluded, FileEntry, Problem, Reason, ScanRules, Snapshot
from sutler.scan.walk import explain, scan
from tests.limits import joined


@pytest.fixture(autouse=True)
def quiet_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def make(top: Path, tree: Mapping[str, str | bytes]) -> str:
    for name, content in tree.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(top)


def repository(top: Path) -> None:
    make(top, {".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n"})
    (top / ".git/objects").mkdir()
    (top / ".git/refs").mkdir()


def scanned(top: str | Path, named: tuple[str, ...] = (), **rules: object) -> Snapshot:
    with Root(str(top)) as root:
        return scan(root, ScanRules(**rules), [RelPath(name) for name in named])  # type: ignore[arg-type]  # loose


def paths(snapshot: Snapshot) -> list[str]:
    return [str(one.path) for one in snapshot.entries]


def reasons(snapshot: Snapshot) -> dict[str, Reason]:
    return {one.path: one.reason for one in snapshot.excluded}


def why(snapshot: Snapshot, path: str) -> str:
    return next(str(one.rule) for one in snapshot.excluded if one.path == path)


def test_entries_are_sorted_and_carry_their_stat(tmp_path: Path) -> None:
    make(tmp_path, {"b.py": "1", "a/z.py": "22", "a.py": "", "é.py": "x"})
    found = scanned(tmp_path)
    assert paths(found) == ["a.py", "a/z.py", "b.py", "é.py"]
    entry = found.entries[1]
    state = (tmp_path / "a/z.py").stat()
    assert (entry.size, entry.mtime_ns, entry.inode, entry.mode, entry.links) == (
        2,
        state.st_mtime_ns,
        state.st_ino,
        state.st_mode,
        1,
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *[
            (name, "credentials")
            for name in (
                "x.pem",
                "k.key",
                "c.crt",
                "p.p12",
                ".env",
                ".env.local",
                "credentials.json",
            )
        ],
        *[
            (name, "credentials")
            for name in (
                "secrets.yml",
                "my_secret.txt",
                "a_token_b",
                "s.keystore",
                ".ENV",
                "ID.PEM",
            )
        ],
        *[(name, "credentials") for name in ("．ｅｎｖ", "Secrets/x", "SECRETS.YML", "ﬁle.ｐem")],
        *[
            (name, "dependency_dir")
            for name in ("node_modules/x", "vendor/x", ".venv/x", "venv/x", "env/x", "a/env/x")
        ],
        *[
            (name, "build_output")
            for name in (
                "dist/x",
                "build/x",
                "out/x",
                "target/x",
                ".next/x",
                ".nuxt/x",
                "coverage/x",
            )
        ],
        *[
            (name, "cache")
            for name in (
                ".cache/x",
                ".sutler-fleet/x",
                "__pycache__/x",
                "m.pyc",
                ".pytest_cache/x",
                ".eslintcache",
            )
        ],
        *[
            (name, "pattern_match")
            for name in (
                "d.sql",
                "d.db",
                "d.sqlite3",
                "d.log",
                "logs/x",
                ".svn/x",
                ".hg/x",
                ".GIT/x",
            )
        ],
        *[
            (name, "binary")
            for name in (
                "a.exe",
                "a.so",
                "a.wasm",
                "a.png",
                "A.JPG",
                "a.svg",
                "a.tar.xz",
                "a.gz",
                "a.bin",
                "a.o",
            )
        ],
    ],
)
def test_default_exclusions_have_their_reason(tmp_path: Path, name: str, reason: str) -> None:
    """Seed 004's patterns and seed 001's lists; T15 and T16: credentials in any case and width."""
    make(tmp_path, {name: "x"})
    assert list(reasons(scanned(tmp_path)).values()) == [reason]


@pytest.mark.parametrize(
    "name",
    ["env", "out", "build", "key", "tokens.py", "sobin", "environment/x", "builder/x", "a.pemx"],
)
def test_near_misses_stay_in(tmp_path: Path, name: str) -> None:
    make(tmp_path, {name: "x"})
    assert paths(scanned(tmp_path)) == [name]


def test_rules_name_file_line_and_pattern(tmp_path: Path) -> None:
    repository(tmp_path)
    make(
        tmp_path,
        {
            ".gitignore": "# c\n*.tmp\n",
            "a/.gitignore": "/b\n",
            "x.tmp": "",
            "a/b/c": "",
            "a/b/d": "",
            "a/e": "",
        },
    )
    found = scanned(tmp_path)
    assert why(found, "x.tmp") == ".gitignore:2: *.tmp"
    assert why(found, "a/b/") == "a/.gitignore:1: /b"
    assert next(one.count for one in found.excluded if one.path == "a/b/") == 2


def test_a_gitignore_counts_without_a_repository(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "x\n", "x": "", "y": ""})
    assert paths(scanned(tmp_path)) == [".gitignore", "y"]


def test_git_rules_can_be_left_aside(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "x\n", ".ignore": "y\n", "x": "", "y": ""})
    assert paths(scanned(tmp_path, git_rules=False)) == [".gitignore", ".ignore", "x", "y"]


def test_our_own_ignore_file_lifts_a_default(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            ".sutlerignore": "!vendor/\n!logo.svg\n",
            "vendor/a.c": "",
            "logo.svg": "",
            "b.svg": "",
            "k.key": "",
        },
    )
    found = scanned(tmp_path)
    assert paths(found) == [".sutlerignore", "logo.svg", "vendor/a.c"]
    assert reasons(found)["k.key"] == "credentials"


def test_parents_above_the_root_apply(tmp_path: Path) -> None:
    repository(tmp_path)
    make(
        tmp_path,
        {
            ".gitignore": "*.tmp\n/a/b/c\n",
            "a/.gitignore": "d\n",
            "a/b/c": "",
            "a/b/d": "",
            "a/b/e.tmp": "",
            "a/b/f": "",
        },
    )
    found = scanned(tmp_path / "a/b")
    assert paths(found) == ["f"]
    assert why(found, "d") == "../.gitignore:1: d"
    assert why(found, "c") == "../../.gitignore:2: /a/b/c"


def test_ai_files_deny_even_what_is_named(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            ".cursorignore": "private/\n",
            "private/x.py": "",
            "sub/.aiexclude": "",
            "sub/y.py": "",
            "z.py": "",
        },
    )
    found = scanned(tmp_path)
    assert reasons(found)["private/"] == "ai_denied"
    assert reasons(found)["sub/y.py"] == "ai_denied"
    named = scanned(tmp_path, ("private/x.py", "sub/y.py", "z.py"))
    assert paths(named) == ["z.py"]
    assert set(reasons(named).values()) == {"ai_denied"}


def test_an_ai_file_above_the_root_denies_the_root(tmp_path: Path) -> None:
    repository(tmp_path)
    make(tmp_path, {".cursorignore": "private/\n", "private/sub/x.py": ""})
    found = scanned(tmp_path / "private/sub")
    assert reasons(found) == {"x.py": "ai_denied"}
    assert why(found, "x.py") == "../../.cursorignore:1: private/"


def test_a_folder_in_the_place_of_an_ignore_file(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore/a": "", ".aiexclude/b": "", "c": ""})
    found = scanned(tmp_path)
    assert paths(found) == [".aiexclude/b", ".gitignore/a", "c"]
    assert found.problems == ()


def test_a_named_file_passes_ignore_rules_and_defaults_but_not_credentials(tmp_path: Path) -> None:
    make(
        tmp_path,
        {".gitignore": "x\n", "x": "", "dist/y.js": "", "node_modules/.env": "", "big": "b" * 2000},
    )
    found = scanned(
        tmp_path, ("x", "dist/y.js", "node_modules/.env", "big", "gone"), skip_file_bytes=1000
    )
    assert paths(found) == ["dist/y.js", "x"]
    assert all(one.named for one in found.entries)
    assert reasons(found) == {"node_modules/.env": "credentials", "big": "size_limit"}
    assert found.problems == (Problem("gone", "missing", "no such file"),)


def test_a_named_folder_is_scanned_with_its_own_rules(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "dist\n*.tmp\n", "dist/a": "", "dist/b.tmp": "", "other": ""})
    found = scanned(tmp_path, ("dist", "dist/b.tmp"))
    assert paths(found) == ["dist/a", "dist/b.tmp"]
    assert [one.named for one in found.entries] == [False, True]
    assert found.excluded == ()


def test_the_user_may_allow_a_name_that_looks_like_a_credential(tmp_path: Path) -> None:
    make(tmp_path, {".env.example": "", "src/secrets/x.py": "", "src/secrets/k.pem": ""})
    assert paths(scanned(tmp_path)) == ["src/secrets/x.py"]
    assert paths(scanned(tmp_path, strict_patterns=True)) == []
    assert paths(scanned(tmp_path, allow=(".env.example", "src/secrets/"))) == [
        ".env.example",
        "src/secrets/k.pem",
        "src/secrets/x.py",
    ]


def test_links_pipes_and_sockets_are_left_out_with_their_reason(tmp_path: Path) -> None:
    make(tmp_path, {"real/x": ""})
    os.symlink("real", tmp_path / "folder")
    os.symlink("/etc/passwd", tmp_path / "outside")
    os.symlink("loop", tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("sock")
    finally:
        os.chdir(here)
    found = scanned(tmp_path)
    assert paths(found) == ["real/x"]
    links = {"folder": "symlink", "outside": "symlink", "loop": "symlink"}
    assert reasons(found) == {**links, "pipe": "special", "sock": "special"}
    assert why(found, "pipe") == "FIFO"
    assert reasons(scanned(tmp_path, ("folder/x", "outside"))) == {
        "folder": "symlink",
        "outside": "symlink",
    }


def test_hidden_depth_extra_and_size(tmp_path: Path) -> None:
    make(tmp_path, {".hid": "", "a/b/c": "", "a/d": "", "x.foo": "", "skip/y": "", "big": "b" * 20})
    extra: dict[str, object] = {"excluded_directories": ("skip",), "excluded_extensions": ("FOO",)}
    found = scanned(tmp_path, (), hidden=False, depth=1, skip_file_bytes=10, **extra)
    assert paths(found) == ["a/d"]
    expected = {
        ".hid": "hidden",
        "a/b/": "depth",
        "x.foo": "pattern_match",
        "skip/": "pattern_match",
        "big": "size_limit",
    }
    assert reasons(found) == expected
    assert paths(scanned(tmp_path, depth=0)) == [".hid", "big", "x.foo"]


def test_names_that_are_not_utf_8_survive(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": b"\xfe*\n"})
    for raw in (b"\xff\xfa", b"\xfe1", b"a\nb", b"\x1b[31m"):
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + raw))).touch()
    found = scanned(tmp_path)
    assert paths(found) == ["\x1b[31m", ".gitignore", "a\nb", "\udcff\udcfa"]
    assert reasons(found) == {"\udcfe1": "ignored"}


def test_other_repositories_are_one_exclusion(tmp_path: Path) -> None:
    repository(tmp_path)
    repository(tmp_path / "lib")
    make(
        tmp_path,
        {
            "lib/x": "",
            "linked/.git": f"gitdir: {tmp_path}/.git\n",
            "linked/y": "",
            "not/.git/config": "",
            "not/z": "",
        },
    )
    found = scanned(tmp_path, default_excludes=False)
    assert paths(found) == ["not/z"]
    assert reasons(found)["lib/"] == "submodule"
    assert reasons(found)["linked/"] == "submodule"
    assert paths(scanned(tmp_path / "lib")) == ["x"]
    assert paths(scanned(tmp_path, ("lib/x",))) == ["lib/x"]


def test_a_submodule_that_was_never_fetched_is_still_not_ours(tmp_path: Path) -> None:
    """Its place is in the index, so what lies there is not the outer project's, `.git` or not."""
    repository(tmp_path)
    make(tmp_path, {".gitmodules": "", "sub/stray": "", "own": ""})
    link = f"160000,{'1' * 40},sub"
    subprocess.run(
        ["git", "update-index", "--add", "--cacheinfo", link], cwd=tmp_path, check=True, timeout=30
    )
    found = scanned(tmp_path)
    assert paths(found) == [".gitmodules", "own"]
    assert reasons(found)["sub/"] == "submodule"
    listed = subprocess.run(
        ["git", "ls-files", "-o"], cwd=tmp_path, capture_output=True, timeout=30
    ).stdout
    assert listed.decode().split() == [".gitmodules", "own"]


def test_repositories_in_a_plain_folder_are_entered(tmp_path: Path) -> None:
    repository(tmp_path / "one")
    repository(tmp_path / "two")
    make(tmp_path, {"one/.git/info/exclude": "x\n", "one/x": "", "one/y": "", "two/x": ""})
    assert paths(scanned(tmp_path)) == ["one/y", "two/x"]


def test_a_hostile_config_names_no_foreign_file(tmp_path: Path) -> None:
    """T26: no program of `.git/config` runs, and no file outside the repository is read as an
    ignore file.
    """
    foreign = make(tmp_path / "foreign", {"list": "x\n"})
    repository(tmp_path / "work")
    trap = tmp_path / "trap"
    config = f'[core]\nexcludesFile = {foreign}/list\nfsmonitor = "touch {trap}"\n[include]\npath = {foreign}/list\n'
    make(tmp_path / "work", {".git/config": config, "x": "", "y": ""})
    os.symlink(f"{foreign}/list", tmp_path / "work/.git/info-link")
    assert paths(scanned(tmp_path / "work")) == ["x", "y"]
    assert not trap.exists()
    make(tmp_path / "work", {".git/config": "[core]\nexcludesFile = mine\n", "mine": "x\n"})
    assert paths(scanned(tmp_path / "work")) == ["mine", "y"]


def test_global_excludes_through_an_include(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    make(
        home,
        {
            ".gitconfig": "[include]\n path = more\n",
            "more": '[core]\n excludesfile = "~/my ignore" ; note\n',
            "my ignore": "x\n",
        },
    )
    make(tmp_path, {"x": "", "y": ""})
    found = scanned(tmp_path)
    assert paths(found) == ["y"]
    assert why(found, "x") == "core.excludesFile:1: x"


def test_the_order_of_readdir_does_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(3)
    make(tmp_path, {f"{rng.choice('abc')}/{rng.choice('xyz')}{n}.py": "" for n in range(60)})
    make(tmp_path, {".gitignore": "*1.py\n", "b/.gitignore": "!*1.py\nx*\n"})
    expected = scanned(tmp_path)
    real = os.scandir

    class Shuffled:
        def __init__(self, fd: int) -> None:
            with real(fd) as listing:
                self.found = list(listing)
            rng.shuffle(self.found)

        def __enter__(self) -> Iterator[os.DirEntry[str]]:
            return iter(self.found)

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(os, "scandir", Shuffled)
    assert scanned(tmp_path) == expected


def test_a_pruned_folder_is_counted_up_to_a_thousand(tmp_path: Path) -> None:
    for name, count in (("node_modules", 1000), ("dist", 1001), ("build", 0)):
        (tmp_path / name).mkdir()
        for number in range(count):
            (tmp_path / name / str(number)).touch()
    found = {one.path: (one.count, one.more) for one in scanned(tmp_path).excluded}
    assert found == {"build/": (0, False), "dist/": (1000, True), "node_modules/": (1000, False)}


DEEP = """
import os, resource, sys
from sutler.scan.root import Root
from sutler.scan.walk import scan
from sutler.scan.snapshot import ScanRules
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
top = sys.argv[1]
fd = os.open(top, os.O_RDONLY)
for level in range(10_000):
    os.mkdir("d", dir_fd=fd)
    if level % 100 == 0:
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        os.mkdir("e", dir_fd=fd)
    below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
    os.close(fd)
    fd = below
with Root(top) as root:
    found = scan(root, ScanRules())
    with root.reader() as reader:
        last = reader.read(found.entries[0].path)
print(len(found.entries), found.directories, len(found.problems), type(last).__name__)
while True:  # no recursion here either: climb and remove
    above = os.open("..", os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = above
    os.rmdir("d", dir_fd=fd)
    if "e" in os.listdir(fd):
        os.rmdir("e", dir_fd=fd)
        os.unlink("f", dir_fd=fd)
    if os.path.samestat(os.fstat(fd), os.stat(top)):
        break
"""


def test_ten_thousand_levels_with_few_descriptors(tmp_path: Path) -> None:
    """T72: no recursion, no path longer than the kernel takes, no descriptor for each level."""
    done = subprocess.run(
        [sys.executable, "-c", DEEP, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.split() == ["100", "10101", "0", "Blob"], done.stderr


def test_many_entries_in_one_folder(tmp_path: Path) -> None:
    """T72."""
    fd = os.open(tmp_path, os.O_RDONLY)
    for number in range(20_000):
        os.close(os.open(f"{number}.py", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    assert len(scanned(tmp_path).entries) == 20_000


def test_a_tree_that_changes_underneath(tmp_path: Path) -> None:
    """Folders swapped for links to the outside while the scan runs: nothing outside is ever
    listed.
    """
    outside = tmp_path / "outside"
    make(outside, {f"canary{n}": "" for n in range(5)})
    work = tmp_path / "work"
    make(work, {f"d{n}/e/f": "" for n in range(30)})
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for n in range(30):
                os.rename(work / f"d{n}", work / "aside")
                os.symlink(outside, work / f"d{n}")
                os.unlink(work / f"d{n}")
                os.rename(work / "aside", work / f"d{n}")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = [path for _ in range(40) for path in paths(scanned(work))]
    finally:
        stop.set()
        joined(thread)
    assert not [path for path in seen if "canary" in path]


NO_RIGHTS = """
import os, sys
from sutler.scan.root import Root
from sutler.scan.walk import scan
from sutler.scan.snapshot import ScanRules
os.setgroups([]) if os.geteuid() == 0 else None
with Root(sys.argv[1]) as root:
    if os.geteuid() == 0:
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    found = scan(root, ScanRules())
    with root.reader() as reader:
        closed = reader.read("closed.txt")
    print([one.path for one in found.entries], [(p.path, p.kind) for p in found.problems], closed)
"""


def test_what_may_not_be_read_is_a_problem(tmp_path: Path) -> None:
    make(tmp_path, {"open.txt": "", "closed.txt": "", "locked/x": ""})
    tmp_path.chmod(0o755)
    (tmp_path / "closed.txt").chmod(0)
    (tmp_path / "locked").chmod(0)
    done = subprocess.run(
        [sys.executable, "-c", NO_RIGHTS, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    (tmp_path / "locked").chmod(0o755)
    assert "['closed.txt', 'open.txt'] [('locked', 'denied')]" in done.stdout, done.stderr
    assert "kind='denied'" in done.stdout


MOUNT = """
import subprocess, sys
from sutler.scan.root import Root
from sutler.scan.walk import explain, scan
from sutler.scan.snapshot import ScanRules
top = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "none", top + "/a/m nt"], check=True)
subprocess.run(["mount", "--bind", top + "/real", top + "/bound"], check=True)
subprocess.run(["mount", "--bind", "/etc/hostname", top + "/file"], check=True)
open(top + "/a/m nt/x", "w").close()
with Root(top) as root:
    for one in (True, False):
        found = scan(root, ScanRules(one_filesystem=one))
        print([e.path for e in found.entries], [e.path for e in found.excluded if e.reason == "mount_point"])
    print(explain(root, ScanRules(), "file").reason, explain(root, ScanRules(), "bound/y").reason)
"""


def test_a_mount_point_is_not_entered(tmp_path: Path) -> None:
    """T11: another device, a bind mount of the same device, and a single file."""
    make(tmp_path, {"real/y": "", "file": ""})
    (tmp_path / "a/m nt").mkdir(parents=True)
    (tmp_path / "bound").mkdir()
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-c", MOUNT, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if done.returncode:
        pytest.skip(f"mounts cannot be made here: {done.stderr.strip()[-80:]}")
    assert done.stdout.splitlines() == [
        "['real/y'] ['a/m nt/', 'bound/', 'file']",
        "['a/m nt/x', 'bound/y', 'file', 'real/y'] []",
        "mount_point mount_point",
    ]


@pytest.mark.parametrize("path", ["a.py", "x.tmp", "gone", "dist/x", "a", ".env", "link", "lib/x"])
def test_explain_agrees_with_the_scan(tmp_path: Path, path: str) -> None:
    """`why` decides by the same code: whatever the scan recorded for this path, it says again."""
    repository(tmp_path)
    repository(tmp_path / "lib")
    make(
        tmp_path,
        {
            ".gitignore": "*.tmp\n",
            "a.py": "1",
            "x.tmp": "",
            "dist/x": "",
            "a/b": "",
            ".env": "",
            "lib/x": "",
        },
    )
    os.symlink("a.py", tmp_path / "link")
    with Root(str(tmp_path)) as root:
        found, whole = explain(root, ScanRules(), RelPath(path)), scan(root, ScanRules())
    if isinstance(found, FileEntry):
        assert found in whole.entries or path == "a"
    elif isinstance(found, Excluded):
        assert found in whole.excluded
    else:
        assert (path, found.kind) == ("gone", "missing")


def test_an_empty_folder_and_a_folder_that_is_gone(tmp_path: Path) -> None:
    assert scanned(tmp_path) == Snapshot((), (), (), 1)
    (tmp_path / "x").mkdir()
    with Root(str(tmp_path / "x")) as root:
        (tmp_path / "x").rmdir()
        assert scan(root, ScanRules()).entries == ()
