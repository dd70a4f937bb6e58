"""`--compat claw`: the original's discovery, defaults, messages and section, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from sutler.errors import RefusedError, SutlerError
from sutler.goals.claw import COMPAT_FILE, DEFAULTS, ClawFile, load_claw
from sutler.goals.context_compat import gather_files
from sutler.goals.context_files import Wanted
from sutler.goals.runner import Job
from sutler.goals.section import HEADER, draw_tree
from tests.conftest import Plant
from tests.goalkit import GOAL_RULES, Capture, Files, cli, go, job, write_goal

TREE: Files = {"src": {"a.py": "A", "lib": {"b.py": "B\n"}}, "README.md": "# R\n"}


def claw(folder: Path, *paths: str, mode: str = "strict") -> Job:
    return replace(job(folder, "plain", *paths, mode=mode), compat=True)


@pytest.fixture
def folder(plant: Plant) -> Path:
    place = plant(TREE)
    write_goal(place, base=".claw")
    return place


def test_the_section_byte_for_byte(folder: Path) -> None:
    """Two blank lines before the notes, paths as given, three backticks, a newline added, a blank
    line at the end.
    """
    (folder / "src/a.py").write_text("```\n")
    expected = (
        "Say hello.\n\n\n" + HEADER + "\n\n## Notes\n"
        "- Maximum file size: 1024 KB\n- Maximum files per directory: 50\n"
        "- Excluded directories: .git, node_modules, target, .venv, __pycache__\n"
        "- Excluded extensions: exe, bin, so, dylib, dll, o, a\n- Recursion depth: unlimited\n\n"
        "---\n\n## Directory Structure\n\n```\n"
        "./\n└── src/\n    ├── a.py\n    └── lib/\n        └── b.py\nREADME.md\n"
        "```\n\n---\n\n## Files\n\n"
        "### ./src/a.py\n\n```\n```\n```\n\n### ./src/lib/b.py\n\n```\nB\n```\n\n### README.md\n\n```\n# R\n```\n\n"
    )
    assert go(claw(folder, "./src", "README.md")).text == expected


def test_no_files_has_no_newline_before_the_fence(plant: Plant) -> None:
    """An empty result runs into its fence, as in the original."""
    place = plant({"empty": {}})
    write_goal(place, base=".claw")
    assert "```\n(no files)```\n\n---\n" in go(claw(place, "empty")).text


def test_a_file_with_other_defaults(folder: Path) -> None:
    """A claw.yaml that lacks keys gets the shorter lists; no file gets the longer ones."""
    assert load_claw([], compat=True) == DEFAULTS
    found = load_claw([ClawFile("c", b"llm_command: x\n")], compat=True)
    assert found.excluded_directories == (".git", "node_modules", "target")
    assert found.excluded_extensions == ("exe", "bin", "so")
    (folder / ".claw/claw.yaml").write_text("llm_command: x\n")
    assert "- Excluded extensions: exe, bin, so\n" in go(claw(folder, "src")).text


def test_the_nearest_file_stands_alone() -> None:
    """Compat takes one file whole; the default merges key by key."""
    near, far = (
        ClawFile("near", b"max_file_size_kb: 5\n"),
        ClawFile("far", b"llm_command: far\nmax_file_size_kb: 9\n"),
    )
    assert load_claw([near, far], compat=True).llm_command is None
    merged = load_claw([near, far])
    assert (merged.llm_command, merged.max_file_size_kb) == ("far", 5)
    assert merged.origins == {"llm_command": "far", "max_file_size_kb": "near"}


def test_unknown_keys_are_ignored() -> None:
    """Compat ignores what it does not know."""
    assert (
        load_claw([ClawFile("c", b"llm_command: x\ncolour: red\n")], compat=True).llm_command == "x"
    )


@pytest.mark.parametrize("mode", ["strict", "flexible", "ignore"])
def test_a_missing_path_ends_every_mode(folder: Path, mode: str) -> None:
    """Compat stops on a missing path whatever the mode, with exit code 1."""
    with pytest.raises(SutlerError, match=r"^Path does not exist: gone$") as caught:
        go(claw(folder, "gone", mode=mode), answer=True)
    assert caught.value.exit_code == 1


def gathered(folder: Path, *paths: str, **limits: int) -> tuple[list[str], list[str], list[str]]:
    found = gather_files(
        Wanted(paths, str(folder), replace(COMPAT_FILE, **limits), rules=GOAL_RULES)
    )
    return (
        [file.path for file in found.files],
        [issue.message for issue in found.errors],
        list(found.warnings),
    )


def test_size_is_floored(plant: Plant) -> None:
    """The size is whole kilobytes rounded down, so 2047 bytes pass a limit of 1 KB."""
    place = plant({"a.txt": "x" * 2047, "b.txt": "x" * 2048})
    files, errors, _ = gathered(place, "a.txt", "b.txt", max_file_size_kb=1)
    assert files == ["a.txt"]
    assert errors == ["File too large: b.txt (2 KB exceeds limit of 1 KB)"]


def test_one_error_for_each_file_too_many(plant: Plant) -> None:
    """Every file over the number is an error of its own, with the running count."""
    place = plant({"t": {f"{n}.txt": "" for n in range(4)}})
    _, errors, _ = gathered(place, "t", max_files_per_directory=2)
    assert errors == [
        f"Too many files in directory: t ({n} files exceeds limit of 2)" for n in (3, 4)
    ]


def test_binary_and_undecodable(plant: Plant) -> None:
    """NUL in the first kilobyte, PDF and PNG are binary; a byte-order mark is text, and UTF-16 then
    fails.
    """
    tree: Files = {
        "late.txt": b"x" * 1024 + b"\0",
        "nul.txt": b"a\0",
        "p.txt": b"%PDF-1",
        "w.txt": "ab".encode("utf-16"),
        "bom.txt": b"\xef\xbb\xbfok",
    }
    files, errors, warnings = gathered(plant({"t": tree}), "t")
    assert files == ["t/bom.txt", "t/late.txt"]
    assert errors == ["UTF-8 decoding error: t/w.txt"]
    assert warnings == ["Skipped binary file: t/nul.txt", "Skipped binary file: t/p.txt"]


def test_absolute_paths_lose_the_working_directory(plant: Plant) -> None:
    """Only absolute inputs are shortened; one from elsewhere keeps its slash."""
    place = plant({"in": {"a.txt": ""}, "out": {"b.txt": ""}})
    files, _, _ = gathered(place / "in", str(place / "in"), str(place / "out"))
    assert files == ["a.txt", f"{place}/out/b.txt"]
    assert draw_tree(["/x/b.txt"], compat=True) == "//\n└── x/\n    └── b.txt\n"


def test_a_folder_above_can_exclude_everything(plant: Plant) -> None:
    """Any part of the path as given is compared, even above the folder; a file of that name too."""
    place = plant({"target": {"in": {"a.txt": ""}}, "t": {"target": "", "b.txt": ""}})
    assert gathered(place, str(place / "target/in"))[0] == []
    assert gathered(place, "t")[0] == ["t/b.txt"]


def test_hidden_files_are_skipped(plant: Plant) -> None:
    """The walk leaves hidden names out; a named one is taken."""
    place = plant({"t": {".hid": "", "a": ""}})
    assert gathered(place, "t", "t/.hid")[0] == ["t/a", "t/.hid"]


def test_strict_message_and_code(plant: Plant) -> None:
    """The strict message is the original's, with exit code 1."""
    place = plant({"b.txt": "x" * 5000, ".claw": {"claw.yaml": "max_file_size_kb: 2\n"}})
    write_goal(place, base=".claw")
    with pytest.raises(SutlerError) as caught:
        go(claw(place, "b.txt"))
    assert caught.value.what == (
        "Context processing failed with 1 error(s):\n  File too large: b.txt (4 KB exceeds limit of 2 KB)"
    )
    assert not isinstance(caught.value, RefusedError)


def test_only_claw_folders_count(plant: Plant, capfdbinary: Capture) -> None:
    """Compat looks into .claw and claw's own configuration, and nowhere else."""
    place = plant({})
    write_goal(place, "one", base=".claw")
    write_goal(place, "two", base=".sutler")
    listed = cli(capfdbinary, place, "goals", "list", "--compat", "claw").text
    assert listed.split() == ["one", "local", "Plain"]


def test_a_bad_file_beside_the_prompt_breaks_the_goal(folder: Path) -> None:
    """Every file of the goal's folder is a template; compat parses them all, the default only what
    is used.
    """
    (folder / ".claw/goals/plain/notes.md").write_text("{% broken %}")
    assert go(job(folder)).text == "Say hello.\n"
    with pytest.raises(SutlerError, match=r"notes\.md"):
        go(claw(folder))
