from __future__ import annotations

from msgspec.structs import replace

from sutler.tasks.prompt import fenced, render_context_md, render_prompt
from sutler.tasks.wire import (
    AcceptanceCriteria,
    Constraints,
    ContextFile,
    ContextPack,
    Evidence,
    Issue,
    PreviousState,
    RepairTicket,
    TaskInfo,
)

PACK = ContextPack(
    task=TaskInfo(
        "T-1",
        "Fix",
        "Goal.",
        (AcceptanceCriteria("acc-1", "Works", "evidence", Evidence(("t/**",))),),
    ),
    constraints=Constraints(("src/**",), ("src/x",), False),
    previous_state=PreviousState(
        2, "+a", (Issue("test", "red", file="src/a.py", line=3, hint="try", raw="trace"),)
    ),
    files=(ContextFile("src/a.py", "x = 1", "high", "excerpt", "test issue"),),
    repair_tickets=(RepairTicket("i1", "test", "fix it", "src/a.py", 3),),
    error_output=("boom",),
    total_chars=10,
    truncated=True,
    max_chars=25_000,
    not_shown=("b.py: missing, named",),
    not_shown_more=2,
)

PROMPT = """# Task T-1: Fix

## Goal

Goal.

## Acceptance criteria

- [acc-1] Works (evidence: the change includes t/**)

## Constraints

- You may only modify files matching: src/**
- Do NOT modify files matching: src/x
- Do NOT create new files.

## Previous iteration: 2

### Diff summary

```diff
+a
```

### Issues

- [test, error] src/a.py:3: red
  hint: try

```
trace
```


## Repair tickets

Fix these specific issues only

- [i1] test: src/a.py:3: fix it

## Error output

```
boom
```

## Files

### src/a.py (high priority, excerpt)

```python
x = 1
```

## Not shown

- b.py: missing, named
- and 2 more

[context truncated: 1 files shortened, 3 things not shown, limit 25,000 characters]

Goal: Goal.
Constraints: You may only modify files matching: src/**; Do NOT modify files matching: src/x; Do NOT create new files.
"""


def test_the_prompt_whole() -> None:
    assert render_prompt(PACK) == PROMPT


def test_lines_are_numbered_as_the_file_numbers_them() -> None:
    text = "a\n... [lines 2-6 of 9 not shown] ...\nb\nc"
    file = ContextFile("a.py", text, "high", "excerpt", "", line_ranges=((1, 1), (7, 8)))
    shown = render_prompt(replace(PACK, files=(file,)))
    assert "    1| a\n" in shown
    assert "\n    7| b\n    8| c\n" in shown


def test_a_long_goal_is_short_at_the_end() -> None:
    pack = replace(PACK, task=TaskInfo("T-1", "Fix", "word\n" * 500))
    goal, constraints = render_prompt(pack).splitlines()[-2:]
    assert goal.startswith("Goal: word word ")
    assert goal.endswith(" ...")
    assert len(goal) < 260
    assert constraints.startswith("Constraints: You may only modify")


def test_context_md_lists_files_by_level() -> None:
    shown = render_context_md(PACK)
    for title in (
        "## Task",
        "## Acceptance Criteria",
        "## Constraints",
        "## Previous Issues",
        "## Files Included",
    ):
        assert f"\n{title}\n" in shown
    assert "- src/a.py (excerpt), high priority: test issue" in shown
    assert shown.endswith("10 characters, context truncated\n")


def test_an_empty_pack_reads_well() -> None:
    shown = render_context_md(ContextPack(task=TaskInfo("a", "", "g"), constraints=Constraints()))
    assert shown.count("- none") == 3


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert fenced("```\n````") == "`````\n```\n````\n`````\n"
    assert fenced("") == "```\n```\n"
