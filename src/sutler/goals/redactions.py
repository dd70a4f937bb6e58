"""Redactor of a prompt that counts its replacements by file and rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sutler.formats.document import Finding
from sutler.paths import quote
from sutler.secrets.cleaner import Clean

PROMPT = "prompt"
"""The name under which the rendered prompt itself is counted."""


class Redactions:
    """A callable `(text, path) -> clean text`. Texts without a path, such as notes, are not
    counted."""

    def __init__(self, clean: Clean) -> None:
        self._clean = clean
        self.by_path: dict[str, Counter[str]] = {}

    def __call__(self, text: str, path: str) -> str:
        cleaned = self._clean(text, "" if path == PROMPT else path)
        if path:
            self.count(path, cleaned.findings)
        return cleaned.text

    def count(self, path: str, findings: Iterable[Finding]) -> None:
        """Count findings in a text that was redacted elsewhere, such as a part of a pack."""
        rules = [finding.rule for finding in findings if finding.confidence > 0]
        if rules:
            self.by_path.setdefault(path, Counter()).update(rules)

    def discard(self, path: str) -> None:
        """Remove the counts of a file that is not sent after all."""
        self.by_path.pop(path, None)

    @property
    def total(self) -> int:
        return sum(counts.total() for counts in self.by_path.values())

    def rules(self) -> dict[str, int]:
        """Findings by rule, for the receipt."""
        whole: Counter[str] = Counter()
        for counts in self.by_path.values():
            whole.update(counts)
        return dict(sorted(whole.items()))

    def __str__(self) -> str:
        """`src/a.py (password ×2), prompt (token)`."""
        return ", ".join(
            f"{quote(path)} ({', '.join(_times(rule, n) for rule, n in sorted(counts.items()))})"
            for path, counts in sorted(self.by_path.items())
        )


def _times(rule: str, number: int) -> str:
    return rule if number == 1 else f"{rule} ×{number}"
