"""Each instance's index and history, made once and kept beside the facts: a second run only ranks
and packs.
"""

from __future__ import annotations

import os
import time

import msgspec

from bench.selection.data import Blob, FactsCache, Instance, read_history
from sutler.languages.table import facts_version
from sutler.ranking import Index, Past, build, dumps, loads, summarise
from sutler.scan.commits import Commit, History


class Shelf:
    """Indexes and histories by instance. `commits` are shared by the instances of one project."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._folder = folder
        self._facts = FactsCache(os.path.join(folder, "facts.sqlite"))
        self._commits: dict[str, Commit] = {}

    def index(self, instance: Instance, git_dir: str, tree: dict[str, Blob]) -> tuple[Index, float]:
        """The index, and the seconds of CPU that building it took: 0 where it was kept."""
        path = os.path.join(self._folder, f"{instance.id}.{facts_version()}.idx")
        if os.path.exists(path):
            with open(path, "rb") as file:
                index = loads(file.read())
            if index is not None:
                return index, 0.0
        self._facts.fill(git_dir, tree)
        keys = {name: self._facts.key(name, blob) for name, blob in tree.items()}
        held = self._facts.load(keys.values())
        started = time.process_time()
        index = build((name, tree[name].id, held[key]) for name, key in keys.items() if key in held)
        built = time.process_time() - started
        _write(path, dumps(index))
        return index, built

    def past(self, instance: Instance, git_dir: str) -> Past:
        path = os.path.join(self._folder, f"{instance.id}.past")
        if os.path.exists(path):
            with open(path, "rb") as file:
                return msgspec.msgpack.decode(file.read(), type=Past)
        past = summarise(History(read_history(git_dir, instance.base_commit, self._commits)))
        _write(path, msgspec.msgpack.encode(past))
        return past


def _write(path: str, data: bytes) -> None:
    with open(path + ".part", "wb") as file:
        file.write(data)
    os.replace(path + ".part", path)
