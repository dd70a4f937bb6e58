"""How a file's path says its values are written: in quotes only, or bare as well."""

from __future__ import annotations

from functools import lru_cache

from sutler.paths import basename, extension
from sutler.secrets.format_table import words

_CODE = words("code-extension")


@lru_cache(maxsize=8192)
def quotes_only(path: str) -> bool:
    """Code and JSON: a bare word after `=` or `:` is a name there, not a value."""
    return extension(path) in _CODE and not basename(path).startswith(".env")
