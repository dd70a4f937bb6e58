"""`--rest`: what a limited pack shows of the files that do not fit whole."""

from __future__ import annotations

import pytest

import sutler as api
from tests.conftest import Plant, Sutler

BODY = "".join(f"    value{number} = {number}\n" for number in range(150))
TREE = {
    f"pkg/part{number}.py": f'def work{number}(text: str) -> str:\n    """Do it."""\n{BODY}'
    for number in range(12)
}


def packed(sutler: Sutler, plant: Plant, *words: str) -> api.Pack:
    ran = sutler("pack", "--max-bytes", "14000", *words, cwd=plant(TREE))
    assert len(ran.out) <= 14_000
    return api.parse(ran.out)


def test_outlines_of_the_rest(sutler: Sutler, plant: Plant) -> None:
    """Whole files first, then outlines in the part of the budget that is theirs alone."""
    pack = packed(sutler, plant, "--rest", "outline")
    levels = [section.level for section in pack.sections]
    assert set(levels) == {"full", "outline"}
    assert levels.count("outline") > 3
    outline = next(section for section in pack.sections if section.level == "outline")
    assert "def work" in outline.body.text
    assert "value100" not in outline.body.text


@pytest.mark.parametrize(("word", "named"), [("list", True), ("none", False)])
def test_names_or_nothing(sutler: Sutler, plant: Plant, word: str, named: bool) -> None:
    """`list` names files; `none` only counts them."""
    pack = packed(sutler, plant, "--rest", word)
    assert bool(pack.listing.paths) is named
    shown = len(pack.sections) + len(pack.listing.paths) + pack.listing.unnamed
    assert shown == len(TREE)


def test_a_tight_pack_outlines_the_rest_by_itself(sutler: Sutler, plant: Plant) -> None:
    """Below 200,000 bytes outlines of more files tell more than a few more whole ones; numbered
    lines and a larger budget have none."""
    heads = "".join(f"def step{n}(value: int) -> int: ...\n\n\n" for n in range(9))
    tree = {f"pkg/part{n}.py": f"{heads}def last() -> None:\n{BODY}" for n in range(150)}
    folder = plant(tree)

    def levels(*words: str) -> set[str]:
        return {
            str(one.level) for one in api.parse(sutler("pack", *words, cwd=folder).out).sections
        }

    assert levels("--max-bytes", "60000") == {"full", "outline"}
    assert levels("--max-bytes", "60000", "-n") == {"full"}
    assert levels("--max-bytes", "210000") == {"full"}


def test_a_pack_of_a_large_project_outlines_the_rest(sutler: Sutler, plant: Plant) -> None:
    """A budget that holds less than an eighth of the files has outlines, whatever its size."""
    heads = "".join(f"def step{n}(value: int) -> int: ...\n\n\n" for n in range(9))
    tree = {f"pkg/part{n}.py": f"{heads}def last() -> None:\n{BODY * 8}" for n in range(70)}
    ran = sutler("pack", "--max-bytes", "210000", cwd=plant(tree))
    assert {one.level for one in api.parse(ran.out).sections} == {"full", "outline"}


def test_documents_leave_room_for_code(sutler: Sutler, plant: Plant) -> None:
    """A document takes a tenth of a budget that has no room for all: its head, never its tail."""
    readme = "".join(f"Sentence number {n} of the story.\n" for n in range(400))
    folder = plant({**TREE, "README.md": readme})
    pack = api.parse(sutler("pack", "--max-bytes", "14000", cwd=folder).out)
    first = next(one for one in pack.sections if one.path == "README.md")
    assert first.level == "head_tail"
    assert len(first.body.text) <= 1_500
    assert "number 399" not in first.body.text
    assert any(one.level == "full" for one in pack.sections)


def test_a_goal_has_a_rest_too(sutler: Sutler, plant: Plant) -> None:
    """`list`, the default, names the next regions and companions; `outline` adds outlines of the
    ranked files; `none` only counts."""
    folder = plant(TREE)
    goal = ["pack", "--goal", "work3 returns the text of value3", "--rest"]
    listed, outlined, nothing = (
        api.parse(sutler(*goal, word, cwd=folder).out) for word in ("list", "outline", "none")
    )
    assert listed.listing.next
    names = nothing.listing
    assert (names.next, names.companions, names.paths) == ((), (), ())
    shown = {str(one.path): one.level for one in outlined.sections}
    assert [level for level in shown.values() if level != "outline"]
    assert {level for path, level in shown.items() if path != "pkg/part3.py"} == {"outline"}
    assert set(shown) == set(TREE)
    for pack in (listed, outlined, nothing):
        assert len(pack.sections) + pack.listing.unnamed == len(TREE)


def test_outlines_and_line_numbers_are_refused(sutler: Sutler, plant: Plant) -> None:
    """An outline has the file's own numbers already."""
    ran = sutler("pack", "--rest", "outline", "-n", cwd=plant(TREE))
    assert (ran.code, "-n and outlines are given together" in ran.err) == (2, True)
