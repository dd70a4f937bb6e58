"""Nothing outside the root is opened, by either method, and no answer tells what lies outside."""

from __future__ import annotations

import os
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sutler import system
from sutler.errors import RefusedError, UsageError
from sutler.paths import RelPath
from sutler.scan.root import FILE, Blob, Method, Root
from sutler.scan.snapshot import Problem
from sutler.system import fs, has_openat2
from tests.descriptors import descriptors_below
from tests.limits import joined

CANARY = b"outside the root"
METHODS: list[Method] = ["openat2", "descriptor walk"]


@pytest.fixture(params=METHODS)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Root]:
    if request.param == "openat2" and not has_openat2():
        pytest.skip("this kernel or sandbox has no openat2")
    inside = tmp_path / "proj"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub/file.txt").write_bytes(b"inside")
    (tmp_path / "proj-evil").mkdir()
    (tmp_path / "proj-evil/canary").write_bytes(CANARY)
    (tmp_path / "canary").write_bytes(CANARY)
    with Root(str(inside), method=request.param) as opened:
        yield opened


def read_both_ways(root: Root, path: str, limit: int | None = None) -> list[Blob | Problem]:
    with root.reader() as reader:
        return [root.read(RelPath(path), limit), reader.read(RelPath(path), limit)]


def test_a_plain_file_is_read(root: Root) -> None:
    for found in read_both_ways(root, "sub/file.txt"):
        assert isinstance(found, Blob)
        assert found.data == b"inside"


@pytest.mark.parametrize(
    "raw",
    [
        *[
            "../canary",
            "/etc/passwd",
            "sub/../../canary",
            "..",
            "sub/..",
            "/",
            "//etc/passwd",
            "../proj-evil/canary",
        ],
        *["a\0b", "sub/./../..", "./../canary", "sub//../../canary"],
    ],
)
def test_what_climbs_or_is_absolute_is_refused(root: Root, raw: str) -> None:
    """T01, T02: refused by the spelling, whether the target exists or not."""
    with pytest.raises(RefusedError):
        root.relpath(raw)


@pytest.mark.parametrize(
    "raw", ["~", "~root/x", "$HOME/x", "%APPDATA%", "..%2fcanary", "%2e%2e/canary", "file:///etc"]
)
def test_nothing_is_expanded_or_decoded(root: Root, raw: str) -> None:
    """T13, T14: such a spelling is a plain name, and there is no such file."""
    found = root.read(root.relpath(raw))
    assert isinstance(found, Problem)
    assert found.kind == "vanished"


@pytest.mark.parametrize(
    "target",
    [
        *[
            "../canary",
            "../missing",
            "/etc/passwd",
            "/nowhere/at/all",
            "sub/file.txt",
            "self",
            "/".join(("/proc/self", "root", "etc/passwd")),
        ],
        *["/proc/self/fd/0", "/dev/stdin", "/dev/zero", "../proj-evil/canary"],
    ],
)
def test_no_link_is_followed_and_no_answer_differs(root: Root, target: str) -> None:
    """T03, T05, T09: inside or outside, there or not, a link gets the same answer."""
    os.symlink(target, os.path.join(root.host_path, "self"))
    expected = Problem("self", "loop", "a symbolic link")
    assert read_both_ways(root, "self") == [expected, expected]


@pytest.mark.parametrize("target", ["..", "/", "../proj-evil", "sub", "/nowhere"])
def test_no_link_in_the_middle(root: Root, target: str) -> None:
    os.symlink(target, os.path.join(root.host_path, "way"))
    for found in read_both_ways(root, "way/canary"):
        assert isinstance(found, Problem)
        assert root.host_path not in f"{found}"
        assert found.kind in ("loop", "vanished")


def test_a_chain_of_links_beyond_path_max(root: Root, tmp_path: Path) -> None:
    """T06: realpath gives up on this chain and calls its end "inside"; the kernel does not."""
    base = Path(root.host_path)
    long = "d" * 247
    steps = "abcdefghijklmnop"
    here = base
    for step in steps:
        (here / long).mkdir()
        os.symlink(long, here / step)
        here = here / long
        if len(str(here)) > 3500:
            break
    depth = len(str(here).split(long)) - 1
    chain = "/".join(steps[:depth])
    os.symlink("../" * depth, os.path.join(base, chain, "l" * 254))
    escape = f"{chain}/{'l' * 254}/../canary"
    with pytest.raises(RefusedError):
        root.relpath(escape)
    os.symlink(f"{chain}/{'l' * 254}", base / "escape")
    for path in ("escape", f"{chain}/{'l' * 254}", f"{chain}/x"):
        assert not [found for found in read_both_ways(root, path) if isinstance(found, Blob)]


def test_special_files_are_refused_at_once(root: Root) -> None:
    """T10: neither a pipe nor a socket is waited for."""
    os.mkfifo(os.path.join(root.host_path, "pipe"))
    listener = socket.socket(socket.AF_UNIX)
    with listener:
        here = os.getcwd()
        os.chdir(root.host_path)
        try:
            listener.bind("sock")
        finally:
            os.chdir(here)
        for name in ("pipe", "sock", "sub", ""):
            for found in read_both_ways(root, name):
                assert isinstance(found, Problem)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_a_device_is_refused(root: Root) -> None:
    try:
        os.mknod(os.path.join(root.host_path, "zero"), 0o020666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no devices in this sandbox")
    assert [found.kind for found in read_both_ways(root, "zero", 10) if isinstance(found, Problem)][
        :1
    ] == ["special"]


@pytest.mark.parametrize(
    "raw", ["", ".", "x" * 300, "a/" * 2500 + "b", "\udcff", "a\nb", "\x1b[0m", "con", "a" * 5000]
)
def test_odd_names_never_make_a_traceback(root: Root, raw: str) -> None:
    """T12: handled or refused, as data."""
    for found in read_both_ways(root, root.relpath(raw)):
        assert isinstance(found, Problem)


@pytest.mark.skipif("descriptors" not in system.offered, reason="a path has the system's limit")
def test_a_path_beyond_path_max_is_read(root: Root) -> None:
    fd = os.dup(root.fd)
    names = ["n" * 200] * 30
    for name in names:
        os.mkdir(name, dir_fd=fd)
        fd, old = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd), fd
        os.close(old)
    os.close(os.open("deep.txt", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    for found in read_both_ways(root, "/".join([*names, "deep.txt"])):
        assert isinstance(found, Blob)


def test_the_limit_holds_for_size_and_growth(root: Root) -> None:
    path = os.path.join(root.host_path, "grown")
    Path(path).write_bytes(b"x" * 100)
    for found in read_both_ways(root, "grown", 99):
        assert isinstance(found, Problem)
        assert found.kind == "too_large"
    assert all(isinstance(found, Blob) for found in read_both_ways(root, "grown", 100))


def test_a_sparse_terabyte_costs_nothing(root: Root) -> None:
    """T70: the size decides before a byte is read."""
    with open(os.path.join(root.host_path, "sparse"), "wb") as stream:
        stream.truncate(1 << 40)
    for found in read_both_ways(root, "sparse", 1 << 20):
        assert isinstance(found, Problem)
        assert found.kind == "too_large"


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_a_file_that_lies_about_its_size(root: Root) -> None:
    """A regular file of size 0 that yields bytes all the same, as /proc has them."""
    with Root("/proc/self") as proc:
        found = proc.read(RelPath("status"))
        assert isinstance(found, Blob)
        assert found.data.startswith(b"Name:")
        assert isinstance(proc.read(RelPath("status"), 10), Problem)


def test_random_spellings_never_reach_the_canary(root: Root) -> None:
    """T01: whatever is put together from these pieces, nothing outside is read."""
    rng = random.Random(7)
    pieces = [
        "..",
        ".",
        "",
        "/",
        "sub",
        "canary",
        "proj-evil",
        "\0",
        "~",
        "//",
        "a",
        "way",
        "\\..",
        "%2e%2e",
    ]
    os.symlink("..", os.path.join(root.host_path, "way"))
    for _ in range(4000):
        raw = "/".join(rng.choice(pieces) for _ in range(rng.randint(1, 6)))
        try:
            path = root.relpath(raw)
        except RefusedError:
            continue
        assert not [
            found
            for found in read_both_ways(root, path)
            if isinstance(found, Blob) and found.data == CANARY
        ]


@pytest.mark.skipif("descriptors" not in system.offered, reason="a path can be swapped there")
def test_a_directory_swapped_for_a_link(root: Root, tmp_path: Path) -> None:
    """T07: while another thread swaps `sub` for a link to the outside, no read leaves the root."""
    base = Path(root.host_path)
    (tmp_path / "proj-evil/file.txt").write_bytes(CANARY)
    os.symlink(tmp_path / "proj-evil", base / "lure")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(base / "sub", base / "aside")
            os.rename(base / "lure", base / "sub")
            os.rename(base / "sub", base / "lure")
            os.rename(base / "aside", base / "sub")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = [found for _ in range(1500) for found in read_both_ways(root, "sub/file.txt")]
    finally:
        stop.set()
        joined(thread)
    assert {found.data for found in seen if isinstance(found, Blob)} <= {b"inside"}


def test_no_descriptor_is_lost(root: Root) -> None:
    before = descriptors_below(Path(root.host_path))
    for name in ("sub/file.txt", "missing/x", "sub", "sub/file.txt/x"):
        for _ in range(50):
            read_both_ways(root, name)
    assert descriptors_below(Path(root.host_path)) == before


def test_opening_the_root_itself(root: Root) -> None:
    fd = root.open(RelPath(""), fs.O_RDONLY | fs.O_DIRECTORY)
    assert sorted(fs.listdir(fd)) == ["sub"]
    fs.close(fd)
    assert root.method() in METHODS
    assert FILE & fs.O_NONBLOCK == fs.O_NONBLOCK


@pytest.mark.parametrize("place", ["missing", "file", "a\0b"])
def test_a_root_that_is_no_folder(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError):
        Root(f"{tmp_path}/{place}")


def test_a_reader_returns_to_folders_it_has_closed(tmp_path: Path) -> None:
    """More folders than descriptors are kept; each file still comes from its own."""
    for number in range(200):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}/f").write_text(str(number))
    with Root(str(tmp_path)) as root, root.reader() as reader:
        for number in [*range(200), *range(0, 200, 7)]:
            found = reader.read(RelPath(f"d{number}/f"))
            assert isinstance(found, Blob)
            assert found.data == str(number).encode()
