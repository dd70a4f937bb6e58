"""One pack as several complete packs."""

from __future__ import annotations

from sutler.formats import group, parse, portion, render, section_text, shape
from sutler.formats.document import Format, Listing, Part
from sutler.tokens.counter import Counter


def split_text(text: str, format: Format, size: int, count: Counter) -> list[str]:
    """The pack's text cut between files into packs of at most `size` each, as few as possible."""
    whole = parse(text)
    pieces = shape(format)
    glue = count(pieces.GLUE)
    costs = [
        (section.path, sum(map(count, section_text(section, format, whole.line_numbers))) + glue)
        for section in whole.sections
    ]

    def fixed(part: Part, listing: Listing) -> int:
        preamble, shown = portion(whole.preamble, listing, part)
        frame = (
            pieces.opening(preamble, whole.line_numbers),
            pieces.closing(preamble, shown, whole.line_numbers),
            pieces.ending("0123456789abcdef" * 4),
        )
        return sum(map(count, frame))

    many = len(whole.sections) + 1
    last = fixed(Part(many, many), whole.listing) - fixed(Part(many, many), Listing())
    runs = group(
        costs,
        size,
        first=fixed(Part(1, many), Listing()),
        rest=fixed(Part(many, many + 1), Listing()),
        last=last,
    )
    texts = []
    for number, (start, stop) in enumerate(runs, 1):
        preamble, listing = portion(whole.preamble, whole.listing, Part(number, len(runs)))
        chunks = render(
            preamble,
            whole.sections[start:stop],
            listing,
            format=format,
            line_numbers=whole.line_numbers,
        )
        texts.append("".join(chunks))
    return texts
