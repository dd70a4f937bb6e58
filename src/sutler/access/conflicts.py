"""What a refused edit gets back: both changes, the file as it is, and what to do next. Clean text only."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

import msgspec

from sutler.access.door import Door
from sutler.stages.merge import Clash
from sutler.values.access import ClashText, Conflict
from sutler.values.errors import ConflictError, SutlerError
from sutler.values.paths import RelPath, quote

REGION = 40
_SHOWN = 60
_AGAIN = (
    "read the file again and repeat the edit on what it holds now",
    "give both changes and the base to a reviewer and write its answer",
    "ask a person to decide",
)


class Sides(NamedTuple):
    """The three texts of a merge, and the version that the first of them is."""

    version: str
    base: str
    ours: str
    theirs: str


class Met(NamedTuple):
    """Two changes of one file that met."""

    path: RelPath
    sides: Sides


def overlap(door: Door, path: RelPath, sides: Sides, clashes: Sequence[Clash]) -> ConflictError:
    """Two changes of the same place. The pieces are cut from texts that were redacted whole."""
    clean = [door.pages.clean_text(path, text, _digest(text)).text.split("\n") for text in sides[1:]]
    found = []
    for clash in clashes[:20]:
        parts = []
        for lines, at, piece in zip(clean, clash.lines, clash[1:], strict=True):
            shown = lines[at - 1 : at - 1 + len(piece)]
            more = [f"… {len(shown) - _SHOWN} more lines"] if len(shown) > _SHOWN else []
            parts.append("\n".join([*shown[:_SHOWN], *more]))
        found.append(ClashText(clash.lines[0], *parts))
    where = ", ".join(str(clash.lines[1]) for clash in clashes[:20])
    conflict = Conflict(
        path=quote(path),
        kind="overlap",
        base_version=sides.version,
        current_version=door.pages.digest(path)[:32],
        clashes=tuple(found),
        region=_region("\n".join(clean[1]), clashes[0].lines[1]),
        proposals=_AGAIN,
    )
    return ConflictError(
        f"{quote(path)} changed since it was read, in the same place: line {where}",
        rule="two changes of one place are not merged",
        next_step=f"{_AGAIN[0]}; it now holds:\n{conflict.region}",
        conflict=conflict,
        sides=Met(path, sides),
    )


def stale(door: Door, path: RelPath, base: str) -> ConflictError:
    """The file is not what the edit was made for, and what it was made for is not known."""
    try:
        page = door.pages.whole(path)
        version, text = page.version, page.text
    except SutlerError:
        version, text = door.pages.digest(path)[:32], ""
    what = "changed since it was read" if base else "was not read in this session"
    conflict = Conflict(
        path=quote(path), kind="stale", base_version=base[:64], current_version=version, region=_region(text, 1),
        proposals=_AGAIN,
    )  # fmt: skip
    return ConflictError(
        f"{quote(path)} {what}",
        rule="a write replaces what its author saw and nothing else",
        next_step=f"read it, then repeat the write with base {version}",
        conflict=conflict,
    )


def unfit(door: Door, path: RelPath, clean: str, fault: ConflictError) -> ConflictError:
    """An edit that does not fit: where it was looked for, as the file is."""
    line = _line_in(fault.what)
    region = _region(clean, line)
    conflict = Conflict(
        path=quote(path), kind="mismatch", base_version="", current_version=door.pages.digest(path)[:32], region=region,
        proposals=_AGAIN[:1],
    )  # fmt: skip
    step = f"{fault.next_step}; " if fault.next_step else ""
    return ConflictError(
        f"{quote(path)}: {fault.what}", rule=fault.rule, next_step=f"{step}the file holds:\n{region}", conflict=conflict
    )


def several(faults: Sequence[ConflictError], files: int) -> ConflictError:
    """More than one file does not take its edit: all are named, so that one more try can mend them all."""
    found = [fault.conflict for fault in faults if isinstance(fault.conflict, Conflict)]
    whole = msgspec.structs.replace(found[0], others=tuple(found[1:])) if found else None
    steps = "\n".join(f"{fault.what.splitlines()[0]}: {fault.next_step}" for fault in faults if fault.next_step)
    return ConflictError(
        f"{len(faults)} of {files} files do not take their edit, so none was changed: "
        + "; ".join(fault.what for fault in faults),
        rule=faults[0].rule,
        next_step=steps,
        conflict=whole,
    )


def _line_in(what: str) -> int:
    """The line an error names, to show the file around it."""
    words = what.replace(",", " ").replace(":", " ").split()
    for word, number in pairwise(words):
        if word in ("line", "lines") and number.isdigit() and words[words.index(word) - 1] != "patch":
            return int(number)
    return 1


def _region(text: str, line: int) -> str:
    lines = text.split("\n")
    start = max(0, min(line - 1, len(lines)) - REGION // 2)
    return "\n".join(f"{start + n + 1}: {one[:300]}" for n, one in enumerate(lines[start : start + REGION]))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
