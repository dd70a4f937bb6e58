"""Policy decisions about a path for one caller, with all that they depend on in the tree.

The policy itself is pure. This part reads the tree: ignore files, and the other names of a file
with hard links. `sutler why PATH --for agent` queries the same object as the tools.

The ignore status of a path does not depend on whether the path exists, since a refusal must not
reveal that. The walk down reads only ignore files, through descriptors; below the last existing
folder, the rules read so far decide."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

import msgspec

from sutler.access.link_names import LinkNames
from sutler.access.policy import Rules, decide
from sutler.errors import RefusedError
from sutler.paths import RelPath, quote, unquote
from sutler.scan.ignore import IGNORE_NAMES, Node
from sutler.scan.judge import Ground as Repository
from sutler.scan.judge import Judge
from sutler.scan.root import DIRECTORY, Root
from sutler.scan.snapshot import FileEntry, ScanRules
from sutler.scan.walk import names_by_inode
from sutler.store.records import Call, Caller, Decision, IgnoreStatus
from sutler.system import fs

T = TypeVar("T")

MOMENT = 0.25
"""Seconds after which the repository, the user's own ignore rules and the folders above are read
again. Ignore files inside the project are read with every call."""


class Watched(Generic[T]):
    """A value derived from files, derived again after one of them has changed, by their stat data
    alone. `paths` are those that the value depends on, absent files included."""

    def __init__(self, paths: Callable[[], Iterable[str]], load: Callable[[], T]) -> None:
        self._find, self._load = paths, load
        self._paths: tuple[str, ...] = ()
        self._marks: tuple[object, ...] | None = None
        self._value: T

    def __call__(self) -> T:
        marks = tuple(map(_mark, self._paths))
        if self._marks is None or marks != self._marks or _YOUNG in marks:
            self._marks = None  # nothing holds while loading fails
            self._paths = tuple(dict.fromkeys(self._find()))
            # Marks before the load: a file that changes meanwhile is loaded again next time.
            marks = tuple(map(_mark, self._paths))
            self._value = self._load()
            self._marks = marks
        return self._value


_YOUNG = "young"


def _mark(path: str) -> object:
    """Return a file's stat key, which changes with its content. A file that changed within the last
    tick of the file system's clock may change again with the same times: it has no key yet."""
    try:
        state = fs.stat(path)
    except OSError as error:
        # That a file is absent is a state too, and a reason to read again when it changes.
        return error.errno
    except ValueError:  # a NUL in a configured path names no file
        return None
    whole_seconds = not state.st_ctime_ns % 1_000_000_000
    age = time.time_ns() - state.st_ctime_ns
    if 0 <= age < (_OLD if whole_seconds else _TICK):
        return _YOUNG
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


class Admission:
    """Decides about paths of one root for one caller, under the rules in force at each call."""

    def __init__(
        self,
        root: Root,
        scan: ScanRules,
        rules: Callable[[], Rules],
        caller: Callable[[], Caller],
        clean_name: Callable[[str], str] = str,
    ) -> None:
        """`clean_name`: redacts a name."""
        self._root = root
        self._scan = scan
        self._clean_name = clean_name
        self._rules = rules
        self._caller = caller
        self._ground: tuple[float, Ground] | None = None
        self._links = LinkNames(root)

    def relpath(self, raw: str) -> RelPath:
        """Parse an argument as a path. The quoted form in listings is accepted, and decoded
        once."""
        spelt = unquote(raw) if len(raw) > 1 and raw[0] == raw[-1] == '"' else raw
        path = self._root.relpath(spelt)
        name = quote(path)
        if self._clean_name(name) != name:
            raise RefusedError(
                "the path itself seems to hold a secret",
                rule="nothing secret leaves in a name",
            )
        return path

    def decision(self, path: RelPath) -> Decision:
        """Decide whether the caller may read the file at `path`, and by which rule, at no cost."""
        return self._decide(path, self.ignore_status(path))

    def ignore_status(self, path: RelPath) -> IgnoreStatus:
        """Return the ignore status of a path, or that it is another name of a denied file."""
        state = _state(self._root, path) if path else None
        if state is not None and self.linked(path, state):
            return "hard_link"
        return self._ignore_status(path)

    def linked(self, path: RelPath, state: os.stat_result) -> bool:
        """Return whether a file with several names has another one that is denied or unknown."""
        if state.st_nlink == 1 or not stat.S_ISREG(state.st_mode):
            return False
        names = self._links.of(state)
        return names is None or self._denied_among(names, path)

    def readable(self, entries: Iterable[FileEntry]) -> list[FileEntry]:
        """Return those files that the caller may read without an approval, in their order. A scan
        has applied the ignore files already."""
        allowed = [entry for entry in entries if self._decide(entry.path).verdict == "allow"]
        linked = frozenset(entry.inode for entry in allowed if entry.links > 1)
        if not linked:
            return allowed
        names = names_by_inode(self._root, linked)
        if names is None:
            return [entry for entry in allowed if entry.links == 1]
        return [
            entry
            for entry in allowed
            if entry.links == 1 or not self._denied_among(names.get(entry.inode, ()), entry.path)
        ]

    def _decide(self, path: RelPath, ignore_status: IgnoreStatus = "open") -> Decision:
        call = Call(id="", tool="read_file", effect="read", path=path, ignore_status=ignore_status)
        return decide(call, self._rules(), self._caller())

    def _denied_among(self, names: Iterable[str], path: RelPath) -> bool:
        others = (RelPath(name) for name in names if name != path)
        return any(
            self._decide(other, self._ignore_status(other)).verdict == "deny" for other in others
        )

    def _ignore_status(self, path: RelPath) -> IgnoreStatus:
        now = time.monotonic()
        if self._ground is None or now - self._ground[0] > MOMENT:
            self._ground = now, ground(self._root, self._scan)
        return ignore_status(self._root, self._scan, path, self._ground[1])


def _state(root: Root, path: RelPath) -> os.stat_result | None:
    try:
        fd = root.open(path, fs.O_PATH | fs.O_NOFOLLOW | fs.O_CLOEXEC)
    except (OSError, ValueError):  # an unreadable path is judged by its name
        return None
    try:
        return fs.fstat(fd)
    finally:
        fs.close(fd)


class Ground(NamedTuple):
    """Surroundings of a root: the rules that hold before its own ignore files, and its
    repository."""

    judge: Judge
    node: Node
    repository: Repository


def ground(root: Root, rules: ScanRules) -> Ground:
    # The built-in exclusions concern the contents of a pack, not the right to read.
    judge = Judge(msgspec.structs.replace(rules, default_excludes=False, hidden=True))
    return Ground(judge, *judge.start(root))


def ignore_status(
    root: Root, rules: ScanRules, path: RelPath, here: Ground | None = None
) -> IgnoreStatus:
    """Return the ignore status of a path: AI denials always bind; other ignore rules make it
    `ignored` unless git tracks it."""
    if not path:
        return "open"
    judge, node, ground_here = here or ground(root, rules)
    fd, prefix, ignored, by_git = fs.dup(root.fd), "", False, True
    parts = path.split("/")
    try:
        for depth, name in enumerate(parts, 1):
            if fd >= 0 and (present := _present(fd)):
                node = judge.files_in(node, fd, present, prefix, ground_here.fold)
            last = depth == len(parts)
            directory = not last or _is_directory(fd, name)
            bound = judge.binding(node, name, directory, prefix + name)
            if bound is not None and bound.reason == "ai_denied":
                return "ai_denied"
            verdict = judge.verdict(node, name, directory, prefix + name) if bound is None else None
            if verdict is not None and verdict.reason == "ignored":
                ignored, by_git = True, by_git and verdict.by_git
            if not last:
                node, prefix, fd = node.child(name), f"{prefix}{name}/", _step(fd, name)
    finally:
        if fd >= 0:
            fs.close(fd)
    if ignored and by_git and ground_here.tracked().file(ground_here.path(path)):
        return "open"
    return "ignored" if ignored else "open"


def _present(fd: int) -> frozenset[str]:
    """Return the ignore files in a directory, looked up by name, since a listing could have a
    hundred thousand names. The result is cached by the directory's time of change, once that is old
    enough to trust."""
    state = fs.fstat(fd)
    place, changed = (state.st_dev, state.st_ino), state.st_ctime_ns
    cached = _seen.get(place)
    if cached is not None and cached[0] == changed:
        return cached[1]
    present = frozenset(
        name for name in _NAMES if fs.access(name, os.F_OK, dir_fd=fd, follow_symlinks=False)
    )
    if time.time_ns() - changed > _OLD:
        if len(_seen) > _MANY:
            _seen.clear()
        _seen[place] = changed, present
    else:
        _seen.pop(place, None)
    return present


_NAMES = tuple(sorted(IGNORE_NAMES))
_OLD = 2_000_000_000  # nanoseconds; the coarsest time of a file system
_TICK = 20_000_000  # nanoseconds; above the tick of clocks that stamp files with fractions
_MANY = 4_096  # a server for many projects must not keep every folder it ever met
_seen: dict[tuple[int, int], tuple[int, frozenset[str]]] = {}


def _is_directory(fd: int, name: str) -> bool:
    if fd < 0:
        return False
    try:
        return stat.S_ISDIR(fs.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except (OSError, ValueError):  # a name that no file system accepts is no folder
        return False


def _step(fd: int, name: str) -> int:
    if fd < 0:
        return fd
    try:
        return fs.open(name, DIRECTORY, dir_fd=fd)
    except (OSError, ValueError):  # the rules read so far still decide
        return -1
    finally:
        fs.close(fd)
