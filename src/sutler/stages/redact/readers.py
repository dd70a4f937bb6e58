"""Readers: from a triggered line to candidates, each the span of a value with the name it stands under.

What a candidate is worth is decided in `verdict`, not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal, NamedTuple

from sutler.stages.redact import grammar

LONGEST = 8192
"""No value on one line is longer than this."""

How = Literal["quoted", "bare", "call", "compare", "header", "url", "flag", "sql", "element", "vendor"]


class Candidate(NamedTuple):
    """A value at [start, end) in the text, the name it stands under, and the construct that says so."""

    start: int
    end: int
    name: str
    how: How


class Stretch(NamedTuple):
    """Where to read: heads in [start, limit), values up to `end`, the end of the line. `low` is `text` in lower case."""

    text: str
    low: str
    start: int
    limit: int
    end: int


_LEFT = re.compile(r"[\w.$@-]{0,48}\Z", re.ASCII)
_BARE_VALUE = re.compile(r"[^\s\"'`<>|\\]{1,4096}")
_HEADER_VALUE = re.compile(r"[\w+/=.~%:-]{6,4096}", re.ASCII)
_URL_VALUE = re.compile(r"[^\s@/\"'<>]{1,200}(?=@)")
_FLAG_VALUE = re.compile(r"[^\s\"'`<>|&;-][^\s\"'`<>]{2,400}")
_ELEMENT_VALUE = re.compile(r"[^<>\n]{1,2000}(?=</)")
_PAIR_REST = re.compile(
    r"[\"']?,?\s{0,40}[\"']?(?:value|val|default|defaultvalue|content)[\"']?[ ]?[:=]>?[ ]?(?P<open>[\"']?)",
    re.IGNORECASE,
)
_COMMANDS = re.compile(
    r"(?<![-\w])(?:curl|wget|https?(?= )|mysql\w*|mariadb\w*|sshpass|docker|podman|redis-cli|mongo\w*|psql|htpasswd|lftp|ftp|smbclient|svn|ldap\w+"
    r"|isql|sqlcmd|bcp|helm|az|cf|bosh|credhub|nats\w*|mosquitto\w*|keytool|zip|7z|unzip|snmp\w+|ipmitool|login)\b",
    re.ASCII,
)
_LOGIN_FIRST = ("docker", "podman", "az", "helm", "cf", "nats", "curl", "wget", "http", "https", "credhub")
_VENDOR_VALUE = re.compile(r"[\w=+/.~:-]{10,400}", re.ASCII)
_STRING_BODY = {
    '"': re.compile(r'(?:[^"\\\n]|\\[^\n]){0,8192}+'),
    "'": re.compile(r"(?:[^'\\\n]|\\[^\n]){0,8192}+"),
    "`": re.compile(r"[^`\n]{0,8192}+"),
}


@cache
def head(trigger: int) -> re.Pattern[str]:
    return re.compile(grammar.TRIGGERS[trigger], re.ASCII)


def read(trigger: int, at: Stretch) -> Iterator[Candidate]:
    """The candidates of one construct on this stretch."""
    return _READERS[trigger](at)


def closing(text: str, opener: str, at: int, end: int) -> int:
    """Where a string opened by `opener` ends on this line, or -1."""
    end = min(end, at + LONGEST)
    if len(opener) > 1 or text.find(opener, at, end) < 0:
        return text.find(opener, at, end)
    body = _STRING_BODY[opener].match(text, at, end)
    stop = body.end() if body else end
    return stop if stop < end and text[stop] == opener else -1


def _name(at: Stretch, found: re.Match[str]) -> str:
    """The whole name, with the part before the word that triggered, in its own case."""
    left = _LEFT.search(at.text, max(0, found.start("name") - 48), found.start("name"))
    return (left.group() if left else "") + at.text[found.start("name") : found.end("name")]


def _read_quoted(at: Stretch) -> Iterator[Candidate]:
    here = at.start
    while found := head(grammar.QUOTED).search(at.low, here, at.limit):
        name, separator, opener, here = _name(at, found), found["sep"], found["open"], found.end()
        if separator == "," and (not found["close"].strip("])*}") or found["name"] == "pass"):
            continue
        how: How = (
            "compare" if separator in ("==", "===", "!=", "!==") else "call" if separator in ("(", ",") else "quoted"
        )
        more = re.compile(r",[ ]?" + re.escape(opener)) if found["wrap"].endswith(("[", "{")) else None
        while (stop := closing(at.text, opener, here, at.end)) >= 0:
            yield Candidate(here, stop, name, how)
            here = stop + len(opener)
            following = more.match(at.text, here, at.end) if more else None
            if following is None:
                break
            here = following.end()


def _read_bare(at: Stretch) -> Iterator[Candidate]:
    here = at.start
    while found := head(grammar.BARE).search(at.low, here, at.limit):
        here = found.end()
        value = _BARE_VALUE.match(at.text, here, at.end)
        if value is None:
            continue
        raw = value.group()
        raw = raw[: raw.find("&")] if raw.find("&") > 0 else raw
        raw = raw.rstrip(",;)}].")
        if raw:
            yield Candidate(here, here + len(raw), _name(at, found), "bare")
            here += len(raw)


def _read_header(at: Stretch) -> Iterator[Candidate]:
    here = at.start
    while found := head(grammar.HEADER).search(at.low, here, at.limit):
        value = _HEADER_VALUE.match(at.text, found.end(), at.end)
        before = at.text[found.start() - 1] if found.start() else " "
        here = value.end() if value else found.end()
        if value and not (before.isalnum() or before == "_"):
            yield Candidate(value.start(), value.end(), found["name"], "header")
        elif value:
            here = found.end()


def _read_url(at: Stretch) -> Iterator[Candidate]:
    for found in head(grammar.URL).finditer(at.low, at.start, at.limit):
        value = _URL_VALUE.match(at.text, found.end(), at.end)
        if value:
            yield Candidate(value.start(), value.end(), found["user"], "url")


def _read_dsn(at: Stretch) -> Iterator[Candidate]:
    for found in head(grammar.DSN).finditer(at.low, at.start, at.limit):
        user = _LEFT.search(at.text, max(at.start, found.start() - 48), found.start())
        yield Candidate(found.start("value"), found.end("value"), user.group() if user else "", "url")


def _read_flag(at: Stretch) -> Iterator[Candidate]:
    for found in head(grammar.FLAG).finditer(at.low, max(0, at.start - 1), at.limit):
        value = _FLAG_VALUE.match(at.text, found.end(), at.end)
        if value is None:
            continue
        name, start = found["name"], value.start()
        if len(name) <= 2 or name == "user":
            command = _COMMANDS.search(at.low, at.start, found.start())
            if (
                command
                and name == "p"
                and command.group().startswith(("mysql", "maria"))
                and at.low[found.end() - 1] == " "
            ):
                continue  # `mysql -p word`: the word is a database, the password is asked for
            if not command or (
                name == "p" and command.group() in _LOGIN_FIRST and " login" not in at.low[at.start : found.start()]
            ):
                continue
            colon = at.text.find(":", start, value.end())
            if name in ("u", "user"):
                if colon < 0:
                    continue
                start = colon + 1
            name = "password"
        yield Candidate(start, value.end(), name, "flag")


def _read_sql(at: Stretch) -> Iterator[Candidate]:
    for found in head(grammar.SQL).finditer(at.low, at.start, at.limit):
        stop = closing(at.text, found["open"], found.end(), at.end)
        if stop > 0:
            yield Candidate(found.end(), stop, "password", "sql")


def _read_element(at: Stretch) -> Iterator[Candidate]:
    for found in head(grammar.ELEMENT).finditer(at.low, at.start, at.limit):
        value = _ELEMENT_VALUE.match(at.text, found.end(), at.end)
        if value:
            yield Candidate(value.start(), value.end(), _name(at, found), "element")


def _read_pair(at: Stretch) -> Iterator[Candidate]:
    """`name: X` and `value: Y` side by side or on the next line, as in JSON, YAML and XML lists of settings."""
    for found in head(grammar.PAIR).finditer(at.low, at.start, at.limit):
        rest = _PAIR_REST.match(at.text, found.end())
        if rest is None:
            continue
        end = at.text.find("\n", rest.end())
        end = len(at.text) if end < 0 else end
        if rest["open"]:
            stop = closing(at.text, rest["open"], rest.end(), end)
            if stop > 0:
                yield Candidate(rest.end(), stop, _name(at, found), "quoted")
        elif value := _BARE_VALUE.match(at.text, rest.end(), end):
            yield Candidate(value.start(), value.end(), _name(at, found), "bare")


def _read_spaced(at: Stretch) -> Iterator[Candidate]:
    """`ENV NAME value`, `set NAME value`: a name in capitals and a value with only a blank between them."""
    for found in head(grammar.SPACED).finditer(at.low, at.start, at.limit):
        value = _FLAG_VALUE.match(at.text, found.end(), at.end)
        if value and at.text[found.start("name") : found.end("name")].isupper():
            yield Candidate(value.start(), value.end(), _name(at, found), "flag")


def _read_vendor(at: Stretch) -> Iterator[Candidate]:
    """A service's name, something that assigns, and a generated value."""
    here = at.start
    while found := head(grammar.VENDOR).search(at.low, here, at.limit):
        value = _VENDOR_VALUE.match(at.text, found.end(), at.end)
        here = value.end() if value else found.end()
        if value:
            yield Candidate(value.start(), value.end(), _name(at, found), "vendor")


_READERS: tuple[Callable[[Stretch], Iterator[Candidate]], ...] = (
    _read_quoted,
    _read_bare,
    _read_header,
    _read_url,
    _read_dsn,
    _read_flag,
    _read_sql,
    _read_element,
    _read_pair,
    _read_spaced,
    _read_vendor,
)
