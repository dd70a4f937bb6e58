"""The redactor's compiled rules: those that come with the program are fresh; elsewhere they are
compiled, loaded once for a process, and never trusted when they look different.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sutler.secrets import cleaner as database
from sutler.secrets import engines
from sutler.secrets.cleaner import COMPILE_ABOVE, engine_for
from sutler.secrets.engines import Engine, ready_made, stdlib_engine
from sutler.secrets.redactor import redact
from sutler.store import home
from tests import databases

TEXT = 'TOKEN = "ghp_' + "x7Kq2mZ9pLw4Rt8Yb3Nc6Vd1Sf5Hg0Jk2aQe" + '"\n'


@pytest.fixture(scope="module", autouse=True)
def _fast_engine() -> None:
    pytest.importorskip("hyperscan", reason="without it there is nothing to compile")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine for which no database comes with the program."""
    monkeypatch.setattr(database, "MACHINE", "plan9 pdp11")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "cache"


def cleaned(engine: Engine) -> str:
    return redact(TEXT, "a.py", key=b"k" * 32, engine=engine).text


def kept() -> Path:
    (found,) = Path(home.cache_folder(os.environ)).glob("secrets-*.hs")
    return found


def ours() -> bool:
    """Whether the shipped database is for this machine and hyperscan, fresh or stale."""
    made_for = databases.PLACE.read_bytes().partition(b"\n")[0]
    return made_for.rpartition(b" ")[0] == engines.maker(database.MACHINE).rpartition(b" ")[0]


@pytest.mark.skipif(not ours(), reason="made for another machine or another hyperscan")
def test_the_one_that_comes_with_the_program_is_fresh() -> None:
    stale = "stale: run `python -m tests.databases` after a change of the tables of secret formats"
    assert databases.PLACE.read_bytes() == databases.ready_made(), stale


@pytest.mark.skipif(not ours(), reason="made for another machine or another hyperscan")
def test_with_it_nothing_is_compiled_and_nothing_kept() -> None:
    first = engine_for(0, os.environ)
    assert first is engine_for(COMPILE_ABOVE, os.environ)
    assert first is not stdlib_engine()
    assert cleaned(first) == cleaned(stdlib_engine())
    assert not os.path.exists(home.cache_folder(os.environ))


def test_one_for_another_machine_is_not_touched() -> None:
    assert ready_made("plan9 pdp11") == b""


@pytest.mark.usefixtures("elsewhere")
def test_what_is_kept_is_loaded_once() -> None:
    engine_for(COMPILE_ABOVE, os.environ)
    first = engine_for(0, os.environ)
    assert engine_for(0, os.environ) is first
    assert cleaned(first) == cleaned(stdlib_engine())


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("damage", [b"", b"not a database"], ids=["empty", "foreign"])
def test_a_damaged_database_gives_way_to_the_plain_engine(damage: bytes) -> None:
    engine_for(COMPILE_ABOVE, os.environ)
    before = engine_for(0, os.environ)
    kept().write_bytes(damage)
    after = engine_for(0, os.environ)
    assert after is not before
    assert cleaned(after) == cleaned(stdlib_engine())


@pytest.mark.usefixtures("elsewhere")
def test_a_cache_of_another_place_is_another_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_for(COMPILE_ABOVE, os.environ)
    engine_for(0, os.environ)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert home.cached_file(kept_name(tmp_path), os.environ) is None
    assert cleaned(engine_for(0, os.environ)) == cleaned(stdlib_engine())


def kept_name(tmp_path: Path) -> str:
    (found,) = (tmp_path / "cache" / "sutler").glob("secrets-*.hs")
    return found.name


@pytest.mark.usefixtures("elsewhere")
def test_a_link_in_the_cache_counts_as_absent(tmp_path: Path) -> None:
    engine_for(COMPILE_ABOVE, os.environ)
    file = kept()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert home.cached_file(file.name, os.environ) is None
