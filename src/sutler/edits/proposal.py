"""Proposals that combine two overlapping changes, for review by a person or a model, never applied
silently.

Three cases are known, which a line merge must refuse: both sides added lines at one place, both
changed a block of imports, and changes of neighbouring lines. A proposal must parse as well as both
sides and define nothing twice that no side defines twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from sutler.edits.difference import hunks
from sutler.edits.merge import Clash, merge
from sutler.languages.facts import Facts

_IMPORT = re.compile(
    rb"\s*(?:import\b|from\s+\S+\s+import\b|use\s|using\s|require\b|require_once\b|include\b"
    rb"|#\s*include\b|#\s*import\b"
    rb"|(?:const|let|var)\s+\S.*=\s*require\(|package\s|extern\s+crate|mod\s+\w+\s*;"
    rb"|\"[^\"]+\"\s*$)"
)


class Proposal(NamedTuple):
    text: str
    note: str


def propose(path: str, base: str, ours: str, theirs: str) -> Proposal | None:
    """Return a text with both changes if they are a known case; None otherwise."""
    notes: dict[str, None] = {}

    def settle(clash: Clash) -> Sequence[bytes] | None:
        for note, way in _WAYS:
            if (lines := way(clash)) is not None:
                notes[note] = None
                return lines
        return None

    root, left, right = (text.encode("utf-8", "surrogatepass") for text in (base, ours, theirs))
    merged = merge(root, left, right, settle)
    if merged.clashes:
        return None
    text = merged.data.decode("utf-8", "surrogatepass")
    checked = _sound(path, (base, ours, theirs), text)
    return Proposal(text, f"{'; '.join(notes)}; {checked}") if checked else None


def _imports(clash: Clash) -> list[bytes] | None:
    """Merge a block of imports as a set: removals and additions of either side apply."""
    texts = (clash.base, clash.ours, clash.theirs)
    if not all(_IMPORT.match(line) for lines in texts for line in lines if line.strip()) or not any(
        texts
    ):
        return None
    gone = set(clash.base) - set(clash.theirs)
    ours = [line for line in clash.ours if line not in gone]
    return [
        *ours,
        *(line for line in clash.theirs if line not in clash.base and line not in clash.ours),
    ]


def _both_added(clash: Clash) -> list[bytes] | None:
    """Put ours first and theirs after it, with the same distance, if the base has nothing there."""
    if any(line.strip() for line in clash.base) or not clash.ours or not clash.theirs:
        return None
    # `}` and `end` are in both without meaning.
    mine = {line for line in clash.ours if len(line.strip()) > 3}
    if mine & {line for line in clash.theirs if len(line.strip()) > 3}:
        return None  # possibly the same definition twice, which is ambiguous
    ours = [
        *clash.ours[:-1],
        clash.ours[-1] if clash.ours[-1].endswith(b"\n") else clash.ours[-1] + b"\n",
    ]
    return [*ours, *clash.theirs]


def _neighbours(clash: Clash) -> list[bytes] | None:
    """Apply changes of different lines that merely touch, each as its side made it."""
    left, right = hunks(clash.base, clash.ours), hunks(clash.base, clash.theirs)
    out: list[bytes] = []
    at = 0
    for change, lines in sorted(
        [(change, clash.ours) for change in left] + [(change, clash.theirs) for change in right]
    ):
        if (
            change.a0 < at
            or sum(other[:2] == (change.a0, change.a0) for other in (*left, *right)) > 1
        ):
            # one line changed twice, or both add at one point: the order is unknown
            return None
        out += [*clash.base[at : change.a0], *lines[change.b0 : change.b1]]
        at = change.a1
    return [*out, *clash.base[at:]]


_WAYS = (
    ("imports of both sides", _imports),
    ("both sides added lines here: ours first, then theirs", _both_added),
    ("both sides changed neighbouring lines", _neighbours),
)


def _sound(path: str, sides: tuple[str, str, str], text: str) -> str:
    """Return the argument for a proposal; empty if there is evidence against it."""
    from sutler.languages.extract import extract

    facts = extract(path, text)
    before = [extract(path, side) for side in sides]
    if facts.status != "parsed":
        plain = all(side.status == facts.status for side in before)
        if plain and facts.status == "plain":
            return "not parsed, since no grammar reads this file"
        return ""

    most = [_names(side) for side in before]
    if any(
        count > max(1, *(counts[name] for counts in most)) for name, count in _names(facts).items()
    ):
        return ""
    return "it parses, and defines nothing twice"


def _names(facts: Facts) -> Counter[tuple[str, str]]:
    return Counter((symbol.name, symbol.kind) for symbol in facts.symbols if symbol.parent < 0)
