"""Real clients of both eras: the Python SDK's and the reference TypeScript ones list, read, patch,
hit a conflict, get an approval, are refused one, and roll back.
"""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sutler.tools import DEFAULT
from tests.conftest import Plant, Sutler
from tests.limits import LIMIT
from tests.mcpkit import http_server, stdio

TREE = {"README.md": "# Hello\n", "src/app.py": "def main():\n    return 1\n", ".env": "KEY=1\n"}
APP = {"path": "src/app.py"}
CALLS: dict[str, dict[str, object]] = {
    **{name: {**APP} for name in ("read_file", "outline", "get_diff", "why", "get_file_history")},
    "list_files": {},
    "read_lines": {**APP, "start": 1, "end": 2},
    "get_excerpt": {**APP, "max_lines": 5},
    "search": {"queries": ["main"]},
    "summarize_file": {**APP, "max_tokens": 100},
    "get_session": {},
    "write_file": {"path": "yes.txt", "content": "yes\n", "mode": "create", "dry_run": True},
    "apply_patch": {
        "patch": "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Hello\n+# Bye\n",
        "dry_run": True,
    },
    "edit": {"path": "README.md", "old": "Hello", "new": "Bye", "dry_run": True},
    "pack": {"goal": "main"},
    "rank": {"goal": "main"},
}
"""A call of each tool but `rollback`, which the journey makes with a version that it has read."""
HERE = Path(__file__).parent.parent / "clients"
PYTHON = [sys.executable, "-W", "ignore", str(HERE / "journey.py")]
MODULES = os.environ.get("SUTLER_NODE_MODULES", "")

needs_npm = pytest.mark.skipif(
    not (MODULES and shutil.which("node")),
    reason="SUTLER_NODE_MODULES names no folder with the TypeScript clients from npm; .ci/run installs them",
)


def _travel(
    words: Sequence[str], project: Path, env: dict[str, str] | None = None
) -> dict[str, Any]:
    given = {
        **os.environ,
        "JOURNEY_PROJECT": str(project),
        "JOURNEY_PYTHON": sys.executable,
        "JOURNEY_CALLS": json.dumps(CALLS),
        **(env or {}),
    }
    given["SUTLER_NODE_MODULES"] = MODULES
    done = subprocess.run(words, env=given, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


def _hold(seen: dict[str, Any]) -> None:
    """What every client must have seen: lists, reads, approvals in a form, each tool with its
    structured content, progress, and a server that goes on after a cancellation.
    """
    assert seen["tools"] == list(DEFAULT)
    assert seen["files"] == ["README.md", "src/app.py"]
    assert seen["text"] == "def main():\n    return 1\n"
    assert seen["readme"] == "# Hello\n"
    assert seen["resources"] == ["sutler://project/README.md", "sutler://ledger/tail"]
    assert seen["prompts"] == ["explain", "review", "tests"]
    failed, denied = seen["denied"]
    assert (failed, denied["error"]["kind"], denied["error"]["rule"]) == (
        True,
        "denied",
        "credentials: .env*",
    )
    failed, conflict = seen["conflict"]
    assert (failed, conflict["error"]["kind"]) == (True, "conflict")
    assert seen["patched"]["success"] is True
    assert seen["rolled_back"]["success"] is True
    assert seen["declined"][1]["error"]["kind"] == "denied"
    assert "+    return 2" in seen["asked"][0]
    assert seen["each"] == {name: [False, "object", "text"] for name in CALLS}
    assert seen["progress"]
    assert seen["cancelled"] in ("cancelled", "answered")
    assert seen["after"] == ["README.md", "src/app.py"]


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_sdk_client_travels_over_stdio(mode: str, version: str, plant: Plant) -> None:
    """Both eras, from one server."""
    seen = _travel([*PYTHON, mode], project := plant(TREE))
    _hold(seen)
    assert seen["version"] == version
    assert (project / "src/app.py").read_text() == "def main():\n    return 1\n"
    assert not (project / "no.txt").exists()


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_sdk_client_travels_over_http(mode: str, version: str, plant: Plant) -> None:
    """The older era is asked on the stream of the call, the newer one by a result."""
    with http_server(project := plant(TREE)) as site:
        env = {"JOURNEY_URL": f"http://127.0.0.1:{site.port}/mcp", "JOURNEY_TOKEN": site.token}
        seen = _travel([*PYTHON, mode], project, env)
    _hold(seen)
    assert seen["version"] == version


@needs_npm
@pytest.mark.parametrize(("line", "mode"), [("v1", "legacy"), ("v2", "legacy"), ("v2", "auto")])
def test_the_typescript_clients_travel_over_stdio(line: str, mode: str, plant: Plant) -> None:
    """The reference clients from npm, the old line and the new one."""
    seen = _travel(["node", str(HERE / "journey.mjs"), line, mode], plant(TREE))
    _hold(seen)
    assert seen["version"] in ("", "2026-07-28" if mode == "auto" else "2025-11-25")


@needs_npm
@pytest.mark.parametrize(("line", "mode"), [("v1", "legacy"), ("v2", "legacy"), ("v2", "auto")])
def test_the_typescript_clients_travel_over_http(line: str, mode: str, plant: Plant) -> None:
    """The same over Streamable HTTP."""
    with http_server(project := plant(TREE)) as site:
        env = {"JOURNEY_URL": f"http://127.0.0.1:{site.port}/mcp", "JOURNEY_TOKEN": site.token}
        seen = _travel(["node", str(HERE / "journey.mjs"), line, mode], project, env)
    _hold(seen)


@needs_npm
def test_the_command_line_of_the_inspector_works(plant: Plant) -> None:
    """It lists the tools and calls one; its own reading of both is the judge."""
    server = [sys.executable, "-m", "sutler", "mcp", "--root", str(plant(TREE))]
    program = [str(Path(MODULES) / ".bin" / "mcp-inspector"), "--cli", *server]

    def run(*words: str) -> dict[str, Any]:
        done = subprocess.run(
            ["node", *program, *words], capture_output=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr.decode()
        return dict(json.loads(done.stdout))

    assert [tool["name"] for tool in run("--method", "tools/list")["tools"]] == list(DEFAULT)
    words = ("--tool-name", "read_file", "--tool-arg", "path=README.md")
    answer = run("--method", "tools/call", *words)
    assert answer["structuredContent"]["text"] == "# Hello\n"


def _approved(id: str, project: Path) -> bool:
    """A person at a terminal types yes."""
    parent, child = pty.openpty()
    os.write(parent, b"y\n")
    words = [sys.executable, "-m", "sutler", "approve", id]
    done = subprocess.run(
        words,
        cwd=project,
        stdin=child,
        stderr=child,
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=LIMIT,
    )
    os.close(parent)
    os.close(child)
    return done.returncode == 0


def test_what_waits_is_approved_by_a_person_and_then_done(plant: Plant, sutler: Sutler) -> None:
    """A client that cannot ask gets `pending_approval`; `sutler approve` settles it and the very
    same call goes through, once.
    """
    project = plant(TREE)
    with stdio(project) as wire:
        given = {"path": "new.txt", "content": "new\n", "mode": "create"}
        first = wire.call("write_file", **given)["structuredContent"]
        assert not (project / "new.txt").exists()
        assert _approved(first["pending_approval"], project)
        assert wire.call("write_file", **{**given, "content": "other\n"})["isError"]
        assert wire.call("write_file", **given)["structuredContent"]["success"]
        assert (project / "new.txt").read_text() == "new\n"
    assert sutler("verify", cwd=project).code == 0
