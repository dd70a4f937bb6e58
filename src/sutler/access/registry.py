"""The registry: facts of every file without opening it again, and the documents that a session
begins with."""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct

from sutler.access.door import Door
from sutler.access.large_files import HASHED
from sutler.access.policy import sensitivity
from sutler.errors import SutlerError
from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.root import Reader
from sutler.scan.snapshot import FileEntry, Problem
from sutler.store.records import Reading, RegistryRow, version_id
from sutler.store.sql import Store

ENTRY_DOCUMENTS = (
    "AGENTS.md", "CLAUDE.md", "README.md", "README.rst", "README.txt", "README", "pyproject.toml",
    "package.json", "Cargo.toml", "go.mod", "pom.xml", "build.gradle", "build.gradle.kts",
    "composer.json", "Gemfile", "mix.exs", "CMakeLists.txt", "deno.json", "setup.py",
)  # fmt: skip
"""Documents that a newcomer reads first, in that order."""

MAX_DOCUMENTS = 6  # the first answer stays small enough for every start
EXCERPT_LINES = 40  # an agent reads on where it needs more


class Opening(Struct, frozen=True):
    """Start of a session: the size of the project, and the beginnings of its entry documents."""

    files: int
    bytes: int
    changed: int
    documents: tuple[Reading, ...]
    tools: tuple[str, ...] = ()


def refresh(door: Door) -> tuple[tuple[RegistryRow, ...], int]:
    """Update the registry from the tree; return all rows, and the number of changes. Only changed
    files are read."""
    store = door.gate.store
    rows_before = {row.path: row for row in store.registry()}
    entries = door.readable(door.snapshot().entries)
    fresh: list[RegistryRow] = []
    with door.root.reader() as reader:
        for entry in entries:
            row = rows_before.get(entry.path)
            if row is None or (row.size, row.mtime_ns) != (entry.size, entry.mtime_ns):
                fresh.append(_row(reader, entry, door.gate.rules.allow))
    present = {entry.path for entry in entries}
    gone = [path for path in rows_before if path not in present]
    _update(store, fresh, gone)
    rows = {**rows_before, **{row.path: row for row in fresh}}
    return tuple(rows[entry.path] for entry in entries), len(fresh) + len(gone)


def _update(store: Store, fresh: list[RegistryRow], gone: list[RelPath]) -> None:
    """Store rows in batches, so that a first session on a large tree does not block other callers'
    ledger rows for long."""
    for start in range(0, len(fresh), 2_000):
        store.update_registry(fresh[start : start + 2_000])
    store.update_registry((), gone)


def _row(reader: Reader, entry: FileEntry, allow: tuple[str, ...]) -> RegistryRow:
    blob = reader.read(entry.path, HASHED)
    digest = "" if isinstance(blob, Problem) else sha256(blob.data).hexdigest()
    facts = facts_of(entry.path)
    return RegistryRow(
        entry.path,
        entry.size,
        digest,
        entry.mtime_ns,
        version_id(digest),
        (facts.tag,),
        sensitivity(entry.path, allow),
        facts.language,
    )


def opening(door: Door, tools: tuple[str, ...] = ()) -> Opening:
    """Refresh the registry and excerpt the entry documents, each read through the gate."""
    rows, changed = refresh(door)
    present = {row.path for row in rows}
    documents: list[Reading] = []
    for name in ENTRY_DOCUMENTS:
        if name in present and len(documents) < MAX_DOCUMENTS:
            try:
                documents.append(door.get_excerpt(name, EXCERPT_LINES))
            except SutlerError:
                # denied or unreadable: recorded by the gate, and the session starts without it
                continue
    return Opening(len(rows), sum(row.size for row in rows), changed, tuple(documents), tools)
