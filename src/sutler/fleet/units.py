"""Perform a unit of work: compute rows of the dataset's tables from one tree of one repository.

The tree becomes a Project in a private folder, so that the same rules apply as for every other
command. The stored facts of a blob depend on the blob and on the part of its name that selects
rules, and on nothing else of the repository: forks and commits share them, in any order. Secrets of
other files of a repository are hidden in its rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from sutler import config
from sutler.errors import UsageError
from sutler.fleet import lookup
from sutler.fleet.catalogue import Fleet, Repository, located, tree_of_head
from sutler.fleet.export import batches, export, sketch, whole
from sutler.fleet.lookup import Indexed
from sutler.fleet.queue import Queue, Unit
from sutler.formats.document import CleanText
from sutler.languages.facts import Facts
from sutler.pack.project import Project
from sutler.pack.tree_secrets import shared_values
from sutler.paths import RelPath, wire_path
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import Role
from sutler.scan.text import decode
from sutler.secrets.cleaner import PER_FILE, Numbering, masked, numbered
from sutler.secrets.shared_values import SharedValues, values_of
from sutler.version import VERSION

Rows = dict[str, list[dict[str, Any]]]
"""Rows by the name of their table."""

MOST_SYMBOLS = 200_000
"""Maximum number of symbols per repository in the dataset; beyond it the code is generated."""
_CREDENTIAL_BYTES = 65_536
_CREDENTIAL_FILES = 200
_KEPT_AT_ONCE = 200


def version_of_work() -> str:
    """Return the version of everything that determines results: sutler, languages, secret rules."""
    from sutler.languages.table import facts_version
    from sutler.secrets.format_table import rules_digest

    return f"{VERSION}-{lookup.FACTS}-{facts_version():x}-{rules_digest()[:12]}"


def policy_digest(settings: config.Settings) -> str:
    """Return the digest of the settings that apply to trees."""
    values = {name: value for name, value in settings.values.items() if name != "project"}
    return sha256(msgspec.json.encode(values, order="sorted")).hexdigest()[:16]


def units_of(
    fleet: Fleet,
    repositories: Iterable[Repository],
    kinds: Iterable[str],
    settings: config.Settings,
) -> Iterator[Unit]:
    """Yield the units for the current trees. A repository without a commit has none."""
    kinds, version, policy = tuple(kinds), version_of_work(), policy_digest(settings)
    for repository in repositories:
        tree = tree_of_head(located(fleet, repository.source))
        if not tree:
            continue
        for kind in kinds:
            words = (repository.name, tree, kind, version, policy)
            key = sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:32]
            yield Unit(key, *words)


class Tree:
    """A tree of a repository as a Project in a folder: all of it, or a sketch."""

    def __init__(self, source: str, tree: str, folder: str, *, whole: bool) -> None:
        self.source = source
        self.blobs = (export if whole else sketch)(source, tree, folder)
        settings = config.resolve([config.layer_from_environment(os.environ)])
        self.project = Project(folder, settings=settings)
        # Not its `scan`, which reads all files for secrets of the tree, and keeps what it learned
        # in the user's cache: a sketch has no texts, and its folder is gone in a moment.
        clean = self.project.plain_clean(len(self.blobs) * PER_FILE)
        self.snapshot = masked(self.project.found(), clean)

    def fact_names(self) -> dict[str, tuple[str, str]]:
        """Files that the scan admits, with the names of their facts, sorted by path."""
        return {
            entry.path: (self.blobs[entry.path].id, lookup.fact_name(entry.path))
            for entry in self.snapshot.entries
            if entry.path in self.blobs and wire_path(entry.path) == entry.path
        }

    def credentials(self) -> list[str]:
        """Files that stay out because of their name, such as `.env`."""
        out = (item.path for item in self.snapshot.excluded if item.reason == "credentials")
        small = (path for path in out if path in self.blobs)
        return [path for path in small if self.blobs[path].size <= _CREDENTIAL_BYTES][
            :_CREDENTIAL_FILES
        ]

    def texts(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield (path, text) of the files that hold text, from git's objects."""
        for group in batches({path: self.blobs[path] for path in paths}):
            data = whole(self.source, [self.blobs[path] for path in group])
            for path in group:
                decoded = decode(data.get(self.blobs[path].id, b"\0"))
                if decoded is not None:
                    yield path, decoded.text


def perform(unit: Unit, source: str, folder: str, queue: Queue) -> Rows:
    """Compute the rows of a unit. `folder` is absent and its parent private."""
    kinds: dict[str, Callable[[Unit, Tree, Queue], Rows]] = {
        "index": _index,
        "secrets": _secrets,
        "survey": _survey,
        "pack": _pack,
    }
    if unit.kind not in kinds:
        raise UsageError(f"no kind of work is called {unit.kind!r}", next_step=f"use {KINDS}")
    tree = Tree(source, unit.tree, folder, whole=unit.kind in ("survey", "pack"))
    rows = kinds[unit.kind](unit, tree, queue)
    count = sum(map(len, rows.values()))
    rows["runs"] = [
        {
            "repo": unit.repo,
            "tree": unit.tree,
            "kind": unit.kind,
            "version": unit.version,
            "policy": unit.policy,
            "files": len(tree.blobs),
            "rows": count,
        }
    ]
    return rows


KINDS = ("index", "secrets", "survey", "pack")


def _stored(unit: Unit, tree: Tree, queue: Queue) -> dict[str, Indexed]:
    """Return the stored facts of each admitted file that holds text, by path; compute those of
    blobs that no other tree had."""
    names = tree.fact_names()
    bodies = queue.facts_of(names.values(), unit.version)
    missing = {name: path for path, name in names.items() if name not in bodies}
    clean = numbered(tree.project.plain_clean(sum(tree.blobs[p].size for p in missing.values())))
    fresh: list[tuple[str, str, str, bytes]] = []

    def keep(name: tuple[str, str], body: bytes) -> None:
        bodies[name] = body
        fresh.append((*name, unit.version, body))
        if len(fresh) >= _KEPT_AT_ONCE:
            queue.put_facts(fresh)
            fresh.clear()

    for path, text in tree.texts(missing.values()):
        keep(names[path], lookup.packed(path, text, clean))
    for name in missing:
        if name not in bodies:
            keep(name, b"")  # no text: not read again
    queue.put_facts(fresh)
    queue.hold(unit, {blob for blob, _ in names.values()})
    return {
        path: lookup.unpacked(path, bodies[name]) for path, name in names.items() if bodies[name]
    }


def _values(tree: Tree, stored: Mapping[str, Indexed]) -> SharedValues | None:
    """Return the secrets in the files of the tree, files excluded by name included."""
    telling = [path for path, item in stored.items() if item.findings]
    clean = tree.project.plain_clean()
    return shared_values(
        pair
        for path, text in tree.texts([*telling, *tree.credentials()])
        for pair in values_of(text, clean(text, lookup.rule_name(path)).text)
    )


def _hider(values: SharedValues | None) -> Callable[[str], str]:
    """Return a function that hides these secrets in a text."""
    if values is None:
        return str

    def hide(text: str) -> str:
        return Numbering().text(values.hide(CleanText(text)).text)

    return hide


def _index(unit: Unit, tree: Tree, queue: Queue) -> Rows:
    stored = _stored(unit, tree, queue)
    hide = _hider(_values(tree, stored))
    stored = {path: item for path, item in stored.items() if hide(path) == path}
    files: list[dict[str, Any]] = []
    symbols: list[dict[str, Any]] = []
    imports: list[dict[str, Any]] = []
    indexed: list[tuple[str, str, Role, Facts]] = []
    for path, item in stored.items():
        facts, place = item.facts, {"repo": unit.repo, "tree": unit.tree, "path": path}
        indexed.append((path, tree.blobs[path].id, item.role, facts))
        files.append(
            place
            | {
                "blob": tree.blobs[path].id,
                "size": tree.blobs[path].size,
                "language": facts.language,
                "category": facts_of(RelPath(path)).category,
                "lines": facts.lines,
                "status": facts.status,
            }
        )
        symbols += [
            place
            | {
                "name": hide(symbol.name),
                "kind": symbol.kind,
                "start": symbol.start,
                "end": symbol.end,
                "signature": hide(symbol.signature),
            }
            for symbol in facts.symbols[: MOST_SYMBOLS - len(symbols)]
        ]
        imports += [
            place
            | {"text": hide(row.text), "line": row.line, "targets": hide(" ".join(row.targets))}
            for row in facts.imports
        ]
    lookup.keep(unit, indexed, queue)
    return {"files": files, "symbols": symbols, "imports": imports}


def _secrets(unit: Unit, tree: Tree, queue: Queue) -> Rows:
    stored = _stored(unit, tree, queue)
    values = _values(tree, stored)
    hide = _hider(values)
    found = {path: {*item.findings} for path, item in stored.items()}
    if values is not None:
        # A copy of a value counts where no rule would know it by its text.
        for path, text in tree.texts(stored):
            lines = {line for _, line, _ in found[path]}
            copies = values.hide(CleanText(text)).findings
            found[path] |= {
                (copy.rule, copy.line, copy.confidence) for copy in copies if copy.line not in lines
            }
    rows = [
        {
            "repo": unit.repo,
            "tree": unit.tree,
            "path": hide(path),
            "rule": rule,
            "line": line,
            "confidence": confidence,
        }
        for path in stored
        for rule, line, confidence in sorted(found[path], key=lambda row: (row[1], row[0]))
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
