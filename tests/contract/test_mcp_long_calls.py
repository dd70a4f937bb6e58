"""A pack runs beside other calls: reads, pings and cancellations are served meanwhile."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sutler.system import offered
from tests.conftest import grow
from tests.limits import until
from tests.mcpkit import ENVELOPE, META, NEW, Wire, body, http_server, stdio

pytestmark = pytest.mark.skipif(
    "fork" not in offered, reason="a long call runs in a thread there: test_mcp_beside.py"
)

FILES = 1_500
GOAL = {"goal": "parse_missing_year returns the wrong year", "max_tokens": 20_000}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that takes seconds to index."""
    draw = random.Random(26)
    words = [f"{a}_{b}" for a in ("parse", "load", "year", "date", "node") for b in range(60)]

    def module(number: int) -> str:
        lines = [f'"""Module {number}."""\n\nimport os\n']
        for at in range(12):
            picked = draw.sample(words, 6)
            lines.append(f"\ndef {picked[0]}_{number}_{at}({picked[1]}, {picked[2]}):\n")
            lines += [f"    {word} = {picked[1]} + {draw.randrange(99)}\n" for word in picked[2:]]
            lines.append(f"    return {picked[3]}\n")
        return "".join(lines)

    tree = {f"src/p{n % 30}/m{n}.py": module(n) for n in range(FILES)}
    tree["src/clock.py"] = "def parse_missing_year(text):\n    return 1970\n"
    return grow(tmp_path_factory.mktemp("large") / "project", tree)


@pytest.fixture
def cold(tmp_path: Path) -> dict[str, str]:
    """An environment without a cache."""
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}


def children(pid: int) -> set[int]:
    """Processes whose parent is `pid`."""
    pids: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread or process that has just ended
            pids.update(map(int, path.read_text().split()))
    return pids


def grandchildren(pid: int) -> set[int]:
    return {worker for child in children(pid) for worker in children(child)}


def call(id: object, name: str, **arguments: Any) -> bytes:
    return json.dumps(body("tools/call", id, name=name, arguments=arguments)).encode()


def cancel(id: object) -> bytes:
    params = {"requestId": id, "reason": "no longer needed"}
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    return json.dumps(message).encode()


def started(wire: Wire, id: object = "pack") -> None:
    """Send a cold pack and wait until its process works."""
    wire.send(call(id, "pack", **GOAL))
    until(lambda: bool(children(wire.process.pid)), "a child process")


def timed(wire: Wire, id: str, line: bytes) -> tuple[float, dict[str, Any]]:
    begun = time.perf_counter()
    wire.send(line)
    answer = wire.line()
    assert answer["id"] == id
    return time.perf_counter() - begun, answer


def test_reads_and_pings_are_served_while_a_cold_pack_runs(
    large: Path, cold: dict[str, str]
) -> None:
    """p99 of `ping` and of `read_file` is at most 250 ms; the pack is answered under its own id."""
    with stdio(large, env=cold) as wire:
        assert not wire.call("read_file", path="src/p1/m1.py").get("isError")
        started(wire)
        pings, reads = [], []
        for number in range(40):
            line = json.dumps(body("ping", f"ping{number}")).encode()
            pings.append(timed(wire, f"ping{number}", line)[0])
            path = f"src/p{number % 30}/m{number}.py"
            seconds, answer = timed(
                wire, f"read{number}", call(f"read{number}", "read_file", path=path)
            )
            assert answer["result"]["structuredContent"]["path"] == path
            reads.append(seconds)
        assert children(wire.process.pid), "the pack was over before the calls were"
        assert sorted(pings)[-1] <= 0.25, pings
        assert sorted(reads)[-1] <= 0.25, reads
        packed = wire.line()
        assert packed["id"] == "pack"
        assert packed["result"]["structuredContent"]["files"] > 0
        until(lambda: not children(wire.process.pid), "the end of the child")


def test_a_cancelled_pack_stops_within_half_a_second(large: Path, cold: dict[str, str]) -> None:
    """No answer, no process, one failed row in the ledger; the next call works."""
    with stdio(large, env=cold) as wire:
        assert not wire.call("list_files", globs=["src/p1/*"]).get("isError")
        started(wire)
        # In the middle of the index, which has processes of its own.
        until(lambda: bool(grandchildren(wire.process.pid)), "the processes of the index")
        workers = grandchildren(wire.process.pid)
        begun = time.perf_counter()
        wire.send(cancel("pack"))
        until(lambda: not children(wire.process.pid), "the end of the child")
        assert time.perf_counter() - begun <= 0.5
        until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers))
        assert wire.ask("ping")["result"] == {}
        tail = wire.ask("resources/read", uri="sutler://ledger/tail")["result"]["contents"][0]
        rows = [json.loads(line) for line in tail["text"].splitlines()]
        assert [row["success"] for row in rows if row["tool"] == "pack"] == [False]
        rest, code = wire.close()
        assert (rest, code) == (b"", 0)


def test_a_pack_that_has_not_begun_can_be_cancelled(large: Path, cold: dict[str, str]) -> None:
    """More packs than run at once: the last waits, is cancelled and leaves no row."""
    with stdio(large, env=cold) as wire:
        for number in range(6):
            wire.send(call(number, "pack", **GOAL))
        until(lambda: len(children(wire.process.pid)) == 4, "four processes")
        for number in reversed(range(6)):
            wire.send(cancel(number))
        until(lambda: not children(wire.process.pid), "the end of all")
        assert wire.ask("ping")["result"] == {}


def test_what_was_asked_before_the_end_of_input_is_answered(
    large: Path, cold: dict[str, str]
) -> None:
    with stdio(large, env=cold) as wire:
        wire.send(call("rank", "rank", goal=GOAL["goal"], limit=3))
        rest, code = wire.close()
        assert (json.loads(rest)["id"], code) == ("rank", 0)


def test_a_terminated_server_leaves_no_process(large: Path, cold: dict[str, str]) -> None:
    with stdio(large, env=cold) as wire:
        wire.ask("ping")
        started(wire)
        (engine,) = children(wire.process.pid)
        wire.process.terminate()
        assert wire.process.wait(30) == 0
        until(lambda: not Path(f"/proc/{engine}/cmdline").exists(), "the end of the child")


@pytest.fixture
def site(large: Path, cold: dict[str, str]) -> Iterator[Any]:
    with http_server(large, env={**cold, "HOME": cold["XDG_STATE_HOME"]}) as found:
        yield found


def test_over_http_a_closed_connection_cancels(site: Any) -> None:
    """The newer era has no other way; reads are served meanwhile."""
    message = body("tools/call", 1, _meta=ENVELOPE, name="pack", arguments=GOAL)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {site.token}",
        "MCP-Protocol-Version": NEW,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "pack",
    }
    connection = site.connect()
    connection.request("POST", "/mcp", json.dumps(message).encode(), headers)
    until(lambda: bool(children(site.process.pid)), "a child process")
    begun = time.perf_counter()
    assert not site.call("read_file", path="src/p1/m1.py").get("isError")
    assert time.perf_counter() - begun < 2
    begun = time.perf_counter()
    connection.close()
    until(lambda: not children(site.process.pid), "the end of the child")
    assert time.perf_counter() - begun <= 0.5


def test_over_http_the_older_era_cancels_by_notification(site: Any) -> None:
    hello = body("initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo={})
    label = {"Mcp-Session-Id": site.post(json.dumps(hello).encode())[2]["mcp-session-id"]}
    connection = site.connect()
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {site.token}",
        **label,
    }
    connection.request("POST", "/mcp", call(7, "pack", **GOAL), headers)
    until(lambda: bool(children(site.process.pid)), "a child process")
    assert site.post(cancel(7))[0] == 202  # another session: not its call
    time.sleep(0.2)
    assert children(site.process.pid)
    begun = time.perf_counter()
    assert site.post(cancel(7), label)[0] == 202
    until(lambda: not children(site.process.pid), "the end of the child")
    assert time.perf_counter() - begun <= 0.5
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (202, b"")  # no answer to what was cancelled
    connection.close()


TASKS = {**ENVELOPE, f"{META}clientCapabilities": {"extensions": {f"{META}tasks": {}}}}


@pytest.fixture
def impatient(large: Path, cold: dict[str, str], tmp_path: Path) -> Iterator[Wire]:
    """A server that makes a task of a call after a tenth of a second."""
    (tmp_path / "hook").mkdir()
    hook = "import sutler.fronts.mcp.background as background\nbackground.AFTER = 0.1\n"
    (tmp_path / "hook" / "sitecustomize.py").write_text(hook)
    paths = [str(tmp_path / "hook"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    with stdio(large, env={**cold, "PYTHONPATH": os.pathsep.join(paths)}) as wire:
        yield wire


def asked(wire: Wire, method: str, meta: dict[str, Any], **params: Any) -> dict[str, Any]:
    return dict(wire.ask(method, _meta=meta, **params)["result"])


def test_a_long_call_becomes_a_task(impatient: Wire) -> None:
    """With the extension: a handle at once, the call's own result later."""
    told = asked(impatient, "server/discover", TASKS)
    assert f"{META}tasks" in told["capabilities"]["extensions"]
    task = asked(impatient, "tools/call", TASKS, name="pack", arguments=GOAL)
    assert (task["resultType"], task["status"]) == ("task", "working")
    deadline = time.monotonic() + 120
    while (state := asked(impatient, "tasks/get", TASKS, taskId=task["taskId"]))[
        "status"
    ] == "working":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert (state["status"], state["resultType"]) == ("completed", "complete")
    assert state["result"]["structuredContent"]["files"] > 0
    assert asked(impatient, "tasks/update", TASKS, taskId=task["taskId"], inputResponses={})
    unknown = impatient.ask("tasks/get", _meta=TASKS, taskId="0" * 32)
    assert unknown["error"]["code"] == -32602


def test_a_cancelled_task_ends_its_process(impatient: Wire) -> None:
    task = asked(impatient, "tools/call", TASKS, name="pack", arguments=GOAL)
    until(lambda: bool(children(impatient.process.pid)), "a child process")
    begun = time.perf_counter()
    asked(impatient, "tasks/cancel", TASKS, taskId=task["taskId"])
    until(lambda: not children(impatient.process.pid), "the end of the child")
    assert time.perf_counter() - begun <= 0.5
    until(
        lambda: asked(impatient, "tasks/get", TASKS, taskId=task["taskId"])["status"] == "cancelled"
    )


def test_without_the_extension_a_long_call_stays_a_call(impatient: Wire) -> None:
    found = asked(impatient, "tools/call", ENVELOPE, name="rank", arguments={"goal": "date"})
    assert (found["resultType"], bool(found.get("isError"))) == ("complete", False)
