"""Seed 001: the ten acceptance criteria, on real trees."""

from __future__ import annotations

import pytest

from sutler.errors import RefusedError
from sutler.goals.section import HEADER
from tests.conftest import Plant
from tests.goalkit import Files, go, job, trusted, without_privileges, write_goal


def test_ac1_basic_file_inclusion(plant: Plant) -> None:
    """AC1: a single text file's contents appear in the context section of the prompt."""
    folder = plant({"note.txt": "the contents\n"})
    write_goal(folder)
    assert (
        "### note.txt\n\n```\nthe contents\n```\n" in go(job(folder, "plain", "note.txt")).section
    )


def test_ac2_directory_inclusion_with_recursion(plant: Plant) -> None:
    """AC2: by default all text files of a directory and its subdirectories are included."""
    folder = plant({"src": {"a.py": "A", "deep": {"b.py": "B", "deeper": {"c.py": "C"}}}})
    write_goal(folder)
    files = go(job(folder, "plain", "src")).prompt.files
    assert [file.path for file in files] == ["src/a.py", "src/deep/b.py", "src/deep/deeper/c.py"]


def test_ac3_recursion_depth_limit(plant: Plant) -> None:
    """AC3: --recurse_depth 1 includes the root's files and those of immediate subdirectories."""
    folder = plant({"src": {"a.py": "A", "one": {"b.py": "B", "two": {"c.py": "C"}}}})
    write_goal(folder)
    files = go(job(folder, "plain", "src"), depth=1).prompt.files
    assert [file.path for file in files] == ["src/a.py", "src/one/b.py"]


def test_ac4_size_limit_in_strict_mode(plant: Plant) -> None:
    """AC4: a file over max_file_size_kb fails a strict run with a clear message."""
    folder = plant({"big.txt": "x" * 3000, ".sutler": {"claw.yaml": "max_file_size_kb: 2\n"}})
    write_goal(folder)
    with pytest.raises(
        RefusedError, match=r"File too large: big\.txt \(3 KB exceeds limit of 2 KB\)"
    ):
        go(job(folder, "plain", "big.txt"))


@pytest.mark.parametrize("answer", [True, False])
def test_ac5_too_many_files_asks_in_flexible_mode(plant: Plant, answer: bool) -> None:
    """AC5: 60 files with a limit of 50 ask the user, who may go on with 50 or stop."""
    folder = plant({"many": {f"f{n:02}.txt": str(n) for n in range(60)}})
    write_goal(folder)
    work = job(folder, "plain", "many", mode="flexible")
    if not answer:
        with pytest.raises(RefusedError, match="aborted by user"):
            go(work, answer=False)
        return
    done = go(work, answer=True)
    assert len(done.prompt.files) == 50
    assert any("many (60 files exceeds limit of 50)" in note for note in done.notes)


def test_ac6_exclusion_filters(plant: Plant) -> None:
    """AC6: .git/, node_modules/ and .exe files stay out under the default exclusions."""
    folder = plant(
        {"p": {".git": {"x": "1"}, "node_modules": {"y.js": "2"}, "tool.exe": "3", "kept.py": "4"}}
    )
    write_goal(folder)
    assert [file.path for file in go(job(folder, "plain", "p")).prompt.files] == ["p/kept.py"]


def test_ac7_ignore_mode_goes_on_without_denied_files(plant: Plant) -> None:
    """AC7: permission denied is logged in ignore mode and the rest is included."""
    folder = plant({"p": {"a.txt": "A", "locked.txt": "S"}})
    # No tags: a template would start a Python that this user may not run.
    write_goal(folder, text="name: Plain\nprompt: hello\n")
    (folder / "p/locked.txt").chmod(0)
    with without_privileges(folder):
        done = go(job(folder, "plain", "p", mode="ignore"))
    assert [file.path for file in done.prompt.files] == ["p/a.txt"]
    assert any("Permission denied: p/locked.txt" in note for note in done.notes)


def test_ac7_ignore_mode_goes_on(plant: Plant) -> None:
    """AC7: too large, binary, undecodable and missing ones are logged in ignore mode, valid files
    are included.
    """
    tree: Files = {
        "ok.txt": "fine",
        "big.txt": "x" * 5000,
        "pic.dat": b"\x00\x01\x02",
        "latin.txt": b"caf\xe9 au lait",
    }
    folder = plant(
        {"p": tree, ".sutler": {"claw.yaml": "max_file_size_kb: 4\nerror_handling_mode: ignore\n"}}
    )
    write_goal(folder)
    work = job(folder, "plain", "p", "gone.txt", mode="ignore")
    done = go(work)
    assert [file.path for file in done.prompt.files] == ["p/ok.txt"]
    said = "\n".join(done.notes)
    for part in (
        "File too large: p/big.txt",
        "Skipped binary file: p/pic.dat",
        "UTF-8 decoding error: p/latin.txt",
    ):
        assert part in said
    assert "Path does not exist: gone.txt" in said


def test_ac8_markdown_format(plant: Plant) -> None:
    """AC8: summary, tree and files, in the specified structure, character by character."""
    folder = plant({"docs": {"d.md": "# D"}, "src": {"a.py": "a = 1\n"}})
    write_goal(folder)
    expected = (
        "Say hello.\n\n\n" + HEADER + "\n## Notes\n"
        "- Maximum file size: 1024 KB\n- Maximum files per directory: 50\n"
        "- Excluded directories: .git, node_modules, target, .venv, __pycache__\n"
        "- Excluded extensions: exe, bin, so, dylib, dll, o, a\n- Recursion depth: 3\n\n"
        "---\n\n## Directory Structure\n\n```\ndocs/\n└── d.md\nsrc/\n└── a.py\n```\n\n---\n\n## Files\n\n"
        "### src/a.py\n\n```\na = 1\n```\n\n### docs/d.md\n\n```\n# D\n```\n\n"
    )
    assert go(job(folder, "plain", "src", "docs"), depth=3).text == expected


def test_ac9_without_context_the_prompt_is_exactly_the_rendered_prompt(plant: Plant) -> None:
    """AC9: a goal without --context produces the rendered prompt and nothing else."""
    folder = plant({"a.py": "x"})
    write_goal(folder, text="name: P\nprompt: |\n  Line {{ Args.n }}\n\n  last")
    done = go(job(folder), "--n", "1")
    assert done.text == "Line 1\n\nlast"
    assert done.notes == []


def test_ac10_a_script_that_reads_a_file_becomes_context(plant: Plant) -> None:
    """AC10: a goal that read a file by script gives the same content through --context, with less
    to configure.
    """
    folder = plant({"data.txt": "the data\n"})
    old = "name: Old\ncontext_scripts:\n  data: cat data.txt\nprompt: 'Look: {{ Context.data }}'\n"
    write_goal(folder, "old", old)
    write_goal(folder, "new", "name: New\nprompt: Look at the context files.\n")
    by_script = go(trusted(job(folder, "old"))).text
    by_context = go(job(folder, "new", "data.txt"))
    assert by_script == "Look: the data"
    assert "```\nthe data\n```" in by_context.section
    assert by_context.prompt.scripts == ()


def test_the_reader_opens_each_file_once(plant: Plant) -> None:
    """NFR1: a file named twice, and again by its folder, is included once."""
    folder = plant({"src": {"a.py": "A", "b.py": "B"}})
    write_goal(folder)
    files = go(job(folder, "plain", "src/b.py", "src", str(folder / "src/a.py"))).prompt.files
    assert [file.path for file in files] == ["src/b.py", "src/a.py"]
