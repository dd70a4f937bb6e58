"""Consent for a session and a folder: given in a form or a terminal, listed, revoked, and no wider."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import Plant, Sutler
from tests.mcpkit import ENVELOPE, META, Wire, body, stdio

TREE = {"src/a.py": "a = 1\n", "docs/b.md": "b\n", "src/conftest.py": "c = 1\n", "top.txt": "t\n"}


def greeted(wire: Wire) -> None:
    wire.ask(
        "initialize", protocolVersion="2025-11-25", capabilities={"elicitation": {}}, clientInfo={}
    )


def write(wire: Wire, path: str, answer: dict[str, Any] | None, id: str) -> dict[str, Any]:
    """Write a file; `answer` is the person's, None if no question may come."""
    given = {"path": path, "content": f"{id}\n", "base": "any"}
    wire.send(json.dumps(body("tools/call", id, name="write_file", arguments=given)).encode())
    message = wire.line()
    if answer is not None:
        assert message["method"] == "elicitation/create", message
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer}
        wire.send(json.dumps(reply).encode())
        message = {**wire.line(), "asked": message["params"]}
    assert message["id"] == id, message
    return message


ONCE = {"action": "accept", "content": {"approve": True}}
SESSION = {"action": "accept", "content": {"approve": True, "session": True}}
NO = {"action": "decline"}


def ok(message: dict[str, Any]) -> bool:
    return not message["result"].get("isError")


def test_a_grant_holds_for_its_folder_and_session_only(plant: Plant, sutler: Sutler) -> None:
    """Below the folder nothing asks any more, but control files do; another folder and another
    session ask. A revoked grant asks again.
    """
    project = plant(TREE)
    with stdio(project) as wire:
        greeted(wire)
        first = write(wire, "src/a.py", SESSION, "1")
        assert ok(first)
        assert "src/**" in json.dumps(first["asked"]["requestedSchema"])
        assert ok(write(wire, "src/deep/new.py", None, "2"))
        assert not ok(write(wire, "src/conftest.py", NO, "3"))
        assert not ok(write(wire, "docs/b.md", NO, "4"))
        assert not ok(write(wire, "srcs.txt", NO, "5"))
        with stdio(project) as other:
            greeted(other)
            assert not ok(write(other, "src/a.py", NO, "6"))
        listed = json.loads(sutler("approve", "--list", "--json", cwd=project).out)
        assert [grant["folder"] for grant in listed["grants"]] == ["src/**"]
        assert sutler("approve", "--revoke", "2", cwd=project).code == 2
        assert sutler("approve", "--revoke", "1", cwd=project).code == 0
        assert not ok(write(wire, "src/a.py", NO, "7"))
    assert json.loads(sutler("approve", "--list", "--json", cwd=project).out)["grants"] == []
    rows = json.loads(sutler("log", "--json", "-n", "100", cwd=project).out)["rows"]
    assert [row["tool"] for row in rows if row["tool"].startswith("grant")] == [
        "grant",
        "grant_revoked",
    ]
    assert "grant: src/** in this session" in {row["rule"] for row in rows}
    assert sutler("verify", cwd=project).code == 0


def test_consent_to_one_call_is_no_grant(plant: Plant) -> None:
    with stdio(plant(TREE)) as wire:
        greeted(wire)
        assert ok(write(wire, "src/a.py", ONCE, "1"))
        assert not ok(write(wire, "src/a.py", NO, "2"))


def test_a_control_file_offers_no_grant(plant: Plant) -> None:
    with stdio(plant(TREE)) as wire:
        greeted(wire)
        asked = write(wire, "src/conftest.py", SESSION, "1")
        assert ok(asked)
        assert list(asked["asked"]["requestedSchema"]["properties"]) == ["approve"]
        assert not ok(write(wire, "src/a.py", NO, "2"))


def test_the_model_reads_that_the_person_declined(plant: Plant) -> None:
    """Both eras: what happened and what not to retry."""
    with stdio(plant(TREE)) as wire:
        greeted(wire)
        old = write(wire, "src/a.py", NO, "1")["result"]["content"][0]["text"]
        able = {**ENVELOPE, f"{META}clientCapabilities": {"elicitation": {}}}
        given = {
            "name": "write_file",
            "arguments": {"path": "docs/b.md", "content": "n\n", "base": "any"},
        }
        asked = wire.ask("tools/call", _meta=able, **given)["result"]
        answer = {"inputResponses": {"approval": NO}, "requestState": asked["requestState"]}
        new = wire.ask("tools/call", _meta=able, **given, **answer)["result"]["content"][0]["text"]
    for text in (old, new):
        assert "the person was asked and declined" in text
        assert "do not repeat this call" in text


def test_the_newer_era_grants_too(plant: Plant, sutler: Sutler) -> None:
    """An answer that is sent again, for this call or another, gives nothing."""
    with stdio(project := plant(TREE)) as wire:
        able = {**ENVELOPE, f"{META}clientCapabilities": {"elicitation": {}}}

        def given(path: str) -> dict[str, Any]:
            arguments = {"path": path, "content": "n\n", "base": "any"}
            return {"name": "write_file", "arguments": arguments}

        asked = wire.ask("tools/call", _meta=able, **given("src/a.py"))["result"]
        answer = {"inputResponses": {"approval": SESSION}, "requestState": asked["requestState"]}
        done = wire.ask("tools/call", _meta=able, **given("src/a.py"), **answer)["result"]
        assert done["structuredContent"]["success"]
        again = wire.ask("tools/call", _meta=able, **given("src/c.py"))["result"]
        assert again["structuredContent"]["success"]
        replayed = wire.ask("tools/call", _meta=able, **given("docs/b.md"), **answer)["result"]
        assert replayed["isError"]
        assert sutler("approve", "--revoke", "all", cwd=project).code == 0
        wire.ask("tools/call", _meta=able, **given("src/a.py"), **answer)
        assert "requestState" in wire.ask("tools/call", _meta=able, **given("src/c.py"))["result"]


def test_the_preview_shows_counts_and_the_diff_in_place(plant: Plant) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 11))
    with stdio(plant({"a.txt": text})) as wire:
        greeted(wire)
        given = {"path": "a.txt", "old": "line 5\n", "new": "line five\n"}
        wire.send(json.dumps(body("tools/call", 1, name="edit", arguments=given)).encode())
        shown = wire.line()["params"]["message"].splitlines()
    assert "change a.txt: 71 -> 74 bytes" in shown
    assert "2 changed lines (+1 -1)" in shown
    at = shown.index("-line 5")
    assert shown[at - 3 : at + 3] == [
        " line 2",
        " line 3",
        " line 4",
        "-line 5",
        "+line five",
        " line 6",
    ]


def test_writable_in_one_step(plant: Plant, sutler: Sutler) -> None:
    """The client's file starts a server that writes there without asking; one line says what."""
    project = plant(TREE)
    done = sutler("mcp", "install", "--client", "claude-code", "--writable", "src/**", cwd=project)
    assert "may write src/** without asking" in done.err
    entry = json.loads((project / ".mcp.json").read_text())["mcpServers"]["sutler"]
    assert entry["args"][-2:] == ["--writable", "src/**"]
    with stdio(project, "--writable", "src/**") as wire:
        assert ok(write(wire, "src/a.py", None, "1"))
        assert not ok(write(wire, "docs/b.md", None, "2"))
        assert not ok(write(wire, "src/conftest.py", None, "3"))
    assert (Path(project) / "src/a.py").read_text() == "1\n"
