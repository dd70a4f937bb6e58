"""Σ cost ≤ limit, on the very text, for any material, format, unit and limit."""

from __future__ import annotations

import os
import random
from hashlib import sha256

import pytest

from sutler.budget.fit import Ledger, WholeText, fit_whole_text, worth_loading
from sutler.budget.selection import Budget, Choice, Cut, Material, Request
from sutler.errors import RefusedError
from sutler.formats import FORMATS as TABLE
from sutler.formats import parse
from sutler.formats.document import CleanText, Format, Preamble
from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import FileEntry
from sutler.scan.text import Loaded
from sutler.setting_table import Unit
from sutler.tokens.counter import Counter, counter_for

FUZZ = int(os.environ.get("SUTLER_FUZZ", "1"))
FORMATS: tuple[Format, ...] = tuple(TABLE)
UNITS: tuple[Unit, ...] = ("chars", "bytes", "tokens")
WORDS = (
    "def ",
    "x = 1\n",
    "```",
    "<file>",
    "é",
    "字",
    "😀",
    "\n",
    "  ",
    "return None\n",
    "a" * 50,
    "\r",
    "{}",
    "<|x|>",
)


def texts(rng: random.Random) -> dict[str, str]:
    tree = {}
    for number in range(rng.randint(0, 12)):
        folder = rng.choice(("", "src/", "docs/", "tests/deep/er/"))
        name = f"{folder}{rng.choice(('main', 'readme', 'a b', 'é'))}{number}{rng.choice(('.py', '.md', '', '.lock'))}"
        tree[name] = "".join(rng.choice(WORDS) for _ in range(rng.choice((0, 3, 40, 400))))
    return tree


def choices_of(tree: dict[str, str]) -> list[Choice]:
    rows = []
    for position, path in enumerate(sorted(tree)):
        entry = FileEntry(RelPath(path), len(tree[path].encode()))
        rows.append(Choice(entry, facts_of(path), position, 0.0, "test"))
    return rows


def material(choice: Choice, text: str) -> Material:
    data = text.encode()
    loaded = Loaded(choice.path, text, sha256(data).hexdigest(), len(data))
    return Material(choice, loaded, CleanText(text))


def fitted(tree: dict[str, str], request: Request, preamble: Preamble, count: Counter) -> WholeText:
    choices = choices_of(tree)
    ledger = Ledger(request, count, preamble, len(choices))
    materials = (material(choice, tree[choice.path]) for choice in worth_loading(choices, ledger))
    return fit_whole_text(choices, materials, ledger, preamble)


@pytest.mark.parametrize("seed", range(20))
def test_the_text_never_costs_more_than_the_limit(seed: int) -> None:
    """500 random trees and limits a seed, 10,000 in all: within the limit, or refused because of
    required text.
    """
    rng = random.Random(seed)
    refused = 0
    for _ in range(500 * FUZZ):
        tree = texts(rng)
        unit = rng.choice(UNITS)
        limit = rng.choice((1, 100, 300, 600, 1_000, 2_000, 5_000, 20_000)) + rng.randint(0, 300)
        request = Request(
            budget=Budget(limit, unit),
            format=rng.choice(FORMATS),
            line_numbers=rng.random() < 0.2,
            cut=Cut(max_file_bytes=rng.choice((0, 100, 50_000)), head_lines=5, tail_lines=2),
        )
        goal = CleanText(rng.choice(("", "mend the wheel", "x" * 500)))
        count = counter_for(unit, "o200k_base")
        try:
            done = fitted(tree, request, Preamble("p", goal), count)
        except RefusedError as error:
            assert "required text costs" in str(error)
            refused += 1
            continue
        assert count(done.text) == done.used <= limit
        accounted = (
            len(done.fitted.sections) + len(done.fitted.listing.paths) + done.fitted.listing.unnamed
        )
        assert accounted == len(tree)
        assert parse(done.text).preamble.goal == goal
    assert refused < 400 * FUZZ


def test_more_budget_never_shows_less() -> None:
    """The bytes of files shown grow with the limit, and a limit above the whole shows the whole."""
    tree = {f"src/f{number}.py": f"x = {number}\n" * 50 for number in range(20)}
    shown = []
    for limit in range(1_500, 30_000, 1_500):
        request = Request(budget=Budget(limit, "chars"))
        done = fitted(tree, request, Preamble("p"), len)
        shown.append(sum(section.length for section in done.fitted.sections))
    assert shown == sorted(shown)
    assert shown[-1] == sum(map(len, tree.values()))
