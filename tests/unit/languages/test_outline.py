from __future__ import annotations

from sutler.languages.extract import extract
from sutler.languages.outline import outline, render_outline

TEXT = '''"""Shop."""
import os
from typing import (
    Any,
    Final,
)

LIMIT: Final = 3

@cache
def close(
    door: str,
    force: bool = False,
) -> Any:
    """Close it.

    Slowly.
    """
    def inner(): ...
    return door

class Cart(dict):
    """A cart."""
    size = 1

    def total(self) -> int:
        return 1
'''


def test_an_outline_has_imports_signatures_members_docs_and_line_numbers() -> None:
    assert render_outline(outline(extract("a.py", TEXT), TEXT)).splitlines() == [
        "2: import os",
        "3: from typing import (Any, Final)",
        "8: LIMIT: Final = 3",
        "10: @cache def close(door: str, force: bool = False) -> Any  # Close it.",
        "22: class Cart(dict)  # A cart.",
        "24:   size = 1",
        "26:   def total(self) -> int",
    ]


def test_an_outline_shows_the_text_that_leaves_and_not_what_the_facts_remember() -> None:
    """Redaction keeps the lines and replaces values: the outline must show the replaced text."""
    raw = 'TOKEN = "s3cr3t-value"\n\ndef f(key="s3cr3t-value"):\n    """Uses s3cr3t-value."""\n'
    clean = raw.replace("s3cr3t-value", "[REDACTED]")
    shown = render_outline(outline(extract("a.py", raw), clean))
    assert "s3cr3t" not in shown
    assert "def f(key=" in shown


def test_facts_of_a_longer_text_are_harmless() -> None:
    assert outline(extract("a.py", TEXT), "x = 1\n") is not None


def test_an_empty_text_has_an_empty_outline() -> None:
    assert outline(extract("a.py", ""), "") == ()
