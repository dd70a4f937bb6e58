"""One name, one verdict: in which order the rules speak.

1. credentials, then AI denials: they bind even a file that the user named
2. `.git`: the tool's own ground, never the project's
3. hidden names, when the user leaves them out
4. `.sutlerignore` and `.ignore`; their `!` also lifts the defaults below
5. default exclusions and the user's extra directories and extensions
6. git's rules, from which tracked files are exempt
"""

from __future__ import annotations

import os
from typing import Final

from msgspec import Struct

from sutler.disk import git
from sutler.disk.defaults import credential, default_exclusion
from sutler.disk.ignore import GIT, IGNORE_FILES, Node, Source, deny_all, load, no_rules, parse_source
from sutler.disk.root import DIRECTORY, Root
from sutler.values.globs import GlobSet
from sutler.values.snapshot import Problem, Reason, Rule, ScanRules


class Verdict(Struct, frozen=True, gc=False):
    """Why a name stays out; `by_git` when git's rules alone said so."""

    reason: Reason
    rule: Rule
    by_git: bool = False


class Ground:
    """The repository one stands in, and its index, read when first needed. `offset` leads from its top to the
    scanned root (with a final slash), `start` from the root to its top."""

    __slots__ = ("_tracked", "fold", "modules", "offset", "problem", "repository", "settings", "start")

    def __init__(self, repository: git.Repository | None, offset: str, start: str) -> None:
        self.repository = repository
        self.offset = offset
        self.start = start
        self.settings = git.repository_config(repository) if repository else {}
        self.fold = git.truth(self.settings.get("core.ignorecase", ""))
        self.modules = repository is not None and os.path.lexists(os.path.join(repository.top, ".gitmodules"))
        self.problem: Problem | None = None
        self._tracked: git.Tracked | None = None

    def tracked(self) -> git.Tracked:
        if self._tracked is None:
            found = git.read_tracked(self.repository, self.settings) if self.repository else git.NOTHING
            if isinstance(found, Problem):
                self.problem, found = found, git.NOTHING
            self._tracked = found
        return self._tracked

    def path(self, path: str) -> str:
        """A path from the root as the index spells it."""
        return self.offset + path if self.offset else path[len(self.start) :]


NOWHERE: Final = Ground(None, "", "")


class Judge:
    """Decides names under one set of rules; remembers what a name alone decides."""

    __slots__ = ("_directories", "_extensions", "allow", "problems", "rules")

    def __init__(self, rules: ScanRules) -> None:
        self.rules = rules
        self.allow = GlobSet(rules.allow)
        self.problems: list[Problem] = []
        self._directories = frozenset(rules.excluded_directories)
        self._extensions = tuple("." + one.lower().removeprefix(".") for one in rules.excluded_extensions)

    def binding(self, node: Node, name: str, directory: bool, path: str) -> Verdict | None:
        """The rules that hold even for a file that the user named."""
        rule = credential(name)
        if rule is not None and not (self.allow and self.allow.match(path, directory)):
            return Verdict("credentials", rule)
        if node.ai:
            rule = node.denial(name, directory)
            if rule is not None:
                return Verdict("ai_denied", rule)
        if name == ".git":
            return Verdict("pattern_match", Rule("git", ".git"))
        return None

    def verdict(self, node: Node, name: str, directory: bool, path: str) -> Verdict | None:
        """Why this name stays out of a scan, or None. Not remembered; see `walk`."""
        bound = self.binding(node, name, directory, path)
        if bound is not None:
            return bound
        rules = self.rules
        if name[0] == "." and not rules.hidden:
            return Verdict("hidden", Rule("hidden"))
        own = node.own(name, directory) if node.families[0] or node.families[1] else None
        if own is not None:
            return Verdict("ignored", own.rule) if own.ignored else None
        if rules.default_excludes:
            default = default_exclusion(name, directory)
            if default is not None:
                return Verdict(*default)
        if self._directories or self._extensions:
            extra = self._extra(name, directory)
            if extra is not None:
                return extra
        found = node.git(name, directory) if node.families[2] else None
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
            if not self.rules.git_rules and name in (GIT, ".ignore", ".sutlerignore"):
                continue
            found = load(fd, name, prefix + name, fold)
            if isinstance(found, Problem):
                self.problems.append(found)
            else:
                sources.append((name, found))
        return node.with_sources(sources) if sources else node

    def start(self, root: Root) -> tuple[Node, Ground]:
        """The rules that hold at the root before its own files: global, per repository, from parents."""
        repository = git.find_repository(root.host_path)
        if repository is None:
            return self._excludes(no_rules(), NOWHERE), NOWHERE
        here = os.path.realpath(root.host_path)
        names = os.path.relpath(here, repository.top).split("/") if here != repository.top else []
        ground = Ground(repository, "".join(f"{name}/" for name in names), "")
        node = self._excludes(no_rules(), ground)
        for depth, name in enumerate(names):
            folder = os.path.join(repository.top, *names[:depth])
            node = self._from_parent(node, folder, "../" * (len(names) - depth), ground.fold)
            denial = node.denial(name, True)
            node = node.child(name)
            if denial is not None:  # the root lies in denied ground; naming it as the root lifts nothing
                source = deny_all(denial.source, denial.pattern, denial.line)
                node = node.with_sources([(os.path.basename(denial.source), source)])
        return node, ground

    def _from_parent(self, node: Node, folder: str, shown: str, fold: bool) -> Node:
        try:
            fd = os.open(folder, DIRECTORY)
        except OSError:
            return node
        try:
            present = IGNORE_FILES.intersection(os.listdir(fd))
            return self.files_in(node, fd, frozenset(present), shown, fold)
        except OSError:
            return node
        finally:
            os.close(fd)

    def enter_repository(self, node: Node, repository: git.Repository, start: str) -> tuple[Node, Ground]:
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
        """An excludes file that a repository's own configuration names: read only inside that repository."""
        from sutler.values.errors import SutlerError

        try:
            with Root(top) as root:
                found = root.read(root.relpath(named), 1 << 20)
        except SutlerError:
            return None
        return None if isinstance(found, Problem) else found.data
