"""Which repositories a source names, and under which names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sutler.errors import RefusedError, SutlerError, UsageError
from sutler.fleet.catalogue import Repository, create, distinct, open_fleet, repositories_in


def bare(path: Path) -> Path:
    for name in ("objects", "refs"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    return path


def test_a_folder_of_mirrors_and_a_list_name_the_same(tmp_path: Path) -> None:
    bare(tmp_path / "mirrors" / "a.git")
    bare(tmp_path / "mirrors" / "team" / "b.git")
    (tmp_path / "list.txt").write_text("# ours\nmirrors/a.git\n\nmirrors/team/b.git\n")
    found = [item.name for item in repositories_in(str(tmp_path / "mirrors"))]
    listed = [item.name for item in repositories_in(str(tmp_path / "list.txt"))]
    assert found == ["a", "team/b"]
    assert listed == ["a", "b"]


def test_names_are_distinct() -> None:
    found = [Repository("repo", "/x/one/repo"), Repository("repo", "/x/two/repo")]
    names = [item.name for item in distinct(found, {})]
    assert names == ["repo", "two/repo"]
    again = [
        item.name for item in distinct(found, {"repo": "/x/one/repo", "two/repo": "/x/two/repo"})
    ]
    assert again == names


@pytest.mark.parametrize("source", ["nothing", "empty"])
def test_a_source_without_repositories_is_refused(tmp_path: Path, source: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError):
        list(repositories_in(str(tmp_path / source)))


def test_a_fleet_is_not_made_twice(tmp_path: Path) -> None:
    fleet = create(str(tmp_path / "f"), "web", "")
    assert open_fleet(str(tmp_path / "f"), "") == fleet
    with pytest.raises(RefusedError):
        create(str(tmp_path / "f"), "web", "")


def test_the_url_of_a_store_is_not_written_down(tmp_path: Path) -> None:
    create(str(tmp_path / "f"), "web", "postgresql://x:verysecret@localhost/db")
    assert "verysecret" not in (tmp_path / "f" / "fleet.json").read_text()
    with pytest.raises(UsageError, match="PostgreSQL"):
        open_fleet(str(tmp_path / "f"), "")


@pytest.mark.parametrize("text", ["{", '{"name": "x", "schema": 9}'], ids=["damaged", "newer"])
def test_an_account_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "fleet.json").write_text(text)
    with pytest.raises(SutlerError):
        open_fleet(str(tmp_path), "")
