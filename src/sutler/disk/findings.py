"""What a walk gathers on its way: entries, exclusions, problems."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from sutler.disk.descriptors import count_below, kind_of
from sutler.disk.judge import Verdict
from sutler.disk.root import DIRECTORY, problem_of
from sutler.values.paths import RelPath
from sutler.values.snapshot import Excluded, FileEntry, Problem, Rule, ScanRules, Snapshot

_BY_PATH: Final = attrgetter("path")


class Findings:
    __slots__ = ("entries", "excluded", "limit", "owner", "problems", "several")

    def __init__(self, rules: ScanRules, owner: int) -> None:
        self.limit = rules.skip_file_bytes
        self.owner = owner  # of the root: a linked file of somebody else is not taken for the project's
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
        entry = FileEntry(RelPath(path), size, times[0], state.st_ino, mode, state.st_nlink, named, times[1])
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
        """A file that has another name somewhere and belongs to somebody else: it may be anything of theirs."""
        self.excluded.append(Excluded(path, "hard_link", Rule("hard link", "owned by another user than the folder")))

    def prune(self, fd: int, name: str, path: str, verdict: Verdict) -> None:
        """A directory that is not entered: one exclusion, with a count of the files below it."""
        count, more = 0, False
        try:
            below = os.open(name, DIRECTORY, dir_fd=fd)
        except OSError:
            pass
        else:
            count, more = count_below(below)
            os.close(below)
        self.excluded.append(Excluded(path + "/", verdict.reason, verdict.rule, count, more))

    def absent(self, path: str, error: OSError) -> None:
        """A path that somebody asked for: nothing was there to begin with, so nothing vanished."""
        found = problem_of(path, error)
        self.problems.append(Problem(path, "missing", "no such file") if found.kind == "vanished" else found)
