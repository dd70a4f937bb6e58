"""A summary pack as Markdown, for people and models: as many of its facts as a budget allows, in
order of worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from sutler.errors import RefusedError
from sutler.paths import quote
from sutler.survey.evidence import one_line
from sutler.survey.wire import Dependency, KeyFileSummary, Manifest, SummaryPack
from sutler.tokens.counter import Counter

MAX_DEPENDENCIES = 100


def summary_markdown(pack: SummaryPack, goal: str, limit: int | None, count: Counter) -> str:
    """The summary inside `limit`, counted on the very text; what comes last gives way first."""
    blocks = list(_blocks(pack))

    def text(kept: int) -> str:
        left = len(blocks) - kept
        tail = f"\n[{left:,} more entries left out for the budget]\n" if left else ""
        return "".join(blocks[:kept]) + tail + (f"\n## Goal\n\n{goal.rstrip()}\n" if goal else "")

    if limit is None or count(text(len(blocks))) <= limit:
        return text(len(blocks))
    low, high = 0, len(blocks)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(text(middle)) <= limit else (low, middle)
    while low and count(text(low)) > limit:  # counts of tokens need not grow with every block
        low -= 1
    if not low:
        raise RefusedError(
            f"the summary's first lines need {count(text(1)):,} of {limit:,} allowed",
            rule="a pack never exceeds its budget",
            next_step="allow more",
        )
    return text(low)


def _blocks(pack: SummaryPack) -> Iterator[str]:
    yield _head(pack)
    summary = pack.repo_summary
    if summary.description:
        yield (
            "\n## Description\n\n"
            + "\n\n".join(map(_line, summary.description.split("\n\n")))
            + "\n"
        )
    facts = (
        ("architecture", (summary.architecture_pattern,)),
        ("technologies", summary.key_technologies),
        ("patterns", summary.notable_patterns),
        ("concerns", summary.potential_concerns),
    )
    yield from _titled(
        "Facts", [f"- {name}: {_list(values)}\n" for name, values in facts if any(values)]
    )
    yield from _titled("Dependencies", _dependencies(pack.manifest.dependencies))
    starts = [
        f"- {quote(one.path)} ({one.type})"
        + (f": {_line(one.description)}" if one.description else "")
        + (f"\n  {_list(one.routes_or_commands)}" if one.routes_or_commands else "")
        + "\n"
        for one in pack.entrypoints
    ]
    yield from _titled("Entry points", starts)
    yield from _titled("Key files", _apart([_key(one) for one in pack.key_files_summary]))
    risks = [
        f"- {quote(one.path)} ({one.risk_type}): {_line(one.description)}"
        + (f" [{_list(one.indicators)}]" if one.indicators else "")
        + "\n"
        for one in pack.risk_hotspots
    ]
    yield from _titled("Risk hotspots", risks)
    files = [
        f"- {quote(row.path)} ({row.category}, {row.size_bytes:,} bytes)\n"
        for row in pack.file_index
        if row.exclusion_reason is UNSET or row.size_bytes
    ]
    yield from _titled("Files", files)


def _head(pack: SummaryPack) -> str:
    manifest, metadata = pack.manifest, pack.metadata
    lines = [f"# {_line(manifest.project_name)}: summary", ""]
    lines += [f"{_line(manifest.purpose_guess)}", ""] if manifest.purpose_guess else []
    lines += [f"- {name}: {_line(value)}" for name, value in _rows(manifest)]
    lines.append(
        f"- files: {metadata.total_files_scanned:,} scanned, {metadata.files_included:,} summarised"
    )
    return "\n".join(lines) + "\n"


def _rows(manifest: Manifest) -> list[tuple[str, str]]:
    rows = [
        ("type", manifest.project_type),
        ("structure", manifest.structure_summary),
        ("build system", manifest.build_system),
        ("test framework", manifest.test_framework),
        ("entry points", ", ".join(manifest.entry_points)),
    ]
    return [(name, value) for name, value in rows if isinstance(value, str) and value]


def _dependencies(items: Sequence[Dependency]) -> list[str]:
    lines = [
        f"- {_line(item.name)}"
        + (f" {_line(item.version)}" if item.version is not UNSET else "")
        + (f" ({item.type})" if item.type != "runtime" else "")
        + "\n"
        for item in items[:MAX_DEPENDENCIES]
    ]
    more = len(items) - MAX_DEPENDENCIES
    return [*lines, f"- and {more:,} more\n"] if more > 0 else lines


def _key(one: KeyFileSummary) -> str:
    named = (("exports", one.exports), ("imports", one.dependencies), ("notable", one.notable_code))
    facts = "".join(f"- {name}: {_list(values)}\n" for name, values in named if values)
    parts = (
        f"### {quote(one.path)} ({one.category})\n",
        f"{_line(one.summary)}\n" if one.summary else "",
        facts,
    )
    return "\n".join(part for part in parts if part)


def _titled(title: str, entries: Sequence[str]) -> Iterator[str]:
    """The entries one by one; the title goes with the first, so that none stands over nothing."""
    for number, entry in enumerate(entries):
        yield f"\n## {title}\n\n{entry}" if number == 0 else entry


def _apart(entries: Sequence[str]) -> list[str]:
    """Entries with headings of their own, a blank line between them."""
    return [f"\n{entry}" if number else entry for number, entry in enumerate(entries)]


def _list(values: Sequence[str]) -> str:
    return ", ".join(map(_line, values))


def _line(text: str) -> str:
    return one_line(text, 2_000)
