"""Fit sections into a budget in the order of claim. Σ cost ≤ limit, counted on the very text that
is sent.

Each file takes the best rung of the ladder that still fits: the whole text, the outline of code or
head and tail of other text, its name in the list of files not shown, or its part in a count.
Required text (the opening, the goal, the manifest's frame) is paid first; if that alone exceeds the
limit, the pack is refused with the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from sutler.budget import crowded
from sutler.budget.selection import OWN_CODE, Choice, Cut, Material, Request, display_key
from sutler.budget.shrink import Outliner, is_document, outline_text, shortened
from sutler.errors import RefusedError
from sutler.formats import render, section_text, shape
from sutler.formats.document import CleanText, Level, Listing, Preamble, Section
from sutler.languages import language_of
from sutler.paths import RelPath
from sutler.scan.snapshot import Excluded, Reason, Rule
from sutler.tokens.counter import Counter


class Fitted(Struct, frozen=True):
    """Sections that entered, in the order of claim, and the files that did not."""

    sections: tuple[Section, ...]
    listing: Listing
    excluded: tuple[Excluded, ...]
    spent: int


def section_of(material: Material, level: Level, body: CleanText) -> Section:
    """Build a section that shows `body` of a file. The raw file's digest is reused if the text is
    the file itself. The manifest names how a text was condensed."""
    loaded, entry = material.loaded, material.choice.entry
    reason = material.choice.reason
    if body.condensed:
        level = "condensed" if level == "full" else level
        reason = f"{reason}; condensed: {body.condensed}"
    whole = level == "full" and loaded.encoding == "utf-8" and body.text is loaded.text
    data = b"" if whole else body.text.encode()
    language = material.choice.facts.language
    if language == "shell" and (row := language_of(entry.path, body.text[:200])):
        language = row.name  # a script by its mode is of the language that its first line names
    return Section(
        path=entry.path,
        level=level,
        body=body,
        sha256=loaded.digest if whole else sha256(data).hexdigest(),
        length=loaded.size if whole else len(data),
        source=loaded.digest,
        source_size=loaded.size,
        encoding=loaded.encoding,
        mode=0o100755 if entry.mode & 0o100 else 0o100644,
        language="" if body.moved else language,
        reason=reason,
        data=loaded.data if whole else data,
    )


def best_rung(material: Material, cut: Cut, outliner: Outliner = outline_text) -> Section:
    """Return the best rung of a file."""
    return next(rungs(material, cut, outliner))


def rungs(material: Material, cut: Cut, outliner: Outliner = outline_text) -> Iterator[Section]:
    """Yield every rung that shows text, best first: all of it, unless an outline is asked for or it
    exceeds the per-file size."""
    clean = material.clean
    size = len(clean.text.encode()) if clean.condensed else material.loaded.size
    speaks = cut.max_document_bytes and is_document(material.choice.facts)
    most = cut.max_document_bytes if speaks else cut.max_file_bytes
    whole = not (material.choice.outline or (most and size > most))
    if whole:
        yield section_of(material, "full", clean)
    level, text, spans = shortened(material, cut, outliner)
    if level != "full" or not whole:
        yield replace(section_of(material, level, replace(clean, text=text)), spans=spans)


def worth_loading(choices: Iterable[Choice], ledger: Ledger) -> Iterator[Choice]:
    """Yield the choices that can still enter, in their order. It is evaluated lazily, as the budget
    is spent: a limited pack must not read the whole tree."""
    for choice in choices:
        if ledger.exhausted():
            return
        if not ledger.hopeless(choice.path, choice.entry.size):
            yield choice


def fit_within(
    choices: Sequence[Choice], materials: Iterable[Material | Excluded], ledger: Ledger
) -> Fitted:
    """Spend the budget in the order of claim; other files are listed, then counted. With room
    left, shortened files grow: key files of code before weaker claims enter, others at the end."""
    sections: list[Section] = []
    excluded: list[Excluded] = []
    cut, room = ledger.cut, ledger.request.budget.room or 0
    if (size := sum(choice.entry.size for choice in choices)) > room:
        cut = crowded.shared_cut(cut, room)
        ledger.outlined = crowded.outlines_rest(ledger.request, room, size)
    keys, others = list[tuple[int, Material]](), list[tuple[int, Material]]()
    missed: list[Material] = []
    for material in materials:
        if isinstance(material, Excluded):
            excluded.append(material)
            continue
        choice = material.choice
        if keys and choice.priority > OWN_CODE:
            _grow(keys, sections, ledger, replace(ledger.cut, max_file_bytes=0))
            keys.clear()
        if missed and choice.priority > missed[0].choice.priority:
            section = paid_outline(material, ledger)  # weak files must not take the room
        else:
            section = best_paid(material, ledger, ledger.cut if choice.pinned else cut)
        if section is None:
            ledger.misses += 1
            if ledger.outlined and material.loaded.size <= crowded.SMALL:
                missed.append(material)
            continue
        if section.level == "outline" and choice.key and not choice.outline:
            keys.append((len(sections), material))
        elif cut != ledger.cut and section.level in ("outline", "head_tail"):
            others.append((len(sections), material))
        sections.append(section)
    whole = [ledger.pay(section_of(material, "full", material.clean)) for material in missed]
    _grow([*keys, *others], sections, ledger, ledger.cut)
    sections += [section for section in whole if section is not None]
    return settled(choices, sections, excluded, ledger)


def _grow(
    places: Sequence[tuple[int, Material]], sections: list[Section], ledger: Ledger, cut: Cut
) -> None:
    """Replace sections by their best rung as far as there is room."""
    for place, material in places:
        section = sections[place]
        ledger.spent -= section.cost
        best = best_rung(material, cut, ledger.outliner)
        sections[place] = ledger.pay(best) or ledger.pay(section) or section


def best_paid(material: Material, ledger: Ledger, cut: Cut) -> Section | None:
    """Pay the best rung that has room, beside a part that may be reserved for outlines."""
    kept_free = ledger.limit // crowded.OUTLINES_SHARE if ledger.outlined else 0
    for rung in rungs(material, cut, ledger.outliner):
        if paid := ledger.pay(rung, kept_free if rung.level != "outline" else 0):
            return paid
        if ledger.outlined:
            return paid_outline(material, ledger)
    return None


def paid_outline(material: Material, ledger: Ledger) -> Section | None:
    """Pay the outline of code, if it has one and there is room."""
    body = crowded.outline_worth(material, ledger.request, ledger.outliner)
    return ledger.pay(section_of(material, "outline", body)) if body else None


def settled(
    choices: Sequence[Choice],
    sections: list[Section],
    excluded: list[Excluded],
    ledger: Ledger,
    stop: Listing | None = None,
) -> Fitted:
    """Account for every choice: a section, an exclusion, or a name in the list of files not shown.
    After a `stop` names would be noise: the list has the next regions, and a count of files."""
    entered = {section.path for section in sections} | {item.path for item in excluded}
    unfit = [choice for choice in choices if choice.path not in entered]
    reason: Reason
    if stop is None:
        names = [*ledger.listed, *(choice.path for choice in unfit)]
        named = ledger.request.rest != "none"
        listing = ledger.list_paths(names) if named else Listing((), len(names))
        reason, rule = "budget", Rule("budget", ledger.described)
    else:
        named_only = ledger.list_paths(ledger.listed)
        unnamed = len(unfit) + named_only.unnamed
        listing = replace(stop, paths=named_only.paths, unnamed=unnamed)
        reason, rule = "not_selected", Rule("stop rule", "not likely enough to help with the goal")
        if not ledger.request.goal:
            rule = Rule("review", "not changed, or shown by the diff alone")
    excluded = [*excluded, *(Excluded(choice.path, reason, rule) for choice in unfit)]
    return Fitted(
        tuple(sections), listing, tuple(sorted(excluded, key=lambda item: item.path)), ledger.spent
    )


def trimmed(fitted: Fitted, over: int) -> Fitted:
    """Give back at least `over`: first names in the list, then the sections with the weakest
    claim."""
    paths, unnamed = list(fitted.listing.paths), fitted.listing.unnamed
    if paths:
        keep = max(len(paths) - over, 0)  # a name costs at least one unit
        unnamed += len(paths) - keep
        listing = replace(fitted.listing, paths=tuple(paths[:keep]), unnamed=unnamed)
        return replace(fitted, listing=listing)
    *kept, last = fitted.sections
    rule = Rule("budget", "the count of the whole text")
    excluded = sorted(
        (*fitted.excluded, Excluded(last.path, "budget", rule)), key=lambda item: item.path
    )
    listing = replace(fitted.listing, unnamed=unnamed + 1)
    return Fitted(tuple(kept), listing, tuple(excluded), fitted.spent)


def frame_cost(
    count: Counter, request: Request, preamble: Preamble, listing: Listing | None = None
) -> int:
    """Return the cost of a pack without any file: the opening, the goal, the frame of the manifest,
    the ending."""
    pieces, numbers = shape(request.format), request.line_numbers
    texts = (
        pieces.opening(preamble, numbers),
        pieces.closing(preamble, listing or Listing(), numbers),
        pieces.ending("0123456789abcdef" * 4),
    )
    return sum(map(count, texts))


_FRAME = 112  # characters of the shortest frame and manifest line, besides the path
# Files read in vain until only those that can enter whole are read, and until none is.
_PATIENCE, _LAST = 32, 1000
_BYTES_PER_TOKEN = 6  # denser text exists, but not in a file that would have been worth its read
_PIECES, _PIECE = 4, 700
REST_SHARE = 250
"""A budget is spent if less than one part in this many is left."""


class Ledger:
    """The rest of a budget: the only mutable state of fitting, local to one fit."""

    def __init__(self, request: Request, count: Counter, preamble: Preamble, files: int) -> None:
        self._shape = shape(request.format)
        self.request, self.cut = request, request.cut
        self.count = count
        self.outliner: Outliner = outline_text
        self._glue = count(self._shape.GLUE)
        self._unit = request.budget.unit
        self.limit = request.budget.limit or 0
        self.described = f"{self.limit:,} {self._unit}"
        self.misses = 0
        self.outlined = request.rest == "outline"
        # Files that are only named, before those that do not fit.
        self.listed: tuple[RelPath, ...] = ()
        self.required = self.spent = self._required(preamble, files)
        # A frame with its manifest line costs about this much; with less left, no section can
        # enter. Of a large budget a small rest is not worth the files that are read in vain for it.
        self._least = max(40 if self._unit == "tokens" else 120, self.limit // REST_SHARE)

    def _required(self, preamble: Preamble, files: int) -> int:
        """Return the cost before any file: the opening, the goal, the frame of the manifest, and a
        count of `files` without names."""
        required = frame_cost(self.count, self.request, preamble, Listing((), files))
        if required > self.limit:
            raise self.refusal(required)
        return required

    def refusal(self, required: int) -> RefusedError:
        return RefusedError(
            f"the required text costs {required:,} {self._unit} and the budget is {self.limit:,}",
            rule=f"budget: {self.described}; the goal and the pack's own frame are never cut",
            next_step="raise the budget, or shorten the goal",
        )

    def estimate(self, text: str) -> int:
        """Estimate the cost of a text, for a plan that is measured afterwards; a long one is
        sampled."""
        if self._unit != "tokens" or len(text) <= _PIECES * _PIECE:
            return self.count(text)
        step = (len(text) - _PIECE) // (_PIECES - 1)
        some = sum(self.count(text[at : at + _PIECE]) for at in range(0, _PIECES * step, step))
        return some * len(text) // (_PIECES * _PIECE)

    def bytes_left(self) -> int:
        return (self.limit - self.spent) * (4 if self._unit == "tokens" else 1)

    def cost(self, section: Section) -> int:
        """Return the cost of a section: its frame, its body and its line in the manifest."""
        framed, line = section_text(section, self.request.format, self.request.line_numbers)
        return self.count(framed) + self.count(line) + self._glue

    def exhausted(self) -> bool:
        return self.limit - self.spent < self._least or self.misses >= _LAST

    def hopeless(self, path: str, size: int) -> bool:
        """Return whether a file of this size need not be read: its frame alone is too long, which
        holds its path twice and its digest once. After many vain reads, only files that can enter
        whole are worth a read: a limited pack must not read the whole tree to fill its last gap."""
        left = (self.limit - self.spent) * (_BYTES_PER_TOKEN if self._unit == "tokens" else 1)
        frame = 2 * len(path) + _FRAME
        return frame > left or (self.misses >= _PATIENCE and frame + size > left)

    def pay(self, section: Section, kept_free: int = 0) -> Section | None:
        """Return the section with its cost, if the budget has room for it beside `kept_free`."""
        limit = self.limit - kept_free
        if self._unit != "tokens" and len(section.body.text) > limit - self.spent:
            return None
        cost = section.cost or self.cost(section)  # a plan has counted it already
        if self.spent + cost > limit:
            return None
        self.spent += cost
        return replace(section, cost=cost)

    def reserve(self, listing: Listing) -> int:
        """Return the cost of a listing in the manifest."""
        plain, stated = (
            frame_cost(self.count, self.request, Preamble(""), one) for one in (Listing(), listing)
        )
        return stated - plain

    def list_paths(self, paths: Sequence[RelPath]) -> Listing:
        """Name as many of the files not shown as the rest of the budget allows; count the
        others."""
        named: list[RelPath] = []
        for path in paths:
            cost = self.count(self._shape.listing_line(path)) + self._glue
            if self.spent + cost > self.limit:
                break
            self.spent += cost
            named.append(path)
        return Listing(tuple(sorted(named)), len(paths) - len(named))


# How often a task's pack is fitted again with a little less, before anything is dropped.
_REFITS = 2
# Fills a ledger's budget from materials: in the order of claim, or by regions for a task.
Spend = Callable[[Sequence[Choice], Iterable[Material | Excluded], "Ledger"], Fitted]


class WholeText(Struct, frozen=True):
    """A budgeted pack whose whole text was counted; `fitted` has its sections in display order."""

    text: str
    fitted: Fitted
    used: int


def fit_whole_text(
    choices: Sequence[Choice],
    materials: Iterator[Material | Excluded],
    ledger: Ledger,
    preamble: Preamble,
    spend: Spend = fit_within,
) -> WholeText:
    """Fit by `spend`, render and count. Costs of pieces need not add up to that of the whole, and
    the limit holds for the whole: while it is exceeded, the weakest claims are dropped."""
    request, count, limit = ledger.request, ledger.count, ledger.limit
    replay, reserve = Replay(materials), 0
    by_rank = spend is not fit_within
    refits = _REFITS if by_rank else 0
    fitted = spend(choices, replay, ledger)
    # Best first with a rank: the choices are in its order. Else the most stable content first.
    places = {choice.entry.path: number for number, choice in enumerate(choices)}
    stable = request.stable_order or not by_rank

    def place(section: Section) -> tuple[int, str]:
        number = places[section.path]
        return display_key(choices[number]) if stable else (number, "")

    while True:
        sections = tuple(sorted(fitted.sections, key=place))
        numbers = request.line_numbers
        chunks = render(
            preamble, sections, fitted.listing, format=request.format, line_numbers=numbers
        )
        text = "".join(chunks)
        used = count(text)
        if used <= limit:
            return WholeText(text, replace(fitted, sections=sections), used)
        if refits and not fitted.listing.paths:  # a lost section costs more than a few tokens
            refits -= 1
            reserve = max(used - (fitted.spent - reserve), reserve) + limit // 250
            ledger.spent = min(ledger.required + reserve, limit)
            fitted = spend(choices, replay, ledger)
            continue
        if not (fitted.sections or fitted.listing.paths):
            raise ledger.refusal(used)
        fitted = trimmed(fitted, used - limit)


class Replay:
    """A lazy sequence that can be iterated again: no file is loaded twice for another fit."""

    def __init__(self, materials: Iterator[Material | Excluded]) -> None:
        self._rest = materials
        self._loaded: list[Material | Excluded] = []

    def __iter__(self) -> Iterator[Material | Excluded]:
        yield from self._loaded
        for material in self._rest:
            self._loaded.append(material)
            yield material
