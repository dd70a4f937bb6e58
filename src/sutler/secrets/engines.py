"""Two engines with equal results: which formats a text may hold, and the offsets at which a grammar
trigger fired.

An engine only decides where to look. The same `re` patterns decide for both what is a secret, so
the engines differ in speed and not in spans. `hyperscan` reaches several hundred MB/s but needs a
compiled database: one is shipped for the most common machine and version; elsewhere its bytes are
cached. `stdlib` needs nothing.

The database holds probes: a necessary condition of every format and every construct that compiles
at once. The patterns themselves take half a second to compile, most of it for counted repetitions
and for the text between a name and its value. A probe decides nothing, so it may match too much:
the pattern itself reads the place that it points at. Two conditions must hold. A text in which a
format matches has a match of its probe; and every head of a construct contains the end of a probe,
in itself or in its look-ahead."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple
from zlib import decompress

from sutler.secrets import decode, grammar
from sutler.secrets.format_table import Format, beside, formats, pattern
from sutler.secrets.grammar import GATES, TRIGGERS, VENDOR, VENDOR_TAIL, head

BASE = 100_000
"""Trigger n has the number BASE + n in the database; lower numbers are formats."""

_SURE = 3
"""A word of this many characters can replace the pattern, except the few that are common in source
code."""
_EVERYWHERE = frozenset(
    (
        "live_",
        "test_",
        "token",
        "pat",
        "re_",
        "eab",
        "-us",
        "cio",
        "as-",
        "ASCA",
        "pk_",
        "rf_",
        "sk_",
    )
)
_MOST = 20
"""A repetition of this many is as selective as the whole."""


class Probe(NamedTuple):
    """An expression of the database."""

    number: int
    source: str


@cache
def probes() -> tuple[Probe, ...]:
    """Return every expression, formats first."""
    of_formats = (
        Probe(number, part) for number, entry in enumerate(formats()) for part in _of_format(entry)
    )
    of_triggers = (
        Probe(BASE + number, part)
        for number, head in enumerate(grammar.TRIGGERS)
        for part in _TRIGGERS.get(number, (widened(head),))
    )
    return (*of_formats, *of_triggers)


@cache
def probes_digest() -> str:
    """Return the digest of the expressions, which changes with every table that they are built
    from."""
    return sha256(
        "\n".join(f"{number} {source}" for number, source in probes()).encode()
    ).hexdigest()[:16]


def _of_format(entry: Format) -> Iterator[str]:
    if all(len(word) >= _SURE and word not in _EVERYWHERE for word in entry.words):
        yield from map(re.escape, entry.words)
    else:
        core = re.sub(
            r"^\(\?:[a-z?|]{1,6}\)(?=\[)", "", entry.core
        )  # one or two letters match everywhere and cost much
        yield re.sub(r"\{(\d+),\}$", r"{\1}", re.sub(r"\{(\d+)(,\d*)?\}", _capped, widened(core)))


def _capped(match: re.Match[str]) -> str:
    least, most = int(match[1]), match[2]
    if least > 1 and most is not None:
        return f"{{{min(least, _MOST)},}}"
    return f"{{{_MOST},}}" if least > _MOST else match[0]


def widened(source: str) -> str:
    """Rewrite a pattern as a necessary condition for hyperscan: no names, no possessive marks, no
    costly upper bounds. The look-ahead of a head becomes part of the match, since hyperscan has
    none."""
    source = re.sub(r"\(\?=([^()]*)\)$", r"(?:\1)", source)
    source = re.sub(r"\(\?P<\w+>", "(?:", source).replace("}+", "}")
    source = re.sub(r"\{0,(?:\d\d+|[89])\}", "*", source)
    source = re.sub(r"\{1,(?:\d\d+|[89])\}", "+", source)
    return re.sub(r"\{(\d+),\d{3,}\}", r"{\1,}", source)


# hyperscan cannot look back but knows a word's beginning; nor ahead, so the forbidden continuations
# of a word are spelled out.
_NAMES = (
    grammar.NAMES.replace(r"|(?<![a-z0-9].)(?:w(?![a-z])|in(?![gknt])|at(?!h|ch|t))", "")
    .replace(r"|(?<!\w.)id(?!e)", "")
    .replace(r"uth(?:orization|(?!or))|", "")
    + r"|(?:\b|_)p(?:w|in)"
)
_MORE = r"[\w.-]*"
_NAMED = (
    rf"(?:(?:{_NAMES}){_MORE}"
    rf"|(?:\b|_)pat(?:c|(?:[abd-gi-z0-9_.-]|c[a-gi-z0-9_.-]){_MORE})?"
    rf"|\bsid(?:[a-df-z0-9_.-]{_MORE})?"
    rf"|auth(?:o|(?:[a-np-z0-9_.-]|o(?:[a-qs-z0-9_.-]|rization)){_MORE})?)"
)
_NAMED_START = rf"(?:{_NAMES}|\bpat[^ht]|\bsid|auth(?:[^o]|o[^r]|orization))"
_CLOSERS = r"(?:[\\\"'`\])*\x7d]|[ ][\])*\x7d]|\[[0-9]*\]|&quot;|&#3[49];|&apos;)*"
_NAME = rf"{_NAMED}{_CLOSERS}[ \t]*"
# From a separator to the first character of an opening quote: the text between is not checked.
_SEP = r"(?:(?:[?!]?:[\w<>\[\]?&*.'| \t]*|(?:\*?string|\[\]byte|as string|\{ get; [a-z ]*set; \})[ ]+)?[:=!?|]*[:=][>-]?|->|<-|[|?][|?:]|\(|\{|\.[a-z_]+\([|_ ]*|[\"'`;][\])*\x7d\\\"'`]*[ \t]*,)"
_TO_QUOTE = r"[\w.:$@ \t()\[\]{|?<!]*[\"'`&\\]"

_T, _Q = r"[\w/+=~-]", "[\"'`]"
_END = rf"[^\\]{_T}"  # of a part, and no escape: `\n` ends the lines of many texts
_HEX, _CODE = r"0x[2-7][0-9a-f],[ ]?", r"(?:3[2-9]|[4-9][0-9]|1[012][0-9]),[ ]?"

_TRIGGERS: dict[int, tuple[str, ...]] = {
    # One expression: a second one that begins with a name costs a third of the scan.
    grammar.QUOTED: (
        rf"{_NAME}(?:(?:{_SEP}|[ \t](?:to|or|is|was|with):?[ ]){_TO_QUOTE}|,[ ]?[<@bN]*[\"'`]|[ \t][\"'`])[^\n]",
    ),
    grammar.BARE: (
        rf"{_NAME}(?:(?:[:=?][=-]?|：)[ \t]*[!#-&(-;=?-\[\]-_a-{{}}~]|:[ ][|>][-+]?\n|is (?:set to )?[!-~]*[0-9])",
    ),  # such a value begins without quote or bracket
    grammar.HEADER: (rf"{grammar.SCHEMES}(?:[ +:]|%20|[\"'],[ ]?[\"'])+[\w+/=.~%-]{{6}}",),
    grammar.FLAG: (
        rf"[\s\"'(`]--?(?:(?:[uaw]|user|pw|pass[\w-]*|[\w-]*(?:pass|{grammar.FLAG_WORDS}))[\"' =]|p)",
    ),
    grammar.ELEMENT: (rf"{_NAMED}(?:[ ][^<>\n]*)?>[ ]?(?:<!\[cdata\[)?[^<>\s]",),
    grammar.PAIR: (rf"{grammar.PAIR_LABEL}[ ]?[\"']?[\w.-]*{_NAMED_START}",),
    grammar.SPACED: (
        rf"(?:env|setx?|arg|param)[ \t]+[\w.-]*(?:{grammar.NAMES})[\w.-]*[ \t]+[!-~]",
    ),
    # Prose is full of the word, so the probe includes the text before it in such a file.
    grammar.LOGIN: (
        r"(?:(?:machine|login|account|connect)[ \t]+\S+|default|[_/]password)\s+password[ \t]+[!-~]",
        widened(grammar.LOGIN_HEAD.replace(r"(?<![\w-])(?P<word>password|", "(?:")),
    ),
    grammar.JOIN: (
        rf"{_END}{_Q}[ \t+.&<>|~\\]*(?:concat\()?\\?\r?\n?[ \t+.&<>|~]*[rbfu@]?{_Q}{_T}",
        rf"{_END}\\\r?\n[ \t]*{_T}",
        rf"{_END}{_Q}[ ]?\}}(?:[$#]?\{{[ ]?{_Q})?{_T}",
        rf"{_END}[$#]?\{{[ ]?{_Q}{_T}",
        rf"(?:join|concat|paste0)\([\[(]?[\"']{_T}+[\"'],[ ]?[\"']{_T}",
        r"[\"']\]\.join",
    ),
    # Code is full of values; only those with letters and digits are read.
    grammar.VALUE: (
        rf"\b(?:{grammar.VALUES})[\"']?[ \t]*[:=]>?[ \t]*[\"']?[^\s\"'<>]*"
        r"(?:[0-9][^\s\"'<>]*[a-z]|[a-z][^\s\"'<>]*[0-9])",
    ),
    grammar.ENCODED[2]: (
        rf"{_HEX}{_HEX}{_HEX}{_HEX}",
        rf"{decode.BYTES_OF}[\w.\[\]()<> =*&:;]*[\[{{(][ \n]*{_CODE}{_CODE}",
    ),
    grammar.VENDOR: tuple(
        map(re.escape, grammar.VENDORS)
    ),  # the engine itself reads the text after a name
}


class Sightings(NamedTuple):
    """Results of an engine. `formats`: numbers of formats that may match, each with offsets on its
    lines (empty: anywhere); `triggers`: (trigger number, end offset) in order."""

    formats: Mapping[int, Sequence[int]] = {}
    triggers: tuple[tuple[int, int], ...] = ()


Engine = Callable[[str, bytes], Sightings]
"""Searches a text, which it receives in UTF-8 as well."""

NONE = Sightings()


def lower(text: str, raw: bytes) -> str:
    """Return the text with ASCII letters in lower case; every character keeps its offset. `raw` is
    the text in UTF-8."""
    if len(raw) == len(text):
        return text.lower()
    return raw.lower().decode("utf-8", "surrogatepass")


def stdlib_engine() -> Engine:
    """Return the engine of word gates with `in`, then `re`: no start-up cost, some MB/s."""
    return _scan_stdlib


def compile_database() -> bytes:
    """Return the hyperscan database of every probe, serialised. Valid for this CPU and hyperscan
    version."""
    import hyperscan

    plain, either_case = hyperscan.HS_FLAG_PREFILTER, hyperscan.HS_FLAG_CASELESS
    wanted = probes()
    database = hyperscan.Database()
    database.compile(
        expressions=[entry.source.encode() for entry in wanted],
        ids=[entry.number for entry in wanted],
        elements=len(wanted),
        flags=[plain | (either_case if n >= BASE else 0) for n, _ in wanted],
    )
    return bytes(hyperscan.dumpb(database))


READY_MADE = "probes.hs"
"""File beside this module: a line that names machine, hyperscan and probes, then the deflated
database."""


def ready_made(machine: str) -> bytes:
    """Return the shipped database, or empty bytes if it is for another machine, hyperscan or table
    of
        probes.

    A database of older probes would miss a format added since. The processor does not matter: this
    hyperscan uses only what every x86-64 has, and refuses a database that needs more.
    `tests/databases.py` makes the file."""
    made_for, _, packed = beside(READY_MADE).partition(b"\n")
    return decompress(packed) if made_for == maker(machine) else b""


def maker(machine: str) -> bytes:
    """Identify what a database is valid for: a kind of machine, a hyperscan version and these
    probes."""
    import hyperscan

    return f"{machine} {getattr(hyperscan, '__version__', '')} {probes_digest()}".encode()


def hyperscan_engine(database: bytes) -> Engine:
    """Return an engine over a serialised database; threads may share it (each gets its own scratch
    space). A database for another machine raises here and not at the first text: then compile it
    again."""
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
        events: list[tuple[int, int]] = []
        loaded.scan(raw, match_event_handler=_note, context=events)
        return _sorted(events, text, raw) if events else NONE

    return scan


def _note(number: int, _start: int, end: int, _flags: int, events: list[tuple[int, int]]) -> None:
    events.append((end, number))


_VENDOR_TAIL = re.compile(VENDOR_TAIL.encode())


def _sorted(events: list[tuple[int, int]], text: str, raw: bytes) -> Sightings:
    seen: dict[int, list[int]] = {}
    triggers: list[tuple[int, int]] = []
    plain = len(raw) == len(text)
    at = chars = 0
    for end, number in sorted(set(events)):
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
    return Sightings(seen, tuple(triggers))


# Most formats are one run of token characters: their words are searched in the long runs only, a
# tenth of most texts. The cut is at characters that no such format holds, so a boundary here is a
# boundary in the text.
_RUN = re.compile(r"[^\s\"'<>()\[\]{},;`]{15,}")
_SPREAD = re.compile(r"[ \"'<>;,]|\\[sS(\[{]")


@cache
def _spread() -> frozenset[int]:
    """Return the numbers of formats that span more than one run."""
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
    seen = _may_match(text)
    triggers: list[tuple[int, int]] = []
    low = lower(text, raw)
    for number in range(len(TRIGGERS)):
        words = GATES.get(number)
        if words is None or any(word in low for word in words):
            triggers.extend((number, match.end()) for match in head(number).finditer(low))
    triggers.sort(key=lambda pair: (pair[1], pair[0]))
    return Sightings(dict.fromkeys(seen, ()), tuple(triggers))
