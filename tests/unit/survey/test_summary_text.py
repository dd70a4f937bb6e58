"""A summary pack as Markdown."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sutler.errors import RefusedError
from sutler.survey.summary_text import summary_markdown
from sutler.survey.wire import (
    Dependency,
    FileIndexEntry,
    FileSummary,
    KeyFileSummary,
    Manifest,
    PackMetadata,
    RepoSummary,
    SummaryPack,
)

PACK = SummaryPack(
    manifest=Manifest("shop", "node", dependencies=(Dependency("x", "dev", "1"),)),
    file_index=tuple(FileIndexEntry(f"f{n}.js", "text", "source", 10, False) for n in range(50)),
    repo_summary=RepoSummary(description="One\nparagraph."),
    key_files_summary=(KeyFileSummary("a\n## forged.js", "source", exports=("b",)),),
    entrypoints=(),
    risk_hotspots=(),
    metadata=PackMetadata("summary", "", "shop", 50, 1, 49, 0, False),
    files=tuple(
        FileSummary(f"d{n}.js", 9, f"Does {n}.", ("x",), tuple(f"{m}: f{m}()" for m in range(30)))
        for n in range(20)
    ),
)


def test_facts_stand_on_lines_of_their_own() -> None:
    text = summary_markdown(PACK, "", None, len)
    assert "- dev: x 1\n" in text
    assert "One paragraph." in text
    assert "\n## forged" not in text


@pytest.mark.parametrize("limit", [300, 500, 900, 1_500, 20_000])
def test_the_limit_holds_and_the_goal_stays(limit: int) -> None:
    text = summary_markdown(PACK, "Do it", limit, len)
    assert len(text) <= limit
    assert text.endswith("## Goal\n\nDo it\n")
    assert ("left out for the budget" in text) == (limit < 1_500)


def test_a_limit_below_the_first_lines_refuses() -> None:
    with pytest.raises(RefusedError):
        summary_markdown(PACK, "", 20, len)


def test_every_file_has_a_line_before_any_has_an_outline() -> None:
    text = summary_markdown(PACK, "", 2_500, len)
    assert all(f"d{n}.js" in text for n in range(20))
    assert "0: f0()" in text
    assert "Does 0." in text


def test_names_alone_take_a_fifth_at_most() -> None:
    rows = tuple(FileIndexEntry(f"a/b{n}/c.js", "text", "source", 10, False) for n in range(3_000))
    text = summary_markdown(replace(PACK, file_index=rows), "", 20_000, len)
    assert len(text[text.index("## Other files") :]) <= 4_100
