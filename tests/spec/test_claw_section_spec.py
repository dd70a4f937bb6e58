"""`--compat claw` beside an independent port of claw's context section, on real trees."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from msgspec.structs import replace

import sutler.config as config
from tests.goalkit import go, job, write_goal
from tests.limits import LIMIT

HEADER = """\
# Context Files

This document contains user-provided files that are relevant to the current task.

## Purpose
This section includes files and directories specified by the user via the `--context` parameter.
The contents are formatted for easy consumption by AI systems for analysis, code review, or other tasks.

## Format
The content is organized as follows:
1. This summary section
2. Directory structure of included files
3. Individual file entries, each consisting of:
   - File path as a header
   - Full contents of the file in a code block

## Usage Guidelines
- These files provide additional context for the current goal
- File paths are relative to the working directory where claw was invoked
- Some files may have been excluded based on size limits, type restrictions, or configured exclusions
"""
DIRECTORIES = [".git", "node_modules", "target"]
EXTENSIONS = ["exe", "bin", "so"]


class Port:
    """claw's section from its description: discovery by git and the walk, reading, drawing."""

    def __init__(self, cwd: Path, kilobytes: int, most: int) -> None:
        self.cwd, self.kilobytes, self.most = cwd, kilobytes, most

    def discovered(self, given: str) -> list[str]:
        if (self.cwd / given).is_file():
            return [given]
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", given],
            cwd=self.cwd, check=True, capture_output=True, timeout=LIMIT,
        ).stdout  # fmt: skip
        base = "" if given == "." else f"{given}/"
        prefix = f"{given}/"
        paths = {os.fsdecode(row)[len(base) :] for row in listed.split(b"\0") if row}
        plain = [path for path in paths if not any(p.startswith(".") for p in path.split("/"))]
        shown = [prefix + path for path in plain if (self.cwd / base / path).is_file()]
        return sorted(path for path in shown if not self.excluded(path))

    def excluded(self, path: str) -> bool:
        extension = Path(path).suffix.removeprefix(".")
        return extension in EXTENSIONS or any(part in DIRECTORIES for part in path.split("/"))

    def read(self, path: str, counts: dict[str, int]) -> str | None:
        data = (self.cwd / path).read_bytes()
        if len(data) // 1024 > self.kilobytes:
            return None
        parent = os.path.dirname(path)
        counts[parent] = counts.get(parent, 0) + 1
        if counts[parent] > self.most:
            return None
        marks = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
        binary = b"\0" in data[:1024] or data.startswith((b"%PDF", b"\x89PNG"))
        if binary and not data.startswith(marks):
            return None
        try:
            return data.decode()
        except UnicodeDecodeError:
            return None

    def section(self, *given: str) -> str:
        counts: dict[str, int] = {}
        paths = [path for one in given for path in self.discovered(one)]
        files = [(path, text) for path in paths if (text := self.read(path, counts)) is not None]
        out = HEADER + "\n\n## Notes\n"
        out += f"- Maximum file size: {self.kilobytes} KB\n"
        out += f"- Maximum files per directory: {self.most}\n"
        out += f"- Excluded directories: {', '.join(DIRECTORIES)}\n"
        out += f"- Excluded extensions: {', '.join(EXTENSIONS)}\n"
        out += "- Recursion depth: unlimited\n\n---\n\n## Directory Structure\n\n```\n"
        out += drawn([path for path, _ in files]) + "```\n\n---\n\n## Files\n\n"
        for path, text in files:
            end = "" if text.endswith("\n") else "\n"
            out += f"### {path}\n\n```\n{text}{end}```\n\n"
        return out


def drawn(paths: list[str]) -> str:
    if not paths:
        return "(no files)"
    top: dict[str, object] = {}
    for path in paths:
        here = top
        parts = path.split("/")
        for part in parts[:-1]:
            below = here.setdefault(f"{part}/", {})
            assert isinstance(below, dict)
            here = below
        here[parts[-1]] = None
    lines: list[str] = []

    def branch(tree: dict[str, object], indent: str) -> None:
        names = sorted(tree, key=lambda name: name.encode("utf-8", "surrogateescape"))
        for name in names:
            last = name == names[-1]
            lines.append(f"{indent}{'└── ' if last else '├── '}{name}")
            below = tree[name]
            if isinstance(below, dict):
                branch(below, indent + ("    " if last else "│   "))

    for name in sorted(top, key=lambda name: name.encode("utf-8", "surrogateescape")):
        lines.append(name)
        below = top[name]
        if isinstance(below, dict):
            branch(below, "")
    return "".join(f"{line}\n" for line in lines)


def source(name: str) -> Path:
    """A public package of this installation, or sutler's own source."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.mark.parametrize("name", ["sutler", "hypothesis", "jsonschema"])
@pytest.mark.parametrize(("kilobytes", "most"), [(10_000, 10_000), (12, 9)])
def test_the_section_is_claws_byte_for_byte(
    tmp_path: Path, name: str, kilobytes: int, most: int
) -> None:
    """Three trees of public code, with room for all and with tight limits."""
    place = tmp_path / "project"
    shutil.copytree(source(name), place / name, ignore=shutil.ignore_patterns("__pycache__"))
    (place / ".gitignore").write_text("*.pyc\nvendor/\n")
    (place / "notes.md").write_text("no newline")
    subprocess.run(["git", "init", "-q", str(place)], check=True, timeout=LIMIT)
    write_goal(place, "plain", base=".claw")
    limits = f"max_file_size_kb: {kilobytes}\nmax_files_per_directory: {most}\n"
    (place / ".claw/claw.yaml").write_text(f"llm_command: cat\n{limits}")
    # Names that resemble credentials are withheld in compat too; the user may allow them.
    settings = config.resolve(
        [config.layer_from_table({"allow": ["secrets/**", "**/secrets/**"]}, "test")]
    )
    work = job(place, "plain", name, "notes.md", mode="ignore")
    work = replace(work, compat=True, settings=settings)
    expected = Port(place, kilobytes, most).section(name, "notes.md")
    assert go(work).text == f"Say hello.\n\n\n{expected}"
    assert expected.count("\n### ") > 20
