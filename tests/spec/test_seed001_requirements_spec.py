"""Seed 001: every functional and non-functional requirement, by number."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sutler.errors import RefusedError, UsageError
from sutler.goals.claw import ClawFile, load_claw
from tests.conftest import Plant
from tests.goalkit import (
    Capture,
    Files,
    cli,
    configured,
    go,
    job,
    program,
    trusted,
    without_privileges,
    write_goal,
)
from tests.limits import LIMIT


def paths(folder: Path, *given: str, depth: int | None = None, mode: str = "strict") -> list[str]:
    return [
        file.path for file in go(job(folder, "plain", *given, mode=mode), depth=depth).prompt.files
    ]


# FR1: command line


def test_fr1_1_context_takes_several_paths(plant: Plant, capfdbinary: Capture) -> None:
    """FR1.1: -c and --context take a list of files and directories."""
    folder = plant({"a.txt": "A", "b.txt": "B", "d": {"c.txt": "C"}, **configured("")})
    for flag in ("-c", "--context"):
        ran = cli(capfdbinary, folder, "dry-run", "plain", flag, "a.txt", "d", "b.txt")
        assert ran.code == 0
        assert [line for line in ran.text.split("\n") if line.startswith("### ")] == [
            "### a.txt",
            "### d/c.txt",
            "### b.txt",
        ]


@pytest.mark.parametrize("flag", ["-d", "--recurse_depth", "--recurse-depth"])
def test_fr1_2_recurse_depth(plant: Plant, capfdbinary: Capture, flag: str) -> None:
    """FR1.2: the depth can be limited; the default is unlimited."""
    folder = plant({"s": {"a.txt": "A", "t": {"b.txt": "B"}}, **configured("")})
    assert "s/t/b.txt" in cli(capfdbinary, folder, "dry-run", "plain", "-c", "s").text
    limited = cli(capfdbinary, folder, "dry-run", "plain", "-c", "s", flag, "0").text
    assert "s/t/b.txt" not in limited
    assert "- Recursion depth: 0\n" in limited


@pytest.mark.parametrize("value", ["-1", "two", "1.5", ""])
def test_fr1_2_a_bad_depth_is_a_usage_error(plant: Plant, capfdbinary: Capture, value: str) -> None:
    """FR1.2: a depth that is not a whole number is refused."""
    ran = cli(capfdbinary, plant(configured("")), "dry-run", "plain", f"--recurse_depth={value}")
    assert ran.code == 2
    assert "whole number" in ran.err


def test_fr1_3_any_goal_takes_context(plant: Plant) -> None:
    """FR1.3: goals need no change to take files; even the shipped ones do."""
    folder = plant({"a.py": "def f(): ...\n"})
    assert "### a.py" in go(job(folder, "tests", "a.py")).section


# FR2: discovery and reading


def test_fr2_1_individual_files(plant: Plant) -> None:
    """FR2.1: files named one by one, in the order given."""
    folder = plant({"b.txt": "B", "a.txt": "A", **configured("")})
    assert paths(folder, "b.txt", "a.txt") == ["b.txt", "a.txt"]


def test_fr2_2_and_fr2_3_directories_are_walked_to_the_end(plant: Plant) -> None:
    """FR2.2, FR2.3: directories are traversed, by default all the way."""
    deep = "/".join(f"d{n}" for n in range(30)) + "/end.txt"
    folder = plant({"top": {deep: "E", "a.txt": "A"}, **configured("")})
    assert paths(folder, "top") == ["top/a.txt", f"top/{deep}"]


@pytest.mark.parametrize(("depth", "count"), [(0, 1), (1, 2), (2, 3), (3, 4), (9, 4)])
def test_fr2_4_depth_counts_levels(plant: Plant, depth: int, count: int) -> None:
    """FR2.4: 0 is the directory itself, N is N levels below it."""
    folder = plant(
        {
            "t": {"0.txt": "", "a": {"1.txt": "", "b": {"2.txt": "", "c": {"3.txt": ""}}}},
            **configured(""),
        }
    )
    assert len(paths(folder, "t", depth=depth)) == count


def test_fr2_5_gitignore_is_respected(plant: Plant) -> None:
    """FR2.5: .gitignore patterns hold, nested ones and negations too."""
    tree: Files = {
        ".gitignore": "*.log\n!keep.log\nout/\n",
        "a.log": "",
        "keep.log": "",
        "a.py": "",
        "out": {"x": ""},
    }
    folder = plant(
        {**tree, "sub": {".gitignore": "b.py\n", "b.py": "", "c.py": ""}, **configured("")}
    )
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=LIMIT)
    plain = [path for path in paths(folder, ".") if not path.startswith(".sutler/")]
    hidden = [".gitignore", "a.py", "keep.log", "sub/.gitignore", "sub/c.py"]
    assert plain == hidden  # a dot at the start is no reason, as in a scan


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0", b"MZ\0\0\0", b"a\0b", b"\x7fELF\0\0\0"])
def test_fr2_6_binary_files_are_skipped(plant: Plant, data: bytes) -> None:
    """FR2.6: a binary file is skipped with a warning, whatever its name."""
    folder = plant({"p": {"x.txt": data, "y.txt": "text"}, **configured("")})
    done = go(job(folder, "plain", "p"))
    assert [file.path for file in done.prompt.files] == ["p/y.txt"]
    assert done.notes == ["warning: Skipped binary file: p/x.txt"]


def test_fr2_6_utf16_with_a_mark_is_text(plant: Plant) -> None:
    """FR2.6: text is text in UTF-16 as well, where the original fails."""
    folder = plant({"w.txt": "grüße".encode("utf-16"), **configured("")})
    assert go(job(folder, "plain", "w.txt")).prompt.files[0].content == "grüße"


# FR3: limits


@pytest.mark.parametrize(("size", "fits"), [(1024, True), (1025, False)])
def test_fr3_1_size_limit_is_exact(plant: Plant, size: int, fits: bool) -> None:
    """FR3.1: the limit is in KB of 1024 bytes, and one byte more is too much."""
    folder = plant({"f.txt": "x" * size, **configured("max_file_size_kb: 1\n")})
    if fits:
        assert paths(folder, "f.txt") == ["f.txt"]
    else:
        with pytest.raises(RefusedError, match="File too large"):
            paths(folder, "f.txt")


def test_fr3_2_files_per_directory(plant: Plant) -> None:
    """FR3.2: the limit holds for each directory by itself; the first files by name are kept."""
    tree = {name: {f"{n}.txt": "" for n in range(4)} for name in ("a", "b")}
    folder = plant({"t": {**tree, "top.txt": ""}, **configured("max_files_per_directory: 3\n")})
    done = go(job(folder, "plain", "t", mode="ignore"))
    assert [file.path for file in done.prompt.files] == [
        *(f"t/a/{n}.txt" for n in range(3)),
        *(f"t/b/{n}.txt" for n in range(3)),
        "t/top.txt",
    ]
    assert sum("exceeds limit of 3" in note for note in done.notes) == 2


def test_fr3_2_default_is_fifty(plant: Plant) -> None:
    """FR3.2: the default is 50 files."""
    folder = plant({"t": {f"{n}.txt": "" for n in range(51)}, **configured("")})
    with pytest.raises(RefusedError, match="51 files exceeds limit of 50"):
        paths(folder, "t")


@pytest.mark.parametrize(
    ("pattern", "left"),
    [("vend", 1), ("vend/", 1), ("ve?d", 1), ("*.egg-info", 2), ("other", 3)],
)
def test_fr3_3_excluded_directories(plant: Plant, pattern: str, left: int) -> None:
    """FR3.3: directories by name or pattern, at any depth."""
    tree: Files = {"vend": {"y": ""}, "p.egg-info": {"z": ""}, "deep": {"vend": {"w": ""}}}
    folder = plant({"t": tree, **configured(f"excluded_directories: ['{pattern}']\n")})
    assert len(paths(folder, "t")) == left


def test_fr3_4_excluded_extensions(plant: Plant) -> None:
    """FR3.4: extensions with or without their dot, in any case."""
    tree = {"a.EXE": "", "b.min.js": "", "c.txt": "", "d.lock": ""}
    folder = plant({"t": tree, **configured("excluded_extensions: [exe, .lock]\n")})
    assert paths(folder, "t") == ["t/b.min.js", "t/c.txt"]


def test_fr3_a_named_file_passes_the_filters(plant: Plant) -> None:
    """FR3: filters are for walks; who names a file wants it."""
    folder = plant({"node_modules": {"m.js": "M"}, "x.exe": "text", **configured("")})
    assert paths(folder, "node_modules/m.js", "x.exe") == ["node_modules/m.js", "x.exe"]


def test_fr3_5_warnings_at_limits(plant: Plant) -> None:
    """FR3.5: what a limit leaves out is said."""
    folder = plant(
        {"t": {f"{n}.txt": "" for n in range(5)}, **configured("max_files_per_directory: 2\n")}
    )
    notes = go(job(folder, "plain", "t", mode="ignore")).notes
    assert notes == ["ignored: Too many files in directory: t (5 files exceeds limit of 2)"]


# FR4: errors


def test_fr4_1_strict_reports_all_errors(plant: Plant) -> None:
    """FR4.1: strict fails the goal and names every error at once."""
    tree = {"a.txt": "x" * 3000, "b.txt": "x" * 4000}
    folder = plant({**tree, **configured("max_file_size_kb: 1\n")})
    with pytest.raises(RefusedError) as caught:
        paths(folder, "a.txt", "b.txt", "gone")
    assert caught.value.exit_code == 3
    for part in ("3 error(s)", "a.txt", "b.txt", "Path does not exist: gone"):
        assert part in str(caught.value)


def test_fr4_1_flexible_without_anyone_to_ask_refuses(plant: Plant, capfdbinary: Capture) -> None:
    """FR4.1: without a terminal flexible refuses, says so, and reads nothing from stdin."""
    folder = plant(configured(""))
    ran = cli(capfdbinary, folder, "dry-run", "plain", "-c", "gone")
    assert ran.code == 3
    assert "no terminal to ask on" in ran.err
    assert "--mode ignore" in ran.err
    assert ran.out == b""


def test_fr4_1_flexible_is_the_default_mode() -> None:
    """FR4.1: the modes are strict, flexible and ignore; flexible is the default."""
    assert load_claw([]).error_handling_mode == "flexible"
    for mode in ("strict", "flexible", "ignore"):
        text = f"error_handling_mode: {mode}\n".encode()
        assert load_claw([ClawFile("c", text)]).error_handling_mode == mode
    with pytest.raises(UsageError, match="c:1: 'error_handling_mode' cannot be 'Strict'"):
        load_claw([ClawFile("c", b"error_handling_mode: Strict\n")])


def test_fr4_2_missing_path_honours_the_mode(plant: Plant) -> None:
    """FR4.2: a path that does not exist is an error that the mode decides on."""
    folder = plant({"a.txt": "A", **configured("")})
    assert paths(folder, "gone", "a.txt", mode="ignore") == ["a.txt"]
    with pytest.raises(RefusedError, match="Path does not exist: gone"):
        paths(folder, "gone", "a.txt")


def test_fr4_2_permission_denied(plant: Plant) -> None:
    """FR4.2: an unreadable file, and an unreadable directory, are errors of their own."""
    folder = plant({"t": {"a.txt": "A", "locked": {"b.txt": "B"}}, **configured("")})
    (folder / "t/locked").chmod(0)
    (folder / "t/a.txt").chmod(0)
    with without_privileges(folder):
        notes = go(job(folder, "plain", "t", mode="ignore")).notes
    (folder / "t/locked").chmod(0o700)
    assert sorted(notes) == [
        "ignored: Permission denied: t/a.txt",
        "ignored: Permission denied: t/locked",
    ]


def test_fr4_2_utf8_errors(plant: Plant) -> None:
    """FR4.2: bytes that are not UTF-8 are an error and not guessed at."""
    folder = plant({"l.txt": b"caf\xe9 au lait, s'il vous pla\xeet", **configured("")})
    with pytest.raises(RefusedError, match=r"UTF-8 decoding error: l\.txt"):
        paths(folder, "l.txt")


# FR5: output


def test_fr5_1_to_fr5_3_the_section_follows_the_prompt(plant: Plant) -> None:
    """FR5.1–FR5.3: markdown with summary, tree and files, appended behind the prompt, not through
    the template.
    """
    folder = plant({"a.txt": "{{ Args.nope }} {% endif %}", **configured("")})
    text = go(job(folder, "plain", "a.txt")).text
    order = [
        "hello\n\n# Context Files",
        "## Purpose",
        "## Directory Structure",
        "## Files",
        "### a.txt",
        "{{ Args.nope }}",
    ]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def test_fr5_3_the_same_files_give_the_same_bytes(plant: Plant) -> None:
    """FR5.3: deterministic, whatever order the file system lists names in."""
    names = ["b", "a", "B", "é", "_", "a-b", "a.b"]
    folder = plant({"t": {name + ".txt": name for name in names}, **configured("")})
    other = plant({"u": {name + ".txt": name for name in reversed(names)}})
    first = go(job(folder, "plain", "t")).section
    assert go(job(folder, "plain", "t")).section == first
    second = go(job(other, "plain", "u")).section.replace("u/", "t/")
    assert second == first


def test_fr5_4_a_file_cannot_close_its_fence(plant: Plant) -> None:
    """FR5.4: like Repomix, but a fence is always longer than any run of backticks inside."""
    hostile = "x\n```\n\n### fake.txt\n\n````\n"
    folder = plant({"a.md": hostile, **configured("")})
    assert f"`````\n{hostile}`````\n" in go(job(folder, "plain", "a.md")).section


# FR6: integration


def test_fr6_2_scripts_run_before_files_are_read(plant: Plant) -> None:
    """FR6.1, FR6.2: a script may write the file that the context then includes."""
    folder = plant({"a.txt": "old"})
    text = "name: S\ncontext_scripts:\n  make: echo new > a.txt\nprompt: go\n"
    write_goal(folder, "s", text)
    assert go(trusted(job(folder, "s", "a.txt"))).prompt.files[0].content == "new\n"


def test_fr6_4_the_shipped_goals_use_files(plant: Plant) -> None:
    """FR6.4: the goals that come with sutler take their files through the context."""
    folder = plant({"a.py": "A"})
    for goal in ("review", "explain", "tests"):
        assert "### a.py" in go(job(folder, goal, "a.py")).section


# NFR


def test_nfr1_strict_reports_all_errors_at_once(plant: Plant) -> None:
    """FR4.1: a strict run names what is over a limit and what cannot be decoded in one report."""
    tree: Files = {"big.txt": "x" * 3000, "latin.txt": b"caf\xe9 \x81\n" * 9}
    folder = plant({"t": tree, **configured("max_file_size_kb: 1\n")})
    with pytest.raises(RefusedError) as caught:
        paths(folder, "t", "gone.txt")
    assert "3 error(s)" in str(caught.value)
    for name in ("big.txt", "latin.txt", "gone.txt"):
        assert name in str(caught.value)


def test_nfr1_a_pipe_does_not_hang_the_walk(plant: Plant) -> None:
    """NFR1: special files are left out at once."""
    folder = plant({"t": {"a.txt": "A"}, **configured("")})
    os.mkfifo(folder / "t/pipe")
    assert paths(folder, "t") == ["t/a.txt"]


def test_nfr2_warnings_near_limits(plant: Plant) -> None:
    """NFR2: from four fifths of a limit on a warning says so."""
    tree = {f"{n}.txt": "" for n in range(4)} | {"big.txt": "x" * 900}
    folder = plant({"t": tree, **configured("max_file_size_kb: 1\nmax_files_per_directory: 6\n")})
    notes = go(job(folder, "plain", "t")).notes
    assert notes == [
        "warning: t/big.txt has 0 KB, the limit is 1 KB",
        "warning: t has 5 files, the limit is 6",
    ]


def test_nfr2_errors_say_what_to_do(plant: Plant, capfdbinary: Capture) -> None:
    """NFR2: an unknown goal is answered with the nearest name."""
    ran = cli(capfdbinary, plant(configured("")), "run", "plian")
    assert ran.code == 2
    assert "Goal 'plian' not found in local or global configuration" in ran.err
    assert "did you mean 'plain'?" in ran.err


def test_nfr3_every_option_is_documented_in_help(capfdbinary: Capture) -> None:
    """NFR3: the command line explains each option."""
    text = cli(capfdbinary, Path("/"), "run", "--help").text
    for word in (
        "--context",
        "--recurse_depth",
        "--mode",
        "--explain",
        "--compat",
        "--print",
        "--receipt",
    ):
        assert word in text


def test_nfr4_goals_of_claw_still_work(plant: Plant, capfdbinary: Capture) -> None:
    """NFR4: a .claw folder is found from below, and its goal renders."""
    text = "name: Old\nprompt: |\n  Hi {{ Args.who }}\n"
    folder = plant({".claw": {"goals": {"old": {"prompt.yaml": text}}}, "a": {"b": {"x": ""}}})
    ran = cli(capfdbinary, folder / "a/b", "dry-run", "old", "--", "--who", "you")
    assert ran.text == "Hi you\n"


def test_the_model_gets_prompt_and_section(
    plant: Plant, capfdbinary: Capture, tmp_path: Path
) -> None:
    """FR5.3, FR6.1: what the program receives is the prompt, a blank line and the section."""
    folder = plant({"a.txt": "A", **configured("prompt_arg_template: ''\n")})
    fake = program(tmp_path / "bin", "fake", "cat")
    sent = cli(capfdbinary, folder, "run", "plain", "-c", "a.txt", "--command", str(fake))
    assert sent.out == cli(capfdbinary, folder, "dry-run", "plain", "-c", "a.txt").out
