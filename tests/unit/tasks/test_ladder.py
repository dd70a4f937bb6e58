from __future__ import annotations

from sutler.tasks.ladder import rungs_of


def test_a_short_file_has_one_rung() -> None:
    assert [rung.level for rung in rungs_of("a\nb\n")] == ["full"]


def test_a_long_file_has_a_head_that_says_what_is_missing() -> None:
    text = "\n".join(f"line {n}" for n in range(1, 101))
    rungs = rungs_of(text)
    assert [(rung.level, rung.text.count("line")) for rung in rungs] == [
        ("full", 100),
        ("head", 81),
        ("head", 41),
    ]
    assert rungs[-1].text.endswith("line 40\n... [lines 41-100 of 100 not shown] ...")


def test_an_excerpt_shows_the_header_and_the_region() -> None:
    text = "\n".join(f"line {n}" for n in range(1, 501))
    excerpt = [rung for rung in rungs_of(text, [250, 9999]) if rung.level == "excerpt"][-1]
    assert "line 1\n" in excerpt.text
    assert "line 250\n" in excerpt.text
    assert "... [lines 21-237 of 500 not shown] ..." in excerpt.text
    assert "line 300\n" not in excerpt.text


def test_long_lines_are_clipped() -> None:
    assert len(rungs_of("x" * 100_000)[-1].text) < 5_000
