"""The functions that the picker calls: weighing, packing, copying, keeping picks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from sutler.fronts.tui.picking import Budget, Plan, Weight


class Actions(Struct, frozen=True):
    """Functions of the command that starts the picker. Those that return a string return a sentence
    for the status line; `listed` answers from names and sizes alone, before `weigh` has read the
    files. All but `weigh` run in the door's thread."""

    listed: Callable[[], Mapping[str, Weight]]
    weigh: Callable[[Callable[[int, int], None]], Mapping[str, Weight]]
    frame: Callable[[], int]
    keep: Callable[[Iterable[str]], str]
    pack: Callable[[Sequence[str], str], str]
    copy: Callable[[Sequence[str], Callable[[str], None]], str]
    export: Callable[[Sequence[str], str], str]
    profiles: Callable[[], Sequence[str]]
    profile: Callable[[str], Iterable[str]]
    add_profile: Callable[[str, Plan], str]
    budget: Callable[[Sequence[str]], Budget]
    why: Callable[[str], str]
    redacted: Callable[[str], str]
