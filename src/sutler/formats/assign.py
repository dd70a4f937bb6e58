"""Render files as assign lines (seed 000): a variable for the path, and one for the content between
here-doc markers.

Tokens derive from path and content, so that the same files give the same text. A number is added
while the content contains the marker."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from sutler.paths import quote


def assign_text(files: Iterable[tuple[str, str]], *, compat: bool = False) -> str:
    """Render (path, content) pairs in their order; no pairs give an empty text.

    Two files with the same stem get distinct names (`spec_a`, `spec_a_2`), and a path with a line
    break is escaped; `compat` does neither, like the original."""
    lines: list[str] = []
    taken: set[str] = set()
    for path, content in files:
        name, display = build_safe_base_name(path), path
        if not compat:
            name, display = _distinct(name, taken), quote(path).strip('"')
        token = build_here_doc_token(content, f"context-{_digest(path, content)}")
        lines += [f'@{name} assign "{display}"', f"@{name}Content assign", f"--begin-{token}--"]
        if content:
            lines.append(content)
        lines.append(f"--end-{token}--")
    return "\n".join(lines)


def build_safe_base_name(file_path: str, prefix: str = "spec_") -> str:
    """Derive a variable name from a file's name: letters, digits and `_`, a letter first."""
    name = file_path.rsplit("/", 1)[-1]
    dot = name.rfind(".")
    stem = name[:dot] if dot > 0 else name
    base = re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_") or "file"
    return prefix + (base if base[0].isalpha() else f"F_{base}")


def build_here_doc_token(content: str, base: str = "context") -> str:
    """Return a token that does not occur in the content as a marker: `base`, else `base-1`,
    `base-2` and so on."""
    token, counter = base, 0
    while f"--begin-{token}--" in content or f"--end-{token}--" in content:
        counter += 1
        token = f"{base}-{counter}"
    return token


def _digest(path: str, content: str) -> str:
    return sha256(f"{path}\n{content}".encode(errors="surrogatepass")).hexdigest()[:32]


def _distinct(name: str, taken: set[str]) -> str:
    """Return a name that is free, and whose content variable is free too."""
    candidate, number = name, 1
    while {candidate, f"{candidate}Content"} & taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.update((candidate, f"{candidate}Content"))
    return candidate
