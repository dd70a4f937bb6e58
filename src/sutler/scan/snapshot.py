"""Result of a scan: entries, exclusions with their rule, and problems."""

from __future__ import annotations

from collections.abc import Container
from typing import Literal

from msgspec import Struct

from sutler.paths import RelPath, quote

Reason = Literal[
    # seed 004's seven
    "credentials",
    "binary",
    "size_limit",
    "pattern_match",
    "dependency_dir",
    "build_output",
    "cache",
    # further reasons in a real tree
    "ignored",  # .gitignore, .ignore, .sutlerignore, info/exclude, the user's global excludes
    "ai_denied",  # .aiexclude, .cursorignore and their kin: never leaves, even when named
    "hidden",
    "symlink",
    "hard_link",  # another name of a file of another owner
    "special",  # FIFO, socket, device
    "mount_point",
    "submodule",  # belongs to another repository
    "depth",
    "not_selected",  # outside the include globs, or matched by an exclude glob
    "cap",  # over a cap on the number of files
    "budget",  # listed or omitted because the budget was spent
    "generated",  # an earlier pack
    "unreadable",
    "undecodable",
]

ProblemKind = Literal[
    "missing",
    "denied",
    "too_large",
    "too_many",
    "binary",
    "undecodable",
    "loop",
    "vanished",
    "special",
    "malformed",
    "changing",
]

FileType = Literal["text", "binary", "image", "data", "unknown"]

FileCategory = Literal[
    "config",
    "entrypoint",
    "auth",
    "api",
    "database",
    "test",
    "documentation",
    "build",
    "dependency",
    "source",
    "other",
]

Tag = Literal["doc", "config", "code", "test"]

Importance = Literal["critical", "high", "medium"]

Role = Literal[
    "source", "test", "doc", "example", "bench", "build", "data", "vendor", "generated", "ci"
]
"""A file's part in the project, which decides its prior in a ranking."""


class Rule(Struct, frozen=True, gc=False):
    """The rule that decided: `source` is a file (`.gitignore`, relative to the root if possible) or
    a name such as `default`, `--exclude`, `limit`; `line` is 0 without one; `pattern` is the text
    that matched."""

    source: str
    pattern: str = ""
    line: int = 0

    def __str__(self) -> str:
        source = quote(self.source)
        where = f"{source}:{self.line}" if self.line else source
        return f"{where}: {self.pattern}" if self.pattern else where


class FileEntry(Struct, frozen=True, gc=False):
    """A regular file that a scan admits. `links` is st_nlink; `named` marks a file that the user
    named itself."""

    path: RelPath
    size: int
    mtime_ns: int = 0
    inode: int = 0
    mode: int = 0o100644
    links: int = 1
    named: bool = False
    ctime_ns: int = 0


class Excluded(Struct, frozen=True, gc=False):
    """An excluded path. A pruned directory ends in `/` and counts the files below it, up to a
    limit."""

    path: str
    reason: Reason
    rule: Rule
    count: int = 1
    more: bool = False  # `count` stopped at the cap
    ignored: bool = False  # decided by a built-in name rule, and by an ignore rule as well

    @property
    def by_name(self) -> bool:
        """Whether only a built-in name rule excludes a possible text."""
        named = self.reason in ("credentials", "dependency_dir", "build_output", "pattern_match")
        tool = self.rule.pattern in ("**/.git/**", "**/.svn/**", "**/.hg/**")
        return named and self.rule.source == "default" and not self.ignored and not tool


class Problem(Struct, frozen=True, gc=False):
    """A recoverable failure of the world, as data."""

    path: str
    kind: ProblemKind
    detail: str = ""


class Snapshot(Struct, frozen=True):
    """A scanned tree, everything sorted by path. Same tree, same snapshot."""

    entries: tuple[FileEntry, ...]
    excluded: tuple[Excluded, ...]
    problems: tuple[Problem, ...]
    directories: int = 0


class FileFacts(Struct, frozen=True, gc=False):
    """Properties of a file by its path alone (seed 004's classification, plus language and tag)."""

    type: FileType
    category: FileCategory
    tag: Tag
    language: str = ""
    generated: bool = False
    lock: bool = False
    importance: Importance | None = None  # set where seed 004 lists the name
    role: Role = "source"

    @property
    def key(self) -> bool:
        return self.importance is not None


class ScanRules(Struct, frozen=True, kw_only=True):
    """Exclusions of a scan. Credentials, AI denials and confinement are no options."""

    git_rules: bool = (
        True  # .gitignore, info/exclude, global excludes; .ignore and .sutlerignore too
    )
    default_excludes: bool = True
    hidden: bool = True  # names with a leading dot are admitted, as git does
    one_filesystem: bool = True
    depth: int | None = None  # 0: the root's own files only
    skip_file_bytes: int | None = 1_048_576
    # Kinds of files, by their ends, of which a pack shows a short form: larger ones are admitted.
    condensed: tuple[str, ...] = ()
    # Globs from the user alone: what they match passes built-in name rules.
    allow: tuple[str, ...] = ()
    # Names that resemble credentials and tracked files in build folders stay out, as in seed 004.
    strict_patterns: bool = False
    excluded_directories: tuple[str, ...] = ()
    excluded_extensions: tuple[str, ...] = ()


def covered(path: str, excluded: Container[str]) -> bool:
    """Return whether a path, or a folder that it lies in, is excluded; folders end in `/`."""
    names = path.split("/")
    return path in excluded or any(
        "/".join(names[:depth]) + "/" in excluded for depth in range(1, len(names))
    )
