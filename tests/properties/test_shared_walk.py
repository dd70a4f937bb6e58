"""A walk that is shared with another process finds what one alone finds, whatever happens to the other."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from sutler.disk.root import Root
from sutler.disk.shares import Share
from sutler.disk.walk import scan
from sutler.engine.workers import shared_out
from sutler.values.pack import Octets
from sutler.values.snapshot import ScanRules, Snapshot
from tests.properties.gitworld import git, init, tree, write

RULES = (
    ScanRules(),
    ScanRules(default_excludes=False, skip_file_bytes=None, hidden=False),
    ScanRules(depth=2, allow=("*.c",)),
)


def found(top: Path, rules: ScanRules, share: Share | None = None) -> Snapshot:
    with Root(str(top)) as root:
        return scan(root, rules, share=share)


def populate(rng: random.Random, top: Path, folders: int) -> None:
    """Ignore files and tracked files in many folders, repositories in repositories, links, and a long way down."""
    init(str(top))
    for number in range(folders):
        tree(rng, str(top / f"d{number % 7}" / f"e{number}"), 4)
    write(str(top), ".gitignore", b"*.o\n/d1/e8/\n!keep.o\n")
    git(str(top), "add", "--force", "d1/e8")
    init(str(top / "d2" / "inner"))
    tree(rng, str(top / "d2" / "inner" / "below"), 12)
    (top / "d3" / "link").symlink_to(top)
    (top / "d4" / "/".join(["deep"] * 150)).mkdir(parents=True)
    (top / "d4" / "/".join(["deep"] * 150) / "end.c").write_text("1\n")


def forget_names_that_are_no_text(top: Path) -> None:
    for path in sorted(top.rglob("*\udcff*")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("folders", [20, 170], ids=["a few folders", "many"])
def test_the_same_is_found(seed: int, folders: int, tmp_path: Path) -> None:
    populate(random.Random(seed), tmp_path, folders)
    if seed % 3:
        forget_names_that_are_no_text(tmp_path)
    for rules in RULES:
        assert found(tmp_path, rules, shared_out) == found(tmp_path, rules)


def plain(top: Path) -> Path:
    for number in range(400):
        (top / f"a{number % 20}" / f"b{number}").mkdir(parents=True)
        (top / f"a{number % 20}" / f"b{number}" / "file.py").write_text(f"{number}\n")
    return top


def with_work(change: Callable[[int], None]) -> Share:
    """`shared_out`, and something that happens before each part."""

    def share(
        count: int, work: Callable[[int], None], outcome: Callable[[], bytes], add: Callable[[Octets], None]
    ) -> None:
        def changed(number: int) -> None:
            change(number)
            work(number)

        shared_out(count, changed, outcome, add)

    return share


def test_both_take_part(tmp_path: Path) -> None:
    out, into = os.pipe()
    here = os.getpid()

    def note(number: int) -> None:
        os.write(into, b"p" if os.getpid() == here else b"c")
        while os.getpid() == here and number == 0:
            if b"c" in os.read(out, 100):
                break

    snapshot = found(plain(tmp_path), RULES[0], with_work(note))
    os.close(into)
    os.close(out)
    assert len(snapshot.entries) == 400
    assert snapshot.directories == 421


def test_a_child_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    here = os.getpid()

    def deadly(number: int) -> None:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)

    assert found(plain(tmp_path), RULES[0], with_work(deadly)) == found(tmp_path, RULES[0])


def test_names_that_cannot_be_told_are_found_here(tmp_path: Path) -> None:
    plain(tmp_path)
    for number in range(134):
        folder = tmp_path / "a1" / os.fsdecode(b"\xff%d" % number)
        folder.mkdir()
        (folder / "x.py").write_text("")
    snapshot = found(tmp_path, RULES[0], shared_out)
    assert snapshot == found(tmp_path, RULES[0])
    assert len(snapshot.entries) == 534


def test_an_error_ends_the_other_too(tmp_path: Path) -> None:
    here = os.getpid()
    out, into = os.pipe()

    def failing(number: int) -> None:
        if os.getpid() != here:
            os.write(into, f" {os.getpid()}".encode())
            return
        if os.read(out, 1):  # the other has begun
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found(plain(tmp_path), RULES[0], with_work(failing))
    os.close(into)
    with open(out) as stream:
        assert not os.path.exists(f"/proc/{stream.read().split()[-1]}")
