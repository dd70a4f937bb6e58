"""What a person who runs a server can see: health, metrics, logs, and who called in the ledger."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.conftest import Plant, Sutler
from tests.mcpkit import ENVELOPE, META, body, http_server, stdio

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}}


def test_health_needs_no_token_and_metrics_do(plant: Plant) -> None:
    """Host and Origin are compared for both."""
    with http_server(plant({"a.py": "x = 1\n"})) as site:
        bare = {"Authorization": ""}
        status, data, _ = site.post(b"", bare, path="/healthz", method="GET")
        assert (status, data) == (200, b"ok\n")
        assert site.post(b"", {"Host": "evil.example"}, path="/healthz", method="GET")[0] == 403
        assert site.post(b"", bare, path="/metrics", method="GET")[0] == 401
        assert site.post(b"", path="/metrics")[0] == 404
        assert not site.call("read_file", path="a.py").get("isError")
        assert site.call("read_file", path="absent").get("isError")
        site.ask("no/such", x=1)
        status, data, _ = site.post(b"", path="/metrics", method="GET")
        text = data.decode()
    assert status == 200
    for line in text.splitlines():
        assert re.fullmatch(
            r"# TYPE [a-z_]+ (counter|gauge|histogram)|[a-z_]+(\{[^}]*\})? [0-9.]+", line
        )
    called = 'sutler_requests_total{method="tools/call",tool="read_file",outcome='
    assert f'{called}"ok"}} 1' in text
    assert f'{called}"failed"}} 1' in text
    assert 'sutler_requests_total{method="other",tool="",outcome="error"} 1' in text
    assert "sutler_request_seconds_count 3" in text


def rows_of(sutler: Sutler, project: Path) -> list[dict[str, Any]]:
    found = json.loads(sutler("log", "--json", "-n", "50", cwd=project).out)["rows"]
    return [dict(row) for row in found]


def test_the_ledger_names_client_and_trace(plant: Plant, sutler: Sutler) -> None:
    """Both eras; what is no trace context is left out, and the chain holds with and without."""
    project = plant({"a.py": "x = 1\n"})
    sutler("read", "a.py", cwd=project)
    with stdio(project) as wire:
        wire.ask("initialize", **HELLO, clientInfo={"name": "editor", "version": "1.2"})
        given = {"name": "read_file", "arguments": {"path": "a.py"}}
        wire.ask("tools/call", **given, _meta={"traceparent": TRACE})
        wire.ask("tools/call", **given, _meta={"traceparent": "x\n"})
        newer = {**ENVELOPE, f"{META}clientInfo": {"name": "agent\x1b[31m", "version": "2"}}
        wire.ask("tools/call", **given, _meta={**newer, "traceparent": TRACE})
    seen = [(row.get("client", ""), row.get("trace", "")) for row in rows_of(sutler, project)]
    assert ("", "") in seen
    assert ("editor/1.2", TRACE) in seen
    assert ("editor/1.2", "") in seen
    assert ("agent[31m/2", TRACE) in seen
    assert sutler("verify", cwd=project).code == 0


def test_each_request_is_one_line_of_json(plant: Plant, tmp_path: Path) -> None:
    """On stderr, with tool, outcome, time, client and trace, and no argument."""
    with (
        (tmp_path / "err").open("wb") as err,
        stdio(plant({"a.py": "x = 1\n"}), "--log-json", err=err) as wire,
    ):
        wire.ask("initialize", **HELLO, clientInfo={"name": "editor", "version": "1.2"})
        meta = {"traceparent": TRACE}
        wire.ask("tools/call", name="read_file", arguments={"path": "a.py"}, _meta=meta)
        wire.call("read_file", path="absent-name.py")
        wire.send(json.dumps(body("nonsense")).encode())
        wire.line()
        wire.close()
    lines = [json.loads(line) for line in (tmp_path / "err").read_text().splitlines()]
    assert [(line["method"], line.get("tool", ""), line["outcome"]) for line in lines] == [
        ("initialize", "", "ok"),
        ("tools/call", "read_file", "ok"),
        ("tools/call", "read_file", "failed"),
        ("other", "", "error"),
    ]
    assert (lines[1]["client"], lines[1]["trace"]) == ("editor/1.2", TRACE)
    assert all(line["milliseconds"] >= 0 and line["at"].endswith("Z") for line in lines)
    assert "absent-name" not in (tmp_path / "err").read_text()
