"""Small reads over HTTP from a server of many people on PostgreSQL: many clients beside one.

    python -m bench.fleet.http_load [--clients 100] [--seconds 10] [--files 50]

Every client has a member and a token of its own, keeps one connection, and sends the next request
when it has the answer. The clients are one process without threads, which sends prepared bytes, so
that little of the two cores goes to them. The run ends with the ledger: every answered call must
have its row, once, and the chain must verify.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import socket
import sys
import tempfile
import time
from pathlib import Path

from tests.mcpkit import body, served
from tests.stores import joined, serving

from sutler.store import tokens
from sutler.store.postgres import member_database
from sutler.store.team import Member, add_member
from sutler.tools import open_ledger

MUST_RATIO, MUST_P99 = 6.0, 500.0


class Client:
    """One connection with one request under way."""

    def __init__(self, port: int, token: str, files: int, number: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests = [_request(port, token, n) for n in range(files)]
        self._next = number
        self._answer = b""
        self.times: list[float] = []
        self._began = 0.0

    def send(self) -> None:
        self._next += 1
        self._began = time.perf_counter()
        self.socket.sendall(self._requests[self._next % len(self._requests)])

    def receive(self) -> bool:
        """Return whether the answer is complete."""
        data = self.socket.recv(1 << 16)
        if not data:
            raise SystemExit("the server closed a connection")
        self._answer += data
        head, found, text = self._answer.partition(b"\r\n\r\n")
        if not found or len(text) < int(head.lower().partition(b"content-length:")[2].split()[0]):
            return False
        assert head.startswith(b"HTTP/1.1 200"), self._answer[:300]
        assert b'"isError":true' not in text, text[:300]
        self.times.append(time.perf_counter() - self._began)
        self._answer = b""
        return True


def _request(port: int, token: str, number: int) -> bytes:
    call = body("tools/call", 1, name="read_file", arguments={"path": f"f{number}.py"})
    data = json.dumps(call).encode()
    return (
        f"POST /mcp/web HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nAccept: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    ).encode() + data


def cpu_of(process: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drive(port: int, owners: list[str], files: int, seconds: float) -> tuple[float, list[float]]:
    """Return calls per second, and the time of each call in seconds."""
    poll = selectors.DefaultSelector()
    clients = [Client(port, token, files, n) for n, token in enumerate(owners)]
    for client in clients:
        poll.register(client.socket, selectors.EVENT_READ, client)
        client.send()
    began, busy = time.perf_counter(), len(clients)
    while busy:
        for key, _ in poll.select():
            if key.data.receive():
                if time.perf_counter() - began < seconds:
                    key.data.send()
                else:
                    busy -= 1
    whole = time.perf_counter() - began
    times = sorted(t for client in clients for t in client.times)
    for client in clients:
        client.socket.close()
    return len(times) / whole, times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--files", type=int, default=50)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, serving() as admin:
        os.environ |= {"XDG_STATE_HOME": f"{name}/state", "XDG_CONFIG_HOME": f"{name}/config"}
        folder = Path(name) / "web"
        folder.mkdir()
        for n in range(args.files):
            text = "".join(f"def f{n}_{m}(x):\n    return x + {m}\n" for m in range(20))
            (folder / f"f{n}.py").write_text(text)
        boss, server = joined(admin, "t", "boss", "admin"), joined(admin, "t", "srv", "server")
        database, tenant = member_database(boss, "t")
        owners = []
        for n in range(args.clients):
            add_member(admin, "t", Member(f"p{n}", "reader", "*", ""), login=False)
            owners.append(tokens.issue(database, tenant, f"p{n}", "read", "*", 1, time.time()))
        with served("serve", "--store", server, f"web={folder}") as site:
            _, warm = drive(site.port, owners, args.files, 1.0)  # doors, files, caches
            one, alone = drive(site.port, owners[:1], args.files, args.seconds)
            before = cpu_of(site.process.pid)
            many, times = drive(site.port, owners, args.files, args.seconds)
            each = (cpu_of(site.process.pid) - before) / len(times) * 1e3
            again, last = drive(site.port, owners[:1], args.files, args.seconds / 2)
        environ = {**os.environ, "SUTLER_STORE": boss, "SUTLER_PROJECT": "t/web"}
        with open_ledger(str(folder), environ) as ledger:
            checked = ledger.verify()
        database.close()
    p99 = times[int(len(times) * 0.99)] * 1e3
    first = alone[int(len(alone) * 0.99)] * 1e3
    ratio = many / ((one + again) / 2)
    print(f"one client:   {one:7.0f} and {again:.0f} calls/s, p99 {first:.1f} ms")
    print(
        f"{args.clients} clients: {many:7.0f} calls/s, p99 {p99:.1f} ms, {ratio:.1f} x one client"
    )
    print(f"the server's CPU: {each:.2f} ms for a call")
    answered = sum(map(len, (warm, alone, times, last)))
    print(
        f"ledger: {checked.rows} rows of {answered} answers, verified: {checked.ok} {checked.detail}"
    )
    complete = checked.ok and checked.rows >= answered
    good = ratio >= MUST_RATIO and p99 <= MUST_P99 and complete
    print(
        "holds"
        if good
        else f"does not hold: {MUST_RATIO} x, p99 {MUST_P99} ms, verified and complete"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
