"""Searches, listings and, where no fork is safe, packs run beside other calls in the server itself."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import grow
from tests.limits import until
from tests.mcpkit import Wire, body, stdio

FILES = 6_000
PLAIN = str(Path(__file__).parent.parent / "plain")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that takes a second or more to search."""
    text = "".join(f"def step_{n}(value):\n    return value + {n}\n" for n in range(40))
    tree = {f"src/p{n % 60}/m{n}.py": f"# module {n}\n{text}" for n in range(FILES)}
    return grow(tmp_path_factory.mktemp("many") / "project", tree)


@pytest.fixture
def wire(many: Path, tmp_path: Path) -> Iterator[Wire]:
    with stdio(many, env={"XDG_STATE_HOME": str(tmp_path / "state")}) as server:
        assert not server.call("read_file", path="src/p1/m1.py").get("isError")
        yield server


def send(wire: Wire, id: str, name: str, **arguments: Any) -> None:
    wire.send(json.dumps(body("tools/call", id, name=name, arguments=arguments)).encode())


def cancel(wire: Wire, id: str) -> None:
    params = {"requestId": id, "reason": "no longer needed"}
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    wire.send(json.dumps(message).encode())


def rows(wire: Wire, tool: str) -> list[dict[str, Any]]:
    tail = wire.ask("resources/read", uri="sutler://ledger/tail")["result"]["contents"][0]
    return [row for row in map(json.loads, tail["text"].splitlines()) if row["tool"] == tool]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("search", {"queries": ["nowhere to be found"], "ignore_case": True}), ("list_files", {})],
)
def test_reads_and_pings_are_served_meanwhile(
    wire: Wire, name: str, arguments: dict[str, Any]
) -> None:
    """Every one of them within 250 ms; the answer of the long call follows under its id."""
    send(wire, "long", name, **arguments)
    took, ended = [], False
    for number in range(10):
        for method, params in (
            ("ping", {}),
            ("tools/call", {"name": "read_file", "arguments": {"path": f"src/p{number}/m1.py"}}),
        ):
            begun, id = time.perf_counter(), f"{method}{number}"
            wire.send(json.dumps(body(method, id, **params)).encode())
            answer = wire.line()
            if answer["id"] == "long":
                ended, answer = True, wire.line()
            assert answer["id"] == id
            took.append(time.perf_counter() - begun)
    assert max(took) <= 0.25, took
    if not ended:
        assert wire.line()["id"] == "long"


def test_a_cancelled_search_ends_with_a_row_and_no_answer(wire: Wire) -> None:
    send(wire, "long", "search", queries=["nowhere to be found"], ignore_case=True)
    cancel(wire, "long")
    until(lambda: [row["success"] for row in rows(wire, "search")] == [False], "its row", 5)
    assert wire.close() == (b"", 0)


def test_a_pack_without_fork_is_cancelled_and_holds_nothing(many: Path, tmp_path: Path) -> None:
    """On a platform where a fork is not safe the pack runs in a thread of the server."""
    paths = [PLAIN, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    env = {
        "WITHOUT": "fork",
        "PYTHONPATH": os.pathsep.join(paths),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    with stdio(many, env=env) as server:
        assert not server.call("read_file", path="src/p1/m1.py").get("isError")
        send(server, "pack", "pack", goal="step_7 returns the wrong value")
        begun = time.perf_counter()
        assert server.ask("ping")["result"] == {}
        assert not server.call("read_file", path="src/p2/m2.py").get("isError")
        assert time.perf_counter() - begun < 2
        cancel(server, "pack")
        until(lambda: [row["success"] for row in rows(server, "pack")] == [False], "its row", 10)
        assert server.close() == (b"", 0)
