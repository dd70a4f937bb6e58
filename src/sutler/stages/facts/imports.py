"""From the text of an import to the modules or files it asks for, one small rule per family of languages."""

from __future__ import annotations

import re
from collections.abc import Callable

_QUOTED = re.compile(r"""["'`]([^"'`\n]{1,200})["'`]""")
_INCLUDE = re.compile(r"""[<"]([^>"\n]{1,200})[>"]""")
_DOTTED = re.compile(r"[A-Za-z_][\w.]*")
_PY_FROM = re.compile(r"from\s+([.\w]+)\s+import\s+(.*)", re.S)
_NAME = re.compile(r"([\w.]+)(?:\s+as\s+\w+)?")
_BRACED = re.compile(r"([\w:\\]*?)(?:::|\\)?\{([^{}]*)\}")
_MAX_TARGETS = 40


def _python(text: str) -> list[str]:
    match = _PY_FROM.match(text)
    if match is None:
        return _NAME.findall(text.removeprefix("import"))
    base, names = match.groups()
    joint = "" if base.endswith(".") else "."
    return [base, *(base + joint + name for name in _NAME.findall(names.strip("()")))]


def _quoted(text: str) -> list[str]:
    return _QUOTED.findall(text)


def _include(text: str) -> list[str]:
    return _INCLUDE.findall(text)


def _dotted(text: str) -> list[str]:
    skip = ("import", "static", "using", "global", "as", "open", "class", "struct", "func", "testable")
    found = [word for word in _DOTTED.findall(text) if word not in skip]
    return [found[-1].rstrip(".")] if found and "=" in text else [word.rstrip(".") for word in found[:1]]


def _nested(text: str) -> list[str]:
    """Rust and PHP: `use a::b::{c, d as e};` asks for a::b::c and a::b::d."""
    body = re.sub(r"^\s*(pub(\([^)]*\))?\s+)?(use|extern\s+crate)\s+(function\s+|const\s+)?", "", text).rstrip(";")
    match = _BRACED.search(body)
    if match is None:
        return [re.sub(r"\s+as\s+\w+$", "", part.strip()) for part in body.split(",")]
    base, names = match.groups()
    separator = "\\" if "\\" in body else "::"
    return [
        base,
        *(f"{base}{separator}{name.split(' as ')[0].strip()}" for name in names.split(",") if name.strip()),
    ]


def _php(text: str) -> list[str]:
    return _nested(text) if text.startswith("use") else _quoted(text)


def _bash(text: str) -> list[str]:
    return [word.strip("\"'") for word in text.split()[1:2]]


_RULES: dict[str, Callable[[str], list[str]]] = {
    "python": _python,
    "javascript": _quoted,
    "typescript": _quoted,
    "tsx": _quoted,
    "go": _quoted,
    "ruby": _quoted,
    "lua": _quoted,
    "c": _include,
    "cpp": _include,
    "java": _dotted,
    "kotlin": _dotted,
    "scala": _dotted,
    "csharp": _dotted,
    "swift": _dotted,
    "rust": _nested,
    "php": _php,
    "bash": _bash,
}


def targets_of(language: str, text: str) -> tuple[str, ...]:
    """The modules or files that one import statement names."""
    return tuple(target for target in _RULES[language](text)[:_MAX_TARGETS] if target)
