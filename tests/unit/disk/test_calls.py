"""The native calls do what the same thing in Python does. They are judged by it, by hashlib and by the decoder."""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.disk import calls
from sutler.disk.calls import Place, entered_by_os, listed_by_os
from sutler.disk.root import FILE, Blob, read_descriptor
from sutler.disk.text import decode
from sutler.values.pack import Form
from tests.stores import FUZZ

FORM: Form = (b"<\0n \0b>\n", b"\0e</\0b>", b"\0n, \0l bytes: \0d\n", -1)


def around(data: bytes, name: bytes = b"file") -> bytes:
    return filled(data, name)[0]


def filled(data: bytes, name: bytes = b"file") -> tuple[bytes, bytes, bytes]:
    """The form as it should be filled for a file."""
    digest = sha256(data).hexdigest().encode()
    head = b"<%b %b>\n" % (name, digest[:16])
    tail = b"%b</%b>" % (b"\n" if data and data[-1:] != b"\n" else b"", digest[:16])
    return head + data + tail, head + tail, b"%b, %d bytes: %b\n" % (name, len(data), digest)


SIZES = [0, 1, 2, 55, 56, 57, 63, 64, 65, 119, 120, 121, 127, 128, 129, 1_000, 8_191, 8_192, 8_193, 100_000]


@pytest.fixture(scope="module")
def native() -> ModuleType:
    """The module, which must be there where it can be built."""
    try:
        from sutler.disk import _native
    except ImportError:
        if sys.platform.startswith("linux") and (shutil.which("cc") or shutil.which("gcc")):
            pytest.fail("there is a compiler, and the native module was not built: install the package again")
        pytest.skip("no compiler")
    return _native


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    before = os.listdir("/proc/self/fd")
    yield fd
    assert len(os.listdir("/proc/self/fd")) == len(before)
    os.close(fd)


def in_order(found: calls.Listed) -> calls.Listed:
    folders, files, dotted = found
    return sorted(folders), sorted(files), sorted(dotted)


def test_the_native_calls_are_the_ones_in_use(native: ModuleType) -> None:
    names = ("listed", "entered", "contents", "framed")
    assert [getattr(calls, name) for name in names] == [getattr(native, name) for name in names]


def test_a_folder_is_listed_as_by_os(native: ModuleType, folder: int, tmp_path: Path) -> None:
    for name in ("plain.txt", ".hidden", "ünï", "a b"):
        (tmp_path / name).write_text("x" * len(name))
    for name in ("sub", ".git", ".github"):
        (tmp_path / name).mkdir()
    (tmp_path / "away").symlink_to("/etc")
    (tmp_path / "broken").symlink_to("nowhere")
    os.link(tmp_path / "plain.txt", tmp_path / "linked.txt")
    os.mkfifo(tmp_path / "pipe")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/not-\xff-utf-8")).write_text("")
    os.utime(tmp_path / "a b", ns=(-5, -1_000_000_007))  # before 1970
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(os.path.relpath(tmp_path / "socket"))
        found = native.listed(folder)
    assert in_order(found) == in_order(listed_by_os(folder))
    assert in_order(native.listed(folder)) == in_order(found)  # it begins at the beginning again


def test_a_large_folder_is_listed_whole(native: ModuleType, folder: int, tmp_path: Path) -> None:
    names = {f"{number:04d}-{'n' * 200}" for number in range(1_500)}  # ten times what one system call gives
    for name in names:
        (tmp_path / name).touch()
    assert {row[0] for row in native.listed(folder)[1]} == names


def test_what_cannot_be_listed_is_an_error(native: ModuleType, folder: int, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    with pytest.raises(NotADirectoryError):
        native.listed(fd)
    os.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        native.listed(fd)
    with pytest.raises(TypeError):
        native.listed("folder")


@pytest.mark.parametrize("inside", [(), ("file",), (".hidden",), ("folder/",), (".git/", "file", "folder/")])
@pytest.mark.parametrize("device", ["any", "its own", "another"])
def test_a_folder_is_entered_as_by_os(
    native: ModuleType, folder: int, tmp_path: Path, inside: tuple[str, ...], device: str
) -> None:
    """And it is closed at once where nobody needs it any more."""
    (tmp_path / "sub").mkdir()
    for name in inside:
        (tmp_path / "sub" / name).mkdir() if name.endswith("/") else (tmp_path / "sub" / name).touch()
    state = os.stat(tmp_path / "sub")
    wanted = {"any": -1, "its own": state.st_dev, "another": state.st_dev + 1}[device]
    outcomes = []
    for enter in (native.entered, entered_by_os):
        fd, *key, found = enter(folder, "sub", wanted)
        assert key == [state.st_dev, state.st_ino]
        if fd >= 0:
            assert os.fstat(fd).st_ino == state.st_ino
            assert sorted(os.listdir(fd)) == sorted(name.rstrip("/") for name in inside)  # from its beginning
            os.close(fd)
        outcomes.append((fd >= 0, found and in_order(found)))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == (device != "another" and inside not in ((), ("file",)))


@pytest.mark.parametrize("enter", ["native", "os"])
def test_what_is_no_folder_is_not_entered(native: ModuleType, folder: int, tmp_path: Path, enter: str) -> None:
    """T06: a folder that has become a link leads nowhere."""
    call = native.entered if enter == "native" else entered_by_os
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "file").touch()
    for name in ("link", "file", "missing"):
        with pytest.raises(OSError, match=r"Not a directory|No such file|symbolic links"):
            call(folder, name, -1)
    with pytest.raises((TypeError, ValueError)):
        call(folder, "a\0b", -1)


def python_says(path: Path) -> Blob:
    fd = os.open(path, FILE)
    try:
        found = read_descriptor(fd, path.name, None)
    finally:
        os.close(fd)
    assert isinstance(found, Blob)
    return found


@pytest.mark.parametrize("size", SIZES)
def test_a_file_is_read_as_in_python(native: ModuleType, folder: int, tmp_path: Path, size: int) -> None:
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "file"
    path.write_bytes(os.urandom(size))
    assert Blob(*native.contents(folder, "sub/file", size)) == python_says(path)
    assert native.contents(folder, "sub/file", size - 1) is None


@pytest.mark.parametrize("path", ["missing", "link", "sub/link/x", "pipe", "sub", "../canary", "/etc/passwd", "", "."])
def test_what_is_out_of_the_ordinary_is_left_to_others(
    native: ModuleType, folder: int, tmp_path: Path, path: str
) -> None:
    """T01, T06, T10: no link is followed, nothing above is opened, and nobody waits for a pipe."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")
    (tmp_path / "sub" / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path.parent / "canary").write_bytes(b"outside")
    assert native.contents(folder, path, 1 << 30) is None
    assert native.framed(folder, [path], [7], [FORM]) == (b"", b"", b"", [(0, 0, 0)])


def test_a_file_of_another_size_than_was_said_is_left_to_others(
    native: ModuleType, folder: int, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"1234")
    sizes = [3, 4, 5, -1]
    text, _, _, found = native.framed(folder, ["file"] * 4, sizes, [FORM] * 4)
    assert text == around(b"1234")
    end = tuple(map(len, filled(b"1234")))
    assert found == [(0, 0, 0), sha256(b"1234").hexdigest(), end, end]


@pytest.mark.parametrize(
    "words",
    [
        (),
        (1,),
        (1, ["a"], [], []),
        (1, ["a"], [1], []),
        (1, ("a",), (1,), (FORM,)),
        ("x", [], [], []),
        (0, ["a\0b"], [1], [FORM]),
        (0, ["a"], ["1"], [FORM]),
        (0, ["a"], [1], [None]),
        (0, ["a"], [1], [FORM[:2]]),
        (0, ["a"], [1], [("a", "b", "c", 1)]),
    ],
)
def test_arguments_of_another_kind_are_refused(native: ModuleType, words: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.framed(*words)
    with pytest.raises((TypeError, ValueError)):
        native.contents(*words)


def looked_at(native: ModuleType, folder: int, tmp_path: Path, data: bytes, form: Form = FORM) -> str | Place:
    """What came of a file with this content; its frames must be right."""
    (tmp_path / "file").write_bytes(data)
    *texts, (found,) = native.framed(folder, ["file"], [len(data)], [form])
    plain = isinstance(found, str) and found != ""
    assert tuple(texts) == (filled(data) if plain else (b"", b"", b""))
    return found if isinstance(found, str) else (0, 0, 0)


SPECIAL = [
    b"",
    b"\xef\xbb\xbfmark",
    b"x\xef\xbb\xbf",
    b"\xed\xa0\x80",  # a surrogate
    b"\xed\x9f\xbf",
    b"\xc0\xaf",  # overlong
    b"\xe0\x9f\xbf",
    b"\xe0\xa0\x80",
    b"\xf0\x8f\xbf\xbf",
    b"\xf0\x90\x80\x80",
    b"\xf4\x8f\xbf\xbf",
    b"\xf4\x90\x80\x80",  # beyond Unicode
    b"\xf5\x80\x80\x80",
    b"12345678\xe2\x82",
    b"12345678\xe2\x82\xac",
    b"\x80",
    b"x" * 8_191 + b"\0",
    b"x" * 8_192 + b"\0",
    "ж€😀".encode() * 50,
    b"```" + b"`" * 40_000,
    "wide".encode("utf-16"),
    "wide".encode("utf-16-le"),
    "wide".encode("utf-16-be"),
    "wide".encode("utf-16-le") + b"\0",
    "wide".encode("utf-32"),
    b"\xfe\xff\0w",
    b"\0\0\xfe\xff\0\0\0w",
    b"\x89PNG\0\1\2\3",
    b"\0",
]


@pytest.mark.parametrize("data", SPECIAL)
def test_text_is_told_as_the_decoder_tells_it(native: ModuleType, folder: int, tmp_path: Path, data: bytes) -> None:
    found, decoded = looked_at(native, folder, tmp_path, data), decode(data)
    if decoded is not None and decoded.encoding == "utf-8":
        assert found == sha256(data).hexdigest()
    else:
        assert found in ((0, 0, 0), *(() if decoded is not None else ("",)))


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    place = tmp_path_factory.mktemp("any")
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    yield fd, place
    os.close(fd)


BITS = [
    *(b"\xff\xfe", b"\xfe\xff", b"a\0", b"\0a", b"`", b"a" * 9, b"\xc3", b"\xa4", b"\xed", b"\xa0", b"\x9f"),
    *("😀".encode(), b"\xef\xbb\xbf", b"\0"),
]


@settings(max_examples=max(1, int(300 * FUZZ)), deadline=None)
@given(st.one_of(st.binary(max_size=300), st.lists(st.sampled_from(BITS), max_size=40).map(b"".join)))
def test_any_bytes_are_told_as_the_decoder_tells_them(
    native: ModuleType, ground: tuple[int, Path], data: bytes
) -> None:
    found, decoded = looked_at(native, *ground, data), decode(data)
    plain = decoded is not None and decoded.encoding == "utf-8"
    assert (found == sha256(data).hexdigest()) == plain
    assert found != "" or decoded is None
    if plain:
        ticks = max(map(len, re.findall(b"`+", data)), default=0)
        assert (looked_at(native, *ground, data, (*FORM[:3], 2)) == found) == (ticks <= 2)


@pytest.mark.parametrize("plainly", [False, True])
@pytest.mark.parametrize("size", [*SIZES, 1_000_003])
def test_a_digest_is_hashlibs(native: ModuleType, size: int, plainly: bool) -> None:
    """By the processor's own instructions and without them."""
    data = random.Random(size).randbytes(size)
    assert native.digest(data, plainly) == sha256(data).hexdigest()


def test_nothing_is_kept_of_what_was_read(native: ModuleType, folder: int, tmp_path: Path) -> None:
    """A leak of one reference would keep a megabyte a call."""
    (tmp_path / "file").write_bytes(b"x" * 1_000_000)

    def read(times: int) -> int:
        for _ in range(times):
            native.framed(folder, ["file", "missing"], [1_000_000, 1], [FORM] * 2)
            native.contents(folder, "file", 1 << 30)
            native.framed(folder, ["file"], [999_999], [FORM])
            with pytest.raises(TypeError):
                native.framed(folder, ["file", "file"], [1_000_000, 1_000_000], [FORM, None])
        with open("/proc/self/statm", "rb") as state:
            return int(state.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    assert read(200) - read(3) < 50_000_000


def test_a_binary_is_told_at_once(native: ModuleType, folder: int, tmp_path: Path) -> None:
    assert looked_at(native, folder, tmp_path, b"\x89PNG\0\1\2\3" * 3) == ""
    assert looked_at(native, folder, tmp_path, b"\xde\x12\x04\x95\0\0\0\0" * 90) == ""  # NULs in both halves


@pytest.mark.parametrize(
    "name", [" a", "a ", "a`b", 'a"b', "a\\b", "<a>", "a&b", "a\nb", "ä", "a\x7f", os.fsdecode(b"\xff")]
)
def test_a_name_that_a_format_may_spell_otherwise_is_left_to_others(
    native: ModuleType, folder: int, tmp_path: Path, name: str
) -> None:
    for one in (name, "a b", "~!#$%'()*+,-.:;=?@[]^_{|}"):
        (tmp_path / one).write_text("x")
    found = native.framed(folder, [name, "a b", "~!#$%'()*+,-.:;=?@[]^_{|}"], [1] * 3, [FORM] * 3)[3]
    assert [isinstance(one, str) for one in found] == [False, True, True]


def test_what_is_left_to_others_has_its_place(native: ModuleType, folder: int, tmp_path: Path) -> None:
    contents = {"a": b"one", "b": b"\0", "c": b"caf\xe9", "d": b"two\n", "e": b"\xef\xbb\xbf"}
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    sizes = [len(data) for data in contents.values()]
    *texts, found = native.framed(folder, list(contents), sizes, [FORM] * 5)
    first, last = filled(b"one", b"a"), filled(b"two\n", b"d")
    assert texts == [one + other for one, other in zip(first, last, strict=True)]
    digests = [sha256(contents[name]).hexdigest() for name in "ad"]
    after_first, at_the_end = tuple(map(len, first)), tuple(map(len, texts))
    assert found == [digests[0], "", after_first, digests[1], at_the_end]
