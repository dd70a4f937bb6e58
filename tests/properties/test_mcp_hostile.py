"""Whatever a client sends, the same process goes on and answers the next call. T55, T56, T58 and
T60.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import time
from pathlib import Path
from typing import Any

from tests.conftest import FUZZ, Plant
from tests.mcpkit import ENVELOPE, Wire, body, http_server, stdio

COUNT = int(10_000 * FUZZ)
SOUND = body("tools/call", 7, name="read_file", arguments={"path": "a.py"})


def _junk(draw: random.Random) -> bytes:
    """One hostile line: broken bytes, broken JSON, broken messages, or sound ones bent a little."""
    kind = draw.randrange(12)
    if kind == 0:
        return draw.randbytes(draw.randrange(1, 60)).replace(b"\n", b"\0")
    if kind == 1:
        return b"[" * draw.randrange(1, 3_000) + b"]" * draw.randrange(3_000)
    if kind == 2:
        return (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
            + b'{"a":' * 200
            + b"1"
            + b"}" * 201
        )
    if kind == 3:
        return json.dumps(
            {**SOUND, "id": draw.choice([10**400, -1.5, True, [1], {}, "x" * 5_000, None])}
        ).encode()
    if kind == 4:
        text = bytearray(json.dumps(SOUND).encode())
        for _ in range(draw.randrange(1, 6)):
            text[draw.randrange(len(text))] = draw.choice(b'\0\x80\xff"{}[],:\\0a')
        return bytes(text)
    if kind == 5:
        return json.dumps(
            {**SOUND, "method": draw.choice(["", "x" * 900, "tools/../call", "initialize\0", 5])}
        ).encode()
    if kind == 6:
        params: Any = draw.choice(
            [[], "x", 5, {"name": 5}, {"name": "read_file", "arguments": [1]}, {"name": "\ud800"}]
        )
        return json.dumps({**SOUND, "params": params}).encode()
    if kind == 7:
        return json.dumps([SOUND] * draw.randrange(4)).encode()
    if kind == 8:
        given = draw.choice(
            [
                {"path": "a.py", "expected_hsh": "1"},
                {"path": 5},
                {"path": "\0"},
                {"path": "../" * 500},
            ]
        )
        return json.dumps(body("tools/call", 3, name="read_file", arguments=given)).encode()
    if kind == 9:
        return json.dumps(
            {"jsonrpc": "2.0", "id": draw.randrange(9), "result": {"action": "accept"}}
        ).encode()
    if kind == 10:
        cancel: Any = {"requestId": draw.choice([1, "k1", None, [], 10**300])}
        return json.dumps(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}
        ).encode()
    meta = {
        **ENVELOPE,
        draw.choice(list(ENVELOPE)): draw.choice([5, None, "2099-01-01", {"elicitation": 5}]),
    }
    state = {"requestState": "0.0", "inputResponses": draw.choice([[], {}, {"approval": 5}])}
    return json.dumps(
        body("tools/call", 4, name="read_file", arguments={}, _meta=meta, **state)
    ).encode()


def _answers(wire: Wire, seconds: float = 1.0) -> None:
    """A sound call is answered, in time. What is still on its way to us is read first."""
    wire.send(json.dumps(body("ping", "fence")).encode())
    while wire.line().get("id") != "fence":
        continue
    start = time.monotonic()
    found = wire.call("read_file", path="a.py")
    assert found["structuredContent"]["text"] == "x = 1\n"
    assert time.monotonic() - start < seconds


def _drain(wire: Wire, lines: list[bytes]) -> None:
    """Send lines with a fence behind them, and read up to the fence: every line of stdout is a
    message.
    """
    for line in lines:
        wire.send(line)
    wire.send(json.dumps(body("ping", "drained")).encode())
    while wire.line().get("id") != "drained":
        continue


def test_hostile_messages_do_not_end_the_server(plant: Plant) -> None:
    """10,000 of them, then a call within a second."""
    draw = random.Random(20_260_728)
    with stdio(plant({"a.py": "x = 1\n"})) as wire:
        _answers(wire, 60)
        for start in range(0, COUNT, 50):
            _drain(wire, [_junk(draw).replace(b"\r", b"") for _ in range(min(50, COUNT - start))])
        _answers(wire)
        assert wire.process.poll() is None
        assert wire.close()[1] == 0


def test_hostile_messages_over_http_do_not_end_the_server(plant: Plant, tmp_path: Path) -> None:
    """A fifth as many, on kept connections and new ones: a status each, and the next call works."""
    draw = random.Random(20_261_118)
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    with http_server(plant({"a.py": "x = 1\n"}), env=env) as site:
        connection = site.connect()
        for _ in range(COUNT // 5):
            fields = _bent(draw, site.token)
            try:
                connection.request("POST", "/mcp", _junk(draw), fields)
                status = connection.getresponse()
                status.read()
                assert status.status in (200, 202, 400, 401, 403, 404, 406, 413, 415), status.status
            except (http.client.HTTPException, ConnectionError):
                connection.close()  # the server ended a connection that it had refused
        connection.close()
        start = time.monotonic()
        read = site.call("read_file", path="a.py")
        assert read["structuredContent"]["text"] == "x = 1\n"
        assert time.monotonic() - start < 5
        assert site.process.poll() is None


def _bent(draw: random.Random, token: str) -> dict[str, str]:
    """The headers of a sound request, now and then with one that is not."""
    fields = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {token}",
    }
    odd = ["", "x" * 900, "\xff", "2026-07-28", "=?base64?!?=", "0.0", f"Bearer {token}x"]
    names = ["Authorization", "Accept", "MCP-Protocol-Version", "Mcp-Session-Id", "Mcp-Method"]
    if draw.random() < 0.2:
        fields[draw.choice(names)] = draw.choice(odd)
    return fields


def test_half_a_line_and_silence(plant: Plant) -> None:
    """A message that is never completed is waited for, and the end of input ends the server."""
    with stdio(plant({"a.py": "x = 1\n"})) as wire:
        _answers(wire, 60)
        wire.process.stdin.write(b'{"jsonrpc":"2.0","id":1,')  # type: ignore[union-attr]  # a pipe
        wire.process.stdin.flush()  # type: ignore[union-attr]
        time.sleep(0.5)
        assert wire.process.poll() is None
        rest, code = wire.close()
        assert code == 0
        assert json.loads(rest)["error"]["code"] == -32700


def test_a_client_that_never_reads_is_waited_for(plant: Plant) -> None:
    """Calls whose answers are not taken: the server stops reading, and holds no more memory."""
    with stdio(plant({"a.py": "x = 1\n", "long.txt": "line\n" * 2_000})) as wire:
        _answers(wire, 60)
        before = _held(wire)
        read = body("tools/call", 1, name="read_file", arguments={"path": "long.txt"})
        line = json.dumps(read).encode() + b"\n"
        pipe = wire.process.stdin.fileno()  # type: ignore[union-attr]  # a pipe
        os.set_blocking(pipe, False)
        sent, until = 0, time.monotonic() + 2
        while time.monotonic() < until:
            try:
                sent += os.write(pipe, line)
            except BlockingIOError:
                time.sleep(0.05)
        os.set_blocking(pipe, True)
        assert sent < 2_000_000
        assert _held(wire) - before < 50_000
        assert wire.process.poll() is None


def _held(wire: Wire) -> int:
    """Kilobytes in memory."""
    status = Path(f"/proc/{wire.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if "VmRSS" in line))


def test_a_line_of_a_hundred_megabytes_is_thrown_away(plant: Plant) -> None:
    """It is never held; the sender is told, once."""
    with stdio(plant({"a.py": "x = 1\n"})) as wire:
        _answers(wire, 60)
        wire.send(
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"y" * (100 << 20) + b'"}}'
        )
        found = wire.line()
        assert (found["id"], found["error"]["code"]) == (1, -32600)
        assert found["error"]["data"]["limit"] == 4 << 20
        _answers(wire)
        peak = Path(f"/proc/{wire.process.pid}/status").read_text()
        held = int(next(line.split()[1] for line in peak.splitlines() if line.startswith("VmHWM")))
        assert held < 400_000  # kilobytes; the tokenizer's tables are most of it


def test_each_call_is_answered_once_even_with_one_id(plant: Plant) -> None:
    """Duplicate ids are two calls with two answers, and a cancellation that comes too late changes
    nothing.
    """
    with stdio(plant({"a.py": "x = 1\n"})) as wire:
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        for message in (SOUND, SOUND, cancel):
            wire.send(json.dumps(message).encode())
        assert [wire.line()["id"], wire.line()["id"]] == [7, 7]
        assert wire.ask("ping")["result"] == {}


def test_a_cancelled_write_is_whole_or_was_never_begun(
    plant: Plant, tmp_path: Path, monkeypatch: Any
) -> None:
    """Cancels sent together with writes: every file holds one of the contents that were sent, in
    full.
    """
    config = tmp_path / "config" / "sutler"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('writable = ["**"]\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    project = plant({"a.py": "x = 1\n"})
    with stdio(project) as wire:
        for number in range(40):
            given = {"path": f"f{number % 4}.txt", "content": f"{number}\n" * 500, "base": "any"}
            write = body("tools/call", number, name="write_file", arguments=given)
            cancel = {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": number},
            }
            _drain(wire, [json.dumps(write).encode(), json.dumps(cancel).encode()])
        _answers(wire)
    for number in range(4):
        words = (project / f"f{number}.txt").read_text().split()
        assert (len(words), len(set(words))) == (500, 1)


def test_the_person_may_not_answer_and_the_call_be_cancelled(plant: Plant) -> None:
    """A question that is open when its call is cancelled: no answer, nothing written, the next one
    works.
    """
    project = plant({"a.py": "x = 1\n"})
    with stdio(project) as wire:
        wire.ask(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={"elicitation": {}},
            clientInfo={},
        )
        given = {"path": "b.py", "content": "y\n", "mode": "create"}
        wire.send(json.dumps(body("tools/call", 5, name="write_file", arguments=given)).encode())
        assert wire.line()["method"] == "elicitation/create"
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
        wire.send(json.dumps(cancel).encode())
        assert wire.ask("ping")["result"] == {}
        _answers(wire)
        assert not (project / "b.py").exists()


def test_nothing_but_protocol_on_stdout(plant: Plant, tmp_path: Path) -> None:
    """Warnings on, and a start-up hook that prints: stdout stays the protocol's."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(
        "import atexit, warnings, os\n"
        "def chatter():\n    print('chatter', flush=True); warnings.warn('late'); os.system('echo child')\n"
        "atexit.register(chatter)\n"
        "import threading\nthreading.Timer(3, chatter).start()\n"
    )
    env = {
        "PYTHONWARNINGS": "always",
        "PYTHONDEVMODE": "1",
        "PYTHONPATH": os.pathsep.join(
            [str(tmp_path / "hook"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        ),
    }
    with (
        (tmp_path / "err").open("wb") as err,
        stdio(plant({"a.py": "x = 1\n"}), env=env, err=err) as wire,
    ):
        _answers(wire, 60)
        wire.call("pack", goal="x")
        until = time.monotonic() + 60
        while b"child" not in (tmp_path / "err").read_bytes() and time.monotonic() < until:
            wire.call("list_files")  # go on speaking while the hook does
        rest, code = wire.close()
        assert (rest, code) == (b"", 0)
    said = (tmp_path / "err").read_bytes()
    assert all(word in said for word in (b"chatter", b"late", b"child"))
