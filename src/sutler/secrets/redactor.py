"""From sightings to CleanText: read candidates, judge them, merge their spans, write markers."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from sutler.formats.document import CleanText, Finding
from sutler.secrets import (
    apart,
    blocks,
    checksums,
    decode,
    grammar,
    joins,
    name_kinds,
    readers,
    verdict,
)
from sutler.secrets.engines import Engine, Sightings, lower, stdlib_engine
from sutler.secrets.format_table import Format, file_values, formats, pattern, quotes_only, vouches
from sutler.secrets.harmless import is_translation
from sutler.secrets.markers import LOOKS_LIKE, digest_of, marker, own_spans, set_apart, tag_of

THRESHOLD = 0.5
_PASSES = 4
LONG_LINE, STRETCH = 4000, 2000
_NEXT = 64  # characters; a name and its value on another line are not further apart
_FIRST_ENCODED = grammar.ENCODED[0]
_UNQUOTED = (grammar.BARE, grammar.VALUE)
_READERS = (*readers.READERS, *apart.READERS)


class Allow(Struct, frozen=True):
    """Values that the user (never the scanned project) exempts: their tags, and words that exempt
    their line. `packed` texts come from a pack: ordinals in them are markers, not look-alikes."""

    tags: frozenset[str] = frozenset()
    markers: tuple[str, ...] = ()
    packed: bool = False


NOTHING = Allow()


class Hit(NamedTuple):
    start: int
    end: int
    rule: str
    confidence: float


def redact(
    text: str,
    path: str,
    *,
    key: bytes,
    allow: Allow = NOTHING,
    engine: Engine | None = None,
    raw: bytes = b"",
) -> CleanText:
    """Replace every secret in `text` by a marker; the number of lines stays. `key` is the
    installation's tag key, `raw` the text in UTF-8 if the caller has it already."""
    scan = engine or stdlib_engine()
    findings: list[Finding] = []
    if LOOKS_LIKE in text:
        text, fakes = set_apart(text, key, allow.packed)
        raw = b""
        findings += [Finding("marker-look-alike", line, 0.0) for line in fakes]
    hits = find(text, path, scan, raw)
    for _ in range(_PASSES):
        if hits:
            hits = [
                hit
                for hit in _outside(_merge(hits), own_spans(text, key, allow.packed))
                if not _excused(hit, text, allow, key)
            ]
        if not hits:
            break
        text, made, places = _replace(text, hits, key)
        findings.extend(made)
        # A replaced value can uncover its neighbour: repeat until there are no new hits.
        hits = [
            Hit(at + start, at + end, rule, confidence)
            for at, stop in _around(text, path, places)
            for start, end, rule, confidence in find(text[at:stop], path, scan)
        ]
    return CleanText(text, tuple(sorted(findings, key=lambda one: (one.line, one.rule, one.tag))))


def _around(text: str, path: str, places: Sequence[int]) -> list[tuple[int, int]]:
    """Return the spans of lines at and around these offsets: findings on other lines have not
    changed. It is the whole text if a finding that spans lines, or the whole file, may change."""
    if "----" in text or "utty-" in text or vouches(path):
        return [(0, len(text))]
    parts: list[tuple[int, int]] = []
    for place in places:
        line, stop = _line_at(text, place)
        start, stop = (
            _line_at(text, max(0, line - _NEXT))[0],
            _line_at(text, min(len(text), stop + _NEXT))[1],
        )
        if parts and start <= parts[-1][1]:
            start = parts.pop()[0]
        parts.append((start, stop))
    return parts


def find(text: str, path: str, scan: Engine, raw: bytes = b"") -> list[Hit]:
    """Return every hit in the text as it is, and in the decoded text of its encoded runs. `raw` is
    the text in UTF-8."""
    raw = raw or text.encode("utf-8", "surrogatepass")
    seen = scan(text, raw)
    hits = _plain_hits(text, path, seen, raw)
    for start, end, decoded in _encoded_runs(text, raw, seen):
        plain = decoded.encode()
        inner = _plain_hits(decoded, path, scan(decoded, plain), plain)
        if inner:
            best = min(inner, key=lambda hit: (-hit.confidence, *hit))
            hits.append(Hit(start, end, f"encoded-{best.rule}", best.confidence))
    hits += [
        Hit(*span, hit.rule, hit.confidence)
        for hit in tuple(hits)
        for span in joins.following(text, hit.end)
    ]
    for joined in _joined_literals(text, seen):
        raw = joined.text.encode("utf-8", "surrogatepass")
        for hit in _plain_hits(joined.text, path, scan(joined.text, raw), raw):
            spans = joined.spans(hit.start, hit.end)
            if len(spans) > 1:
                hits += [Hit(*span, hit.rule, hit.confidence) for span in spans]
    for candidate in apart.columns(text) if path.lower().endswith(apart.TABLES) else ():
        confidence, rule = _judge(text, candidate, False)
        if confidence >= THRESHOLD:
            hits.append(Hit(candidate.start, candidate.end, rule, confidence))
    for start, end, rule in file_values(text, path):
        value = text[start:end]
        if not (verdict.is_nothing(value) if rule == "env-file" else verdict.is_template(value)):
            hits.append(Hit(start, end, rule, 0.9))
    return hits


def _encoded_runs(text: str, raw: bytes, seen: Sightings) -> Iterator[tuple[int, int, str]]:
    yield from decode.base64_runs(text, raw)
    done = [-1] * len(grammar.ENCODED)
    for number, end in seen.triggers:
        kind = number - _FIRST_ENCODED
        if kind >= 0 and end > done[kind]:
            start, stop, decoded = decode.run_at(text, kind, end)
            done[kind] = stop
            if decoded:
                yield start, stop, decoded


def _joined_literals(text: str, seen: Sightings) -> Iterator[joins.Joined]:
    done = 0
    for number, end in seen.triggers:
        if number == grammar.JOIN and end > done:
            joined, done = joins.joined_at(text, done, end)
            if joined is not None:
                yield joined


def _plain_hits(text: str, path: str, seen: Sightings, raw: bytes) -> list[Hit]:
    hits: list[Hit] = []
    for number, ends in seen.formats.items():
        hits += _format_hits(text, formats()[number], ends)
    if seen.triggers:
        hits += (
            hit
            for hit in _grammar_hits(text, raw, seen.triggers, quotes_only(path))
            if not is_translation(text[hit.start : hit.end], path)
        )
    return hits


def _format_hits(text: str, one: Format, ends: Sequence[int]) -> Iterator[Hit]:
    """Yield matches of the format on the lines of these sorted offsets, or anywhere if there are
    none."""
    compiled = pattern(one.core)
    spans = _lines_at(text, ends) if ends and not one.spans_lines else [(0, len(text))]
    for found in (match for span in spans for match in compiled.finditer(text, *span)):
        group = 1 if compiled.groups and found.group(1) is not None else 0
        value = found.group(group)
        if verdict.judge_format(value):
            sure = checksums.confidence(one.name, value)
            yield Hit(*found.span(group), one.name, sure)
            if one.name.startswith("der-"):
                for start, stop in blocks.unwrapped(text, found.end()):
                    yield Hit(start, stop, one.name, sure)


def _line_at(text: str, at: int) -> tuple[int, int]:
    stop = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if stop < 0 else stop


def _lines_at(text: str, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield each line once: a search for its ends at every offset would be quadratic on a line full
    of them."""
    stop = -1
    for end in ends:
        if end > stop:
            start, stop = _line_at(text, end)
            yield start, stop


def _grammar_hits(
    text: str, raw: bytes, triggers: tuple[tuple[int, int], ...], strict: bool
) -> list[Hit]:
    hits: list[Hit] = []
    done: set[tuple[int, int]] = set()
    at: readers.Stretch | None = None
    low = ""
    line = stop = -1
    for number, end in triggers:
        if number == grammar.JOIN or number >= _FIRST_ENCODED:
            continue
        if end > stop:
            line, stop = _line_at(text, end)
        for unit in (line,) if stop - line <= LONG_LINE else _units(line, end):
            if (number, unit) in done:
                continue
            done.add((number, unit))
            if strict and number in _UNQUOTED and not _may_hold(text, line, stop):
                continue
            if number == grammar.VALUE and not _DIGIT.search(text, line, stop):
                continue  # name and value are apart: only a generated value counts
            if at is None or at.start != unit:
                limit = (
                    stop if stop - line <= LONG_LINE else min(stop, unit + STRETCH + grammar.REACH)
                )
                low = low or lower(text, raw)
                at = readers.Stretch(text, low, unit, limit, stop)
            hits += _read_unit(number, at, strict)
    return hits


def _units(line: int, end: int) -> tuple[int, ...]:
    """Return where to start reading a very long line for a trigger that ended at `end`: the two
    fixed stretches in which the construct can begin. They are fixed so that every engine reads the
    same."""
    here = line + (end - line) // STRETCH * STRETCH
    before = line + max(0, end - line - grammar.REACH) // STRETCH * STRETCH
    return (before, here) if before != here else (here,)


def _read_unit(number: int, at: readers.Stretch, strict: bool) -> Iterator[Hit]:
    if number == grammar.BLOCK:
        yield from (
            Hit(start, stop, "private-key", 0.95)
            for start, stop in blocks.read(at.text, at.start, at.limit, at.end)
        )
        return
    for candidate in _READERS[number](at):
        confidence, rule = _judge(at.text, candidate, strict)
        if confidence >= THRESHOLD:
            yield Hit(candidate.start, candidate.end, rule, confidence)


def _judge(text: str, candidate: readers.Candidate, strict: bool) -> tuple[float, str]:
    value = text[candidate.start : candidate.end]
    if candidate.how == "header":
        return verdict.judge_header(candidate.name, value), "auth-header"
    if candidate.how == "url":
        return verdict.judge_url(value, candidate.name), "url-credentials"
    if candidate.how == "vendor":
        return verdict.judge_vendor(value), "vendor-key"
    kind = name_kinds.kind_of(candidate.name)
    if kind == "none":
        return 0.0, ""
    if kind == "weak" and (candidate.how == "apart" or len(value) < verdict.LEAST_WEAK):
        return 0.0, ""  # `the key "…"` is prose
    how, loose = candidate.how, candidate.how in ("bare", "prose") and strict
    if loose and _BRACKET.search(value):
        return 0.0, ""
    if loose and not (_inside_string(text, candidate.start) or verdict.is_scrambled(value)):
        if not joins.in_block(text, candidate.start):
            return 0.0, ""
        how, loose = "prose", False
    if _restates(value, candidate.name):
        return 0.0, ""
    plural = candidate.name.lower().endswith(("passwords", "passwds", "pwds"))
    how = "listed" if plural else how
    return verdict.judge(value, kind, how, loose), kind


def _restates(value: str, name: str) -> bool:
    """Return whether a value is its name, or the end of it: `this.keyType = keyType`,
    `PREF_PASSCODE_DELAY = "passcode_delay"`."""
    letters, named = _letters(value.rpartition(":")[2]), _letters(name.rpartition(".")[2])
    return letters == named or (len(letters) >= _TELLING_END and named.endswith(letters))


_TELLING_END = 10


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


_DIGIT = re.compile("[0-9]")
_BRACKET = re.compile(r"[(\[{]")
_COMMENT = re.compile(r"\s*(?://|#|\*|/\*|--|;|<!--)")


def _may_hold(text: str, line: int, stop: int) -> bool:
    """Return whether a bare value in code may be a secret: in a string, in a comment, or a long run
    with a digit."""
    return (
        text.find('"', line, stop) >= 0
        or text.find("'", line, stop) >= 0
        or text.find("`", line, stop) >= 0
        or _COMMENT.match(text, line, stop) is not None
        or _LONG_RUN.search(text, line, stop) is not None
    )


_LONG_RUN = re.compile(
    r"[:=][ \t]{0,24}(?=[^\s0-9]{0,40}[0-9])(?:[\w/+=@.!-]{11}|[^\s\"'`(),;]{6,40}$)", re.MULTILINE
)


def _inside_string(text: str, at: int) -> bool:
    before = text[max(text.rfind("\n", 0, at) + 1, at - LONG_LINE) : at]
    return (
        bool(_COMMENT.match(before))
        or before.count('"') % 2 == 1
        or before.count("'") % 2 == 1
        or before.count("`") % 2 == 1
    )


def _merge(hits: list[Hit]) -> list[Hit]:
    """Merge hits to disjoint ones in order: of two that overlap, the surer one names the rule and
    the union is replaced."""
    merged: list[Hit] = []
    for hit in sorted(hits, key=lambda one: (one.start, -one.end, -one.confidence, one.rule)):
        if merged and hit.start < merged[-1].end:
            last = merged[-1]
            best = hit if hit.confidence > last.confidence else last
            merged[-1] = Hit(last.start, max(last.end, hit.end), best.rule, best.confidence)
        else:
            merged.append(hit)
    return merged


def _outside(hits: list[Hit], own: list[tuple[int, int]]) -> list[Hit]:
    """Return the hits that touch none of our own markers."""
    if not own:
        return hits
    starts = [start for start, _ in own]
    outside = []
    for hit in hits:
        at = bisect_left(starts, hit.end) - 1  # the last marker that begins before the hit ends
        if at < 0 or own[at][1] <= hit.start:
            outside.append(hit)
    return outside


def _excused(hit: Hit, text: str, allow: Allow, key: bytes) -> bool:
    if allow.tags and digest_of(text[hit.start : hit.end], key) in allow.tags:
        return True
    if not allow.markers:
        return False
    start = text.rfind("\n", 0, hit.start) + 1
    stop = text.find("\n", hit.end)
    line = text[start : len(text) if stop < 0 else stop]
    return any(marker in line for marker in allow.markers)


def _replace(text: str, hits: list[Hit], key: bytes) -> tuple[str, list[Finding], list[int]]:
    """Return the text with markers, their findings, and the offset of each marker."""
    parts: list[str] = []
    findings: list[Finding] = []
    places: list[int] = []
    at, line, length = 0, 1, 0
    for hit in hits:
        line += text.count("\n", at, hit.start)
        tag = tag_of(text[hit.start : hit.end], hit.rule, key)
        shown = marker(hit.rule, tag)
        parts += (text[at : hit.start], shown)
        places.append(length + hit.start - at)
        length = places[-1] + len(shown)
        findings.append(Finding(hit.rule, line, hit.confidence, tag))
        at = hit.end
    parts.append(text[at:])
    return "".join(parts), findings, places
