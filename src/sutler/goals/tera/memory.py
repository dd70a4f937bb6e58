"""Rules that run once for each position: the memory that keeps an ordered-choice parser linear."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from sutler.goals.tera.nodes import TemplateError

T = TypeVar("T")
Got = tuple[T, int] | None

MAX_DEPTH = 100


def remembered(rule: Callable[[Any, int], Got[T]]) -> Callable[[Any, int], Got[T]]:
    """Run a rule once for each position, and no deeper than a person would nest."""

    @wraps(rule)
    def run(self: Any, pos: int) -> Got[T]:
        key = (rule.__name__, pos)
        if key in self.memory:
            found: Got[T] = self.memory[key]
            return found
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TemplateError(f"expression nested deeper than {MAX_DEPTH} levels", rule="template depth limit")
        result = rule(self, pos)
        self.depth -= 1
        self.memory[key] = result
        return result

    return run
