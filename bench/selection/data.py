"""Instances, trees and facts for the selection bench, read from bare git mirrors with object
plumbing.

Facts are kept by blob id and extension in one SQLite file, so that the second run over a thousand
trees of one project costs nothing but the changed files.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from sutler.languages.extract import extract
from sutler.languages.facts import Facts
from sutler.languages.table import facts_version
from sutler.paths import basename, extension
from sutler.scan.commits import Commit, read_commits

MAX_BLOB = 1_000_000


class Gold(msgspec.Struct, frozen=True):
    path: str
    status: str
    old: list[list[int]] = []


class Instance(msgspec.Struct, frozen=True):
    id: str
    split: str
    repo: str
    base_commit: str
    query: str
    gold: list[Gold]

    @property
    def wanted(self) -> list[Gold]:
        """Gold files that exist in the base tree."""
        return [gold for gold in self.gold if gold.status != "A"]


class Blob(NamedTuple):
    id: str
    size: int


def load_instances(path: str) -> list[Instance]:
    with open(path, "rb") as file:
        return [msgspec.json.decode(line, type=Instance) for line in file]


def stratified(instances: list[Instance], size: int) -> list[Instance]:
    """About `size` instances, the same ones every time: from each repository in proportion, evenly
    spaced by id.
    """
    if size <= 0 or size >= len(instances):
        return instances
    by_repo: dict[tuple[str, str], list[Instance]] = {}
    for instance in instances:
        by_repo.setdefault((instance.split, instance.repo), []).append(instance)
    chosen: list[Instance] = []
    for key in sorted(by_repo):
        group = sorted(by_repo[key], key=lambda instance: instance.id)
        share = max(1, round(len(group) * size / len(instances)))
        chosen += [group[i * len(group) // share] for i in range(share)]
    return chosen


def mirror_of(repos: str, repo: str) -> str:
    return os.path.join(repos, repo.replace("/", "+"), "repo")


def list_tree(git_dir: str, commit: str) -> dict[str, Blob]:
    """Regular files of a commit up to the size cap, by path."""
    words = ["git", "--git-dir", git_dir, "ls-tree", "-r", "-l", "-z", commit]
    out = subprocess.run(words, capture_output=True, check=True, timeout=600).stdout
    tree: dict[str, Blob] = {}
    for entry in out.split(b"\0"):
        if entry:
            meta, path = entry.split(b"\t", 1)
            mode, kind, blob, size = meta.split()
            if kind == b"blob" and mode != b"120000" and size.isdigit() and int(size) <= MAX_BLOB:
                tree[path.decode("utf-8", "surrogateescape")] = Blob(blob.decode(), int(size))
    return dict(sorted(tree.items()))


class Blobs:
    """Contents by id, through one `cat-file --batch` that stays open."""

    def __init__(self, git_dir: str) -> None:
        words = ["git", "--git-dir", git_dir, "cat-file", "--batch"]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, blob: str) -> bytes | None:
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        asked.write(blob.encode() + b"\n")
        asked.flush()
        header = answered.readline().split()
        if header[1] == b"missing":
            return None
        data = answered.read(int(header[2]))
        answered.read(1)
        return data

    def close(self) -> None:
        self._process.communicate(timeout=600)


def read_blobs(git_dir: str, wanted: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Those of these blobs that are there, in order."""
    blobs = Blobs(git_dir)
    try:
        for blob in wanted:
            data = blobs.read(blob)
            if data is not None:
                yield blob, data
    finally:
        blobs.close()


def text_of(raw: bytes) -> str | None:
    return None if b"\0" in raw[:8192] else raw.decode("utf-8", "replace")


class FactsCache:
    """Facts by blob and extension, on disk."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, timeout=120)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID"
        )
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(Facts)

    @staticmethod
    def key(path: str, blob: Blob) -> str:
        return f"{blob.id}.{extension(path) or basename(path)}.{facts_version()}"

    def facts(self, git_dir: str, files: Sequence[tuple[str, Blob]]) -> list[Facts]:
        """The facts of these text files, extracted where they are missing."""
        keys = [self.key(path, blob) for path, blob in files]
        held = self._load(keys)
        missing = [i for i, key in enumerate(keys) if key not in held]
        raws = read_blobs(git_dir, [files[i][1].id for i in missing])
        fresh: list[tuple[str, bytes]] = []
        for i, (_, raw) in zip(missing, raws, strict=True):
            held[keys[i]] = extract(files[i][0], text_of(raw) or "")
            fresh.append((keys[i], self._encoder.encode(held[keys[i]])))
        with self._db:  # one short transaction, so that two runs may fill one cache
            self._db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", fresh)
        return [held[key] for key in keys]

    def _load(self, keys: Sequence[str]) -> dict[str, Facts]:
        held: dict[str, Facts] = {}
        for i in range(0, len(keys), 500):
            part = keys[i : i + 500]
            marks = ",".join("?" * len(part))
            query = f"SELECT key, data FROM facts WHERE key IN ({marks})"  # noqa: S608  # question marks only
            rows = self._db.execute(query, part)
            held.update((key, self._decoder.decode(data)) for key, data in rows)
        return held


def read_history(
    git_dir: str, commit: str, cache: dict[str, Commit], limit: int = 3_000
) -> tuple[Commit, ...]:
    """The commits before and at `commit`, newest first; `cache` is shared by the instances of one
    project.
    """
    words = ["git", "--git-dir", git_dir, "rev-list", f"--max-count={limit}", commit]
    ids = subprocess.run(
        words, capture_output=True, check=True, text=True, timeout=600
    ).stdout.split()
    missing = [id_ for id_ in ids if id_ not in cache]
    if missing:
        cache.update((found.id, found) for found in read_commits(git_dir, missing))
    return tuple(cache[id_] for id_ in ids if id_ in cache)
