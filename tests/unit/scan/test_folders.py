"""What a folder holds, by descriptor."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sutler.scan.folders import entered, listed
from sutler.system import fs
from tests.descriptors import descriptors_below


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = fs.open(str(tmp_path), fs.O_RDONLY | fs.O_DIRECTORY)
    before = descriptors_below(tmp_path)
    yield fd
    assert descriptors_below(tmp_path) == before
    fs.close(fd)


def test_a_folder_is_listed(folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("plain.txt", ".hidden", "ünï", "a b"):
        (tmp_path / name).write_text("x" * len(name))
    for name in ("sub", ".git", ".github"):
        (tmp_path / name).mkdir()
    (tmp_path / "away").symlink_to("/etc")
    os.link(tmp_path / "plain.txt", tmp_path / "linked.txt")
    os.mkfifo(tmp_path / "pipe")
    odd = os.fsdecode(b"not-\xff-utf-8")
    (tmp_path / odd).write_text("")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as end:
        end.bind("socket")
        folders, files, dotted = listed(folder)
    assert sorted(folders) == [".git", ".github", "sub"]
    plain = {"plain.txt", ".hidden", "ünï", "a b", "away", "linked.txt", "pipe", odd, "socket"}
    assert {row[0] for row in files} == plain
    for name, state in files:
        real = os.lstat(name)
        assert not isinstance(state, OSError)
        assert (state, state.st_mtime_ns, state.st_ctime_ns) == (
            real,
            real.st_mtime_ns,
            real.st_ctime_ns,
        )
    assert {".git", ".github", ".hidden"} >= set(dotted)
    assert listed(folder)[0] == folders  # it begins at the beginning again


def test_what_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    with pytest.raises(NotADirectoryError):
        listed(fd)
    os.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        listed(fd)


@pytest.mark.parametrize(
    "inside", [(), ("file",), (".hidden",), ("folder/",), (".git/", "file", "folder/")]
)
@pytest.mark.parametrize("device", ["any", "its own", "another"])
def test_a_folder_is_entered(
    folder: int, tmp_path: Path, inside: tuple[str, ...], device: str
) -> None:
    """It is closed at once if nothing below it needs it."""
    (tmp_path / "sub").mkdir()
    for name in inside:
        (tmp_path / "sub" / name).mkdir() if name.endswith("/") else (
            tmp_path / "sub" / name
        ).touch()
    state = os.stat(tmp_path / "sub")
    wanted = {"any": -1, "its own": state.st_dev, "another": state.st_dev + 1}[device]
    fd, *key, content = entered(folder, "sub", wanted)
    assert key == [state.st_dev, state.st_ino]
    assert (content is None) == (device == "another")
    if fd >= 0:
        assert fs.fstat(fd).st_ino == state.st_ino
        assert sorted(fs.listdir(fd)) == sorted(
            name.rstrip("/") for name in inside
        )  # from its beginning
        fs.close(fd)
    assert (fd >= 0) == (device != "another" and inside not in ((), ("file",)))


def test_what_is_no_folder_is_not_entered(folder: int, tmp_path: Path) -> None:
    """T06: a folder that has become a link leads nowhere."""
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "file").touch()
    for name in ("link", "file", "missing"):
        with pytest.raises(OSError, match=r"Not a directory|No such file|symbolic links"):
            entered(folder, name, -1)
    with pytest.raises((TypeError, ValueError)):
        entered(folder, "a\0b", -1)
