"""The one dialect of globs that users and agents write.

It is gitignore's pattern language without `!`, plus brace lists:

- without a slash a glob matches a name at any depth; with one, also at its start, it is anchored
  at the root (`./x` is `/x`); a slash at the end does not anchor;
- `*` and `?` stay inside a name and match bytes, as in git; `**` crosses directories; `[a-z]`,
  `[!a-z]` and `[[:digit:]]` are classes; a backslash takes the next character literally;
- `dir/` matches directories alone; a glob that matches a directory selects everything below it, and
  `dir/**` is that directory's content;
- `{a,b}` stands for either spelling; a brace that does not close or has no comma is a character.

A glob that can match nothing is an error, never an empty answer. Two switches exist:

- `denies` matches every spelling of a path that another platform may accept, and every reading of
  the glob: a rule that closes must not be dodged (see `denies`);
- `GlobSet(..., whole=True)` is for file contracts, written for minimatch: a glob must match the
  whole path, so `*.py` stays at the root and `src/*` does not reach below `src/a`; `?` is one
  character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from sutler.errors import UsageError
from sutler.paths import quote
from sutler.scan.wildmatch import MalformedError, covering, exact, view

GLOB_LENGTH: Final = 4096  # no path is longer
GLOB_COUNT: Final = 1000  # {a,b}{a,b}... doubles with each pair
CALL_GLOBS: Final = 50
"""Limit of globs in one call of an agent."""

_RULE: Final = "globs are gitignore's patterns, with {a,b}"
_UNNAMEABLE: Final = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
"""Characters that no file name can hold: NUL, and surrogates that stand for no byte."""
_PLAIN: Final = re.compile(r"\[([!^]?+)(.[^\]]*)\]|\\(.)|([\[\\{}])", re.DOTALL)


class GlobSet:
    """Several globs, of which one must match; `whole` selects minimatch's semantics, for file
    contracts."""

    __slots__ = ("_match", "_shown", "_whole", "patterns")

    def __init__(self, globs: Iterable[str], *, whole: bool = False) -> None:
        self.patterns = tuple(globs)
        self._whole = whole
        regexes: list[str] = []
        self._shown: list[str] = []
        for glob in self.patterns:
            for regex in _regexes(glob, whole):
                regexes.append(f"({regex})")
                self._shown.append(glob)
        _require_count(len(regexes), "globs")
        # The engine's regexes hold no groups, so that the number of the last one names the glob.
        self._match = re.compile("|".join(regexes), re.DOTALL).match if regexes else None

    def __bool__(self) -> bool:
        return bool(self._shown)

    def match(self, path: str, directory: bool = False) -> str | None:
        """Return the glob, as written, that selects this path or one of its parent directories."""
        if self._match is None or not path:
            return None
        text = path if self._whole or path.isascii() else view(path)
        hit = self._match(f"{text}/" if directory else text)
        return None if hit is None else self._shown[(hit.lastindex or 1) - 1]


def require_globs(globs: Iterable[str], at_most: int | None = None) -> None:
    """Refuse a malformed glob, or more than `at_most`, before a tree is scanned."""
    listed = tuple(globs)
    if at_most is not None and len(listed) > at_most:
        raise UsageError(
            f"{len(listed)} globs",
            rule=f"at most {at_most} in one call",
            next_step="use {a,b} lists or several calls",
        )
    for glob in listed:
        _regexes(glob, False)


def literal(path: str) -> str:
    """Return a glob that matches the characters of this path and no others."""
    return "".join(f"\\{char}" if char in "*?[]{}\\,!# " else char for char in path)


@lru_cache(maxsize=4096)  # the same few globs meet each path
def _regexes(glob: str, whole: bool) -> tuple[str, ...]:
    """Return one regex for each alternative of a glob. Raise UsageError for a malformed one."""
    try:
        if whole:
            return tuple(_exact(one) for one in _alternatives(glob))
        return tuple(_covering(view(one)) for one in _alternatives(glob))
    except MalformedError as fault:
        raise UsageError(
            f"glob {quote(glob)}: {fault}",
            rule=_RULE,
            next_step="complete it, or put a backslash before a character that is meant literally",
        ) from None


def _exact(glob: str) -> str:
    return exact((f"{glob}**" if glob.endswith("/") else glob).removeprefix("/"))


def _covering(glob: str) -> str:
    regex = covering(glob.removesuffix("/"), directory=glob.endswith("/"))
    body = glob
    while body.endswith("/**") and body.strip("*/"):
        body = body[:-3]
    if body == glob:
        return regex
    # `src/**` also matches the directory `src`, so that a scan enters it.
    return f"{regex}|{covering('/' + body.removeprefix('/'), directory=True)}"


def _alternatives(glob: str) -> list[str]:
    """Expand the braces of a glob, and normalise each alternative."""
    return [_normalized(one, glob) for one in expand_braces(glob)]


def _normalized(one: str, glob: str) -> str:
    """Remove `.` and empty components; a leading `./` anchors."""
    if one.startswith("!"):
        raise UsageError(
            f"glob {quote(glob)} starts with '!'",
            rule="a glob only adds to its own list",
            next_step="use --exclude or deny, or write '\\!' for a name that starts so",
        )
    body = re.sub(r"/(?:\.?/)+", "/", re.sub(r"^(?:\.?/)+", "/", one))
    if body.endswith("/."):
        body = f"/{body[:-2].removeprefix('/')}"
    if body in ("", "/", ".") or ".." in body.split("/") or _UNNAMEABLE.search(body):
        raise UsageError(
            f"glob {quote(glob)} selects nothing below the root",
            rule="globs stay inside the root",
            next_step="name a path below the root, or use '**' for every file",
        )
    return body


def _require_count(count: int, what: str) -> None:
    if count > GLOB_COUNT:
        raise UsageError(
            f"{what}: more than {GLOB_COUNT} alternatives",
            rule=f"at most {GLOB_COUNT} after braces are expanded",
            next_step="use fewer or shorter brace lists",
        )


def expand_braces(glob: str) -> list[str]:
    """Expand `{a,b}` lists, nested ones too, as a shell does."""
    if len(glob) > GLOB_LENGTH:
        raise UsageError(
            f"a glob of {len(glob)} characters",
            rule=f"at most {GLOB_LENGTH} characters",
            next_step="use several shorter globs",
        )
    done: list[str] = []
    todo = [glob]
    while todo:
        _require_count(len(done) + len(todo), f"glob {quote(glob[:60])}")
        current = todo.pop()
        span = _first_list(current)
        if span is None:
            done.append(current)
            continue
        start, commas, end = span
        middles = [current[a + 1 : b] for a, b in pairwise([start, *commas, end])]
        todo.extend(current[:start] + text + current[end + 1 :] for text in reversed(middles))
    return done


def separated(text: str) -> list[str]:
    """Split one word into globs, as other packers write them: separated by commas outside braces. A
    comma of a name is written `\\,`."""
    outer = f"{{{text}}}"
    span = _first_list(outer)
    if span is None or span[0]:
        return [text]
    return [glob for glob in map(str.strip, expand_braces(outer)) if glob]


def _first_list(glob: str) -> tuple[int, list[int], int] | None:
    """Return the start, commas and end of the first brace list that closes and has a comma, in one
    pass."""
    stack: list[tuple[int, list[int]]] = []
    best: tuple[int, list[int], int] | None = None
    escaped = False
    for index, char in enumerate(glob):
        if escaped or char == "\\":
            escaped = not escaped
        elif char == "{":
            stack.append((index, []))
        elif char == "," and stack:
            stack[-1][1].append(index)
        elif char == "}" and stack:
            start, commas = stack.pop()
            if commas and (best is None or start < best[0]):
                best = (start, commas, index)
            if best is not None and not stack:
                return best
    return best


# Policy: rules that open match a path as it is spelt, rules that close match every spelling.


def allows(glob: str, path: str) -> bool:
    """Match the path as spelt and in its composed form, for rules that open."""
    if not path:
        return _everything(glob)
    if not _opening(glob).match(path):
        return False
    if path.isascii() and glob.isascii():
        return True
    return bool(_opening(_normal("NFC", glob)).match(_normal("NFC", path)))


def denies(glob: str, path: str) -> bool:
    """Match the path in any spelling: case, Unicode form, invisible characters, other file systems.

    The glob is read in every way too. A policy knows a path but not its kind, so `dir/` also
    matches a file; a wildcard is a byte or a character; braces and escapes inside a class may be
    literal."""
    _regexes(glob, False)
    return any(_closes(pattern, text) for pattern, text in _spellings(glob, path))


def _spellings(glob: str, path: str) -> Iterator[tuple[str, str]]:
    yield glob, path
    if not (path.isascii() and glob.isascii()):
        for form in ("NFC", "NFD"):
            yield _normal(form, glob), _normal(form, path)
    folded = fold(path)
    yield _normal("fold", glob), folded
    yield glob, folded


@lru_cache(maxsize=4096)
def _opening(glob: str) -> GlobSet:
    return GlobSet((glob,))


class _Denial(NamedTuple):
    """Regexes for the byte view and for characters."""

    view: re.Pattern[str]
    text: re.Pattern[str]


@lru_cache(maxsize=4096)
def _denial(glob: str) -> _Denial:
    """Compile a glob in both readings; if only another spelling is malformed, its plain reading is
    used."""
    bodies = [_normalized(_plain(glob), glob)]
    if "{" in glob or "[" in glob or "\\" in glob:
        bodies += _alternatives(glob)
    return _Denial(*(re.compile(_union(map(spell, bodies)), re.DOTALL) for spell in (view, str)))


def _union(bodies: Iterable[str]) -> str:
    regexes: list[str] = []
    for body in bodies:
        try:
            regexes.append(covering(_open_ended(body), directory=False))
        except MalformedError:  # a malformed pattern of git matches nothing
            continue
    return "|".join(f"(?:{regex})" for regex in dict.fromkeys(regexes))


def _open_ended(body: str) -> str:
    """Remove the slash or `/**` at the end but keep the anchor, so that a file is denied as
    well."""
    short = body.rstrip("/")
    anchored = "/" in short
    while short.endswith("/**"):
        short = short[:-3].rstrip("/")
    return f"/{short.removeprefix('/')}" if anchored and short else short or "**"


def _plain(glob: str) -> str:
    """Return the glob with braces as characters, and classes without escapes and names."""
    return "/".join(_PLAIN.sub(_plain_part, part) for part in glob.split("/"))


def _plain_part(hit: re.Match[str]) -> str:
    negation, members, escaped, char = hit.groups()
    if members is None:
        return f"\\{escaped or char}"
    return f"[{negation}{re.sub(r'(?s)(.)-(.)|(.)', _plain_member, members)}]"


def _plain_member(hit: re.Match[str]) -> str:
    first, last, single = hit.groups()
    return f"\\{single}" if first is None else f"\\{first}-\\{last}"


def _closes(glob: str, path: str) -> bool:
    if not path:
        return _everything(glob)
    regexes = _denial(glob)
    if regexes.view.match(view(path)):
        return True
    return not (path.isascii() and glob.isascii()) and bool(regexes.text.match(path))


def _everything(glob: str) -> bool:
    """Return whether a glob is nothing but `**`: only that matches the root itself, which has no
    name."""
    return {part for part in glob.split("/") if part not in ("", ".")} == {"**"}


@lru_cache(maxsize=4096)
def _normal(form: str, text: str) -> str:
    if form != "fold":
        return unicodedata.normalize(form, text)  # type: ignore[arg-type]  # NFC or NFD
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def fold(text: str) -> str:
    """Return the form of a name in which no spelling evades a denial.

    Case, Unicode form and invisible characters are folded, and so are the endings, streams and
    separators that other file systems ignore."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = folded.replace("\\", "/")
    if not folded.isascii():
        folded = "".join(char for char in folded if not _invisible(char))
    parts = (
        part.split(":", 1)[0].rstrip(" .") if part.strip(".") else part
        for part in folded.split("/")
    )
    return "/".join(".git" if part in _SHORT_GIT else part for part in parts)


_SHORT_GIT: Final = frozenset(f"git~{digit}" for digit in "1234")
"""Spelling of `.git` in eight characters on Windows."""


def _invisible(char: str) -> bool:
    return (
        unicodedata.category(char) == "Cf"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
        or char in "\u034f\u115f\u1160\u3164"
    )
