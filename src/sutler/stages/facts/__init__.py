"""Facts of one file: `extract(path, text)` is pure, picklable, and survives any text."""

from __future__ import annotations

from sutler.stages.facts.extract import MAX_BYTES, TIMEOUT_MICROS, extract
from sutler.stages.facts.languages import language_of

__all__ = ["MAX_BYTES", "TIMEOUT_MICROS", "extract", "language_of"]
