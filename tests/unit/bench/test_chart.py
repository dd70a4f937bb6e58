from xml.etree import ElementTree

from bench.chart import Bar, Group, draw, groups
from bench.figures import Row

SVG = "{http://www.w3.org/2000/svg}"


def row(tool: str, wall: float, work: str = "raw", runs: int = 5) -> Row:
    return Row("small", "small", work, tool, "-", "1.0", runs, wall, wall, 20.0, 3.0)


def test_shortest_first_without_the_floor_and_without_failures() -> None:
    rows = [row("yek", 2.0), row("sutler", 1.0), row("floor", 0.1), row("gitingest", 0.0, runs=0)]
    (group,) = groups(rows)
    assert [(bar.label, bar.ours) for bar in group.bars] == [
        ("sutler 1.0", True),
        ("yek 1.0", False),
    ]


def test_each_class_is_a_group_of_its_own() -> None:
    assert [
        g.title for g in groups([row("a", 1.0), row("b", 1.0, "full"), row("c", 1.0, "budgeted")])
    ] == [
        "small, raw: wall time",
        "small, full: wall time",
    ]


def test_drawing_is_xml_with_bars_to_scale() -> None:
    bars = (Bar("a <b> & c", 1.0, "1 s", True), Bar("d", 4.0, "4 s", False))
    root = ElementTree.fromstring(draw([Group("t", bars)]))  # noqa: S314 - our own drawing
    widths = [float(rect.attrib["width"]) for rect in root.iter(SVG + "rect")]
    assert widths[1] == 4 * widths[0]
    assert "a <b> & c" in [text.text for text in root.iter(SVG + "text")]


def test_drawing_follows_the_page_into_the_dark() -> None:
    assert "prefers-color-scheme: dark" in draw([Group("t", (Bar("a", 0.0, "0 s", False),))])
