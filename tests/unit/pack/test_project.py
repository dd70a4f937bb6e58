"""A project as one caller sees it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import sutler
from sutler.errors import UsageError
from sutler.scan.snapshot import FileEntry


def open_files(entries: Iterable[FileEntry]) -> list[FileEntry]:
    return [entry for entry in entries if not entry.path.startswith("closed")]


def test_a_file_that_comes_later_is_judged_too(tmp_path: Path) -> None:
    """Policy is asked with every scan, and not once before the first."""
    (tmp_path / "a.txt").write_text("open\n")
    project = sutler.Project(tmp_path).seen_by(open_files)
    assert [entry.path for entry in project.scan().entries] == ["a.txt"]
    (tmp_path / "closed.txt").write_text("not for everybody\n")
    packing = project.pack(max_bytes=0)
    assert "not for everybody" not in packing.text()
    assert [one.path for one in packing.report.shown] == ["a.txt"]
    assert [(item.path, str(item.rule)) for item in packing.report.excluded] == [
        ("closed.txt", "policy: withheld from this caller")
    ]


def test_who_may_read_everything_sees_the_project_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("open\n")
    project = sutler.Project(tmp_path)
    assert project.seen_by(lambda entries: entries).scan() == project.scan()


@pytest.mark.parametrize("option", ["include", "exclude"])
def test_a_glob_that_reaches_out_is_refused_before_anything_is_read(
    tmp_path: Path, option: str
) -> None:
    with pytest.raises(UsageError, match="below the root"):
        sutler.Project(tmp_path).pack(**{option: ["../*"]})  # type: ignore[arg-type]  # the name is a parameter here


def test_a_folder_outside_of_every_repository_is_the_project(tmp_path: Path) -> None:
    """Its name, README and licence are the project's, wherever the user stands."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "README.md").write_text("# Shop\n\nShop sells many good things.\n")
    inside = sutler.Project("shop", cwd=str(tmp_path))
    assert (inside.name, inside.place.named) == ("shop", ())
    assert inside.summary_pack().manifest.purpose_guess == "Shop sells many good things."
    assert [entry.path for entry in inside.scan().entries] == ["README.md"]
