from bench.figures import Row
from bench.growth import judge, show


def rows(times: list[float]) -> list[Row]:
    return [
        Row(f"t x{i}", "", "full", "sutler", "cold", "1.0", 3, t, t, 20.0, 0.1)
        for i, t in enumerate(times)
    ]


def test_growth_over_eight_times_the_tree() -> None:
    (found,) = judge(rows([1.0, 2.0, 8.5]), [1, 2, 8])
    assert (found.value, found.word) == (8.5, "met")


def test_the_bar_scales_with_the_factors_measured() -> None:
    (found,) = judge(rows([1.0, 4.6]), [1, 4])
    assert (found.must, found.word) == (4.5, "NOT met")


def test_show_counts_from_the_first_factor() -> None:
    assert "2.50" in show(rows([2.0, 5.0]), [1, 2]).splitlines()[3]
