"""The part of a project that a run sees, by its settings: scanned, classified, ranked and
chosen."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Self

from msgspec import Struct
from msgspec.structs import replace

import sutler.config as config
from sutler.budget.selection import (
    Budget,
    Centrality,
    Cut,
    Request,
    Selection,
    choose,
    parse_detail,
)
from sutler.config import Settings
from sutler.formats.document import CleanText
from sutler.pack.cache import PackCache, cache_for, kept_for_tree
from sutler.pack.tree_secrets import TreeSecrets
from sutler.paths import RelPath
from sutler.scan.classify import Classified, classified
from sutler.scan.judge import rules_for
from sutler.scan.place import Place, locate, project_config
from sutler.scan.root import TEMPORARY, Root
from sutler.scan.snapshot import Excluded, FileEntry, Rule, ScanRules, Snapshot
from sutler.scan.walk import scan
from sutler.secrets.cleaner import (
    PER_FILE,
    Clean,
    Numbering,
    Redactor,
    cleaner,
    masked,
    names_of,
    numbered,
    redacted_text,
)
from sutler.setting_table import Unit
from sutler.store import home

if TYPE_CHECKING:
    from sutler.budget.task_fit import Ranking
    from sutler.pack.changes import Changes


Tell = Callable[[str, int, int], None]
"""Progress callback (step, done, total); total is 0 while unknown."""

Readable = Callable[[Iterable[FileEntry]], Iterable[FileEntry]]
"""Filters files to those that a caller may read, in their order."""

WITHHELD = Rule("policy", "withheld from this caller")
GOAL_LIMIT: tuple[tuple[int, Unit], tuple[int, Unit]] = ((60_000, "chars"), (16_000, "tokens"))
"""Ceiling of a pack for a goal without a budget: without a token count, and with one."""
UNTICKED = Rule("selection", "unticked by you")
RANKED = 500
"""Limit of ranked files; those after it hardly relate to the task."""


class _Numbered(Struct):
    """Key files, and the number of users of each file, by index: a path may hold a secret, and the
    cache holds none."""

    keys: list[int]
    users: dict[int, int]


class Scope:
    """A folder, or several files and folders below one root, as settings and a caller's policy show
    it: the input of the steps of a pack."""

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        settings: Settings | None = None,
        cwd: str | None = None,
        root: Root | None = None,
    ) -> None:
        """`root`: a directory that is open already; nothing is read by its path."""
        if root is not None:
            self.place = Place(root.host_path)
        else:
            self.place = locate([os.fspath(path) for path in paths], cwd or os.getcwd())
        self._opened = [root] if root is not None else []
        if settings is None:
            anchor = root.anchor if root is not None else self.place.root
            layers = project_config(anchor, os.environ)
            settings = config.resolve([*layers, config.layer_from_environment(os.environ)])
        self.settings = settings
        self.outputs: tuple[str, ...] = ()
        self.unticked: frozenset[str] = frozenset()
        self.tell: Tell | None = None
        self._readable: Readable | None = None
        self._numbering: Numbering | None = None
        self._secrets: list[TreeSecrets] = []
        self._private = home.own_folders(self.place.root, os.environ)

    def writing_to(self, *paths: str) -> Self:
        """Return the project without the files that this run writes: a pack must not include an
        earlier pack."""
        copy = self._copy(self.settings)
        copy.outputs = tuple(
            os.path.relpath(os.path.abspath(path), self.place.root) for path in paths
        )
        return copy

    def only(self, paths: Iterable[str]) -> Self:
        """Return the project reduced to these files of it, as if each had been named."""
        copy = self._copy(self.settings)
        copy.place = Place(self.place.root, tuple(RelPath(path) for path in sorted(set(paths))))
        return copy

    def seen_by(self, readable: Readable) -> Self:
        """Return the project for a caller who may read only the files that `readable` admits. Every
        scan applies it anew, so that a new file is judged too."""
        copy = self._copy(self.settings)
        copy._readable = readable
        return copy

    def numbered(self) -> Self:
        """Return the project with ordinals in place of tags in its clean texts, counted over all
        texts of one document."""
        if self._numbering is not None:
            return self
        copy = self._copy(self.settings)
        copy._numbering = Numbering()
        return copy

    def unticking(self, paths: Iterable[str]) -> Self:
        """Return the project without these files, which a person unticked in a list."""
        copy = self._copy(self.settings)
        copy.unticked = frozenset(paths)
        return copy

    def _copy(self, settings: Settings) -> Self:
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.settings = settings
        copy._secrets = self._secrets if settings is self.settings else []
        return copy

    def opened(self) -> Root:
        """Return the root, opened once for this project and its copies. Refuse if its path names
        another directory by now."""
        if not self._opened:
            self._opened.append(Root(self.place.root))
        root = self._opened[0]
        root.require_place()
        return root

    @property
    def unrestricted(self) -> bool:
        """Whether no caller's policy restricts the view of the project."""
        return self._readable is None

    @property
    def name(self) -> str:
        return os.path.basename(self.place.root)

    def scan(self) -> Snapshot:
        """Return entries, exclusions with their rule, and problems. It reads names, not
        contents."""
        snapshot = self.found()
        if self.settings.flag("redact"):
            self.secrets.values(snapshot if self.sees_all else None)
        return masked(snapshot, self.clean(len(snapshot.entries) * PER_FILE))

    def masked(self, snapshot: Snapshot, clean: Clean, cache: PackCache) -> Snapshot:
        """Return a snapshot with no secret in any name. The cache records that all names are
        harmless."""
        results: list[Snapshot] = []

        def harmless() -> int:
            results.append(masked(snapshot, clean))
            return int(results[0] is snapshot)

        if cache.figure("names", names_of(snapshot), harmless):
            return snapshot
        return results[0] if results else masked(snapshot, clean)

    def found(self) -> Snapshot:
        """Scan like `scan`, but with names as they are, which must not be shown."""
        tell = self.tell
        counted = None if tell is None else lambda count: tell("scanning", count, 0)
        snapshot = scan(self.opened(), self.rules(), self.place.named, counted)
        if self.unticked:
            snapshot = _without(snapshot, self.unticked, UNTICKED)
        if self._readable is None:
            return snapshot
        readable = {entry.path for entry in self._readable(snapshot.entries)}
        denied = {entry.path for entry in snapshot.entries} - readable
        return _without(snapshot, denied, WITHHELD) if denied else snapshot

    def rules(self) -> ScanRules:
        return rules_for(self.settings, "pack")

    def request(self, goal: str = "") -> Request:
        """Return the settings as a request, the only input of the steps."""
        settings = self.settings
        limit, unit = settings.limit()
        if goal and not settings.has_budget:
            limit, unit = GOAL_LIMIT[settings.text("counter") != "none"]
        return Request(
            goal=goal,
            include=settings.words("include"),
            exclude=settings.words("exclude"),
            max_files=settings.number("max_files"),
            budget=Budget(limit, unit, settings.text("counter")),
            cut=Cut(
                max_file_bytes=settings.number("cut_over") or 0,
                # An outline states line numbers already. Without a limit every large file of a tree
                # would be parsed, which takes longer than all else together.
                outlines=limit is not None and not settings.flag("line_numbers"),
            ),
            format=settings.format(),
            line_numbers=settings.flag("line_numbers"),
            fill=settings.flag("fill"),
            stop=settings.share("stop"),
            stable_order=settings.flag("stable_order"),
            transforms=settings.words("transforms"),
            detail=parse_detail(settings.words("detail")),
            rest=settings.text("rest"),
        )

    def ranking(
        self, snapshot: Snapshot, task: str, changed: Mapping[str, tuple[int, ...]] | None = None
    ) -> Ranking:
        """Rank the files of a snapshot by their worth for a task. A review has `changed` lines, and
        may have no task."""
        from sutler.budget.task_fit import Ranking
        from sutler.ranking import rank
        from sutler.ranking.companions import companions_of
        from sutler.ranking.kept_index import past_of, reader_of

        # Files over the size rule are admitted for their short form, which has no lines to cite.
        limit = self.rules().skip_file_bytes or sys.maxsize
        named = self.secrets.named_in([entry.path for entry in snapshot.entries])
        present = (entry for entry in snapshot.entries if entry.path not in named)
        entries = [entry for entry in present if entry.size <= limit and not self.ours(entry.path)]
        settings = self.settings.overlaid(config.layer_from_table({"redact": True}, "index"))
        root = self.opened()
        size = sum(entry.size + PER_FILE for entry in entries)
        past = past_of(root, os.environ)
        if self.settings.flag("redact"):
            task = self.secrets.unmarked(task)
        reader = reader_of(
            entries,
            root,
            numbered(self.secrets.hiding(cleaner(settings, size))),  # tags have no score
            os.environ,
            self.tell,
            self.place.named,
        )
        ranked = rank(reader, task, past, limit=RANKED) if task else ()
        return Ranking(
            task, reader, ranked, changed or {}, companions_of(task, ranked, reader, past)
        )

    def changes(
        self, snapshot: Snapshot, asked: Request, numbering: Numbering | None = None
    ) -> Changes:
        from sutler.pack.changes import changes_of

        # A pack hides the secrets of other files itself, once all are known.
        clean = self.clean() if numbering is None else numbered(self.plain_clean(), numbering)
        return changes_of(self.opened(), snapshot, asked, clean)

    def centrality(self, pairs: Sequence[Classified]) -> Centrality:
        """Return the files that matter most by their users: the order of a limited pack without a
        task."""
        root, paths = self.opened(), [entry.path for entry, _ in pairs]

        def make() -> _Numbered:
            from sutler.pack.sources import standing_of  # slow to import; a cached order needs none

            number = {str(path): at for at, path in enumerate(paths)}
            keys, users = standing_of(root, pairs)
            return _Numbered(
                [number[path] for path in keys], {number[path]: n for path, n in users.items()}
            )

        kept = kept_for_tree("standing", root, pairs, make, _Numbered, os.environ)
        return Centrality(
            frozenset([paths[at] for at in kept.keys]),
            {paths[at]: n for at, n in kept.users.items()},
        )

    def select(self, snapshot: Snapshot, request: Request) -> Selection:
        """Classify and choose, without a task."""
        return self.choose(classified(snapshot), request)

    def choose(
        self,
        pairs: Sequence[Classified],
        request: Request,
        ranking: Ranking | None = None,
        changed: Changes | None = None,
        centrality: Centrality | None = None,
    ) -> Selection:
        """Return the files that enter, in the order of their claim, without those that this run
        writes."""
        ours = [entry for entry, _ in pairs if self.ours(entry.path)]
        if ours:
            paths = {entry.path for entry in ours}  # many, if our own cache lies in the project
            pairs = [pair for pair in pairs if pair[0].path not in paths]
        scores = None
        if ranking is not None:
            scores = {one.path: (one.score, "; ".join(one.reasons[:2])) for one in ranking.ranked}
        pins = None
        if changed:
            since = f"changed since {changed.since}"
            if request.reviews and scores is not None:
                scores |= {path: (scores.get(path, (0.0,))[0], since) for path in changed.lines}
            else:
                pins = {str(path): since for path in changed.paths}
        selection = choose(pairs, request, scores, pins, centrality)
        if changed and changed.texts:
            texts = tuple(material.choice for material in changed.texts)
            selection = replace(selection, choices=texts + selection.choices)
        # A file that is being written is no part of the project; it has this name for a moment.
        written = [entry.path for entry in ours if not entry.path.endswith(TEMPORARY)]
        if not written:
            return selection
        rule = Rule("--output", "written by sutler")
        out = (*selection.excluded, *(Excluded(path, "not_selected", rule) for path in written))
        return replace(selection, excluded=tuple(sorted(out, key=lambda item: item.path)))

    def ours(self, path: str) -> bool:
        """Return whether this run writes the file, or another run is writing it now."""
        return path in self.outputs or path.endswith(TEMPORARY) or path.startswith(self._private)

    def clean(self, size: int = 0) -> Clean:
        """Return the redactor that every text passes before it is cut, counted or shown; `size` is
        the expected amount of text."""
        clean = cleaner(self.settings, size)
        if self.settings.flag("redact"):
            clean = self.secrets.hiding(clean)
        return clean if self._numbering is None else numbered(clean, self._numbering)

    def quotable(self, text: str) -> str:
        """Redact a text for a person or a record that may quote a name or an argument. The user's
        allow-list does not apply: no quote holds a secret."""
        values = self.secrets.values()
        shown = CleanText(redacted_text(text))
        return (values.hide(shown) if values is not None else shown).text

    def plain_clean(self, size: int = 0) -> Clean:
        """Return the redactor of a text alone, without the secrets of other files."""
        return cleaner(self.settings, size)

    @property
    def secrets(self) -> TreeSecrets:
        """Secrets of the whole tree, shared with copies of this project."""
        if not self._secrets:
            rules = self.rules()

            def whole(cache: PackCache, scanned: Snapshot | None) -> Snapshot:
                tree = scanned or scan(self.opened(), rules)
                clean = Redactor(lambda: self.plain_clean(len(tree.entries) * PER_FILE))
                return self.masked(tree, clean, cache)

            clean = partial(cleaner, self.settings)
            root, request = self.place.root, self.request()
            cache = partial(cache_for, root, self.settings, request, os.environ)
            self._secrets.append(TreeSecrets(self.opened, whole, clean, self.settings, cache))
        return self._secrets[0]

    @property
    def sees_all(self) -> bool:
        """Whether `found` scans the whole tree."""
        return self._readable is None and not self.place.named and not self.unticked


def _without(snapshot: Snapshot, paths: Set[str], rule: Rule) -> Snapshot:
    """Return the snapshot with these files excluded by `rule`."""
    dropped = [
        Excluded(entry.path, "not_selected", rule)
        for entry in snapshot.entries
        if entry.path in paths
    ]
    excluded = sorted((*snapshot.excluded, *dropped), key=lambda item: item.path)
    entries = tuple(entry for entry in snapshot.entries if entry.path not in paths)
    return replace(snapshot, entries=entries, excluded=tuple(excluded))
