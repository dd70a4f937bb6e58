from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

import pytest
from msgspec.structs import replace

from sutler.budget.fit import (
    REST_SHARE,
    Ledger,
    WholeText,
    fit_whole_text,
    rungs,
    trimmed,
    worth_loading,
)
from sutler.budget.selection import OWN_CODE, Budget, Choice, Cut, Material, Request
from sutler.errors import RefusedError
from sutler.formats.document import CleanText, Preamble
from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import Excluded, FileEntry
from sutler.scan.text import Loaded
from sutler.tokens.counter import Counter

LONG = "".join(f"line {number}\n" for number in range(1_000))


def material(path: str, text: str, size: int | None = None) -> Material:
    data = text.encode()
    entry = FileEntry(RelPath(path), len(data), mode=0o100755)
    choice = Choice(entry, facts_of(path), 4, 0.0, "why")
    return Material(
        choice,
        Loaded(entry.path, text, sha256(data).hexdigest(), size or len(data)),
        CleanText(text),
    )


def compose(texts: dict[str, str], limit: int, read: list[str] | None = None) -> WholeText:
    materials = [material(path, text) for path, text in texts.items()]
    return fitted_whole(
        materials, Request(budget=Budget(limit, "chars")), len, [] if read is None else read
    )


def fitted_whole(
    materials: list[Material], request: Request, count: Counter, read: list[str]
) -> WholeText:
    """Fit as the pipeline does: files are loaded while the budget is being spent."""
    by_path = {one.choice.path: one for one in materials}
    choices = [one.choice for one in materials]
    ledger = Ledger(request, count, Preamble("p"), len(choices))

    def loaded() -> Iterator[Material | Excluded]:
        for choice in worth_loading(choices, ledger):
            read.append(choice.path)
            yield by_path[choice.path]

    return fit_whole_text(choices, loaded(), ledger, Preamble("p"))


def test_a_whole_file_keeps_the_raw_digest() -> None:
    one = material("a.py", "x\n")
    section = next(iter(rungs(one, Cut())))
    assert (section.level, section.sha256, section.length, section.mode) == (
        "full",
        one.loaded.digest,
        2,
        0o100755,
    )


def test_a_file_over_the_size_keeps_head_and_tail() -> None:
    section = next(iter(rungs(material("a.py", LONG), Cut(max_file_bytes=100))))
    assert section.level == "head_tail"
    assert section.body.text.startswith("line 0\n")
    assert section.body.text.endswith("line 999\n")
    assert "truncated: 850 lines" in section.body.text


CODE = "".join(f"def step_{number}(value):\n    return value + {number}\n" for number in range(99))


def test_code_over_the_size_keeps_its_outline() -> None:
    """The head of a large module is imports, its tail says nothing: the outline says what it is."""
    section, *others = rungs(material("a.py", CODE), Cut(max_file_bytes=100))
    assert (section.level, others) == ("outline", [])
    assert section.body.text.splitlines()[:2] == ["1: def step_0(value)", "3: def step_1(value)"]


def test_lines_of_the_file_are_kept_where_they_are_numbered() -> None:
    cut = Cut(max_file_bytes=100, outlines=False)
    assert next(iter(rungs(material("a.py", CODE), cut))).level == "head_tail"


def test_a_table_in_code_has_no_outline_worth_its_name() -> None:
    table = "TABLE = [\n" + "    0x1, 0x2,\n" * 5_000 + "]\n"
    section = next(iter(rungs(material("a.py", table), Cut(max_file_bytes=100))))
    assert section.level == "head_tail"


def test_a_file_takes_a_fifth_of_a_budget_that_has_no_room_for_all() -> None:
    files = {"first.py": CODE, "second.py": CODE}
    levels = [section.level for section in compose(files, 5 * len(CODE) // 4).fitted.sections]
    assert levels == ["outline", "outline"]
    roomy = compose({**files, "third.py": CODE}, 5 * len(CODE) // 2).fitted.sections
    assert [section.level for section in roomy] == ["full", "outline", "outline"]
    alone = compose({"first.py": CODE}, 2 * len(CODE)).fitted.sections
    assert [section.level for section in alone] == ["full"]


def test_a_key_file_grows_before_other_files_than_code_enter() -> None:
    """The core of a project is worth more than its documents, whatever its size."""
    core, near, guide = (material(name, CODE) for name in ("core.py", "near.py", "guide.py"))
    core = replace(core, choice=replace(core.choice, priority=OWN_CODE - 1))
    near = replace(near, choice=replace(near.choice, priority=OWN_CODE))
    guide = replace(guide, choice=replace(guide.choice, priority=OWN_CODE + 1))
    request = Request(
        budget=Budget(5 * len(CODE) // 2, "chars"), cut=Cut(max_file_bytes=len(CODE) // 2)
    )
    done = fitted_whole([core, near, guide], request, len, [])
    levels = {str(section.path): section.level for section in done.fitted.sections}
    assert levels == {"core.py": "full", "near.py": "outline", "guide.py": "outline"}


def test_no_file_is_read_for_the_last_part_of_a_large_budget() -> None:
    """An outline that does not fit would be made for nothing."""
    choices = [material("a.py", "a = 1\n").choice]
    ledger = Ledger(Request(budget=Budget(100_000, "chars")), len, Preamble("p"), 1)
    ledger.spent = ledger.limit - ledger.limit // REST_SHARE
    assert list(worth_loading(choices, ledger)) == choices
    ledger.spent += 1
    assert list(worth_loading(choices, ledger)) == []


def test_a_named_file_takes_what_it_needs() -> None:
    other = material("b.py", CODE)
    named = material("first.py", CODE)
    named = replace(named, choice=replace(named.choice, priority=0))
    request = Request(budget=Budget(2 * len(CODE), "chars"))
    done = fitted_whole([named, other], request, len, [])
    levels = [(str(section.path), section.level) for section in done.fitted.sections]
    assert levels == [("b.py", "outline"), ("first.py", "full")]


def test_zero_never_cuts() -> None:
    assert next(iter(rungs(material("a.py", LONG), Cut(max_file_bytes=0)))).level == "full"


def test_required_text_over_the_limit_is_refused_with_the_figures() -> None:
    request = Request(budget=Budget(500, "chars"))
    with pytest.raises(
        RefusedError, match=r"required text costs [\d,]+ chars and the budget is 500"
    ) as caught:
        Ledger(request, len, Preamble("p", CleanText("g" * 1_000)), 1)
    assert caught.value.exit_code == 3


def test_files_give_way_in_the_order_of_claim() -> None:
    done = compose({"first.py": "a" * 500, "second.py": "b" * 5_000, "third.py": "c" * 100}, 3_000)
    assert [section.path for section in done.fitted.sections] == ["first.py", "third.py"]
    assert done.fitted.listing.paths == ("second.py",)
    assert [item.reason for item in done.fitted.excluded] == ["budget"]


def test_a_spent_budget_reads_nothing_more() -> None:
    """After patience ran out, files that cannot enter whole are not read."""
    read: list[str] = []
    compose({f"f{number:03}.py": "x" * 9_000 for number in range(200)}, 12_000, read)
    assert len(read) < 50


def test_a_gap_that_looks_large_enough_is_not_tried_for_ever() -> None:
    """Tokens are known only when a file has been read: dense files look as if they would fit, and
    none does.
    """
    materials = [material(f"f{number:04}.py", "x" * 900) for number in range(3_000)]
    read: list[str] = []
    request = Request(budget=Budget(1_800, "tokens"))
    done = fitted_whole(materials, request, lambda text: len(text) // 2, read)
    assert done.fitted.sections
    assert 500 < len(read) < 1_100


def test_trimming_gives_back_names_before_sections() -> None:
    done = compose({"a.py": "a" * 400, "big.py": "b" * 50_000}, 2_500)
    fitted = done.fitted
    less = trimmed(fitted, 1)
    assert (less.listing.paths, less.listing.unnamed) == ((), fitted.listing.unnamed + 1)
    least = trimmed(less, 1)
    assert least.sections == ()
    assert "a.py" in [item.path for item in least.excluded]
