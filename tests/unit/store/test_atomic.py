from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sutler.errors import SutlerError
from sutler.store.atomic import write_atomic


def chunks(*, fail: bool = False) -> Iterator[bytes]:
    yield b"new "
    if fail:
        raise RuntimeError("the work broke off")
    yield b"text"


def test_new_and_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    write_atomic(str(target), chunks())
    assert target.read_bytes() == b"new text"
    target.chmod(0o640)
    write_atomic(str(target), [b"again"])
    assert target.read_bytes() == b"again"
    assert target.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["out.md"]


def test_the_old_file_survives_a_failure(tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    target.write_bytes(b"old")
    with pytest.raises(RuntimeError):
        write_atomic(str(target), chunks(fail=True))
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.md"]


def test_a_full_disk(tmp_path: Path) -> None:
    """A limit on file size stands in for a full disk: the write fails halfway."""
    target = tmp_path / "out.md"
    target.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(SutlerError) as caught:
            write_atomic(str(target), [b"x" * 600, b"y" * 600])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert "cannot write" in str(caught.value)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.md"]


WRITE = """
import sys
from sutler.store.atomic import write_atomic
from sutler.errors import SutlerError
try:
    write_atomic(sys.argv[1], [b"new"])
except SutlerError as error:
    print("refused", error.what)
else:
    print("written")
"""


@pytest.mark.parametrize(
    "fault",
    [
        "fsync:error=EIO:when=1",
        "rename,renameat,renameat2:error=EROFS",
        "write:error=ENOSPC:when=1",
        "fchmod:error=EIO",
    ],
)
def test_a_failing_system_call(tmp_path: Path, fault: str) -> None:
    """Whichever step fails, the old file is whole, no temporary file stays, and the error says
    so.
    """
    target = tmp_path / "out.md"
    target.write_bytes(b"old")
    trace = ["strace", "-qq", "-o", "/dev/null", "-e", f"inject={fault}"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            [*trace, sys.executable, "-c", WRITE, str(target)],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
        )
    except FileNotFoundError:
        pytest.skip("no strace here")
    if not done.stdout and "Traceback" not in done.stderr:
        pytest.skip(f"strace may not trace here: {done.stderr[-80:]}")
    assert done.stdout.startswith("refused"), done
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.md"]


@pytest.mark.parametrize("place", ["missing/out.md", "folder", "a\0b", "x" * 300])
def test_a_place_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder/keep").mkdir(parents=True)
    with pytest.raises(SutlerError):
        write_atomic(f"{tmp_path}/{place}", [b"x"])
    assert os.listdir(tmp_path) == ["folder"]


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    """T04: the file that a link names keeps its content."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    for target in ("victim", "nowhere"):
        link = tmp_path / "out.md"
        link.unlink(missing_ok=True)
        os.symlink(target, link)
        write_atomic(str(link), [b"new"])
        assert victim.read_bytes() == b"mine"
        assert not link.is_symlink()
    assert not (tmp_path / "nowhere").exists()


def test_a_hard_link_keeps_its_other_name(tmp_path: Path) -> None:
    """T08: the shared inode is never written."""
    (tmp_path / "one").write_bytes(b"shared")
    os.link(tmp_path / "one", tmp_path / "two")
    write_atomic(str(tmp_path / "two"), [b"new"])
    assert (tmp_path / "one").read_bytes() == b"shared"


def test_a_device_is_written_as_it_is() -> None:
    write_atomic("/dev/null", [b"gone"])
    assert not os.path.isfile("/dev/null")


def test_a_name_at_the_length_limit(tmp_path: Path) -> None:
    write_atomic(f"{tmp_path}/{'n' * 255}", [b"x"])
    write_atomic(f"{tmp_path}/{'é' * 127}", [b"x"])
    assert len(os.listdir(tmp_path)) == 2
