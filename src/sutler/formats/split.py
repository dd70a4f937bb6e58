"""Split a pack into parts, each a complete pack, and merge them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from sutler.errors import RefusedError, UsageError
from sutler.formats import parse, render, section_text, shape
from sutler.formats.document import CleanText, Format, Listing, Pack, Part, Preamble
from sutler.paths import RelPath, quote


def split_text(text: str, format: Format, size: int, count: Callable[[str], int]) -> list[str]:
    """Return the pack's text cut between files into packs of at most `size` each, as few as
    possible."""
    whole = parse(text)
    pieces, numbers = shape(format), whole.line_numbers
    glue = count(pieces.GLUE)
    costs = [
        (section.path, sum(map(count, section_text(section, format, numbers))) + glue)
        for section in whole.sections
    ]

    def fixed(part: Part, listing: Listing) -> int:
        preamble, shown = portion(whole.preamble, listing, part)
        frame = (
            pieces.opening(preamble, numbers),
            pieces.closing(preamble, shown, numbers),
            pieces.ending("0123456789abcdef" * 4),  # every digest is as long
        )
        return sum(map(count, frame))

    # Part numbers are not known yet: no pack has more parts, so no number has more digits.
    many = len(whole.sections) + 1
    last = fixed(Part(many, many), whole.listing) - fixed(Part(many, many), Listing())
    first, rest = (fixed(Part(number, many + 1), Listing()) for number in (1, many))
    texts = []
    runs = group(costs, size, first=first, rest=rest, last=last)
    for number, (start, stop) in enumerate(runs, 1):
        preamble, listing = portion(whole.preamble, whole.listing, Part(number, len(runs)))
        sections = whole.sections[start:stop]
        chunks = render(preamble, sections, listing, format=format, line_numbers=numbers)
        texts.append("".join(chunks))
    return texts


def group(
    costs: Sequence[tuple[RelPath, int]], size: int, *, first: int = 0, rest: int = 0, last: int = 0
) -> tuple[tuple[int, int], ...]:
    """Cut the sections, in order, into as few runs (start, stop) as fit into `size` each.

    `first` is the cost of the first part without sections, `rest` that of any later part, and
    `last` that of the list of files not shown, in the last part. Raise RefusedError with the
    figures if a piece fits into no part."""
    if first > size:
        _refuse("the opening, with the tree and the goal,", first, 0, size)
    parts: list[tuple[int, int]] = []
    start, spent = 0, first
    for position, (path, cost) in enumerate(costs):
        if spent + cost > size:
            if rest + cost > size:
                _refuse(quote(path), cost, rest, size)
            parts.append((start, position))
            start, spent = position, rest
        spent += cost
    if spent + last > size:
        if rest + last > size:
            _refuse("the list of files not shown", last, rest, size)
        parts.append((start, len(costs)))
        start = len(costs)
    return (*parts, (start, len(costs)))


def portion(preamble: Preamble, listing: Listing, part: Part) -> tuple[Preamble, Listing]:
    """Return the preamble and the listing of a part: the goal is in every part, the tree in the
    first, the files not shown in the last."""
    first, last = part.number == 1, part.number == part.total
    tree = preamble.tree if first else CleanText("")
    return replace(preamble, tree=tree, part=part), listing if last else Listing()


def merge(parts: Sequence[Pack]) -> Pack:
    """Merge all parts, in any order, to the whole pack."""
    ordered = sorted(parts, key=lambda pack: pack.preamble.part.number)
    if not ordered:
        raise UsageError("there are no parts to merge", next_step="give every part of the pack")
    total = ordered[0].preamble.part.total
    numbers = [pack.preamble.part.number for pack in ordered]
    if numbers != list(range(1, total + 1)):
        raise UsageError(
            f"parts {', '.join(map(str, numbers))} do not make up a pack of {total}",
            rule="each part is needed once",
            next_step=f"give parts 1 to {total}",
        )
    for pack in ordered[1:]:
        _require_kin(ordered[0], pack)
    preamble = replace(ordered[0].preamble, part=Part())
    sections = tuple(section for pack in ordered for section in pack.sections)
    return Pack(preamble, sections, ordered[-1].listing, ordered[0].line_numbers)


def _require_kin(first: Pack, other: Pack) -> None:
    same = (
        (first.preamble.project, first.preamble.goal.text, first.preamble.header.text)
        == (other.preamble.project, other.preamble.goal.text, other.preamble.header.text)
        and first.preamble.part.total == other.preamble.part.total
        and first.line_numbers == other.line_numbers
    )
    if not same:
        raise UsageError(
            f"part {other.preamble.part.number} belongs to another pack than part 1",
            rule="all parts share project, goal, number of parts and line numbers",
            next_step="give the parts that one `sutler pack --split` wrote",
        )


def _refuse(what: str, cost: int, fixed: int, size: int) -> None:
    more = f" besides the part's own {fixed}" if fixed else ""
    raise RefusedError(
        f"{what} costs {cost}{more}: more than a part may hold, {size}",
        rule=f"--split {size}: every part is a complete pack, cut between files only",
        next_step="give a larger size, or leave out or cut what is too large",
    )
