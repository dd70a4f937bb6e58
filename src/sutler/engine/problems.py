"""Strict, flexible, ignore: one function that judges the problems of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sutler.config import Settings
from sutler.values.errors import RefusedError
from sutler.values.paths import RelPath, quote
from sutler.values.snapshot import Excluded, Problem, ProblemKind, Reason

Ask = Callable[[Sequence[Problem]], bool]
"""Shown the problems, says whether to go on. Absent means no."""


_KINDS: dict[Reason, ProblemKind] = {
    "credentials": "denied",
    "ai_denied": "denied",
    "size_limit": "too_large",
    "symlink": "special",
    "special": "special",
    "mount_point": "special",
}


def named_but_out(excluded: Iterable[Excluded], named: Sequence[RelPath]) -> list[Problem]:
    """What the user named and a rule that naming does not lift keeps out: never a silent gap."""
    if not named:
        return []
    wanted = {*named, *(f"{path}/" for path in named)}
    return [
        Problem(item.path.rstrip("/"), _KINDS[item.reason], str(item.rule))
        for item in excluded
        if item.reason in _KINDS and item.path in wanted
    ]


def judge(problems: Sequence[Problem], settings: Settings, named: Sequence[RelPath], ask: Ask | None) -> None:
    """strict: any problem refuses. flexible: a problem with something the user named asks, and without anyone to
    ask refuses; the rest is recorded. ignore: everything is recorded and nothing refuses."""
    mode = settings.text("mode")
    if mode == "ignore":
        return
    grave = problems if mode == "strict" else [one for one in problems if one.path in named]
    if not grave or (mode == "flexible" and ask is not None and ask(grave)):
        return
    lines = [f"{quote(one.path)}: {one.kind}{f' ({one.detail})' if one.detail else ''}" for one in grave]
    shown = "\n".join(f"  {line}" for line in lines[:20])
    more = f"\n  and {len(lines) - 20:,} more" if len(lines) > 20 else ""
    raise RefusedError(
        f"{len(lines):,} problem{'s' if len(lines) != 1 else ''} on the way:\n{shown}{more}",
        rule=f"mode = {mode}",
        next_step="correct them, leave the paths out, or use --mode ignore to go on without them",
    )
