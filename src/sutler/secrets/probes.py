"""What the fast engine looks for: of every format and every construct a necessary condition that
compiles at once.

A database of the patterns themselves takes half a second to compile, most of it for counted
repetitions and for what may stand between a name and its value. Nothing is decided here, so a probe
may say too much: what it points at is read with the pattern itself. Two things must hold. A text in
which a format matches has a probe of it; and every head of a construct has the end of a probe
within it or what it looks ahead to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from sutler.secrets import decode, grammar
from sutler.secrets.format_table import Format, formats

BASE = 100_000
"""Trigger n has the number BASE + n in the database; below are the formats."""
RUN = BASE + len(grammar.TRIGGERS)
"""The number of a run that may be base64."""

_SURE = 3
"""A word of this many characters is as good as the pattern, save the few that are all over source
code.
"""
_EVERYWHERE = frozenset(("live_", "test_", "token", "pat", "re_", "eab", "-us", "cio", "as-"))
_MOST = 20
"""A repetition that is asked for this often is as good as the whole."""


class Probe(NamedTuple):
    """An expression of the database."""

    number: int
    source: str


@cache
def probes() -> tuple[Probe, ...]:
    """Every expression, formats first."""
    of_formats = (
        Probe(number, part) for number, one in enumerate(formats()) for part in _of_format(one)
    )
    of_triggers = (
        Probe(BASE + number, part)
        for number, head in enumerate(grammar.TRIGGERS)
        for part in _TRIGGERS.get(number, (widened(head),))
    )
    return (*of_formats, *of_triggers, Probe(RUN, decode.BASE64_RUN))


@cache
def probes_digest() -> str:
    """Digest of the expressions themselves, so that it changes with any table they are made
    from.
    """
    return sha256(
        "\n".join(f"{number} {source}" for number, source in probes()).encode()
    ).hexdigest()[:16]


def _of_format(one: Format) -> Iterator[str]:
    if all(len(word) >= _SURE and word not in _EVERYWHERE for word in one.words):
        yield from map(re.escape, one.words)
    else:
        core = re.sub(
            r"^\(\?:[a-z?|]{1,6}\)(?=\[)", "", one.core
        )  # a letter or two are everywhere and cost much
        yield re.sub(r"\{(\d+),\}$", r"{\1}", re.sub(r"\{(\d+)(,\d*)?\}", _capped, widened(core)))


def _capped(found: re.Match[str]) -> str:
    least, most = int(found[1]), found[2]
    if least > 1 and most is not None:
        return f"{{{min(least, _MOST)},}}"
    return f"{{{_MOST},}}" if least > _MOST else found[0]


def widened(source: str) -> str:
    """A necessary condition in hyperscan's terms: no names, no possessive marks, no costly upper
    bounds; what a head only looks at beyond its end is part of the match, since hyperscan drops
    what it cannot look ahead to.
    """
    source = re.sub(r"\(\?=([^()]*)\)$", r"(?:\1)", source)
    source = re.sub(r"\(\?P<\w+>", "(?:", source).replace("}+", "}")
    source = re.sub(r"\{0,(?:\d\d+|[89])\}", "*", source)
    source = re.sub(r"\{1,(?:\d\d+|[89])\}", "+", source)
    return re.sub(r"\{(\d+),\d{3,}\}", r"{\1,}", source)


# hyperscan cannot look back but knows a word's beginning; nor ahead, so what a word must not go on
# with is spelled out.
_NAMES = (
    grammar.NAMES.replace(r"|(?<!\w.)(?:w|in|at(?!h|ch))", "")
    .replace(r"|(?<!\w.)id(?!e)", "")
    .replace(r"uth(?:orization|(?!or))|", "")
    + r"|\bp(?:w|in)"
)
_MORE = r"[\w.-]*"
_NAMED = (
    rf"(?:(?:{_NAMES}){_MORE}"
    rf"|\bpat(?:c|(?:[abd-gi-z0-9_.-]|c[a-gi-z0-9_.-]){_MORE})?"
    rf"|\bsid(?:[a-df-z0-9_.-]{_MORE})?"
    rf"|auth(?:o|(?:[a-np-z0-9_.-]|o(?:[a-qs-z0-9_.-]|rization)){_MORE})?)"
)
_NAME = rf"{_NAMED}(?:[\\\"'`\])*\x7d]|&quot;|&#3[49];|&apos;)*[ \t]*"
# From a separator to the first character of an opening quote: what may stand there is not looked at
# closely.
_SEP = r"(?:(?::[\w<>\[\]?&*.| \t]*)?[:=!?]*[:=]>?|->|\(|[\"'`;][\])*\x7d\\\"'`]*[ \t]*,)"
_TO_QUOTE = r"[\w.:$@ \t()\[\]{|?]*[\"'`&\\]"

_TRIGGERS: dict[int, tuple[str, ...]] = {
    grammar.QUOTED: (rf"{_NAME}{_SEP}{_TO_QUOTE}",),
    grammar.BARE: (
        rf"{_NAME}[:=?]=?[ \t]*[!#-&(-;=?-\[\]-_a-{{}}~]",
    ),  # such a value begins with no quote or bracket
    grammar.HEADER: (rf"{grammar.SCHEMES}(?:[ +:]|%20|[\"'],[ ]?[\"'])+[\w+/=.~%-]{{6}}",),
    grammar.FLAG: (
        rf"[\s\"'(`]--?(?:(?:[uaw]|user|pw|pass[\w-]*|[\w-]*(?:{grammar.FLAG_WORDS}))[\"' =]|p)",
    ),
    grammar.ELEMENT: (rf"{_NAMED}(?:[ ][^<>\n]*)?>[ ]?[^<>\s]",),
    grammar.PAIR: (
        rf"(?:name|key|id|variable|env)[\"']?[ ]?[:=][ ]?[\"']?[\w.-]*(?:{grammar.NAMES})",
    ),
    grammar.SPACED: (rf"(?:env|setx?|arg)[ \t]+[\w.-]*(?:{grammar.NAMES})[\w.-]*[ \t]+[!-~]",),
    grammar.VENDOR: tuple(
        map(re.escape, grammar.VENDORS)
    ),  # the engine looks itself at what follows a name
}
