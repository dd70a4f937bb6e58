"""The one decision about a path, for every door through which text leaves.

    pack    `pack`, `scan`, `rank`, `report`, `ui`, `pick` and documents
    goal    files given with `-c` to `run` and `dry-run`
    gather  files that a model asks for by name, and the listing that it is shown
    agent   tools of a served project, before the policy's own rules (`access.policy`)

The rules of all doors come from `rules_for`. A scan judges each name by them, and `walk.decide` a
single path with the same code, so that `sutler why PATH --for DOOR` cannot differ from what
happens. Credentials, AI-ignore files, hard links, confinement and the user's `allow` are the same
at every door. The doors differ in this only:

    goal    built-in exclusions and the size limit are claw's (its own settings)
    agent   built-in exclusions and sizes do not hide a file that the agent names; ignored files ask

`named` lifts ignore rules and built-in exclusions for a file that the user named. A model's request
is never `named`.

A verdict closes a folder. Files below it still pass if the user's `allow` names them, or if git
tracks them and git's rules or a built-in name rule closed it. A denial of an AI-ignore file and a
credential that `allow` does not name never pass."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from sutler.config import Settings
from sutler.languages.base import CONDENSED_ENDS
from sutler.scan import git
from sutler.scan.git_index import read_tracked
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
from sutler.scan.name_rules import (
    INSTALLED,
    TRACKED_PASS,
    VENDORED,
    credential,
    default_exclusion,
    handwritten,
)
from sutler.scan.root import DIRECTORY, Root
from sutler.scan.snapshot import Problem, Reason, Rule, ScanRules
from sutler.system import fs

DoorName = Literal["pack", "goal", "gather", "agent"]
DOORS: tuple[DoorName, ...] = get_args(DoorName)


def rules_for(settings: Settings, door: DoorName = "pack") -> ScanRules:
    """Return the rules of a scan at a door. Without redaction no content is checked, so names that
    resemble credentials are excluded."""
    rules = ScanRules(
        default_excludes=settings.flag("default_excludes"),
        hidden=settings.flag("hidden"),
        depth=settings.number("depth"),
        skip_file_bytes=settings.number("skip_over") or None,
        condensed=CONDENSED_ENDS if settings.flag("condense") and door == "pack" else (),
        allow=settings.words("allow"),
        strict_patterns=settings.flag("strict_patterns") or not settings.flag("redact"),
    )
    match door:
        case "goal":
            return replace(rules, default_excludes=False, depth=None, skip_file_bytes=None)
        case "agent":
            return replace(
                rules, default_excludes=False, hidden=True, depth=None, skip_file_bytes=None
            )
        case "pack" | "gather":
            return rules


class Verdict(Struct, frozen=True, gc=False):
    """Reason for which a name is excluded. `by_git`: git's rules decided alone. `ignored`: a
    built-in name rule decided, and an ignore rule of the project or the user excludes the name as
    well."""

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
    """The repository around a directory, and its index, read on first use. `offset` leads from its
    top to the scanned root (with a final slash), `start` from the root to its top."""

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
            found = read_tracked(self.repository, self.settings) if self.repository else git.NOTHING
            if isinstance(found, Problem):
                self.problem, found = found, git.NOTHING
            self._tracked = found
        return self._tracked

    def path(self, path: str) -> str:
        """Convert a path from the root to its spelling in the index."""
        return self.offset + path if self.offset else path[len(self.start) :]


NOWHERE: Final = Ground(None, "", "")


def _literal_start(glob: str) -> str:
    """Return the folders of a glob before its first wildcard. A glob without a slash has none: it
    matches at any depth."""
    if "/" not in glob.rstrip("/"):
        return ""
    literal = re.split(r"[*?\[{\\]", glob.lstrip("/"), maxsplit=1)[0]
    return literal[: literal.rfind("/") + 1] if literal != glob.lstrip("/") else literal


class Judge:
    """Decides names under one set of rules, with a cache of the decisions that depend on the name
    alone."""

    __slots__ = ("_directories", "_extensions", "_starts", "allow", "problems", "rules")

    def __init__(self, rules: ScanRules) -> None:
        self.rules = rules
        self.allow = GlobSet(rules.allow) if rules.allow else None
        self._starts = tuple(_literal_start(glob) for glob in rules.allow)
        self.problems: list[Problem] = []
        self._directories = frozenset(rules.excluded_directories)
        self._extensions = tuple(
            "." + one.lower().removeprefix(".") for one in rules.excluded_extensions
        )

    def allowed(self, path: str, directory: bool = False) -> bool:
        """Return whether the user's `allow` lifts built-in name rules from this path."""
        return self.allow is not None and self.allow.match(path, directory) is not None

    def allows_below(self, directory: str) -> bool:
        """Return whether `allow` may lift a path below this directory: by the literal start of a
        glob."""
        below = f"{directory}/"
        return any(start.startswith(below) or below.startswith(start) for start in self._starts)

    def opens_below(self, ground: Ground, closed: Verdict, directory: str) -> bool:
        """Return whether some file below a closed folder may pass, so that the folder is
        entered."""
        if closed.rule.source == "default" and self.allows_below(directory):
            return True
        if closed.by_name and self.rules.strict_patterns:
            return False
        tracked = closed.by_git or closed.by_name
        return tracked and ground.tracked().below(ground.path(directory))

    def is_vendored(self, closed: Verdict, prefix: str, names: Iterable[str]) -> bool:
        """Return whether a name in a closed dependency folder marks it as a copy of another
        project."""
        if closed.reason != "dependency_dir" or self.allows_below(prefix.rstrip("/")):
            return False
        return not VENDORED.isdisjoint(name.lower() for name in names)

    def passes(self, ground: Ground, verdict: Verdict, path: str) -> bool:
        """Return whether a file enters in spite of a verdict: `allow` names it, or git tracks it
        and its name is not one of generated files."""
        if verdict.rule.source == "default" and self.allowed(path):
            return True
        if verdict.by_name and (self.rules.strict_patterns or not handwritten(path)):
            return False
        tracked = verdict.by_git or verdict.by_name
        return tracked and ground.tracked().file(ground.path(path))

    def binding(
        self, node: Node, name: str, directory: bool, path: str, *, lifted: bool = False
    ) -> Verdict | None:
        """Apply the rules that hold even for a file that the user named; `lifted`: without name
        rules."""
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
        """Return why this name is excluded from a scan, or None; `lifted`: without built-in name
        rules. Uncached; see `walk`."""
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
        """Return the node with the ignore files of the directory `fd`, whose shown path is
        `prefix`."""
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
        """Return the rules that hold at the root before its own files: global, per repository, from
        parents."""
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
            ):  # the root is below a denied folder; naming it as the root lifts nothing
                source = deny_all(denial.source, denial.pattern, denial.line)
                node = node.with_sources([(os.path.basename(denial.source), source)])
        return node, ground

    def _from_parent(self, node: Node, folder: str, shown: str, fold: bool) -> Node:
        try:
            fd = fs.open(folder, DIRECTORY)
        except OSError:  # git does not read rules of a folder that is closed either
            return node
        try:
            present = IGNORE_NAMES.intersection(fs.listdir(fd))
            return self.files_in(node, fd, frozenset(present), shown, fold)
        except OSError:  # git does not read rules of a folder that is closed either
            return node
        finally:
            fs.close(fd)

    def enter_repository(
        self, node: Node, repository: git.Repository, start: str
    ) -> tuple[Node, Ground]:
        """Return the rules of a repository inside a plain folder."""
        ground = Ground(repository, "", start)
        ground.tracked()  # now, while the descriptor behind the repository's path is open
        return self._excludes(node, ground), ground

    def _excludes(self, node: Node, ground: Ground) -> Node:
        """Add the user's global excludes and the repository's info/exclude, weakest first."""
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
        """Read an excludes file that a repository's own configuration names, only if it is inside
        that repository."""
        from sutler.errors import SutlerError

        try:
            with Root(top) as root:
                found = root.read(root.relpath(named), 1 << 20)
        except SutlerError:
            return None
        return None if isinstance(found, Problem) else found.data
