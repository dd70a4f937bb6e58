"""The fenced blocks of a Markdown file."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), REPOSITORY / "bench/README.md"]
)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in _BLOCK.findall(page.read_text()) if kind == language]


def commands(page: Path) -> list[str]:
    """Every line of every `sh` block that is one command."""
    return [
        line
        for body in blocks(page, "sh")
        for line in body.splitlines()
        if line and not line.startswith("#")
    ]


def sets_up(command: str) -> bool:
    """The two long commands make an environment of their own; they are run by `.ci/run`."""
    return command.startswith("python3 -m venv")


def opens_screen(command: str) -> bool:
    """Needs a person, or someone who types like one."""
    return command.startswith("sutler pick") and "--kept" not in command


def steps(page: Path) -> list[tuple[str, str]]:
    """Each `sh` block with the `output` block that follows it, or nothing."""
    found = _BLOCK.findall(page.read_text())
    pairs = zip(found, [*found[1:], ("", "")], strict=True)
    return [
        (body, out if then == "output" else "")
        for (kind, body), (then, out) in pairs
        if kind == "sh"
    ]
