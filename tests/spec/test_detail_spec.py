"""Levels of detail: `--detail` chooses by glob how much of a file is shown, `--compress` outlines
every file.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sutler as api
from tests.conftest import Plant, Sutler

BODY = "".join(f"    total += {number}\n" for number in range(40))
SOURCE = f"import os\n\n\ndef work(total: int) -> int:\n{BODY}    return total\n"
TREE = {
    "src": {"a.py": SOURCE},
    "tests": {"test_a.py": f"def test_work() -> None:\n    total = 0\n{BODY}    assert total\n"},
    "docs": {"a.md": "# Title\n\nSome words about it.\n"},
    "notes.txt": "".join(f"note {number}\n" for number in range(400)),
}
RULES = "src/**=full,tests/**=outline,docs/**=list"


@pytest.fixture
def folder(plant: Plant) -> Path:
    return plant(TREE)


@pytest.mark.parametrize("limit", [["--no-budget"], ["--max-tokens", "9k"], ["--max-chars", "30k"]])
@pytest.mark.parametrize("form", ["markdown", "xml", "json", "plain", "claude"])
def test_each_file_has_the_level_of_the_first_rule_that_matches(
    folder: Path, sutler: Sutler, limit: list[str], form: str
) -> None:
    ran = sutler("pack", "--detail", RULES, "-f", form, *limit, cwd=folder)
    assert ran.code == 0, ran.err
    pack = api.parse(ran.out)
    sections = {str(one.path): one for one in pack.sections}
    assert {path: one.level for path, one in sections.items()} == {
        "src/a.py": "full",
        "tests/test_a.py": "outline",
        "notes.txt": "full",
    }
    assert "1: def test_work() -> None" in sections["tests/test_a.py"].body.text
    assert "total += 7" not in sections["tests/test_a.py"].body.text
    assert [str(path) for path in pack.listing.paths] == ["docs/a.md"]


def test_compress_outlines_every_file(folder: Path, sutler: Sutler) -> None:
    """A file without an outline shows its first and last lines."""
    sections = api.parse(sutler("pack", "--compress", cwd=folder).out).sections
    assert {str(one.path): one.level for one in sections} == {
        "src/a.py": "outline",
        "tests/test_a.py": "outline",
        "docs/a.md": "outline",
        "notes.txt": "head_tail",
    }
    text = next(one.body.text for one in sections if one.path == "src/a.py")
    assert text == "1: import os\n4: def work(total: int) -> int\n"


def test_an_exception_before_compress(folder: Path, sutler: Sutler) -> None:
    ran = sutler("pack", "--detail", "src/a.py=full", "--compress", cwd=folder)
    levels = {str(one.path): one.level for one in api.parse(ran.out).sections}
    assert levels["src/a.py"] == "full"
    assert levels["tests/test_a.py"] == "outline"


@pytest.mark.parametrize("words", [[], ["--fill"], ["--fill", "--max-chars", "30k"]])
def test_a_goal_keeps_to_the_levels(folder: Path, sutler: Sutler, words: list[str]) -> None:
    """Of a file that the goal chooses the pack shows no more than its rule; listed files are
    named, whatever their rank."""
    goal = ["--goal", "test_work in tests/test_a.py fails, see docs/a.md", *words]
    pack = api.parse(sutler("pack", "--detail", RULES, *goal, cwd=folder).out)
    sections = {str(one.path): one.level for one in pack.sections}
    assert sections.pop("tests/test_a.py") == "outline"
    assert set(sections.values()) <= {"full"}
    assert [str(path) for path in pack.listing.paths][:1] == ["docs/a.md"]


TASK = {
    "id": "t-1",
    "title": "Work",
    "goal": "Make work() faster.",
    "acceptance": [],
    "context": {"files": ["src/a.py"]},
    "files_contract": {"allowed": ["src/**", "tests/**", "docs/**"]},
}


def test_a_task_keeps_to_the_levels_where_it_names_nothing(folder: Path, sutler: Sutler) -> None:
    """What the task names is shown as the seed says; of the other files of its contract there are
    outlines, and listed files do not enter."""
    (folder / "task.json").write_text(json.dumps(TASK))
    rules = "src/**=outline,tests/**=outline,docs/**=list"
    ran = sutler("pack", "--task", "task.json", "--detail", rules, "-f", "json", cwd=folder)
    assert ran.code == 0, ran.err
    files = {one["path"]: one for one in json.loads(ran.out)["files"]}
    assert files["src/a.py"]["content"] == SOURCE
    assert files["tests/test_a.py"]["content"] == "1: def test_work() -> None\n"
    assert files["tests/test_a.py"]["level"] == "condensed"
    assert "docs/a.md" not in files


def test_the_report_names_the_rule(folder: Path, sutler: Sutler) -> None:
    ran = sutler("pack", "--detail", RULES, "--json", cwd=folder)
    excluded = {one["path"]: one for one in json.loads(ran.out)["report"]["excluded"]}
    assert excluded["docs/a.md"]["reason"] == "not_selected"
    assert excluded["docs/a.md"]["rule"]["pattern"] == "docs/**=list"


def test_redaction_comes_before_the_outline(plant: Plant, sutler: Sutler) -> None:
    key = "ghp_" + "a8Kd03jfLq92mZx7Rt5Yw1Vb6Nc4Hs0PqE2u"
    folder = plant({"a.py": f'TOKEN = "{key}"\n\n\ndef work() -> None:\n{BODY}'})
    ran = sutler("pack", "--compress", cwd=folder)
    assert "(outline)" in ran.text
    assert key not in ran.text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--detail", "src/**"], "is no level of detail"),
        (["--detail", "src/**=half"], "is no level of detail"),
        (["--compress", "--since", "HEAD", "--goal", "work"], "a review are given together"),
        (["--compress", "-n"], "-n and outlines"),
        (["--compress", "--type", "summary"], "a summary has one level"),
    ],
)
def test_what_cannot_be_is_refused(
    folder: Path, sutler: Sutler, words: list[str], message: str
) -> None:
    ran = sutler("pack", *words, cwd=folder)
    assert (ran.code, message in ran.err) == (2, True), ran.err


def test_documents_keep_to_the_levels(folder: Path, sutler: Sutler) -> None:
    """A full document holds outlines and leaves out listed files; so does one whose rules stand in
    a config file. `verify` accepts it."""
    (folder / "sutler.toml").write_text('detail = ["tests/**=outline", "docs/**=list"]\n')
    ran = sutler("pack", "--type", "full", "-f", "json", "-o", "pack.json", cwd=folder)
    assert ran.code == 0, ran.err
    document = json.loads((folder / "pack.json").read_text())
    contents = {item["path"]: item for item in document["contents"]}
    assert contents["src/a.py"]["content"] == SOURCE
    assert contents["tests/test_a.py"]["content"] == "1: def test_work() -> None\n"
    assert contents["tests/test_a.py"]["condensed"] == "outline"
    index = {row["path"]: row for row in document["file_index"]}
    assert "docs/a.md" not in contents
    assert index["docs/a.md"]["exclusion_reason"] == "not_selected"
    checked = sutler("verify", "pack.json", cwd=folder)
    assert checked.code == 0, checked.err
