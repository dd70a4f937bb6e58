"""Programs that play the model badly: exit codes are right, no answer is lost, no process is left."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Plant, Sutler
from tests.goalkit import Capture, cli, program, write_goal
from tests.limits import LIMIT


@pytest.fixture
def folder(plant: Plant) -> Path:
    place = plant({"a.py": "AAA\n", "b.py": "BBB\n"})
    write_goal(place, "plain")
    return place


def ended(pid: int) -> bool:
    """Whether a process is gone, or dead and not yet reaped by its new parent."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("body", "code", "out", "message"),
    [
        ("cat >/dev/null; echo no >&2; exit 1", 6, "", "exit status: 1"),
        ("exec <&-; echo deaf", 0, "deaf\n", ""),
        ("cat >/dev/null; echo half; kill -9 $$", 6, "half\n", "signal: 9 (SIGKILL)"),
        ("cat >/dev/null", 0, "", ""),
        ("cat >/dev/null; printf 'no newline'", 0, "no newline", ""),
    ],
    ids=["refuses", "closes stdin", "dies", "silent", "unfinished"],
)
def test_run_with_an_odd_model(
    folder: Path, tmp_path: Path, capfdbinary: Capture, body: str, code: int, out: str, message: str
) -> None:
    """The exit code says whether the command succeeded; what it printed is kept either way."""
    fake = program(tmp_path / "bin", "model", body)
    target = tmp_path / "answer"
    ran = cli(capfdbinary, folder, "run", "plain", "--command", str(fake), "-o", str(target))
    assert (ran.code, ran.text, target.read_text()) == (code, out, out)
    assert message in ran.err


@pytest.mark.parametrize("keep", [[], ["-o", "answer"]])
def test_a_time_limit_ends_everything_that_was_started(
    folder: Path, tmp_path: Path, capfdbinary: Capture, keep: list[str]
) -> None:
    """--timeout ends the whole process group; the answer so far is kept."""
    body = f"cat >/dev/null; sleep 600 & echo $! $$ >{tmp_path}/pids; echo begun; sleep 600"
    fake = program(tmp_path / "bin", "model", body)
    words = ["run", "plain", "--command", str(fake), "--timeout", "1.5", *keep]
    ran = cli(capfdbinary, folder, *words)
    assert ran.code == 6
    assert "did not finish in 1.5 seconds" in ran.err
    assert ran.text == "begun\n"
    if keep:
        assert (folder / "answer").read_text() == "begun\n"
    assert all(ended(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_what_a_model_leaves_behind_is_ended(
    folder: Path, tmp_path: Path, capfdbinary: Capture
) -> None:
    """A process in the background does not hold the run up, and does not outlive it."""
    body = f"cat >/dev/null; sleep 600 & echo $! >{tmp_path}/pid; echo done"
    fake = program(tmp_path / "bin", "model", body)
    begun = time.monotonic()
    ran = cli(capfdbinary, folder, "run", "plain", "--command", str(fake), "-o", "answer")
    assert (ran.code, ran.text) == (0, "done\n")
    assert time.monotonic() - begun < 60
    assert ended(int((tmp_path / "pid").read_text()))


def test_an_answer_streams(folder: Path, tmp_path: Path) -> None:
    """What the model has printed is on stdout and in the file before the model ends."""
    body = (
        f"cat >/dev/null; echo first; while ! [ -e {tmp_path}/go ]; do sleep 0.05; done; echo last"
    )
    fake = program(tmp_path / "bin", "model", body)
    words = [
        sys.executable,
        "-m",
        "sutler",
        "run",
        "plain",
        "-q",
        "--command",
        str(fake),
        "-o",
        "answer",
    ]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"first\n"
        assert (folder / "answer").read_bytes() == b"first\n"
        (tmp_path / "go").touch()
        assert child.stdout.read() == b"last\n"
    assert child.returncode == 0


def test_a_hundred_megabytes_pass(folder: Path, tmp_path: Path, sutler: Sutler) -> None:
    """A flood goes to the file whole; gather refuses it at its limit."""
    body = "cat >/dev/null; head -c 100000000 /dev/zero | tr '\\0' x"
    fake = program(tmp_path / "bin", "model", body)
    ran = sutler("run", "plain", "--command", str(fake), "-o", "answer", cwd=folder)
    assert (ran.code, len(ran.out)) == (0, 100_000_000)
    assert (folder / "answer").stat().st_size == 100_000_000
    ran = sutler("gather", "x", "--command", str(fake), cwd=folder)
    assert ran.code == 6
    assert "printed more than 8 MiB" in ran.err


def test_an_interrupt_ends_the_group(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C during a kept answer leaves no process."""
    body = f"cat >/dev/null; sleep 600 & echo $! $$ >{tmp_path}/part; mv {tmp_path}/part {tmp_path}/pids; sleep 600"
    fake = program(tmp_path / "bin", "model", body)
    words = [sys.executable, "-m", "sutler", "run", "plain", "--command", str(fake), "-o", "answer"]
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + LIMIT
    while not (tmp_path / "pids").exists() and time.monotonic() < until:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=LIMIT)
    assert child.returncode == 130
    assert all(ended(int(pid)) for pid in (tmp_path / "pids").read_text().split())


OBJECT = json.dumps({"done": True, "files": ["a.py"], "reason": "r"})
SHAPES = {
    "plain": OBJECT,
    "indented": json.dumps(json.loads(OBJECT), indent=2),
    "prose before": f"I will read one file.\n\n{OBJECT}",
    "prose after": f"{OBJECT}\n\nLet me know if you need {{more}}.",
    "fence": f"```json\n{OBJECT}\n```",
    "fence in prose": f"Sure!\n\n```\n{OBJECT}\n```\nThat is all.",
    "reasoning": f'<think>\nPerhaps {{"done": false, "files": ["b.py"]}}?\n</think>\n\n{OBJECT}',
    "reasoning without a start": f"Perhaps b.py.\n</think>\n{OBJECT}",
    "wrapped": json.dumps({"answer": json.loads(OBJECT)}),
    "list": f"[{OBJECT}]",
    "paths as objects": '{"done": true, "files": [{"path": "a.py", "why": "x"}]}',
    "crlf and a mark": "\ufeff" + OBJECT.replace(", ", ",\r\n"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_gather_reads_every_shape(
    folder: Path, tmp_path: Path, capfdbinary: Capture, shape: str
) -> None:
    """Twelve ways in which current models wrap one answer: the same file is loaded."""
    fake = program(
        tmp_path / "bin", "model", f"cat >/dev/null; printf %s {shlex.quote(SHAPES[shape])}"
    )
    ran = cli(capfdbinary, folder, "gather", "x", "--command", str(fake))
    assert ran.code == 0
    assert '@spec_a assign "a.py"' in ran.text
    assert "BBB" not in ran.text


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("cat >/dev/null; echo 'I cannot help with that.'", 3, "there was no JSON object"),
        ("cat >/dev/null", 3, "the answer was empty"),
        ("exit 7", 6, "exit status: 7"),
        ("sleep 600 & sleep 600", 6, "gave no answer in 1 seconds"),
    ],
    ids=["refuses", "silent", "fails", "hangs"],
)
def test_gather_with_an_odd_model(
    folder: Path, tmp_path: Path, capfdbinary: Capture, body: str, code: int, message: str
) -> None:
    """Never an empty success."""
    fake = program(tmp_path / "bin", "model", body)
    ran = cli(capfdbinary, folder, "gather", "x", "--command", str(fake), "--timeout", "1")
    assert (ran.code, ran.text) == (code, "")
    assert message in ran.err
