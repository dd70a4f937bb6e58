"""Leftovers of killed workers are removed, and nothing that a live process uses."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from sutler.fleet import workers
from sutler.fleet.catalogue import Fleet


def test_only_folders_without_a_live_process_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit that is done may still be worked on by a worker that lost its lease."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    fleet, other = (Fleet(str(tmp_path / name), name) for name in ("fleet", "other"))
    left, used = (Path(tempfile.mkdtemp(prefix=workers._folders(fleet))) for _ in range(2))
    foreign = Path(tempfile.mkdtemp(prefix=workers._folders(other)))
    part = tmp_path / "fleet" / "dataset" / "files" / "repo=a" / "key.parquet.1.tmp"
    for folder in (left / "tree", used / "tree", part.parent):
        folder.mkdir(parents=True)
    for file in (part, left / "lock", used / "lock", foreign / "lock"):
        file.touch()
    with workers._locked(str(used)):
        workers._sweep(fleet)
    assert [left.exists(), used.exists(), foreign.exists(), part.exists()] == [
        False,
        True,
        True,
        False,
    ]
    workers._sweep(fleet)
    assert not used.exists()
