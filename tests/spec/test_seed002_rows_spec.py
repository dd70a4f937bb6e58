"""Seed 002, row by row: every requirement, priority, limit and step of the truncation strategy, as
a table over packs that the public API builds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import sutler as api
from sutler.errors import UsageError
from sutler.tasks.prompt import render_prompt
from tests.conftest import Plant, Sutler

FILES = {
    "src/api/auth.ts": "import { log } from '../middleware/log';\nexport const login = log;\n",
    "src/middleware/log.ts": "export const log = 1;\n",
    "src/main.ts": "import { login } from './api/auth';\nlogin();\n",
    "docs/auth.md": "# Auth\n",
    "lib/other.ts": "other();\n",
    ".gitignore": "*.log\n",
}
TASK: dict[str, Any] = {
    "id": "T-7",
    "title": "Fix login",
    "goal": "Make login work again.",
    "acceptance": ["A user can log in"],
    "files_contract": {"allowed": ["src/middleware/**"], "forbidden": ["src/legal/**"]},
    "context": {"files": ["src/main.ts"], "docs": ["docs/auth.md"]},
    "issues": [
        {"kind": "test", "message": "fails", "file": "src/api/auth.ts", "raw": "boom at line 2"}
    ],
    "previous_state": {"iteration": 2, "diff": "+let x"},
    "repair_tickets": [{"issueId": "i-1", "kind": "test", "message": "make it pass"}],
    "error_output": ["AssertionError: boom"],
}


def lines(count: int) -> str:
    return "".join(f"const value{number} = {number};\n" for number in range(count))


def prompt(plant: Plant, files: Mapping[str, str], task: Mapping[str, Any], **words: Any) -> str:
    pack = api.ContextPacker(api.Project(plant(files)), **words).build(task)
    text = render_prompt(pack)
    assert len(text) == pack.total_chars <= pack.max_chars
    return text


@pytest.mark.parametrize(
    "part",
    [
        "Make login work again.",
        "A user can log in",
        "[test, error]",
        "boom at line 2",
        "+let x",
        "### src/main.ts",
        "### docs/auth.md",
        "You may only modify files matching: src/middleware/**",
        "Do NOT modify files matching: src/legal/**",
        "make it pass",
        "AssertionError: boom",
        "### src/api/auth.ts (high priority, full)",
        "### src/middleware/log.ts (low priority, full)",
    ],
)
def test_each_part_of_an_assembled_pack(plant: Plant, part: str) -> None:
    """Goal, acceptance, issues with their output, diff, context, contract, tickets, owned files."""
    assert part in prompt(plant, FILES, TASK)


@pytest.mark.parametrize(
    ("tier", "limit"), [("strong", 120_000), ("default", 60_000), ("cheap", 25_000)]
)
def test_each_tier(plant: Plant, tier: str, limit: int) -> None:
    """A project above the limit is truncated within it, and the marker says so."""
    files = {**FILES, "src/main.ts": lines(20_000)}
    text = prompt(plant, files, TASK, tier=tier)
    assert limit // 3 < len(text) <= limit
    assert f"limit {limit:,} characters]" in text
    assert "[context truncated:" in text


def test_an_unknown_tier_is_refused(plant: Plant) -> None:
    """The message names the tiers there are."""
    with pytest.raises(UsageError) as caught:
        api.ContextPacker(api.Project(plant(FILES)), tier="huge")  # type: ignore[arg-type]
    assert "strong, default, cheap" in caught.value.rule


@pytest.mark.parametrize(
    ("large", "whole"),
    [
        (["src/middleware/log.ts"], ["src/api/auth.ts", "src/main.ts", "docs/auth.md"]),
        (["src/middleware/log.ts", "src/main.ts"], ["src/api/auth.ts", "docs/auth.md"]),
        (["src/api/auth.ts"], ["src/main.ts", "docs/auth.md"]),
    ],
    ids=["low first", "then medium", "a small file is never cut for a large one"],
)
def test_truncation_takes_low_files_first(plant: Plant, large: list[str], whole: list[str]) -> None:
    """Step 1: what is large gives room in the order of the priorities."""
    files = {**FILES, **dict.fromkeys(large, lines(5_000))}
    pack = api.ContextPacker(api.Project(plant(files)), tier="cheap").build(TASK)
    levels = {item.path: item.level for item in pack.files}
    levels |= {item.path: item.level for item in pack.docs}
    assert [path for path in whole if levels.get(path) == "full"] == whole
    assert all(levels.get(path) != "full" for path in large)


def test_many_small_files_of_the_context_outlast_a_large_file_of_an_issue(plant: Plant) -> None:
    """Together they need more than half of the room, and are whole nevertheless."""
    small = {f"src/part{number}.ts": lines(90) for number in range(9)}
    files = {**FILES, **small, "src/api/auth.ts": lines(5_000)}
    task = {**TASK, "context": {"files": sorted(small)}}
    pack = api.ContextPacker(api.Project(plant(files)), tier="cheap").build(task)
    levels = {item.path: item.level for item in pack.files}
    assert {levels[path] for path in small} == {"full"}
    assert levels["src/api/auth.ts"] in ("head", "excerpt")


def test_truncation_shows_header_and_cited_region(plant: Plant) -> None:
    """Step 2: the first lines and those that an issue cites, numbered as in the file."""
    files = {**FILES, "src/api/auth.ts": lines(9_000)}
    issues = [{"kind": "test", "message": "m", "file": "src/api/auth.ts", "line": 6_001}]
    text = prompt(plant, files, {**TASK, "issues": issues}, tier="cheap")
    assert "    1| const value0 = 0;\n" in text
    assert " 6001| const value6000 = 6000;\n" in text
    assert "of 9001 not shown] ..." in text


def test_truncation_summarises_a_large_diff(plant: Plant) -> None:
    """Step 3: files and counts in place of the text."""
    diff = "".join(f"diff --git a/x{n} b/x{n}\n" + "+y\n" * 400 for n in range(60))
    text = prompt(plant, FILES, {**TASK, "previous_state": {"iteration": 1, "diff": diff}})
    assert "60 files changed, +24000 -0" in text
    assert "+y\n+y\n" not in text


@pytest.mark.parametrize("count", [5, 21, 60, 200])
def test_truncation_keeps_error_outputs(plant: Plant, count: int) -> None:
    """Step 4: every output enters while it fits, before files that only the contract names."""
    issues = [
        {"kind": "test", "message": f"m{number}", "raw": f"output {number} " + "e" * 150}
        for number in range(count)
    ]
    files = {**FILES, "src/middleware/log.ts": lines(1_200)}
    text = prompt(plant, files, {**TASK, "issues": issues})
    assert sum(f"output {number} e" in text for number in range(count)) == count


@pytest.mark.parametrize("key", ["raw", "output", "errorOutput", "error_output", "stderr"])
def test_each_spelling_of_an_issues_output(plant: Plant, sutler: Sutler, key: str) -> None:
    """A task file of another tool must not lose its error outputs unnoticed."""
    issue = {"message": "it fails", key: "AssertionError: 3 is not 4"}
    task = json.dumps({"id": "T", "goal": "Mend it.", "issues": [issue]})
    ran = sutler("pack", "--task", "task.json", cwd=plant({"task.json": task}))
    assert "AssertionError: 3 is not 4" in ran.out.decode()


def test_allowed_files_say_who_uses_them(plant: Plant, sutler: Sutler) -> None:
    """Each file that the contract allows has its users, in the prompt and on the wire."""
    folder = plant({**FILES, "task.json": json.dumps(TASK)})
    text = sutler("pack", "--task", "task.json", cwd=folder).text
    assert "### src/middleware/log.ts (low priority, full)\n\nUsed by src/api/auth.ts.\n\n" in text
    assert "### src/main.ts (medium priority, full)\n\n```" in text
    wire = json.loads(sutler("pack", "--task", "task.json", "-f", "json", cwd=folder).out)
    users = {item["path"]: item.get("usedBy") for item in wire["files"]}
    assert users["src/middleware/log.ts"] == ["src/api/auth.ts"]


@pytest.mark.parametrize("size", [1, 3_000])
def test_the_json_document_states_both_figures(plant: Plant, sutler: Sutler, size: int) -> None:
    """`totalChars` is the prompt's length within `maxChars`; `jsonChars` is the document's own."""
    folder = plant({**FILES, "src/main.ts": lines(size), "task.json": json.dumps(TASK)})
    words = ["pack", "--task", "task.json", "--tier", "cheap"]
    wire = sutler(*words, "-f", "json", cwd=folder).text.rstrip("\n")
    plain = json.loads(wire)
    assert plain["jsonChars"] == len(wire)
    assert plain["totalChars"] == len(sutler(*words, cwd=folder).text) <= plain["maxChars"]


def test_the_same_input_gives_the_same_pack(plant: Plant) -> None:
    """Two builds of one task agree to the byte."""
    packer = api.ContextPacker(api.Project(plant(FILES)))
    assert api.serialize(packer.build(TASK)) == api.serialize(packer.build(TASK))


def test_filler_does_not_enter(plant: Plant) -> None:
    """A contract over everything shows sources, and neither tool settings nor unnamed heads."""
    task = {**TASK, "files_contract": {"allowed": ["**"]}}
    text = prompt(plant, {**FILES, "src/__init__.py": ""}, task)
    assert ("### .gitignore" in text, "__init__" in text) == (False, False)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [("log.ts:1", "### src/middleware/log.ts (high"), ("src/middleware/l*.ts", None)],
    ids=["a bare name with a line", "a glob is no mention"],
)
def test_references_in_issues(plant: Plant, raw: str, expected: str | None) -> None:
    """A bare name with a line is the only file of that name."""
    text = prompt(plant, FILES, {**TASK, "issues": [{"kind": "test", "message": f"at {raw}"}]})
    assert ("### src/middleware/log.ts (high" in text) == (expected is not None)


def test_a_reference_to_no_file_is_noted(plant: Plant) -> None:
    """The file that an issue or a ticket names, and a bare name with a line; not what a tool's
    output mentions besides."""
    issues = [
        {"kind": "test", "message": "gone.test.ts:9 fails on example.com:80", "file": "src/no.ts"},
        {"kind": "lint", "message": "bad", "raw": "at /usr/lib/node/run.js:4 and 10.0.0.1:80"},
    ]
    tail = prompt(plant, FILES, {**TASK, "issues": issues}).partition("## Not shown")[2]
    assert "- src/no.ts: missing, test issue names it\n- gone.test.ts: missing, test" in tail
    assert ("example.com" in tail, "run.js" in tail, "10.0.0.1" in tail) == (False, False, False)


def test_a_file_of_the_context_is_there_before_files_of_issues_grow(plant: Plant) -> None:
    """`task.context.files` are included first: each has at least its head."""
    files = {path: lines(2_000) for path in ("src/main.ts", "src/api/auth.ts", "src/b.ts")}
    task = {**TASK, "issues": [{"kind": "test", "message": "x", "file": "src/api/auth.ts"}]}
    text = prompt(plant, {**FILES, **files}, task, tier="cheap")
    assert "### src/main.ts (medium priority, head)" in text


def test_what_the_summary_line_advises_works_for_a_task(plant: Plant, sutler: Sutler) -> None:
    """A task pack has no goal and always a limit: the advice is another tier."""
    folder = plant({**FILES, "src/main.ts": lines(5_000)})
    task = {**TASK, "files_contract": {"allowed": ["src/**"]}, "context": {"files": []}}
    (folder / "task.json").write_text(json.dumps(task))
    ran = sutler("pack", "--task", "task.json", "--tier", "cheap", cwd=folder)
    assert "next  --tier or --max-chars makes room" in ran.err
    assert "--no-budget" not in ran.err


def test_globs_in_the_context(plant: Plant) -> None:
    """`context.files` may hold globs."""
    task = {**TASK, "context": {"files": ["src/mid*/**"]}, "issues": []}
    assert "### src/middleware/log.ts (medium priority, full)" in prompt(plant, FILES, task)


def test_goal_and_constraints_stand_last(plant: Plant) -> None:
    """Two lines at the end repeat them."""
    tail = prompt(plant, FILES, TASK).splitlines()[-2:]
    assert tail[0] == "Goal: Make login work again."
    assert tail[1].startswith("Constraints: You may only modify files matching: src/middleware/**;")
