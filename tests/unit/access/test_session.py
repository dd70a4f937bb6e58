from __future__ import annotations

import pytest

from sutler.access.session import Buffer, fold, join_spans, received, stale
from sutler.paths import Span
from sutler.store.records import AuditEntry
from tests.stores import entry


def read(seq: int, version: str, first: int, last: int, path: str = "a") -> AuditEntry:
    return entry(str(seq), seq=seq, path=path, after=version, first=first, last=last)


def test_reads_of_one_version_join_and_another_version_replaces() -> None:
    same = fold("s", [read(1, "v", 1, 5), read(2, "v", 6, 9), read(3, "v", 20, 21)])
    assert same.buffers == (Buffer("a", "v", (Span(1, 9), Span(20, 21)), 3),)
    moved = fold("s", [read(1, "v", 1, 5), read(2, "w", 6, 9)])
    assert moved.buffers == (Buffer("a", "w", (Span(6, 9),), 2),)


def test_an_intent_is_pending_until_its_outcome() -> None:
    intent = entry(
        "w", seq=1, phase="intent", effect="write", before="b", after="r", tool="write_file"
    )
    assert [edit.pending for edit in fold("s", [intent]).edits] == [True]
    assert fold("s", [intent]).tasks == ("write_file",)
    done = entry("w", seq=2, phase="done", effect="write", before="b", after="r")
    assert fold("s", [intent, done]).pending == ()
    failed = entry("w", seq=2, phase="done", effect="write", success=False)
    assert fold("s", [intent, failed]).edits == ()


def test_refusals_and_waiting_approvals_are_counted() -> None:
    asked = entry("1", seq=1, phase="refused", approval="x", success=False)
    assert (fold("s", [asked]).refused, fold("s", [asked]).waiting) == (1, ("x",))
    assert fold("s", [asked, entry("2", seq=2, approval="x")]).waiting == ()


@pytest.mark.parametrize(
    ("version", "span", "expected"),
    [
        ("v", Span(1, 9), True),
        ("v", Span(2, 3), True),
        ("v", Span(9, 10), False),
        ("w", Span(1, 2), False),
    ],
)
def test_received_means_these_lines_of_this_version(
    version: str, span: Span, expected: bool
) -> None:
    assert received([read(1, "v", 1, 5), read(2, "v", 6, 9)], version, span) is expected


def test_a_refused_or_failed_read_was_not_received() -> None:
    entries = [
        entry("1", after="v", first=1, last=9, success=False),
        entry("2", after="v", phase="refused", first=1, last=9),
    ]
    assert not received(entries, "v", Span(1, 1))


def test_a_buffer_is_stale_when_its_file_moved_on() -> None:
    session = fold("s", [read(1, "v", 1, 2), read(2, "w", 1, 2, "b")])
    assert [one.path for one in stale(session, {"a": "v", "b": "x"}.__getitem__)] == ["b"]


def test_spans_join_when_they_touch() -> None:
    assert join_spans([Span(4, 6), Span(1, 3), Span(8, 9)]) == (Span(1, 6), Span(8, 9))


def test_an_own_edit_of_what_was_read_is_not_out_of_date() -> None:
    """Edits follow one another; a change by others in between, or a merge with one, does."""

    def wrote(seq: int, before: str, after: str) -> AuditEntry:
        return entry(f"w{seq}", seq=seq, path="a", effect="write", before=before, after=after)

    def behind(*entries: AuditEntry, now: str) -> bool:
        return bool(stale(fold("s", entries), lambda _: now))

    assert not behind(read(1, "v", 1, 2), wrote(2, "v", "w"), wrote(3, "w", "x"), now="x")
    assert behind(read(1, "v", 1, 2), wrote(2, "v", "w"), now="y")
    assert behind(read(1, "v", 1, 2), wrote(2, "other", "merged"), now="merged")
    assert behind(read(1, "v", 1, 2), wrote(2, "v", "w"), now="v")
