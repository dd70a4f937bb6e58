from __future__ import annotations

import pytest

from sutler.tasks.contract import contract_check, idle_globs, owned, sentences
from sutler.tasks.wire import Change, FileContract

CONTRACT = FileContract(("src/**", "docs\\"), ("src/legal/**",), False)


@pytest.mark.parametrize(
    ("file", "new", "reason"),
    [
        ("src/a.ts", False, None),
        ("src\\a.ts", False, None),
        ("C:\\src\\a.ts", False, "not_allowed"),
        ("docs/x.md", False, None),
        ("src/legal/x.ts", False, "forbidden"),
        ("lib/a.ts", False, "not_allowed"),
        ("src/new.ts", True, "new_file_disallowed"),
        ("src/legal/new.ts", True, "new_file_disallowed"),
        ("src/.hidden", False, None),
    ],
)
def test_one_violation_for_each_file(file: str, new: bool, reason: str | None) -> None:
    found = contract_check([Change(file, new)], CONTRACT)
    assert [violation.reason for violation in found] == ([reason] if reason else [])


def test_an_empty_contract_allows_everything() -> None:
    assert contract_check([Change("any", True)], FileContract()) == []


def test_violations_are_sorted_and_name_their_rule() -> None:
    found = contract_check([Change("z"), Change("src/legal/x")], CONTRACT)
    assert [(item.file, item.rule) for item in found] == [
        ("src/legal/x", "src/legal/**"),
        ("z", "src/**, docs\\"),
    ]


def test_owned_files_leave_out_the_forbidden() -> None:
    paths = ["src/b.ts", "src/a.ts", "src/legal/x.ts", "lib/c.ts"]
    assert owned(paths, CONTRACT) == ["src/a.ts", "src/b.ts"]
    assert owned(paths, FileContract()) == []


def test_idle_globs_are_problems() -> None:
    problems = idle_globs(["src/a.ts"], FileContract(("src/**", "nowhere/**"), ("gone/*",)))
    assert [(problem.path, problem.kind) for problem in problems] == [
        ("nowhere/**", "missing"),
        ("gone/*", "missing"),
    ]


def test_sentences() -> None:
    assert sentences(FileContract(("a/**", "b"), ("c",), False)) == [
        "You may only modify files matching: a/**, b",
        "Do NOT modify files matching: c",
        "Do NOT create new files.",
    ]
    assert sentences(FileContract()) == ["You may modify any file."]
