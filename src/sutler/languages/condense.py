"""Condense texts that are mostly useless to a reader: notebooks, tables, JSON lines, long literals.

Input is redacted text, so that no cut can hide a part of a secret from the redactor. A condensed
text states the change in its first line, or at the place of each literal. Literals keep every line
in its place; the other kinds do not, and have no line numbers."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from sutler.languages.base import JSON_LINES_ENDS, NOTEBOOK_ENDS, TABLE_ENDS

CondenseMode = Literal["all", "literals", "none"]
"""`literals` skips the kinds that would move lines."""

OUTPUT_LINES = 20  # enough for a traceback's end or a table's head
OUTPUT_CHARS = 2_000  # one line of output may hold a whole page of HTML
TABLE_HEAD, TABLE_TAIL = 10, 5
MIN_TABLE_LINES = 40  # below it the cut saves less than its notice costs attention
JSON_HEAD, JSON_TAIL = 5, 3
MIN_JSON_LINES = 20  # below it the cut saves less than its notice costs attention
ROW_CHARS = 1_000  # one row of embeddings is longer than a source file
MAX_NAMES = 40  # wide tables have thousands of columns
LONG_RUN = 400
"""Minimum length of encoded data in a line that is condensed."""
LONG_LITERAL = 2_000
"""Minimum length of a quoted literal that is condensed."""
KEPT_HEAD, KEPT_TAIL = 64, 16

_DATA_URI = re.compile(r"(data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*;base64,)([A-Za-z0-9+/=%_-]{200,})")
_RUN = re.compile(rf"[A-Za-z0-9+/_-]{{{LONG_RUN},}}={{0,2}}")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`")
_ENCODED = tuple(re.compile(part) for part in ("[A-Z]", "[a-z]", "[0-9]"))
_HEX = re.compile(r"[0-9a-fA-F]+")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Condensed(Struct, frozen=True):
    """A shorter text, and the name of its kind of shortening."""

    text: str
    name: str


def condensed(text: str, path: str, mode: CondenseMode = "all") -> Condensed | None:
    """Return the condensed text; None if the text stays as it is."""
    if mode == "none":
        return None
    name = path.lower()
    for endings, kind, change in _KINDS if mode == "all" else ():
        if name.endswith(endings):
            shorter = change(text)
            return Condensed(shorter, kind) if shorter and len(shorter) < len(text) else None
    if not _has_long_line(text):
        return None
    shorter = condensed_literals(text)
    return Condensed(shorter, "literals") if len(shorter) < len(text) else None


def _has_long_line(text: str) -> bool:
    start = 0
    while start + LONG_RUN <= len(text):
        end = text.rfind("\n", start, start + LONG_RUN)
        if end < 0:
            return True
        start = end + 1  # all lines before are short, since they fit into the window
    return False


def condensed_literals(text: str) -> str:
    """Return the text with the middle of long literals replaced by a marker; lines stay in
    place."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if len(line) >= LONG_RUN:
            line = _DATA_URI.sub(lambda match: match[1] + _shortened(match[2], "base64"), line)
            line = _RUN.sub(_encoded, line)
            lines[number] = _QUOTED.sub(_quoted, line) if len(line) >= LONG_LITERAL else line
    return "\n".join(lines)


def _encoded(match: re.Match[str]) -> str:
    run = match[0]
    if _HEX.fullmatch(run) and len(set(run)) > 8:  # a run of few digits is a ruler or a mask
        return _shortened(run, "hexadecimal digits")
    # A long run without digits or with one case only is prose or code without spaces.
    return _shortened(run, "base64") if all(part.search(run) for part in _ENCODED) else run


def _quoted(match: re.Match[str]) -> str:
    literal = match[0]
    return _shortened(literal, "a literal") if len(literal) >= LONG_LITERAL else literal


def _shortened(text: str, kind: str) -> str:
    left_out = len(text) - KEPT_HEAD - KEPT_TAIL
    return f"{text[:KEPT_HEAD]}[... {left_out:,} characters of {kind} ...]{text[-KEPT_TAIL:]}"


def notebook(text: str) -> str:
    """Return the cells of a notebook with their source and the text of their output; "" for other
    texts."""
    try:
        data = msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    cells = _cells(data)
    if not cells:
        return ""
    pictures: Counter[str] = Counter()
    parts: list[str] = []
    for number, cell in enumerate(cells, 1):
        kind = _word(cell.get("cell_type")) or "cell"
        parts.append(f"--- cell {number}: {kind} ---\n{_joined(_source(cell)).rstrip()}\n")
        output = "".join(_outputs(cell, pictures)).rstrip()
        parts += [f"--- output of cell {number} ---\n{_short(output)}\n"] if output else []
    dropped = ", ".join(f"{count} {kind}" for kind, count in sorted(pictures.items()))
    count = f"{len(cells):,} {'cell' if len(cells) == 1 else 'cells'}"
    about = f"[condensed notebook: {count}; dropped: {dropped or 'metadata'}]"
    return "\n".join([about, *parts])


def _cells(data: Any) -> list[dict[str, Any]]:
    """Return the cells of a notebook of any version of the format."""
    if not isinstance(data, dict):
        return []
    cells = data.get("cells")
    if cells is None:  # before version 4
        sheets = data.get("worksheets")
        sheets = sheets if isinstance(sheets, list) else []
        cells = [
            cell
            for sheet in sheets
            if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
            for cell in sheet["cells"]
        ]
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


def _source(cell: dict[str, Any]) -> Any:
    return cell.get("source", cell.get("input", ""))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _joined(value: Any) -> str:
    """Join a text of a notebook: one string, or its lines as a list."""
    if isinstance(value, list):
        return "".join(item for item in value if isinstance(item, str))
    return _word(value)


def _outputs(cell: dict[str, Any], pictures: Counter[str]) -> Iterator[str]:
    """Yield the texts of a cell's output; pictures and other data are counted."""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        shapes = data if isinstance(data, dict) else output
        for kind in shapes:
            if kind.startswith(("image/", "video/", "audio/")) or kind in ("png", "jpeg", "svg"):
                pictures[kind] += 1
        plain = _joined(output.get("text")) or _joined(shapes.get("text/plain"))
        if "evalue" in output:
            plain = f"{_word(output.get('ename'))}: {_word(output.get('evalue'))}"
        if plain:
            yield _ANSI.sub("", plain).rstrip("\n") + "\n"
        elif "text/html" in shapes:
            pictures["text/html"] += 1


def _short(text: str) -> str:
    """Return the first and last lines of an output, within its limits."""
    lines = [_clipped(line) for line in text.split("\n")]
    if len(lines) > OUTPUT_LINES:
        half = OUTPUT_LINES // 2
        gap = f"[... {len(lines) - 2 * half:,} lines of output ...]"
        lines = [*lines[:half], gap, *lines[-half:]]
    short = "\n".join(lines)
    return short if len(short) <= OUTPUT_CHARS else short[:OUTPUT_CHARS] + " [... output cut]"


def _clipped(line: str) -> str:
    return line if len(line) <= ROW_CHARS else f"{line[:ROW_CHARS]} [... line cut]"


def table(text: str) -> str:
    """Return the columns, the number of lines, and the first and last lines of a table; "" if
    short."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) < MIN_TABLE_LINES:
        return ""
    sign = max(",;\t|", key=lines[0].count)
    try:
        columns = next(csv.reader([lines[0]], delimiter=sign), [])
    except csv.Error:
        columns = []
    names = _listed([name.strip() or "(no name)" for name in columns])
    about = f"[condensed table: {len(lines):,} lines, {len(columns):,} columns: {names}]"
    return _ends(about, lines, TABLE_HEAD, TABLE_TAIL)


def json_lines(text: str) -> str:
    """Return the keys with their counts, and the first and last lines; "" if short."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < MIN_JSON_LINES:
        return ""
    keys: Counter[str] = Counter()
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    for line in lines:
        try:
            keys.update(list(decode(line)))
        except (msgspec.DecodeError, UnicodeError):  # another kind of value, or a broken line
            keys["(no object)"] += 1
    counts = [f"{key} ({count:,})" for key, count in keys.most_common()]
    about = f"[condensed JSON lines: {len(lines):,} lines; keys: {_listed(counts)}]"
    return _ends(about, lines, JSON_HEAD, JSON_TAIL)


def _listed(names: list[str]) -> str:
    more = len(names) - MAX_NAMES
    return _clipped(", ".join(names[:MAX_NAMES])) + (f" and {more:,} more" if more > 0 else "")


def _ends(about: str, lines: list[str], head: int, tail: int) -> str:
    gap = f"[... {len(lines) - head - tail:,} lines not shown ...]"
    shown = [*map(_clipped, lines[:head]), gap, *map(_clipped, lines[-tail:])]
    return "\n".join([about, *shown]) + "\n"


_KINDS: tuple[tuple[tuple[str, ...], str, Callable[[str], str]], ...] = (
    (NOTEBOOK_ENDS, "notebook", notebook),
    (TABLE_ENDS, "table", table),
    (JSON_LINES_ENDS, "json lines", json_lines),
)
"""Kinds of files by the end of their names, in lower case."""
