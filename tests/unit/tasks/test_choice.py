from __future__ import annotations

import pytest

from sutler.tasks.choice import Wanted, index_of, owned_files, resolve, wanted_files
from sutler.tasks.wire import FileContract, Issue, RepairTicket, TaskContext, TaskSpec

INDEX = index_of(["src/api/auth.ts", "src/ui/auth.ts", "src/main.ts", "docs/a.md", "odd\\name"])


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("src/main.ts", "src/main.ts"),
        ("./src/main.ts", "src/main.ts"),
        ("src\\main.ts", "src/main.ts"),
        ("C:\\work\\proj\\src\\main.ts", "src/main.ts"),
        ("/home/me/proj/src/api/auth.ts", "src/api/auth.ts"),
        ("api/auth.ts", "src/api/auth.ts"),
        ("auth.ts", None),
        ("main.ts", None),
        ("odd\\name", "odd\\name"),
        ("nope.ts", None),
        ("", None),
    ],
)
def test_resolve(raw: str, path: str | None) -> None:
    assert resolve(raw, INDEX) == path


def test_files_named_in_messages_are_found_with_their_lines() -> None:
    issues = [Issue("test", "at src/api/auth.ts:42 and src/main.ts(7,3)", raw="see docs/a.md.")]
    wanted, _ = wanted_files(TaskSpec(id="t"), issues, INDEX)
    assert [(item.path, item.priority, item.lines) for item in wanted] == [
        ("src/api/auth.ts", "high", [42]),
        ("src/main.ts", "high", [7]),
        ("docs/a.md", "high", []),
    ]


def test_context_comes_first_and_an_issue_raises_it() -> None:
    task = TaskSpec(
        id="t",
        context=TaskContext(("src/main.ts", "src/ui/auth.ts"), ("docs/a.md",)),
        repair_tickets=(RepairTicket("i", "test", "m", "src/ui/auth.ts", 3),),
    )
    wanted, problems = wanted_files(task, [Issue("lint", "m", file="src/api/auth.ts")], INDEX)
    assert [(item.path, item.priority, item.doc) for item in wanted] == [
        ("src/main.ts", "medium", False),
        ("src/ui/auth.ts", "high", False),
        ("docs/a.md", "medium", True),
        ("src/api/auth.ts", "high", False),
    ]
    assert problems == []


def test_a_missing_context_file_is_a_problem() -> None:
    wanted, problems = wanted_files(
        TaskSpec(id="t", context=TaskContext(("no\\way.ts",))), [], INDEX
    )
    assert (wanted, problems[0].path, problems[0].kind) == ([], "no/way.ts", "missing")


def test_owned_files_are_ordered_by_score_then_path() -> None:
    task = TaskSpec(id="t", files_contract=FileContract(("src/**",)))
    taken = [Wanted("src/main.ts", "high", "an issue")]
    found = owned_files(task, INDEX, taken, {"src/ui/auth.ts": 2.0}, {})
    assert [item.path for item in found] == ["src/ui/auth.ts", "src/api/auth.ts"]


def test_filler_is_owned_by_name_only() -> None:
    index = index_of([".gitignore", "package-lock.json", "src/a.ts", "src/.editorconfig"])
    wide = owned_files(TaskSpec(id="t", files_contract=FileContract(("**",))), index, [], {}, {})
    assert [item.path for item in wide] == ["src/a.ts"]
    named = TaskSpec(id="t", files_contract=FileContract((".gitignore",)))
    assert [item.path for item in owned_files(named, index, [], {}, {})] == [".gitignore"]


def test_a_bare_name_with_a_line_is_the_only_file_of_that_name() -> None:
    wanted, problems = wanted_files(TaskSpec(id="t"), [Issue("test", "at main.ts:9")], INDEX)
    assert [(item.path, item.lines) for item in wanted] == [("src/main.ts", [9])]
    assert problems == []


def test_a_bare_name_of_two_files_is_noted() -> None:
    wanted, problems = wanted_files(
        TaskSpec(id="t"), [Issue("test", "m", "", "error", "auth.ts", 3)], INDEX
    )
    assert wanted == []
    assert [(one.path, one.detail) for one in problems] == [
        ("auth.ts", "test issue names it, 2 files end so: src/api/auth.ts, src/ui/auth.ts")
    ]


def test_a_bare_name_in_prose_is_no_file() -> None:
    assert wanted_files(TaskSpec(id="t"), [Issue("test", "see main.ts")], INDEX) == ([], [])


def test_globs_in_the_context() -> None:
    task = TaskSpec(id="t", context=TaskContext(("src/**/auth.ts", "lib/*.ts"), ("docs/*",)))
    wanted, problems = wanted_files(task, [], INDEX)
    assert [(item.path, item.doc) for item in wanted] == [
        ("src/api/auth.ts", False),
        ("src/ui/auth.ts", False),
        ("docs/a.md", True),
    ]
    assert [one.path for one in problems] == ["lib/*.ts"]
