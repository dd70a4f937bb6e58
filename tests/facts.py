"""Facts for a reader of an index, extracted in this process."""

from __future__ import annotations

from collections.abc import Mapping

from sutler.languages.extract import extract
from sutler.ranking.reader import Source


def extracted(texts: Mapping[str, str]) -> Source:
    """A source of facts from texts by path."""
    return lambda docs: [extract(doc.path, texts[doc.path]) for doc in docs]
