from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.errors import RefusedError, UsageError
from sutler.formats import parse, render
from sutler.formats.document import CleanText, Format, Listing, Pack, Part, Preamble, Section
from sutler.formats.split import group, merge, split_text
from sutler.paths import RelPath


def section_of(path: str, text: str) -> Section:
    raw = text.encode()
    digest = sha256(raw).hexdigest()
    return Section(RelPath(path), "full", CleanText(text), digest, len(raw), digest, len(raw))


def costs(*numbers: int) -> list[tuple[RelPath, int]]:
    return [(RelPath(f"f{at}"), number) for at, number in enumerate(numbers)]


@pytest.mark.parametrize(
    ("numbers", "fixed", "runs"),
    [
        ((), (0, 0, 0), [(0, 0)]),
        ((5, 5), (0, 0, 0), [(0, 2)]),
        ((5, 6), (0, 0, 0), [(0, 1), (1, 2)]),
        ((10, 10, 10), (0, 0, 0), [(0, 1), (1, 2), (2, 3)]),
        ((5, 3, 7), (2, 3, 0), [(0, 2), (2, 3)]),
        ((5,), (8, 2, 0), [(0, 0), (0, 1)]),
        ((5, 5), (0, 0, 1), [(0, 2), (2, 2)]),
    ],
)
def test_sections_go_into_parts_in_order(
    numbers: tuple[int, ...], fixed: tuple[int, int, int], runs: list[tuple[int, int]]
) -> None:
    first, rest, last = fixed
    assert list(group(costs(*numbers), 10, first=first, rest=rest, last=last)) == runs


@pytest.mark.parametrize(
    ("numbers", "fixed", "named"),
    [
        ((1, 11), (0, 0, 0), "f1 costs 11: more than a part may hold, 10"),
        ((2, 9), (0, 2, 0), "f1 costs 9 besides the part's own 2"),
        ((), (11, 0, 0), "the opening, with the tree and the goal, costs 11"),
        ((), (5, 2, 9), "the list of files not shown costs 9"),
    ],
)
def test_what_fits_no_part_is_refused_with_figures(
    numbers: tuple[int, ...], fixed: tuple[int, int, int], named: str
) -> None:
    first, rest, last = fixed
    with pytest.raises(RefusedError, match=named):
        group(costs(*numbers), 10, first=first, rest=rest, last=last)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(max_size=300), max_size=12),
    st.lists(st.text("abc", min_size=1), max_size=5),
    st.sampled_from(("markdown", "xml", "json")),
)
def test_every_part_fits_and_all_parts_make_the_whole(
    texts: list[str], listed: list[str], format: Format
) -> None:
    sections = tuple(section_of(f"f{at}", text) for at, text in enumerate(texts))
    preamble = Preamble("p", CleanText("goal"), CleanText("tree\n"))
    pack = Pack(preamble, sections, Listing(tuple(map(RelPath, listed)), 3))
    whole = "".join(render(pack.preamble, pack.sections, pack.listing, format=format))
    parts = split_text(whole, format, 3_000, len)
    assert max(map(len, parts)) <= 3_000
    assert merge([parse(part) for part in reversed(parts)]) == pack


def part(number: int, total: int, project: str = "p") -> Pack:
    return Pack(Preamble(project, part=Part(number, total)), ())


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ([], "no parts"),
        ([part(1, 2)], "parts 1 do not make up a pack of 2"),
        ([part(1, 2), part(1, 2)], "parts 1, 1"),
        ([part(1, 2), part(2, 2, "q")], "part 2 belongs to another pack"),
        ([part(1, 2), part(2, 3)], "part 2 belongs to another pack"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(parts: list[Pack], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        merge(parts)
