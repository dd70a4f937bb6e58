"""Files on their way to a new content: nobody sees them, and what is let go leaves nothing."""

from __future__ import annotations

import os
import time
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from sutler.disk import aio
from sutler.disk.later import Later
from sutler.disk.replace import ABSENT, Held, Replacement, held
from sutler.disk.root import Root
from sutler.disk.spare import Spare
from sutler.values.errors import ConflictError
from sutler.values.paths import RelPath

PATH = RelPath("d/a.txt")


def content(data: bytes, mode: int = 0o640) -> Held:
    return Held(data, sha256(data).hexdigest(), mode)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_bytes(b"old\n")
    return Root(str(tmp_path))


def test_new_bytes_have_no_name_before_they_change_places(root: Root) -> None:
    step = Replacement(root, PATH, held(root, PATH, 100), content(b"new\n"))
    step.stage()
    assert os.listdir(f"{root.host_path}/d") == ["a.txt"]
    step.prepare()
    step.swap()
    assert len(os.listdir(f"{root.host_path}/d")) == 2  # until the old one is known to be what it was to be
    step.finish()
    assert (os.listdir(f"{root.host_path}/d"), held(root, PATH, 100)[:3]) == (["a.txt"], content(b"new\n")[:3])


@pytest.mark.parametrize("far", [False, True], ids=["staged", "prepared"])
def test_what_is_let_go_leaves_nothing(root: Root, far: bool) -> None:
    before, open_files = held(root, PATH, 100), os.listdir("/proc/self/fd")
    step = Replacement(root, PATH, before, content(b"new\n"))
    step.stage()
    if far:
        step.prepare()
    step.drop()
    assert (os.listdir(f"{root.host_path}/d"), held(root, PATH, 100)) == (["a.txt"], before)
    assert os.listdir("/proc/self/fd") == open_files


def test_a_new_file_in_a_new_folder_is_not_begun_early(root: Root) -> None:
    """A folder can be seen, so it waits for the intent."""
    step = Replacement(root, RelPath("e/f/b.txt"), ABSENT, content(b"new\n"))
    step.stage()
    assert not os.path.exists(f"{root.host_path}/e")
    step.prepare()
    step.swap()
    step.finish()
    assert os.listdir(f"{root.host_path}/e/f") == ["b.txt"]


def test_another_files_bytes_go_back(root: Root) -> None:
    step = Replacement(root, PATH, held(root, PATH, 100), content(b"new\n"))
    step.prepare()
    Path(root.host_path, PATH).write_bytes(b"theirs\n")
    with pytest.raises(ConflictError):
        step.swap()
    step.undo()
    assert (os.listdir(f"{root.host_path}/d"), held(root, PATH, 100).data) == (["a.txt"], b"theirs\n")


def test_a_mark_is_of_one_file_untouched(root: Root) -> None:
    one = held(root, PATH, 100)
    Path(root.host_path, PATH).write_bytes(b"old\n")
    os.utime(f"{root.host_path}/d/a.txt", ns=(1, 1))
    assert one.same(held(root, PATH, 100))
    assert one.mark != held(root, PATH, 100).mark


def test_a_sync_in_the_background_tells_what_went_wrong(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "a", os.O_RDWR | os.O_CREAT)
    first = aio.start_sync(fd)
    second = aio.start_sync(fd)
    first()
    second()
    os.close(fd)
    bad = aio.start_sync(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        bad()


def test_directories_are_synced_later_and_told_once(tmp_path: Path) -> None:
    told: list[list[str]] = []
    later, open_files = Later(lambda calls: told.append(list(calls))), os.listdir("/proc/self/fd")
    for n in range(3):
        gone = os.open(tmp_path / f"gone{n}", os.O_RDWR | os.O_CREAT)
        later.owe([f"c{n}"], [(os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY), gone if n else -1)])
        if not n:
            os.close(gone)
    later.close()
    assert sorted(call for calls in told for call in calls) == ["c0", "c1", "c2"]
    assert (later.calls(), later.broken, os.listdir("/proc/self/fd")) == (frozenset(), False, open_files)


def test_what_is_synced_can_be_told_by_another(tmp_path: Path) -> None:
    """A write takes along what is due; what nobody took is told at the end."""
    told: list[str] = []
    later = Later(told.extend)
    for n in range(5):
        later.owe([f"c{n}"], [(os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY), -1)])
    until = time.monotonic() + 10
    while not (some := later.due(2)):
        assert time.monotonic() < until
        time.sleep(0.01)
    later.told(some)
    assert not set(some) & later.calls()
    later.close()
    assert sorted((*told, *some)) == ["c0", "c1", "c2", "c3", "c4"]


def taken(spare: Spare, directory: int) -> int:
    """A spare file, as soon as one is made."""
    until = time.monotonic() + 30
    while (found := spare.take(directory)) < 0 and time.monotonic() < until:
        spare.refill()
        time.sleep(0.005)
    return found


@pytest.mark.parametrize("background", [True, False])
def test_a_spare_file_is_for_one_directory_and_one_moment(tmp_path: Path, background: bool) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    one, other = (os.open(tmp_path / name, os.O_RDONLY) for name in "ab")
    open_files = len(os.listdir("/proc/self/fd"))
    with closing(Spare(background=background)) as spare:
        spare.refill()  # nobody has written anything: nothing to make
        assert spare.take(one) == -1
        for directory, name in ((one, "a"), (other, "b"), (other, "b")):
            spare.refill()
            ready = taken(spare, directory)
            assert os.readlink(f"/proc/self/fd/{ready}").startswith(f"{tmp_path}/{name}/")
            assert os.fstat(ready).st_nlink == 0
            os.close(ready)
        spare.refill()
        time.sleep(0.05)
        spare.FRESH = -1.0
        assert spare.take(other) == -1
    assert len(os.listdir("/proc/self/fd")) == open_files
    for fd in (one, other):
        os.close(fd)


def test_every_spare_file_is_another(tmp_path: Path) -> None:
    directory = os.open(tmp_path, os.O_RDONLY)
    open_files = len(os.listdir("/proc/self/fd"))
    with closing(Spare()) as spare:
        found = [taken(spare, directory) for _ in range(100)]
        assert len({os.fstat(fd).st_ino for fd in found}) == 100
        spare.refill()
    for fd in found:
        os.close(fd)
    assert len(os.listdir("/proc/self/fd")) == open_files
    os.close(directory)


def test_a_directory_that_is_gone_has_no_spare_files(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    directory = os.open(tmp_path / "d", os.O_RDONLY)
    with closing(Spare()) as spare:
        assert spare.take(directory) == -1
        os.rmdir(tmp_path / "d")
        for _ in range(3):
            spare.refill()
            time.sleep(0.02)
            assert spare.take(directory) == -1
    os.close(directory)


def test_what_cannot_be_told_stays_open(tmp_path: Path) -> None:
    def fail(_: object) -> None:
        raise OSError

    later = Later(fail)
    later.owe(["c"], [(os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY), -1)])
    later.close()
    assert later.broken
