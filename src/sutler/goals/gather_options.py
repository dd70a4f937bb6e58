"""Syntax of the gather prompt: a request, then `options:` and pairs of `key: value`."""

from __future__ import annotations

import math
import re

from msgspec import Struct

KEYS = ("dir", "filter", "maxDepth", "exclude", "maxFiles", "maxFileSize", "include")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_OPTIONS = re.compile(r"\boptions\s*:\s*", re.IGNORECASE)
_DEPENDS = re.compile(r"\bdependsOn\s*:\s*", re.IGNORECASE)
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|0[xX][0-9a-fA-F]+|0[oO][0-7]+"
    r"|0[bB][01]+"
)


class Options(Struct, frozen=True):
    """Options of the specification's action; numbers may be fractions, as in the original."""

    dir: str = "."
    filter: str | None = None
    max_depth: float = 2
    exclude: str | None = None
    max_files: float | None = None
    max_file_size: float | None = None
    include: tuple[str, ...] | None = None


class Parsed(Struct, frozen=True):
    """A request and its options. If `error` is set, the options could not be parsed and all have
    their defaults."""

    prompt: str
    options: Options
    error: str = ""


def parse_input(text: str) -> Parsed:
    """Remove `dependsOn:` and the text after it, then split at the first `options:`."""
    cut = _DEPENDS.search(text)
    raw = text[: cut.start()].rstrip() if cut else text
    keyword = _OPTIONS.search(raw)
    if not keyword:
        return Parsed(raw.strip(), Options())
    prompt = raw[: keyword.start()].strip()
    try:
        return Parsed(prompt, _options(parse_pairs(raw[keyword.end() :].strip())))
    except ValueError as error:
        return Parsed(prompt, Options(), str(error))


def tokenize(text: str) -> list[str]:
    """Split at white space. Quotes group words and may contain `\\n`, `\\r`, `\\t`."""
    tokens: list[str] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] in "'\"":
            token, at = _quoted(text, at)
            tokens.append(token)
        else:
            start = at
            while at < len(text) and not text[at].isspace():
                at += 1
            tokens.append(text[start:at])
    return tokens


def _quoted(text: str, at: int) -> tuple[str, int]:
    mark, value = text[at], ""
    at += 1
    while at < len(text):
        char = text[at]
        if char == "\\":
            if at + 1 >= len(text):
                raise ValueError("Invalid escape sequence in options.")
            value += _ESCAPES.get(text[at + 1], text[at + 1])
            at += 2
        elif char == mark:
            return value, at + 1
        else:
            value += char
            at += 1
    raise ValueError("Unterminated string literal in options.")


def parse_pairs(text: str) -> dict[str, list[str]]:
    """Parse pairs: a token that ends in `:` is a key, the next one its value. Skip others."""
    pairs: dict[str, list[str]] = {}
    if not text:
        return pairs
    tokens = tokenize(text)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        key = token[:-1].strip()
        at += 1
        if not token.endswith(":") or not key:
            continue
        if key not in KEYS:
            raise ValueError(f"Invalid options: unknown key {key}.")
        if at >= len(tokens):
            raise ValueError(f"Invalid options: missing value for {key}.")
        if key == "include":
            pairs.setdefault(key, []).append(tokens[at])
        else:
            pairs[key] = [tokens[at]]
        at += 1
    if not pairs:
        raise ValueError("Invalid options: no valid key-value pairs found.")
    return pairs


def _options(pairs: dict[str, list[str]]) -> Options:
    def text(key: str) -> str | None:
        return (pairs.get(key, [""])[-1]).strip() or None

    def number(key: str) -> float | None:
        return positive(pairs[key][-1]) if key in pairs else None

    include = tuple(path for path in pairs.get("include", []) if path.strip())
    return Options(
        dir=text("dir") or ".",
        filter=text("filter"),
        max_depth=number("maxDepth") or 2,
        exclude=text("exclude"),
        max_files=number("maxFiles"),
        max_file_size=number("maxFileSize"),
        include=include or None,
    )


def positive(text: str) -> float | None:
    """Parse a finite number above zero; ignore anything else and return None."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    value = float(int(text, 0)) if text[:2].lower() in ("0x", "0o", "0b") else float(text)
    if not math.isfinite(value) or value <= 0:
        return None
    return int(value) if value.is_integer() else value


def constraints_section(options: Options) -> str:
    """Render the limits for the model; empty if there are none."""
    lines: list[str] = []
    if options.filter:
        lines.append(f"- ONLY select files whose name matches the pattern: {options.filter}")
    if options.exclude:
        lines.append(f"- Do NOT select files whose name matches the pattern: {options.exclude}")
    if options.max_files is not None:
        lines.append(f"- Maximum {options.max_files} files can be read in total. Be selective.")
    if options.include:
        lines.append(
            "- The following files are already force-included and loaded. Do NOT request them"
            " again: " + ", ".join(options.include)
        )
    if options.dir and options.dir != ".":
        lines.append(f"- Only select files within the directory: {options.dir}")
    return "\n## Active Constraints\n" + "\n".join(lines) + "\n" if lines else ""
