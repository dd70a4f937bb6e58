"""Sending: real programs, argument and stdin, and every way they fail."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sutler.errors import ModelCommandError, UsageError
from sutler.goals.send import (
    PROFILES,
    Target,
    Watching,
    plan,
    profile,
    send,
    target_of_line,
)
from sutler.process import status
from tests.conftest import Plant
from tests.goalkit import Capture, cli, configured, program

SHOW = 'for word; do printf "<%s>" "$word"; done; printf "|"; cat'


@pytest.fixture
def fake(tmp_path: Path) -> str:
    return str(program(tmp_path / "bin", "fake", SHOW))


def sent(
    target: Target, prompt: str, capfd: pytest.CaptureFixture[str], seconds: float = 30
) -> str:
    delivery = plan(target, prompt, os.environ)
    send(delivery, prompt, environ=os.environ, cwd="/", watching=Watching(seconds))
    return capfd.readouterr().out


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{{prompt}}", "<a 'b'\n$c>|"),
        ("-p {{prompt}} --x", "<-p><a 'b'\n$c><--x>|"),
        ("--message={{prompt}}", "<--message=a 'b'\n$c>|"),
        ("'{{prompt}} twice {{prompt}}'", "<a 'b'\n$c twice a 'b'\n$c>|"),
        ("", "|a 'b'\n$c"),
        ("--flag 'two words'", "<--flag><two words>|a 'b'\n$c"),
        ("{{ prompt }}", "<{{><prompt><}}>|a 'b'\n$c"),
    ],
)
def test_argument_and_stdin_mode(
    fake: str,
    template: str,
    shown: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sent(Target(fake, template), "a 'b'\n$c", capfd) == shown


def test_a_long_prompt_goes_by_stdin_with_a_note(
    fake: str, capfd: pytest.CaptureFixture[str]
) -> None:
    prompt = "x" * 200_000
    delivery = plan(Target(fake, "-p {{prompt}}"), prompt, os.environ)
    assert delivery.how == "stdin"
    assert "more than one argument may have" in delivery.note
    assert sent(Target(fake, "-p {{prompt}}"), prompt, capfd) == "<-p>|" + prompt


def test_a_nul_goes_by_stdin(fake: str) -> None:
    assert plan(Target(fake), "a\0b", os.environ).how == "stdin"


def test_a_long_prompt_inside_a_word_is_refused(fake: str) -> None:
    with pytest.raises(ModelCommandError, match=r"cannot be an argument[\s\S]*goes to stdin"):
        plan(Target(fake, "--message={{prompt}}"), "x" * 200_000, os.environ)


def test_a_missing_command() -> None:
    with pytest.raises(
        ModelCommandError, match="LLM command 'nope-x' not found in your PATH"
    ) as caught:
        plan(Target("nope-x"), "p", os.environ)
    assert caught.value.exit_code == 6


def test_bad_quotes_in_the_template(fake: str) -> None:
    with pytest.raises(UsageError, match="Could not parse 'prompt_arg_template'"):
        plan(Target(fake, "'open"), "p", os.environ)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("exit 4", "exit status: 4"),
        ("kill -15 $$", r"signal: 15 \(SIGTERM\)"),
        ("exit 127", "exit status: 127"),
    ],
)
def test_failure_is_reported(tmp_path: Path, body: str, message: str) -> None:
    dying = str(program(tmp_path, "dying", body))
    with pytest.raises(
        ModelCommandError, match=f"'{dying}' exited with non-zero status: {message}"
    ):
        send(plan(Target(dying, ""), "p", os.environ), "p" * 500_000, environ=os.environ, cwd="/")


def test_a_program_that_cannot_be_run(tmp_path: Path) -> None:
    bad = program(tmp_path, "bad", "")
    bad.write_text("#!/no/such/interpreter\n")
    with pytest.raises(ModelCommandError, match="Failed to execute LLM command"):
        send(plan(Target(str(bad), ""), "p", os.environ), "p", environ=os.environ, cwd="/")


def test_a_program_that_hangs(tmp_path: Path) -> None:
    slow = str(program(tmp_path, "slow", "exec sleep 600"))
    with pytest.raises(ModelCommandError, match=r"did not finish in 0\.3 seconds"):
        send(
            plan(Target(slow, ""), "p", os.environ),
            "p",
            environ=os.environ,
            cwd="/",
            watching=Watching(0.3),
        )


def test_a_program_that_does_not_read(tmp_path: Path) -> None:
    deaf = str(program(tmp_path, "deaf", "exec <&-; exit 0"))
    send(plan(Target(deaf, ""), "p", os.environ), "p" * 1_000_000, environ=os.environ, cwd="/")


def test_a_flood_passes_through(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loud = str(program(tmp_path, "loud", "head -c 3000000 /dev/zero | tr '\\0' x; echo err >&2"))
    assert len(sent(Target(loud, ""), "p", capfd)) == 3_000_000


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "llm", "ollama:llama3", "llm:gpt"])
def test_profiles(name: str) -> None:
    target = profile(name)
    assert target.command == name.split(":")[0]
    assert "{{prompt}}" not in target.template
    assert "{model}" not in target.template


@pytest.mark.parametrize("name", ["nope", "ollama", ""])
def test_bad_profiles(name: str) -> None:
    with pytest.raises(UsageError):
        profile(name)
    assert "claude" in PROFILES


def test_a_command_line_as_target() -> None:
    assert target_of_line("a -b 'c d' {{prompt}}") == Target("a", "-b 'c d' {{prompt}}")
    with pytest.raises(UsageError, match="empty"):
        target_of_line("")


def test_status() -> None:
    assert [status(0), status(3), status(-9)] == [
        "exit status: 0",
        "exit status: 3",
        "signal: 9 (SIGKILL)",
    ]


# Through the command line


def test_run_sends_and_writes_a_receipt(
    plant: Plant, fake: str, tmp_path: Path, capfdbinary: Capture
) -> None:
    """The receipt says what went where, by digest, and holds no text of the prompt."""
    folder = plant({"a.txt": "unique-content", **configured()})
    receipt = tmp_path / "receipt.json"
    words = [
        "run",
        "plain",
        "-c",
        "a.txt",
        "--command",
        f"{fake} {{{{prompt}}}}",
        "--receipt",
        str(receipt),
    ]
    ran = cli(capfdbinary, folder, *words)
    assert ran.code == 0
    assert b"unique-content" in ran.out
    record = json.loads(receipt.read_text())["sent"]
    assert record["command"] == [fake, "{{prompt}}"]
    assert list(record["files"]) == ["a.txt"]
    assert "unique-content" not in receipt.read_text()


def test_exit_code_six(plant: Plant, tmp_path: Path, capfdbinary: Capture) -> None:
    dying = program(tmp_path, "dying", "exit 9")
    ran = cli(capfdbinary, plant(configured()), "run", "plain", "--command", str(dying))
    assert ran.code == 6
    assert "exited with non-zero status: exit status: 9" in ran.err


def test_pass_gives_the_programs_own_code(
    plant: Plant, tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "claude", "echo args=$#; exit 42")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    ran = cli(capfdbinary, plant({}), "pass")
    assert (ran.code, ran.text) == (42, "args=0\n")


def test_claude_receives_the_prompt_as_argument_by_default(
    plant: Plant, tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "claude", SHOW)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert cli(capfdbinary, plant(configured()), "run", "plain").text == "<hello>|"
