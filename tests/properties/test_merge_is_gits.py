"""Our merge judged by `git merge-file`: the same bytes where both are clean, and never clean where git conflicts."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sutler.stages.merge import merge
from tests.stores import FUZZ

Triple = tuple[bytes, bytes, bytes]


def _git(folder: Path, triple: Triple) -> tuple[bool, bytes]:
    for name, data in zip(("base", "ours", "theirs"), triple, strict=True):
        (folder / name).write_bytes(data)
    words = ["git", "merge-file", "-p", "-q", "ours", "base", "theirs"]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    return done.returncode == 0, done.stdout


def _generated(seed: int) -> Triple:
    rnd = random.Random(seed)
    words = [b"%d\n" % n for n in range(rnd.choice([3, 6, 30, 300]))] + [b"crlf\r\n", b"\xff\x0c\n"]
    base = [rnd.choice(words) for _ in range(rnd.randint(0, 60))]

    def edited() -> bytes:
        lines = list(base)
        for _ in range(rnd.randint(1, 4)):
            at = rnd.randint(0, len(lines))
            lines[at : at + rnd.randint(0, 3)] = [rnd.choice(words) for _ in range(rnd.randint(0, 3))]
        data = b"".join(lines)
        return data[:-1] if rnd.random() < 0.1 else data

    return b"".join(base), edited(), edited()


def _judge(folder: Path, triples: Iterator[Triple]) -> tuple[int, int]:
    """How many were clean for git, and how many of these we refused."""
    clean = refused = 0
    for triple in triples:
        ok, wanted = _git(folder, triple)
        found = merge(*triple)
        if not ok:
            assert found.clashes, triple
            continue
        clean += 1
        refused += bool(found.clashes)
        assert found.clashes or found.data == wanted, triple
    return clean, refused


def test_generated_triples(tmp_path: Path) -> None:
    clean, refused = _judge(tmp_path, (_generated(seed) for seed in range(int(400 * FUZZ))))
    assert clean >= 150 * FUZZ
    assert refused <= clean * 0.01


def _history(repository: str, count: int) -> Iterator[Triple]:
    """(base, ours, theirs) of files that both parents of a merge commit changed."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", repository, *words], capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace")

    def blob(name: str) -> bytes:
        words = ["git", "-C", repository, "cat-file", "blob", name]
        return subprocess.run(words, capture_output=True, check=False).stdout

    def changed(base: str, tip: str) -> dict[str, tuple[str, str]]:
        rows = git("diff-tree", "-r", "--no-renames", "--diff-filter=M", base, tip).splitlines()
        return {row.split("\t")[1]: (row.split()[2], row.split()[3]) for row in rows}

    merges = git("rev-list", "--merges", "--all", "-n", "20000").split()
    random.Random(1).shuffle(merges)
    left = count
    for commit in merges:
        parents = git("rev-parse", f"{commit}^1", f"{commit}^2").split()
        base = git("merge-base", *parents).strip() if len(parents) == 2 else ""
        if not base:
            continue
        ours, theirs = changed(base, parents[0]), changed(base, parents[1])
        for path in sorted(ours.keys() & theirs.keys()):
            triple = blob(ours[path][0]), blob(ours[path][1]), blob(theirs[path][1])
            if all(triple) and not any(b"\0" in data for data in triple) and left:
                left -= 1
                yield triple
        if not left:
            return


@pytest.mark.skipif(not os.environ.get("SUTLER_REAL_REPOS"), reason="SUTLER_REAL_REPOS names git directories")
def test_triples_from_history(tmp_path: Path) -> None:
    clean = refused = 0
    for repository in os.environ["SUTLER_REAL_REPOS"].split(os.pathsep):
        here = _judge(tmp_path, _history(repository, int(100 * FUZZ)))
        clean, refused = clean + here[0], refused + here[1]
    print(f"clean for git: {clean}, refused by us: {refused}")
    assert refused <= clean * 0.005 + 1
