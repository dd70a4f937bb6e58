"""The read side of the door: every tool an agent may call, each one a Call through the gate.

What comes back is clean, bounded by the caller's profile, names its version and is marked as
untrusted data. A tool never looks at what a file says to decide what may happen.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import TypeVar

import msgspec

from sutler.access import outline as structure
from sutler.access.admission import Admission
from sutler.access.answering import as_many, reading_of, within
from sutler.access.gate import Gate
from sutler.access.pages import WHOLE, Bounds, Page, Pages, place_of
from sutler.access.search import (
    MAX_QUERIES,
    Finders,
    Found,
    Hit,
    Kind,
    Progress,
    finders,
    gather,
    search_text,
)
from sutler.access.session import fold, received, stale
from sutler.access.setup import Aside, SessionView, Setup, run_here
from sutler.errors import ConflictError, RefusedError, SutlerError, UsageError
from sutler.languages.table import facts_version
from sutler.paths import ROOT, RelPath, Span, quote, unquote
from sutler.scan.globs import CALL_GLOBS, GlobSet, require_globs
from sutler.scan.root import Root
from sutler.scan.snapshot import FileEntry, Problem, Snapshot
from sutler.scan.steady import Patience, fresh
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

MAX_HITS = 200
MAX_SEARCHED = 256 << 20


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

    # a call, and what stands before every one of them

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
            shown = self.gate.clean(refusal.what, "").text
            next_step = refusal.next_step or "give a path relative to the project"
            raise RefusedError(shown[:200], rule=refusal.rule, next_step=next_step) from None
        standing = self.admission.standing(path)
        call = msgspec.structs.replace(call, path=path, lines=lines, standing=standing)
        return self.gate.enter(call, lambda: perform(path))

    enter = _enter  # for tools that are not about one file

    def _outcome(self, page: Page) -> Outcome:
        size, tokens = len(page.text.encode("utf-8", "replace")), self.setup.count(page.text)
        return Outcome(
            after=page.digest, first=page.first, last=page.last, bytes=size, tokens=tokens
        )

    # listing

    def list_files(self, globs: tuple[str, ...] = (), *, cursor: str = "") -> Listing:
        """Files that may be read, sorted; with globs, those that match one. As many as the profile
        allows at once; a cursor is the path that the last answer ended with.
        """
        args = (
            *(("glob", glob) for glob in globs[:CALL_GLOBS]),
            *((("cursor", cursor),) if cursor else ()),
        )

        def perform(_: RelPath) -> tuple[Listing, Outcome]:
            require_globs(globs, CALL_GLOBS)
            snapshot = self.snapshot()
            wanted = _matching(snapshot, globs)
            readable = self.readable(wanted)
            after = self.admission.relpath(cursor) if cursor else ""
            shown = tuple(quote(entry.path) for entry in readable if entry.path > after)
            count, text, tokens = as_many(shown, self._profile, self.setup.count)
            more = shown[count - 1] if count < len(shown) else ""
            withheld = len(wanted) - len(readable) if self._profile == PERSON else None
            listing = Listing(shown[:count], withheld, len(snapshot.problems), more)
            return listing, Outcome(bytes=len(text.encode()), tokens=tokens)

        return self._enter("list_files", "", args, perform, effect="list")

    def snapshot(self) -> Snapshot:
        return scan(self.root, self.setup.scan)

    def readable(self, entries: Iterable[FileEntry]) -> list[FileEntry]:
        """Those that policy allows and whose names hold no secret; all names are looked at in one
        go.
        """
        allowed = self.admission.readable(entries)
        shown = [quote(entry.path) for entry in allowed]
        clean = self.gate.clean("\n".join(shown), "").text.split("\n")
        return [entry for entry, was, now in zip(allowed, shown, clean, strict=False) if was == now]

    # reading

    def read_file(self, path: str, *, cursor: str = "", known: str = "") -> Reading:
        """A file from its beginning, or from where a cursor left off, as much as the profile allows
        at once.
        """
        bounds = Bounds(self._profile.free_lines, self._profile.max_chars)
        args = tuple(
            (name, value) for name, value in (("cursor", cursor), ("known", known)) if value
        )

        def perform(where: RelPath) -> tuple[Reading, Outcome]:
            first, version = place_of(cursor)
            page = self._page(where, first, None, bounds)
            if version and page.version != version:
                raise ConflictError(
                    f"{quote(where)} has changed since the cursor was given",
                    next_step="read it again",
                )
            return self._answer(where, page, known)

        return self._enter("read_file", path, args, perform)

    def read_lines(self, path: str, start: int, end: int, *, known: str = "") -> Reading:
        """Lines `start` to `end`, 1-based and inclusive."""
        bounds = Bounds(self._profile.max_lines, self._profile.max_chars)
        args = (("start", str(start)), ("end", str(end)), *((("known", known),) if known else ()))

        def perform(where: RelPath) -> tuple[Reading, Outcome]:
            if not 1 <= start <= end:
                raise UsageError(f"lines {start} to {end}", rule="ranges are 1-based and inclusive")
            return self._answer(where, self._page(where, start, end, bounds), known, end)

        return self._enter("read_lines", path, args, perform, max(0, end - start + 1))

    def _page(self, path: RelPath, first: int, last: int | None, bounds: Bounds) -> Page:
        read = partial(self.pages.read, path, first, last)
        return within(read, bounds, self._profile.max_tokens, self.setup.count)

    def _answer(
        self, path: RelPath, page: Page, known: str, end: int | None = None
    ) -> tuple[Reading, Outcome]:
        """A page as an answer; or the word that nothing changed, to a session that received these
        very lines.
        """
        span = Span(page.first, page.last)
        if (
            known
            and known == page.version
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
        """Keep what may be handed out, so that a later diff can say what changed since. Clean text
        only: what was redacted is not kept either.
        """
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
        """The same at once, for an answer that must already know of it."""
        outcome = self._remembered(path, page, Outcome())
        for fact in outcome.facts:
            self.gate.store.put_fact(*fact)
        if outcome.seen is not None:
            self.gate.store.add_version(outcome.seen)

    def _clean_key(self, path: RelPath) -> str:
        return f"{self.setup.ruleset} {quote(path)}"

    def get_excerpt(self, path: str, max_lines: int = 80) -> Reading:
        """A file's beginning and end in at most `max_lines` lines, with a line between that says
        what was left out.
        """

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
        """Lines that match a query, in path order, each with the context the profile allows."""
        asked = (("query", query) for query in queries[:MAX_QUERIES])
        args = (*asked, ("kind", kind), *(("glob", glob) for glob in globs[:CALL_GLOBS]))

        def perform(_: RelPath) -> tuple[Found, Outcome]:
            find = finders(queries, kind, ignore_case=ignore_case)
            context = self._profile.context_lines
            room = max(1, min(MAX_HITS, self._profile.free_lines // (2 * context + 1)))
            progress = Progress()
            hits, more = gather(self._hits(find, globs, context, progress), room)
            stopped = f"{room} hits" if more else progress.stopped
            text = "\n".join(hit.text for hit in hits)
            found = Found(tuple(hits), progress.files, progress.skipped, stopped)
            return found, Outcome(
                bytes=len(text.encode("utf-8", "replace")), tokens=self.setup.count(text)
            )

        return self._enter("search", "", args, perform)

    def _hits(
        self,
        find: Finders,
        globs: tuple[str, ...],
        context: int,
        progress: Progress,
    ) -> Iterator[Hit]:
        require_globs(globs, CALL_GLOBS)
        readable = self.readable(
            _matching(self.snapshot(), globs)
        )  # of the rest not even the number is told
        left, patience = MAX_SEARCHED, Patience()
        with self.root.reader() as reader:
            for entry in readable:
                blob = reader.read(entry.path, WHOLE)
                if not isinstance(blob, Problem) and fresh(blob.mtime_ns):
                    blob = self.pages.blob(entry.path, patience)
                decoded = None if isinstance(blob, Problem) else decode(blob.data)
                if not isinstance(blob, Problem) and blob.links > 1 and blob.inode != entry.inode:
                    decoded = None  # replaced by a link since the scan, which nothing has checked
                if isinstance(blob, Problem) or decoded is None:
                    progress.skipped += 1
                    continue
                progress.files += 1
                left -= len(blob.data)
                if left < 0:
                    progress.stopped = f"{MAX_SEARCHED} bytes"
                    return
                if all(next(matches(decoded.text), None) is None for matches in find.values()):
                    continue
                digest = sha256(blob.data).hexdigest()
                clean = self.gate.clean_text(entry.path, decoded.text, digest)
                yield from search_text(quote(entry.path), clean.text, find, context)

    def outline(self, path: str) -> tuple[structure.Symbol, ...]:
        """The definitions and headings of a file with their lines."""

        def perform(where: RelPath) -> tuple[tuple[structure.Symbol, ...], Outcome]:
            page = self.pages.whole(where)
            found = structure.outline(where, page.text)[: self._profile.max_lines]
            text = "\n".join(symbol.text for symbol in found)
            outcome = Outcome(
                after=page.digest, bytes=len(text.encode()), tokens=self.setup.count(text)
            )
            return found, outcome

        return self._enter("outline", path, (), perform)

    def summarize_file(self, path: str, max_tokens: int) -> str:
        """What a file is and what it holds, inside `max_tokens`. Cached by content, rules and
        policy.
        """

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
                total = (
                    f"{page.total} lines"
                    if page.total is not None
                    else f"more than {page.last} lines"
                )
                head = f"{quote(where)}: {total}, {page.size} bytes, version {page.version}"
                words = self.gate.clean(self.setup.teller.tell(page.text, max_tokens), "").text
                symbols = () if words else structure.outline(where, page.text)
                cached = structure.summary(
                    head, symbols, words or page.text, max_tokens, self.setup.count
                ).encode()
                self.gate.store.put_fact(page.digest, "summary", key, cached)
            text = self.gate.clean(cached.decode(), "").text
            return text, Outcome(
                after=page.digest, bytes=len(text.encode()), tokens=self.setup.count(text)
            )

        return self._enter("summarize_file", path, (("max_tokens", str(max_tokens)),), perform)

    # versions

    def get_file_history(self, path: str, limit: int = 100) -> tuple[Version, ...]:
        """Known versions, newest first; an edit that was made elsewhere becomes known now."""

        def perform(where: RelPath) -> tuple[tuple[Version, ...], Outcome]:
            with suppress(SutlerError):  # gone, or not text
                self.remember(where, self.pages.whole(where))
            return self.gate.store.versions(where, max(1, min(limit, 1_000))), Outcome()

        return self._enter("get_file_history", path, (("limit", str(limit)),), perform)

    def text_of(self, path: RelPath, digest: str) -> str | None:
        """A stored content as clean text: as it was handed out, or from the bytes that a write
        kept.
        """
        kept = self.gate.store.fact(digest, "clean", self._clean_key(path))
        if kept is not None:
            # A file may have given away since then what was shown as it is.
            return self.gate.clean(kept.decode("utf-8", "surrogatepass"), path).text
        data = self.gate.store.blob(digest)
        decoded = decode(data) if data is not None else None
        return self.gate.clean_text(path, decoded.text, digest).text if decoded else None

    def session(self) -> SessionView:
        """What this session has seen and done, and which of its buffers are out of date."""

        def perform(_: RelPath) -> tuple[SessionView, Outcome]:
            rows = self.gate.store.audit_of(self.gate.caller.session, None, 5_000)
            found = fold(self.gate.caller.session, map(unseal, rows))
            recent = msgspec.structs.replace(found, buffers=found.buffers[-100:])
            behind = stale(recent, lambda shown: self.pages.digest(RelPath(unquote(shown))))
            return SessionView(recent, tuple(buffer.path for buffer in behind)), Outcome()

        return self._enter("get_session", "", (), perform, effect="list")


def _matching(snapshot: Snapshot, globs: tuple[str, ...]) -> list[FileEntry]:
    wanted = GlobSet(globs)
    return [entry for entry in snapshot.entries if not wanted or wanted.match(entry.path)]


def marker(version: str, what: str) -> str:
    """Our own word inside a text. It names the version, which a file cannot know about itself."""
    return f"[sutler {version[:12]}: {what}]"
