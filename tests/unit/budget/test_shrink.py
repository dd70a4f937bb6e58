from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.budget.shrink import head_tail


def lines(first: int, last: int) -> str:
    return "".join(f"line number {number} of the file\n" for number in range(first, last + 1))


def test_the_first_100_and_last_50_lines_stay_around_the_marker() -> None:
    assert head_tail(lines(1, 1384)) == lines(
        1, 100
    ) + "... [truncated: 1,234 lines] ...\n" + lines(1335, 1384)


@pytest.mark.parametrize("count", [0, 1, 99, 100, 149, 150])
def test_nothing_to_leave_out_changes_nothing(count: int) -> None:
    assert head_tail(lines(1, count)) == lines(1, count)


def test_one_line_too_many() -> None:
    text = "a\n" * 100 + "b" * 80 + "\n" + "c\n" * 50
    assert head_tail(text) == "a\n" * 100 + "... [truncated: 1 line] ...\n" + "c\n" * 50


def test_a_missing_final_newline_stays_missing() -> None:
    assert head_tail(lines(1, 1000).rstrip("\n")) == head_tail(lines(1, 1000)).rstrip("\n")


@pytest.mark.parametrize(
    ("head", "tail", "shown"),
    [
        (1, 0, "line number 1 of the file\n... [truncated: 8 lines] ...\n"),
        (0, 1, "... [truncated: 8 lines] ...\nline number 9 of the file\n"),
        (0, 0, "... [truncated: 9 lines] ...\n"),
    ],
)
def test_head_or_tail_may_be_empty(head: int, tail: int, shown: str) -> None:
    assert head_tail(lines(1, 9), head, tail) == shown


def test_a_last_line_without_newline_is_counted() -> None:
    assert head_tail("a\n" * 40 + "b" * 40, 1, 0) == "a\n... [truncated: 40 lines] ...\n"


def test_other_line_ends_do_not_count() -> None:
    text = "a\rb\u2028c\x0bd\x85e" * 1000
    assert head_tail(text, line_chars=100_000) == text


def test_a_marker_without_a_number_is_taken_as_it_is() -> None:
    assert (
        head_tail(lines(1, 9), 1, 1, "\n... [truncated] ...\n").splitlines()[1]
        == "... [truncated] ..."
    )


def test_an_endless_line_keeps_its_ends() -> None:
    text = "a" * 500_000 + "b" * 500_000 + "\n"
    assert (
        head_tail(text, line_chars=30)
        == "a" * 20 + "... [truncated: 999,970 characters] ..." + "b" * 10 + "\n"
    )


def test_an_endless_line_in_the_head_is_cut_too() -> None:
    text = lines(1, 99) + "x" * 1_000_000 + "\n" + lines(101, 2000)
    shown = head_tail(text)
    assert "[truncated: 996,000 characters]" in shown
    assert "[truncated: 1,850 lines]" in shown
    assert len(shown) < 12_000


@settings(deadline=None)
@given(st.text("ab\n\r"), st.integers(0, 4), st.integers(0, 4), st.integers(0, 9))
def test_the_result_is_never_longer_and_keeps_head_and_tail(
    text: str, head: int, tail: int, width: int
) -> None:
    assert len(head_tail(text, head, tail, "~", line_chars=width)) <= len(text)
    shown = head_tail(text, head, tail, "~")
    if shown != text:
        top, bottom = shown.split("~\n")
        assert text.startswith(top)
        assert text.endswith(bottom)
        assert (
            top.count("\n"),
            bottom.count("\n") + bool(bottom and not bottom.endswith("\n")),
        ) == (
            head,
            tail,
        )
