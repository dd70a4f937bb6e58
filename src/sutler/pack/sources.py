"""The sources of a project as the graph of their uses needs them: raw text, of which only paths and
numbers leave.
"""

from __future__ import annotations

from collections.abc import Iterable

from sutler.scan.classify import Classified
from sutler.scan.root import Blob, Root
from sutler.survey.graph import readable
from sutler.survey.starts import is_own

MAX_SOURCES = 4_000
"""Files that take part in the graph, the shallow ones first: what a tree adds beyond that changes
no order near the top.
"""
MAX_BYTES = 300_000
"""A larger file is data, or written by a program."""


def own_sources(pairs: Iterable[Classified]) -> list[Classified]:
    """The files of the graph: hand-written code of the project, in the order of their paths."""
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


def read_sources(root: Root, pairs: Iterable[Classified]) -> dict[str, tuple[str, str]]:
    """Language and text of each file that can be read. Bytes are taken as Latin-1: names of
    modules are ASCII, and nothing of the text is shown.
    """
    sources: dict[str, tuple[str, str]] = {}
    with root.reader() as reader:
        for entry, facts in pairs:
            blob = reader.read(entry.path, MAX_BYTES)
            if isinstance(blob, Blob):
                sources[entry.path] = facts.language, blob.data.decode("latin-1")
    return sources
