"""Each instance's index and history, made once and kept beside the facts: a second run only ranks
and packs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import msgspec

from bench.selection.data import Blob, FactsCache, Instance, read_blobs, read_history, text_of
from sutler.languages.facts import Facts
from sutler.ranking import Index, Past, Reader, build, dumps, loads, summarise
from sutler.ranking.index import Doc, bag_of, index_version, indexed_part
from sutler.scan.commits import Commit


class Shelf:
    """Indexes and histories by instance. `commits` are shared by the instances of one project."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._folder = folder
        self._facts = FactsCache(os.path.join(folder, "facts.sqlite"))
        self._commits: dict[str, Commit] = {}

    def reader(
        self, instance: Instance, git_dir: str, tree: dict[str, Blob]
    ) -> tuple[Reader, float]:
        """A reader of the instance's index, and the seconds of CPU that building it took: 0 where it
        was kept.
        """
        index, built = self._index(instance, git_dir, tree)

        def facts(docs: Sequence[Doc]) -> list[Facts]:
            return self._facts.facts(git_dir, [(doc.path, tree[doc.path]) for doc in docs])

        return Reader(index, facts), built

    def _index(
        self, instance: Instance, git_dir: str, tree: dict[str, Blob]
    ) -> tuple[Index, float]:
        name = f"{instance.id}.{'.'.join(map(str, index_version()))}.idx"
        path = os.path.join(self._folder, name)
        if os.path.exists(path):
            with open(path, "rb") as file:
                index = loads(file.read())
            if index is not None:
                return index, 0.0
        blobs = read_blobs(git_dir, [blob.id for blob in tree.values()])
        texts = ((path, id_, text_of(raw)) for path, (id_, raw) in zip(tree, blobs, strict=True))
        started = time.process_time()
        index = build(
            (path, id_, bag_of(path, indexed_part(path, text)))
            for path, id_, text in texts
            if text is not None
        )
        built = time.process_time() - started
        _write(path, dumps(index))
        return index, built

    def past(self, instance: Instance, git_dir: str) -> Past:
        path = os.path.join(self._folder, f"{instance.id}.past")
        if os.path.exists(path):
            with open(path, "rb") as file:
                return msgspec.msgpack.decode(file.read(), type=Past)
        past = summarise(read_history(git_dir, instance.base_commit, self._commits))
        _write(path, msgspec.msgpack.encode(past))
        return past


def _write(path: str, data: bytes) -> None:
    with open(path + ".part", "wb") as file:
        file.write(data)
    os.replace(path + ".part", path)
