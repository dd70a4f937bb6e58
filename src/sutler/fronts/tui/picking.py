"""Files to pick, the picks, and the rows that show them, without a screen."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from sutler.errors import UsageError
from sutler.paths import basename, dirname
from sutler.scan.globs import GlobSet, literal

Mark = Literal["none", "some", "all"]

MOST_FOUND = 2_000
"""Limit of shown matches of a search; a longer word reduces them."""


class Weight(Struct, frozen=True, gc=False):
    """A file's tokens (bytes if none are counted), and its cost in the budget's unit."""

    tokens: int
    cost: int


class Budget(Struct, frozen=True):
    limit: int | None
    unit: str


class Row(Struct, frozen=True, gc=False):
    """One line of the tree. `tokens` of a folder are those of all files below it."""

    path: str
    depth: int
    folder: bool
    open: bool
    mark: Mark
    tokens: int

    @property
    def name(self) -> str:
        return basename(self.path)


class Total(Struct):
    """A folder's figures, everything below it included."""

    files: int = 0
    tokens: int = 0
    picked: int = 0


class Plan:
    """The files, and which of them are picked. Figures of folders are updated with each pick, so
    that a tree of many thousand files answers at once. `unseen` are earlier picks that are not
    among the files now; `frame` is the cost of a pack without any file. Until the files are
    `weighed`, their figures are estimates from their sizes."""

    def __init__(
        self,
        files: Mapping[str, Weight],
        picked: Iterable[str] = (),
        frame: int = 0,
        *,
        weighed: bool = True,
    ) -> None:
        self.frame = frame
        self.weighed = weighed
        self.files = dict(sorted(files.items()))
        self._paths = list(self.files)
        self.totals: dict[str, Total] = {"": Total()}
        self.inside: dict[str, tuple[list[str], list[str]]] = {
            "": ([], [])
        }  # folders and files of a folder
        for path, weight in self.files.items():
            self._add(path, weight)
        for folders, _ in self.inside.values():
            folders.sort()  # `a` before `a-b`; their files are in the opposite order
        self.picked: set[str] = set()
        self.unseen: set[str] = set()
        self.tokens = self.cost = 0
        for path in picked:
            self.pick(path) if path in self.files else self.unseen.add(path)

    def _add(self, path: str, weight: Weight) -> None:
        child = path
        for folder in _above(path):
            total = self.totals.get(folder)
            if total is None:
                total = self.totals[folder] = Total()
                self.inside[folder] = ([], [])
            total.files += 1
            total.tokens += weight.tokens
            if child == path:
                self.inside[folder][1].append(path)
            elif self.totals[child].files == 1:  # the first file below it: the folder is new here
                self.inside[folder][0].append(child)
            child = folder

    # picking

    def pick(self, path: str, on: bool = True) -> None:
        if (path in self.picked) == on:
            return
        weight, step = self.files[path], 1 if on else -1
        self.picked.add(path) if on else self.picked.remove(path)
        self.tokens += step * weight.tokens
        self.cost += step * weight.cost
        for folder in _above(path):
            self.totals[folder].picked += step

    def pick_all(self, paths: Iterable[str], on: bool = True) -> int:
        """Pick or drop several; return how many changed."""
        before = len(self.picked)
        for path in paths:
            self.pick(path, on)
        return abs(len(self.picked) - before)

    def toggle(self, path: str) -> None:
        """Pick or drop a file. A folder is picked whole, or dropped if all of it is picked."""
        below = [path] if path in self.files else self.below(path)
        self.pick_all(below, not all(file in self.picked for file in below))

    def below(self, folder: str) -> list[str]:
        """Return the files below a folder, in order; for the root, all."""
        if not folder:
            return self._paths
        first, after = (
            bisect_left(self._paths, folder + mark) for mark in ("/", "0")
        )  # "0" follows "/"
        return self._paths[first:after]

    def matching(self, globs: Iterable[str]) -> list[str]:
        wanted = GlobSet(globs)
        return [path for path in self._paths if wanted.match(path)]

    @property
    def used(self) -> int:
        """Estimate the cost of a pack of the picks."""
        return self.cost + self.frame if self.picked else 0

    def chosen(self) -> list[str]:
        return sorted(self.picked)

    def kept(self) -> list[str]:
        """Return the picks to store: the present ones, and those that this view does not show."""
        return sorted(self.picked | self.unseen)

    def mark(self, path: str) -> Mark:
        if path in self.files:
            return "all" if path in self.picked else "none"
        total = self.totals[path]
        return "none" if not total.picked else "all" if total.picked == total.files else "some"

    # rows

    def rows(self, open_: set[str], *, heaviest: bool = False) -> list[Row]:
        """Return the rows of open folders: folders first, by name or the heaviest first."""
        rows: list[Row] = []
        stack = [(path, 0) for path in reversed(self._children("", heaviest))]
        while stack:
            path, depth = stack.pop()
            row = self._row(path, depth, path in open_)
            rows.append(row)
            if row.open:
                stack.extend(
                    (child, depth + 1) for child in reversed(self._children(path, heaviest))
                )
        return rows

    def found(self, word: str) -> list[Row]:
        """Return the files whose path holds the word, or matches it as a glob, below their open
        folders."""
        hits = self.hits(word)[:MOST_FOUND]
        folders = {folder for path in hits for folder in _above(path) if folder}
        paths = sorted([*hits, *folders], key=lambda path: path.split("/"))
        return [self._row(path, path.count("/"), path in folders) for path in paths]

    def hits(self, word: str) -> list[str]:
        if any(char in word for char in "*?[{"):
            with suppress(UsageError):  # a glob that is still being typed is searched for as text
                return self.matching([word])
        plain = word.casefold()
        return [path for path in self._paths if plain in path.casefold()]

    def _row(self, path: str, depth: int, is_open: bool) -> Row:
        if path in self.files:
            return Row(path, depth, False, False, self.mark(path), self.files[path].tokens)
        return Row(path, depth, True, is_open, self.mark(path), self.totals[path].tokens)

    def _children(self, folder: str, heaviest: bool) -> list[str]:
        folders, files = self.inside[folder]
        if not heaviest:
            return folders + files
        weigh = {
            **{path: self.totals[path].tokens for path in folders},
            **{path: self.files[path].tokens for path in files},
        }
        return sorted(weigh, key=lambda path: (-weigh[path], path))


def _above(path: str) -> Iterator[str]:
    """Yield the folders of a path, the nearest first, the root last."""
    while path:
        path = dirname(path)
        yield path


def folded(plan: Plan) -> list[str]:
    """Return the picks as globs of a profile: a folder that is picked whole stands for its files,
    names are anchored and literal."""
    globs: list[str] = []
    stack = [""]
    while stack:
        folder = stack.pop()
        if folder and plan.mark(folder) == "all":
            globs.append(f"/{literal(folder)}/")
            continue
        folders, files = plan.inside[folder]
        stack += [path for path in folders if plan.mark(path) != "none"]
        globs += [f"/{literal(path)}" for path in files if path in plan.picked]
    return sorted(globs)


def bar(used: int, limit: int | None, width: int) -> str:
    """Draw `████░░░░` of `width` characters; the last one stays empty until the budget is used up,
    the first is filled as soon as anything is used."""
    if limit is None or width < 1:
        return ""
    filled = (
        width if used >= limit else min(width - 1, max(1 if used else 0, used * width // limit))
    )
    return "█" * filled + "░" * (width - filled)


def bar_line(plan: Plan, budget: Budget, width: int) -> str:
    """Format the budget in one line: a drawing and the figures, as far as they fit the screen."""
    limit, unit = budget.limit, budget.unit
    picked = f"{len(plan.picked):,} of {len(plan.files):,} files"
    tokens = "" if unit == "tokens" else f", {plan.tokens:,} tokens"
    if limit is None:
        return f"{picked}{tokens or f', {plan.used:,} tokens'}, no limit"
    share = f"{100 * plan.used / limit:.0f} %"
    over = f", OVER by {plan.used - limit:,}" if plan.used > limit else ""
    figures = f" about {plan.used:,} of {limit:,} {unit} ({share}){over}, {picked}"
    if len(figures) + len(tokens) + 5 <= width:
        figures += tokens
    drawing = bar(plan.used, limit, min(width - len(figures), 30))
    return (
        drawing + figures if len(drawing) >= 5 else f"{share} of {limit:,} {unit}{over}, {picked}"
    )
