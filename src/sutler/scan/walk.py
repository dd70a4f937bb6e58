"""A tree becomes a Snapshot: every path seen ends as an entry, an exclusion with its rule, or a
problem.

The walk is iterative and holds descriptors, never path strings: each directory is opened relative
to its parent with O_NOFOLLOW, so that a directory that turns into a link cannot lead outside. Only
a window of ancestors stays open; the walk comes back by `..` and checks that it arrives where it
left.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from typing import Final

from sutler.paths import RelPath
from sutler.scan import git
from sutler.scan.folders import (
    Frame,
    Listed,
    Row,
    count_below,
    entered,
    key_of,
    listed,
    mounts_below,
    reopened,
)
from sutler.scan.hard_links import UNKNOWN, names_by_inode
from sutler.scan.ignore import IGNORE_NAMES, Node
from sutler.scan.judge import NOWHERE, Findings, Ground, Judge, Verdict
from sutler.scan.name_rules import resembles
from sutler.scan.passing import is_vendored, opens_below, passes
from sutler.scan.root import DIRECTORY, Root, problem_of
from sutler.scan.snapshot import Excluded, FileEntry, Problem, Rule, ScanRules, Snapshot
from sutler.system import fs, offered

WINDOW: Final = 128
PATH_LIMIT: Final = 1 << 16
_UNSEEN: Final = object()
_PROC: Final = "descriptors" in offered and os.path.isdir("/proc/self/fd")


def scan(
    root: Root,
    rules: ScanRules,
    named: Sequence[RelPath] = (),
    tell: Callable[[int], None] | None = None,
) -> Snapshot:
    """Everything below the root, or only the named files and folders, sorted by path. `tell` is
    called with the number of files so far, once for each folder."""
    walk = Walk(root, rules)
    walk.tell = tell
    if named:
        for path in sorted(set(named)):
            walk.visit(path, named=True)
    else:
        walk.descend(walk.top(), "")
    walk.withhold_links()
    return walk.found.snapshot(walk.directories, walk.problems())


def explain(
    root: Root, rules: ScanRules, path: RelPath, *, named: bool = False
) -> FileEntry | Excluded | Problem:
    """What a scan decides about one path, by the same code. A directory that is entered comes back
    as an entry.
    """
    walk = Walk(root, rules)
    found = walk.visit(path, named=named, enter=False)
    walk.withhold_links()
    results: list[FileEntry | Excluded | Problem] = [
        *walk.found.entries,
        *walk.found.excluded,
        *walk.found.problems,
    ]
    return results[0] if results else found or Problem(path, "missing", "no such file")


class Walk:
    def __init__(self, root: Root, rules: ScanRules) -> None:
        self.root = root
        self.rules = rules
        self.judge = Judge(rules)
        self.by_name = not self.judge.allow  # whether a name alone may decide, in whichever folder
        self.owner = fs.fstat(root.fd).st_uid
        self.found = Findings(rules, self.owner)
        self.directories = 0
        self.tell: Callable[[int], None] | None = None
        self.known: dict[str, tuple[Node, Ground]] = {}
        self.grounds: list[Ground] = []
        state = fs.fstat(root.fd)
        self.device = state.st_dev
        self.mounts = mounts_below(root.anchor) if rules.one_filesystem else frozenset[str]()
        self.root_key = (state.st_dev, state.st_ino)

    def problems(self) -> list[Problem]:
        more = [ground.problem for ground in self.grounds if ground.problem is not None]
        return [*self.found.problems, *self.judge.problems, *more]

    def withhold_links(self) -> None:
        """Exclude each file that has another name below the root which a binding rule keeps out."""
        linked = frozenset(entry.inode for entry in self.found.entries if entry.links > 1)
        if not linked:
            return
        names = names_by_inode(self.root, linked)
        entries, self.found.entries = self.found.entries, []
        for entry in entries:
            if entry.links == 1 or (why := self.link_verdict(entry, names)) is None:
                self.found.entries.append(entry)
            else:
                rule = Rule("hard link", why)
                self.found.excluded.append(Excluded(entry.path, "hard_link", rule))

    def link_verdict(self, entry: FileEntry, names: dict[int, list[str]] | None) -> str | None:
        """Why a file with several names stays out: one of the others does, or they are unknown."""
        if names is None:
            return UNKNOWN
        for other in names.get(entry.inode, ()):
            if other == entry.path:
                continue
            probe = Walk(self.root, self.rules)
            probe.visit(other, named=True, enter=False)
            for item in probe.found.excluded:
                if item.reason in ("credentials", "ai_denied") or item.rule.source == "git":
                    return f"another name of a file that stays out: {item.reason}"
        return None

    # Going down ----------------------------------------------------------------------

    def top(self) -> Frame:
        if not self.grounds:
            self.known["/"] = self.judge.start(self.root)
            self.grounds.append(self.known["/"][1])
        return Frame(fs.dup(self.root.fd), self.root_key, *self.known["/"])

    def visit(self, path: str, *, named: bool, enter: bool = True) -> FileEntry | None:
        """Decide one path by walking down to it. A folder is scanned when `enter`, else given
        back.
        """
        self.found.several = True
        frame, prefix = self.top(), ""
        *heads, last = path.split("/")
        if not last:
            if enter:
                self.descend(frame, "")
            else:
                fs.close(frame.fd)
            return FileEntry(RelPath(""), 0, mode=0o040755, named=named)
        for name in heads:
            below = self.step(frame, name, prefix, path, named)
            fs.close(frame.fd)
            if below is None:
                return None
            frame = below
            prefix += name + "/"
        try:
            return self.arrive(frame, last, prefix, named, enter)
        finally:
            fs.close(frame.fd)

    def step(self, frame: Frame, name: str, prefix: str, path: str, named: bool) -> Frame | None:
        """One directory further towards a single path."""
        if not self.prepare(frame, prefix, named):
            return None
        try:
            mode = fs.stat(name, dir_fd=frame.fd, follow_symlinks=False).st_mode
        except OSError as error:
            self.found.absent(path, error)
            return None
        if not stat.S_ISDIR(mode):
            if stat.S_ISLNK(mode):
                self.found.unfit(prefix + name, mode, 0)
            else:
                self.found.problems.append(Problem(path, "missing", "no such file"))
            return None
        if not named:
            return self.enter(frame, name, prefix, alone=True)
        verdict = self.judge.binding(frame.node, name, True, prefix + name)
        closed = self.enterable(frame, name, prefix + name, verdict, named=True)
        child = self.open(frame, name, prefix + name, alone=True) if closed is not None else None
        if child is not None:
            child.closed = closed or ()
        return child

    def prepare(self, frame: Frame, prefix: str, named: bool) -> bool:
        """Load the rules of a directory on the way to a single path; remembered for the next
        one.
        """
        if prefix not in self.known:
            try:
                names = fs.listdir(frame.fd)
            except OSError as error:
                self.found.problems.append(problem_of(prefix.rstrip("/"), error))
                return False
            if frame.closed and self.vendored(frame, prefix, names):
                return False
            if prefix and ".git" in names and not self.boundary(frame, prefix, named):
                return False
            special = IGNORE_NAMES.intersection(names)
            if special:
                frame.node = self.judge.files_in(
                    frame.node, frame.fd, special, prefix, frame.ground.fold
                )
            self.known[prefix] = frame.node, frame.ground
        frame.node, frame.ground = self.known[prefix]
        return True

    def arrive(
        self, frame: Frame, name: str, prefix: str, named: bool, enter: bool
    ) -> FileEntry | None:
        if not self.prepare(frame, prefix, named):
            return None
        path = prefix + name
        try:
            state = fs.stat(name, dir_fd=frame.fd, follow_symlinks=False)
        except OSError as error:
            self.found.absent(path, error)
            return None
        if stat.S_ISDIR(state.st_mode):
            child = self.step(frame, name, prefix, path, named)
            if child is None:
                return None
            if enter:
                child.depth = 0
                self.descend(child, path + "/")
            else:
                fs.close(child.fd)
            return FileEntry(RelPath(path), 0, mode=state.st_mode, named=named)
        if path in self.mounts:
            self.found.excluded.append(Excluded(path, "mount_point", Rule("one_filesystem")))
            return None
        if named:
            verdict = self.judge.binding(frame.node, name, False, path)
        else:
            verdict = self.file_verdict(frame, name, path, False)
        if (verdict or frame.closed) and self.out(frame, verdict, path):
            return None
        self.found.admit(path, state, named)
        return None

    def descend(self, frame: Frame, prefix: str) -> None:
        """Visit a directory and everything below it. Takes over the frame's descriptor."""
        frame.prefix_length = len(prefix)
        stack = [frame]
        closed = 0  # frames below this index hold no descriptor
        if not self.fill(frame, prefix):
            frame.close()
            return
        while stack:
            frame = stack[-1]
            if not frame.todo:
                self.climb(stack, prefix)
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

    def climb(self, stack: list[Frame], prefix: str) -> None:
        """Leave the top frame; make sure that its parent is open again and is the same
        directory.
        """
        left = stack.pop()
        if stack and stack[-1].fd < 0:
            parent = stack[-1]
            where = prefix[: parent.prefix_length].rstrip("/")
            parent.fd = reopened(
                left.fd, parent.key, self.root.fd, where.split("/") if where else []
            )
            if parent.fd < 0:
                if parent.todo:
                    self.found.problems.append(
                        Problem(where, "vanished", "moved while it was scanned")
                    )
                parent.todo = []
                parent.fd = fs.dup(self.root.fd)
        left.close()

    def enter(self, frame: Frame, name: str, prefix: str, *, alone: bool = False) -> Frame | None:
        """Open a directory that the rules admit, or record why not. It is listed too, unless it is
        wanted `alone`.
        """
        path = prefix + name
        verdict = self.directory_verdict(frame, name, path)
        closed = self.enterable(frame, name, path, verdict)
        if closed is None:
            return None
        if frame.ground.modules and frame.ground.tracked().link(frame.ground.path(path)):
            self.found.prune(frame.fd, name, path, Verdict("submodule", Rule("git", ".gitmodules")))
            return None
        if self.rules.depth is not None and frame.depth >= self.rules.depth:
            self.found.prune(
                frame.fd, name, path, Verdict("depth", Rule("depth", str(self.rules.depth)))
            )
            return None
        child = self.open(frame, name, path, alone)
        if child is not None:
            child.closed = closed
        return child

    def enterable(
        self, frame: Frame, name: str, path: str, verdict: Verdict | None, *, named: bool = False
    ) -> tuple[Verdict, ...] | None:
        """The verdicts that files below a folder must pass, or None for a folder that none passes:
        it is recorded. Where a name rule is passed, the rules behind it decide too.
        """
        verdicts = [verdict] if verdict is not None else []
        if verdict is not None and verdict.rule.source == "default":
            rest = self.judge.binding if named else self.judge.verdict
            behind = rest(frame.node, name, True, path, lifted=True)
            verdicts += [behind] if behind is not None else []
        closed = (*verdicts, *frame.closed)
        for one in closed:
            if not opens_below(self.judge, frame.ground, one, path):
                self.found.prune(frame.fd, name, path, one)
                return None
        return closed

    def open(self, frame: Frame, name: str, path: str, alone: bool) -> Frame | None:
        if len(path) > PATH_LIMIT:
            self.found.problems.append(
                Problem(path[:200] + "…", "too_large", f"path longer than {PATH_LIMIT} characters")
            )
            return None
        found: Listed | None = None
        try:
            if alone:
                fd = fs.open(name, DIRECTORY, dir_fd=frame.fd)
                device, inode = key_of(fd)
            else:
                fd, device, inode, found = entered(
                    frame.fd, name, self.device if self.rules.one_filesystem else -1
                )
        except OSError as error:
            self.found.problems.append(problem_of(path, error))
            return None
        child = Frame(fd, (device, inode), frame.node.child(name), frame.ground)
        child.guarded = frame.guarded or resembles(name)
        if (device != self.device and self.rules.one_filesystem) or path in self.mounts:
            child.close()
            self.found.excluded.append(
                Excluded(path + "/", "mount_point", Rule("one_filesystem"), 0)
            )
            return None
        child.depth = frame.depth + 1
        child.listed = found
        return child

    def directory_verdict(self, frame: Frame, name: str, path: str) -> Verdict | None:
        node = frame.node
        if node.live or not self.by_name:
            return self.judge.verdict(node, name, True, path)
        found = node.directories.get(name, _UNSEEN)
        if found is _UNSEEN:
            found = node.directories[name] = self.judge.verdict(node, name, True, path)
        return found  # type: ignore[return-value]  # a Verdict or None; the sentinel is gone here

    # One directory ----------------------------------------------------------------------

    def fill(self, frame: Frame, prefix: str) -> bool:
        """List a directory: decide its files now, keep its folders for later. False when it is not
        ours.
        """
        try:
            folders, files, dotted = frame.listed or listed(frame.fd)
        except OSError as error:
            self.found.problems.append(problem_of(prefix.rstrip("/"), error))
            return False
        frame.listed = None
        if frame.closed and self.vendored(frame, prefix, [row[0] for row in files]):
            return False
        # Every ignore file begins with a dot, and so does `.git`.
        if frame.depth and ".git" in dotted and not self.boundary(frame, prefix):
            return False
        if dotted and (special := IGNORE_NAMES.intersection(dotted)):
            frame.node = self.judge.files_in(
                frame.node, frame.fd, special, prefix, frame.ground.fold
            )
        self.directories += 1
        self.files(frame, prefix, files)
        if self.tell is not None:
            self.tell(len(self.found.entries))
        if folders:
            folders.sort(reverse=True)
            frame.todo = folders
        return True

    def vendored(self, frame: Frame, prefix: str, names: Sequence[str]) -> bool:
        """Whether a dependency folder is marked as a copy of another project; record it then."""
        for closed in frame.closed:
            if is_vendored(self.judge, closed, prefix, names):
                # A folder without folders is closed by now, and its names are all there is.
                count, more = count_below(frame.fd) if frame.fd >= 0 else (len(names), False)
                self.found.excluded.append(
                    Excluded(prefix, closed.reason, closed.rule, count, more, closed.ignored)
                )
                return True
        return False

    def boundary(self, frame: Frame, prefix: str, named: bool = False) -> bool:
        """A `.git` below the root: another repository's ground, unless our own index tracks files
        there.
        """
        # Through the descriptor, so that a directory swapped for a link meanwhile is not followed.
        here = f"/proc/self/fd/{frame.fd}" if _PROC else os.path.join(self.root.host_path, prefix)
        found = git.repository_at(here)
        if found is None:
            return True
        if frame.ground is NOWHERE or named:
            frame.node, frame.ground = self.judge.enter_repository(frame.node, found, prefix)
            self.grounds.append(frame.ground)
            return True
        if frame.ground.tracked().below(frame.ground.path(prefix[:-1])):
            return True
        count, more = count_below(frame.fd)
        self.found.excluded.append(Excluded(prefix, "submodule", Rule("git", ".git"), count, more))
        return False

    def files(self, frame: Frame, prefix: str, rows: Sequence[Row]) -> None:
        """The hot loop: one dictionary look-up for each file."""
        node, found, limit = frame.node, self.found, self.rules.skip_file_bytes
        plain = self.by_name and not (node.live or frame.guarded)
        seen, mounts, owner, add = node.files, self.mounts, self.owner, found.entries.append
        for name, mode, size, mtime_ns, ctime_ns, inode, links, uid in rows:
            # A RelPath by construction; a call costs time here.
            path: RelPath = prefix + name  # type: ignore[assignment]
            if mounts and path in mounts:
                found.excluded.append(Excluded(path, "mount_point", Rule("one_filesystem")))
                continue
            verdict = seen.get(name, _UNSEEN) if plain else _UNSEEN
            if verdict is _UNSEEN:
                verdict = self.file_verdict(frame, name, path, plain)
            if (verdict or frame.closed) and self.out(frame, verdict, path):  # type: ignore[arg-type]  # a Verdict
                continue
            if mode & 0o170000 != 0o100000 or (limit is not None and size > limit):
                if mode:
                    found.unfit(path, mode, size)
                else:
                    found.problems.append(problem_of(path, OSError(size, "")))
                continue
            if links > 1 and uid != owner:
                found.foreign_link(path)
                continue
            add(FileEntry(path, size, mtime_ns, inode, mode, links, False, ctime_ns))

    def file_verdict(self, frame: Frame, name: str, path: str, plain: bool) -> Verdict | None:
        verdict = self.judge.verdict(frame.node, name, False, path)
        if plain:
            frame.node.files[name] = verdict
        return verdict

    def out(self, frame: Frame, verdict: Verdict | None, path: str) -> bool:
        """Record an exclusion; False if the file passes its own verdict and its folder's."""
        for deciding in frame.closed if verdict is None else (verdict, *frame.closed):
            if not passes(self.judge, frame.ground, deciding, path):
                self.found.excluded.append(
                    Excluded(path, deciding.reason, deciding.rule, ignored=deciding.ignored)
                )
                return True
        return False
