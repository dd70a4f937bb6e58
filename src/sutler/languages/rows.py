"""A language without a grammar, as one row: name, suffixes, comments, and what else it has."""

from __future__ import annotations

from sutler.languages.base import Comments, Entries, Kind, Language, Shapes, Tests, words
from sutler.languages.tests import BY_AFFIX, NO_TESTS

SLASHES = Comments(("//",), (("/*", "*/"),))
HASH = Comments(("#",))
DASHES = Comments(("--",))
SEMICOLON = Comments((";",))
PERCENT = Comments(("%",))
MARKUP = Comments((), (("<!--", "-->"),))
NONE = Comments(())


def row(
    kind: Kind,
    name: str,
    suffixes: str,
    comments: Comments,
    *,
    shapes: Shapes | None = None,
    files: str = "",
    shebangs: str = "",
    manifests: str = "",
    ecosystems: str = "",
    tests: Tests | None = None,
    entries: Entries | None = None,
) -> Language:
    """Lists of names are written as words."""
    return Language(
        display=name.capitalize(),
        name=name,
        kind=kind,
        suffixes=words(suffixes),
        files=words(files),
        shebangs=words(shebangs),
        comments=comments,
        grammar=None,
        shapes=shapes,
        tests=tests or (BY_AFFIX if kind in ("program", "schema") else NO_TESTS),
        entries=entries or Entries(),
        manifests=words(manifests),
        ecosystems=words(ecosystems),
    )
