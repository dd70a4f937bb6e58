"""Two engines, one answer: which formats may be in a text, and at which offsets a grammar trigger fired.

An engine only decides where to look. What is a secret is decided by the same `re` patterns for both, so the engines
differ in speed and not in spans. `hyperscan` is several hundred MB/s but needs a compiled database (about a
second; cache its bytes), `stdlib` needs nothing and is good for small texts.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from sutler.stages.redact.grammar import GATES, PARTS, TRIGGERS
from sutler.stages.redact.table import formats, pattern


class Sightings(NamedTuple):
    """`formats`: numbers of formats that may match somewhere; `triggers`: (trigger number, end offset) in order."""

    formats: tuple[int, ...]
    triggers: tuple[tuple[int, int], ...]


Engine = Callable[[str], Sightings]

_BASE = 100_000  # trigger n has the number _BASE + n in the database


_ASCII_LOWER = {upper: upper + 32 for upper in range(65, 91)}


def lower(text: str) -> str:
    """Lower case, character for character: a text whose lower case is longer keeps its letters beyond ASCII."""
    low = text.lower()
    return low if len(low) == len(text) else text.translate(_ASCII_LOWER)


def stdlib_engine() -> Engine:
    """Word gates with `in`, then `re`: no start-up cost, some MB/s."""
    return _scan_stdlib


def compile_database() -> bytes:
    """The hyperscan database of every format and trigger, serialised. Valid for this CPU and hyperscan version."""
    import hyperscan

    once = hyperscan.HS_FLAG_PREFILTER | hyperscan.HS_FLAG_SINGLEMATCH
    each = hyperscan.HS_FLAG_PREFILTER | hyperscan.HS_FLAG_CASELESS
    entries = _expressions()
    database = hyperscan.Database()
    database.compile(
        expressions=[source.encode() for _, source in entries],
        ids=[number for number, _ in entries],
        elements=len(entries),
        flags=[once if number < _BASE else each for number, _ in entries],
    )
    return bytes(hyperscan.dumpb(database))


def database_key() -> str:
    """Names the database that `compile_database` would make: add the CPU, and a cache file has its name."""
    import hyperscan

    source = "\0".join(f"{number} {expression}" for number, expression in _expressions())
    return sha256(f"{getattr(hyperscan, '__version__', '')}\0{source}".encode()).hexdigest()[:24]


@cache
def _expressions() -> tuple[tuple[int, str], ...]:
    entries = [(number, entry.core) for number, entry in enumerate(formats())]
    for number, trigger in enumerate(TRIGGERS):
        entries += [(_BASE + number, part) for part in PARTS.get(number, (trigger,))]
    return tuple((number, _widened(source)) for number, source in entries)


def _widened(source: str) -> str:
    """A necessary condition in hyperscan's terms: no names, no possessive marks, no costly upper bounds; what a head
    only looks at beyond its end is part of the match, since hyperscan drops what it cannot look ahead to."""
    source = re.sub(r"\(\?=([^()]*)\)$", r"(?:\1)", source)
    source = re.sub(r"\(\?P<\w+>", "(?:", source).replace("}+", "}")
    source = re.sub(r"\{0,(?:\d\d+|[89])\}", "*", source)
    source = re.sub(r"\{1,(?:\d\d+|[89])\}", "+", source)
    return re.sub(r"\{(\d+),\d{3,}\}", r"{\1,}", source)


def hyperscan_engine(database: bytes) -> Engine:
    """An engine over a serialised database; safe to share between threads (each gets its own scratch space).
    Fails at once, and not at the first text, when the database is not for this machine: then compile it again."""
    import hyperscan

    local = threading.local()

    def load() -> Any:
        loaded = hyperscan.loadb(database, hyperscan.HS_MODE_BLOCK)
        loaded.scratch = hyperscan.Scratch(loaded)
        local.database = loaded
        return loaded

    load()

    def scan(text: str) -> Sightings:
        loaded = getattr(local, "database", None) or load()
        raw = text.encode("utf-8", "surrogatepass")
        found: list[tuple[int, int]] = []

        def on_match(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((number, end))

        loaded.scan(raw, match_event_handler=on_match)
        return _sort(found, text, raw)

    return scan


def _sort(found: list[tuple[int, int]], text: str, raw: bytes) -> Sightings:
    if not found:
        return Sightings((), ())
    seen = tuple(sorted({number for number, _ in found if number < _BASE}))
    ends = sorted({(end, number - _BASE) for number, end in found if number >= _BASE})
    if len(raw) == len(text):
        return Sightings(seen, tuple((number, end) for end, number in ends))
    triggers: list[tuple[int, int]] = []
    at = chars = 0
    for end, number in ends:  # byte offsets to character offsets, in one pass
        while end < len(raw) and raw[end] & 0xC0 == 0x80:
            end += 1
        chars += len(raw[at:end].decode("utf-8", "surrogatepass"))
        at = end
        triggers.append((number, chars))
    return Sightings(seen, tuple(triggers))


@cache
def _trigger_patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(trigger, re.ASCII) for trigger in TRIGGERS)


# Most formats are one run of token characters: their words are looked for in the long runs only, a tenth of most
# texts. The cut is at characters that no such format holds, so a boundary here is a boundary in the text.
_RUN = re.compile(r"[^\s\"'<>()\[\]{},;`]{15,}")
_SPREAD = re.compile(r"[ \"'<>;,]|\\[sS(\[{]")


@cache
def _spread() -> frozenset[int]:
    """Formats that span more than one run, by number."""
    bare = [re.sub(r"\{\d+(?:,\d*)?\}", "", entry.core) for entry in formats()]
    return frozenset(number for number, core in enumerate(bare) if _SPREAD.search(core))


def _may_match(text: str) -> list[int]:
    runs = "\n".join(_RUN.findall(text))
    seen = []
    for number, entry in enumerate(formats()):
        if number in _spread():
            if any(word in text for word in entry.words):
                seen.append(number)
        elif any(word in runs for word in entry.words) and pattern(entry.core).search(runs):
            seen.append(number)
    return seen


def _scan_stdlib(text: str) -> Sightings:
    seen = _may_match(text)
    triggers: list[tuple[int, int]] = []
    low = lower(text)
    for number, trigger in enumerate(_trigger_patterns()):
        words = GATES.get(number)
        if words is None or any(word in low for word in words):
            triggers.extend((number, found.end()) for found in trigger.finditer(low))
    triggers.sort(key=lambda pair: (pair[1], pair[0]))
    return Sightings(tuple(seen), tuple(triggers))
