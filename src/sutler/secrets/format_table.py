"""The table of credential formats: loaded from `formats.tsv`, each pattern compiled when it is
first needed.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple, NoReturn

_CLASSES = {
    "{B62}": "[A-Za-z0-9]",
    "{W}": "[A-Za-z0-9_-]",
    "{HEX}": "[0-9a-f]",
    "{XH}": "[0-9A-Fa-f]",
    "{UUID}": "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    "{B64}": "[A-Za-z0-9+/]",
}
_COLUMNS = ("id", "words", "pattern")
_ID = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")
_UNKNOWN = re.compile(r"\{[A-Z]\w*\}")
_RIGHT = "(?![A-Za-z0-9])"
_PREFIX = re.compile(r"[A-Za-z0-9_:/-]+(?![{?*+A-Za-z0-9_:/-])")
_LONG = re.compile(r",\d{4,}\}")
# bounded before its first dot, so that a token glued to a name may be looked for too
_SHORT_HEAD = "eyJ[\\w-]{8,400}"


class Format(NamedTuple):
    """One credential format: `core` is what both engines search, `words` gate it in the stdlib
    engine.
    """

    name: str
    words: tuple[str, ...]
    core: str

    @property
    def spans_lines(self) -> bool:
        return "\\s" in self.core.replace("[^\\s", "")


def formats() -> tuple[Format, ...]:
    """Every format, in file order; the position is the rule's number in the compiled database."""
    return _FORMATS


def parse_table(text: str) -> tuple[Format, ...]:
    """The rows of a table. A malformed row is a ValueError that names its line and column."""
    rows: dict[str, Format] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            row = _parse(line, number)
            if row.name in rows:
                _malformed(number, 0, f"{row.name!r} is the id of an earlier row")
            rows[row.name] = row
    return tuple(rows.values())


@cache
def pattern(core: str) -> re.Pattern[str]:
    """The core with its boundaries. The left one stands behind the literal prefix, so that `re` can
    still skip to it; without it a run of prefixes would be read again from each of them.
    """
    prefix = _PREFIX.match(core)
    width = len(prefix.group()) if prefix else 0
    before = "[\\w-]" if _LONG.search(core) and not core.startswith(_SHORT_HEAD) else "[A-Za-z0-9]"
    behind = f".{{{width}}}" if width else ""
    left = rf"(?:(?<!{before}{behind})|(?<=\\[nrt]{behind})|(?<=%[0-9A-Fa-f]{{2}}{behind}))"
    try:
        return re.compile(core[:width] + left + core[width:] + _RIGHT)
    except re.error as error:
        names = [one.name for one in formats() if one.core == core]
        raise ValueError(f"formats.tsv, {' '.join(names)}, column 3 (pattern): {error}") from None


@cache
def rules_digest() -> str:
    """Changes whenever the table does: part of the key under which a compiled database is
    cached.
    """
    return sha256((_source() + _read("words.txt")).encode()).hexdigest()[:16]


@cache
def words(section: str) -> frozenset[str]:
    """A word list of `words.txt`."""
    lines = (
        line.partition(": ") for line in _read("words.txt").splitlines() if not line.startswith("#")
    )
    return frozenset(word for name, _, rest in lines if name == section for word in rest.split())


def _source() -> str:
    return _read("formats.tsv")


@cache
def _read(name: str) -> str:
    return beside(name).decode()


def beside(name: str) -> bytes:
    """A data file that comes with these modules."""
    # The loader reads package data wherever the package lives (a folder, a zip), without touching
    # paths.
    loader: Any = __spec__.loader
    data: bytes = loader.get_data((__spec__.origin or "").removesuffix("format_table.py") + name)
    return data


def _parse(line: str, number: int) -> Format:
    cells = line.split("\t")
    if len(cells) != len(_COLUMNS):
        found = f"the row has {len(cells)} columns and not {len(_COLUMNS)}"
        _malformed(number, min(len(cells), len(_COLUMNS) - 1), f"{found}, with a tab between two")
    name, words, core = cells
    if not _ID.fullmatch(name):
        _malformed(number, 0, f"{name!r} is not lower case letters, digits and hyphens")
    if not words.split():
        _malformed(number, 1, "there is no word, so the standard library's engine never looks")
    for short, full in _CLASSES.items():
        core = core.replace(short, full)
    if not core:
        _malformed(number, 2, "the pattern is empty")
    if unknown := _UNKNOWN.search(core):
        _malformed(number, 2, f"{unknown[0]} is none of {', '.join(_CLASSES)}")
    return Format(name, tuple(words.split()), core)


def _malformed(line: int, column: int, what: str) -> NoReturn:
    raise ValueError(f"formats.tsv, line {line}, column {column + 1} ({_COLUMNS[column]}): {what}")


_FORMATS = parse_table(
    _source()
)  # at import: a malformed row fails in every command, not in one that needs it
