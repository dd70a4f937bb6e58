"""Our merge judged by git's, on the history of real repositories: `python -m tests.merges COUNT
REPOSITORY…`.

A triple is a file that both parents of a merge commit changed since their base. Each repository
gives at most COUNT divided by the number of repositories, and the rest of what it lacks is taken
from the others.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from sutler.edits.merge import merge
from tests.limits import LIMIT, Lines

Triple = tuple[bytes, bytes, bytes]


class Tally(Struct):
    """`refused`: clean for git and not for us; `merged`: a conflict for git that we would have
    applied; `other`: both clean, with different bytes.
    """

    triples: int = 0
    clean: int = 0
    refused: int = 0
    other: int = 0
    merged: int = 0
    slowest: float = 0.0

    def add(self, more: Tally) -> None:
        for name in ("triples", "clean", "refused", "other", "merged"):
            setattr(self, name, getattr(self, name) + getattr(more, name))
        self.slowest = max(self.slowest, more.slowest)


def by_git(folder: Path, triple: Triple) -> tuple[bool, bytes]:
    for name, data in zip(("base", "ours", "theirs"), triple, strict=True):
        (folder / name).write_bytes(data)
    words = ["git", "merge-file", "-p", "-q", "ours", "base", "theirs"]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=LIMIT)
    return done.returncode == 0, done.stdout


def judge(folder: Path, triples: Iterable[Triple], kept: Path | None = None) -> Tally:
    """Hold each merge against git's; with `kept`, triples on which we differ are written there for
    a look.
    """
    tally = Tally()
    for triple in triples:
        clean, wanted = by_git(folder, triple)
        started = time.process_time()
        found = merge(*triple)
        tally.slowest = max(tally.slowest, time.process_time() - started)
        tally.triples += 1
        tally.clean += clean
        differs = ""
        if clean and found.clashes:
            tally.refused, differs = tally.refused + 1, "refused"
        elif clean and found.data != wanted:
            tally.other, differs = tally.other + 1, "other"
        elif not clean and not found.clashes:
            tally.merged, differs = tally.merged + 1, "merged"
        if differs and kept:
            case = kept / f"{differs}-{abs(hash(triple)) % 10**8}"
            case.mkdir(parents=True, exist_ok=True)
            for name, data in zip(("base", "ours", "theirs"), triple, strict=True):
                (case / name).write_bytes(data)
    return tally


class _Blobs:
    """Contents by name, from one long-lived process."""

    def __init__(self, repository: str) -> None:
        words = ["git", "-C", repository, "cat-file", "--batch"]
        self._child = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._out = Lines(self._child.stdout)

    def get(self, name: str) -> bytes:
        assert self._child.stdin
        self._child.stdin.write(f"{name}\n".encode())
        self._child.stdin.flush()
        head = self._out.line().split()
        if len(head) < 3:
            return b""
        return self._out.take(int(head[2]) + 1)[:-1]

    def close(self) -> None:
        self._child.communicate(timeout=LIMIT)


def history(repository: str, count: int) -> Iterator[Triple]:
    """(base, ours, theirs) of files that both parents of a merge commit changed, at most eight of
    one commit.
    """

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", repository, *words], capture_output=True, check=False, timeout=LIMIT
        )
        return done.stdout.decode("utf-8", "replace")

    def changed(base: str, tip: str) -> dict[str, tuple[str, str]]:
        rows = git("diff-tree", "-r", "--no-renames", "--diff-filter=M", base, tip).splitlines()
        return {row.split("\t")[1]: (row.split()[2], row.split()[3]) for row in rows}

    merges = git("rev-list", "--merges", "--all", "-n", "20000").split()
    random.Random(1).shuffle(merges)
    blobs = _Blobs(repository)
    try:
        for commit in merges:
            parents = git("rev-parse", f"{commit}^1", f"{commit}^2").split()
            base = git("merge-base", *parents).strip() if len(parents) == 2 else ""
            if not base:
                continue
            ours, theirs = changed(base, parents[0]), changed(base, parents[1])
            for path in sorted(ours.keys() & theirs.keys())[:8]:
                triple = (
                    blobs.get(ours[path][0]),
                    blobs.get(ours[path][1]),
                    blobs.get(theirs[path][1]),
                )
                if (
                    len(set(triple)) == 3
                    and all(triple)
                    and not any(b"\0" in data for data in triple)
                ):
                    yield triple
                    count -= 1
                    if not count:
                        return
    finally:
        blobs.close()


def main(words: list[str]) -> None:
    count, repositories = int(words[0]), words[1:]
    total, kept = Tally(), Path(tempfile.mkdtemp(prefix="merges-"))
    with tempfile.TemporaryDirectory() as folder:
        for left in range(len(repositories), 0, -1):
            repository = repositories[len(repositories) - left]
            share = max(1, (count - total.triples) // left)
            found = judge(Path(folder), history(repository, share), kept)
            total.add(found)
            print(f"{Path(repository).parent.name}: {found}", flush=True)
    print(f"all: {total}\ndiffering triples are in {kept}")


if __name__ == "__main__":
    main(sys.argv[1:])
