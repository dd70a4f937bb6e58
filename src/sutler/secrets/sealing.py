"""The last look: nothing that is about to leave and cannot be cleaned may hold a secret.

Text (a goal, a diff, a log, a commit message) is cleaned by `redact` like any file. What must leave
as it is (a path, a header, a branch or remote name) cannot be rewritten without becoming a lie, so
it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from sutler.errors import RefusedError
from sutler.formats.document import Finding
from sutler.secrets.engines import Engine
from sutler.secrets.explain import Explanation
from sutler.secrets.redactor import NOTHING, Allow, redact


class Refusal(Struct, frozen=True):
    """Something that may not leave: its place and the rule that says so. Never the value."""

    place: str
    rule: str
    line: int = 1

    def error(self) -> RefusedError:
        where = f"{self.place}, line {self.line}" if self.line > 1 else self.place
        return RefusedError(
            f"a secret stands in {where} and cannot be taken out there",
            rule=f"secrets/{self.rule}",
            next_step="remove it, or allow its tag in your own configuration (`sutler secrets` shows the tag)",
        )


def seal(
    texts: Iterable[tuple[str, str]],
    *,
    key: bytes,
    allow: Allow = NOTHING,
    engine: Engine | None = None,
) -> Refusal | None:
    """The first (place, text) that holds a secret, or None. Places are names such as `path 12`, not
    content.
    """
    for place, text in texts:
        found = [
            one
            for one in redact(text, "", key=key, allow=allow, engine=engine).findings
            if one.confidence > 0
        ]
        if found:
            return Refusal(place, found[0].rule, found[0].line)
    return None


class Listed(Struct, frozen=True, omit_defaults=True):
    """One row of `sutler secrets`: where, which rule, how sure, and the tag that an allow-list
    takes.
    """

    path: str
    line: int
    rule: str
    confidence: float
    tag: str
    shown: str
    explanation: Explanation | None = None


def listing(path: str, clean_text: str, findings: Iterable[Finding]) -> tuple[Listed, ...]:
    """Findings of one file, masked: `shown` is the line after redaction, cut to 120 characters."""
    lines = clean_text.split("\n")
    rows = [
        Listed(
            path, one.line, one.rule, one.confidence, one.tag[:8], lines[one.line - 1].strip()[:120]
        )
        for one in findings
        if one.confidence > 0
    ]
    return tuple(sorted(rows, key=lambda row: (row.line, row.rule, row.tag)))
