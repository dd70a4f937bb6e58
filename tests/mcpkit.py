"""Real servers in real processes, spoken to in plain bytes: what any client could send."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

from tests.limits import Lines

NEW = "2026-07-28"
META = "io.modelcontextprotocol/"
ENVELOPE = {f"{META}protocolVersion": NEW, f"{META}clientCapabilities": {}}


def body(method: str, id: object = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


class Wire:
    """A stdio server and its two ends."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        self._in: IO[bytes] = process.stdin
        self._out = Lines(process.stdout)
        self._number = 0

    def send(self, line: bytes) -> None:
        self._in.write(line + b"\n")
        self._in.flush()

    def line(self) -> dict[str, Any]:
        """The next line of stdout, which must be one message."""
        found = json.loads(self._out.line())
        assert found["jsonrpc"] == "2.0"
        return dict(found)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """A request and its answer; what comes before it must be notifications."""
        self._number += 1
        id = f"k{self._number}"
        self.send(json.dumps(body(method, id, **params)).encode())
        while (found := self.line()).get("id") != id:
            assert "id" not in found
        return found

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        answer = self.ask("tools/call", name=name, arguments=arguments)
        return dict(answer["result"])

    def close(self) -> tuple[bytes, int]:
        """Close our end: what else came, and the exit code."""
        self._in.close()
        rest = self._out.rest()
        return rest, self.process.wait(30)


@contextmanager
def stdio(
    project: Path, *words: str, env: dict[str, str] | None = None, err: Any = None
) -> Iterator[Wire]:
    process = subprocess.Popen(
        [sys.executable, "-m", "sutler", "mcp", "--root", str(project), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=err,
        env={**os.environ, **(env or {})},
        cwd="/",
    )
    try:
        yield Wire(process)
    finally:
        process.kill()
        process.wait(30)
        for end in (process.stdin, process.stdout):
            if end:
                try:
                    end.close()
                except BrokenPipeError:
                    continue


class Site:
    """An HTTP server: where it listens, and the token it wants."""

    def __init__(self, port: int, token: str, process: subprocess.Popen[str]) -> None:
        self.port, self.token, self.process = port, token, process

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def post(
        self,
        data: bytes,
        headers: dict[str, str] | None = None,
        *,
        path: str = "/mcp",
        method: str = "POST",
    ) -> tuple[int, bytes, dict[str, str]]:
        """One request on a connection of its own; a header given as empty is left out."""
        fields = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {self.token}",
            **(headers or {}),
        }
        connection = self.connect()
        try:
            connection.request(
                method, path, data, {name: value for name, value in fields.items() if value}
            )
            answer = connection.getresponse()
            return (
                answer.status,
                answer.read(),
                {name.lower(): value for name, value in answer.getheaders()},
            )
        finally:
            connection.close()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        _, data, _ = self.post(json.dumps(body(method, 1, **params)).encode())
        return dict(json.loads(data))

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return dict(self.ask("tools/call", name=name, arguments=arguments)["result"])


def http_server(
    project: Path, *words: str, env: dict[str, str] | None = None
) -> AbstractContextManager[Site]:
    return served("mcp", "--http", "--root", str(project), *words, env=env)


@contextmanager
def served(*words: str, env: dict[str, str] | None = None) -> Iterator[Site]:
    """A server by any command, on a free port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sutler", *words, "--port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
        cwd="/",
    )
    assert process.stderr is not None
    try:
        lines, said = Lines(process.stderr), [""]
        while "serving" not in said[-1]:
            said.append(lines.line().decode())
            assert said[-1], "".join(said)
        port = re.search(r":(\d+)/mcp", said[-1])
        assert port
        token = next(
            (said[n + 1].strip() for n, line in enumerate(said) if "shown this once" in line), ""
        )
        yield Site(int(port[1]), token, process)
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()
