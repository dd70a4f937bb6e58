from __future__ import annotations

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from sutler.errors import RefusedError
from sutler.tasks.packer import assemble, signature
from sutler.tasks.wire import (
    FileContract,
    Issue,
    PreviousState,
    RepairTicket,
    TaskContext,
    TaskSpec,
)
from tests.unit.tasks.packing import ContextPacker

from .packing import packer, source

LONG = "\n".join(f"line {n} " + "x" * 60 for n in range(3_000))
TASK = TaskSpec(id="t", title="T", goal="Do it.", context=TaskContext(("a.py",)))


def test_a_small_task_is_whole() -> None:
    done = packer({"a.py": "print()\n"}).assemble(TASK)
    assert (done.pack.truncated, done.problems, done.not_shown) == (False, (), ())
    assert done.pack.total_chars == len(done.prompt)
    assert [(item.path, item.content, item.priority) for item in done.pack.files] == [
        ("a.py", "print()\n", "medium")
    ]
    assert "context truncated" not in done.prompt


def test_the_tier_of_the_packer_wins_over_the_task() -> None:
    files = {"a.py": LONG}
    assert (
        packer(files, "strong").build(TASK).total_chars
        > 60_000
        > packer(files).build(TASK).total_chars
        > 30_000
    )


def test_low_files_give_way_first() -> None:
    task = TaskSpec(
        id="t",
        goal="g",
        context=TaskContext(("medium.py",)),
        issues=(Issue("test", "m", file="high.py", line=2_000),),
        files_contract=FileContract(("low/**",)),
        model_tier="cheap",
    )
    files = {
        "high.py": LONG,
        "medium.py": "m\n" * 1_000,
        "low/a.py": "l\n" * 5_000,
        "low/b.py": "small\n",
    }
    done = packer(files).assemble(task)
    levels = {item.path: item.level for item in done.pack.files}
    assert levels["high.py"] == "excerpt"
    assert levels["medium.py"] == "full"
    assert "line 1999 " in next(item.content for item in done.pack.files if item.path == "high.py")
    assert done.pack.truncated
    assert "[context truncated: " in done.prompt
    assert done.pack.total_chars == len(done.prompt) <= 25_000


def test_unreadable_files_are_problems_and_named() -> None:
    task = TaskSpec(
        id="t",
        goal="g",
        context=TaskContext(("a.py", "gone.py")),
        files_contract=FileContract(("x/**",)),
    )
    done = packer({"a.py": "DENIED"}).assemble(task)
    assert [(problem.path, problem.kind) for problem in done.problems] == [
        ("gone.py", "missing"),
        ("x/**", "missing"),
        ("a.py", "denied"),
    ]
    assert "gone.py: missing, task.context.files names it" in done.prompt
    assert not done.pack.truncated


def test_required_text_over_the_limit_is_refused_with_figures() -> None:
    task = TaskSpec(id="t", goal="g" * 30_000, model_tier="cheap")
    with pytest.raises(RefusedError, match=r"need 30,\d{3} characters of 25,000 allowed"):
        packer({}).build(task)


def test_required_text_that_leaves_no_room_for_the_marker_is_refused() -> None:
    for size in range(24_700, 24_960, 7):
        task = TaskSpec(id="t", goal="g" * size, context=TaskContext(("a.py",)), model_tier="cheap")
        try:
            done = packer({"a.py": LONG}).assemble(task)
        except RefusedError:
            continue
        assert "context truncated" in done.prompt
        assert len(done.prompt) <= 25_000


def test_top_issues_once_each_errors_first() -> None:
    warnings = [Issue("lint", f"w{n}", level="warning") for n in range(5)]
    issues = (*warnings, Issue("test", "red"), Issue("test", "red"))
    done = assemble(TaskSpec(id="t", goal="g", issues=issues), source({}), 60_000, top_issues=3)
    assert done.pack.previous_state is not UNSET
    messages = [issue.message for issue in done.pack.previous_state.issues]
    assert messages == ["red", "w0", "w1", "w2", "w3", "w4"]
    assert not done.pack.truncated


def test_every_error_output_enters_while_there_is_room() -> None:
    issues = tuple(Issue("test", f"m{n}", raw=f"output {n:03} " + "x" * 400) for n in range(100))
    done = assemble(TaskSpec(id="t", goal="g", issues=issues), source({}), 60_000)
    assert [n for n in range(100) if f"output {n:03} " not in done.prompt] == []
    short = assemble(TaskSpec(id="t", goal="g", issues=issues), source({}), 25_000)
    lost = [n for n in range(100) if f"output {n:03} " not in short.prompt]
    assert lost[0] > 20
    assert len(short.prompt) > 24_000  # those that are lost had no room
    assert short.pack.truncated


def test_issues_leave_room_for_the_files_they_name() -> None:
    issues = tuple(Issue("test", f"m{n}", file="a.py", line=3, raw="x" * 400) for n in range(100))
    done = assemble(
        TaskSpec(id="t", goal="g", issues=issues), source({"a.py": "y = 1\n" * 50}), 25_000
    )
    assert [file.path for file in done.pack.files] == ["a.py"]


def test_a_large_diff_is_summarised_and_the_errors_stay() -> None:
    diff = "".join(f"diff --git a/f{n} b/f{n}\n" + "+x\n" * 500 for n in range(100))
    output = "E" * 5_000
    task = TaskSpec(
        id="t",
        goal="g",
        previous_state=PreviousState(1, diff, (Issue("test", "m", raw=output),)),
        error_output=(output,),
        model_tier="cheap",
    )
    done = packer({}).assemble(task)
    assert done.pack.previous_state is not UNSET
    assert done.pack.previous_state.diff_summary.startswith("100 files changed, +50000 -0")
    assert done.prompt.count(output) == 2
    assert done.pack.truncated


def test_the_tasks_own_words_are_redacted() -> None:
    key = "hunter2"
    task = TaskSpec(
        id="t",
        title=f"t {key}",
        goal=f"g {key}",
        issues=(Issue("k", f"m {key}", raw=f"r {key}", hint=f"h {key}"),),
        previous_state=PreviousState(1, f"+{key}"),
        repair_tickets=(RepairTicket("i", "k", f"m {key}", hint=key),),
        error_output=(f"e {key}",),
        context=TaskContext(("a.py",)),
    )
    done = ContextPacker(source({"a.py": f"x = '{key}'"}, secret=key)).assemble(task)
    assert key not in done.prompt
    assert key not in repr(done.pack)


def test_documents_have_their_own_place() -> None:
    task = TaskSpec(id="t", goal="g", context=TaskContext(("a.py",), ("d.md",)))
    pack = packer({"a.py": "x", "d.md": "# d"}).build(task)
    assert [item.path for item in pack.docs] == ["d.md"]
    assert [item.path for item in pack.files] == ["a.py"]


def test_digests_are_recorded() -> None:
    done = ContextPacker(source({"a.py": "x"}, digests={"a.py": "d1"})).build(TASK)
    assert done.files[0].digest == "d1"


def test_more_than_the_cap_of_owned_files_is_a_truncation() -> None:
    files = {f"src/f{n:03}.py": "x" for n in range(250)}
    done = packer(files, "strong").assemble(
        TaskSpec(id="t", goal="g", files_contract=FileContract(("src/**",)))
    )
    assert len(done.pack.files) == 200
    assert done.pack.truncated
    assert "and 10 more" in done.prompt


def test_signature_is_made_when_absent() -> None:
    assert (
        signature(Issue("typecheck", "Type  error", file="src/api.ts", line=42))
        == "typecheck:src/api.ts:42:Type error"
    )
    assert signature(Issue("k", "m", signature="own")) == "own"


def test_cited_files_are_numbered_by_their_own_lines() -> None:
    issue = Issue("test", "m", file="a.py", line=2_000)
    done = packer({"a.py": LONG, "b.py": "b\n"}, "cheap").assemble(
        TaskSpec(id="t", goal="g", issues=(issue,), context=TaskContext(("b.py",)))
    )
    assert "\n 2000| line 1999 x" in done.prompt
    assert "\n    1| line 0 x" in done.prompt
    assert "\nb\n" in done.prompt
    shown = {item.path: item for item in done.pack.files}
    assert "|" not in shown["a.py"].content


def test_line_numbers_for_every_file() -> None:
    numbering = replace(source({"a.py": "x\ny\n"}), line_numbers=True)
    done = ContextPacker(numbering).assemble(TASK)
    assert "    1| x\n    2| y\n" in done.prompt
    assert done.pack.total_chars == len(done.prompt)


def test_a_small_named_file_is_not_cut_for_a_large_one() -> None:
    files = {"large.py": LONG, "small.py": "s = 1\n" * 300, "issue.py": LONG}
    issue = Issue("test", "m", file="issue.py", line=1_500)
    for names in (("large.py", "small.py"), ("small.py", "large.py")):
        task = TaskSpec(id="t", goal="g", context=TaskContext(names), issues=(issue,))
        levels = {item.path: item.level for item in packer(files, "cheap").build(task).files}
        assert levels["small.py"] == "full"
        assert levels["issue.py"] == "excerpt"


def test_owned_files_enter_whole_or_not_at_all() -> None:
    files = {"src/a.py": LONG, "src/b.py": "b\n"}
    task = TaskSpec(id="t", goal="g", files_contract=FileContract(("src/**",)))
    done = packer(files, "cheap").assemble(task)
    assert [(item.path, item.level) for item in done.pack.files] == [("src/b.py", "full")]
    assert "src/a.py: over the limit" in done.prompt
