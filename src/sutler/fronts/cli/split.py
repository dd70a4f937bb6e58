"""`--split`: one pack in several files, each a complete pack."""

from __future__ import annotations

import os

from sutler.errors import UsageError
from sutler.formats import FORMATS
from sutler.pack.project import Packing
from sutler.paths import quote


def write_parts(packing: Packing, output: str | None, size: int) -> str:
    """Write FILE.1.md, FILE.2.md … and return a phrase that names them."""
    if not output or output == "-":
        raise UsageError("--split writes several files", next_step="name them with -o FILE")
    if size <= 0:
        raise UsageError("--split needs a size above 0", next_step="give a size such as 200k")
    stem, ending = os.path.splitext(output)
    ending = ending or FORMATS[packing.request.format].ENDING
    parts = packing.write_parts(size, lambda number: f"{stem}.{number}{ending}")
    first = quote(f"{stem}.1{ending}")
    return f"{first} to .{parts}{ending}" if parts > 1 else first
