"""Seed 002, scenario by scenario and box by box: context packs for tasks."""

from __future__ import annotations

import json

import pytest
from msgspec import UNSET

from sutler.errors import RefusedError, UsageError
from sutler.formats.document import CleanText
from sutler.pack.serial import deserialize, serialize
from sutler.setting_table import TIER_CHARS, Tier
from sutler.tasks.packer import Assembled, Source
from sutler.tasks.prompt import render_context_md, render_prompt
from sutler.tasks.spec import parse_task, read_task
from sutler.tasks.wire import TaskSpec
from tests.unit.tasks.packing import ContextPacker

FILES = {
    "src/api/auth.ts": "export function login() {}\n",
    "src/middleware/log.ts": "export const log = 1;\n",
    "src/middleware/cors.ts": "export const cors = 1;\n",
    "src/main.ts": "start();\n",
    "docs/auth.md": "# Auth\n",
    "lib/other.ts": "other();\n",
}
TASK = {
    "id": "T-7",
    "title": "Fix login",
    "goal": "Make login work again.",
    "acceptance": [
        "A user can log in",
        {"id": "acc-e", "text": "There is a test", "type": "evidence"},
    ],
    "files_contract": {
        "allowed": ["src/middleware/**"],
        "forbidden": ["src/legal/**"],
        "allow_new_files": False,
    },
    "context": {"files": ["src/main.ts"], "docs": ["docs/auth.md"]},
    "issues": [
        {"kind": "typecheck", "message": "Type error", "file": "src/api/auth.ts", "line": 1}
    ],
    "previous_state": {
        "iteration": 3,
        "diff": "+let x",
        "issues": [{"kind": "test", "message": "login fails"}],
    },
    "repair_tickets": [
        {"issueId": "i-1", "kind": "test", "message": "make it pass", "file": "src/api/auth.ts"}
    ],
}


def assembled(task: TaskSpec, files: dict[str, str], tier: Tier | None = None) -> Assembled:
    source = Source(tuple(files), lambda path: CleanText(files[path]), CleanText)
    return ContextPacker(source, tier).assemble(task)


def big(lines: int) -> str:
    return "".join(f"const value{n} = {n};\n" for n in range(lines))


def test_scenario_context_pack_assembly() -> None:
    """Goal, acceptance, issues, diff summary, context files and docs, and the contract are all
    there.
    """
    pack = assembled(read_task(TASK), FILES).pack
    assert (pack.task.goal, len(pack.task.acceptance)) == ("Make login work again.", 2)
    assert pack.previous_state is not UNSET
    assert {issue.message for issue in pack.previous_state.issues} == {"Type error", "login fails"}
    assert (pack.previous_state.iteration, pack.previous_state.diff_summary) == (3, "+let x")
    assert "src/main.ts" in [item.path for item in pack.files]
    assert [item.path for item in pack.docs] == ["docs/auth.md"]
    assert pack.constraints.allowed_globs == ("src/middleware/**",)
    assert pack.constraints.forbidden_globs == ("src/legal/**",)
    assert pack.constraints.allow_new_files is False


def test_scenario_strong_tier_limit() -> None:
    """Over 120,000 characters the strong tier truncates and says so."""
    files = {"src/main.ts": big(20_000), "docs/auth.md": "d\n"}
    done = assembled(read_task(TASK), files, "strong")
    assert len(done.prompt) <= 120_000
    assert done.pack.truncated
    assert "context truncated" in done.prompt


def test_scenario_cheap_tier_limit() -> None:
    """The cheap tier keeps the essential: the task whole, issue files before context, contract
    files last.
    """
    files = {
        **FILES,
        "src/api/auth.ts": big(900),
        "src/main.ts": big(900),
        "src/middleware/log.ts": big(3_000),
    }
    done = assembled(read_task(TASK), files, "cheap")
    levels = {item.path: item.level for item in done.pack.files}
    assert len(done.prompt) <= 25_000
    assert "Make login work again." in done.prompt
    assert levels["src/api/auth.ts"] == "full"
    assert levels["src/main.ts"] != "full"


def test_scenario_files_from_task_context() -> None:
    """Files listed in task.context.files come first."""
    pack = assembled(read_task(TASK), FILES).pack
    assert pack.files[0].path == "src/main.ts"


def test_scenario_files_from_issues() -> None:
    """A file that an issue names, in its field or only in its words, is included."""
    for issue in (
        {"kind": "k", "message": "m", "file": "src/api/auth.ts"},
        {"kind": "k", "message": "in src/api/auth.ts"},
    ):
        task = read_task({"id": "t", "goal": "g", "issues": [issue]})
        item = assembled(task, FILES).pack.files[0]
        assert (item.path, item.priority) == ("src/api/auth.ts", "high")


def test_scenario_task_owned_files() -> None:
    """Existing files that the contract allows are included, with low priority."""
    pack = assembled(read_task(TASK), FILES).pack
    owned = [item.path for item in pack.files if item.priority == "low"]
    assert owned == ["src/middleware/cors.ts", "src/middleware/log.ts"]
    assert "lib/other.ts" not in [item.path for item in pack.files]


def test_structure_is_camel_case_on_the_wire() -> None:
    """The ContextPack's fields are spelled as the seed spells them."""
    plain = json.loads(serialize(assembled(read_task(TASK), FILES).pack))
    seed = {
        "task",
        "constraints",
        "previousState",
        "files",
        "docs",
        "repairTickets",
        "totalChars",
        "truncated",
    }
    assert seed <= plain.keys()
    assert plain["task"].keys() == {"id", "title", "goal", "acceptance"}
    assert plain["constraints"].keys() == {"allowedGlobs", "forbiddenGlobs", "allowNewFiles"}
    assert plain["previousState"].keys() == {"iteration", "diffSummary", "issues"}
    assert {"path", "content", "priority"} <= plain["files"][0].keys()
    assert {"path", "content"} <= plain["docs"][0].keys()
    assert {"issueId", "kind", "message", "file"} <= plain["repairTickets"][0].keys()


def test_optional_parts_are_absent_when_there_is_nothing() -> None:
    """previousState and repairTickets are left out, not empty."""
    plain = json.loads(serialize(assembled(read_task({"id": "t", "goal": "g"}), FILES).pack))
    assert "previousState" not in plain
    assert "repairTickets" not in plain


def test_size_limits_table() -> None:
    """strong 120,000 · default 60,000 · cheap 25,000."""
    assert TIER_CHARS == {"strong": 120_000, "default": 60_000, "cheap": 25_000}


def test_priority_rules() -> None:
    """Issue and ticket files are high, context medium, contract low."""
    pack = assembled(read_task(TASK), FILES).pack
    assert {item.path: item.priority for item in pack.files} == {
        "src/main.ts": "medium",
        "src/api/auth.ts": "high",
        "src/middleware/cors.ts": "low",
        "src/middleware/log.ts": "low",
    }


def test_truncation_strategy() -> None:
    """Low files go first, cut files keep header and region, large diffs shrink, error output stays
    whole.
    """
    diff = "".join(f"diff --git a/x{n} b/x{n}\n" + "+y\n" * 400 for n in range(60))
    errors = "AssertionError: boom\n" * 200
    data = {
        **TASK,
        "tier": "cheap",
        "previous_state": {"iteration": 1, "diff": diff},
        "error_output": [errors],
        "issues": [{"kind": "test", "message": "m", "file": "src/api/auth.ts", "line": 2_500}],
    }
    files = {**FILES, "src/api/auth.ts": big(4_000), "src/middleware/log.ts": big(4_000)}
    done = assembled(read_task(data), files)
    shown = {item.path: item for item in done.pack.files}
    assert shown["src/api/auth.ts"].level == "excerpt"
    assert "const value0 " in shown["src/api/auth.ts"].content
    assert "const value2499 " in shown["src/api/auth.ts"].content
    assert (
        shown.get("src/middleware/log.ts") is None or shown["src/middleware/log.ts"].level != "full"
    )
    assert "60 files changed, +24000 -0" in done.prompt
    assert errors in done.prompt


def test_box_context_pack_is_deterministic() -> None:
    """Same input, same output, whatever the order of the paths."""
    backwards = dict(reversed(FILES.items()))
    one, two = assembled(read_task(TASK), FILES), assembled(read_task(TASK), backwards)
    assert (one.prompt, serialize(one.pack)) == (two.prompt, serialize(two.pack))


@pytest.mark.parametrize("tier", ["strong", "default", "cheap"])
def test_box_size_limits_respected_per_tier(tier: Tier) -> None:
    """`totalChars` is the prompt's length and never over the tier."""
    files = {path: big(5_000) for path in FILES}
    done = assembled(read_task(TASK), files, tier)
    assert done.pack.total_chars == len(done.prompt) <= TIER_CHARS[tier]
    assert len(done.prompt) > TIER_CHARS[tier] * 0.5
    assert render_prompt(deserialize(serialize(done.pack))) == done.prompt


def test_box_priority_ordering_correct() -> None:
    """With room for one of three files it is the issue's; with room for two, the context's comes
    next.
    """
    data = {
        **TASK,
        "repair_tickets": [],
        "previous_state": None,
        "context": {"files": ["src/main.ts"]},
    }
    for lines, whole in ((800, ["src/api/auth.ts"]), (480, ["src/api/auth.ts", "src/main.ts"])):
        files = {
            path: big(lines) for path in ("src/api/auth.ts", "src/main.ts", "src/middleware/log.ts")
        }
        pack = assembled(read_task(data), files, "cheap").pack
        assert sorted(item.path for item in pack.files if item.level == "full") == whole


def test_box_truncation_preserves_essential_info() -> None:
    """What must always be included is never cut; when it alone is too much, that is an error with
    figures.
    """
    fine = read_task({**TASK, "goal": "essential " * 2_000, "tier": "cheap"})
    assert ("essential " * 2_000).rstrip() in assembled(
        fine, {path: big(2_000) for path in FILES}
    ).prompt
    with pytest.raises(RefusedError, match=r"need \d\d,\d{3} characters of 25,000 allowed"):
        assembled(read_task({**TASK, "goal": "essential " * 2_600, "tier": "cheap"}), FILES)


def test_prompt_carries_the_contracts_sentences() -> None:
    """The constraint sentences and the repair sentence are in the prompt, word for word."""
    prompt = assembled(read_task(TASK), FILES).prompt
    assert "You may only modify files matching: src/middleware/**" in prompt
    assert "Do NOT modify files matching: src/legal/**" in prompt
    assert "Fix these specific issues only" in prompt


def test_context_md_is_the_human_view() -> None:
    """Task, acceptance criteria, constraints, previous issues, files included with their level."""
    shown = render_context_md(assembled(read_task(TASK), FILES).pack)
    titles = [line[3:] for line in shown.splitlines() if line.startswith("## ")]
    assert [title for title in titles if title != "Repair tickets"] == [
        "Task",
        "Acceptance Criteria",
        "Constraints",
        "Previous Issues",
        "Files Included",
    ]
    assert "- src/main.ts (full)" in shown


def test_windows_and_posix_spellings_of_a_task_give_the_same_pack() -> None:
    """Backslashes and drive letters in context, issues and tickets choose the very same files."""
    windows = {
        **TASK,
        "context": {"files": [".\\src\\main.ts"], "docs": ["docs\\auth.md"]},
        "issues": [
            {
                "kind": "typecheck",
                "message": "Type error",
                "file": "C:\\proj\\src\\api\\auth.ts",
                "line": 1,
            }
        ],
        "repair_tickets": [
            {
                "issueId": "i-1",
                "kind": "test",
                "message": "make it pass",
                "file": "src\\api\\auth.ts",
            }
        ],
    }
    one, two = assembled(read_task(TASK), FILES).pack, assembled(read_task(windows), FILES).pack
    assert (one.files, one.docs) == (two.files, two.docs)


@pytest.mark.parametrize(
    "text", ["", "[]", "id: x", "goal: y", "id: [1]\ngoal: y", "{", "id: a\ngoal: b\ntier: huge"]
)
def test_a_malformed_task_or_unknown_tier_is_a_clear_error(text: str) -> None:
    """A usage error that names the field or the document's fault."""
    with pytest.raises(UsageError) as caught:
        parse_task(text, "task.yaml")
    assert "task.yaml" in str(caught.value)


def test_a_missing_context_file_and_an_idle_glob_are_recorded() -> None:
    """The pack is still built; the problems say what was not found."""
    task = read_task(
        {
            "id": "t",
            "goal": "g",
            "context": {"files": ["no.ts"]},
            "contract": {"allowed": ["none/**"]},
        }
    )
    done = assembled(task, FILES)
    assert [(problem.path, problem.kind) for problem in done.problems] == [
        ("no.ts", "missing"),
        ("none/**", "missing"),
    ]
