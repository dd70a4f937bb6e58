"""What the picker can have done by others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from sutler.fronts.tui.plan import Budget, Plan, Weight


class Deeds(Struct, frozen=True):
    """What the picker can have done, given by the front that starts it. Each returns a sentence for
    the status line; they are called in the door's thread.
    """

    weigh: Callable[[], Mapping[str, Weight]]
    frame: Callable[[], int]
    keep: Callable[[Iterable[str]], str]
    pack: Callable[[Sequence[str], str], str]
    copy: Callable[[Sequence[str], Callable[[str], None]], str]
    export: Callable[[Sequence[str], str], str]
    profiles: Callable[[], Sequence[str]]
    profile: Callable[[str], Iterable[str]]
    add_profile: Callable[[str, Plan], str]
    budget: Callable[[Sequence[str]], Budget]
    told: Callable[[str], str]
