"""Perform a unit of work: compute rows of the dataset's tables from one tree of one repository.

The tree is exported from git's objects into a private folder and opened as a Project, so that the
same rules apply as for every other command. Facts are stored by blob: a blob that another commit or
fork shares is not parsed or redacted again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from sutler import config
from sutler.errors import UsageError
from sutler.fleet import search
from sutler.fleet.catalogue import Repository, tree_of_head
from sutler.fleet.export import export
from sutler.fleet.queue import Queue, Unit
from sutler.formats.document import CleanText
from sutler.pack.project import Project
from sutler.paths import wire_path
from sutler.scan.classify import facts_of
from sutler.scan.objects import Blob
from sutler.scan.root import Reader
from sutler.scan.snapshot import FileEntry, Problem
from sutler.scan.text import decode
from sutler.version import VERSION

Rows = dict[str, list[dict[str, Any]]]
"""Rows by the name of their table."""

_KEPT_AT_ONCE = 200
MOST_SYMBOLS = 200_000
"""Maximum number of symbols per repository in the dataset; beyond it the code is generated."""


class Findings(Struct, frozen=True, array_like=True):
    """Findings of one blob, masked: (rule, line, confidence)."""

    rows: tuple[tuple[str, int, float], ...]


def version_of_work() -> str:
    """Return the version of everything that determines results: sutler, languages, secret rules."""
    from sutler.languages.table import facts_version
    from sutler.secrets.format_table import rules_digest

    return f"{VERSION}-{facts_version():x}-{rules_digest()[:12]}"


def policy_digest(settings: config.Settings) -> str:
    """Return the digest of the settings that apply to trees."""
    values = {name: value for name, value in settings.values.items() if name != "project"}
    return sha256(msgspec.json.encode(values, order="sorted")).hexdigest()[:16]


def units_of(
    repositories: Iterable[Repository], kinds: Iterable[str], settings: config.Settings
) -> Iterator[Unit]:
    """Yield the units for the current trees."""
    kinds, version, policy = tuple(kinds), version_of_work(), policy_digest(settings)
    for repository in repositories:
        tree = tree_of_head(repository.source)
        if not tree:
            continue
        for kind in kinds:
            words = (repository.name, tree, kind, version, policy)
            key = sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:32]
            yield Unit(key, *words)


class Tree:
    """An exported tree: its Project, and the blob of each file."""

    def __init__(self, folder: str, blobs: Mapping[str, Blob], settings: config.Settings) -> None:
        self.project = Project(folder, settings=settings)
        self.blobs = blobs

    def admitted(self) -> Iterator[tuple[FileEntry, str]]:
        """Yield the files that the scan admits, with the ids of their blobs, sorted by path."""
        for entry in self.project.scan().entries:
            blob = self.blobs.get(entry.path)
            if blob is not None and wire_path(entry.path) == entry.path:
                yield entry, blob.id


def perform(unit: Unit, source: str, folder: str, queue: Queue) -> Rows:
    """Compute the rows of a unit. `folder` is empty and private."""
    kinds: dict[str, Callable[[Unit, Tree, Queue], Rows]] = {
        "index": _index,
        "secrets": _secrets,
        "survey": _survey,
        "pack": _pack,
    }
    if unit.kind not in kinds:
        raise UsageError(f"no kind of work is called {unit.kind!r}", next_step=f"use {KINDS}")
    settings = config.resolve([config.layer_from_environment(os.environ)])
    blobs = export(source, unit.tree, folder)
    rows = kinds[unit.kind](unit, Tree(folder, blobs, settings), queue)
    count = sum(map(len, rows.values()))
    rows["runs"] = [
        {
            "repo": unit.repo,
            "tree": unit.tree,
            "kind": unit.kind,
            "version": unit.version,
            "policy": unit.policy,
            "files": len(blobs),
            "rows": count,
        }
    ]
    return rows


KINDS = ("index", "secrets", "survey", "pack")


def _index(unit: Unit, tree: Tree, queue: Queue) -> Rows:
    from sutler.languages.extract import extract
    from sutler.ranking.index import bag_of, indexed_part

    files: list[dict[str, Any]] = []
    symbols: list[dict[str, Any]] = []
    imports: list[dict[str, Any]] = []

    def facts(path: str, text: CleanText) -> bytes:
        bag = bag_of(path, indexed_part(path, text.text))
        return msgspec.msgpack.encode(search.Indexed(extract(path, text.text), bag))

    decoder = msgspec.msgpack.Decoder(search.Indexed)
    indexed: list[tuple[str, str, search.Indexed]] = []
    for entry, blob, body in _by_blob(tree, queue, "facts", unit.version, facts):
        what, stored = facts_of(entry.path), decoder.decode(body)
        file_facts = stored.facts
        indexed.append((entry.path, blob, stored))
        place = {"repo": unit.repo, "tree": unit.tree, "path": entry.path}
        files.append(
            place
            | {
                "blob": blob,
                "size": entry.size,
                "language": file_facts.language,
                "category": what.category,
                "lines": file_facts.lines,
                "status": file_facts.status,
            }
        )
        symbols += [
            place
            | {
                "name": symbol.name,
                "kind": symbol.kind,
                "start": symbol.start,
                "end": symbol.end,
                "signature": symbol.signature,
            }
            for symbol in file_facts.symbols[: MOST_SYMBOLS - len(symbols)]
        ]
        imports += [
            place | {"text": item.text, "line": item.line, "targets": " ".join(item.targets)}
            for item in file_facts.imports
        ]
    search.keep(unit, indexed, queue)
    return {"files": files, "symbols": symbols, "imports": imports}


def _secrets(unit: Unit, tree: Tree, queue: Queue) -> Rows:
    def findings(_path: str, text: CleanText) -> bytes:
        rows = tuple((item.rule, item.line, item.confidence) for item in text.findings)
        return msgspec.msgpack.encode(Findings(rows))

    decoder = msgspec.msgpack.Decoder(Findings)
    rows = [
        {
            "repo": unit.repo,
            "tree": unit.tree,
            "path": entry.path,
            "rule": rule,
            "line": line,
            "confidence": confidence,
        }
        for entry, _, body in _by_blob(tree, queue, "findings", unit.version, findings)
        for rule, line, confidence in decoder.decode(body).rows
    ]
    return {"findings": rows}


def _survey(unit: Unit, tree: Tree, _queue: Queue) -> Rows:
    pack = tree.project.summary_pack()
    manifest = pack.manifest

    def text(value: object) -> str:
        return msgspec.json.encode(value).decode()

    row = {
        "repo": unit.repo,
        "tree": unit.tree,
        "project_type": manifest.project_type,
        "purpose": manifest.purpose_guess,
        "dependencies": text(manifest.dependencies),
        "entry_points": text(manifest.entry_points),
        "key_files": text(pack.key_files_summary),
        "hotspots": text(pack.risk_hotspots),
    }
    return {"surveys": [row]}


def _pack(unit: Unit, tree: Tree, _queue: Queue) -> Rows:
    pack = tree.project.pack()
    text = pack.text()
    row = {
        "repo": unit.repo,
        "tree": unit.tree,
        "files": len(pack.report.shown),
        "tokens": pack.report.tokens or 0,
        "sha256": sha256(text.encode()).hexdigest(),
        "text": text,
    }
    return {"packs": [row]}


def _by_blob(
    tree: Tree, queue: Queue, kind: str, tool: str, make: Callable[[str, CleanText], bytes]
) -> Iterator[tuple[FileEntry, str, bytes]]:
    """Yield each admitted file with the fact of its blob: from the store, or computed by `make`
    from the redacted text."""
    admitted = list(tree.admitted())
    clean = tree.project.clean(sum(entry.size for entry, _ in admitted))
    fresh: list[tuple[str, str, str, bytes]] = []
    with tree.project.opened().reader() as reader:
        for entry, blob in admitted:
            name = f"{kind}:{search.spelling(entry.path)}"
            body = queue.fact(blob, name, tool)
            if body is None:
                text = _text(reader, entry)
                if text is None:
                    continue
                body = make(entry.path, clean(text, entry.path))
                fresh.append((blob, name, tool, body))
                if len(fresh) >= _KEPT_AT_ONCE:
                    queue.put_facts(fresh)
                    fresh = []
            yield entry, blob, body
    queue.put_facts(fresh)


def _text(reader: Reader, entry: FileEntry) -> str | None:
    blob = reader.read(entry.path)
    decoded = None if isinstance(blob, Problem) else decode(blob.data)
    return None if decoded is None else decoded.text
