"""What `run` and `dry-run` add behind a prompt, how much of it, and what they say before sending."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path

import pytest

from sutler.pack.receipts import receipts
from tests.conftest import Plant, Ran
from tests.goalkit import Capture, Files, cli, program, write_goal
from tests.limits import LIMIT

KEY = "AKIAIOSFODNN7EXAMPLQ"
TREE: Files = {
    "src": {"cart.py": "one\ntwo\nthree\nfour\n", "wheel.py": "def wheel():\n    return 4\n"},
    "notes.md": "# Notes\n",
    ".github": {"ci.yml": "on: push\n"},
}


@pytest.fixture
def folder(plant: Plant) -> Path:
    place = plant(TREE)
    write_goal(place, "plain")
    write_goal(place, "wheel", "name: w\nprompt: Make the wheel in wheel.py turn.\n")
    return place


def shown(ran: Ran) -> list[str]:
    return [line[4:] for line in ran.text.splitlines() if line.startswith("### ")]


def committed(folder: Path) -> None:
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, timeout=LIMIT)


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ("src/*.py", ["src/cart.py", "src/wheel.py"]),
        ("**/*.md", ["notes.md"]),
        ("src/{cart,gone}.py", ["src/cart.py"]),
        ("src/cart.py:2-3", ["src/cart.py:2-3"]),
        ("src/cart.py:4", ["src/cart.py:4-4"]),
        (".github", [".github/ci.yml"]),
    ],
)
def test_what_a_path_may_be(
    folder: Path, capfdbinary: Capture, given: str, paths: list[str]
) -> None:
    """A glob, a range of lines, a hidden folder."""
    assert shown(cli(capfdbinary, folder, "dry-run", "plain", "-c", given)) == paths


@pytest.mark.parametrize("compat", ["none", "claw"])
@pytest.mark.parametrize("given", ["src", "src/sub", "src/denied.py", "src/sub/denied.py", "."])
def test_denials_above_a_path_hold(
    plant: Plant, capfdbinary: Capture, given: str, compat: str
) -> None:
    """A denial of the project's folder binds what is named below it, outside a repository too, and
    what was left out is named.
    """
    deep: Files = {"denied.py": "CANARY", "ok.py": "fine"}
    place = plant({".aiexclude": "denied.py\n", "src": {**deep, "sub": deep}})
    write_goal(place, "plain", base=".claw")
    words = ["dry-run", "plain", "-c", given, "--mode", "ignore", "--compat", compat]
    ran = cli(capfdbinary, place, *words)
    assert ran.code == 0
    assert "CANARY" not in ran.text
    assert "denied.py (ai denied" in ran.err


def test_ranges_show_their_lines(folder: Path, capfdbinary: Capture) -> None:
    """The lines are the file's; two ranges of one file are two sections."""
    ran = cli(capfdbinary, folder, "dry-run", "plain", "-c", "src/cart.py:2-3", "src/cart.py:4-9")
    assert "### src/cart.py:2-3\n\n```\ntwo\nthree\n```\n" in ran.text
    assert "### src/cart.py:4-9\n\n```\nfour\n```\n" in ran.text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("src/*.go", "No file matches: src/*.go"),
        ("src/cart.py:9-10", "No such lines: src/cart.py:9-10 (the file has 4)"),
        ("src/cart.py:3-2", "Not a range of lines: src/cart.py:3-2"),
        ("gone:1-2", "Path does not exist: gone:1-2"),
    ],
)
def test_what_a_path_may_not_be(
    folder: Path, capfdbinary: Capture, given: str, message: str
) -> None:
    """A pattern without a match and a range outside the file are errors that the mode judges."""
    ran = cli(capfdbinary, folder, "dry-run", "plain", "-c", given, "--mode", "strict")
    assert ran.code == 3
    assert message in ran.err


def test_stdin_is_a_file(
    folder: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-c -` adds what is piped in, redacted."""
    piped = io.TextIOWrapper(io.BytesIO(f"boom {KEY}\n".encode()))
    monkeypatch.setattr("sys.stdin", piped)
    ran = cli(capfdbinary, folder, "dry-run", "plain", "-c", "notes.md", "-")
    assert shown(ran) == ["notes.md", "stdin"]
    assert "boom [REDACTED" in ran.text
    assert "redacted: stdin (aws-access-key-id)" in ran.err


def test_changes_since_a_revision(folder: Path, capfdbinary: Capture) -> None:
    """--since adds the changed files, --diff the difference."""
    committed(folder)
    (folder / "src/cart.py").write_text("one\nTWO\nthree\nfour\n")
    ran = cli(capfdbinary, folder, "dry-run", "plain", "--since", "HEAD", "--diff")
    assert shown(ran) == ["src/cart.py", "git/changes.diff"]
    assert "-two\n+TWO\n" in ran.text
    assert shown(cli(capfdbinary, folder, "dry-run", "plain", "--diff")) == ["git/changes.diff"]


def test_auto_context_ranks_for_the_goal(folder: Path, capfdbinary: Capture) -> None:
    """--auto-context adds what a pack for the goal would hold."""
    ran = cli(capfdbinary, folder, "dry-run", "wheel", "--auto-context", "1k")
    assert "src/wheel.py" in shown(ran)
    twice = cli(
        capfdbinary, folder, "dry-run", "wheel", "-c", "src/wheel.py", "--auto-context", "1k"
    )
    assert shown(twice).count("src/wheel.py") == 1


# The ceiling and the line before sending


def test_one_line_before_sending(folder: Path, tmp_path: Path, capfdbinary: Capture) -> None:
    """Files, tokens, redactions and destination; then which rule redacted what where."""
    (folder / "src/key.py").write_text(f"KEY = '{KEY}'\n")
    fake = program(tmp_path / "bin", "model", "cat >/dev/null")
    ran = cli(capfdbinary, folder, "run", "plain", "-c", "src", "--command", f"{fake} -p")
    first, second = ran.err.splitlines()
    assert first.startswith("sutler: 3 files, ")
    assert first.endswith(" tokens, 1 redacted, to `model -p`")
    assert second == "sutler: redacted: src/key.py (aws-access-key-id)"


def test_no_redact_is_recorded(folder: Path, tmp_path: Path, capfdbinary: Capture) -> None:
    """--no-redact sends the text as it is; the line and the receipt say so."""
    (folder / "key.py").write_text(f"KEY = '{KEY}'\n")
    fake = program(tmp_path / "bin", "model", "cat")
    words = ["run", "plain", "-c", "key.py", "--command", str(fake)]
    ran = cli(capfdbinary, folder, *words, "--no-redact")
    assert KEY in ran.text
    assert "redaction off" in ran.err
    assert KEY not in cli(capfdbinary, folder, *words).text
    assert [row.redacted for row in receipts(str(folder), os.environ)] == [True, False]


def test_a_receipt_has_the_figures(folder: Path, tmp_path: Path, capfdbinary: Capture) -> None:
    """Tokens, ceiling and findings are on record."""
    (folder / "key.py").write_text(f"KEY = '{KEY}'\n")
    fake = program(tmp_path / "bin", "model", "cat >/dev/null")
    words = ["run", "plain", "-c", "key.py", "--max-tokens", "5k", "--command", str(fake)]
    assert cli(capfdbinary, folder, *words).code == 0
    (row,) = receipts(str(folder), os.environ)
    assert (row.budget, row.findings) == ("5,000 tokens", {"aws-access-key-id": 1})
    assert row.tokens is not None
    assert 200 < row.tokens < 400


@pytest.mark.parametrize("flag", [["--max-tokens", "400"], ["--max-chars", "1900"]])
def test_a_ceiling_is_never_exceeded(folder: Path, capfdbinary: Capture, flag: list[str]) -> None:
    """A file that does not fit is an error: strict refuses it, ignore goes on without it."""
    (folder / "src/big.py").write_text("x = 1\n" * 400)
    words = ["dry-run", "plain", "-c", "src", *flag]
    strict = cli(capfdbinary, folder, *words, "--mode", "strict")
    assert strict.code == 3
    assert "Over the ceiling of " in strict.err
    assert strict.out == b""
    ran = cli(capfdbinary, folder, *words, "--mode", "ignore")
    assert shown(ran) == ["src/cart.py", "src/wheel.py"]
    assert len(ran.text) <= 1900


def test_a_prompt_above_the_ceiling_is_refused(folder: Path, capfdbinary: Capture) -> None:
    """The prompt itself cannot be cut."""
    ran = cli(capfdbinary, folder, "dry-run", "plain", "--max-tokens", "2")
    assert ran.code == 3
    assert "the prompt without any file has 3 tokens, above the ceiling of 2 tokens" in ran.err


# The answer


def test_an_answer_is_kept_while_it_streams(
    folder: Path, tmp_path: Path, capfdbinary: Capture
) -> None:
    """-o keeps what was printed, also when the program fails half-way."""
    fake = program(tmp_path / "bin", "model", "cat >/dev/null; echo half; exit 3")
    target = tmp_path / "answer.md"
    ran = cli(capfdbinary, folder, "run", "plain", "--command", str(fake), "-o", str(target))
    assert (ran.code, ran.text, target.read_text()) == (6, "half\n", "half\n")


def test_an_unwritable_answer_file_stops_before_sending(
    folder: Path, tmp_path: Path, capfdbinary: Capture
) -> None:
    """Nothing leaves when its answer could not be kept."""
    fake = program(tmp_path / "bin", "model", f"touch {tmp_path}/ran")
    ran = cli(capfdbinary, folder, "run", "plain", "--command", str(fake), "-o", "/no/dir/x")
    assert ran.code == 1
    assert not (tmp_path / "ran").exists()


REPLY = """Here:

src/cart.py
```
<<<<<<< SEARCH
two
=======
TWO
>>>>>>> REPLACE
```
"""


def test_apply_goes_through_the_gate(
    folder: Path, tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--apply writes what the policy allows, with the shown version as base."""
    (tmp_path / "reply").write_text(REPLY)
    fake = program(tmp_path / "bin", "model", f"cat >/dev/null; cat {tmp_path}/reply")
    words = ["run", "plain", "-c", "src/cart.py", "--apply", "--command", str(fake)]
    asked = cli(capfdbinary, folder, *words)
    assert asked.code == 5
    assert (folder / "src/cart.py").read_text() == "one\ntwo\nthree\nfour\n"
    assert "REPLACE" in asked.text
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    config = tmp_path / "config/sutler/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('writable = ["src/**"]\n')
    assert cli(capfdbinary, folder, *words).code == 0
    assert (folder / "src/cart.py").read_text() == "one\nTWO\nthree\nfour\n"


# gather


def test_a_result_continues(folder: Path, tmp_path: Path, capfdbinary: Capture) -> None:
    """--format makes a pack of the files, --then runs a goal with them."""
    wants = json.dumps({"done": True, "files": ["src/wheel.py"]})
    body = f"if grep -q 'Make the wheel'; then echo answered; else echo '{wants}'; fi"
    fake = program(tmp_path / "bin", "model", body)
    base = ["gather", "turn", "--command", str(fake)]
    assert "return 4" in cli(capfdbinary, folder, *base, "--format", "xml").text
    assert "return 4" in cli(capfdbinary, folder, *base, "--format", "md").text
    ran = cli(capfdbinary, folder, *base, "--then", "wheel")
    assert ran.text == "answered\n"
    assert "sutler: 1 file, " in ran.err


def test_gather_keeps_what_it_has_when_the_model_fails_to_answer(
    folder: Path, tmp_path: Path, capfdbinary: Capture
) -> None:
    """Exit code 3, and the files so far on stdout."""
    wants = json.dumps({"done": False, "files": ["notes.md"]})
    body = f"if grep -q '# Notes'; then echo sorry; else echo '{wants}'; fi"
    fake = program(tmp_path / "bin", "model", body)
    ran = cli(capfdbinary, folder, "gather", "x", "--command", str(fake))
    assert ran.code == 3
    assert '@spec_notes assign "notes.md"' in ran.text
    assert "there was no JSON object in the answer" in ran.err
