"""Judge each name of a scan: default exclusions, ignore rules, and the record of what stays out."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from msgspec import Struct

from sutler.paths import RelPath
from sutler.scan import git
from sutler.scan.folders import count_below, kind_of
from sutler.scan.globs import GlobSet
from sutler.scan.ignore import (
    GIT,
    IGNORE_NAMES,
    SELECTION,
    Node,
    Source,
    deny_all,
    load,
    no_rules,
    parse_source,
)
from sutler.scan.name_rules import INSTALLED, TRACKED_PASS, credential, default_exclusion
from sutler.scan.root import DIRECTORY, Root, problem_of
from sutler.scan.snapshot import Excluded, FileEntry, Problem, Reason, Rule, ScanRules, Snapshot
from sutler.system import fs


class Verdict(Struct, frozen=True, gc=False):
    """Why a name stays out. `by_git`: git's rules decided alone. `ignored`: a built-in name rule
    decided, and an ignore rule of the project or the user excludes the name as well.
    """

    reason: Reason
    rule: Rule
    by_git: bool = False
    ignored: bool = False

    @property
    def by_name(self) -> bool:
        """Whether a built-in name rule decided that a file tracked by git may pass."""
        rule = self.rule
        passable = rule.source == "default" and self.reason in TRACKED_PASS
        return passable and rule.pattern.strip("*/") not in INSTALLED


class Ground:
    """The repository one stands in, and its index, read when first needed. `offset` leads from its
    top to the scanned root (with a final slash), `start` from the root to its top.
    """

    __slots__ = (
        "_tracked",
        "fold",
        "modules",
        "offset",
        "problem",
        "repository",
        "settings",
        "start",
    )

    def __init__(self, repository: git.Repository | None, offset: str, start: str) -> None:
        self.repository = repository
        self.offset = offset
        self.start = start
        self.settings = git.repository_config(repository) if repository else {}
        self.fold = git.truth(self.settings.get("core.ignorecase", ""))
        self.modules = repository is not None and os.path.lexists(
            os.path.join(repository.top, ".gitmodules")
        )
        self.problem: Problem | None = None
        self._tracked: git.Tracked | None = None

    def tracked(self) -> git.Tracked:
        if self._tracked is None:
            found = (
                git.read_tracked(self.repository, self.settings) if self.repository else git.NOTHING
            )
            if isinstance(found, Problem):
                self.problem, found = found, git.NOTHING
            self._tracked = found
        return self._tracked

    def path(self, path: str) -> str:
        """A path from the root as the index spells it."""
        return self.offset + path if self.offset else path[len(self.start) :]


NOWHERE: Final = Ground(None, "", "")


def _literal_start(glob: str) -> str:
    """The folders that a glob names before its first wildcard. A glob without a slash has none:
    it matches at any depth.
    """
    if "/" not in glob.rstrip("/"):
        return ""
    literal = re.split(r"[*?\[{\\]", glob.lstrip("/"), maxsplit=1)[0]
    return literal[: literal.rfind("/") + 1] if literal != glob.lstrip("/") else literal


class Judge:
    """Decides names under one set of rules; remembers what a name alone decides."""

    __slots__ = ("_directories", "_extensions", "_starts", "allow", "problems", "rules")

    def __init__(self, rules: ScanRules) -> None:
        self.rules = rules
        self.allow = GlobSet(rules.allow)
        self._starts = tuple(_literal_start(glob) for glob in rules.allow)
        self.problems: list[Problem] = []
        self._directories = frozenset(rules.excluded_directories)
        self._extensions = tuple(
            "." + one.lower().removeprefix(".") for one in rules.excluded_extensions
        )

    def allowed(self, path: str, directory: bool = False) -> bool:
        """Whether the user's `allow` lifts built-in name rules from this path."""
        return bool(self.allow) and self.allow.match(path, directory) is not None

    def allows_below(self, directory: str) -> bool:
        """Whether `allow` may lift a path below this directory: by the literal start of a glob."""
        below = f"{directory}/"
        return any(start.startswith(below) or below.startswith(start) for start in self._starts)

    def binding(
        self, node: Node, name: str, directory: bool, path: str, *, lifted: bool = False
    ) -> Verdict | None:
        """The rules that hold even for a file that the user named; `lifted`: without name rules."""
        rule = credential(path, directory=directory, strict=self.rules.strict_patterns)
        if rule is not None and not lifted and not self.allowed(path, directory):
            also = node.git(name, directory)
            return Verdict("credentials", rule, ignored=also is not None and also.ignored)
        if node.ai:
            rule = node.denial(name, directory)
            if rule is not None:
                return Verdict("ai_denied", rule)
        if name == ".git":
            return Verdict("pattern_match", Rule("git", ".git"))
        return None

    def verdict(
        self, node: Node, name: str, directory: bool, path: str, *, lifted: bool = False
    ) -> Verdict | None:
        """Why this name stays out of a scan, or None; `lifted`: without built-in name rules. Not
        remembered; see `walk`.
        """
        bound = self.binding(node, name, directory, path, lifted=lifted)
        if bound is not None:
            return bound
        rules = self.rules
        if name[0] == "." and not rules.hidden:
            return Verdict("hidden", Rule("hidden"))
        own = node.own(name, directory)
        if own is not None:
            return Verdict("ignored", own.rule) if own.ignored else None
        if rules.default_excludes and not lifted:
            default = default_exclusion(name, directory)
            if default is not None and not self.allowed(path, directory):
                also = node.git(name, directory)
                return Verdict(*default, ignored=also is not None and also.ignored)
        if self._directories or self._extensions:
            extra = self._extra(name, directory)
            if extra is not None:
                return extra
        found = node.git(name, directory)
        return Verdict("ignored", found.rule, True) if found is not None and found.ignored else None

    def _extra(self, name: str, directory: bool) -> Verdict | None:
        if directory and name in self._directories:
            return Verdict("pattern_match", Rule("excluded_directories", name))
        if self._extensions and not directory and name.lower().endswith(self._extensions):
            return Verdict("pattern_match", Rule("excluded_extensions", os.path.splitext(name)[1]))
        return None

    def files_in(self, node: Node, fd: int, names: frozenset[str], prefix: str, fold: bool) -> Node:
        """The node with the ignore files of the directory `fd`, whose shown path is `prefix`."""
        sources: list[tuple[str, Source]] = []
        for name in sorted(names):
            if not self.rules.git_rules and name in SELECTION:
                continue
            found = load(fd, name, prefix + name, fold)
            if isinstance(found, Problem):
                self.problems.append(found)
            else:
                sources.append((name, found))
        return node.with_sources(sources) if sources else node

    def start(self, root: Root) -> tuple[Node, Ground]:
        """The rules that hold at the root before its own files: global, per repository, from
        parents.
        """
        repository = git.find_repository(root.anchor)
        if repository is None:
            return self._excludes(no_rules(), NOWHERE), NOWHERE
        names = repository.below(root.anchor)
        ground = Ground(repository, "".join(f"{name}/" for name in names), "")
        node = self._excludes(no_rules(), ground)
        for depth, name in enumerate(names):
            folder = root.anchor + "/.." * (len(names) - depth)
            node = self._from_parent(node, folder, "../" * (len(names) - depth), ground.fold)
            denial = node.denial(name, True)
            node = node.child(name)
            if (
                denial is not None
            ):  # the root lies in denied ground; naming it as the root lifts nothing
                source = deny_all(denial.source, denial.pattern, denial.line)
                node = node.with_sources([(os.path.basename(denial.source), source)])
        return node, ground

    def _from_parent(self, node: Node, folder: str, shown: str, fold: bool) -> Node:
        try:
            fd = fs.open(folder, DIRECTORY)
        except OSError:
            return node
        try:
            present = IGNORE_NAMES.intersection(fs.listdir(fd))
            return self.files_in(node, fd, frozenset(present), shown, fold)
        except OSError:
            return node
        finally:
            fs.close(fd)

    def enter_repository(
        self, node: Node, repository: git.Repository, start: str
    ) -> tuple[Node, Ground]:
        """Rules for a repository that lies in a plain folder."""
        ground = Ground(repository, "", start)
        ground.tracked()  # now, while the descriptor behind the repository's path is open
        return self._excludes(node, ground), ground

    def _excludes(self, node: Node, ground: Ground) -> Node:
        """The user's global excludes and the repository's info/exclude, weakest first."""
        if not self.rules.git_rules:
            return node
        user = git.user_config()
        sources: list[tuple[str, Source]] = []
        data = git.read_plain(git.global_excludes(user), follow=True)
        shown = "core.excludesFile"
        own = ground.settings.get("core.excludesfile")
        if own is not None and ground.repository is not None:
            data, shown = self._inside(ground.repository.top, own), own
        if data is not None:
            sources.append((GIT, parse_source(data, shown, fold=ground.fold)))
        if ground.repository is not None:
            data = git.read_plain(os.path.join(ground.repository.common, "info/exclude"))
            if data is not None:
                sources.append((GIT, parse_source(data, ".git/info/exclude", fold=ground.fold)))
        return node.with_sources(sources) if sources else node

    def _inside(self, top: str, named: str) -> bytes | None:
        """An excludes file that a repository's own configuration names: read only inside that
        repository.
        """
        from sutler.errors import SutlerError

        try:
            with Root(top) as root:
                found = root.read(root.relpath(named), 1 << 20)
        except SutlerError:
            return None
        return None if isinstance(found, Problem) else found.data


_BY_PATH: Final = attrgetter("path")


class Findings:
    __slots__ = ("entries", "excluded", "limit", "owner", "problems", "several")

    def __init__(self, rules: ScanRules, owner: int) -> None:
        self.limit = rules.skip_file_bytes
        self.owner = (
            owner  # of the root: a linked file of another owner is not taken for the project's
        )
        self.several = False
        self.entries: list[FileEntry] = []
        self.excluded: list[Excluded] = []
        self.problems: list[Problem] = []

    def snapshot(self, directories: int, more: Iterable[Problem]) -> Snapshot:
        problems = {*self.problems, *more}
        if self.several:  # a file named by itself and again by its folder: the stronger wish holds
            entries = {one.path: one for one in sorted(self.entries, key=attrgetter("named"))}
            self.entries = list(entries.values())
            excluded = {one.path: one for one in self.excluded if one.path not in entries}
            self.excluded = list(excluded.values())
        return Snapshot(
            entries=tuple(sorted(self.entries, key=_BY_PATH)),
            excluded=tuple(sorted(self.excluded, key=_BY_PATH)),
            problems=tuple(sorted(problems, key=lambda one: (one.path, one.kind, one.detail))),
            directories=directories,
        )

    def admit(self, path: str, state: os.stat_result, named: bool = False) -> None:
        """A regular file of a fitting size becomes an entry."""
        mode, size, limit = state.st_mode, state.st_size, self.limit
        if not stat.S_ISREG(mode) or (limit is not None and size > limit):
            self.unfit(path, mode, size)
            return
        if state.st_nlink > 1 and state.st_uid != self.owner:
            self.foreign_link(path)
            return
        times = state.st_mtime_ns, state.st_ctime_ns
        entry = FileEntry(
            RelPath(path), size, times[0], state.st_ino, mode, state.st_nlink, named, times[1]
        )
        self.entries.append(entry)

    def unfit(self, path: str, mode: int, size: int) -> None:
        if stat.S_ISLNK(mode):
            found = Excluded(path, "symlink", Rule("symlink"))
        elif not stat.S_ISREG(mode):
            found = Excluded(path, "special", Rule(kind_of(mode)))
        else:
            found = Excluded(path, "size_limit", Rule("skip_file_bytes", f"{size} > {self.limit}"))
        self.excluded.append(found)

    def foreign_link(self, path: str) -> None:
        """A file that has another name somewhere and belongs to another owner: it may be anything
        of theirs.
        """
        self.excluded.append(
            Excluded(path, "hard_link", Rule("hard link", "owned by another user than the folder"))
        )

    def prune(self, fd: int, name: str, path: str, verdict: Verdict) -> None:
        """A directory that is not entered: one exclusion, with a count of the files below it."""
        count, more = 0, False
        try:
            below = fs.open(name, DIRECTORY, dir_fd=fd)
        except OSError:
            pass
        else:
            count, more = count_below(below)
            fs.close(below)
        self.excluded.append(
            Excluded(path + "/", verdict.reason, verdict.rule, count, more, verdict.ignored)
        )

    def absent(self, path: str, error: OSError) -> None:
        """A path that was asked for: nothing was there to begin with, so nothing vanished."""
        found = problem_of(path, error)
        self.problems.append(
            Problem(path, "missing", "no such file") if found.kind == "vanished" else found
        )
