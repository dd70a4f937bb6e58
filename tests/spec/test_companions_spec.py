"""Beside the ranked files a pack names what a change of the best one usually needs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from sutler.formats import FORMATS, parse
from sutler.formats.document import Pack
from sutler.pack.project import Project
from tests.conftest import Sutler

GOAL = "`refund_order` pays twice\n\nCalling refund_order of the ledger pays the refund twice."
LEDGER = (
    "".join(f"def entry_{i}(book):\n    return book.entries[{i}]\n\n\n" for i in range(60))
    + "def refund_order(order):\n    order.pay(-order.total)\n    return order.pay(-order.total)\n"
)
TREE = {
    "CHANGELOG.md": "# Changes\n",
    "shop/ledger.py": LEDGER,
    "shop/rates.py": "RATE = 3\n",
    "shop/door.py": "def open_door():\n    return True\n",
    "tests/test_door.py": "def test_door():\n    assert True\n",
    "tests/test_ledger.py": "from shop.ledger import refund_order\n\n\n"
    "def test_a_refund():\n    assert refund_order(None) is None\n\n\n"
    + "".join(f"def test_entry_{i}():\n    assert {i}\n\n\n" for i in range(40)),
}


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project whose commits to the ledger touch the rates, and every second one the log."""
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    for number in range(6):
        (tmp_path / "shop/ledger.py").write_text(f"{LEDGER}# {number}\n")
        (tmp_path / "shop/rates.py").write_text(f"RATE = {number}\n")
        if number % 2:
            (tmp_path / "CHANGELOG.md").write_text(f"# Changes\n\n{number}\n")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-qm", f"change {number}")
    return tmp_path


def pack_of(shop: Path, **options: object) -> Pack:
    return parse(Project(str(shop)).pack(goal=GOAL, **options).text())  # type: ignore[arg-type]


@pytest.mark.parametrize("format", FORMATS)
def test_the_manifest_names_companions_that_are_not_shown(shop: Path, format: str) -> None:
    pack = pack_of(shop, format=format)
    assert pack.listing.companions == (
        "tests/test_ledger.py:4-7: test of shop/ledger.py",
        "shop/rates.py: changed with shop/ledger.py in 6 of its 6 commits",
        "CHANGELOG.md: changelog, touched by 67 % of commits to the source",
    )


def test_the_list_keeps_its_share_of_a_small_budget(shop: Path) -> None:
    """It is paid for before the regions."""
    pack = pack_of(shop, max_tokens=700)
    assert [section.path for section in pack.sections] == ["shop/ledger.py"]
    assert pack.listing.companions[0] == "tests/test_ledger.py:4-7: test of shop/ledger.py"


def test_without_a_history_only_the_test_is_a_companion(shop: Path) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=shop, check=True, timeout=60)
    pack = pack_of(shop)
    assert pack.listing.companions == ("tests/test_ledger.py:4-7: test of shop/ledger.py",)


def test_an_abstaining_pack_has_no_companions(shop: Path) -> None:
    goal = "The espresso machine leaks\n\nWater drips over the marble floor while descaling."
    pack = parse(Project(str(shop)).pack(goal=goal).text())
    assert pack.listing.abstained
    assert pack.listing.companions == ()


def test_rank_lists_companions_apart(shop: Path, sutler: Sutler) -> None:
    text = sutler("rank", GOAL, cwd=shop).text
    assert "\nalso           tests/test_ledger.py:4-7: test of shop/ledger.py\n" in text
    body = json.loads(sutler("rank", GOAL, "--json", cwd=shop).out)
    assert [one["path"] for one in body["companions"]] == [
        "tests/test_ledger.py",
        "shop/rates.py",
        "CHANGELOG.md",
    ]


def test_the_summary_names_them(shop: Path, sutler: Sutler) -> None:
    assert (
        "also  tests/test_ledger.py:4-7: test of shop/ledger.py"
        in sutler("pack", "--goal", GOAL, cwd=shop).err
    )
