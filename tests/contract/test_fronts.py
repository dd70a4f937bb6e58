"""One call, four ways in: Python, `sutler call`, MCP over stdio and MCP over HTTP give equal
results and equal rows.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sutler.errors import SutlerError
from sutler.store.records import CLOUD, Caller, unseal
from sutler.tools import call, open_door, open_ledger
from sutler.tools.declaration import as_object, failure
from tests.conftest import Plant, grow
from tests.limits import LIMIT
from tests.mcpkit import http_server, stdio

TREE = {
    "README.md": "# A project\n\nIt says hello.\n",
    "src/app.py": "def main():\n    return 'hello'\n",
    "src/long.py": "".join(f"line_{n} = {n}\n" for n in range(3_000)),
    ".env": "TOKEN=1\n",
    "a.bin": b"\0\1\2",
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_files", {}),
    ("list_files", {"globs": ["*.py"]}),
    ("read_file", {"path": "README.md"}),
    ("read_file", {"path": "src/long.py"}),
    ("read_lines", {"path": "src/app.py", "start": 1, "end": 1}),
    ("read_lines", {"path": "src/app.py", "start": 5, "end": 1}),
    ("summarize_file", {"path": "src/app.py", "max_tokens": 100}),
    ("read_file", {"path": ".env"}),
    ("read_file", {"path": "../outside"}),
    ("read_file", {"path": "a.bin"}),
    ("read_file", {"path": "missing.py"}),
    ("read_file", {"path": "README.md", "expected_hsh": "1"}),
    ("write_file", {"path": "new.txt", "content": "new\n", "mode": "create"}),
    ("write_file", {"path": "new.txt", "content": "new\n", "mode": "create"}),
    (
        "apply_patch",
        {
            "patch": "--- a/src/app.py\n+++ b/src/app.py\n@@ -2 +2 @@\n-    return 'hello'\n+    return 1\n"
        },
    ),
    (
        "apply_patch",
        {
            "patch": "--- a/src/app.py\n+++ b/src/app.py\n@@ -2 +2 @@\n-    return 'x'\n+    return 2\n"
        },
    ),
    ("write_file", {"path": ".github/workflows/x.yml", "content": "on: push\n"}),
    ("get_diff", {"path": "src/app.py"}),
    ("get_file_history", {"path": "src/app.py"}),
    ("rollback", {"path": "src/app.py", "version": "0" * 32}),
    ("rank", {"goal": "what does main return", "limit": 3}),
    ("why", {"path": "src/app.py"}),
    ("pack", {"goal": "hello", "max_tokens": 2_000}),
]

Speak = Callable[[Path, dict[str, str]], list[Any]]


def _python(project: Path, env: dict[str, str]) -> list[Any]:
    answers = []
    with open_door(str(project), Caller("python", "s", CLOUD), environ=env) as door:
        for name, arguments in CALLS:
            try:
                found = call(door, name, arguments)
            except SutlerError as error:
                found = failure(error)
            answers.append(msgspec.to_builtins(as_object(found)))
    return answers


def _shell(project: Path, env: dict[str, str]) -> list[Any]:
    answers = []
    for name, arguments in CALLS:
        words = [sys.executable, "-m", "sutler", "call", name, json.dumps(arguments), "--json"]
        done = subprocess.run(
            words, cwd=project, env=env, capture_output=True, check=False, timeout=LIMIT
        )
        answers.append(json.loads(done.stdout))
        del answers[-1]["schema_version"]
    return answers


def _stdio(project: Path, env: dict[str, str]) -> list[Any]:
    with stdio(project, env=env) as wire:
        answers = [wire.call(name, **arguments)["structuredContent"] for name, arguments in CALLS]
        assert wire.close() == (b"", 0)
    return answers


def _http(project: Path, env: dict[str, str]) -> list[Any]:
    with http_server(project, env=env) as site:
        return [site.call(name, **arguments)["structuredContent"] for name, arguments in CALLS]


def _rows(project: Path, env: dict[str, str]) -> list[dict[str, Any]]:
    """The ledger without what must differ: who, when, how long, and numbers that are drawn."""
    with open_ledger(str(project), env) as ledger:
        rows = [msgspec.to_builtins(unseal(row)) for row in ledger.store.audit(0, 1_000)]
    drawn = ("call", "at", "caller", "session", "micros", "prev", "approval")
    return [{name: value for name, value in row.items() if name not in drawn} for row in rows]


def _plain(answers: list[Any]) -> str:
    """Answers without what is drawn or stamped: approvals, times, call ids, and who is named as an
    author.
    """

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            gone = ("at", "call", "author", "pending_approval")
            return {name: walk(one) for name, one in value.items() if name not in gone}
        if isinstance(value, list | tuple):
            return [walk(one) for one in value]
        return value

    text = json.dumps(walk(answers), sort_keys=True, indent=1)
    for found in answers:
        if found.get("pending_approval"):
            text = text.replace(found["pending_approval"], "APPROVAL")
    return text


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_every_way_in_gives_the_same(
    kind: str,
    plant: Plant,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Results and audit rows do not depend on how a call came, on either store."""
    import os

    config = tmp_path / "config"
    grow(config / "sutler", {"config.toml": 'writable = ["**"]\n'})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    project = tmp_path / "project"
    ways: dict[str, Speak] = {"python": _python, "call": _shell, "stdio": _stdio, "http": _http}
    texts, ledgers = {}, {}
    for name, speak in ways.items():
        grow(project, TREE)
        env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / f"state-{name}")}
        if kind == "postgres":
            url: str = request.getfixturevalue("postgres_url")
            env |= {"SUTLER_STORE": url, "SUTLER_PROJECT": f"{tmp_path.name}-{name}"}
        for variable, value in env.items():
            monkeypatch.setenv(variable, value)
        texts[name] = _plain(speak(project, env))
        ledgers[name] = _rows(project, env)
        shutil.rmtree(project)
    assert len(ledgers["python"]) >= len(CALLS)
    for name in ways:
        assert texts[name] == texts["python"], name
        assert ledgers[name] == ledgers["python"], name
