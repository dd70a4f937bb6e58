"""The fenced blocks of a Markdown file."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), REPOSITORY / "bench/README.md"]
)
_BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def _blocks(page: Path) -> list[tuple[str, str]]:
    """Every fenced block with its language; one inside a list is indented."""
    return [(kind, textwrap.dedent(body)) for kind, body in _BLOCK.findall(page.read_text())]


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in _blocks(page) if kind == language]


def commands(page: Path) -> list[str]:
    """Every line of every `sh` block that is one command."""
    return [
        line
        for body in blocks(page, "sh")
        for line in body.splitlines()
        if line and not line.startswith("#")
    ]


def sets_up(command: str) -> bool:
    """The commands that make an environment of their own; `.ci/run` runs them."""
    return command.startswith("python3 -m venv")


def opens_screen(command: str) -> bool:
    """Needs a person, or someone who types like one."""
    return command.startswith("sutler pick") and "--kept" not in command


def steps(page: Path) -> list[tuple[str, str]]:
    """Each `sh` block with the `output` block that follows it, or nothing."""
    found = _blocks(page)
    pairs = zip(found, [*found[1:], ("", "")], strict=True)
    return [
        (body, out if then == "output" else "")
        for (kind, body), (then, out) in pairs
        if kind == "sh"
    ]
