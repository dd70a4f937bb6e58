"""The ceiling of a prompt: a number of tokens, characters or bytes that it never exceeds."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from sutler.errors import RefusedError
from sutler.setting_table import Unit
from sutler.tokens.counter import counter_for

UNIT_NAMES: dict[Unit, str] = {"tokens": "tokens", "chars": "characters", "bytes": "bytes"}


class Ceiling(Struct, frozen=True):
    """A limit with its unit and the counter of that unit."""

    limit: int
    unit: Unit
    count: Callable[[str], int]

    def admits(self, text: str) -> bool:
        return self.count(text) <= self.limit

    def __str__(self) -> str:
        return f"{self.limit:,} {UNIT_NAMES[self.unit]}"

    def refusal(self, what: str, size: int) -> RefusedError:
        """Return the error for a text that cannot be made smaller."""
        return RefusedError(
            f"{what} has {size:,} {UNIT_NAMES[self.unit]}, above the ceiling of {self}",
            rule="a ceiling is never exceeded",
            next_step="raise --max-tokens, --max-chars or --tier, or ask for less",
        )


def ceiling_of(limit: int | None, unit: Unit, vocabulary: str) -> Ceiling | None:
    """Return the ceiling for a limit from the settings; None without a limit."""
    return None if limit is None else Ceiling(limit, unit, counter_for(unit, vocabulary))
