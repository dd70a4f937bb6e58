from __future__ import annotations

import os
import stat
from pathlib import Path

import apsw
import pytest

from sutler.errors import RefusedError, SutlerError
from sutler.store.home import (
    install_key,
    private_dir,
    private_file,
    project_id,
    refuse_inside,
    state_home,
)
from sutler.store.sqlite import open_sqlite


def mode(path: Path | str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def home(tmp_path: Path) -> str:
    return private_dir(str(tmp_path / "state" / "sutler"))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        made = private_dir(str(tmp_path / "sutler"))
        private_file(os.path.join(made, "f"), b"x")
    finally:
        os.umask(before)
    assert (mode(made), mode(os.path.join(made, "f"))) == (0o700, 0o600)


def test_every_file_of_the_database_is_private(home: str) -> None:
    store = open_sqlite(os.path.join(home, "state.db"), "p")
    store.put_blob("d", b"v")
    assert {mode(os.path.join(home, name)) for name in os.listdir(home)} == {0o600}
    store.close()


def test_a_foreign_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sutler").mkdir()
    (tmp_path / "sutler" / "state.db").write_bytes(b"planted")
    with pytest.raises(RefusedError, match="not made by sutler"):
        private_dir(str(tmp_path / "sutler"))


def test_a_link_is_not_a_state_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "sutler").symlink_to(tmp_path / "real")
    with pytest.raises(RefusedError):
        private_dir(str(tmp_path / "sutler"))


def test_a_link_in_place_of_the_database_is_refused(home: str) -> None:
    os.symlink("/etc/hostname", os.path.join(home, "state.db"))
    with pytest.raises(RefusedError):
        open_sqlite(os.path.join(home, "state.db"), "p")


@pytest.mark.parametrize("below", ["", "a", "a/b"])
def test_state_inside_the_project_is_refused(tmp_path: Path, below: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "alias").symlink_to(root)
    with pytest.raises(RefusedError, match="inside the project"):
        refuse_inside(str(tmp_path / "alias" / below), str(root))
    refuse_inside(str(tmp_path / "project-state"), str(root))


def test_the_install_key_is_made_once(home: str) -> None:
    key = install_key(home)
    assert len(key) == 32
    assert install_key(home) == key
    assert mode(os.path.join(home, "install.key")) == 0o600


def test_a_damaged_install_key_is_not_replaced(home: str) -> None:
    private_file(os.path.join(home, "install.key"), b"short")
    with pytest.raises(RefusedError, match="damaged"):
        install_key(home)


def test_equal_paths_of_two_installations_differ(tmp_path: Path) -> None:
    assert project_id(str(tmp_path), b"a" * 32) != project_id(str(tmp_path), b"b" * 32)


def test_a_relative_state_home_is_ignored() -> None:
    assert os.path.isabs(state_home({"XDG_STATE_HOME": "here"}))
    assert state_home({"XDG_STATE_HOME": "/x"}) == "/x/sutler"


def test_a_replaced_database_stops_the_store(home: str) -> None:
    path = os.path.join(home, "state.db")
    store = open_sqlite(path, "p")
    os.rename(path, path + ".old")
    with pytest.raises(SutlerError, match="removed or replaced"):
        store.head()
    store.close()


def test_a_file_that_is_no_database_is_named_as_such(home: str) -> None:
    path = os.path.join(home, "state.db")
    private_file(path, b"not a database" * 100)
    with pytest.raises(SutlerError, match="cannot be used"):
        open_sqlite(path, "p")


def test_a_damaged_database_is_refused_at_start(home: str) -> None:
    """A page overwritten in the middle: the store says so, and does not write on."""
    path = f"{home}/state.db"
    store = open_sqlite(path, "p")
    for n in range(200):
        store.put_fact(f"{n:064d}", "k", "t", b"x" * 500)
    store.close()
    apsw.Connection(path).execute(
        "PRAGMA wal_checkpoint(TRUNCATE)"
    )  # else the log has the pages, whole
    with open(path, "r+b") as file:
        for page in range(3, 20):
            file.seek(page * 4096)
            file.write(b"\xff" * 4096)
    with pytest.raises(SutlerError, match=r"damaged|malformed|cannot be used"):
        open_sqlite(path, "p")
