"""The table of languages, with lookups by path, name and shebang."""

from __future__ import annotations

from sutler.languages.base import Comments, Entries, Grammar, Language, Shapes, Tests, Uses
from sutler.languages.table import (
    LANGUAGES,
    MANIFESTS,
    entry_names,
    language_named,
    language_of,
    language_of_name,
    language_of_shebang,
)

__all__ = [
    "LANGUAGES",
    "MANIFESTS",
    "Comments",
    "Entries",
    "Grammar",
    "Language",
    "Shapes",
    "Tests",
    "Uses",
    "entry_names",
    "language_named",
    "language_of",
    "language_of_name",
    "language_of_shebang",
]
