"""From the text of an import to the modules or files it names: the rules that several languages
share."""

from __future__ import annotations

import re

# Strings, compiled by `re` on first use: a plain pack reads no import and should not pay for them.
_QUOTED = r"""["'`]([^"'`\n]{1,200})["'`]"""
_INCLUDE = r"""[<"]([^>"\n]{1,200})[>"]"""
_DOTTED = r"[A-Za-z_][\w.]*"
_BRACED = r"([\w:\\]*?)(?:::|\\)?\{([^{}]*)\}"
_USE = r"^\s*(pub(\([^)]*\))?\s+)?(use|extern\s+crate)\s+(function\s+|const\s+)?"
_ALIAS = r"\s+as\s+\w+$"
_WORDS = frozenset(
    ["import", "static", "using", "global", "as", "open", "class", "struct", "func", "testable"]
)


def quoted(text: str) -> list[str]:
    """`import x from "y"`, `require("y")`."""
    return re.findall(_QUOTED, text)


def included(text: str) -> list[str]:
    """`#include <y>`, `#include "y"`."""
    return re.findall(_INCLUDE, text)


def dotted(text: str) -> list[str]:
    """`import static a.b.C`, `using X = a.b`."""
    names = [word for word in re.findall(_DOTTED, text) if word not in _WORDS]
    if names and "=" in text:
        return [names[-1].rstrip(".")]
    return [word.rstrip(".") for word in names[:1]]


def nested(text: str) -> list[str]:
    """`use a::b::{c, d as e};` names a::b, a::b::c and a::b::d."""
    body = re.sub(_USE, "", text).rstrip(";")
    match = re.search(_BRACED, body)
    if match is None:
        return [re.sub(_ALIAS, "", part.strip()) for part in body.split(",")]
    base, names = match.groups()
    separator = "\\" if "\\" in body else "::"
    inner = [name.split(" as ")[0].strip() for name in names.split(",") if name.strip()]
    return [base, *(f"{base}{separator}{name}" for name in inner)]
