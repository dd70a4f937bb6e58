"""A pack as rows: reasons as classes, costs that add up, differences with their price."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sutler.formats import parse, render
from sutler.formats.document import CleanText, Format, Listing, Pack, Preamble, Section
from sutler.pack.page.pack_rows import (
    EXCERPT_LINES,
    against,
    detail_of,
    left_of,
    measures_of,
    parts_of,
    plain,
    rows_of,
    why_of,
)
from sutler.pack.page.view import FileRow, Why
from sutler.paths import RelPath
from sutler.tokens.counter import token_counter

COUNT = token_counter("o200k_base")


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("named by you", "named"),
        ("changed since HEAD~3", "changed"),
        ("pytest issue", "issue"),
        ("repair ticket T1", "issue"),
        ("source; the task names this path; its text shares the task's words", "issue"),
        ("source; its text shares the task's words", "ranked"),
        ("key file: config; its path has words of the task", "ranked"),
        ("source; it imports a file that ranks high", "neighbour"),
        ("entry document", "entry"),
        ("key file: config", "key"),
        ("lock file", "derived"),
        ("source", "source"),
        ("text", "source"),
    ],
)
def test_reasons_have_few_classes(reason: str, why: Why) -> None:
    assert why_of(reason, "src/a.py") == why


@pytest.mark.parametrize(
    ("path", "why"), [("docs/a.md", "documentation"), ("tests/test_a.py", "test")]
)
def test_what_has_no_better_reason_is_what_it_is(path: str, why: Why) -> None:
    assert why_of("text", path) == why


def pack_of(
    files: dict[str, str], format: Format = "markdown", listing: Listing | None = None
) -> tuple[bytes, Pack]:
    from hashlib import sha256

    def section(path: str, text: str) -> Section:
        digest = sha256(text.encode()).hexdigest()
        size = len(text.encode())
        return Section(
            RelPath(path), "full", CleanText(text), digest, size, digest, size, reason="source"
        )

    pieces = render(
        Preamble("p"),
        [section(*item) for item in files.items()],
        listing or Listing(),
        format=format,
    )
    text = "".join(pieces)
    return text.encode(), parse(text)


def rows(pack: Pack, format: Format = "markdown") -> list[FileRow]:
    return rows_of(parts_of(pack, format), COUNT, lambda part: None)


@pytest.mark.parametrize("format", ["markdown", "xml", "json"])
def test_costs_and_frame_add_up_to_the_text(format: Format) -> None:
    data, pack = pack_of({f"src/{n}.py": f"x = {n}\n" * n for n in range(1, 30)}, format)
    found = rows(pack, format)
    totals = [("tokens", token_counter("o200k_base")(data.decode())), ("bytes", len(data))]
    for at, one in enumerate(measures_of(found, totals)):
        assert one.frame + sum(row.costs[at] for row in found) == one.total
        assert one.frame > 0


def test_markers_are_counted_as_redactions() -> None:
    _, pack = pack_of({"a.py": "key = [REDACTED:aws-key:0123456789ab]\n"})
    assert rows(pack)[0].redacted == 1


def test_what_is_listed_is_left_out() -> None:
    _, pack = pack_of({"a.py": "x\n"}, listing=Listing((RelPath("b.py"),), 3))
    found, unnamed = left_of(pack)
    assert [row.path for row in found] == ["b.py"]
    assert unnamed == 3


def test_two_packs_side_by_side() -> None:
    _, old = pack_of({"a.py": "x = 1\n", "b.py": "y = 1\n", "same.py": "z\n"})
    _, new = pack_of({"b.py": "y = 2\n", "c.py": "w = 1\n" * 9, "same.py": "z\n"})
    found = against(old, new, rows(old), rows(new), "id")
    assert [(row.path, row.kind) for row in found.rows] == [
        ("c.py", "entered"),
        ("a.py", "left"),
        ("b.py", "content"),
    ]
    entered, left, _ = found.rows
    assert entered.cost_before == 0 < entered.cost_after
    assert left.cost_after == 0 < left.cost_before


def test_a_file_that_was_not_even_named_is_not_said_to_be_gone() -> None:
    _, old = pack_of({"a.py": "x = 1\n"})
    _, new = pack_of({}, listing=Listing((), 7))
    [row] = against(old, new, rows(old), [], "id").rows
    assert "no longer in the project" not in row.why
    assert "no room for its name" in row.why


def test_a_detail_is_short_and_hides_nothing() -> None:
    def shape(path: str, text: str) -> Sequence[tuple[int, int, str]]:
        return [(number, 0, line) for number, line in enumerate(text.split("\n"), 1)]

    found = detail_of("a.py", "a\u202eb\n" * 500 + "x" * 9_000, shape)
    assert found.excerpt.count("\n") == EXCERPT_LINES - 1
    assert "\u202e" not in found.excerpt
    assert "⟨U+202E⟩" in found.excerpt
    assert found.more == 501 - len(found.outline)
    assert found.lines == 501


def test_text_for_the_page_is_text_that_utf8_can_carry() -> None:
    assert plain("a\udcffb").encode()
