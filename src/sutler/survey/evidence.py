"""Facts of one manifest file, and the tree of paths that it refers to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache

from msgspec import UNSET, Struct

from sutler.errors import UsageError
from sutler.paths import dirname
from sutler.scan.globs import GlobSet
from sutler.survey.wire import Dependency, DependencyType

DEV_WORDS = re.compile(
    r"(?:^|[-_./])(?:dev|devel|develop|development|tests?|testing|docs?|lint|ci|typing|types|check"
    r"|bench)"
)


ASIDE = re.compile(
    r"(?:^|/)(?:(?:[\w .]+[-_ .])?(?:examples?|samples?|demos?|snippets?|benchmarks?)"
    r"(?:[-_ .][\w .-]*)?"
    r"|fixtures?|testdata|templates?(?:-[\w-]+)?|bench(?:es)?|docs?(?:[-_.]\w+)?"
    r"|(?:my|test|dummy|toy)[-_]?app|tutorials?|tests?|www|spec|[\w-]*playgrounds?|bundled"
    r"|fuzz\w*|e2e|website"
    r"|integration[-_]tests?|xtasks?|__tests__|testing|hack|contrib|perf|vendor-bin)/",
    re.IGNORECASE,
)
"""Folders whose manifests and entry points do not belong to the project itself."""


_OWN = re.compile(
    r"(?:^|/)src/main/(?:java|kotlin|scala|groovy)/|^(?:src|lib)/(?=benchmark/)", re.IGNORECASE
)


def is_aside(path: str) -> bool:
    """Return whether a file lies in a folder beside the project's own code. Below `src/main/java`
    the folders are names of packages, and `org.springframework.samples` is one of them;
    `src/benchmark` is the code of a program that measures others."""
    return _aside(path[: path.rfind("/") + 1])


@lru_cache(maxsize=1 << 14)
def _aside(folder: str) -> bool:
    own = _OWN.search(folder)
    return ASIDE.search(folder[: own.end()] if own else folder) is not None


class Tree(Struct, frozen=True):
    """The paths of the snapshot, for checks of existence and for workspace globs."""

    paths: tuple[str, ...]
    known: frozenset[str]

    def first(self, candidates: Iterable[str]) -> tuple[str, ...]:
        """Return the first candidate that exists, as a tuple of at most one path."""
        return next(((path,) for path in candidates if path in self.known), ())

    def matching(self, folder: str, patterns: Iterable[str], name: str) -> tuple[str, ...]:
        """Return the files called `name` in the folders that workspace `patterns` (with `!` for
        not) select."""
        listed = [
            (pattern[:1] == "!", beside(folder, pattern.lstrip("!").rstrip("/")))
            for pattern in patterns
        ]
        wanted = _Folders(glob for negated, glob in listed if not negated)
        unwanted = _Folders(glob for negated, glob in listed if negated)
        candidates = [path for path in self.paths if path.endswith(f"/{name}") or path == name]
        return tuple(
            path for path in candidates if dirname(path) in wanted and dirname(path) not in unwanted
        )


class _Folders:
    """Folders that the globs of a workspace select."""

    def __init__(self, globs: Iterable[str]) -> None:
        self._root = False
        self._sets: list[GlobSet] = []
        for glob in globs:
            self._root = self._root or not glob
            with suppress(
                UsageError
            ):  # a malformed glob is the manifest's fault and selects nothing
                self._sets.append(GlobSet((glob,), whole=True))

    def __contains__(self, folder: str) -> bool:
        return any(globs.match(folder) for globs in self._sets) if folder else self._root


def tree_of(paths: Iterable[str]) -> Tree:
    ordered = tuple(sorted(paths))
    return Tree(ordered, frozenset(ordered))


class Found(Struct, frozen=True, kw_only=True):
    """Facts of one manifest. `members` are the manifests of its workspace; `versions` supplies
    their missing versions."""

    path: str
    ecosystem: str
    name: str = ""
    description: str = ""
    dependencies: tuple[Dependency, ...] = ()
    entry_points: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    build_system: str = ""
    test_framework: str = ""
    members: tuple[str, ...] = ()
    workspace: bool = False
    private: bool = False  # never published: an application, or a part that only serves the others
    weight: int = 0  # files of the kind, where no language's files count for it
    versions: dict[str, str] = {}


def joined(names: Iterable[str]) -> str:
    """Join several names to one value, each once: `maven, gradle`."""
    parts = [part for name in names for part in name.split(", ") if part]
    return ", ".join(dict.fromkeys(parts))


def dependency(name: str, version: str = "", kind: DependencyType = "runtime") -> Dependency:
    return Dependency(name, kind, version.strip() or UNSET)


def beside(folder: str, relative: str) -> str:
    """Resolve `relative` against `folder`, with `.` and `..`, never above the root."""
    parts = [part for part in folder.split("/") if part]
    for part in relative.replace("\\", "/").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


MAX_TAME = 150_000


def tame(text: str) -> str:
    """Bound a text for regular expressions: its length, and the blank runs that slow them down."""
    return re.sub(r"\s{9,}", lambda run: "\n" if "\n" in run.group() else " ", text[:MAX_TAME])


def field(pattern: str, text: str) -> str:
    """Return the first group of a match, stripped; empty without a match."""
    match = re.search(pattern, text)
    return match[1].strip() if match else ""


def one_line(text: str, limit: int = 300) -> str:
    """Collapse white space and cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[:limit].rsplit(" ", 1)[0] + " …"
