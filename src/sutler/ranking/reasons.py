"""Reasons for a file's rank: sentences that name their evidence."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Signal(Struct, frozen=True, gc=False):
    """One ranking signal of a file: its value in [0, 1] and its weighted share of the score."""

    name: str
    value: float
    share: float


class Proof(Struct, frozen=True):
    """Evidence that a reason quotes: the task's words in the best region, its lines, and the number
    of commits with words of the task that changed the file."""

    words: tuple[str, ...] = ()
    lines: str = ""
    commits: int = 0

    @property
    def text(self) -> str:
        """The words and the lines as a reason quotes them."""
        quoted = ", ".join(f"`{word}`" for word in self.words) or "words of the task"
        return quoted + (f" (lines {self.lines})" if self.lines else "")


NO_PROOF = Proof()

_SENTENCES = {
    "lexical": "matches {words}",
    "passage": "matches {words}",
    "path": "its path has words of the task",
    "symbols": "its definitions are named with words of the task",
    "title_path": "its path has words of the title",
    "title_body": "matches {words}",
    "ticked": "matches {words}",
    "named": "the title names this path",
    "mention": "the task names this path",
    "frame": "a stack frame of the task is in it",
    "qualified": "a qualified name of the task leads here",
    "namesake": "has a name that the task uses",
    "scope": "belongs to the component that the title names",
    "spelled": "its definitions are named with words of the task",
    "twin": "has the name of a file that ranks high",
    "defines": "defines {names}, named in the task",
    "title_defines": "defines {names}, named in the task",
    "phrase": "it holds a text that the task quotes",
    "imports": "it imports a file that ranks high",
    "tested": "tests or examples that match the task exercise it",
    "message": "changed by {commits} about the task's words",
    "recent": "it changed lately or often",
    "beside": "it is in the folder of a file that ranks high",
    "needed": "the best match imports it",
}
_CLASSES = {
    "test": "it is a test",
    "doc": "it is documentation",
    "example": "it is an example",
    "bench": "it is a benchmark",
    "build": "it is part of the build",
    "data": "it is data or configuration",
    "vendor": "it is vendored",
    "generated": "it is generated",
    "ci": "it belongs to continuous integration",
}
_FIRST = frozenset({"named", "mention", "frame", "defines", "title_defines"})
"""Evidence that comes first: names and places are easier to check than words."""
_MOST = 4
_LEAST_SHARE = 0.06


def sentences(
    shares: Sequence[Signal], names: Sequence[str], proof: Proof, kind: str, prior: float
) -> tuple[str, ...]:
    """Return the strongest signals as sentences that name their evidence, and the file's class if
    it lowers the score."""
    total = sum(signal.share for signal in shares) or 1.0
    commits = f"{proof.commits} commits" if proof.commits > 1 else "a commit"
    parts = {
        "names": ", ".join(f"`{name}`" for name in names[:3]) or "a name",
        "words": proof.text,
        "commits": commits,
    }
    strong = [signal.name for signal in shares if signal.share >= _LEAST_SHARE * total]
    strong.sort(key=lambda name: name not in _FIRST)
    reasons = list(dict.fromkeys(_SENTENCES[name].format(**parts) for name in strong))[:_MOST]
    if prior < 1 and kind in _CLASSES:
        reasons.append(f"{_CLASSES[kind]} (× {prior:g})")
    return tuple(reasons)
