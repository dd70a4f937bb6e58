"""Sources of a project for the graph of their uses: raw text, of which only paths and numbers
leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from sutler.paths import basename, dirname
from sutler.scan.classify import Classified
from sutler.scan.root import Blob, Root
from sutler.scan.structured import DocumentError
from sutler.survey.evidence import is_aside, tree_of
from sutler.survey.graph import by_imports, readable, users, weights
from sutler.survey.javascript import read_package
from sutler.survey.keys import key_files
from sutler.survey.manifest import Surveyed, survey_manifest
from sutler.survey.manifests import rank_of, reader_of
from sutler.survey.module_files import Package
from sutler.survey.needs import MAX_MANIFESTS
from sutler.survey.packs import named_files
from sutler.survey.starts import is_own

MAX_SOURCES = 4_000
"""Limit of files in the graph, the shallow ones first: further ones change no order near the
top."""
MAX_BYTES = 600_000
"""A larger file is data, or generated."""
HEAD = 4_000
"""Bytes that are searched for a file's imports if only an order is needed."""


def own_sources(pairs: Iterable[Classified]) -> list[Classified]:
    """Return the files of the graph: hand-written code of the project, in the order of their
    paths."""
    own = [
        pair
        for pair in pairs
        if pair[1].tag == "code"
        and 0 < pair[0].size <= MAX_BYTES
        and readable(pair[1].language)
        and is_own(pair[0].path, pair[1])
    ]
    if len(own) > MAX_SOURCES:
        own.sort(key=lambda pair: (pair[0].path.count("/"), pair[0].path))
        own = sorted(own[:MAX_SOURCES], key=lambda pair: pair[0].path)
    return own


def read_sources(
    root: Root, pairs: Iterable[Classified], *, heads: bool = False
) -> dict[str, tuple[str, str]]:
    """Return language and text of each readable file; with `heads`, only the head of files whose
    imports determine what they use. Bytes are decoded as Latin-1: names of modules are ASCII, and
    no text is shown."""
    sources: dict[str, tuple[str, str]] = {}
    with root.reader() as reader:
        for entry, facts in pairs:
            blob = reader.read(entry.path, MAX_BYTES)
            if isinstance(blob, Blob):
                data = blob.data[:HEAD] if heads and by_imports(facts.language) else blob.data
                sources[entry.path] = facts.language, data.decode("latin-1")
    return sources


def workspace_packages(root: Root, pairs: Sequence[Classified]) -> dict[str, Package]:
    """Return the packages of a JavaScript workspace by name; a single package does not need its own
    name."""
    manifests = _package_manifests(pairs)
    packages: dict[str, Package] = {}
    if len(manifests) < 2:
        return packages
    tree = tree_of(entry.path for entry, _ in pairs)
    with root.reader() as reader:
        for entry, _ in manifests:
            blob = reader.read(entry.path, MAX_BYTES)
            if not isinstance(blob, Blob):
                continue
            with suppress(DocumentError):  # the survey reports it
                package = read_package(entry.path, blob.data.decode("utf-8", "replace"), tree)
                library = [path for path in package.entry_points if "/bin/" not in f"/{path}"]
                entries = (*library, *package.entry_points, "")
                packages.setdefault(package.name, Package(dirname(entry.path), entries[0]))
    return packages


def _package_manifests(pairs: Iterable[Classified]) -> list[Classified]:
    return [
        pair
        for pair in pairs
        if basename(pair[0].path) == "package.json" and not is_aside(pair[0].path)
    ]


def standing_of(root: Root, pairs: Sequence[Classified]) -> tuple[Iterable[str], Mapping[str, int]]:
    """Return the key files, and the weight of each file. Entry points precede other files."""
    own = own_sources(pairs)
    sources = read_sources(root, own, heads=True)
    used = users(sources, workspace_packages(root, pairs))
    weighed = weights(used, {entry.path: entry.size for entry, _ in own})
    named = named_files(_surveyed(root, pairs, sources))
    keys = [entry.path for entry, _ in key_files(pairs, weighed, named)]
    starts = [path for path in named.starts if path in keys]
    first = max(weighed.values(), default=0) + len(starts)
    return keys, {**weighed, **{path: first - at for at, path in enumerate(starts)}}


def _surveyed(
    root: Root, pairs: Sequence[Classified], sources: Mapping[str, tuple[str, str]]
) -> Surveyed:
    """Return the manifest by the project's own manifest files, of which only paths leave."""
    wanted = [
        path for entry, _ in pairs if reader_of(path := entry.path) and entry.size <= MAX_BYTES
    ]
    texts: dict[str, str] = {}
    with root.reader() as reader:
        for path in sorted(wanted, key=rank_of)[:MAX_MANIFESTS]:
            blob = reader.read(path, MAX_BYTES)
            if isinstance(blob, Blob):
                texts[path] = blob.data.decode("utf-8", "replace")
    plain = {path: text for path, (_, text) in sources.items()}
    return survey_manifest(pairs, texts, "", plain)
