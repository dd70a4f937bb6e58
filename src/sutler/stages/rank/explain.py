"""Short sentences that say why a file stands where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from sutler.values.facts import Signal

_SENTENCES = {
    "lexical": "its text shares the task's words",
    "passage": "one place in it holds many of the task's words",
    "path": "its path has words of the task",
    "symbols": "its definitions are named with words of the task",
    "title_path": "its path has words of the title",
    "title_symbols": "its definitions have words of the title",
    "title_body": "its text has words of the title",
    "ticked": "it holds what the task puts in back-ticks",
    "named": "the title names this path",
    "mention": "the task names this path",
    "frame": "a stack frame of the task lies here",
    "dotted": "a dotted name of the task leads here",
    "defines": "it defines {names}",
    "title_defines": "it defines {names}, which the title names",
    "phrase": "it holds a text that the task quotes",
    "imports": "it imports a file that ranks high",
    "imported": "a file that ranks high imports it",
    "tested": "tests or examples that match the task exercise it",
    "message": "commits that read like the task touched it",
    "recent": "it changed lately or often",
    "cochange": "it changes together with files that rank high",
    "beside": "it stands beside a file that ranks high",
    "feedback": "it resembles the best matches",
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
_MOST = 4
_LEAST_SHARE = 0.06


def sentences(shares: Sequence[Signal], names: Sequence[str], kind: str, prior: float) -> tuple[str, ...]:
    """The strongest signals as sentences, and the class where it holds the file back."""
    total = sum(signal.share for signal in shares) or 1.0
    listed = ", ".join(names[:3]) or "a name the task uses"
    strong = [signal for signal in shares if signal.share >= _LEAST_SHARE * total][:_MOST]
    found = [_SENTENCES[signal.name].format(names=listed) for signal in strong]
    if prior < 1 and kind in _CLASSES:
        found.append(f"{_CLASSES[kind]} (× {prior:g})")
    return tuple(found)
