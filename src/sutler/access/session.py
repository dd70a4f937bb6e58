"""The state of a session, derived from its audit rows alone: no second state can disagree with
it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from sutler.paths import Span
from sutler.store.records import AuditEntry


class Buffer(Struct, frozen=True):
    """A file as a session knows it: the newest version it received and its received lines, in order
    and joined."""

    path: str
    version: str
    spans: tuple[Span, ...]
    seq: int


class Edit(Struct, frozen=True):
    """A write: pending while its outcome is unknown."""

    path: str
    before: str
    after: str
    seq: int
    pending: bool


class Session(Struct, frozen=True):
    """State of one session, ordered by the ledger's sequence, never by the clock."""

    id: str
    buffers: tuple[Buffer, ...] = ()
    edits: tuple[Edit, ...] = ()
    calls: int = 0
    refused: int = 0
    waiting: tuple[str, ...] = ()  # approvals asked for and not yet used
    tasks: tuple[str, ...] = ()  # tools with an intent and no outcome

    @property
    def pending(self) -> tuple[Edit, ...]:
        return tuple(edit for edit in self.edits if edit.pending)


def join_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if joined and span.start <= joined[-1].end + 1:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return tuple(joined)


def fold(session: str, entries: Iterable[AuditEntry]) -> Session:
    """Derive a session's state from its entries, oldest first."""
    buffers: dict[str, Buffer] = {}
    edits: dict[str, Edit] = {}
    tasks: dict[str, str] = {}
    waiting: dict[str, None] = {}
    calls = refused = 0
    for entry in entries:
        calls += entry.phase != "intent"
        if entry.phase == "refused":
            refused += 1
            if entry.approval:
                waiting[entry.approval] = None
            continue
        waiting.pop(entry.approval, None)
        if entry.phase == "intent":
            tasks[entry.call] = entry.tool
            edits[entry.call] = Edit(entry.path, entry.before, entry.after, entry.seq, True)
        elif entry.effect == "write":
            tasks.pop(entry.call, None)
            if entry.success:
                edits[entry.call] = Edit(entry.path, entry.before, entry.after, entry.seq, False)
            else:
                edits.pop(entry.call, None)
        elif entry.success and entry.after and entry.first:
            buffers[entry.path] = _seen(buffers.pop(entry.path, None), entry)
    return Session(
        session,
        tuple(buffers.values()),
        tuple(edits.values()),
        calls,
        refused,
        tuple(waiting),
        tuple(tasks.values()),
    )


def _seen(buffer: Buffer | None, entry: AuditEntry) -> Buffer:
    """Add a read: lines of the same version are joined, another version replaces the buffer."""
    fresh = Span(entry.first, entry.last)
    spans = (*buffer.spans, fresh) if buffer and buffer.version == entry.after else (fresh,)
    return Buffer(entry.path, entry.after, join_spans(spans), entry.seq)


def received(entries: Iterable[AuditEntry], version: str, span: Span) -> bool:
    """Return whether this session received these lines of this version; only then the answer may be
    "unchanged"."""
    spans = join_spans(
        Span(entry.first, entry.last)
        for entry in entries
        if entry.phase == "done"
        and entry.success
        and entry.effect == "read"
        and entry.after == version
        and entry.first
    )
    return any(seen.start <= span.start and span.end <= seen.end for seen in spans)


def stale(session: Session, current: Callable[[str], str]) -> tuple[Buffer, ...]:
    """Return buffers whose file was changed by others (`current` returns a path's present version,
    empty if it is gone). The session's own edits of a version that it had read do not count."""
    return tuple(
        buffer for buffer in session.buffers if current(buffer.path) != _expected(session, buffer)
    )


def _expected(session: Session, buffer: Buffer) -> str:
    """Return the version that a file has if only this session has changed it since it was read."""
    version = buffer.version
    for edit in sorted(session.edits, key=lambda edit: edit.seq):
        made_on_it = edit.path == buffer.path and edit.before == version
        if made_on_it and edit.seq > buffer.seq and not edit.pending:
            version = edit.after
    return version
