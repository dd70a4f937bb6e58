from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sutler.fronts.tui.panes import plain_lines, row_text
from sutler.fronts.tui.picking import Plan, Row, Weight, bar, folded
from sutler.scan.globs import GlobSet

FILES = {
    "README.md": 3,
    "src/a.py": 10,
    "src/deep/b.py": 20,
    "src/deep/c.py": 30,
    "src-old/a.py": 5,
}


def plan(picked: tuple[str, ...] = ()) -> Plan:
    return Plan({path: Weight(tokens, tokens * 4) for path, tokens in FILES.items()}, picked)


def paths(rows: list[Row]) -> list[str]:
    return [row.path for row in rows]


def test_folders_come_first_and_are_closed() -> None:
    assert paths(plan().rows(set())) == ["src", "src-old", "README.md"]
    assert [row.tokens for row in plan().rows(set()) if row.path == "src"] == [60]


def test_an_open_folder_shows_what_is_in_it() -> None:
    rows = plan().rows({"src"})
    at = paths(rows).index("src")
    assert paths(rows)[at : at + 3] == ["src", "src/deep", "src/a.py"]
    assert [row.depth for row in rows[at : at + 3]] == [0, 1, 1]


def test_the_heaviest_first() -> None:
    assert paths(plan().rows(set(), heaviest=True)) == ["src", "src-old", "README.md"]


def test_a_folder_is_picked_whole_and_dropped_whole() -> None:
    one = plan()
    one.toggle("src/deep")
    assert one.chosen() == ["src/deep/b.py", "src/deep/c.py"]
    assert (one.mark("src"), one.mark("src/deep"), one.mark("src-old")) == ("some", "all", "none")
    assert (one.tokens, one.cost) == (50, 200)
    one.toggle("src")
    assert one.mark("src") == "all"
    one.toggle("src")
    assert (one.chosen(), one.tokens, one.cost) == ([], 0, 0)


def test_a_folder_s_neighbour_with_its_name_in_front_is_not_below_it() -> None:
    assert plan().below("src") == ["src/a.py", "src/deep/b.py", "src/deep/c.py"]


def test_picks_that_are_not_here_survive_and_are_not_chosen() -> None:
    one = plan(("gone.py", "src/a.py"))
    assert one.chosen() == ["src/a.py"]
    assert one.kept() == ["gone.py", "src/a.py"]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("DEEP", ["src", "src/deep", "src/deep/b.py", "src/deep/c.py"]),
        ("*.md", ["README.md"]),
        ("nothing", []),
        ("src/a", ["src", "src/a.py"]),
    ],
)
def test_search_finds_by_word_and_by_glob(word: str, found: list[str]) -> None:
    assert paths(plan().found(word)) == found


@given(st.lists(st.sampled_from([*FILES, "src", "src/deep", "src-old"]), max_size=20))
def test_figures_are_those_of_the_picks_whatever_was_toggled(steps: list[str]) -> None:
    one = plan()
    for step in steps:
        one.toggle(step)
    assert one.tokens == sum(FILES[path] for path in one.picked)
    for folder, total in one.totals.items():
        below = set(one.below(folder))
        assert total.picked == len(below & one.picked)
        assert total.tokens == sum(FILES[path] for path in below)


NAMES = st.text(st.sampled_from("ab*?[]{},!\\ #-é"), min_size=1, max_size=4).filter(
    lambda name: name.strip() == name
)


@given(
    st.dictionaries(
        st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.just(Weight(1, 1)), max_size=8
    )
)
def test_picks_as_globs_mean_these_files_and_no_others(files: dict[str, Weight]) -> None:
    clean = {
        path: one
        for path, one in files.items()
        if not any(other.startswith(f"{path}/") for other in files)
    }
    one = Plan(clean, list(clean)[::2])
    globs = GlobSet(folded(one))
    assert [path for path in one.files if globs.match(path)] == one.chosen()


@pytest.mark.parametrize(
    ("used", "drawn"),
    [(0, "░░░░"), (1, "█░░░"), (50, "██░░"), (99, "███░"), (100, "████"), (900, "████")],
)
def test_the_bar_is_full_when_the_budget_is(used: int, drawn: str) -> None:
    assert bar(used, 100, 4) == drawn


@pytest.mark.parametrize("width", [0, 1, 7, 20, 33, 80])
def test_a_row_has_the_width_it_is_given(width: int) -> None:
    row = Row("a/" * 30 + "wide 漢字 name.py", 30, False, False, "all", 1_234)
    from rich.cells import cell_len

    assert cell_len(row_text(row, width)) == width


def test_nothing_raw_is_drawn() -> None:
    """Escape sequences, bells and text that runs backwards come out spelled."""
    lines = plain_lines("a\x1b]0;title\x07b\r\n\tc\u202ed\x9b31m")
    assert len(lines) == 2
    assert all(char.isprintable() for line in lines for char in line)
    shown = row_text(Row("x\x1b[2J\ny\u202e.py", 0, False, False, "none", 1), 60)
    assert shown.isprintable()
