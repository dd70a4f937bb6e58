"""Search over clean text only, so that queries cannot guess a secret character by character.

A file is cleaned only if its raw text matches; a hit must match in the clean text. Regular
expressions run on RE2, which is linear in the text whatever the pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Literal, NamedTuple

from msgspec import Struct

from sutler.access.gate import Gate
from sutler.access.pages import WHOLE, Pages
from sutler.errors import UsageError
from sutler.paths import quote
from sutler.scan.globs import GlobSet
from sutler.scan.root import Root
from sutler.scan.snapshot import FileEntry, Problem, Snapshot
from sutler.scan.steady import Patience, fresh
from sutler.scan.text import decode

Kind = Literal["literal", "regex"]
MAX_QUERY = 1_000  # an expression is compiled, and its automaton grows with it
MAX_QUERIES = 20  # each is matched against each line of the project
MAX_LINE = 400  # one minified line would fill the answer
MAX_SEARCHED = 256 << 20  # a call has to end within seconds; the answer says where it stopped


class Hit(Struct, frozen=True, gc=False, omit_defaults=True):
    """A matching line with its context; `first` is the number of the first line shown, `line` of
    the match. `queries` names those that match, if there are several."""

    path: str
    line: int
    first: int
    text: str
    queries: tuple[str, ...] = ()


class Found(Struct, frozen=True):
    """Results of a search and the files it skipped. `stopped` names the bound that ended it, if
    any."""

    hits: tuple[Hit, ...]
    files: int
    skipped: int = 0
    stopped: str = ""


class Progress:
    """Progress of a search; updated while its hits are consumed."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        self.files = self.skipped = 0
        self.stopped = ""
        self._report = report

    def step(self, total: int) -> None:
        """Report the next file; raise if the search was cancelled."""
        self._report(self.files + self.skipped, total)


Matcher = Callable[[str], Iterator[int]]
"""Character offsets of matches in a text, ascending."""


def matcher(query: str, kind: Kind, *, ignore_case: bool = False) -> Matcher:
    if not query or len(query) > MAX_QUERY:
        raise UsageError(f"a query has 1 to {MAX_QUERY} characters", next_step="shorten the query")
    if kind == "regex":
        return _regex(query, ignore_case)
    wanted = query.casefold() if ignore_case else query

    def literal(text: str) -> Iterator[int]:
        # Folding can change lengths, so folded offsets are only good line by line.
        if ignore_case:
            at = 0
            for line in text.split("\n"):
                if wanted in line.casefold():
                    yield at
                at += len(line) + 1
            return
        at = text.find(wanted)
        while at >= 0:
            yield at
            at = text.find(wanted, at + 1)

    return literal


def _regex(query: str, ignore_case: bool) -> Matcher:
    try:
        import re2  # type: ignore[import-untyped]  # has no types
    except ImportError:
        raise UsageError(
            "regular expressions need RE2",
            next_step="install it with 'pip install google-re2', or search for a literal",
        ) from None
    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.never_nl = False
    options.log_errors = False
    options.max_mem = 16 << 20  # above it RE2 refuses to compile, or searches without a cache
    try:
        compiled = re2.compile(query, options)
    except re2.error as fault:
        reason = fault.args[0] if fault.args else ""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise UsageError(
            f"not a regular expression: {text[:120]}",
            rule="RE2 syntax, without look-around and back-references",
            next_step="simplify the pattern, or search for a literal",
        ) from None

    def regex(text: str) -> Iterator[int]:
        at = 0
        for line in text.split("\n"):
            if compiled.search(line):
                yield at
            at += len(line) + 1

    return regex


Finders = Mapping[str, Matcher]
"""Matchers by their query, in the order of the queries."""


def finders(queries: Sequence[str], kind: Kind, *, ignore_case: bool = False) -> Finders:
    if not 1 <= len(queries) <= MAX_QUERIES:
        raise UsageError(f"{len(queries)} queries", rule=f"a search has 1 to {MAX_QUERIES}")
    return {query: matcher(query, kind, ignore_case=ignore_case) for query in queries}


def search_text(path: str, text: str, find: Finders, context: int) -> Iterator[Hit]:
    """Yield the hits in one clean text, at most one for each line."""
    matched: dict[int, list[str]] = {}
    for query, matches in find.items():
        for number in _lines_at(text, matches(text)):
            matched.setdefault(number, []).append(query)
    lines = text.removesuffix("\n").split("\n") if matched else []
    for number in sorted(number for number in matched if number < len(lines)):
        first = max(0, number - context)
        region = (_short(line) for line in lines[first : number + context + 1])
        queries = tuple(matched[number]) if len(find) > 1 else ()
        yield Hit(path, number + 1, first + 1, "\n".join(region), queries)


def _lines_at(text: str, offsets: Iterable[int]) -> Iterator[int]:
    """Yield the numbers from 0 of the lines that hold these ascending offsets, each number once."""
    number, passed, last = 0, 0, -1
    for offset in offsets:
        number += text.count("\n", passed, offset)
        passed = offset
        if number != last:
            last = number
            yield number


def _short(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} … ({len(line)} characters)"


def gather(hits: Iterable[Hit], room: int) -> tuple[list[Hit], bool]:
    """Return at most `room` hits, and whether there were more."""
    nearest: list[Hit] = []
    for hit in hits:
        if len(nearest) == room:
            return nearest, True
        nearest.append(hit)
    return nearest, False


def matching(snapshot: Snapshot, globs: tuple[str, ...]) -> list[FileEntry]:
    """Return the files that match one of the globs; without globs all of them."""
    wanted = GlobSet(globs)
    return [entry for entry in snapshot.entries if not wanted or wanted.match(entry.path)]


class Source(NamedTuple):
    """Input of a search: files below a root, in pages, and their clean text."""

    root: Root
    pages: Pages
    gate: Gate


def hits_in(
    source: Source, entries: Sequence[FileEntry], find: Finders, context: int, progress: Progress
) -> Iterator[Hit]:
    """Yield the hits of all queries in the files, in their order."""
    left, patience = MAX_SEARCHED, Patience()
    with source.root.reader() as reader:
        for entry in entries:
            progress.step(len(entries))
            blob = reader.read(entry.path, WHOLE)
            if not isinstance(blob, Problem) and fresh(blob.mtime_ns):
                blob = source.pages.blob(entry.path, patience)
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
            # Most files do not match: only those that do are redacted, and then searched again.
            digest = sha256(blob.data).hexdigest()
            clean = source.gate.clean_text(entry.path, decoded.text, digest)
            yield from search_text(quote(entry.path), clean.text, find, context)
