"""Shares of a budget that has no room for all files: of one file, of a document, of outlines."""

from __future__ import annotations

from msgspec.structs import replace

from sutler.budget.selection import OWN_CODE, Cut, Material, Request
from sutler.budget.shrink import Outliner
from sutler.formats.document import CleanText

WHOLE_SHARE = 5
"""A whole file takes at most one part in this many."""
DOCUMENT_SHARE = 10
"""A document takes at most one part in this many: code is what a pack is for."""
OUTLINES_SHARE = 4
"""With outlines of the rest, one part in this many of the budget is reserved for outlines."""
TIGHT = 200_000
"""Bytes of a budget below which outlines of more files tell more than a few more whole ones."""
CROWD = 8
"""Size of a project, in budgets, above which they do as well, whatever the budget."""
LEAST_OUTLINE = 160
"""A shorter outline is not worth its frame unless outlines are asked for."""
SMALL = 20_000
"""Files up to this size fill what outlines leave of their part of the budget."""


def shared_cut(cut: Cut, room: int) -> Cut:
    """Return a cut that leaves each file its share."""
    most = cut.max_file_bytes
    return replace(
        cut,
        max_file_bytes=min(most, room // WHOLE_SHARE),
        max_document_bytes=min(most, room // DOCUMENT_SHARE),
    )


def outlines_rest(request: Request, room: int, size: int) -> bool:
    """Return whether files that do not fit whole are outlined: on request, or if the budget is
    tight for the size of the files, unless lines are numbered."""
    tight = (room < TIGHT or size > CROWD * room) and not request.line_numbers
    return request.rest == "outline" or (request.rest == "auto" and tight)


def outline_worth(material: Material, request: Request, outliner: Outliner) -> CleanText | None:
    """Return the outline of code if it is worth its frame. Unless outlines are asked for, only the
    project's own code has one."""
    choice = material.choice
    if choice.facts.tag not in ("code", "test"):
        return None
    if request.rest == "auto" and choice.priority > OWN_CODE:
        return None
    outline = outliner(choice.path, material.clean.text)
    least = LEAST_OUTLINE if request.rest == "auto" else 1
    return replace(material.clean, text=outline) if len(outline) >= least else None
