"""An unexpected exception ends in a bug report that can be sent as it is, and never in a raw
traceback.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from sutler.fronts import bug_report
from tests.conftest import Plant
from tests.mcpkit import body
from tests.rows import SOURCE, Row, command_with, run_with
from tests.terminals import on_terminal

SECRET = "ghp_" + "x7Kq2mZ9pLw4Rt8Yb3Nc6Vd1Sf5Hg0Jk2aQe"
LOCATE = Row(
    "scan/place.py",
    "def locate(",
    f"def locate(*_: object) -> object:\n    raise KeyError(f'{{os.getcwd()}}/x {SECRET}')\n\n\ndef unused(",
)


def reports() -> list[Path]:
    return list(
        (Path(os.environ["HOME"]) / ".local/state/sutler" / bug_report.FOLDER).glob("bug-*.txt")
    )


def the_report() -> str:
    """The one report: private, and without secrets and host paths."""
    [path] = reports()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    for private in (SECRET, os.environ["HOME"], str(SOURCE), sys.prefix, "/tmp/"):
        assert private not in text
    for part in ("version: sutler ", "platform: ", "python: ", "traceback"):
        assert part in text
    return text


def test_a_command_writes_a_report_and_names_it(plant: Plant) -> None:
    """One message, exit 1, and a file with command, version, platform and redacted traceback."""
    folder = plant({"a.py": "x = 1\n"})
    done = run_with(LOCATE, "pack", str(folder), "--goal", f"use {SECRET}", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert "unexpected error: KeyError in sutler.scan.place:" in done.stderr
    assert str(reports()[0]) in done.stderr
    assert SECRET not in done.stderr
    text = the_report()
    assert "command: sutler pack " in text
    assert "sutler.scan.place:" in text


def test_the_same_fault_is_one_report(plant: Plant) -> None:
    folder = plant({"a.py": ""})
    for _ in range(2):
        assert run_with(LOCATE, "pack", cwd=folder).returncode == 1
    the_report()


def test_json_output_gets_the_error_as_json(plant: Plant) -> None:
    done = run_with(LOCATE, "pack", "--json", cwd=plant({"a.py": ""}))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "unexpected error" in json.dumps(json.loads(done.stderr))


def test_without_a_state_folder_the_report_is_printed(plant: Plant) -> None:
    state = Path(os.environ["HOME"]) / ".local/state"
    state.parent.mkdir()
    state.write_text("in the way")
    done = run_with(LOCATE, "pack", cwd=plant({"a.py": ""}))
    assert done.returncode == 1
    assert "sutler bug report" in done.stderr
    assert SECRET not in done.stderr


def test_an_mcp_server_answers_an_internal_error_and_goes_on(plant: Plant) -> None:
    """The client learns no more than the exception's type; the log names the report."""
    row = Row(
        "fronts/mcp/resources.py",
        "def listed(",
        f"def listed(_: object) -> object:\n    raise KeyError('{SECRET}')\n\n\ndef old(",
    )
    start = body(
        "initialize",
        1,
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "t", "version": "1"},
    )
    lines = [start, body("resources/list", 2), body("ping", 3)]
    done = run_with(
        row,
        "mcp",
        cwd=plant({"a.py": ""}),
        stdin="".join(json.dumps(line) + "\n" for line in lines),
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert (answers[1]["error"]["code"], answers[1]["error"]["message"]) == (
        -32603,
        "the call failed: KeyError",
    )
    assert "Traceback" not in done.stderr
    assert str(reports()[0]) in done.stderr
    assert "command: sutler mcp resources/list" in the_report()


def test_the_picker_leaves_the_screen_and_reports(plant: Plant) -> None:
    pytest.importorskip("textual")
    row = Row(
        "fronts/tui/app.py",
        "    def action_sort(",
        f"    def action_sort(self):\n        raise KeyError('{SECRET}')\n\n    def old(",
    )
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = command_with(row, "pick")
    code, seen = on_terminal(command, plant({"a.py": ""}), env=env, keys=(b" files", b"s"))
    assert code == 1, seen
    assert b"unexpected error: KeyError" in seen
    assert b"Traceback" not in seen
    the_report()


def test_the_web_front_answers_500_with_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("starlette")
    from starlette.requests import Request
    from starlette.responses import Response

    from sutler.fronts.web.app import _guarded

    async def broken(_: Request) -> Response:
        raise KeyError(SECRET)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/pack",
        "headers": [],
        "query_string": b"",
        "server": ("x", 1),
    }

    async def asked() -> Response:
        return await _guarded(broken)(Request(scope))

    answer = asyncio.run(asked())
    assert answer.status_code == 500
    assert SECRET.encode() not in bytes(answer.body)
    assert "unexpected error" in capsys.readouterr().err
    the_report()


def test_a_long_recursion_is_shortened_and_old_reports_go() -> None:
    def deeper(level: int) -> None:
        if level == 0:
            raise ValueError(str(level))
        deeper(level - 1)

    for number in range(bug_report.MOST_REPORTS + 3):
        try:
            deeper(200)
        except ValueError as error:
            bug_report.explain(["pack", str(number)], error)
    assert len(reports()) == bug_report.MOST_REPORTS
    assert len(reports()[0].read_text().splitlines()) < 80
