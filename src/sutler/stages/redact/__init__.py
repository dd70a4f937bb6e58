"""Redaction: the only maker of CleanText.

`redact` looks at the whole text before anything is cut, replaces the secret part of a line by a typed marker and
leaves every line where it was. The marker names the rule and carries a tag keyed per installation: the same secret
has the same tag, and neither the tag nor anything else tells its length or lets a guess be checked without the key.
"""

from __future__ import annotations

from sutler.stages.redact.clean import Allow, redact
from sutler.stages.redact.engines import (
    Engine,
    compile_database,
    database_key,
    hyperscan_engine,
    stdlib_engine,
)
from sutler.stages.redact.markers import digest_of, own_spans
from sutler.stages.redact.seal import Listed, Refusal, listing, seal
from sutler.stages.redact.table import rules_digest

__all__ = [
    "Allow",
    "Engine",
    "Listed",
    "Refusal",
    "compile_database",
    "database_key",
    "digest_of",
    "hyperscan_engine",
    "listing",
    "own_spans",
    "redact",
    "rules_digest",
    "seal",
    "stdlib_engine",
]
