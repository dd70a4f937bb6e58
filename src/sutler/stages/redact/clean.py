"""From sightings to CleanText: read candidates, judge them, merge their spans, write markers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from sutler.stages.redact import blocks, decode, files, grammar, readers, verdict
from sutler.stages.redact.engines import Engine, Sightings, lower, stdlib_engine
from sutler.stages.redact.families import quotes_only
from sutler.stages.redact.markers import digest_of, marker, own_spans, set_apart, tag_of
from sutler.stages.redact.table import formats, pattern
from sutler.values.pack import CleanText, Finding

THRESHOLD = 0.5
_PASSES = 4
LONG_LINE, STRETCH = 4000, 2000


class Allow(Struct, frozen=True):
    """What the user (never the scanned project) lets through: tags of values, and words that excuse their line."""

    tags: frozenset[str] = frozenset()
    markers: tuple[str, ...] = ()


class Hit(NamedTuple):
    start: int
    end: int
    rule: str
    confidence: float


def redact(text: str, path: str, *, key: bytes, allow: Allow = Allow(), engine: Engine | None = None) -> CleanText:
    """Replace every secret in `text` by a marker; same number of lines. `key` is the installation's tag key."""
    scan = engine or stdlib_engine()
    text, fakes = set_apart(text, key)
    findings = [Finding("marker-look-alike", line, 0.0) for line in fakes]
    for _ in range(_PASSES):  # a replaced value can uncover its neighbour: go on until nothing new is found
        found = _outside(_merge(find(text, path, scan)), own_spans(text, key))
        hits = [hit for hit in found if not _excused(hit, text, allow, key)]
        if not hits:
            break
        text, made = _replace(text, hits, key)
        findings.extend(made)
    return CleanText(text, tuple(sorted(findings, key=lambda one: (one.line, one.rule, one.tag))))


def find(text: str, path: str, scan: Engine) -> Iterator[Hit]:
    """Every hit in the text as it stands, and in what its encoded runs decode to."""
    seen = scan(text)
    yield from _plain_hits(text, path, seen)
    for start, end in _encoded_lines(text, seen):
        for at, stop, decoded in decode.runs(text, start, end):
            for inner in _plain_hits(decoded, path, scan(decoded)):
                yield Hit(at, stop, f"encoded-{inner.rule}", inner.confidence)
                break
    for start, end, rule in files.read(text, path):
        if not verdict.is_placeholder(text[start:end]):
            yield Hit(start, end, rule, 0.9)


def _encoded_lines(text: str, seen: Sightings) -> Iterator[tuple[int, int]]:
    done = -1
    for number, end in seen.triggers:
        if number in grammar.ENCODED and end > done:
            start = text.rfind("\n", 0, end) + 1
            done = text.find("\n", end)
            done = len(text) if done < 0 else done
            yield start, done


def _plain_hits(text: str, path: str, seen: Sightings) -> Iterator[Hit]:
    table = formats()
    for number in seen.formats:
        yield from _format_hits(text, table[number].name, pattern(table[number].core))
    if seen.triggers:
        yield from _grammar_hits(text, lower(text), seen.triggers, quotes_only(path))


def _format_hits(text: str, name: str, compiled: re.Pattern[str]) -> Iterator[Hit]:
    for found in compiled.finditer(text):
        start = found.start()
        if start and text[start - 1].isalnum() and not _escaped(text, start):
            continue
        group = 1 if compiled.groups and found.group(1) is not None else 0
        if verdict.judge_format(found.group(group)):
            yield Hit(found.start(group), found.end(group), name, 0.9)


def _escaped(text: str, start: int) -> bool:
    """The letter before belongs to an escape such as \\n or %3D and not to the value."""
    return text[max(0, start - 2) : start] in ("\\n", "\\r", "\\t") or text[max(0, start - 3) : start - 2] == "%"


def _grammar_hits(text: str, low: str, triggers: tuple[tuple[int, int], ...], strict: bool) -> Iterator[Hit]:
    done: set[tuple[int, int]] = set()
    line = stop = -1
    for number, end in triggers:
        if number in grammar.ENCODED:
            continue
        if end > stop or line < 0:
            line = text.rfind("\n", 0, end) + 1
            stop = text.find("\n", end)
            stop = len(text) if stop < 0 else stop
        for unit in _units(line, stop, end):
            if (number, unit) not in done:
                done.add((number, unit))
                limit = stop if stop - line <= LONG_LINE else min(stop, unit + STRETCH + grammar.REACH)
                yield from _read_unit(number, readers.Stretch(text, low, unit, limit, stop), strict)


def _units(line: int, stop: int, end: int) -> tuple[int, ...]:
    """Where to start reading for a trigger that ended at `end`: the line, or of a very long line the two fixed
    stretches in which the construct can have begun. Fixed, so that every engine reads the same stretches."""
    if stop - line <= LONG_LINE:
        return (line,)
    here = line + (end - line) // STRETCH * STRETCH
    before = line + max(0, end - line - grammar.REACH) // STRETCH * STRETCH
    return (before, here) if before != here else (here,)


def _read_unit(number: int, at: readers.Stretch, strict: bool) -> Iterator[Hit]:
    if number == grammar.BLOCK:
        yield from (Hit(start, stop, "private-key", 0.95) for start, stop in blocks.read(at.text, at.start, at.end))
        return
    for candidate in readers.read(number, at):
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
    kind = verdict.kind_of(candidate.name)
    if candidate.how == "call" and not verdict.is_setter(candidate.name):
        return 0.0, ""
    loose = candidate.how == "bare" and strict
    if loose and not _inside_string(text, candidate.start):
        return 0.0, ""
    return verdict.judge(value, kind, candidate.how, loose), kind


_COMMENT = re.compile(r"\s*(?://|#|\*|/\*|--|;|<!--)")


def _inside_string(text: str, at: int) -> bool:
    before = text[max(text.rfind("\n", 0, at) + 1, at - LONG_LINE) : at]
    return bool(_COMMENT.match(before)) or before.count('"') % 2 == 1 or before.count("'") % 2 == 1 or before.count("`") % 2 == 1


def _merge(hits: Iterator[Hit]) -> list[Hit]:
    """Disjoint hits in order: where two overlap the surer one names the rule and the union is replaced."""
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
    """Hits that touch none of our own markers."""
    if not own:
        return hits
    return [hit for hit in hits if not any(start < hit.end and hit.start < stop for start, stop in own)]


def _excused(hit: Hit, text: str, allow: Allow, key: bytes) -> bool:
    if allow.tags and digest_of(text[hit.start : hit.end], key) in allow.tags:
        return True
    if not allow.markers:
        return False
    start = text.rfind("\n", 0, hit.start) + 1
    stop = text.find("\n", hit.end)
    line = text[start : len(text) if stop < 0 else stop]
    return any(marker in line for marker in allow.markers)


def _replace(text: str, hits: list[Hit], key: bytes) -> tuple[str, list[Finding]]:
    parts: list[str] = []
    findings: list[Finding] = []
    at, line = 0, 1
    for hit in hits:
        line += text.count("\n", at, hit.start)
        tag = tag_of(text[hit.start : hit.end], hit.rule, key)
        parts += (text[at : hit.start], marker(hit.rule, tag))
        findings.append(Finding(hit.rule, line, hit.confidence, tag))
        at = hit.end
    parts.append(text[at:])
    return "".join(parts), findings
