"""Readers: from a triggered line to candidates, each the span of a value with its name.

`verdict` decides the confidence of a candidate."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from sutler.secrets import grammar, name_kinds

LONGEST = 8192
"""Limit of the length of a value on one line."""

How = Literal[
    "quoted",
    "bare",
    "call",
    "compare",
    "header",
    "url",
    "flag",
    "sql",
    "element",
    "vendor",
    "apart",
    "listed",
    "prose",
]


class Candidate(NamedTuple):
    """A value at [start, end) in the text, its name, and the construct that connects them."""

    start: int
    end: int
    name: str
    how: How


class Stretch(NamedTuple):
    """A range to read: heads in [start, limit), values up to `end`, the end of the line. `low` is
    the text in lower case."""

    text: str
    low: str
    start: int
    limit: int
    end: int

    def name(self, match: re.Match[str]) -> str:
        """Return the whole name, with the part before the word that triggered, in its own case."""
        start = match.start("name")
        return _left(self.text, start) + self.text[start : match.end("name")]


_NAME_LETTERS = string.ascii_letters + string.digits + "_.$@-"
BARE_VALUE = re.compile(r"[^\s\"'`<>|\\]{1,4096}")
_NEXT_PAIR = re.compile(r";[A-Za-z_ ]{1,40}(?:\[\w{1,40}\])?=|;\Z")  # in a connection string
_MORE_WORDS = re.compile(r"[.,;:!?)]?[ \t]{1,8}[A-Za-z.$(\"']")
_HEADER_VALUE = re.compile(r"[\w+/=.~%:-]{6,4096}", re.ASCII)
_URL_VALUE = re.compile(r"[^\s@/\"'<>]{1,200}(?=@)")
_FLAG_VALUE = re.compile(r"[^\s\"'`<>|&;-][^\s\"'`<>]{2,400}")
_DIGIT = re.compile("[0-9]")
_SPACED_VALUE = re.compile(r"[^\s\"'`<>]{3,400}")
_COMMANDS = re.compile(
    r"(?<![-\w.])(?:curl|wget|https?(?= )|mysql\w*|mariadb\w*|sshpass|docker|podman|redis-cli|mongo\w*|psql|htpasswd|lftp|ftp|smbclient|svn|twine|useradd|ldap\w+"
    r"|isql|sqlcmd|bcp|helm|az|cf|bosh|credhub|nats\w*|mosquitto\w*|keytool|zip|7z|unzip|snmp\w+|ipmitool|login)\b(?![(.=])",
    re.ASCII,
)
_SENTENCE_END = re.compile(r"[a-z]+[.,:]")
_USER = re.compile(r"[^\s:%,]{0,80}[:%,]")
_REST_OF_FLAGS = ("rint", "rune", "erm", "ath", "ass")  # of `find`, and of longer names
_LOGIN_FIRST = (
    "docker",
    "podman",
    "az",
    "helm",
    "cf",
    "nats",
    "curl",
    "wget",
    "http",
    "https",
    "credhub",
)
_VENDOR_VALUE = re.compile(r"[\w=+/.~:-]{10,400}", re.ASCII)
_STRING_BODY = {
    '"': re.compile(r'(?:[^"\\\n]|\\[^\n]){0,8192}+'),
    "'": re.compile(r"(?:[^'\\\n]|\\[^\n]){0,8192}+"),
    "`": re.compile(r"[^`\n]{0,8192}+"),
}


def closing(text: str, opener: str, at: int, end: int) -> int:
    """Return the end of a string opened by `opener` on this line, or -1."""
    end = min(end, at + LONGEST)
    if len(opener) > 1 or text.find(opener, at, end) < 0:
        return text.find(opener, at, end)
    body = _STRING_BODY[opener].match(text, at, end)
    stop = body.end() if body else end
    return stop if stop < end and text[stop] == opener else -1


def _left(text: str, end: int, start: int = 0) -> str:
    """Return the part of a name before `end`."""
    before = text[max(start, end - 48) : end]
    return before[len(before.rstrip(_NAME_LETTERS)) :]


def _search(trigger: int, at: Stretch, here: int) -> re.Match[str] | None:
    return grammar.head(trigger).search(at.low, here, at.limit)


def heads(trigger: int, at: Stretch, start: int) -> Iterator[re.Match[str]]:
    return grammar.head(trigger).finditer(at.low, start, at.limit)


def _read_quoted(at: Stretch) -> Iterator[Candidate]:
    here = at.start
    while match := _search(grammar.QUOTED, at, here):
        name, separator, opener, here = (
            at.name(match),
            match["sep"],
            match["open"],
            match.end(),
        )
        if separator in _WORDY and name.lower() in ("pass", "key", "keys") and name != "PASS":
            continue  # "arguments to pass to `run`"
        apart = separator == "," and not match["close"].strip("])*}")
        if apart and not _is_argument(at, match):
            continue
        empty = len(opener) == 2 and opener[0] == opener[1]
        if (empty or not separator) and at.text[here : here + 1] in _AFTER_STRING:
            continue  # the quote ends a string: `"no such token ", name`, `password = "";`
        if separator == ":" and _is_choice(at, match):
            continue
        if match["wrap"].endswith("fingerprint("):
            continue  # `key = KeyFromFingerprint("…")`
        if separator == "::" and match["wrap"] and not match["wrap"].startswith(("new", "from")):
            here = match.end("sep")  # `key::format_id("…")`
            continue
        how = "apart" if apart else _how(separator)
        if (how == "call" and not name_kinds.is_setter(name)) or name_kinds.kind_of(name) == "none":
            continue
        more = (
            re.compile(r",[ ]?" + re.escape(opener)) if match["wrap"].endswith(("[", "{")) else None
        )
        while (stop := closing(at.text, opener, here, at.end)) >= 0:
            after = stop + len(opener)
            if not _is_key(at.text, separator + match["wrap"], after, at.end):
                yield Candidate(here, stop, name, _in_list(at, how, match["wrap"], after))
            here = after
            following = more.match(at.text, here, at.end) if more else None
            if following is None:
                break
            here = following.end()
        # A value can be a name itself: `getenv("PASSWORD", "…")`, `"type": "password", "value": …`
        here = match.end()


_AFTER_STRING = (*",;)+]}&|: ", "")
_SPOKEN = ("", "is", "was", "is:", "was:", "with", "with:")
_WORDY = (*_SPOKEN, "to", ",")
_GOES_ON = re.compile(r"[ \t]?,[ \t]?[\w\"'`$\[{(-]")
_COLON = re.compile(r"[ \t]?:(?!:)")


def _is_argument(at: Stretch, head: re.Match[str]) -> bool:
    """Return whether a name without quotes is an argument before its value: `(DB_PASSWORD, "…")`,
    `{password, "…"}`."""
    start = head.start("name")
    left = _left(at.text, start)
    return at.text[start - len(left) - 1 : start - len(left)] in ("(", "{", ":") or (
        at.text[start : head.end("name")].isupper() and left.upper() == left
    )


def _is_choice(at: Stretch, head: re.Match[str]) -> bool:
    """Return whether the name is the first of two strings: `bad ? "password" : "recovery_code"`."""
    before = at.text[at.start : head.start("name")].rstrip(_NAME_LETTERS).rstrip("\"'` \t")
    return before.endswith("?")


def _how(separator: str) -> How:
    if separator in ("==", "===", "!=", "!=="):
        return "compare"
    if separator in ("(", ",", "or", "||", "{") or separator.endswith("("):
        return "call"
    return "apart" if separator in _SPOKEN else "quoted"


def _in_list(at: Stretch, how: How, wrap: str, after: int) -> How:
    """Return `listed` for a plain word that is only a value's name or kind: others follow in a call
    or a list, or it is looked up: `set_password("service", user, …)`, `password: ["required", …]`,
    `pass = require("pass")`."""
    if how not in ("quoted", "call"):
        return how
    in_call = how == "call" or "(" in wrap
    listed = wrap.endswith("[") or (in_call and _GOES_ON.match(at.text, after, at.end))
    return "listed" if listed or (wrap and _LOOKUP.search(wrap)) else how


_LOOKUP = re.compile(
    r"(?<![\w])(?:require|import|getenv|get|env|table|locator|find|id|css|xpath|query\w*|gettext|i18n|t|_)[ ]?\(\Z",
    re.IGNORECASE,
)


def _is_key(text: str, wrap: str, after: int, end: int) -> bool:
    """Return whether a string behind `{` is the first key of an object and not a value."""
    return wrap.endswith("{") and _COLON.match(text, after, end) is not None


def _read_bare(at: Stretch) -> Iterator[Candidate]:
    here = at.start
    while match := _search(grammar.BARE, at, here):
        here = match.end()
        if yaml := _YAML.match(at.text, here):
            yield Candidate(*yaml.span("value"), at.name(match), "bare")
            continue
        value = BARE_VALUE.match(at.text, here, at.end)
        if value is None:
            continue
        if match["close"] == "}" and match["name"] == "pwd":  # ${PWD}: the working directory
            continue
        raw = value.group()
        if raw[0] == ":" == at.text[here - 1] or raw[0] == "&":  # `PKey::RSA`, `token=&page=2`
            continue
        raw = raw[: raw.find("&")] if raw.find("&") > 0 else raw
        raw = raw.partition(",")[0] if _MEMBERS.match(raw) else raw
        if following := _NEXT_PAIR.search(raw):
            raw = raw[: following.start()]
        raw = raw.rstrip(",;)}].")
        if _COMMAND.fullmatch(raw) or _ASSIGNED.match(at.text, here + len(raw), at.end):
            continue
        if raw:
            prose = match[0].endswith(" ") and match[0][-4:-1] in (" is", " to")
            how: How = "prose" if prose or _is_prose(at, match, here + len(raw)) else "bare"
            yield Candidate(here, here + len(raw), at.name(match), how)
            # `${NAME:value}` has a default inside, `Cookie: a=b;token=c` another name
            here += 0 if "=" in raw else 2 if raw.startswith("${") else len(raw)


def _is_prose(at: Stretch, head: re.Match[str], stop: int) -> bool:
    """Return whether words follow the value, or `pass:` ends a phrase: then a plain word is no
    value."""
    if not head[0].endswith("=") and _MORE_WORDS.match(at.text, stop, at.end):
        return True
    before = at.text[max(0, head.start() - 2) : head.start()]
    if before[-1:] == "$":  # `test "$pass" = link`
        return True
    if head["name"] not in ("pass", "pw") or ":" not in head[0]:
        return False
    return head[0].endswith(":") or (before[-1:] == " " and before[:1].isalpha())


_MEMBERS = re.compile(r"\w{1,40},\w{1,40}:")  # of a literal object: `{password:1,hidden:2}`
_COMMAND = re.compile(r"(?:[A-Z][a-z]+)+-[A-Z][A-Za-z]+")  # of PowerShell: `$password = Get-Secret`
_ASSIGNED = re.compile(r"[ ]=[ ]")  # what stands before is a type: `let token_id: Base64Data = …`
_YAML = re.compile(
    r"(?:[|>][-+]?[ ]*\n[ ]{1,24}|(?:&\w{1,40}|!!\w{1,20})[ ]+[\"']?)(?P<value>[^\s\"']{3,400})[\"']?[ ]*$",
    re.MULTILINE,
)
_BEFORE_KEY = 40


def _read_header(at: Stretch) -> Iterator[Candidate]:
    here = at.start
    while match := _search(grammar.HEADER, at, here):
        start, here = match.start(), match.end()
        value = _HEADER_VALUE.match(at.text, here, at.end)
        before = at.text[start - 1] if start else " "
        if match["name"] == "key" and "auth" not in at.low[: match.start()][-_BEFORE_KEY:]:
            continue  # `key: linux-cache-v2`
        if value and not (before.isalnum() or before == "_"):
            yield Candidate(value.start(), value.end(), match["name"], "header")
            here = value.end()


def _read_url(at: Stretch) -> Iterator[Candidate]:
    for match in heads(grammar.URL, at, at.start):
        value = _URL_VALUE.match(at.text, match.end(), at.end)
        if value:
            yield Candidate(value.start(), value.end(), match["user"], "url")


def _read_dsn(at: Stretch) -> Iterator[Candidate]:
    for match in heads(grammar.DSN, at, at.start):
        start, stop = match.span("value")
        user = _left(at.text, match.start(), at.start)
        if user != at.text[start:stop]:
            yield Candidate(start, stop, user, "url")


def _read_flag(at: Stretch) -> Iterator[Candidate]:
    for match in heads(grammar.FLAG, at, max(0, at.start - 1)):
        value = _FLAG_VALUE.match(at.text, match.end(), at.end)
        if value is None or _SENTENCE_END.fullmatch(value.group()):
            continue
        name, start = match["name"], value.start()
        if at.text.startswith("pass:", start):  # openssl's way to give a password
            name, start = "password", start + len("pass:")
        if len(name) <= 2 or name == "user":
            begin = at.start
            command = _COMMANDS.search(at.low, begin, match.start())
            if (
                command
                and name == "p"
                and command.group().startswith(("mysql", "maria"))
                and at.low[match.end() - 1] == " "
            ):
                continue  # `mysql -p word`: the word is a database, the password is asked for
            attached = name == "p" and at.low[match.end() - 1] == "p"
            if attached and value.group().startswith(_REST_OF_FLAGS):
                continue
            if name == "p" and not attached and value.group().isdigit():
                continue  # a port
            before = at.low[begin : match.start()]
            if name == "a" and "redis" not in before and "snmp" not in before:
                continue  # `curl -A agent`
            if not command or (
                name == "p" and command.group() in _LOGIN_FIRST and " login" not in before
            ):
                continue
            if name in ("u", "user"):
                pair = _USER.match(at.text, start, value.end())
                if pair is None:
                    continue
                start = pair.end()
            name = "password"
        yield Candidate(start, value.end(), name, "flag")


_STATEMENT = 400
_ACCOUNT = re.compile(r"\b(?:user|role|grant|connect to)\b")


def _read_sql(at: Stretch) -> Iterator[Candidate]:
    for match in heads(grammar.SQL, at, at.start):
        start = match.end()
        stop = closing(at.text, match["open"], start, at.end)
        statement = at.low[max(0, match.start() - _STATEMENT) : start]
        if stop > 0 and ("identified" not in match[0] or _ACCOUNT.search(statement)):
            yield Candidate(start, stop, "password", "sql")


def _read_spaced(at: Stretch) -> Iterator[Candidate]:
    """Read `ENV NAME value`, `set NAME value`: a value behind a name in capitals and a blank, or a
    generated one behind any name."""
    for match in heads(grammar.SPACED, at, at.start):
        value = _SPACED_VALUE.match(at.text, match.end(), at.end)
        start, stop = match.span("name")
        capital = at.text[start:stop].isupper()
        if value and (capital or _DIGIT.search(value.group())):
            yield Candidate(*value.span(), at.name(match), "flag" if capital else "apart")


def _read_vendor(at: Stretch) -> Iterator[Candidate]:
    """Read a service's name, an assignment, and a generated value."""
    here = at.start
    while match := _search(grammar.VENDOR, at, here):
        here = match.end()
        value = _VENDOR_VALUE.match(at.text, here, at.end)
        name = at.name(match)
        if name.endswith(" h1") or match[0].endswith(", "):
            continue  # a line of go.sum: the digest of a module; names in a list
        if value and not name.lower().startswith("tiktoken") and not name_kinds.is_negative(name):
            here = value.end()
            yield Candidate(value.start(), value.end(), name, "vendor")


Reader = Callable[[Stretch], Iterator[Candidate]]

READERS: tuple[Reader, ...] = (
    _read_quoted,
    _read_bare,
    _read_header,
    _read_url,
    _read_dsn,
    _read_flag,
    _read_sql,
    _read_spaced,
    _read_vendor,
)
"""By the number of the trigger in `grammar`; those in `apart` follow."""
