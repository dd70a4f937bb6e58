"""Where goals are found, and what a name may be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sutler.errors import UsageError
from sutler.goals.discovery import check_name, claw_files, find_bases, find_goal, list_goals
from tests.conftest import Plant
from tests.goalkit import PLAIN, write_goal


def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


def origins(cwd: Path, home: Path) -> list[tuple[str, str]]:
    return [
        (base.origin, os.path.basename(base.path)) for base in find_bases(str(cwd), environ(home))
    ]


def test_the_nearest_ancestor_wins(plant: Plant, tmp_path: Path) -> None:
    folder = plant({".claw": {"x": ""}, "in": {".sutler": {"x": ""}, "deep": {"er": {"x": ""}}}})
    assert origins(folder / "in/deep/er", tmp_path)[:2] == [
        ("local", ".sutler"),
        ("shipped", "shipped"),
    ]
    assert origins(folder, tmp_path)[0] == ("local", ".claw")


def test_sutler_before_claw_in_one_folder(plant: Plant, tmp_path: Path) -> None:
    folder = plant({".claw": {"x": ""}, ".sutler": {"x": ""}})
    assert [name for _, name in origins(folder, tmp_path)] == [".sutler", ".claw", "shipped"]


def test_a_file_of_that_name_is_no_folder(plant: Plant, tmp_path: Path) -> None:
    assert origins(plant({".claw": "a file"}), tmp_path) == [("shipped", "shipped")]


def test_global_folders(plant: Plant, tmp_path: Path) -> None:
    home = plant({".config": {"claw": {"x": ""}, "sutler": {"x": ""}}, "work": {"x": ""}})
    assert [name for _, name in origins(home / "work", home)] == ["sutler", "claw", "shipped"]
    custom = {"HOME": str(home), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert [base.origin for base in find_bases(str(home / "work"), custom)] == ["shipped"]


def test_a_folder_in_home_is_the_users_own(plant: Plant) -> None:
    home = plant({".claw": {"x": ""}, "work": {"repo": {".claw": {"x": ""}}, "plain": {"x": ""}}})
    assert find_bases(str(home / "work/plain"), environ(home))[0].own
    assert not find_bases(str(home / "work/repo"), environ(home))[0].own


def test_local_before_global_before_shipped(plant: Plant) -> None:
    home = plant(
        {".config": {"sutler": {"goals": {"review": {"prompt.yaml": PLAIN}}}}, "w": {"x": ""}}
    )
    bases = find_bases(str(home / "w"), environ(home))
    assert find_goal("review", bases).base.origin == "global"
    write_goal(home / "w", "review")
    assert find_goal("review", find_bases(str(home / "w"), environ(home))).base.origin == "local"
    assert find_goal("explain", bases).base.origin == "shipped"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "/etc", "a\\b", ".hidden", "a\0b", "C:x", "a\nb"]
)
def test_names_with_path_parts_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is not a goal name"):
        check_name(name)


@pytest.mark.parametrize("name", ["review", "pr-notes", "a.b", "Überblick", "with space", "--x"])
def test_plain_names_are_fine(name: str) -> None:
    assert check_name(name) == name


def test_unknown_goal_suggests(plant: Plant, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Goal 'reviw' not found[\s\S]*did you mean 'review'"):
        find_goal("reviw", find_bases(str(plant({})), environ(tmp_path)))


def test_a_broken_goal_is_listed_with_its_problem(plant: Plant, tmp_path: Path) -> None:
    folder = plant({})
    write_goal(folder, "bad", "name: [")
    write_goal(folder, "good")
    bases = find_bases(str(folder), environ(tmp_path))
    listed = {one.id: one.problem for one in list_goals(bases)}
    assert "malformed YAML" in listed["bad"]
    assert listed["good"] == ""
    with pytest.raises(UsageError):
        list_goals(bases, compat=True)


def test_duplicates_are_both_listed_nearest_first(plant: Plant, tmp_path: Path) -> None:
    folder = plant({})
    write_goal(folder, "review")
    found = [
        one.origin
        for one in list_goals(find_bases(str(folder), environ(tmp_path)))
        if one.id == "review"
    ]
    assert found == ["local", "shipped"]


def test_a_goal_reads_nothing_through_links_that_leave(plant: Plant, tmp_path: Path) -> None:
    """A project's goal must not pull a file of the user's into a prompt."""
    folder = plant({})
    home = write_goal(folder)
    (tmp_path / "private.txt").write_text("SECRET")
    os.symlink(tmp_path / "private.txt", home / "notes.md")
    (home / "inside.md").write_text("ok")
    os.symlink("inside.md", home / "alias.md")
    files = find_goal("plain", find_bases(str(folder), environ(tmp_path))).files
    assert sorted(files) == ["alias.md", "inside.md", "prompt.yaml"]


def test_a_goal_folder_that_is_a_link_outside(plant: Plant, tmp_path: Path) -> None:
    folder = plant({})
    outside = write_goal(tmp_path / "elsewhere", "x")
    (folder / ".sutler/goals").mkdir(parents=True)
    os.symlink(outside, folder / ".sutler/goals/x")
    with pytest.raises(UsageError, match="not a plain file inside"):
        find_goal("x", find_bases(str(folder), environ(tmp_path)))


def test_claw_files_nearest_first(plant: Plant) -> None:
    tree = {".config": {"claw": {"claw.yaml": "far"}}, "w": {".claw": {"claw.yaml": "near"}}}
    home = plant(tree)
    found = claw_files(find_bases(str(home / "w"), environ(home)))
    assert [(file.data, file.own) for file in found] == [(b"near", False), (b"far", True)]
