"""Where secrets sit in prose, code and configuration: assignments, headers, URLs, command lines, SQL, markup.

Each construct has a trigger (a necessary condition, searched over the whole file by the engine) and a reader that
takes the triggered line and yields candidates: the span of a value, the name it is given to, and how it is written.
What a candidate is worth is decided in `verdict`, not here. Every repetition is bounded, so every pattern is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from sutler.stages.redact import blocks

How = Literal["quoted", "bare", "call", "compare", "header", "cookie", "url", "flag", "sql", "element", "vendor"]


class Candidate(NamedTuple):
    """A value at [start, end) in the text, the name it stands under, and the construct that says so."""

    start: int
    end: int
    name: str
    how: How


# Names that may hold a secret. Longest alternatives first where one is the beginning of another.
_NAMES = (
    r"pass(?:w(?:or)?ds?|wort|phrase|code|wd)?|pwd|pswd|pass?wrd|contrase(?:n|\xc3\xb1|\xf1)a|senha|psw|passe"
    r"|secrets?|tokens?|api_?-?keys?|keys?|auth(?:orization)?|cred(?:ential)?s?|cookie|session_?-?id|\bsid|jwt|otp|totp|hotp"
    r"|signature|salt|nonce|cipher|nkey|seed|\bpin|\bpw|bearer|webhook|dsn|connection_?string|\bpat|license"
)
_TAIL = r"[\w.-]{0,40}"
_OPEN = r"(?:\\{1,3}[\"']|[\"'`]{1,3}|&quot;|&\#3[49];|&apos;)"
_CLOSE = rf"(?:{_OPEN}|[\])*\x7d]){{0,4}}"
_GAP = r"[ \t]{0,24}"
_TYPE = r"(?::[ ]?[\w<>\[\]?&*.]{1,40}(?:[ ]\|[ ]\w{1,20})?[ \t]{0,8}(?==))?"
_SEP = r"(?::=|=>|->|={1,3}|!={1,2}|:{1,2}|,|\(|\?=|\bis\b|\bas\b)"
_WRAP = r"(?:(?:new )?[\w.:$@]{1,40}[ ]?\(|\[|\{|@|[bBuUrRfFNL]{1,2}(?=[\"'])|[\w.\[\]\"'()]{1,50}[ ]?(?:\|\||\?\?|or|\?:)[ ]|Some\(){0,3}"
_QUOTED = rf"(?:{_NAMES}){_TAIL}{_CLOSE}{_GAP}{_TYPE}{_SEP}{_GAP}{_WRAP}[ ]?{_OPEN}"
_BARE = rf"(?:{_NAMES}){_TAIL}{_CLOSE}{_GAP}(?::=|\?=|=|:)[ \t]{{0,24}}[!-~]"

_SCHEMES = r"(?:bearer|basic|token|apikey|api-key|oauth|ssws|digest|negotiate|ntlm|key|genie(?:key)?|bot)"
_HEADER = rf"(?:\b{_SCHEMES}(?:[ ]|%20|\+|:[ ]?|[\"'],[ ]?[\"']){{1,4}}[\w+/=.~%-]{{6}})"
_URL = r"[a-z0-9+]:(?:\\?/){2}[^\s/@:\"'<>\\|]{0,80}:[^\s@/\"'<>]{1,200}@"
_DSN = r"[\w.-]{1,40}:[^\s@/\"'<>:]{1,80}@(?:tcp|unix|\()"
_FLAG = r"(?:\s|[\"'(`])-{1,2}(?:p|u|user|a|P|w|pw|k|token|secret|pass[\w-]{0,16}|[\w-]{0,24}(?:token|secret|key|password|passwd|pwd))(?:[\"'],)?(?:[ =]{1,2}|(?=[!-~]{4}))[\"']?[!-~]{3}"
_SQL = r"(?:identified[ ]{1,4}(?:with[ ]{1,4}\S{1,40}[ ]{1,4})?by(?:[ ]{1,4}password)?|password(?:[ ]{0,4}=)?|passwd)[ ]{0,4}(?:\(|[ ])[ ]{0,4}[\"'`]|values?[ ]{0,4}\(.{0,200}\bpass"
_ELEMENT = rf"<[\w:.-]{{0,40}}(?:{_NAMES}){_TAIL}(?:[ ][^<>]{{0,80}})?>[ ]?[^<>\s]"
_PAIR = rf"(?:name|key|id|variable|env)[\"']?[ ]?[:=][ ]?[\"']?[\w.-]{{0,60}}(?:{_NAMES})[\w.-]{{0,60}}[\"']?"

TRIGGERS: tuple[str, ...] = tuple(
    trigger.replace("\\#", "#") for trigger in (_QUOTED, _BARE, _HEADER, _URL, _DSN, _FLAG, _SQL, _ELEMENT, _PAIR, blocks.TRIGGER)
)
QUOTED, BARE, HEADER, URL, DSN, FLAG, SQL, ELEMENT, PAIR, BLOCK = range(10)

_FLAGS = re.IGNORECASE | re.ASCII
_LEFT = re.compile(r"[\w.$@-]{0,48}\Z", re.ASCII)
_QUOTED_HEAD = re.compile(
    rf"(?P<name>(?:{_NAMES}){_TAIL})(?P<close>{_CLOSE}){_GAP}{_TYPE}(?P<sep>{_SEP}){_GAP}(?P<wrap>{_WRAP})[ ]?(?P<open>{_OPEN})",
    _FLAGS,
)
_BARE_HEAD = re.compile(rf"(?P<name>(?:{_NAMES}){_TAIL})(?P<close>{_CLOSE}){_GAP}(?::=|\?=|=|:)[ \t]{{0,24}}(?=[!-~])", _FLAGS)
_BARE_VALUE = re.compile(r"[^\s\"'`<>|\\]{1,4096}")
_HEADER_HEAD = re.compile(
    rf"\b(?P<name>{_SCHEMES})(?:[ ]|%20|\+|:[ ]?|[\"'],[ ]?[\"']){{1,4}}(?P<value>[\w+/=.~%:-]{{6,4096}})", _FLAGS
)
_URL_HEAD = re.compile(
    r"(?P<name>[a-z0-9+.-]{1,20}):(?:\\?/){2}(?P<user>[^\s/@:\"'<>\\|]{0,80}):(?P<value>[^\s@/\"'<>]{1,200})@(?P<host>[\w.\[({$%<*-]{0,40})",
    _FLAGS,
)
_DSN_HEAD = re.compile(r"(?P<user>[\w.-]{1,40}):(?P<value>[^\s@/\"'<>:]{1,80})@(?:tcp|unix|\()", _FLAGS)
_FLAG_HEAD = re.compile(
    r"(?:\s|[\"'(`])-{1,2}(?P<name>[\w-]{1,40}?)(?:[\"'],)?(?:[ =]{1,2}|(?<=-p)(?=[!-~]{4}))(?P<open>[\"']?)(?P<value>[^\s\"'`]{3,400})",
    _FLAGS,
)
_SQL_HEAD = re.compile(
    r"(?:identified[ ]{1,4}(?:with[ ]{1,4}\S{1,40}[ ]{1,4})?by(?:[ ]{1,4}password)?|password(?:[ ]{0,4}=)?|passwd)[ ]{0,4}(?:\(|[ ])[ ]{0,4}(?P<open>[\"'`])",
    _FLAGS,
)
_ELEMENT_HEAD = re.compile(
    rf"<(?P<name>[\w:.-]{{0,40}}(?:{_NAMES}){_TAIL})(?:[ ][^<>]{{0,80}})?>[ ]?(?P<value>[^<>\n]{{1,2000}}?)[ ]?</", _FLAGS
)
_PAIR_HEAD = re.compile(
    rf"(?:name|key|id|variable|env)[\"']?[ ]?[:=][ ]?[\"']?(?P<name>[\w.-]{{0,60}}(?:{_NAMES})[\w.-]{{0,60}})[\"']?,?\s{{0,40}}"
    rf"(?:[\"']?(?:value|val|default|defaultvalue|content)[\"']?[ ]?[:=]>?[ ]?)(?P<open>[\"']?)",
    _FLAGS,
)
_SHORT_FLAGS = re.compile(
    r"\b(?:curl|wget|https?|mysql\w*|mariadb\w*|sshpass|docker|podman|redis-cli|mongo\w*|psql|htpasswd|lftp|ftp|smbclient|svn|ldap\w+"
    r"|isql|sqlcmd|bcp|helm|az|cf|bosh|credhub|nats\w*|mosquitto\w*|openssl|keytool|zip|7z|unzip|expect|net|snmp\w+|ipmitool)\b",
    re.ASCII,
)
_ENDS = {
    '"': re.compile(r'(?:[^"\\\n]|\\[^\n]){0,16384}'),
    "'": re.compile(r"(?:[^'\\\n]|\\[^\n]){0,16384}"),
    "`": re.compile(r"[^`\n]{0,16384}"),
}


def read(text: str, trigger: int, start: int, end: int) -> Iterator[Candidate]:
    """The candidates of one construct on the line [start, end)."""
    return _READERS[trigger](text, start, end)


def _whole_name(text: str, start: int, line: int, name: str) -> str:
    left = _LEFT.search(text, max(line, start - 48), start)
    return (left.group() if left else "") + name


def closing(text: str, opener: str, at: int, end: int) -> int:
    """Where a string opened by `opener` ends on this line, or -1."""
    if len(opener) == 1:
        body = _ENDS[opener].match(text, at, end)
        stop = body.end() if body else -1
        return stop if stop >= 0 and text.startswith(opener, stop) and stop < end else -1
    return text.find(opener, at, end)


def _read_quoted(text: str, start: int, end: int) -> Iterator[Candidate]:
    at = start
    while head := _QUOTED_HEAD.search(text, at, end):
        name = _whole_name(text, head.start(), start, head["name"])
        separator, opener, at = head["sep"], head["open"], head.end()
        if separator == "," and not (head["close"].strip("])*}") or head["wrap"]):
            continue
        how: How = "compare" if separator in ("==", "===", "!=", "!==") else "call" if separator in ("(", ",") else "quoted"
        listed = "[" in head["wrap"] or "{" in head["wrap"]
        while True:
            stop = closing(text, opener, at, end)
            if stop < 0:
                break
            yield Candidate(at, stop, name, how)
            at = stop + len(opener)
            following = re.compile(r",[ ]?" + re.escape(opener)).match(text, at, end) if listed else None
            if following is None:
                break
            at = following.end()


def _read_bare(text: str, start: int, end: int) -> Iterator[Candidate]:
    at = start
    while head := _BARE_HEAD.search(text, at, end):
        name = _whole_name(text, head.start(), start, head["name"])
        value = _BARE_VALUE.match(text, head.end(), end)
        at = head.end()
        if value is None:
            continue
        stop = value.end()
        while stop > at and text[stop - 1] in ",;)}].":
            stop -= 1
        amp = text.find("&", at, stop)
        stop = amp if amp > 0 else stop
        if stop > at:
            yield Candidate(at, stop, name, "bare")
        at = max(at, stop)


def _read_header(text: str, start: int, end: int) -> Iterator[Candidate]:
    for head in _HEADER_HEAD.finditer(text, start, end):
        yield Candidate(head.start("value"), head.end("value"), head["name"], "header")


def _read_url(text: str, start: int, end: int) -> Iterator[Candidate]:
    for head in _URL_HEAD.finditer(text, start, end):
        if not (head["user"] == "" and head["host"] == ""):
            yield Candidate(head.start("value"), head.end("value"), head["user"], "url")


def _read_dsn(text: str, start: int, end: int) -> Iterator[Candidate]:
    for head in _DSN_HEAD.finditer(text, start, end):
        yield Candidate(head.start("value"), head.end("value"), head["user"], "url")


def _read_flag(text: str, start: int, end: int) -> Iterator[Candidate]:
    for head in _FLAG_HEAD.finditer(text, max(0, start - 1), end):
        name, at, stop = head["name"], head.start("value"), head.end("value")
        if len(name) <= 2 or name.lower() == "user":
            if not _SHORT_FLAGS.search(text, start, head.start()):
                continue
            if name in ("u", "user"):
                colon = text.find(":", at, stop)
                if colon < 0:
                    continue
                at, name = colon + 1, "password"
            elif name in ("p", "P", "a", "w", "pw"):
                name = "password"
            else:
                continue
        yield Candidate(at, stop, name, "flag")


def _read_sql(text: str, start: int, end: int) -> Iterator[Candidate]:
    for head in _SQL_HEAD.finditer(text, start, end):
        stop = closing(text, head["open"], head.end(), end)
        if stop > 0:
            yield Candidate(head.end(), stop, "password", "sql")


def _read_element(text: str, start: int, end: int) -> Iterator[Candidate]:
    for head in _ELEMENT_HEAD.finditer(text, start, end):
        yield Candidate(head.start("value"), head.end("value"), head["name"], "element")


def _read_pair(text: str, start: int, end: int) -> Iterator[Candidate]:
    head = _PAIR_HEAD.search(text, start, min(len(text), end + 400))
    if head is None or head.start() >= end:
        return
    limit = text.find("\n", head.end())
    limit = len(text) if limit < 0 else limit
    if head["open"]:
        stop = closing(text, head["open"], head.end(), limit)
        if stop > 0:
            yield Candidate(head.end(), stop, head["name"], "quoted")
    else:
        value = _BARE_VALUE.match(text, head.end(), limit)
        if value:
            yield Candidate(value.start(), value.end(), head["name"], "bare")


_READERS = (
    _read_quoted,
    _read_bare,
    _read_header,
    _read_url,
    _read_dsn,
    _read_flag,
    _read_sql,
    _read_element,
    _read_pair,
)
