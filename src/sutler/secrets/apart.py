"""Readers for a name and a value that stand apart: in a nested object, side by side in a list of
settings, in the columns of a table.

A plain word is never a secret here: the further a name is from its value, the stronger the value
itself must be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from sutler.secrets import grammar, name_kinds, verdict
from sutler.secrets.readers import BARE_VALUE, Candidate, How, Reader, Stretch, closing, heads

_BACK, _AHEAD = 600, 300
"""Characters around a value in which its name is looked for."""
_ROWS = 5000
_SIBLING = re.compile(
    r"(?<![\w-])(?:name|key|id|variable|env|field|param(?:eter)?)(?:_?name|key)?[\"']?[ \t]*(?:[:=]>?|,)[ \t]*[\"']?(?P<name>[\w.-]{2,80})",
    re.IGNORECASE,
)
_PARENT = re.compile(r"(?P<name>[\w.-]{2,80})[\"'\])]{0,3}[ \t]*(?::|=|=>)?\s*\Z")
_ELEMENT_NAME = re.compile(r"<([\w:.-]{2,80})")
_OF_A_FORM = re.compile(r"csrf|xsrf|authenticity|verification", re.IGNORECASE)
_OPTION = re.compile(r"\(\s*[\"']-{0,2}(?P<name>[\w.-]{2,80})[\"']\s*,[^()]*\Z")
_YAML_PARENT = re.compile(r"[\s-]*[\"']?(?P<name>[\w.-]{2,80})[\"']?:[ \t]*\Z")
_SECURE_FLAG = re.compile(r"-\w{3,12}[ ]{1,4}")
_MACHINE = re.compile(
    r"(?:[_/]password|\bconnect[ \t]+\S+)[ \t]+\Z|(?:\bmachine[ \t]+\S+|^[ \t]*default)\s+(?:login[ \t]+\S+\s+)?(?:account[ \t]+\S+\s+)?\Z",
    re.MULTILINE,
)
_JWK_MEMBER = re.compile(
    r"(?<![\w-])(?:d|p|q|dp|dq|qi|k)[\"']{0,2}[ \t]*[:=][ \t]*[\"']{0,2}(?P<value>[\w+/=-]{16,2000})(?=[\"',\s])"
)
_SEPARATOR_ROW = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*(?:\n|\Z)")
_SQL_ITEM = re.compile(
    r"\s*(?P<open>')?(?P<value>(?(open)(?:[^'\\]|\\.|'')*|[^,()'\s]*))(?(open)')\s*(?P<end>[,)])"
)
_ELEMENT_VALUE = re.compile(r"[^<>\n]{1,2000}(?:\]\]>)?(?=</)")
_PAIR_REST = re.compile(
    r"[\"']?,?\s{0,40}[\"']?(?:\w{0,20}?value|val|default|content)[\"']?[ ]?[:=]>?[ ]?(?P<open>[\"']?)",
    re.IGNORECASE,
)
_PAIR_ELEMENT = re.compile(
    r"(?:[\"'][^<>\n]{0,60}>\s{0,40}(?:<value>)?|(?P<row>:?[ ]?</[\w:-]{1,40}>:?\s{0,40})(?:<[\w:-]{1,40}>)?)"
    r"[ ]?(?P<value>[^<>\s]{1,400})(?(row)(?=[ ]?</|\s)|(?=[ ]?</))",
    re.IGNORECASE,
)
TABLES = (".csv", ".tsv")
"""Endings of files that `columns` reads."""


def read_element(at: Stretch) -> Iterator[Candidate]:
    for match in heads(grammar.ELEMENT, at, at.start):
        value = _ELEMENT_VALUE.match(at.text, match.end(), at.end)
        if value:
            stop = value.end() - 3 * value.group().endswith("]]>")
            yield Candidate(value.start(), stop, at.name(match), "element")


def read_pair(at: Stretch) -> Iterator[Candidate]:
    """Read `name: X` and `value: Y` side by side or on the next line, as in JSON, YAML and XML
    lists of settings."""
    for match in heads(grammar.PAIR, at, at.start):
        rest = _PAIR_REST.match(at.text, match.end())
        if rest is None:
            inside = _PAIR_ELEMENT.match(at.text, match.end())
            if inside and not inside["value"].startswith("{"):
                how: How = "apart" if inside["row"] and match[0].startswith("<") else "element"
                yield Candidate(*inside.span("value"), at.name(match), how)
            continue
        end = at.text.find("\n", rest.end())
        end = len(at.text) if end < 0 else end
        if rest["open"]:
            stop = closing(at.text, rest["open"], rest.end(), end)
            if stop > 0:
                yield Candidate(rest.end(), stop, at.name(match), "quoted")
        elif value := BARE_VALUE.match(at.text, rest.end(), end):
            yield Candidate(value.start(), value.end(), at.name(match), "bare")


def read_value(at: Stretch) -> Iterator[Candidate]:
    """Read `value: V`, `default = "V"`: the name is that of the object around it, or of a
    sibling."""
    for match in heads(grammar.VALUE, at, at.start):
        start, opener = match.end(), match["open"]
        stop = closing(at.text, opener, start, at.end) if opener else -1
        if not opener and (bare := BARE_VALUE.match(at.text, start, at.end)):
            stop = start + len(bare.group().rstrip(",;)}]"))
        value = at.text[start:stop]
        if len(value) < _SHORTEST or not _MIXED.fullmatch(value):
            continue
        if verdict.judge(value, "password", "apart", False) < 0.5:
            continue
        name = next((part for part in _names(at.text, match.start(), stop) if _tells(part)), "")
        if name:
            yield Candidate(start, stop, name, "apart" if opener else "bare")


_SHORTEST = 6
_MIXED = re.compile(r"(?=[^\s\"'<>]*[0-9])(?=[^\s\"'<>]*[A-Za-z])[^\s\"'<>]+")


def _tells(name: str) -> bool:
    return name_kinds.kind_of(name) in ("password", "secret")


def _names(text: str, start: int, stop: int) -> Iterator[str]:
    """Yield the names of the value in [start, stop): siblings in the same object, then the object
    itself."""
    before, after = text[max(0, start - _BACK) : start], text[stop : stop + _AHEAD]
    if before.rfind("<") > before.rfind(">"):
        tag = before[before.rfind("<") :] + "\n" + after.partition(">")[0]
        names = [match["name"] for match in _SIBLING.finditer(tag)]
        names += _ELEMENT_NAME.findall(tag)
        yield from (name for name in names if not _OF_A_FORM.search(name))
        return
    opening = _unclosed(before)
    if opening >= 0:
        inside = before[opening + 1 :] + "\n" + re.split(r"[{}]", after, maxsplit=1)[0]
        yield from (match["name"] for match in _SIBLING.finditer(inside))
        if parent := _PARENT.search(before[:opening]):
            yield parent["name"]
        return
    if option := _OPTION.search(before):
        yield option["name"]
    yield from _yaml_names(before, after)


def _unclosed(before: str) -> int:
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        if before[at] == "}":
            depth += 1
        elif before[at] == "{":
            if not depth:
                return at
            depth -= 1
    return -1


def _yaml_names(before: str, after: str) -> Iterator[str]:
    lines = before.split("\n")
    indent = _indent(lines[-1] + "x")
    first = lines[-1].lstrip().startswith("-")
    for line in reversed(lines[:-1]) if not first else ():
        if not line.strip() or _indent(line) > indent:
            continue
        if _indent(line) < indent:
            if parent := _YAML_PARENT.match(line):
                yield parent["name"]
            break
        yield from (match["name"] for match in _SIBLING.finditer(line))
        if line.lstrip().startswith("-"):
            break
    for line in after.split("\n")[1:4]:
        if _indent(line) != indent or line.lstrip().startswith("-"):
            break
        yield from (match["name"] for match in _SIBLING.finditer(line))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t-"))


def read_secure(at: Stretch) -> Iterator[Candidate]:
    """Read PowerShell's `ConvertTo-SecureString`, whose argument is a password in plain text."""
    for match in heads(grammar.SECURE, at, at.start):
        here = match.end()
        while flag := _SECURE_FLAG.match(at.text, here, at.end):
            here = flag.end()
        opener = at.text[here : here + 1]
        if opener in ("'", '"') and opener:
            stop = closing(at.text, opener, here + 1, at.end)
            if stop > 0:
                yield Candidate(here + 1, stop, "password", "quoted")
        elif opener and opener not in "$(@-" and (bare := BARE_VALUE.match(at.text, here, at.end)):
            yield Candidate(here, bare.end(), "password", "flag")


def read_login(at: Stretch) -> Iterator[Candidate]:
    """Read a line of netrc in any file: `machine host login name password V`, also over several
    lines; and directives and commands whose argument is a password: `requirepass V`."""
    for match in heads(grammar.LOGIN, at, at.start):
        start = match.end()
        before = at.text[max(0, start - _AHEAD) : match.start("word")]
        bare = BARE_VALUE.match(at.text, start, at.end)
        if bare and (match["word"] != "password" or _MACHINE.search(before)):
            yield Candidate(start, start + len(bare.group().rstrip(";,")), "password", "flag")


def read_jwk(at: Stretch) -> Iterator[Candidate]:
    """Read the private members of a JSON web key."""
    for match in heads(grammar.JWK, at, at.start):
        here = match.start()
        before = at.text[max(0, here - 8 * _BACK) : here]
        start = here - len(before) + max(0, _unclosed(before))
        stop = at.text.find("}", here, here + 8 * _BACK)
        for member in _JWK_MEMBER.finditer(at.text, start, stop if stop > 0 else here + _BACK):
            yield Candidate(*member.span("value"), "private_key", "quoted")


def read_table(at: Stretch) -> Iterator[Candidate]:
    """Read Markdown tables: a column below such a name, or a name with its value in the next
    cell."""
    line = at.text[at.start : at.end]
    if not line.lstrip().startswith("|") and not _SEPARATOR_ROW.match(at.text, at.end + 1):
        return
    cells = _cells(at.text, at.start, at.end)
    if _SEPARATOR_ROW.match(at.text, at.end + 1):
        for place, (start, stop) in enumerate(cells):
            if _tells(name := at.text[start:stop]):
                yield from _column(at.text, at.end + 1, place, name)
        return
    for (start, stop), value in pairwise(cells):
        if _tells(name := at.text[start:stop]) and " " not in name:
            yield Candidate(*value, name, "apart")


def _column(text: str, at: int, place: int, name: str) -> Iterator[Candidate]:
    at = text.find("\n", at) + 1
    for _ in range(_ROWS):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        if not at or "|" not in text[at:stop]:
            return
        cells = _cells(text, at, stop)
        if place < len(cells):
            yield Candidate(*cells[place], name, "apart")
        at = stop + 1
        if at > len(text):
            return


def _cells(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return the spans of the cells of a row, without blanks, stars and backticks around them."""
    spans = []
    at = start
    for cell in text[start:stop].split("|"):
        inner = cell.strip(" \t\r`*")
        left = at + (cell.find(inner) if inner else 0)
        spans.append((left, left + len(inner)))
        at += len(cell) + 1
    return spans[1:] if spans and spans[0][0] == spans[0][1] else spans


_HASH = re.compile(r"_?hash\Z", re.IGNORECASE)


def read_insert(at: Stretch) -> Iterator[Candidate]:
    """Read SQL: the values of a password column in every row of an INSERT."""
    for match in heads(grammar.INSERT, at, at.start):
        columns = [part.strip(" \t\"'`[]") for part in match["columns"].split(",")]
        wanted = {n: name for n, name in enumerate(columns) if _tells(_HASH.sub("", name))}
        values = re.compile(r"\s{0,40}values\s{0,40}", re.IGNORECASE).match(at.text, match.end())
        if wanted and values:
            yield from _tuples(at.text, values.end(), wanted)


def _tuples(text: str, at: int, wanted: dict[int, str]) -> Iterator[Candidate]:
    row = re.compile(r"\s{0,40},?\s{0,40}\(")
    for _ in range(_ROWS):
        begin = row.match(text, at)
        if begin is None:
            return
        at, place = begin.end(), 0
        while item := _SQL_ITEM.match(text, at):
            if place in wanted and item["open"]:
                yield Candidate(*item.span("value"), wanted[place], "sql")
            at, place = item.end(), place + 1
            if item["end"] == ")":
                break
        else:
            return


def read_call(at: Stretch) -> Iterator[Candidate]:
    """Read a literal key or password as the argument of a call: `createHmac("sha256", V)`,
    `login("admin", V)`."""
    for match in heads(grammar.CALL, at, at.start):
        stop = closing(at.text, match["open"], match.end(), at.end)
        if stop > 0:
            name = "password" if match["login"] else "secret"
            yield Candidate(match.end(), stop, name, "call")


def columns(text: str) -> Iterator[Candidate]:
    """Read CSV: the cells of a password column."""
    head, _, _ = text.partition("\n")
    mark = max(",;\t|", key=head.count)
    names = [name.strip(" \t\r\"'") for name in head.split(mark)]
    wanted = [(place, name) for place, name in enumerate(names) if _tells(name)]
    at = len(head) + 1
    for line in text[at:].split("\n", _ROWS)[:_ROWS] if wanted and len(names) > 1 else ():
        cells = line.split(mark)
        for place, name in wanted if len(cells) == len(names) else ():
            cell = cells[place].strip(" \t\r\"'")
            start = at + sum(len(part) + 1 for part in cells[:place]) + cells[place].find(cell)
            yield Candidate(start, start + len(cell), name, "apart")
        at += len(line) + 1


READERS: tuple[Reader, ...] = (
    read_element,
    read_pair,
    read_value,
    read_secure,
    read_login,
    read_jwk,
    read_table,
    read_insert,
    read_call,
)
"""By the number of the trigger in `grammar`, after those in `readers`."""
