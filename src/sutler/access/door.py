"""The reading tools for agents, each one a Call through the gate.

An answer is clean, bounded by the caller's profile, names its version and is marked as untrusted
data. The contents of a file never influence a decision of a tool."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

import msgspec

from sutler.access import structure
from sutler.access.admission import Admission
from sutler.access.answering import as_many, marker, reading_of, within
from sutler.access.gate import Gate
from sutler.access.pages import Bounds, Page, Pages, place_of
from sutler.access.search import (
    MAX_QUERIES,
    Found,
    Kind,
    Progress,
    Source,
    finders,
    gather,
    hits_in,
    matching,
)
from sutler.access.session import fold, received, stale
from sutler.access.setup import Aside, SessionView, Setup, run_here
from sutler.access.setup import Progress as Report
from sutler.errors import ConflictError, RefusedError, SutlerError, UsageError
from sutler.languages.table import facts_version
from sutler.paths import ROOT, RelPath, Span, quote, unquote
from sutler.scan.globs import CALL_GLOBS, require_globs
from sutler.scan.root import Root
from sutler.scan.snapshot import FileEntry, Snapshot
from sutler.scan.text import decode, lines_of
from sutler.scan.walk import scan
from sutler.store.records import (
    PERSON,
    Call,
    Effect,
    Listing,
    Outcome,
    Reading,
    Version,
    stamp,
    unseal,
)

T = TypeVar("T")
Args = tuple[tuple[str, str], ...]

MAX_HITS = 200  # a frequent word would fill the model's context


class Door:
    def __init__(self, root: Root, gate: Gate, setup: Setup) -> None:
        self.root = root
        self.gate = gate
        self.setup = setup
        self.admission = Admission(
            root, setup.scan, lambda: gate.rules, lambda: gate.caller, gate.clean_name
        )
        self.pages = Pages(root, gate, self.admission.linked)
        self._profile = gate.caller.profile
        self.aside: Aside = run_here

    # a call, and the steps before each

    def _enter(
        self,
        tool: str,
        raw: str,
        args: Args,
        perform: Callable[[RelPath], tuple[T, Outcome]],
        lines: int = 0,
        effect: Effect = "read",
    ) -> T:
        call = Call(
            id=secrets.token_hex(16),
            tool=tool,
            effect=effect,
            path=ROOT,
            args=(("path", raw), *args),
        )
        try:
            self.root.require_place()
            self.gate.refresh()
            path = self.admission.relpath(raw)
        except SutlerError as refusal:
            self.gate.refused(call, refusal.rule, refusal.what)
            what = self.gate.clean(refusal.what, "").text
            next_step = refusal.next_step or "give a path relative to the project"
            raise RefusedError(what[:200], rule=refusal.rule, next_step=next_step) from None
        ignore_status = self.admission.ignore_status(path)
        call = msgspec.structs.replace(call, path=path, lines=lines, ignore_status=ignore_status)
        return self.gate.enter(call, lambda: perform(path), refreshed=True)

    enter = _enter  # for tools without one file

    def _outcome(self, page: Page) -> Outcome:
        sent = self._sent(page.text, page.digest)
        first, last = (page.first, page.last) if page.text else (0, 0)
        return msgspec.structs.replace(sent, first=first, last=last)

    def _sent(self, text: str, digest: str = "") -> Outcome:
        size = len(text.encode("utf-8", "replace"))
        return Outcome(after=digest, bytes=size, tokens=self.setup.count(text))

    # listing

    def list_files(self, globs: tuple[str, ...] = (), *, cursor: str = "") -> Listing:
        """List files that may be read, sorted; with globs, those that match one. The profile limits
        their number; a cursor is the path that the last answer ended with."""
        args = (
            *(("glob", glob) for glob in globs[:CALL_GLOBS]),
            *((("cursor", cursor),) if cursor else ()),
        )

        def look(_: Report) -> _Look:
            snapshot = self.snapshot()
            wanted = matching(snapshot, globs)
            return _Look(snapshot, wanted, self.readable(wanted))

        def perform(_: RelPath) -> tuple[Listing, Outcome]:
            require_globs(globs, CALL_GLOBS)
            snapshot, wanted, readable = self.aside(look, _Look, fork=False)
            # A path and no number: files that come or go before it do not shift the rest.
            after = self.admission.relpath(cursor) if cursor else ""
            names = tuple(quote(entry.path) for entry in readable if entry.path > after)
            count, text, tokens = as_many(names, self._profile, self.setup.count)
            more = names[count - 1] if count < len(names) else ""
            withheld = len(wanted) - len(readable) if self._profile == PERSON else None
            listing = Listing(names[:count], withheld, len(snapshot.problems), more)
            return listing, Outcome(bytes=len(text.encode()), tokens=tokens)

        return self._enter("list_files", "", args, perform, effect="list")

    def snapshot(self) -> Snapshot:
        return scan(self.root, self.setup.scan)

    def readable(self, entries: Iterable[FileEntry]) -> list[FileEntry]:
        """Return those that policy allows and whose names hold no secret; all names are redacted in
        one run."""
        allowed = self.admission.readable(entries)
        names = [quote(entry.path) for entry in allowed]
        clean = self.gate.clean("\n".join(names), "").text.split("\n")
        return [entry for entry, was, now in zip(allowed, names, clean, strict=False) if was == now]

    # reading

    def read_file(self, path: str, *, cursor: str = "", since: str = "") -> Reading:
        """Read a file from its beginning, or from a cursor, as much as the profile allows at
        once."""
        bounds = Bounds(self._profile.free_lines, self._profile.max_chars)
        words = ("cursor", cursor), ("since", since)
        args = tuple(word for word in words if word[1])

        def perform(where: RelPath) -> tuple[Reading, Outcome]:
            first, version = place_of(cursor)
            page = self._page(where, first, None, bounds)
            if version and page.version != version:
                raise ConflictError(
                    f"{quote(where)} has changed since the cursor was given",
                    next_step="read it again",
                )
            return self._answer(where, page, since)

        return self._enter("read_file", path, args, perform)

    def read_lines(self, path: str, start: int, end: int, *, since: str = "") -> Reading:
        """Read lines `start` to `end`, 1-based and inclusive."""
        bounds = Bounds(self._profile.max_lines, self._profile.max_chars)
        args = (("start", str(start)), ("end", str(end)), *((("since", since),) if since else ()))

        def perform(where: RelPath) -> tuple[Reading, Outcome]:
            if not 1 <= start <= end:
                raise UsageError(f"lines {start} to {end}", rule="ranges are 1-based and inclusive")
            return self._answer(where, self._page(where, start, end, bounds), since, end)

        return self._enter("read_lines", path, args, perform, max(0, end - start + 1))

    def _page(self, path: RelPath, first: int, last: int | None, bounds: Bounds) -> Page:
        read = partial(self.pages.read, path, first, last)
        return within(read, bounds, self._profile.max_tokens, self.setup.count)

    def _answer(
        self, path: RelPath, page: Page, since: str, end: int | None = None
    ) -> tuple[Reading, Outcome]:
        """Return a page as an answer, or "unchanged" for a session that received the same lines
        before."""
        span = Span(page.first, page.last)
        if (
            since
            and since == page.version
            and page.text
            and self._received(path, page.digest, span)
        ):
            unchanged = msgspec.structs.replace(reading_of(path, page), text="", unchanged=True)
            return unchanged, self._remembered(path, page, Outcome(after=page.digest))
        truncated = page.cut if end is not None else page.more
        if not page.text and page.total is not None and page.first > page.total:
            page = msgspec.structs.replace(
                page, notes=(*page.notes, f"the file has {page.total} lines")
            )
        cursor = f"{page.last + 1}@{page.version}" if truncated else ""
        return reading_of(path, page, truncated=truncated, next=cursor), self._remembered(
            path, page, self._outcome(page)
        )

    def _received(self, path: RelPath, digest: str, span: Span) -> bool:
        rows = self.gate.store.audit_of(self.gate.caller.session, path, 200)
        return received((unseal(row) for row in rows), digest, span)

    def _remembered(self, path: RelPath, page: Page, outcome: Outcome) -> Outcome:
        """Add the clean text to an outcome, so that a later diff can show what changed since.
        Redacted parts are not stored either."""
        if not page.whole:
            return outcome
        fact = (
            page.digest,
            "clean",
            self._clean_key(path),
            page.whole.encode("utf-8", "surrogatepass"),
        )
        at = stamp(self.gate.clock())
        seen = Version(
            id=page.version,
            path=path,
            digest=page.digest,
            size=page.size,
            at=at,
            author=self.gate.caller.id,
        )
        return msgspec.structs.replace(outcome, seen=seen, facts=(fact,))

    def remember(self, path: RelPath, page: Page) -> None:
        """Store the clean text at once, for an answer that depends on it."""
        outcome = self._remembered(path, page, Outcome())
        for fact in outcome.facts:
            self.gate.store.put_fact(*fact)
        if outcome.seen is not None:
            self.gate.store.add_version(outcome.seen)

    def _clean_key(self, path: RelPath) -> str:
        return f"{self.setup.ruleset} {quote(path)}"

    def get_excerpt(self, path: str, max_lines: int = 80) -> Reading:
        """Return a file's beginning and end in at most `max_lines` lines, with a note of the
        omission."""

        def perform(where: RelPath) -> tuple[Reading, Outcome]:
            if max_lines < 1:
                raise UsageError("an excerpt has at least one line")
            room = Bounds(min(max_lines, self._profile.free_lines), self._profile.max_chars)
            page = self.pages.read(where, 1, None, room)
            tail = room.lines // 4
            if page.more and not page.cut and page.total is None:
                tail = 0
            if page.more and page.total and tail and page.last == room.lines:
                page = self._ends(where, page, room, tail)
            outcome = self._remembered(where, page, self._outcome(page))
            return reading_of(where, page, truncated=page.more or page.cut), outcome

        return self._enter("get_excerpt", path, (("max_lines", str(max_lines)),), perform)

    def _ends(self, path: RelPath, page: Page, room: Bounds, tail: int) -> Page:
        total = page.total or 0
        head = room.lines - tail - 1
        first = "".join(lines_of(page.text)[:head])
        rest = self.pages.read(path, total - tail + 1, total, Bounds(tail, room.chars - len(first)))
        left_out = f"lines {head + 1} to {total - tail} left out"
        gap = marker(page.version, f"{left_out}; next: {quote(path)}:{total - tail + 1}-{total}")
        return msgspec.structs.replace(page, text=f"{first}{gap}\n{rest.text}", last=head, cut=True)

    # searching

    def search(
        self,
        *queries: str,
        kind: Kind = "literal",
        globs: tuple[str, ...] = (),
        ignore_case: bool = False,
    ) -> Found:
        """Return lines that match a query, in path order, each with as much context as the profile
        allows."""
        asked = (("query", query) for query in queries[:MAX_QUERIES])
        args = (*asked, ("kind", kind), *(("glob", glob) for glob in globs[:CALL_GLOBS]))

        def work(report: Report) -> Found:
            find = finders(queries, kind, ignore_case=ignore_case)
            require_globs(globs, CALL_GLOBS)
            context = self._profile.context_lines
            room = max(1, min(MAX_HITS, self._profile.free_lines // (2 * context + 1)))
            progress, source = Progress(report), Source(self.root, self.pages, self.gate)
            entries = self.readable(matching(self.snapshot(), globs))
            hits, more = gather(hits_in(source, entries, find, context, progress), room)
            stopped = f"{room} hits" if more else progress.stopped
            # Of files that may not be read not even the number is in the answer.
            return Found(tuple(hits), progress.files, progress.skipped, stopped)

        def perform(_: RelPath) -> tuple[Found, Outcome]:
            answer = self.aside(work, Found, fork=False)
            return answer, self._sent("\n".join(hit.text for hit in answer.hits))

        return self._enter("search", "", args, perform)

    def outline(self, path: str) -> tuple[structure.Symbol, ...]:
        """Return the definitions and headings of a file with their lines."""

        def perform(where: RelPath) -> tuple[tuple[structure.Symbol, ...], Outcome]:
            page = self.pages.whole(where)
            symbols = structure.outline(where, page.text)[: self._profile.max_lines]
            text = "\n".join(symbol.text for symbol in symbols)
            return symbols, self._sent(text, page.digest)

        return self._enter("outline", path, (), perform)

    def summarize_file(self, path: str, max_tokens: int) -> str:
        """Describe a file and its contents inside `max_tokens`. Cached by content, rules and
        policy."""

        def perform(where: RelPath) -> tuple[str, Outcome]:
            if max_tokens < 1:
                raise UsageError("a summary has at least one token")
            page = self.pages.read(where, 1, None, Bounds(100_000, 4_000_000))
            rules = (
                f"{facts_version()} {self.setup.teller.name} {self.setup.ruleset}"
                f" {self.gate.rules.digest}"
            )
            key = f"{rules} {max_tokens} {quote(where)}"
            cached = self.gate.store.fact(page.digest, "summary", key)
            if cached is None:
                more = page.total is None
                total = f"more than {page.last} lines" if more else f"{page.total} lines"
                head = f"{quote(where)}: {total}, {page.size} bytes, version {page.version}"
                words = self.gate.clean(self.setup.teller.tell(page.text, max_tokens), "").text
                symbols = () if words else structure.outline(where, page.text)
                cached = structure.summary(
                    head, symbols, words or page.text, max_tokens, self.setup.count
                ).encode()
                self.gate.store.put_fact(page.digest, "summary", key, cached)
            text = self.gate.clean(cached.decode(), "").text
            return text, self._sent(text, page.digest)

        return self._enter("summarize_file", path, (("max_tokens", str(max_tokens)),), perform)

    # versions

    def get_file_history(self, path: str, limit: int = 100) -> tuple[Version, ...]:
        """Return known versions, newest first; an edit from elsewhere is recorded now."""

        def perform(where: RelPath) -> tuple[tuple[Version, ...], Outcome]:
            with suppress(SutlerError):  # gone, or not text
                self.remember(where, self.pages.whole(where))
            return self.gate.store.versions(where, max(1, min(limit, 1_000))), Outcome()

        return self._enter("get_file_history", path, (("limit", str(limit)),), perform)

    def text_of(self, path: RelPath, digest: str) -> str | None:
        """Return a stored content as clean text: as an earlier answer had it, or from the bytes
        that a write stored."""
        text = self.gate.store.fact(digest, "clean", self._clean_key(path))
        if text is not None:
            # Another file may have revealed since then that an earlier text holds a secret.
            return self.gate.clean(text.decode("utf-8", "surrogatepass"), path).text
        data = self.gate.store.blob(digest)
        decoded = decode(data) if data is not None else None
        return self.gate.clean_text(path, decoded.text, digest).text if decoded else None

    def session(self) -> SessionView:
        """Return the session's reads and writes, and its buffers that are out of date."""

        def perform(_: RelPath) -> tuple[SessionView, Outcome]:
            rows = self.gate.store.audit_of(self.gate.caller.session, None, 5_000)
            session = fold(self.gate.caller.session, map(unseal, rows))
            recent = msgspec.structs.replace(session, buffers=session.buffers[-100:])
            behind = stale(recent, lambda name: self.pages.digest(RelPath(unquote(name))))
            return SessionView(recent, tuple(buffer.path for buffer in behind)), Outcome()

        return self._enter("get_session", "", (), perform, effect="list")


class _Look(NamedTuple):
    """A scan, the files in it that match a call, and those among them that may be read."""

    snapshot: Snapshot
    wanted: list[FileEntry]
    readable: list[FileEntry]
