"""How much of a file a pack shows, chosen by glob: all of it, its outline, or its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, cast

from msgspec import Struct

from sutler.errors import UsageError
from sutler.paths import quote
from sutler.scan.globs import GlobSet

Detail = Literal["full", "outline", "list"]

_RULE = re.compile(r"(.+?)=(full|outline|list)(?:,|$)")


class DetailRule(Struct, frozen=True):
    glob: str
    level: Detail


def parse_detail(words: Sequence[str]) -> tuple[DetailRule, ...]:
    """Read `src/**=full,docs/**=list`; the first rule that matches a file holds."""
    rules: list[DetailRule] = []
    for word in words:
        at = 0
        while match := _RULE.match(word, at):
            rules.append(DetailRule(match[1].strip(), cast("Detail", match[2])))
            at = match.end()
        if at != len(word) or not word:
            raise UsageError(
                f"{quote(word[at:])} is no level of detail",
                rule="GLOB=LEVEL, separated by commas; levels: full, outline, list",
                next_step="write for example --detail 'src/**=full,tests/**=outline,docs/**=list'",
            )
    return tuple(rules)


class DetailLevels:
    """The rules of one pack, compiled."""

    def __init__(self, rules: Sequence[DetailRule]) -> None:
        self._rules = [(GlobSet((rule.glob,)), rule) for rule in rules]

    def rule_for(self, path: str) -> DetailRule | None:
        """Return the first rule that matches; without one a file is shown in full."""
        return next((rule for globs, rule in self._rules if globs.match(path) is not None), None)


def outline_text(path: str, text: str) -> str:
    """Return the outline of a clean text, or "" if it has none or a longer one."""
    from sutler.languages.outline import outline_of, render_outline

    outline = render_outline(outline_of(path, text))
    return outline if len(outline) < len(text) else ""
