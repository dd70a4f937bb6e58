"""Small facts about open directories."""

from __future__ import annotations

import os
from pathlib import Path

from sutler.disk.descriptors import FEW, little_below


def looked_at(folder: Path, most: int) -> bool:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    try:
        return little_below(fd, most)
    finally:
        assert len(os.listdir("/proc/self/fd") if before else []) == len(before)
        os.close(fd)


def test_a_first_look_tells_little_from_much(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.txt").write_bytes(b"x" * 600)
    (tmp_path / "a" / "d.txt").write_bytes(b"x" * 400)
    assert looked_at(tmp_path, 1000)
    assert not looked_at(tmp_path, 999)


def test_many_files_are_not_little_however_small(tmp_path: Path) -> None:
    for number in range(FEW + 1):
        (tmp_path / f"{number}.txt").touch()
    assert not looked_at(tmp_path, 1000)


def test_a_repositorys_own_folder_does_not_count_nor_what_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "pack").write_bytes(b"x" * 5000)
    (tmp_path / "away").symlink_to("/")
    (tmp_path / "closed").mkdir(mode=0)
    assert looked_at(tmp_path, 1000)
