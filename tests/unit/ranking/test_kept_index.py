"""The index between runs: an edit adds to it, and the answer is the one of an index made anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import sutler
from sutler.ranking.index import MOST_LATE, Bag
from sutler.store import home

TASK = "The total of f3 is wrong for grand totals"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "project"
    root.mkdir()
    for number in range(30):
        write(root, f"m{number}.py", f"def f{number}():\n    return total({number})\n")
    return root


def write(root: Path, name: str, text: str) -> None:
    """Long ago by its time: a file of this very moment is looked at twice."""
    path = root / name
    path.write_text(text)
    os.utime(path, (1_000_000_000, 1_000_000_000 + len(text)))


def answer(root: Path) -> list[tuple[str, float]]:
    project = sutler.Project(root)
    return [(one.path, one.score) for one in project.ranking(project.found(), TASK).ranked]


def anew(root: Path) -> list[tuple[str, float]]:
    home.forget([one.name for one in home.cache_files(os.environ)], os.environ)
    return answer(root)


def kept(ending: str) -> list[Path]:
    return sorted(Path(home.cache_folder(os.environ)).glob(f"index-*{ending}"))


def test_an_edit_does_not_write_the_whole_index_again(root: Path) -> None:
    answer(root)
    (whole,) = kept(".bin")
    before = whole.stat().st_mtime_ns, whole.read_bytes()
    write(root, "m3.py", "def f3():\n    return 'a grand total'\n")
    answer(root)
    assert (whole.stat().st_mtime_ns, whole.read_bytes()) == before
    (later,) = kept(".later")
    assert later.stat().st_size * 4 < len(before[1])


EDITS: dict[str, Callable[[Path], None]] = {
    "edit": lambda root: write(root, "m3.py", "def f3():\n    return 'a grand total'\n"),
    "add": lambda root: write(root, "grand.py", "def grand_total():\n    return f3()\n"),
    "delete": lambda root: (root / "m3.py").unlink(),
    "there and back": lambda root: _there_and_back(root),
}


def _there_and_back(root: Path) -> None:
    before = (root / "m3.py").read_text()
    write(root, "m3.py", "gone\n")
    answer(root)
    write(root, "m3.py", before)


@pytest.mark.parametrize("edit", EDITS)
def test_the_answer_is_that_of_a_new_index(root: Path, edit: str) -> None:
    answer(root)
    EDITS[edit](root)
    first, again = answer(root), answer(root)
    assert first == again == anew(root)


def test_many_edits_end_in_few_pieces(root: Path) -> None:
    answer(root)
    for number in range(MOST_LATE + 3):
        write(root, f"m{number % 3}.py", f"def grand{number}():\n    return {number * '9'}\n")
        found = answer(root)
    assert found == anew(root)


@pytest.mark.parametrize("damage", [b"", b"\x00", b"nonsense", b"\x95\x00\x00\x80\x90\x90"])
def test_a_damaged_addition_is_left_aside(root: Path, damage: bytes) -> None:
    answer(root)
    write(root, "m3.py", "def f3():\n    return 'a grand total'\n")
    answer(root)
    kept(".later")[0].write_bytes(damage)
    assert answer(root) == anew(root)


def test_an_addition_of_another_index_is_left_aside(root: Path) -> None:
    answer(root)
    write(root, "m3.py", "def f3():\n    return 'a grand total'\n")
    answer(root)
    stale = kept(".later")[0].read_bytes()
    write(root, "m4.py", "def f4():\n    return 'another total'\n")
    expected = anew(root)
    name = kept(".bin")[0].name.removesuffix(".bin")
    home.keep(f"{name}.later", stale, os.environ)
    assert answer(root) == expected


def test_files_that_were_not_held_are_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large tree no more than a part is in memory at a time; the index is the same."""
    before = anew(root)
    monkeypatch.setattr("sutler.ranking.kept_index.HELD", 100)
    assert anew(root) == before


@pytest.mark.parametrize(
    "damage", [b"", b"\x95\x02", b"\xff" * 40], ids=["empty", "an older one", "noise"]
)
def test_a_damaged_index_is_made_anew(root: Path, damage: bytes) -> None:
    before = answer(root)
    kept(".bin")[0].write_bytes(damage)
    assert answer(root) == before


def test_a_folder_and_the_whole_do_not_undo_each_other(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever names a folder now and everything then finds both indexes as they were."""
    monkeypatch.chdir(root)
    (root / "part").mkdir()
    write(root, "part/p.py", "def part():\n    return total(0)\n")
    scopes = [(), ("part",), ("part", "m3.py")]

    def answers() -> list[list[tuple[str, float]]]:
        projects = [sutler.Project(*scope) for scope in scopes]
        ranked = [project.ranking(project.found(), TASK).ranked for project in projects]
        return [[(one.path, one.score) for one in some] for some in ranked]

    first = answers()
    assert [len({path for path, _ in some}) for some in first] == [31, 1, 2]
    before = {path: path.stat().st_mtime_ns for path in kept("")}
    assert len(before) == 2 * len(scopes)  # an index and facts each
    assert answers() == first
    assert {path: path.stat().st_mtime_ns for path in kept("")} == before


def test_an_index_that_is_damaged_anywhere_is_made_anew(root: Path) -> None:
    """Also where only the query finds out."""
    before = answer(root)
    whole = kept(".bin")[0].read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        kept(".bin")[0].write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        assert answer(root) == before


def test_nothing_is_left_of_a_build_that_was_interrupted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: str, text: str) -> Bag:
        raise KeyboardInterrupt

    monkeypatch.setattr("sutler.ranking.kept_index.bag_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        answer(root)
    assert kept("") == []


def test_without_a_cache_the_answer_is_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = answer(root)
    (root.parent / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(root.parent / "file"))
    assert answer(root) == before
