"""The commands on whatever platform this process sees: test_platforms runs these without features
of the kernel, where their fallbacks have to give the same answers.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sutler import system
from sutler.errors import SutlerError
from sutler.paths import RelPath, parse_relpath
from sutler.scan.root import DIRECTORY, Root
from sutler.scan.snapshot import Problem
from tests.conftest import Plant, Sutler

TREE = {"a.py": "x = 1\n", "sub/b.md": "# B\n", ".gitignore": "out/\n", "out/c.txt": "no\n"}


def test_a_pack_holds_the_same_files(plant: Plant, sutler: Sutler) -> None:
    """Scan, ignore files, read, render."""
    text = sutler("pack", "--no-budget", cwd=plant(TREE)).text
    assert "x = 1" in text
    assert "# B" in text
    assert "no\n" not in text


def test_a_goal_is_ranked(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("pack", "--goal", "what is x in a.py", cwd=plant(TREE))
    assert "x = 1" in ran.text


def test_a_link_to_the_outside_is_not_followed(plant: Plant, tmp_path: Path) -> None:
    """A file and a folder that are links are refused, with descriptors or without."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("secret\n")
    folder = plant({"a.py": "x = 1\n"})
    (folder / "file").symlink_to(tmp_path / "outside/secret.txt")
    (folder / "folder").symlink_to(tmp_path / "outside")
    with Root(str(folder)) as root:
        assert isinstance(root.read(RelPath("file")), Problem)
        assert isinstance(root.read(RelPath("folder/secret.txt")), Problem)
        with pytest.raises(OSError, match=r"irectory|links"):
            root.open(RelPath("folder"), DIRECTORY)


def test_a_pipe_is_refused_at_once(plant: Plant) -> None:
    folder = plant({"a.py": "x = 1\n"})
    os.mkfifo(folder / "pipe")
    with Root(str(folder)) as root:
        assert isinstance(root.read(RelPath("pipe")), Problem)


def test_a_file_is_written_through_the_door(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    """Lock, intent, staging, exchange and outcome."""
    folder = plant({"a.py": "x = 1\n"})
    (tmp_path / "own/sutler").mkdir(parents=True)
    (tmp_path / "own/sutler/config.toml").write_text('writable = ["**"]\n')
    own = {"XDG_CONFIG_HOME": str(tmp_path / "own")}
    ran = sutler("write", "a.py", "--base", "any", cwd=folder, stdin=b"x = 2\n", env=own)
    assert ran.code == 0, ran
    assert (folder / "a.py").read_text() == "x = 2\n"
    assert sorted(os.listdir(folder)) == ["a.py"]


def test_a_pack_is_unpacked(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    folder = plant(TREE)
    assert sutler("pack", "-o", str(tmp_path / "p.md"), cwd=folder).code == 0
    assert (
        sutler("unpack", str(tmp_path / "p.md"), "-d", str(tmp_path / "back"), cwd=folder).code == 0
    )
    assert (tmp_path / "back/sub/b.md").read_text() == "# B\n"


def test_one_holder_of_a_lock(tmp_path: Path) -> None:
    """A second descriptor does not get the lock; after the release it does."""
    path = str(tmp_path / "lock")
    first, second = (os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for _ in range(2))
    assert system.try_lock(first, path)
    assert not system.try_lock(second, path)
    system.unlock(first, path)
    assert system.try_lock(second, path)
    system.unlock(second, path)


def test_a_dead_holder_does_not_keep_a_lock(tmp_path: Path) -> None:
    """A holder file of a process that is gone is taken over."""
    path = str(tmp_path / "lock")
    Path(f"{path}.held").write_text("999999999")
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    assert system.try_lock(fd, path)
    system.unlock(fd, path)


@pytest.mark.parametrize("raw", ["C:\\x", "C:x", "..\\x", "a/../b", "/x", "a\0b"])
def test_a_path_that_leaves_the_root_is_refused(raw: str, plant: Plant) -> None:
    """Drive letters and backslashes name a plain file or nothing, never another place."""
    with Root(str(plant({"a.py": "x = 1\n"}))) as root:
        try:
            path = parse_relpath(raw)
        except SutlerError:
            return
        assert isinstance(root.read(path), Problem)


@pytest.mark.parametrize("name", ["CON", "nul.txt", "aux.py", "com1", "Makefile", "makefile"])
def test_reserved_and_case_folded_names_are_plain_files(
    name: str, plant: Plant, sutler: Sutler
) -> None:
    text = sutler("pack", cwd=plant({name: "content of it\n"})).text
    assert "content of it" in text


def test_line_ends_are_kept(plant: Plant) -> None:
    folder = plant({"a.txt": "one\r\ntwo\r\n"})
    (folder / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    with Root(str(folder)) as root:
        blob = root.read(RelPath("a.txt"))
    assert not isinstance(blob, Problem)
    assert blob.data == b"one\r\ntwo\r\n"
