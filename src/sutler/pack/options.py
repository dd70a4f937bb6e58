"""Options of a call, in a module apart from the project: a program without options need not load
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from sutler.formats.document import Format


class Options(TypedDict, total=False):
    """Settings of one call; `sutler config` describes each. They outrank files and environment."""

    include: Sequence[str]
    exclude: Sequence[str]
    depth: int
    hidden: bool
    max_files: int
    max_tokens: int
    max_chars: int
    max_bytes: int
    tier: str
    counter: str
    format: Format
    line_numbers: bool
    fill: bool
    stop: float
    stable_order: bool
    transforms: Sequence[str]
    detail: Sequence[str]
    rest: str
    cut_over: int
    skip_over: int
    condense: bool
    on_decode_error: str
    mode: str
    default_excludes: bool
    allow: Sequence[str]
    strict_patterns: bool
    redact: bool
    allow_secrets: Sequence[str]
    allow_lines: Sequence[str]
