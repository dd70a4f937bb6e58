"""Forms of a file in a pack, best first: the whole text, its outline, or its head and tail around
a marker with the number of omitted lines.

The marker is for readers. A section's level, never its text, states whether a file was cut."""

from __future__ import annotations

from collections.abc import Callable

from sutler.budget.selection import Cut, Material
from sutler.formats.document import Level
from sutler.paths import Span
from sutler.scan.snapshot import FileFacts

MARKER = "... [truncated: {left_out}] ..."
LINE_CHARS = 4_000  # the head of a minified file is one line, which would be all of it
_SPEAKS = 100
"""An outline below one part in this many of the text is useless: no grammar reads the text."""


Outliner = Callable[[str, str], str]
"""Outlines the clean text of a path, as `outline_text` does."""


def shortened(
    material: Material, cut: Cut, outliner: Outliner
) -> tuple[Level, str, tuple[Span, ...]]:
    """Return less of a text with its level and lines: the outline of code, else head and tail;
    "full" if nothing is shorter."""
    clean, choice = material.clean, material.choice
    coded = cut.outlines and choice.facts.tag in ("code", "test") and not clean.moved
    if choice.outline or coded:
        outline = outliner(choice.path, clean.text)
        if outline and (choice.outline or len(outline) * _SPEAKS >= len(clean.text)):
            most = cut.max_document_bytes or len(outline)
            return "outline", head_tail(outline, _lines_within(outline, most), 0), ()
    if cut.max_document_bytes and is_document(choice.facts):
        head, tail = _lines_within(clean.text, cut.max_document_bytes), 0
    else:
        head, tail = cut.head_lines, cut.tail_lines
    text = head_tail(clean.text, head, tail)
    if text == clean.text:
        return "full", text, ()
    lines = clean.text.count("\n") + (not clean.text.endswith("\n"))
    # A condensed text has other lines than the file; if the text has few, only long ones were cut.
    if clean.moved or lines <= head + tail:
        return "head_tail", text, ()
    spans = (Span(1, head), Span(lines - tail + 1, lines))
    return "head_tail", text, tuple(span for span in spans if span.start <= span.end)


def is_document(facts: FileFacts) -> bool:
    """Return whether a file is prose or a manifest: its beginning says most."""
    return facts.tag == "doc" or (facts.tag == "config" and facts.role == "build")


def _lines_within(text: str, size: int) -> int:
    """Return the number of whole lines at the head of a text within a size, at least one."""
    return max(text.count("\n", 0, size), 1)


def head_tail(
    text: str, head: int = 100, tail: int = 50, marker: str = MARKER, line_chars: int = LINE_CHARS
) -> str:
    """Keep the first `head` and the last `tail` lines and put the marker between (seed 004).

    A line longer than `line_chars` loses its middle in the same way, so that a file of one endless
    line shrinks too. Text stays unchanged if nothing can be omitted or saved. It takes linear time
    and splits only the parts that stay."""
    start, stop = _after_lines(text, head), _before_lines(text, tail)
    if start >= stop:
        shown = _shorten(text, marker, line_chars)
    else:
        left_out = text.count("\n", start, stop) + (stop == len(text) and not text.endswith("\n"))
        note = _note(marker, left_out, "line")
        top, bottom = (_shorten(kept, marker, line_chars) for kept in (text[:start], text[stop:]))
        shown = f"{top}{note}\n{bottom}"
    return shown if len(shown) < len(text) else text


def _after_lines(text: str, count: int) -> int:
    """Return where the line after the first `count` begins."""
    at = 0
    for _ in range(count):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _before_lines(text: str, count: int) -> int:
    """Return where the last `count` lines begin; a final newline ends the last line and starts
    none."""
    at = len(text) - 1 if text.endswith("\n") else len(text)
    if count == 0:
        return len(text)
    for _ in range(count):
        found = text.rfind("\n", 0, at)
        if found < 0:
            return 0
        at = found
    return at + 1


def _shorten(text: str, marker: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return "\n".join(_shorten_line(line, marker, limit) for line in text.split("\n"))


def _shorten_line(line: str, marker: str, limit: int) -> str:
    """Keep the first two thirds and the last third of the limit of a line."""
    if len(line) <= limit:
        return line
    back = limit // 3
    front = limit - back
    note = _note(marker, len(line) - limit, "character")
    shorter = f"{line[:front]}{note}{line[len(line) - back :]}"
    return shorter if len(shorter) < len(line) else line


def _note(marker: str, count: int, unit: str) -> str:
    return marker.replace("{left_out}", f"{count:,} {unit}{'' if count == 1 else 's'}").strip("\n")


def outline_text(path: str, text: str) -> str:
    """Return the outline of a clean text, or "" if it has none or a longer one."""
    from sutler.languages.outline import outline_of, render_outline

    outline = render_outline(outline_of(path, text))
    return outline if len(outline) < len(text) else ""
