"""What a language is, in one table: look one up by path, by name or by shebang."""

from __future__ import annotations

import re
from functools import cache

from sutler.languages.base import Comments, Entries, Grammar, Language, Shapes, Tests
from sutler.languages.table import BY_FILE, BY_NAME, BY_SHEBANG, BY_SUFFIX, LANGUAGES, MANIFESTS

__all__ = [
    "LANGUAGES",
    "MANIFESTS",
    "Comments",
    "Entries",
    "Grammar",
    "Language",
    "Shapes",
    "Tests",
    "entry_names",
    "language_named",
    "language_of",
    "language_of_name",
    "language_of_shebang",
]

_STEMS = frozenset({"dockerfile", "makefile", "readme", "license", "jenkinsfile"})
_SHEBANG = r"#!\s*(\S+)(?:[ \t]+(?:-S[ \t]*)?(?:[A-Z_]+=\S*[ \t]+)*(\S+))?"


def language_named(name: str) -> Language | None:
    """The language that documents call `name`."""
    return BY_NAME.get(name)


def language_of(path: str, head: str = "") -> Language | None:
    """The language of a file by its name, else by the first line of its text."""
    found = language_of_name(path[path.rfind("/") + 1 :].lower())
    return found or (language_of_shebang(head) if head.startswith("#!") else None)


def language_of_name(low: str) -> Language | None:
    """By a base name in lower case: the whole name, the suffix, or the stem (`Dockerfile.dev`)."""
    dot = low.rfind(".")
    found = BY_FILE.get(low) or (BY_SUFFIX.get(low[dot + 1 :]) if dot > 0 else None)
    if found is None:
        stem = low.partition(".")[0]
        found = BY_FILE.get(stem) if stem in _STEMS else None
    return found


def language_of_shebang(head: str) -> Language | None:
    """By `#!/usr/bin/env python3` and the like."""
    match = re.match(_SHEBANG, head.partition("\n")[0])
    if match is None:
        return None
    program, argument = match.groups()
    word = argument if program.endswith("/env") and argument else program
    name = word.rpartition("/")[2].lower()
    return BY_SHEBANG.get(name) or BY_SHEBANG.get(name.rstrip("0123456789.-"))


@cache
def entry_names() -> frozenset[str]:
    """Files that are entry points by name, in any language."""
    return frozenset(name for language in LANGUAGES for name in language.entries.names)
