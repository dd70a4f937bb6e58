"""A review is small by default: the diff, the changed functions whole, users and tests by name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sutler.formats import FORMATS, parse
from sutler.formats.document import Section
from sutler.pack.project import Project
from sutler.tokens.counter import counter_for
from tests.conftest import Ran, Sutler

STEPS = "".join(f"    total += order.items[{i}]\n" for i in range(12))
SHOP = (
    '"""The shop."""\n\n\ndef refund_order(order):\n    total = 0\n'
    + STEPS
    + "    return total\n\n\n"
    + "".join(f"def entry_{i}(book):\n    return book.entries[{i}]\n\n\n" for i in range(20))
)
TREE = {
    "shop/ledger.py": SHOP,
    "shop/desk.py": "from shop.ledger import refund_order\n\n\n"
    "def take_back(order):\n    return refund_order(order)\n",
    "shop/window.py": "def clean_window(window):\n    window.clean()\n",
    "tests/test_ledger.py": "from shop.ledger import refund_order\n\n\n"
    "def test_refund_order():\n    assert refund_order(None)\n",
    "uv.lock": "version = 1\n",
    "notes.md": "# Notes\n",
}


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "start")
    (tmp_path / "shop/ledger.py").write_text(SHOP.replace("items[11]", "items[-1]"))
    (tmp_path / "shop/fresh.py").write_text("def fresh_bread():\n    return 'bread'\n")
    (tmp_path / "uv.lock").write_text("version = 2\nmore = 1\n")
    return tmp_path


def review(shop: Path, **options: object) -> dict[str, Section]:
    text = Project(str(shop)).pack(since="HEAD", **options).text()  # type: ignore[arg-type]
    return {section.path: section for section in parse(text).sections}


def test_a_review_shows_the_diff_and_the_changed_functions_whole(shop: Path) -> None:
    sections = review(shop)
    assert list(sections) == ["git/changes.diff", "git/users.txt", "shop/ledger.py"]
    assert "+    total += order.items[-1]\n" in sections["git/changes.diff"].body.text
    shown = sections["shop/ledger.py"].body.text
    assert "def refund_order(order):" in shown
    assert "items[0]" in shown
    assert "def entry_7" not in shown


def test_a_review_names_users_and_tests(shop: Path) -> None:
    text = review(shop)["git/users.txt"].body.text
    assert "used by shop/desk.py:4 take_back\n" in text
    assert "tested by tests/test_ledger.py:4 test_refund_order\n" in text
    assert "window" not in text


def test_a_use_outside_functions_counts_where_no_function_uses_it(shop: Path) -> None:
    code = "import window\n\n\ndef wipe(pane):\n    pane.wipe_all()\n    return 0\n\n\nTABLE = {'w': wipe}\n"
    (shop / "shop/wiper.py").write_text(code)
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "wiper")
    (shop / "shop/wiper.py").write_text(code.replace("return 0", "return 1"))
    text = review(shop)["git/users.txt"].body.text
    assert "shop/wiper.py:4-8 wipe\n  used by :9\n  no test names it\n" in text


def test_a_new_file_is_shown_once(shop: Path) -> None:
    """The diff holds all of it."""
    sections = review(shop)
    assert "+def fresh_bread():" in sections["git/changes.diff"].body.text
    assert "shop/fresh.py" not in sections


def test_a_lock_file_is_one_line_of_the_diff(shop: Path) -> None:
    text = review(shop)["git/changes.diff"].body.text
    assert "Lock file uv.lock: 2 lines added, 1 removed\n" in text
    assert "version = 2" not in text


@pytest.mark.parametrize("format", FORMATS)
def test_a_review_is_about_two_thousand_tokens_beyond_the_diff(shop: Path, format: str) -> None:
    body = "".join(
        f"def part_{i}(order):\n{STEPS}    return {i}\n\n\n" for i in range(60)
    )  # 20,000 tokens
    (shop / "shop/window.py").write_text(body)
    git(shop, "commit", "-qam", "more")
    (shop / "shop/window.py").write_text(body.replace("items[6]", "items[7]"))
    pack = Project(str(shop)).pack(since="HEAD", format=format)
    parsed = parse(pack.text())
    count = counter_for("tokens", "o200k_base")
    beyond = {str(s.path): count(s.body.text) for s in parsed.sections}
    assert 500 < sum(beyond.values()) - beyond["git/changes.diff"] < 2_300
    assert parsed.listing.next[0].startswith("shop/window.py:")


def test_a_long_diff_is_whole(shop: Path) -> None:
    (shop / "long.txt").write_text("".join(f"line {i} of a long text\n" for i in range(4_000)))
    diff = review(shop)["git/changes.diff"]
    assert diff.level == "full"
    assert "+line 2000 of a long text\n" in diff.body.text


def test_fill_shows_the_changed_files_whole(shop: Path) -> None:
    sections = review(shop, fill=True)
    assert sections["shop/ledger.py"].level == "full"
    assert "shop/fresh.py" in sections
    assert "git/changes.diff" not in sections


def test_a_goal_finds_more_than_the_diff(shop: Path) -> None:
    """A half-finished change: the diff and the changed functions, then what the goal needs."""
    sections = review(shop, goal="`clean_window` does not clean the window")
    assert "def refund_order(order):" in sections["shop/ledger.py"].body.text
    assert "def clean_window(window):" in sections["shop/window.py"].body.text


def test_review_is_since_head(shop: Path, sutler: Sutler) -> None:
    def ran(*words: str) -> Ran:
        return sutler("pack", *words, cwd=shop)

    assert ran("--review").out == ran("--since", "HEAD").out
    assert ran("--review").code == 0


def test_a_clean_tree_says_so(shop: Path, sutler: Sutler) -> None:
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "all")
    ran = sutler("pack", "--review", cwd=shop)
    assert ran.code == 0
    assert [section.path for section in parse(ran.out).sections] == ["git/changes.diff"]
    assert "No file differs from HEAD." in ran.text
    assert "left out for the budget" not in ran.err


def test_line_numbers_of_a_review_are_the_files(shop: Path) -> None:
    text = Project(str(shop)).pack(since="HEAD", line_numbers=True).text()
    assert "    4| def refund_order(order):" in text


def test_a_review_has_the_same_bytes_cold_and_warm(shop: Path, sutler: Sutler) -> None:
    cold = sutler("pack", "--review", cwd=shop).out
    assert sutler("pack", "--review", cwd=shop).out == cold
    assert sutler("cache", "clear", cwd=shop).code == 0
    assert sutler("pack", "--review", cwd=shop).out == cold
