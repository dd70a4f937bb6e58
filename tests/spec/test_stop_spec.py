"""A pack for a goal ends where more lines would be noise, and reads best first."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sutler.errors import UsageError
from sutler.formats import parse
from sutler.pack.project import Project
from tests.conftest import Sutler

GOAL = "`refund_order` pays twice\n\nCalling refund_order of the ledger pays the refund twice."
LEDGER = (
    '"""The ledger."""\n\nimport os\n\n\n'
    + "".join(f"def entry_{i}(book):\n    return book.entries[{i}]\n\n\n" for i in range(60))
    + "def refund_order(order):\n    order.pay(-order.total)\n    return order.pay(-order.total)\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    tree = {
        "README.md": "# Shop\n\nA shop with a ledger.\n",
        "docs/guide.md": "# Guide\n\nHow to open the shop.\n",
        "shop/ledger.py": LEDGER,
        "shop/zebra.py": "".join(f"def stripe_{i}(a):\n    return a\n\n\n" for i in range(200)),
        "shop/door.py": "def open_door():\n    return True\n",
        "tests/test_door.py": "def test_door():\n    assert True\n",
    }
    for name, text in tree.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Project(str(tmp_path))


def test_the_limit_is_a_ceiling(project: Project) -> None:
    """Without a budget a pack for a goal has at most 16,000 tokens, and is not filled to them."""
    pack = project.pack(goal=GOAL)
    text = pack.text()
    assert (pack.report.budget.limit, pack.report.budget.unit) == (16_000, "tokens")
    assert pack.report.used < 1_500
    assert "refund_order(order)" in text
    assert "def entry_7" not in text


def test_a_short_goal_shows_the_best_file_whole_where_no_place_stands_out(
    project: Project,
) -> None:
    """Sixty functions are alike for it, and the first few would be a choice by their place."""
    text = project.pack(goal="the ledger loses an entry").text()
    assert all(f"def entry_{i}(" in text for i in range(60))
    assert "def stripe_7" not in text


def test_a_reason_quotes_what_is_shown(project: Project) -> None:
    """A constant holds more of the task's words than the function that the pack shows."""
    rules = "\n\nRULES = 'calling refund_order pays the refund of the ledger twice, pays twice'\n"
    rules += "".join(f"\n\ndef exit_{i}(book):\n    return book.exits[{i}]\n" for i in range(60))
    Path(project.place.root, "shop/ledger.py").write_text(LEDGER + rules)
    (section, *_) = parse(project.pack(goal=GOAL, stop=0.3).text()).sections
    shown = [line for span in section.spans for line in range(span.start, span.end + 1)]
    ((start, end),) = re.findall(r"\(lines (\d+)-(\d+)\)", section.reason)
    assert section.path == "shop/ledger.py"
    assert {int(start), int(end)} <= {*shown}


def test_fill_uses_the_budget(project: Project) -> None:
    pack = project.pack(goal=GOAL, max_tokens=1_400, fill=True)
    assert "def entry_7" in pack.text()
    assert pack.report.used > 1_200
    assert pack.report.listing.expected is None


def test_stop_moves_the_threshold(project: Project) -> None:
    def shown(stop: float) -> int:
        return len(project.pack(goal=GOAL, stop=stop).text())

    assert shown(0.0) > shown(0.05) >= shown(0.9)


@pytest.mark.parametrize("stop", ["much", "2", "-1", "nan"])
def test_a_threshold_is_a_probability(project: Project, stop: str) -> None:
    with pytest.raises(UsageError, match="is not a number from 0 to 1"):
        project.pack(goal=GOAL, stop=stop)  # type: ignore[arg-type]  # as on the command line


def test_the_manifest_states_what_is_expected_and_what_is_next(project: Project) -> None:
    pack = project.pack(goal=GOAL)
    listing = parse(pack.text()).listing
    assert listing == pack.report.listing
    assert listing.expected is not None
    assert all(0 <= share <= 1 for share in listing.expected)
    assert all(re.fullmatch(r"\S+:\d+-\d+", place) for place in listing.next)


def test_the_best_file_stands_first(project: Project) -> None:
    """By rank; `stable_order` asks for categories and paths, which prompt caches keep."""

    def paths(**options: bool) -> list[str]:
        text = project.pack(goal=GOAL, max_tokens=12_000, fill=True, **options).text()  # type: ignore[arg-type]
        return [section.path for section in parse(text).sections]

    assert paths()[0] == "shop/ledger.py"
    assert paths(stable_order=True)[0] == "README.md"


@pytest.mark.parametrize("format", ["markdown", "xml", "json"])
def test_line_numbers_are_those_of_the_file(project: Project, format: str) -> None:
    pack = project.pack(goal=GOAL, line_numbers=True, format=format).text()
    (section, *_) = parse(pack).sections
    number = LEDGER.split("\n").index("def refund_order(order):") + 1
    assert section.path == "shop/ledger.py"
    assert section.level == "excerpt"
    assert any(span.start <= number <= span.end for span in section.spans)
    assert f"{number:5d}| def refund_order(order):" in pack


def test_the_same_request_has_the_same_bytes(project: Project) -> None:
    assert project.pack(goal=GOAL).text() == project.pack(goal=GOAL).text()


def test_words_scattered_over_a_tree_are_no_fit_for_a_short_goal(project: Project) -> None:
    """Every word of the goal occurs, each in another file."""
    words = "otter maple violin comet tundra pebble lantern saddle quartz meadow falcon thimble"
    for number in range(600):
        text = f"def part_{number}(order):\n    return order\n"
        word = words.split()[number] if number < 12 else "plain"
        Path(project.place.root, f"shop/part_{number}.py").write_text(f"{text}# {word}\n")
    assert parse(project.pack(goal=words).text()).listing.abstained
    assert not parse(project.pack(goal="the ledger loses an entry").text()).listing.abstained


@pytest.mark.parametrize("format", ["markdown", "xml", "json"])
def test_nothing_fits(project: Project, format: str) -> None:
    """A goal about something else: a short pack that says so, and no least bad files."""
    goal = "The espresso machine leaks\n\nWater drips over the marble floor while descaling."
    pack = project.pack(goal=goal, format=format)
    parsed = parse(pack.text())
    assert parsed.sections == ()
    assert parsed.listing.abstained
    assert pack.report.used < 700
    assert "shop" in parsed.preamble.tree.text


@pytest.mark.parametrize(("name", "abstains"), [("refund_order", False), ("ReplayBuffer", True)])
def test_names_of_code_that_occur_nowhere_speak_against_a_tree(
    project: Project, name: str, abstains: bool
) -> None:
    """Ordinary words are in every tree; names of code are not."""
    goal = (
        f"`{name}` returns the total twice\n\nAfter a restart of the broker `{name}` sends each frame"
        " to every consumer in the partition, and the offsets of the replicas drift apart until the"
        " coordinator elects another leader and truncates the segment.\n"
    )
    assert parse(project.pack(goal=goal).text()).listing.abstained == abstains


def test_a_path_of_the_tree_in_the_goal_is_enough(project: Project) -> None:
    text = project.pack(goal="Look at shop/door.py, please").text()
    assert "def open_door" in text


def test_reasons_name_their_evidence(project: Project) -> None:
    """Names, words and lines that a person can check, in `rank` and in the manifest."""
    best = project.ranking(project.scan(), GOAL).ranked[0]
    number = LEDGER.split("\n").index("def refund_order(order):") + 1
    assert best.reasons[0] == "defines `refund_order`, named in the task"
    assert "`refund_order`" in best.reasons[1]
    assert f"(lines {number}-{number + 2})" in best.reasons[1]
    (section, *_) = parse(project.pack(goal=GOAL).text()).sections
    assert "defines `refund_order`" in section.reason


def test_cite_prints_ranges_and_reasons_only(project: Project, sutler: Sutler) -> None:
    ran = sutler("pack", "--goal", GOAL, "--cite", cwd=Path(project.place.root))
    first = ran.out.decode().splitlines()[0]
    number = LEDGER.split("\n").index("def refund_order(order):") + 1
    place, _, reason = first.partition("  ")
    path, _, lines = place.partition(":")
    start, end = map(int, lines.split("-"))
    assert path == "shop/ledger.py"
    assert start <= number <= end
    assert "refund_order" in reason
    assert b"order.pay" not in ran.out


def test_rank_gives_regions_of_the_file(project: Project, sutler: Sutler) -> None:
    ran = sutler("rank", "--goal", GOAL, "--lines", "--json", cwd=Path(project.place.root))
    region = json.loads(ran.out)["ranked"][0]["regions"][0]
    number = LEDGER.split("\n").index("def refund_order(order):") + 1
    assert (region["name"], region["start"]) == ("refund_order", number)
    assert 0 < region["chance"] < 1


def test_cite_wants_a_goal(sutler: Sutler, tmp_path: Path) -> None:
    ran = sutler("pack", "--cite", cwd=tmp_path)
    assert ran.code == 2
    assert "--goal" in ran.err


def test_why_with_a_goal_says_what_ranks_before(project: Project, sutler: Sutler) -> None:
    """The place, the evidence with lines and signals, and the files that beat it."""
    folder = Path(project.place.root)
    best = sutler("why", "shop/ledger.py", "--goal", GOAL, cwd=folder).out.decode()
    assert "shop/ledger.py: in (excerpt)" in best
    assert "rank: 1" in best
    assert "defines `refund_order`, named in the task" in best
    assert "signals: " in best
    other = json.loads(sutler("why", "README.md", "--goal", GOAL, "--json", cwd=folder).out)
    assert other["rule"] == "stop rule: not likely enough to help with the goal"
    assert other["rank"] > 1
    assert any(one.startswith("shop/ledger.py") for one in other["before"])


def test_what_is_shown_is_not_next(tmp_path: Path) -> None:
    """A small file is shown whole; its other regions are not what the pack left out."""
    text = "".join(
        f"def {name}(order):\n    return order.{name}\n\n\n" for name in ("open", "ship")
    )
    (tmp_path / "refund.py").write_text(
        "def refund_order(order):\n    return order.pay(-1)\n\n\n" + text
    )
    (tmp_path / "zebra.py").write_text("def stripe(a):\n    return a\n" * 90)
    pack = Project(str(tmp_path)).pack(goal=GOAL)
    assert parse(pack.text()).sections[0].level == "full"
    assert not [row for row in pack.report.listing.next if row.startswith("refund.py:")]
