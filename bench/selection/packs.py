"""The real pack of an instance, made by the product's own stages from the base commit's blobs and
read back.

Selection, redaction, allocation, rendering and the budget are the product's; only the walk of a
disk is replaced by the tree of a commit. What is visible is read from the rendered text, line by
line, never from what was granted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256

from bench.selection.data import Blob, Blobs, Instance, text_of
from sutler.budget.fit import Ledger, fit_whole_text
from sutler.budget.selection import Budget, Choice, Cut, Material, Request, choose
from sutler.budget.task_fit import Ranking, fit_task, task_order
from sutler.config import resolve
from sutler.errors import RefusedError
from sutler.formats import parse
from sutler.formats.document import CleanText, Preamble, Section
from sutler.formats.tree import drawing_limit, drawn_within
from sutler.paths import RelPath
from sutler.ranking.companions import companions_of
from sutler.ranking.history import Past
from sutler.ranking.reader import Reader
from sutler.ranking.score import Ranked
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import Excluded, FileEntry, Rule
from sutler.scan.text import Loaded
from sutler.secrets.cleaner import cleaner
from sutler.setting_table import Unit
from sutler.tokens.counter import counter_for

_MARKER = re.compile(r"\[… (\d+)(?:-(\d+))?\]")


class Bench:
    """One instance's tree, ready to be packed under several budgets."""

    def __init__(
        self, instance: Instance, git_dir: str, tree: Mapping[str, Blob], reader: Reader
    ) -> None:
        self._instance = instance
        self._tree = tree
        self._reader = reader
        self._clean = cleaner(resolve([]), 4_000_000)
        self._held: dict[str, Material | Excluded] = {}
        self._files = [
            (_entry(path, blob.size), facts_of(RelPath(path))) for path, blob in tree.items()
        ]
        self._paths = sorted(tree)
        self._blobs = Blobs(git_dir)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self._blobs.close()

    def pack(
        self,
        ranked: tuple[Ranked, ...],
        limit: int,
        unit: Unit = "chars",
        *,
        fill: bool = True,
        past: Past | None = None,
    ) -> str:
        """The text of `pack --goal QUERY --fill` with a limit, or without `fill` that of the pack
        that stops by itself; nothing where the goal alone is over the limit.
        """
        query = self._instance.query
        budget = Budget(limit, unit)
        request = Request(goal=query, budget=budget, cut=Cut(max_file_bytes=0), fill=fill)
        count = counter_for(unit, budget.counter)
        scores = {one.path: (one.score, "; ".join(one.reasons[:2])) for one in ranked}
        selection = choose(self._files, request, scores)
        drawing = drawn_within(self._paths, count, drawing_limit(limit, task=True))
        preamble = Preamble("project", self._clean(query, ""), CleanText(drawing))
        companions = companions_of(query, ranked, self._reader, past) if past else ()
        ranking = Ranking(query, self._reader, ranked, companions=companions)
        try:
            ledger = Ledger(request, count, preamble, len(selection.choices))
            materials = map(self._fetch, task_order(selection.choices, ranking))
            spend = partial(fit_task, ranking)
            return fit_whole_text(selection.choices, materials, ledger, preamble, spend).text
        except RefusedError:
            return ""

    def _fetch(self, choice: Choice) -> Material | Excluded:
        path = choice.path
        if path not in self._held:
            self._held[path] = self._read(path, choice)
        held = self._held[path]
        return held if isinstance(held, Excluded) else Material(choice, held.loaded, held.clean)

    def _read(self, path: RelPath, choice: Choice) -> Material | Excluded:
        raw = self._blobs.read(self._tree[path].id) or b"\0"
        text = text_of(raw)
        if text is None:
            return Excluded(path, "binary", Rule("content", "not text"))
        loaded = Loaded(path, text, sha256(raw).hexdigest(), len(raw), "utf-8")
        return Material(choice, loaded, self._clean(text, path))

    def texts(self, paths: Iterable[str]) -> dict[str, str]:
        """The texts of those of these files that are in the tree."""
        found = {}
        for path in paths:
            raw = self._blobs.read(self._tree[path].id) if path in self._tree else None
            text = None if raw is None else text_of(raw)
            if text is not None:
                found[path] = text
        return found

    def source(self, path: str) -> list[str]:
        """A file's lines as they may leave."""
        held = self._held.get(path)
        return [] if held is None or isinstance(held, Excluded) else held.clean.text.split("\n")


def _entry(path: str, size: int) -> FileEntry:
    return FileEntry(RelPath(path), size, 0, 0o100644, 0)


def visible_lines(text: str, bench: Bench) -> dict[str, set[int]]:
    """Which lines of which files a pack shows, checked against the files themselves."""
    if not text:
        return {}
    return {
        section.path: set(_shown(section, bench.source(section.path)))
        for section in parse(text).sections
    }


def _shown(section: Section, source: list[str]) -> Iterator[int]:
    number = 1
    for line in section.body.text.split("\n"):
        marker = _MARKER.fullmatch(line)
        if marker and section.level != "full":
            number = int(marker.group(2) or marker.group(1)) + 1
        elif number <= len(source) and source[number - 1] == line:
            yield number
            number += 1
