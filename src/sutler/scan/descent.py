"""The walk down a tree: each folder is listed once, its files are decided by name, its folders
visited later.

The walk is iterative and holds descriptors, never path strings: each directory is opened relative
to its parent with O_NOFOLLOW, so that a directory that turns into a link cannot lead outside. Only
a window of ancestors stays open; the walk returns by `..` and checks that it arrives in the same
directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final

from sutler.scan import git
from sutler.scan.folders import (
    Findings,
    Frame,
    Listed,
    Row,
    climb,
    count_below,
    entered,
    key_of,
    listed,
    mounts_below,
)
from sutler.scan.ignore import IGNORE_NAMES, Node
from sutler.scan.judge import NOWHERE, Ground, Judge, Verdict
from sutler.scan.name_rules import resembles
from sutler.scan.root import DIRECTORY, Root, problem_of
from sutler.scan.snapshot import Excluded, Problem, Rule, ScanRules
from sutler.system import fs, offered

WINDOW: Final = 128  # open files are limited, to 256 on some systems, and trees may be deeper
PATH_LIMIT: Final = 1 << 16  # the walk could continue, but nothing else could open such a path
_UNSEEN: Final = object()
_PROC: Final = "descriptors" in offered and os.path.isdir("/proc/self/fd")


class Descent:
    """A walk down a tree, with its findings."""

    def __init__(self, root: Root, rules: ScanRules) -> None:
        self.root = root
        self.rules = rules
        self.judge = Judge(rules)
        self.by_name = (
            self.judge.allow is None
        )  # whether a name alone may decide, in whichever folder
        self.owner = fs.fstat(root.fd).st_uid
        self.found = Findings(rules, self.owner)
        self.directories = 0
        self.tell: Callable[[int], None] | None = None
        self.ruled: dict[str, tuple[Node, Ground]] = {}
        self.grounds: list[Ground] = []
        state = fs.fstat(root.fd)
        self.device = state.st_dev
        self.mounts = mounts_below(root.anchor) if rules.one_filesystem else frozenset[str]()
        self.root_key = (state.st_dev, state.st_ino)

    def problems(self) -> list[Problem]:
        more = [ground.problem for ground in self.grounds if ground.problem is not None]
        return [*self.found.problems, *self.judge.problems, *more]

    def top(self) -> Frame:
        if not self.grounds:
            self.ruled["/"] = self.judge.start(self.root)
            self.grounds.append(self.ruled["/"][1])
        return Frame(fs.dup(self.root.fd), self.root_key, *self.ruled["/"])

    def descend(self, frame: Frame, prefix: str) -> None:
        """Visit a directory and everything below it; close the frame's descriptor."""
        frame.prefix_length = len(prefix)
        stack = [frame]
        closed = 0  # frames below this index hold no descriptor
        if not self.fill(frame, prefix):
            frame.close()
            return
        while stack:
            frame = stack[-1]
            if not frame.todo:
                if problem := climb(stack, prefix, self.root.fd):
                    self.found.problems.append(problem)
                closed = min(closed, max(len(stack) - 1, 0))
                if stack:
                    prefix = prefix[: stack[-1].prefix_length]
                continue
            name = frame.todo.pop()
            child = self.enter(frame, name, prefix)
            if child is None:
                continue
            below = f"{prefix}{name}/"
            child.prefix_length = len(below)
            if not self.fill(child, below) or not child.todo:
                child.close()
                continue
            prefix = below
            stack.append(child)
            if len(stack) - closed > WINDOW:
                fs.close(stack[closed].fd)
                stack[closed].fd = -1
                closed += 1

    def enter(
        self, frame: Frame, name: str, prefix: str, *, alone: bool = False, named: bool = False
    ) -> Frame | None:
        """Open a directory that the rules admit, or record the rule that excludes it. Its files are
        listed too, except with `alone`."""
        path = prefix + name
        if named:
            verdict = self.judge.binding(frame.node, name, True, path)
        else:
            verdict = self.directory_verdict(frame, name, path)
        closed = self.enterable(frame, name, path, verdict, named=named)
        if closed is None:
            return None
        barred = None if named else self.barred(frame, path)
        if barred is not None:
            self.found.prune(frame.fd, name, path, barred)
            return None
        child = self.open(frame, name, path, alone)
        if child is not None:
            child.closed = closed
        return child

    def barred(self, frame: Frame, path: str) -> Verdict | None:
        """Return the verdict that closes a folder by something other than its name: a submodule,
        the depth."""
        if frame.ground.modules and frame.ground.tracked().link(frame.ground.path(path)):
            return Verdict("submodule", Rule("git", ".gitmodules"))
        if self.rules.depth is not None and frame.depth >= self.rules.depth:
            return Verdict("depth", Rule("depth", str(self.rules.depth)))
        return None

    def enterable(
        self, frame: Frame, name: str, path: str, verdict: Verdict | None, *, named: bool = False
    ) -> tuple[Verdict, ...] | None:
        """Return the verdicts that files below a folder must pass, or record the folder and return
        None if no file passes. If `allow` lifts a built-in name rule, the rules behind it decide
        too."""
        verdicts = [verdict] if verdict is not None else []
        if verdict is not None and verdict.rule.source == "default":
            rest = self.judge.binding if named else self.judge.verdict
            behind = rest(frame.node, name, True, path, lifted=True)
            verdicts += [behind] if behind is not None else []
        closed = (*verdicts, *frame.closed)
        for deciding in closed:
            if not self.judge.opens_below(frame.ground, deciding, path):
                self.found.prune(frame.fd, name, path, deciding)
                return None
        return closed

    def open(self, frame: Frame, name: str, path: str, alone: bool) -> Frame | None:
        if len(path) > PATH_LIMIT:
            self.found.problems.append(
                Problem(path[:200] + "…", "too_large", f"path longer than {PATH_LIMIT} characters")
            )
            return None
        content: Listed | None = None
        try:
            if alone:
                fd = fs.open(name, DIRECTORY, dir_fd=frame.fd)
                device, inode = key_of(fd)
            else:
                fd, device, inode, content = entered(
                    frame.fd, name, self.device if self.rules.one_filesystem else -1
                )
        except OSError as error:
            self.found.problems.append(problem_of(path, error))
            return None
        child = Frame(fd, (device, inode), frame.node.child(name), frame.ground)
        child.guarded = frame.guarded or resembles(name)
        if (device != self.device and self.rules.one_filesystem) or path in self.mounts:
            child.close()
            self.found.mounted(path + "/", 0)
            return None
        child.depth = frame.depth + 1
        child.listed = content
        return child

    def directory_verdict(self, frame: Frame, name: str, path: str) -> Verdict | None:
        node = frame.node
        if node.live or not self.by_name:
            return self.judge.verdict(node, name, True, path)
        verdict = node.directories.get(name, _UNSEEN)
        if verdict is _UNSEEN:
            verdict = node.directories[name] = self.judge.verdict(node, name, True, path)
        return verdict  # type: ignore[return-value]  # a Verdict or None; the sentinel is gone here

    def fill(self, frame: Frame, prefix: str) -> bool:
        """List a directory: decide its files now, queue its folders. False if it belongs to another
        repository."""
        try:
            folders, files, dotted = frame.listed or listed(frame.fd)
        except OSError as error:
            self.found.problems.append(problem_of(prefix.rstrip("/"), error))
            return False
        frame.listed = None
        if frame.closed and self.vendored(frame, prefix, [row[0] for row in files]):
            return False
        # Every ignore file begins with a dot, and so does `.git`.
        if dotted and not self.governed(frame, prefix, dotted, frame.depth > 0):
            return False
        self.directories += 1
        self.files(frame, prefix, files)
        if self.tell is not None:
            self.tell(len(self.found.entries))
        if folders:
            folders.sort(reverse=True)
            frame.todo = folders
        return True

    def governed(
        self, frame: Frame, prefix: str, names: Sequence[str], below: bool, named: bool = False
    ) -> bool:
        """Load the ignore files of a directory. False if it belongs to another repository, which
        the root itself (not `below`) never does."""
        if below and ".git" in names and not self.boundary(frame, prefix, named):
            return False
        if special := IGNORE_NAMES.intersection(names):
            frame.node = self.judge.files_in(
                frame.node, frame.fd, special, prefix, frame.ground.fold
            )
        return True

    def vendored(self, frame: Frame, prefix: str, names: Sequence[str]) -> bool:
        """Return whether a dependency folder is marked as a copy of another project; record it
        then."""
        for closed in frame.closed:
            if self.judge.is_vendored(closed, prefix, names):
                # A folder without subfolders is closed by now, and its names are complete.
                count, more = count_below(frame.fd) if frame.fd >= 0 else (len(names), False)
                self.found.excluded.append(
                    Excluded(prefix, closed.reason, closed.rule, count, more, closed.ignored)
                )
                return True
        return False

    def boundary(self, frame: Frame, prefix: str, named: bool = False) -> bool:
        """Return whether a `.git` below the root begins another repository, unless our own index
        tracks files there."""
        # Through the descriptor, so that a directory replaced by a link is not followed.
        here = f"/proc/self/fd/{frame.fd}" if _PROC else os.path.join(self.root.host_path, prefix)
        repository = git.repository_at(here)
        if repository is None:
            return True
        if frame.ground is NOWHERE or named:
            frame.node, frame.ground = self.judge.enter_repository(frame.node, repository, prefix)
            self.grounds.append(frame.ground)
            return True
        if frame.ground.tracked().below(frame.ground.path(prefix[:-1])):
            return True
        count, more = count_below(frame.fd)
        self.found.excluded.append(Excluded(prefix, "submodule", Rule("git", ".git"), count, more))
        return False

    def files(self, frame: Frame, prefix: str, rows: Sequence[Row]) -> None:
        """Decide the files of a folder; the hot loop has one dictionary look-up for each."""
        node, admit, mounts = frame.node, self.found.admit, self.mounts
        plain = self.by_name and not (node.live or frame.guarded)
        seen = node.files
        for name, state in rows:
            path = prefix + name
            if mounts and path in mounts:
                self.found.mounted(path)
                continue
            verdict = seen.get(name, _UNSEEN) if plain else _UNSEEN
            if verdict is _UNSEEN:
                verdict = self.file_verdict(frame, name, path, plain)
            if (verdict or frame.closed) and self.out(frame, verdict, path):  # type: ignore[arg-type]  # a Verdict
                continue
            if isinstance(state, OSError):
                self.found.problems.append(problem_of(path, state))
            else:
                admit(path, state)

    def file_verdict(self, frame: Frame, name: str, path: str, plain: bool) -> Verdict | None:
        verdict = self.judge.verdict(frame.node, name, False, path)
        if plain:
            frame.node.files[name] = verdict
        return verdict

    def out(self, frame: Frame, verdict: Verdict | None, path: str) -> bool:
        """Record an exclusion; False if the file passes its own verdict and its folder's."""
        for deciding in frame.closed if verdict is None else (verdict, *frame.closed):
            if not self.judge.passes(frame.ground, deciding, path):
                self.found.excluded.append(
                    Excluded(path, deciding.reason, deciding.rule, ignored=deciding.ignored)
                )
                return True
        return False
