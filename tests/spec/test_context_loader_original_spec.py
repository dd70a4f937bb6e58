"""The original context loader's own cases, rebuilt: listing, reading, prompts, options and the loop.

Each row is a case of the original's tests, in its compat mode and with its names of options. Two
things differ on purpose and are not here: the wording of the prompts, and reads outside the root.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sutler.errors import UsageError
from sutler.goals.answers import Answer, read_original
from sutler.goals.gather import Gathering, Ground, gather
from sutler.goals.gather_options import Options, constraints_section, parse_input
from sutler.goals.gather_prompt import Loaded, Parts, list_directory, question
from sutler.goals.loader import (
    build_context_assign_string,
    read_include_files,
    read_requested_files,
)
from tests.conftest import Plant
from tests.goalkit import Files

TREE: Files = {
    "a.js": "A",
    "b.md": "BB",
    ".rc": "rc",
    "src": {"c.js": "C", "deep": {"d.js": "D", "deeper": {"e.js": "E"}}},
    "node_modules": {"m.js": "M"},
    "dist": {"x.js": "X"},
    ".hidden": {"h.js": "H"},
}


@pytest.fixture
def folder(plant: Plant) -> Path:
    return plant(TREE)


@pytest.mark.parametrize(
    ("options", "has", "lacks"),
    [
        (Options(max_depth=1), ["a.js", "src"], ["src/c.js"]),
        (Options(), ["src/c.js", "src/deep"], ["src/deep/d.js"]),
        (Options(max_depth=4), ["src/deep/deeper/e.js"], []),
        (Options(), [], ["node_modules", "dist", "node_modules/m.js"]),
        (Options(), [".rc"], [".hidden", ".hidden/h.js"]),
        (Options(dir="node_modules"), ["m.js"], ["node_modules/m.js"]),
        (Options(exclude="b.*"), ["a.js"], ["b.md"]),
        (Options(exclude="src"), ["a.js"], ["src", "src/c.js"]),
        (Options(filter="*.md"), ["b.md", "src"], ["a.js", "src/c.js"]),
        (Options(dir="src"), ["c.js", "deep", "deep/d.js"], ["src/c.js"]),
        (Options(dir="gone"), [], ["a.js"]),
    ],
    ids=[
        "depth 1",
        "depth 2",
        "deep",
        "excluded",
        "hidden",
        "named",
        "exclude a file",
        "exclude a folder",
        "filter",
        "dir",
        "missing",
    ],
)
def test_listing(folder: Path, options: Options, has: list[str], lacks: list[str]) -> None:
    """listDirectory: what is listed and what is not."""
    listed = list_directory(str(folder), options)
    assert set(has) <= set(listed)
    assert not set(lacks) & set(listed)


def requested(folder: Path, paths: list[str], **options: object) -> dict[str, str]:
    files: dict[str, str] = {}
    read_requested_files(paths, files, {"root": str(folder), **options})
    return files


def included(folder: Path, paths: list[str] | None, **options: object) -> dict[str, str]:
    files: dict[str, str] = {}
    read_include_files(paths, files, {"root": str(folder), **options})
    return files


@pytest.mark.parametrize(
    ("read", "paths", "options", "files"),
    [
        (requested, ["a.js", "b.md"], {}, {"a.js": "A", "b.md": "BB"}),
        (requested, ["a.js", "b.md"], {"maxFiles": 1}, {"a.js": "A"}),
        (requested, ["a.js", "a.js"], {}, {"a.js": "A"}),
        (requested, ["a.js", "b.md"], {"filter": "*.md"}, {"b.md": "BB"}),
        (requested, ["src/c.js"], {"filter": "c.js"}, {"src/c.js": "C"}),
        (requested, ["c.js"], {"dir": "src"}, {"c.js": "C"}),
        (requested, ["c.js"], {"dir": "{root}/src"}, {"c.js": "C"}),
        (
            requested,
            ["b.md"],
            {"maxFileSize": 1},
            {"b.md": "[Skipped: file size 2 bytes exceeds maxFileSize 1]"},
        ),
        (
            requested,
            ["no"],
            {"filter": None, "maxFiles": None},
            {"no": "[Error reading file: no such file or directory: no]"},
        ),
        (included, ["b.md"], {"filter": "*.js", "maxFiles": 0}, {"b.md": "BB"}),
        (
            included,
            ["b.md"],
            {"maxFileSize": 1},
            {"b.md": "[Skipped: file size 2 bytes exceeds maxFileSize 1]"},
        ),
        (included, None, {}, {}),
        (included, ["c.js"], {"dir": "{root}/src"}, {"c.js": "C"}),
    ],
)
def test_reading(
    folder: Path,
    read: Callable[..., dict[str, str]],
    paths: list[str],
    options: dict[str, object],
    files: dict[str, str],
) -> None:
    """readRequestedFiles and readIncludeFiles, with options as a mapping."""
    filled = {
        key: value.format(root=folder) if isinstance(value, str) else value
        for key, value in options.items()
    }
    assert read(folder, paths, **filled) == files


@pytest.mark.parametrize(
    ("files", "lines"),
    [
        ({}, [""]),
        ({"src/a b.js": "x"}, ['@spec_a_b assign "src/a b.js"', "@spec_a_bContent assign"]),
        ({"1.js": "x"}, ['@spec_F_1 assign "1.js"', "@spec_F_1Content assign"]),
        ({"x/a.js": "1", "y/a.js": "2"}, ['@spec_a assign "x/a.js"', "@spec_aContent assign"]),
    ],
)
def test_assign_lines(folder: Path, files: dict[str, str], lines: list[str]) -> None:
    """buildContextAssignString: names, paths and markers."""
    text = build_context_assign_string(files, root=str(folder), compat=True)
    assert text.split("\n")[: len(lines)] == lines
    assert text.count("--begin-context-") == text.count("--end-context-") == len(files)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (Options(filter="*.js"), "- ONLY select files whose name matches the pattern: *.js"),
        (Options(exclude="*.md"), "- Do NOT select files whose name matches the pattern: *.md"),
        (Options(max_files=3), "- Maximum 3 files can be read in total. Be selective."),
        (
            Options(include=("a", "b")),
            "- The following files are already force-included and loaded. Do NOT request them again: a, b",
        ),
        (Options(dir="src"), "- Only select files within the directory: src"),
    ],
)
def test_constraints(options: Options, line: str) -> None:
    """buildConstraintsSection: one line for each active constraint."""
    assert constraints_section(options) == f"\n## Active Constraints\n{line}\n"


def test_prompts() -> None:
    """The first prompt has request and listing, a follow-up the loaded files, both constraints."""
    parts = Parts("REQUEST", ("a.js", "b.md"), "\nCONSTRAINTS\n")
    first, later = question(parts), question(parts, Loaded("LOADED"))
    for text in (first, later):
        assert "REQUEST" in text
        assert "a.js\nb.md" in text
        assert "CONSTRAINTS" in text
    assert "LOADED" in later
    assert "LOADED" not in first


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"done": true, "files": [], "reason": "ok"}', Answer(True, (), "ok")),
        ('text {"done": false, "files": ["a", " ", 3]} text', Answer(False, ("a",))),
        ("nothing", Answer(True, (), "Could not parse LLM response.")),
        ('{"done": "no", "files": "a", "reason": 1}', Answer(True)),
    ],
)
def test_answers(text: str, answer: Answer) -> None:
    """askLLMForFiles: what is made of an answer."""
    assert read_original(text) == answer


@pytest.mark.parametrize(
    ("text", "prompt", "options", "error"),
    [
        ("explain", "explain", Options(), ""),
        (
            "x options: dir: src filter: '*.js' maxDepth: 3",
            "x",
            Options(dir="src", filter="*.js", max_depth=3),
            "",
        ),
        (
            "x options: maxFiles: 2 maxFileSize: 10 exclude: t",
            "x",
            Options(max_files=2, max_file_size=10, exclude="t"),
            "",
        ),
        ("x options: include: a include: b", "x", Options(include=("a", "b")), ""),
        ("x dependsOn: y", "x", Options(), ""),
        ("x options: wrong: 1", "x", Options(), "Invalid options: unknown key wrong."),
        ("x options: dir:", "x", Options(), "Invalid options: missing value for dir."),
        ('x options: dir: "open', "x", Options(), "Unterminated string literal in options."),
    ],
)
def test_options(text: str, prompt: str, options: Options, error: str) -> None:
    """parseInput: the request, its options, and defaults for anything wrong."""
    parsed = parse_input(text)
    assert (parsed.prompt, parsed.options, parsed.error) == (prompt, options, error)


class Model:
    def __init__(self, *answers: object) -> None:
        self.answers = [json.dumps(one) if isinstance(one, dict) else str(one) for one in answers]
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.answers[min(len(self.prompts), len(self.answers)) - 1]


def asks(*files: str) -> dict[str, object]:
    return {"done": False, "files": list(files), "reason": "r"}


DONE: dict[str, object] = {"done": True, "files": [], "reason": "r"}


def loop(folder: Path, text: str, model: Model) -> Gathering:
    return gather(text, Ground(str(folder), compat=True), model)


@pytest.mark.parametrize(
    ("text", "answers", "files", "calls"),
    [
        ("x", [DONE], [], 1),
        ("x", [asks("a.js"), DONE], ["a.js"], 2),
        ("x", [asks("a.js"), asks("b.md"), DONE], ["a.js", "b.md"], 3),
        ("x", [asks("a.js")], ["a.js"], 6),
        ("x", ["nonsense"], [], 1),
        ("x", [{"done": True, "files": ["a.js"]}], [], 1),
        ("x options: maxFiles: 1", [asks("a.js", "b.md"), asks("b.md")], ["a.js"], 2),
        ("x options: include: b.md", [DONE], ["b.md"], 1),
        ("x options: filter: *.md", [asks("a.js", "b.md"), DONE], ["b.md"], 2),
        ("x options: wrong: 1", [asks("a.js"), DONE], ["a.js"], 2),
        ("x options: dir: src", [asks("c.js"), DONE], ["c.js"], 2),
        ("x options: dir: {root}/src", [asks("c.js"), DONE], ["c.js"], 2),
        ("x options: maxFileSize: 1", [asks("b.md"), DONE], ["b.md"], 2),
        ("x options: exclude: b.md", [asks("a.js"), DONE], ["a.js"], 2),
    ],
)
def test_the_loop(
    folder: Path, text: str, answers: list[object], files: list[str], calls: int
) -> None:
    """action: which files are read, and how often the model is asked."""
    model = Model(*answers)
    result = loop(folder, text.replace("{root}", str(folder)), model)
    assert list(result.files) == files
    assert len(model.prompts) == calls


def test_the_loop_drops_the_last_answer(plant: Plant) -> None:
    """After the sixth question nothing is read."""
    folder = plant({f"{n}.js": str(n) for n in range(9)})
    assert len(loop(folder, "x", Model(*(asks(f"{n}.js") for n in range(9)))).files) == 5


def test_an_empty_request(folder: Path) -> None:
    """No request is an error in the original's words."""
    with pytest.raises(UsageError, match=r"^No input provided for context-loader\."):
        loop(folder, " options: dir: src", Model(DONE))
