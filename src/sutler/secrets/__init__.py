"""Redaction: the only maker of CleanText.

`redact` looks at the whole text before anything is cut, replaces the secret part of a line by a
typed marker and leaves every line where it was. The marker names the rule and carries a tag keyed
per installation: the same secret has the same tag, and neither the tag nor anything else tells its
length or lets a guess be checked without the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sutler.secrets.engines import (
        Engine,
        compile_database,
        hyperscan_engine,
        ready_made,
        stdlib_engine,
    )
    from sutler.secrets.format_table import rules_digest
    from sutler.secrets.markers import digest_of, own_spans
    from sutler.secrets.redactor import Allow, redact
    from sutler.secrets.sealing import Listed, Refusal, listing, seal

__all__ = [
    "Allow",
    "Engine",
    "Listed",
    "Refusal",
    "compile_database",
    "digest_of",
    "hyperscan_engine",
    "listing",
    "own_spans",
    "ready_made",
    "redact",
    "rules_digest",
    "seal",
    "stdlib_engine",
]

_HOMES = {
    "Allow": "redactor",
    "Engine": "engines",
    "Listed": "sealing",
    "Refusal": "sealing",
    "compile_database": "engines",
    "digest_of": "markers",
    "hyperscan_engine": "engines",
    "listing": "sealing",
    "own_spans": "markers",
    "ready_made": "engines",
    "redact": "redactor",
    "rules_digest": "format_table",
    "seal": "sealing",
    "stdlib_engine": "engines",
}


def __getattr__(name: str) -> object:
    """Each name with its module, when somebody asks: who only wants to know the rules' digest loads
    no grammar.
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'sutler.secrets' has no attribute '{name}'")
    from importlib import import_module

    value: object = getattr(import_module(f"sutler.secrets.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
