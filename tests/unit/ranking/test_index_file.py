"""Large files of the cache in pieces: what is given back is what was written, or nothing is."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.formats.document import Run
from sutler.ranking import index_file as pieces
from sutler.ranking.index_file import DamagedError, Draft, stored
from sutler.store import home

PARTS = [b"one", b"", b"two" * 1000, b"\0", b"three"]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}


def made(environ: dict[str, str], parts: list[bytes] = PARTS) -> bytes:
    draft = Draft("index-1.bin", environ)
    kept = draft.keep(parts)
    draft.finish(b"account")
    return kept.places


def names(environ: dict[str, str]) -> list[str]:
    return sorted(one.name for one in home.cache_files(environ))


def test_what_was_kept_comes_back(environ: dict[str, str]) -> None:
    places = made(environ)
    source = stored("index-1.bin", environ)
    assert source is not None
    assert source.account() == b"account"
    found = source.pieces(places)
    assert (len(found), list(found), found[1:3]) == (len(PARTS), PARTS, PARTS[1:3])
    with pytest.raises(IndexError):
        found[len(PARTS)]


@given(
    st.lists(st.lists(st.binary(max_size=40), max_size=6), min_size=1, max_size=4),
    st.integers(1, 64),
)
@settings(deadline=None)
def test_several_lists_may_lie_among_each_other(lists: list[list[bytes]], at_once: int) -> None:
    """One list may be kept while another is being made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "_AT_ONCE", at_once)
        draft = Draft(
            "index-1.bin", {"XDG_CACHE_HOME": "/dev/null"}
        )  # nowhere to write: everything stays in memory
        inner = []

        def outer() -> Iterator[bytes]:
            for one in lists[0]:
                inner.append(draft.keep(lists[-1]))
                yield one

        assert list(draft.keep(outer())) == lists[0]
        assert all(list(one) == lists[-1] for one in inner)


def test_a_file_that_is_replaced_or_cleared_stays_open(environ: dict[str, str]) -> None:
    places = made(environ)
    source = stored("index-1.bin", environ)
    assert source is not None
    made(environ, [b"other"])
    home.forget(names(environ), environ)
    assert list(source.pieces(places)) == PARTS


def test_no_byte_may_change_unnoticed(environ: dict[str, str]) -> None:
    parts = [b"one", b"two" * 5]
    places = made(environ, parts)
    path = Path(home.cache_folder(environ)) / "index-1.bin"
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        source = stored("index-1.bin", environ)
        assert source is not None
        if source.account() == b"account":
            with pytest.raises(DamagedError, match="run the command again"):
                list(source.pieces(places))
            assert not path.exists()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        source = stored("index-1.bin", environ)
        assert source is not None
        assert source.account() is None


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_full_disk_loses_nothing_but_the_file(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    calls = iter(range(100))

    def full(fd: int, run: Run) -> None:
        if next(calls) >= after:
            os.write(fd, bytes(run[0])[:1])  # a part of it may have been written
            raise OSError(errno.ENOSPC, "no room")
        os.write(fd, b"".join(run))

    monkeypatch.setattr(pieces, "write_run", full)
    monkeypatch.setattr(pieces, "_AT_ONCE", 2)
    draft = Draft("index-1.bin", environ)
    kept = draft.keep(PARTS)
    assert list(kept) == PARTS
    draft.finish(b"account")
    assert list(kept) == PARTS
    assert names(environ) == []


def test_where_there_is_no_cache_pieces_stay_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    environ = {"XDG_CACHE_HOME": str(tmp_path / "file")}
    draft = Draft("index-1.bin", environ)
    kept = draft.keep(PARTS)
    draft.finish(b"account")
    assert list(kept) == PARTS
    assert stored("index-1.bin", environ) is None


def test_a_draft_that_is_dropped_can_be_read(environ: dict[str, str]) -> None:
    draft = Draft("index-1.bin", environ)
    draft.drop()
    assert list(draft.keep(PARTS)) == PARTS
    assert names(environ) == []


def test_what_a_killed_run_left_is_forgotten_in_time(environ: dict[str, str]) -> None:
    """But not what another run may be writing just now."""
    Draft("index-1.bin", environ).keep(PARTS)
    (old,) = names(environ)
    os.utime(os.path.join(home.cache_folder(environ), old), (1_000_000_000, 1_000_000_000))
    writing = Draft("index-2.bin", environ)
    writing.keep(PARTS)
    home.keep("facts-1.bin", b"whole", environ)
    os.utime(
        os.path.join(home.cache_folder(environ), "facts-1.bin"), (1_000_000_000, 1_000_000_000)
    )
    home.make_room(environ)
    assert old not in names(environ)
    assert [one.partition(".")[0] for one in names(environ)] == ["facts-1", "index-2"]


def test_what_cannot_be_kept_leaves_nothing(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, data: bytes, *, durable: bool) -> None:
        Path(path).write_bytes(data[:1])
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(home, "private_file", full)
    home.keep("facts-1.bin", b"whole", environ)
    assert names(environ) == []
