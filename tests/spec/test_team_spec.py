"""A team's store through the command line: made, joined, moved into, backed up."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from sutler.errors import RefusedError
from sutler.store.records import Caller, unseal
from sutler.tools import open_door, open_ledger
from tests.conftest import Plant, Sutler


@pytest.fixture
def root(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = plant({"a.py": "x = 1\n", "b.py": "y = 2\n"})
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def here(sutler: Sutler, root: Path) -> Sutler:
    return lambda *words: sutler(*words, cwd=root)


@pytest.fixture
def tenant() -> str:
    return f"t{uuid.uuid4().hex[:8]}"


@pytest.fixture
def member(here: Sutler, postgres_admin: str, tenant: str) -> str:
    """URL of an administrator among the members, as the commands give it."""
    here("store", "init", postgres_admin, "--tenant", tenant)
    words = ("--role", "admin", "--tenant", tenant, "--store", postgres_admin)
    return here("store", "members", "add", f"ann-{tenant}", *words).text.strip()


def test_a_member_who_exists_keeps_the_password(
    here: Sutler, postgres_admin: str, tenant: str, member: str
) -> None:
    words = ("--role", "reader", "--tenant", tenant, "--store", postgres_admin)
    again = here("store", "members", "add", f"ann-{tenant}", *words)
    assert (again.code, again.text, "password is as before" in again.err) == (0, "", True)


def heads(root: Path) -> tuple[int, bool]:
    with open_ledger(str(root), os.environ) as ledger:
        return ledger.store.head()[0], ledger.verify().ok


def test_a_store_moves_and_comes_home(
    here: Sutler, root: Path, member: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chain goes on in the target, verified and signed; the source refuses to be continued."""
    monkeypatch.setenv("SUTLER_PROJECT", "web")
    assert here("read", "a.py").code == 0
    before, _ = heads(root)
    moved = here("store", "move", "--to", member)
    assert (moved.code, f"in {tenant}/web" in moved.text) == (0, True)
    refused = here("read", "a.py")
    assert (refused.code, f"goes on in another store, as {tenant}/web" in refused.err) == (3, True)
    monkeypatch.setenv("SUTLER_STORE", member)
    assert here("read", "b.py").code == 0
    assert heads(root) == (before + 2, True)
    assert here("verify").code == 0
    assert here("store", "move", "--to", "sqlite").code == 0
    monkeypatch.delenv("SUTLER_STORE")
    assert here("read", "a.py").code == 0
    assert heads(root) == (before + 4, True)
    with open_ledger(str(root), os.environ) as ledger:
        rows = [unseal(row) for row in ledger.store.audit()]
    assert [row.tool for row in rows] == [
        "read_file", "store_move", "read_file", "store_move", "read_file"
    ]  # fmt: skip
    assert [row.person for row in rows][2] == f"ann-{tenant}"


def test_two_ledgers_are_not_merged(
    here: Sutler, root: Path, member: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUTLER_PROJECT", "web")
    here("read", "a.py")
    monkeypatch.setenv("SUTLER_STORE", member)
    here("read", "b.py")
    monkeypatch.delenv("SUTLER_STORE")
    refused = here("store", "move", "--to", member)
    assert (refused.code, "two ledgers are not merged" in refused.err) == (3, True)
    assert here("read", "a.py").code == 0


@pytest.mark.parametrize("damage", ["", "cut", "flip"])
def test_a_backup_restores_or_is_refused(
    here: Sutler, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    for name in ("a.py", "b.py", "a.py"):
        here("read", name)
    file = tmp_path / "backup"
    assert here("store", "backup", str(file)).code == 0
    assert file.stat().st_mode & 0o077 == 0
    data = bytearray(file.read_bytes())
    if damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        data[data.index(b"read_file")] ^= 1
        file.write_bytes(data)
    assert here("store", "restore", str(file)).code == 3  # the store is not empty
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "new"))
    restored = here("store", "restore", str(file))
    assert (restored.code == 0) == (not damage)
    assert heads(root) == ((0, True) if damage else (4, True))


def test_a_project_is_named_in_its_configuration(
    here: Sutler, root: Path, member: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUTLER_STORE", member)
    (root / "sutler.toml").write_text('project = "shop"\n')
    assert here("read", "a.py").code == 0
    assert f"{tenant}/shop" in here("store", "status").text


def test_a_move_needs_an_administrator(
    here: Sutler, root: Path, member: str, tenant: str, postgres_admin: str
) -> None:
    """A writer is told so, and the local ledger goes on."""
    words = ("--role", "writer", "--tenant", tenant, "--store", postgres_admin)
    writer = here("store", "members", "add", f"wim-{tenant}", *words).text.strip()
    assert here("read", "a.py").code == 0
    refused = here("store", "move", "--to", writer)
    assert (refused.code, "the role admin moves" in refused.err) == (5, True)
    assert here("read", "a.py").code == 0
    assert heads(root) == (2, True)


def test_an_approval_is_for_one_person(
    here: Sutler, root: Path, member: str, tenant: str, postgres_admin: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Two people with the same user id on two machines are two callers; the log names them."""
    words = ("--role", "writer", "--tenant", tenant, "--store", postgres_admin)
    writer = here("store", "members", "add", f"wim-{tenant}", *words).text.strip()
    monkeypatch.setenv("SUTLER_PROJECT", "web")
    call = ("call", "write_file", '{"path": "new.py", "content": "x", "mode": "create"}')
    monkeypatch.setenv("SUTLER_STORE", writer)
    asked = here(*call)
    approval = asked.err.split("needs approval ")[1].split()[0]
    monkeypatch.setenv("SUTLER_STORE", member)
    with open_door(str(root), Caller("x", "y")) as door:
        assert door.gate.store.settle(approval, "approved", "ann")
    assert here(*call).code == 5
    monkeypatch.setenv("SUTLER_STORE", writer)
    assert here(*call).code == 0
    assert f"wim-{tenant}"[:14] in here("log", "-n", "1").text


def test_members_and_tokens_are_listed_and_end(
    here: Sutler, root: Path, member: str, tenant: str, postgres_admin: str
) -> None:
    made = here("token", "create", "--store", member, "--scope", "write")
    id = made.text.split("_")[1]
    listed = here("token", "list", "--store", member).text
    assert (id in listed, made.text.strip() in listed) == (True, False)
    assert here("token", "revoke", id, "--store", member).code == 0
    assert "revoked" in here("token", "list", "--store", member).text
    assert here("token", "revoke", id, "--store", member).code == 2
    words = ("--tenant", tenant, "--store", postgres_admin)
    assert f"ann-{tenant}" in here("store", "members", *words).text
    assert here("store", "members", "remove", f"ann-{tenant}", *words).code == 0
    assert here("token", "list", "--store", member).code != 0


def test_a_superuser_is_warned_about_and_refused(
    here: Sutler, root: Path, member: str, postgres_admin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "superuser" in here("store", "status", postgres_admin).text
    monkeypatch.setenv("SUTLER_STORE", postgres_admin)
    with pytest.raises(RefusedError, match="superuser"), open_ledger(str(root), os.environ):
        pass
    assert here("read", "a.py").code == 3
