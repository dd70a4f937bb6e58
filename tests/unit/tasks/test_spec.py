"""Tasks as people write them, and the complaints about those that are not tasks."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from sutler.errors import UsageError
from sutler.tasks.spec import MAX_TASK_CHARS, parse_task, read_contract, read_task, read_tier
from sutler.tasks.wire import AcceptanceCriteria, Evidence, FileContract, Issue, RepairTicket

SNAKE = """
id: T-1
title: Fix auth
goal: |
  Make login work.
acceptance:
  - Users can log in
  - { id: acc-x, text: Tests exist, type: evidence, evidence: { must_include_files: ["tests/**"] } }
files_contract: { allowed: ["src/**"], forbidden: [src/legal/**], allow_new_files: false }
context: { files: [src/a.ts], docs: docs/auth.md }
issues:
  - { kind: typecheck, message: Type error, file: src/a.ts, line: 42, hint: cast it }
  - it fails
previous_state: { iteration: 2, diff: "+x", issues: [{ kind: test, message: red }] }
repair_tickets: [{ issue_id: i1, kind: test, message: fix, file: src/a.ts, line: 3 }]
error_output: [{ stdout: out, stderr: err }, plain]
tier: cheap
budget: { usd: 1 }
"""
CAMEL = """{"id": "T-1", "title": "Fix auth", "goal": "Make login work.\\n",
 "acceptance": ["Users can log in",
   {"id": "acc-x", "text": "Tests exist", "type": "evidence",
    "evidence": {"mustIncludeFiles": ["tests/**"]}}],
 "filesContract": {"allowed": ["src/**"], "forbidden": ["src/legal/**"], "allowNewFiles": false},
 "context": {"files": ["src/a.ts"], "docs": ["docs/auth.md"]},
 "issues": [{"kind": "typecheck", "message": "Type error", "file": "src/a.ts", "line": 42, "hint": "cast it"},
   "it fails"],
 "previousState": {"iteration": 2, "diffSummary": "+x", "issues": [{"kind": "test", "message": "red"}]},
 "repairTickets": [{"issueId": "i1", "kind": "test", "message": "fix", "file": "src/a.ts", "line": 3}],
 "errorOutput": [{"stdout": "out", "stderr": "err"}, "plain"], "modelTier": "cheap"}"""


def test_every_spelling_is_the_same_task() -> None:
    assert parse_task(SNAKE) == parse_task(CAMEL)


def test_every_field_is_read() -> None:
    task = parse_task(SNAKE)
    assert (task.id, task.title, task.goal) == ("T-1", "Fix auth", "Make login work.\n")
    assert task.acceptance == (
        AcceptanceCriteria("acc-1", "Users can log in"),
        AcceptanceCriteria("acc-x", "Tests exist", "evidence", Evidence(("tests/**",))),
    )
    assert task.files_contract == FileContract(("src/**",), ("src/legal/**",), False)
    assert (task.context.files, task.context.docs) == (("src/a.ts",), ("docs/auth.md",))
    assert task.issues[0] == Issue(
        "typecheck", "Type error", file="src/a.ts", line=42, hint="cast it"
    )
    assert task.issues[1] == Issue("custom", "it fails")
    assert task.previous_state is not UNSET
    assert (task.previous_state.iteration, task.previous_state.diff_summary) == (2, "+x")
    assert task.repair_tickets == (RepairTicket("i1", "test", "fix", "src/a.ts", 3),)
    assert task.error_output == ("out\nerr", "plain")
    assert task.model_tier == "cheap"


def test_defaults() -> None:
    task = read_task({"id": 7, "title": "Do it"})
    assert (task.id, task.goal, task.model_tier, task.previous_state) == (
        "7",
        "Do it",
        "default",
        UNSET,
    )
    assert task.files_contract == FileContract() == read_contract(None)


def test_a_wrapped_task() -> None:
    assert read_task({"task": {"id": "a", "goal": "b"}}).id == "a"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "task is a list"),
        ("x", "task is text"),
        (None, "task is empty"),
        ({}, r"task\.id is missing"),
        ({"id": "a"}, r"task\.goal is missing"),
        ({"id": "a", "goal": "  "}, r"task\.goal is missing"),
        ({"id": ["a"], "goal": "b"}, r"task\.id is a list"),
        ({"id": "a", "goal": {"x": 1}}, r"task\.goal is a mapping"),
        (
            {"id": "a", "goal": "b", "acceptance": [{"type": "magic"}]},
            r"acceptance\[0\]\.type is 'magic'",
        ),
        ({"id": "a", "goal": "b", "filesContract": "src"}, r"filesContract is text"),
        (
            {"id": "a", "goal": "b", "filesContract": {"allowNewFiles": "maybe"}},
            "allowNewFiles is text",
        ),
        ({"id": "a", "goal": "b", "files_contracts": {}}, r"filescontracts is unknown"),
        ({"id": "a", "goal": "b", "repair-ticket": []}, r"repairticket is unknown"),
        ({"id": "a", "goal": "b", "context": []}, r"context is a list"),
        ({"id": "a", "goal": "b", "issues": [{"line": -1}]}, r"issues\[0\]\.line is -1"),
        ({"id": "a", "goal": "b", "issues": [{"line": True}]}, r"issues\[0\]\.line is True"),
        ({"id": "a", "goal": "b", "issues": [{"level": "fatal"}]}, r"level is 'fatal'"),
        ({"id": "a", "goal": "b", "repairTickets": ["x"]}, r"repairTickets\[0\] is text"),
        ({"id": "a", "goal": "b", "tier": "turbo"}, r"modelTier is 'turbo'"),
        ({"id": "a", "goal": "b", "tier": {}}, r"modelTier is \{\}"),
    ],
)
def test_a_malformed_task_names_its_field(data: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_task(data)


@pytest.mark.parametrize(
    "text", ["{", "a: [", "", "- 1", "x" * (MAX_TASK_CHARS + 1), "id: &a [*a]"]
)
def test_a_malformed_file_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_task(text)


def test_an_unknown_tier_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        read_tier("turbo")
    assert "strong, default, cheap" in str(caught.value)
