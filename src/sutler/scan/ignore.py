"""Ignore files: parsed once, chained from parent to child, each match naming file, line and
pattern.

Which rule decides, strongest first:

 1. Within one file the last matching line wins; `!` turns a match into "not ignored".
 2. Among files of one family the one nearest to the path wins.
 3. `.sutlerignore` outranks `.ignore`, and both outrank git's rules, as ripgrep layers its own
 files: a `!`
    in the stronger family keeps what the weaker one ignores.
 4. Git's rules: nested `.gitignore` files, then `info/exclude`, then the user's global excludes.
 5. A directory that is ignored is not entered, so nothing below it can be brought back.
 6. The AI families deny instead of ignoring: any family that denies wins over everything above, `!`
 speaks
    only inside its own family, and in `.aiexclude` not at all. An empty `.aiexclude` denies all
    below it. One
    that cannot be read denies all below it too, because a denial must not be lost.

Files of a repository above the scanned root, up to its top, apply as well. A `.gitignore` outside
any repository is honoured. A symbolic link in an ignore file's place is not followed, as in git; an
AI file may be a link to a file next to it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from typing import Final, NamedTuple
from unicodedata import normalize

from msgspec import Struct
from msgspec.structs import replace

from sutler.scan.patterns import Live, PatternList, parse_pattern
from sutler.scan.root import FILE, problem_of, read_descriptor
from sutler.scan.snapshot import Problem, Rule
from sutler.scan.wildmatch import unview, view
from sutler.system import fs


class IgnoreFile(NamedTuple):
    """One kind of ignore file.

    `denies` separates the two meanings. False: the file selects the files of a pack, and a stronger
    rule or a named file can bring a path back. True: a path that it matches never leaves the
    machine."""

    name: str
    denies: bool
    negation: bool = True  # whether `!` lifts an earlier line of the same file
    empty_denies_all: bool = False  # whether a file without any text denies everything below it


GIT: Final = ".gitignore"


def table(*files: IgnoreFile) -> tuple[IgnoreFile, ...]:
    """Return the ignore files in their order. A faulty row raises TypeError with its name."""
    names = [file.name for file in files]
    for number, file in enumerate(files):
        if file.name in names[:number]:
            raise TypeError(f"ignore file {file.name}: the name has two rows; keep one of them")
        if not file.name.startswith(".") or "/" in file.name:
            raise TypeError(f"ignore file {file.name!r}: not a file name that starts with a dot")
        if not file.denies and any(earlier.denies for earlier in files[:number]):
            raise TypeError(f"ignore file {file.name}: move it before the rows with `denies=True`")
    return files


IGNORE_FILES: Final = table(
    # Selection, strongest first. Git's own file is last: its rules include other sources.
    IgnoreFile(".sutlerignore", denies=False),
    IgnoreFile(".ignore", denies=False),
    IgnoreFile(GIT, denies=False),
    # Denials, in alphabetical order: any one of them is enough.
    IgnoreFile(".aiderignore", denies=True),
    IgnoreFile(".aiexclude", denies=True, negation=False, empty_denies_all=True),
    IgnoreFile(".aiignore", denies=True),
    IgnoreFile(".codeiumignore", denies=True),
    IgnoreFile(".councilignore", denies=True),
    IgnoreFile(".cursorignore", denies=True),
    IgnoreFile(".geminiignore", denies=True),
    IgnoreFile(".gitingestignore", denies=True),
    IgnoreFile(".repomixignore", denies=True),
)
"""Selection rows before denial rows. The scan honours every row, and policy protects every row: an
agent that may write an ignore file could empty it and so lift its rules."""

SELECTION: Final = tuple(file.name for file in IGNORE_FILES if not file.denies)
DENIALS: Final = tuple(file.name for file in IGNORE_FILES if file.denies)


FAMILIES: Final = (*SELECTION, *DENIALS)
_KINDS: Final = {file.name: file for file in IGNORE_FILES}
_ORDER: Final = {name: index for index, name in enumerate(FAMILIES)}
_FIRST_DENIAL: Final = len(SELECTION)
_GIT: Final = _ORDER[GIT]
IGNORE_NAMES: Final = frozenset(FAMILIES)
FILE_LIMIT: Final = 1 << 20  # the tree may be hostile, and every line becomes a pattern
LINE_LIMIT: Final = 20_000  # each pattern is tried on each name below the folder


class Source(Struct, frozen=True, gc=False):
    """One ignore file: its patterns, their line numbers, and its display name."""

    shown: str
    patterns: PatternList
    lines: tuple[int, ...]

    def rule(self, index: int) -> Rule:
        return Rule(self.shown, unview(self.patterns.patterns[index].text), self.lines[index])


class Layer(Struct, frozen=True, gc=False):
    """A source as seen from a directory at or below its own: the path down to it, and the patterns
    that can still match."""

    source: Source
    live: tuple[Live, ...]
    prefix: str
    depth: int

    def match(self, name: str, directory: bool) -> int:
        patterns = self.source.patterns
        found = patterns.by_name(name, directory)
        if self.live:
            return patterns.by_path(self.live, self.prefix + name, directory, found)
        return found

    def descend(self, name: str) -> Layer:
        live = self.source.patterns.descend(self.live, self.depth, name) if self.live else ()
        return Layer(self.source, live, f"{self.prefix}{name}/", self.depth + 1)


class Match(Struct, frozen=True, gc=False):
    """The rule that matched, and whether it ignores or keeps."""

    ignored: bool
    rule: Rule


def _trimmed(line: str) -> str:
    """Remove trailing spaces, except after a backslash, as git's own loop does."""
    if not line.endswith(" "):
        return line
    end, index = 0, 0
    while index < len(line):
        if line[index] == "\\":
            index += 1
            if index >= len(line):
                return line
            end = index + 1
        elif line[index] != " ":
            end = index + 1
        index += 1
    return line[:end]


def _other_spellings(line: str) -> list[str]:
    """Return the same denial with its letters composed and decomposed, since a file's name may be
    written either way. A line that lifts a denial stays as it is written."""
    if line.isascii() or line.startswith("!"):
        return []
    try:
        text = line.encode("latin-1").decode()
    except UnicodeDecodeError:  # a name in another encoding has one spelling
        return []
    forms = {normalize("NFC", text), normalize("NFD", text)} - {text}
    return sorted(form.encode().decode("latin-1") for form in forms)


def parse_source(
    data: bytes,
    shown: str,
    *,
    fold: bool = False,
    negation: bool = True,
    every_spelling: bool = False,
) -> Source:
    """Parse an ignore file as git does: BOM, CRLF, comments, trailing spaces; NUL ends a line."""
    patterns, lines = [], []
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    for number, raw in enumerate(text.split("\n")[:LINE_LIMIT], 1):
        if not raw or raw.startswith("#"):
            continue
        line = _trimmed(raw.removesuffix("\r").partition("\0")[0])
        if not line or (line.startswith("!") and not negation):
            continue
        for spelling in (line, *_other_spellings(line)) if every_spelling else (line,):
            patterns.append(parse_pattern(spelling, fold))
            lines.append(number)
    return Source(shown, PatternList(patterns, fold), tuple(lines))


def deny_all(shown: str, why: str, line: int = 0) -> Source:
    """Return a source that denies all below it."""
    pattern = replace(parse_pattern("*"), text=why)
    return Source(shown, PatternList([pattern]), (line,))


def load(fd: int, name: str, shown: str, fold: bool) -> Source | Problem:
    """Read the ignore file `name` in the open directory `fd`."""
    found = _read(fd, name, shown)
    if isinstance(found, Problem) and _is_folder(fd, name):
        return parse_source(b"", shown)
    kind = _KINDS[name]
    if not kind.denies:
        return found if isinstance(found, Problem) else parse_source(found, shown, fold=fold)
    if isinstance(found, Problem):
        return deny_all(shown, f"(unreadable: {found.detail})")
    if kind.empty_denies_all and not found.strip():
        return deny_all(shown, "(empty file)")
    return parse_source(found, shown, fold=True, negation=kind.negation, every_spelling=True)


def _read(fd: int, name: str, shown: str) -> bytes | Problem:
    try:
        opened = _open(fd, name)
    except OSError as error:
        return problem_of(shown, error)
    try:
        found = read_descriptor(opened, shown, FILE_LIMIT)
    except OSError as error:
        return problem_of(shown, error)
    finally:
        fs.close(opened)
    if isinstance(found, Problem):
        return found
    if found.data.count(b"\n") > LINE_LIMIT:
        return Problem(shown, "too_large", f"more than {LINE_LIMIT} lines")
    return found.data


def _is_folder(fd: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(fs.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except OSError:  # an unreadable path is no folder
        return False


def _open(fd: int, name: str) -> int:
    try:
        return fs.open(name, FILE, dir_fd=fd)
    except OSError as error:
        if error.errno != errno.ELOOP or not _KINDS[name].denies:
            raise
    target = fs.readlink(name, dir_fd=fd)
    if "/" in target or target == "..":
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return fs.open(target, FILE, dir_fd=fd)


class Node:
    """Rules that hold in one directory. Without rules of its own it shares its parent's node."""

    __slots__ = ("_quiet", "ai", "directories", "families", "files", "live")

    def __init__(self, families: tuple[tuple[Layer, ...], ...]) -> None:
        self.families = families[:_FIRST_DENIAL]
        self.ai = families[_FIRST_DENIAL:]
        self.live = any(layer.live for layers in families for layer in layers)
        self.files: dict[str, object] = {}
        self.directories: dict[str, object] = {}
        self._quiet: Node | None = None

    def child(self, name: str) -> Node:
        """Return the node for a directory below, before that directory's own files are added."""
        if not self.live:
            return self
        text = view(name)
        families = (*self.families, *self.ai)
        below = Node(tuple(tuple(layer.descend(text) for layer in layers) for layers in families))
        if below.live:
            return below
        # Without a pattern with a slash that can still match, all directories are alike.
        if self._quiet is None:
            self._quiet = below
        return self._quiet

    def with_sources(self, sources: Sequence[tuple[str, Source]]) -> Node:
        """Return this node with the ignore files of its directory, each before its family's older
        ones."""
        families = [*self.families, *self.ai]
        families += [()] * (len(FAMILIES) - len(families))
        for name, source in sources:
            if not source.lines:
                continue
            layer = Layer(source, source.patterns.anchored, "", 0)
            families[_ORDER[name]] = (layer, *families[_ORDER[name]])
        while len(families) > _FIRST_DENIAL and not families[-1]:
            families.pop()
        return Node(tuple(families))

    def git(self, name: str, directory: bool) -> Match | None:
        layers = self.families[_GIT]
        return decide(layers, view(name), directory) if layers else None

    def own(self, name: str, directory: bool) -> Match | None:
        """Match the selection files other than git's, strongest first."""
        for layers in self.families[:_GIT]:
            if layers and (match := decide(layers, view(name), directory)) is not None:
                return match
        return None

    def denial(self, name: str, directory: bool) -> Rule | None:
        """Return the AI rule that denies this name in any of its spellings: case must not evade a
        denial."""
        for layers in self.ai:
            for spelling in spellings(name) if layers else ():
                found = decide(layers, view(spelling), directory)
                if found is not None and found.ignored:
                    return found.rule
        return None


def spellings(name: str) -> Sequence[str]:
    """Return the name as it is, in lower case, and in Unicode's composed, decomposed and
    compatibility forms."""
    if name.isascii():
        return (name,) if name.islower() else (name, name.lower())
    forms = [name, normalize("NFC", name), normalize("NFD", name)]
    return list(dict.fromkeys([*forms, normalize("NFKC", name).casefold()]))


def decide(layers: tuple[Layer, ...], name: str, directory: bool) -> Match | None:
    for layer in layers:
        index = layer.match(name, directory)
        if index >= 0:
            source = layer.source
            return Match(not source.patterns.patterns[index].negated, source.rule(index))
    return None


def no_rules() -> Node:
    """Return a fresh node, since its cache belongs to one scan and its rules."""
    return Node(((),) * _FIRST_DENIAL)
