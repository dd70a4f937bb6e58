"""Two engines, one answer: which formats may be in a text, and at which offsets a grammar trigger
fired.

An engine only decides where to look. What is a secret is decided by the same `re` patterns for
both, so the engines differ in speed and not in spans. `hyperscan` is several hundred MB/s but needs
a compiled database: one comes with the program, for the machine and the version that most have;
elsewhere cache its bytes. `stdlib` needs nothing.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from zlib import decompress

from sutler.secrets.format_table import beside, formats, pattern
from sutler.secrets.grammar import GATES, TRIGGERS, VENDOR, VENDOR_TAIL, head
from sutler.secrets.probes import BASE, RUN, probes, probes_digest


class Sightings(NamedTuple):
    """`formats`: numbers of formats that may match, each with offsets on the lines where (none:
    anywhere); `triggers`: (trigger number, end offset) in order; `runs`: where in the bytes long
    runs of base64 end (None: look for them).
    """

    formats: Mapping[int, Sequence[int]] = {}
    triggers: tuple[tuple[int, int], ...] = ()
    runs: Sequence[int] | None = ()


Engine = Callable[[str, bytes], Sightings]
"""Looks through a text, which it is given in UTF-8 as well."""

NONE = Sightings()


_ASCII_LOWER = {upper: upper + 32 for upper in range(65, 91)}


def lower(text: str) -> str:
    """Lower case, character for character: a text whose lower case is longer keeps its letters
    beyond ASCII.
    """
    low = text.lower()
    return low if len(low) == len(text) else text.translate(_ASCII_LOWER)


def stdlib_engine() -> Engine:
    """Word gates with `in`, then `re`: no start-up cost, some MB/s."""
    return _scan_stdlib


def compile_database() -> bytes:
    """The hyperscan database of every probe, serialised. Valid for this CPU and hyperscan
    version.
    """
    import hyperscan

    plain, either_case = hyperscan.HS_FLAG_PREFILTER, hyperscan.HS_FLAG_CASELESS
    wanted = probes()
    database = hyperscan.Database()
    database.compile(
        expressions=[one.source.encode() for one in wanted],
        ids=[one.number for one in wanted],
        elements=len(wanted),
        flags=[plain | (either_case if n >= BASE else 0) for n, _ in wanted],
    )
    return bytes(hyperscan.dumpb(database))


READY_MADE = "probes.hs"
"""Beside this module: a line that names machine, hyperscan and probes, then the database,
deflated.
"""


def ready_made(machine: str) -> bytes:
    """The shipped database, or empty bytes if it is for another machine, hyperscan or table of
    probes.

    A database of older probes would miss a format added since. The processor does not matter: this
    hyperscan uses only what every x86-64 has, and refuses a database that needs more.
    `tests/databases.py` makes the file.
    """
    made_for, _, packed = beside(READY_MADE).partition(b"\n")
    return decompress(packed) if made_for == maker(machine) else b""


def maker(machine: str) -> bytes:
    """What a database is valid for: a kind of machine, a hyperscan version and these probes."""
    import hyperscan

    return f"{machine} {getattr(hyperscan, '__version__', '')} {probes_digest()}".encode()


def hyperscan_engine(database: bytes) -> Engine:
    """An engine over a serialised database; safe to share between threads (each gets its own
    scratch space). Fails at once, and not at the first text, when the database is not for this
    machine: then compile it again.
    """
    import hyperscan

    local = threading.local()

    def load() -> Any:
        loaded = hyperscan.loadb(database, hyperscan.HS_MODE_BLOCK)
        loaded.scratch = hyperscan.Scratch(loaded)
        local.database = loaded
        return loaded

    load()

    def scan(text: str, raw: bytes) -> Sightings:
        loaded = getattr(local, "database", None) or load()
        found: list[tuple[int, int]] = []
        loaded.scan(raw, match_event_handler=_note, context=found)
        return _sorted(found, text, raw) if found else NONE

    return scan


def _note(number: int, _start: int, end: int, _flags: int, found: list[tuple[int, int]]) -> None:
    found.append((end, number))


_VENDOR_TAIL = re.compile(VENDOR_TAIL.encode())


def _sorted(found: list[tuple[int, int]], text: str, raw: bytes) -> Sightings:
    seen: dict[int, list[int]] = {}
    triggers: list[tuple[int, int]] = []
    runs: list[int] = []
    plain = len(raw) == len(text)
    at = chars = 0
    for end, number in sorted(set(found)):
        if number == RUN:
            runs.append(end)
            continue
        if number == BASE + VENDOR and not _VENDOR_TAIL.match(raw, end):
            continue
        if plain:
            chars = end
        else:
            while (
                end < len(raw) and raw[end] & 0xC0 == 0x80
            ):  # byte offsets to character offsets, in one pass
                end += 1
            chars += len(raw[at:end].decode("utf-8", "surrogatepass"))
            at = end
        if number < BASE:
            seen.setdefault(number, []).append(chars)
        else:
            triggers.append((number - BASE, chars))
    return Sightings(seen, tuple(triggers), runs)


# Most formats are one run of token characters: their words are looked for in the long runs only, a
# tenth of most
# texts. The cut is at characters that no such format holds, so a boundary here is a boundary in the
# text.
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


def _scan_stdlib(text: str, raw: bytes) -> Sightings:
    del raw
    seen = _may_match(text)
    triggers: list[tuple[int, int]] = []
    low = lower(text)
    for number in range(len(TRIGGERS)):
        words = GATES.get(number)
        if words is None or any(word in low for word in words):
            triggers.extend((number, found.end()) for found in head(number).finditer(low))
    triggers.sort(key=lambda pair: (pair[1], pair[0]))
    return Sightings(dict.fromkeys(seen, ()), tuple(triggers), runs=None)
