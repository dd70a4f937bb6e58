"""Replacing a file: the old one is whole until the new one is in place, and an undone step leaves
nothing.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from sutler.edits.replacement import ABSENT, Held, Replacement, held, replace_all
from sutler.errors import ConflictError
from sutler.paths import RelPath
from sutler.scan.root import Root
from tests.descriptors import descriptors_below

PATH = RelPath("d/a.txt")


def content(data: bytes, mode: int = 0o640) -> Held:
    return Held(data, sha256(data).hexdigest(), mode)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_bytes(b"old\n")
    return Root(str(tmp_path))


def test_the_old_file_stays_until_it_is_known_to_be_the_expected_one(root: Root) -> None:
    step = Replacement(root, PATH, held(root, PATH, 100), content(b"new\n"))
    step.stage()
    assert held(root, PATH, 100).data == b"old\n"
    step.exchange()
    assert len(os.listdir(f"{root.host_path}/d")) == 2
    step.finish()
    assert (os.listdir(f"{root.host_path}/d"), held(root, PATH, 100)[:3]) == (
        ["a.txt"],
        content(b"new\n")[:3],
    )


def test_undoing_a_staged_file_leaves_nothing(root: Root) -> None:
    before, opened = held(root, PATH, 100), descriptors_below(Path(root.host_path))
    step = Replacement(root, PATH, before, content(b"new\n"))
    step.stage()
    step.undo()
    assert (os.listdir(f"{root.host_path}/d"), held(root, PATH, 100)) == (["a.txt"], before)
    assert descriptors_below(Path(root.host_path)) == opened


def test_a_new_file_in_a_new_folder(root: Root) -> None:
    replace_all([Replacement(root, RelPath("e/f/b.txt"), ABSENT, content(b"new\n"))])
    assert os.listdir(f"{root.host_path}/e/f") == ["b.txt"]


def test_another_files_bytes_go_back(root: Root) -> None:
    step = Replacement(root, PATH, held(root, PATH, 100), content(b"new\n"))
    step.stage()
    Path(root.host_path, PATH).write_bytes(b"theirs\n")
    with pytest.raises(ConflictError):
        step.exchange()
    step.undo()
    assert (os.listdir(f"{root.host_path}/d"), held(root, PATH, 100).data) == (
        ["a.txt"],
        b"theirs\n",
    )


def test_a_mark_is_of_one_file_untouched(root: Root) -> None:
    one = held(root, PATH, 100)
    Path(root.host_path, PATH).write_bytes(b"old\n")
    os.utime(f"{root.host_path}/d/a.txt", ns=(1, 1))
    assert one.same(held(root, PATH, 100))
    assert one.mark != held(root, PATH, 100).mark
