"""A file that somebody writes is waited for; one that never rests is a problem."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sutler.scan.root import Blob
from sutler.scan.snapshot import Problem
from sutler.scan.steady import PATIENCE, QUIET, Patience, read_at_rest, rest

Wait = Callable[[Callable[[], object]], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "file"
    made.write_bytes(b"content")
    return made


@pytest.fixture
def fd(path: Path) -> Iterator[int]:
    opened = os.open(path, os.O_RDONLY)
    yield opened
    os.close(opened)


@pytest.fixture
def waiting(path: Path, monkeypatch: pytest.MonkeyPatch) -> Wait:
    """While the reader waits, somebody does something; by the clock the last change is always a
    millisecond old.
    """

    def begin(act: Callable[[], object]) -> None:
        monkeypatch.setattr(time, "sleep", lambda _: act())
        monkeypatch.setattr(time, "time", lambda: os.stat(path).st_mtime + 0.001)

    return begin


def age(path: Path, seconds: float) -> None:
    when = time.time() - seconds
    os.utime(path, (when, when))


def append(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b"!")


def test_a_file_at_rest_costs_no_patience(path: Path, fd: int) -> None:
    age(path, 1)
    patience = Patience()
    found = read_at_rest(fd, "file", None, patience)
    assert isinstance(found, Blob)
    assert (found.data, patience.left) == (b"content", PATIENCE)


def test_a_time_in_the_future_is_nobody_writing(path: Path, fd: int) -> None:
    age(path, -3600)
    patience = Patience()
    assert isinstance(read_at_rest(fd, "file", None, patience), Blob)
    assert patience.left == PATIENCE


def test_a_file_changed_once_is_read_after_one_wait(path: Path, fd: int, waiting: Wait) -> None:
    waiting(lambda: None)
    patience = Patience()
    assert rest(fd, patience) is not None
    assert patience.left == pytest.approx(PATIENCE - QUIET + 0.001, abs=1e-4)


def test_a_file_that_grows_with_every_look_is_a_problem(path: Path, fd: int, waiting: Wait) -> None:
    waiting(lambda: append(path))
    found = read_at_rest(fd, "file", None, Patience())
    assert isinstance(found, Problem)
    assert found.kind == "changing"
    assert len(path.read_bytes()) < 20  # and nobody looked for ever


def test_a_file_that_comes_to_rest_in_time_is_read(path: Path, fd: int, waiting: Wait) -> None:
    waiting(lambda: append(path) if path.stat().st_size < len(b"content!!") else None)
    found = read_at_rest(fd, "file", None, Patience())
    assert isinstance(found, Blob)
    assert found.data == b"content!!"


def test_without_patience_a_fresh_file_is_not_waited_for(
    path: Path, fd: int, waiting: Wait
) -> None:
    waiting(lambda: pytest.fail("waited"))
    assert rest(fd, Patience(0)) is None


def test_a_file_that_changes_with_every_read_is_a_problem(
    path: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However old the clock says that the change is."""
    age(path, 1)
    read, count = os.read, iter(range(100))

    def meddling(fd: int, size: int) -> bytes:
        found = read(fd, size)
        age(path, 100 + next(count))
        return found

    monkeypatch.setattr(os, "read", meddling)
    found = read_at_rest(fd, "file", None, Patience())
    assert isinstance(found, Problem)
    assert found.kind == "changing"


def test_a_file_that_loses_its_name_is_as_whole_as_it_was(
    path: Path, fd: int, waiting: Wait
) -> None:
    """Whoever replaces a file whole leaves alone the one that is open."""
    other = path.with_name("other")
    other.write_bytes(b"new")
    mtime = path.stat().st_mtime
    waiting(lambda: other.rename(path) if other.exists() else None)
    os.utime(other, (mtime, mtime))
    found = read_at_rest(fd, "file", None, Patience())
    assert isinstance(found, Blob)
    assert found.data == b"content"


def test_the_limit_holds(path: Path, fd: int) -> None:
    age(path, 1)
    found = read_at_rest(fd, "file", 3, Patience())
    assert isinstance(found, Problem)
    assert found.kind == "too_large"
