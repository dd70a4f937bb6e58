from __future__ import annotations

from sutler.ranking.history import message_scores, recency_scores, summarise
from sutler.scan.commits import Commit

PAST = summarise(
    [
        Commit("3", "Fix rounding of totals", ("cart.py", "money.py")),
        Commit("2", "Merge", ()),
        Commit("1", "Paint the door", ("door.py",)),
        Commit("0", "Import everything", tuple(f"f{i}.py" for i in range(60))),
    ]
)
DOCS = {number: number for number in range(len(PAST.paths))}


def score(table: dict[int, float], path: str) -> float:
    return table.get(PAST.paths.index(path), 0.0)


def test_commits_like_the_task_speak_for_their_files() -> None:
    table = message_scores(PAST, {"round": 1.0, "total": 1.0}, DOCS)
    assert score(table, "cart.py") > 0
    assert score(table, "door.py") == 0


def test_younger_changes_count_more() -> None:
    table = recency_scores(PAST, DOCS)
    assert score(table, "cart.py") > score(table, "f0.py")


def test_a_commit_that_touches_everything_says_nothing() -> None:
    assert message_scores(PAST, {"import": 1.0, "everyth": 1.0}, DOCS) == {}


def test_no_history_is_fine() -> None:
    past = summarise([])
    assert (message_scores(past, {"a": 1.0}, {}), recency_scores(past, {})) == ({}, {})
