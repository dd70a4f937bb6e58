"""Context scripts as real shells: order, failure, time, size, encoding, environment."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sutler.errors import SutlerError
from sutler.goals.goal import Script
from sutler.goals.scripts import run_scripts, variable


def outputs(
    folder: Path, *commands: str, args: dict[str, str] | None = None, seconds: float = 20
) -> list[str]:
    scripts = [Script(f"s{n}", command) for n, command in enumerate(commands)]
    return list(
        run_scripts(
            scripts, args or {}, cwd=str(folder), env=dict(os.environ), seconds=seconds
        ).values()
    )


def test_in_declaration_order_in_the_working_directory(tmp_path: Path) -> None:
    found = outputs(tmp_path, "echo one >> log; pwd", "echo two >> log", "cat log")
    assert found == [os.path.realpath(tmp_path), "", "one\ntwo"]


def test_output_is_trimmed_on_both_ends(tmp_path: Path) -> None:
    assert outputs(tmp_path, "printf '\\n  a\\n b \\n\\n'") == ["a\n b"]


def test_commands_are_templates_with_args_only(tmp_path: Path) -> None:
    assert outputs(tmp_path, "echo {{ Args.who | default(value='x') }}", args={"who": "me"}) == [
        "me"
    ]
    with pytest.raises(SutlerError, match=r"Context\.s0"):
        outputs(tmp_path, "echo a", "echo {{ Context.s0 }}")


def test_args_arrive_as_variables_that_no_shell_parses(tmp_path: Path) -> None:
    value = "$(touch owned); `touch owned` '\"\n--"
    assert outputs(tmp_path, 'printf %s "$SUTLER_ARG_MY_KEY"', args={"my-key": value}) == [value]
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("name", "expected"), [("a", "A"), ("dash-key", "DASH_KEY"), ("é.x", "__X")]
)
def test_variable_names(name: str, expected: str) -> None:
    assert variable(name) == f"SUTLER_ARG_{expected}"


def test_a_failure_shows_the_error_before_the_script(tmp_path: Path) -> None:
    with pytest.raises(SutlerError) as caught:
        outputs(tmp_path, "echo out; echo oops >&2; exit 7")
    command = "echo out; echo oops >&2; exit 7"
    assert (
        caught.value.what
        == f"Context script 's0' failed with status exit status: 7:\noops\nscript: {command}"
    )


def test_a_failure_stops_the_rest(tmp_path: Path) -> None:
    with pytest.raises(SutlerError):
        outputs(tmp_path, "false", "touch ran")
    assert not (tmp_path / "ran").exists()


def test_death_by_signal_is_named(tmp_path: Path) -> None:
    with pytest.raises(SutlerError, match=r"signal: 9 \(SIGKILL\)"):
        outputs(tmp_path, "kill -9 $$")


def test_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(SutlerError, match="Script output for 's0' was not valid UTF-8"):
        outputs(tmp_path, "printf '\\377'")


def test_a_flood_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(SutlerError, match="printed more than 16 MiB"):
        outputs(tmp_path, "yes")


def test_a_command_with_a_nul_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SutlerError, match="Failed to execute context script"):
        outputs(tmp_path, "echo {{ Args.a }}", args={"a": "\0"})


def test_stdin_is_empty(tmp_path: Path) -> None:
    assert outputs(tmp_path, "cat; echo done") == ["done"]


def gone(pid: int) -> bool:
    """A killed process may need a moment to be gone; give it ten seconds."""
    for _ in range(200):
        if not alive(pid):
            return True
        select.select([], [], [], 0.05)
    return False


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_time_out_kills_everything_that_was_started(tmp_path: Path) -> None:
    with pytest.raises(SutlerError, match=r"did not finish in 0\.5 seconds"):
        outputs(tmp_path, "trap '' TERM; sleep 600 & echo $! > child; wait", seconds=0.5)
    assert gone(int((tmp_path / "child").read_text()))


def test_an_interrupt_kills_the_group(tmp_path: Path) -> None:
    """Ctrl-C while a script runs ends the script's own children too."""
    code = (
        "import os, sys; from sutler.process import capture\n"
        "capture(['sh', '-c', 'sleep 600 & echo $! > child; echo up > ready; wait'], cwd='.', env=os.environ)"
    )
    os.mkfifo(tmp_path / "ready")
    runner = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.DEVNULL)
    assert (tmp_path / "ready").read_text() == "up\n"
    runner.send_signal(signal.SIGINT)
    assert runner.wait(30) != 0
    assert gone(int((tmp_path / "child").read_text()))
