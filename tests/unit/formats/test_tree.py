from __future__ import annotations

from sutler.formats.tree import DEEPEST, build, draw, drawing_limit, drawn_within

PATHS = ["README.md", "src/a.py", "src/lib/b.py", "src/lib/c.py"]


def test_draws_directories_before_files_each_level_sorted() -> None:
    assert draw(build(PATHS)) == (
        "├── src/\n│   ├── lib/\n│   │   ├── b.py\n│   │   └── c.py\n│   └── a.py\n└── README.md\n"
    )


def test_directories_only_carry_counts() -> None:
    assert draw(build(PATHS), files=False) == "└── src/ (3 files)\n    └── lib/ (2 files)\n"


def test_levels_below_the_depth_are_counts() -> None:
    assert draw(build(PATHS), depth=1) == "├── src/ (3 files)\n└── README.md\n"


def test_names_stay_on_one_line() -> None:
    assert draw(build(["a\nb"])) == '└── "a\\nb"\n'


def test_a_very_deep_tree_is_drawn_to_a_limit() -> None:
    text = draw(build(["/".join(["d"] * 5_000) + "/x"]))
    assert len(text.splitlines()) == DEEPEST


def test_the_empty_tree_is_empty() -> None:
    assert draw(build([])) == ""


def test_detail_gives_way_to_the_limit() -> None:
    paths = [f"d{i // 10}/f{i}.py" for i in range(200)]
    assert drawn_within(paths, len, None) == draw(build(paths))
    assert drawn_within(paths, len, 600) == draw(build(paths), files=False)
    assert drawn_within(paths, len, 5) == ""
    for limit in range(0, 6_000, 97):
        assert len(drawn_within(paths, len, limit)) <= limit


def test_a_task_leaves_less_room_for_the_drawing() -> None:
    assert drawing_limit(None, task=True) is None
    assert drawing_limit(40_000, task=False) == 4_000
    assert drawing_limit(40_000, task=True) == 500
