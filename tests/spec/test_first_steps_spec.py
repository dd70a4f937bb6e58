"""What a newcomer types first, and what a terminal of any width shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Plant
from tests.limits import LIMIT

TREE = {
    "README.md": "# Cart\n",
    "src": {
        "a_rather_long_folder_name": {
            "and_another_long_one": {"cart_with_wheels.py": "WHEELS = 4\n"}
        }
    },
}


def run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("SUTLER_")}
    return subprocess.run(
        [sys.executable, "-m", "sutler", *words],
        cwd=folder,
        env={**env, **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.mark.parametrize("words", [["."], ["-q"], ["src/.."], ["--format", "markdown"]])
def test_without_a_command_a_path_or_an_option_is_packed(plant: Plant, words: list[str]) -> None:
    folder = plant(TREE)
    assert run(folder, *words).stdout == run(folder, "pack").stdout


def test_a_misspelt_command_is_answered_with_the_nearest(plant: Plant) -> None:
    done = run(plant(TREE), "pakc")
    assert done.returncode == 2
    assert "did you mean 'sutler pack'?" in done.stderr


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["fix the wheels"], "sutler pack --goal 'fix the wheels'"),
        (["pack", "fix the wheels"], "sutler pack --goal 'fix the wheels'"),
        (["pack", "src/**/*.py"], "-i 'src/**/*.py'"),
        (["*.py"], "-i '*.py'"),
        (["pack", "--goal", "fix", "the", "wheels"], "a text of several words needs quotes"),
        (["rank", "fix", "the", "wheels"], "a text of several words needs quotes"),
        (["pack", r"src\a_rather_long_folder_name"], "slash: src/a_rather_long_folder_name"),
        (["version"], "sutler --version"),
        (["-v"], "--version"),
        (["config", "set", "max_tokens"], "write it in sutler.toml"),
        (["pack", "README.md:1-1"], "sutler read README.md:1-1"),
        (["pack", "-"], "--stdin"),
        (["pack", "–goal", "x"], "two hyphens"),
        (["pack", "-i", "py"], "globs are '*.py'"),
        (["pack", "--goal", ""], "give the text of the task"),
        (["pack", "--version"], "sutler pack --help"),
        (["cat", "README.md"], "'sutler read'"),
        (["tokens", "--counter", "claude"], "claude-estimate"),
        (["rank", ""], "sutler rank 'the login fails'"),
        (["rank", "x", "-k", "0"], "from 1 up"),
        (["receipt"], "sutler receipt --help"),
    ],
)
def test_a_word_that_means_something_else_is_answered_with_it(
    plant: Plant, words: list[str], hint: str
) -> None:
    done = run(plant(TREE), *words)
    assert done.returncode in (2, 3)
    assert hint in done.stderr, done.stderr


def test_hints_name_a_command_that_works_from_where_the_user_stands(plant: Plant) -> None:
    """Without `sutler` on the PATH a hint begins with the words of the call itself."""
    folder = plant(TREE)
    for call in (Path(sys.executable).with_name("sutler"),), (sys.executable, "-m", "sutler"):
        done = subprocess.run(
            [*call, "pack", "--nothing"], cwd=folder, env={"PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        hint = done.stderr.partition("see '")[2].partition("'")[0]
        assert hint == f"{' '.join(map(str, call))} pack --help"
        again = subprocess.run(
            hint.split(), cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True,
            timeout=LIMIT, check=False,
        )  # fmt: skip
        assert again.returncode == 0


@pytest.mark.parametrize("word", ["help", "--help", "-h"])
def test_help_before_the_command_explains_the_command(plant: Plant, word: str) -> None:
    folder = plant(TREE)
    assert run(folder, word, "tree").stdout == run(folder, "tree", "--help").stdout != ""


def test_globs_may_be_separated_by_commas(plant: Plant) -> None:
    """As in repomix, gitingest and code2prompt; a comma in braces or behind a backslash is not."""
    folder = plant({"a.py": "1\n", "b.js": "2\n", "c,d.md": "3\n", "e.txt": "4\n"})

    def names(*words: str) -> list[str]:
        return run(folder, "scan", *words).stdout.split()[1::2]

    both = ["a.py", "b.js"]
    assert (
        names("-i", "*.py,*.js") == names("-i", "*.py, *.js,") == names("-i", "*.{py,js}") == both
    )
    assert names("-e", "*.{md,txt}") == names("-e", "*.md,*.txt") == both
    assert names("-i", "c\\,d.md") == ["c,d.md"]


@pytest.mark.parametrize(
    ("name", "format"),
    [("p.xml", "xml"), ("p.json", "json"), ("p.claude.xml", "claude"), ("p.txt", "markdown")],
)
def test_a_file_holds_what_its_ending_promises(plant: Plant, name: str, format: str) -> None:
    folder = plant(TREE)
    ours, plain = (run(folder, "pack", "-f", each).stdout for each in (format, "plain"))
    run(folder, "pack", "-o", name)
    assert (folder / name).read_text() == ours
    run(folder, "pack", "-o", name, SUTLER_FORMAT="plain")
    assert (folder / name).read_text() == plain


def test_a_report_does_not_replace_its_pack(plant: Plant) -> None:
    folder = plant(TREE)
    run(folder, "pack", "-o", "pack.md")
    before = (folder / "pack.md").read_bytes()
    done = run(folder, "report", "pack.md", "-o", "./pack.md")
    assert (done.returncode, (folder / "pack.md").read_bytes()) == (2, before)
    assert "write to another file" in done.stderr


def test_rank_takes_the_text_as_a_word(plant: Plant) -> None:
    folder = plant(TREE)
    assert "cart_with_wheels.py" in run(folder, "rank", "WHEELS of the cart").stdout
    assert run(folder, "rank", "WHEELS", "src").returncode == 0
    assert run(folder, "rank").returncode == run(folder, "rank", "src").returncode == 2


def test_an_empty_ranking_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, "rank", "wheels")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no file has to do with this text" in done.stderr


@pytest.mark.parametrize(
    "words", [[], ["--no-budget"], ["-f", "json"], ["-i", "*.nothing"], ["-o", "out.md"]]
)
def test_a_pack_of_nothing_is_refused_with_a_reason(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "raw.bin").write_bytes(bytes(range(256)))
    done = run(tmp_path, "pack", *words)
    assert (done.returncode, done.stdout) == (3, "")
    assert "would hold no file" in done.stderr
    assert "rule: " in done.stderr
    assert "next: " in done.stderr
    assert not (tmp_path / "out.md").exists()


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_the_summary_fits_the_width(plant: Plant, columns: int) -> None:
    folder = plant({**TREE, "latin.txt": b"Stra\xdfe\n"})
    done = run(folder, "pack", "--mode", "ignore", "-o", "/dev/null", COLUMNS=str(columns))
    lines = done.stderr.splitlines()
    assert max(map(len, lines)) <= columns, done.stderr
    assert "wheels.py" in done.stderr
    assert ("…" in done.stderr) == (columns < 160)


def test_a_first_pack_into_the_project_counts_only_the_project(plant: Plant) -> None:
    """Not the file that is being written, which has a temporary name beside the others."""
    folder = plant(TREE)
    assert "packed  2 of 2 files" in run(folder, "pack", "-o", "pack.md").stderr
    assert "packed  2 of 3 files" in run(folder, "pack", "-o", "pack.md").stderr


def test_a_pack_sent_to_a_file_by_the_shell_does_not_hold_that_file(plant: Plant) -> None:
    folder = plant(TREE)
    expected = run(folder, "pack").stdout
    words = [sys.executable, "-m", "sutler", "pack"]
    for _ in range(2):  # new, and again over the old one
        with (folder / "pack.md").open("w") as stream:
            subprocess.run(words, cwd=folder, stdout=stream, check=True, timeout=LIMIT)
        assert "## `pack.md`" not in (folder / "pack.md").read_text()
    (folder / "pack.md").unlink()
    assert run(folder, "pack").stdout == expected


def test_files_that_name_sutler_are_packed_and_packs_are_not(plant: Plant) -> None:
    folder = plant({**TREE, ".mcp.json": '{"mcpServers": {"sutler": {"command": "sutler"}}}\n'})
    for number, format in enumerate(("markdown", "xml", "json", "plain", "claude")):
        run(folder, "pack", "-f", format, "-o", f"p{number}.txt")
        assert f"packed  3 of {4 + number} files" in run(folder, "pack").stderr


def test_problems_are_named(plant: Plant) -> None:
    folder = plant({**TREE, "latin.txt": b"\x81\x8d\x8f\xff\n" * 3})
    done = run(folder, "pack", "--mode", "ignore", "-o", "/dev/null")
    assert "problems  latin.txt undecodable" in done.stderr


def test_an_unknown_variable_is_named_with_the_nearest(plant: Plant) -> None:
    done = run(plant(TREE), "pack", SUTLER_MAX_TOKEN="5k")
    assert done.returncode == 0
    assert "SUTLER_MAX_TOKEN is not read; did you mean SUTLER_MAX_TOKENS?" in done.stderr
