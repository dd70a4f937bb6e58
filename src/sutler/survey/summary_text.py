"""A summary pack as Markdown, for people and models: a ladder within its budget.

Facts of the project come first. Then its files: each as a line while there is room, and the most
used of them as outlines. Files that are not described are counted by folder; names alone take at
most a fifth of the text."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterator, Sequence

from msgspec import UNSET, Struct

from sutler.errors import RefusedError
from sutler.paths import dirname, quote
from sutler.survey import wire
from sutler.survey.evidence import one_line
from sutler.tokens.counter import Counter

MAX_DEPENDENCIES = 100
OUTLINES = (60, 25, 10)
"""Lengths of an outline in lines; the longest that fits is shown."""
PATHS_SHARE = 5
"""Names of files and folders take at most one part in this many of a limited text."""
RISKS_SHARE = 8
SHORT = 240
MAX_FOLDERS = 400


class _File(Struct, frozen=True):
    """A file in several forms, the longest first; the last is one line."""

    forms: tuple[str, ...]


def summary_markdown(pack: wire.SummaryPack, goal: str, limit: int | None, count: Counter) -> str:
    """Return the summary inside `limit`, counted on the very text."""
    fixed, files = list(_facts(pack)), _files(pack)
    risks, folders = list(_risks(pack)), list(_folders(pack))
    end = f"\n## Goal\n\n{goal.rstrip()}\n" if goal else ""
    if limit is None:
        shown = [file.forms[0] for file in files]
        return _joined([*fixed, *_titled("Files", shown), *risks, *folders], 0, end)
    room = limit - count(end) - count(_left_out(999_999))
    kept = _within(fixed, room, count)
    if not kept:
        raise RefusedError(
            f"the summary's first lines need {count(_joined(fixed[:1], 1, end)):,} of "
            f"{limit:,} allowed",
            rule="a pack never exceeds its budget",
            next_step="allow more",
        )
    room -= _cost(kept, count)
    tails = [
        *_within(risks, min(limit // RISKS_SHARE, room), count),
        *_within(folders, min(limit // PATHS_SHARE, room // 2), count),
    ]
    forms = _climb(files, room - _cost(tails, count), count)
    total = len(fixed) + len(files) + len(risks) + len(folders)
    while True:  # tokens of a whole need not be the sum of its parts' tokens
        blocks = [*kept, *_titled("Files", forms), *tails]
        text = _joined(blocks, total - len(blocks), end)
        if count(text) <= limit:
            return text
        drop = tails or forms or kept
        drop.pop()


def _left_out(entries: int) -> str:
    return f"\n[{entries:,} more entries left out for the budget]\n" if entries else ""


def _joined(blocks: Sequence[str], left: int, end: str) -> str:
    return "".join(blocks) + _left_out(left) + end


def _cost(blocks: Sequence[str], count: Counter) -> int:
    return sum(map(count, blocks))


def _within(blocks: Sequence[str], room: int, count: Counter) -> list[str]:
    """Return the first blocks that fit."""
    kept: list[str] = []
    for block in blocks:
        room -= count(block)
        if room < 0:
            break
        kept.append(block)
    return kept


def _climb(files: Sequence[_File], room: int, count: Counter) -> list[str]:
    """Show one line for as many files as fit, then longer forms from the first file on."""
    forms = _within([file.forms[-1] for file in files], room, count)
    costs = [count(form) for form in forms]
    room -= sum(costs)
    for number, file in enumerate(files[: len(forms)]):
        for form in file.forms[:-1]:
            more = count(form) - costs[number]
            if more <= room:
                forms[number], room = form, room - more
                break
    return forms


def _facts(pack: wire.SummaryPack) -> Iterator[str]:
    yield _head(pack)
    summary = pack.repo_summary
    if summary.description:
        paragraphs = "\n\n".join(map(_line, summary.description.split("\n\n")))
        yield f"\n## Description\n\n{paragraphs}\n"
    facts = (
        ("architecture", (summary.architecture_pattern,)),
        ("technologies", summary.key_technologies),
        ("patterns", summary.notable_patterns),
        ("concerns", summary.potential_concerns),
    )
    yield from _titled(
        "Facts", [f"- {name}: {_list(values)}\n" for name, values in facts if any(values)]
    )
    starts = [
        f"- {quote(one.path)} ({one.type})"
        + (f": {_line(one.description)}" if one.description else "")
        + (f"\n  {_list(one.routes_or_commands)}" if one.routes_or_commands else "")
        + "\n"
        for one in pack.entrypoints
    ]
    yield from _titled("Entry points", starts)
    yield from _titled("Dependencies", _dependencies(pack.manifest.dependencies))


def _files(pack: wire.SummaryPack) -> list[_File]:
    """Return key files, then the others that were described, the most used first."""
    outlines = {one.path: one for one in pack.files}
    keys = {one.path: one for one in pack.key_files_summary}
    paths = dict.fromkeys([*keys, *outlines])
    return [_File(tuple(_forms(path, keys.get(path), outlines.get(path)))) for path in paths]


def _forms(
    path: str, key: wire.KeyFileSummary | None, file: wire.FileSummary | None
) -> Iterator[str]:
    users = file.used_by if file is not None else 0
    marks: list[str] = [key.category] if key is not None else []
    marks += [f"used by {users} {'file' if users == 1 else 'files'}"] if users else []
    title = quote(path) + (f" ({', '.join(marks)})" if marks else "")
    about = (file.summary if file is not None else "") or (key.summary if key is not None else "")
    exports = key.exports if key is not None else file.exports if file is not None else ()
    named = (
        (("imports", key.dependencies), ("notable", key.notable_code)) if key is not None else ()
    )
    lines = file.outline if file is not None else ()
    facts = "".join(f"- {name}: {_list(values)}\n" for name, values in named if values)
    if not lines and exports:
        facts = f"- exports: {_list(exports)}\n{facts}"
    head = f"\n### {title}\n\n" + (f"{_line(about)}\n" if about else "")
    for most in OUTLINES if lines else (0,):
        if lines or facts:
            yield head + (f"\n{facts}" if facts else "") + _outline(lines, most)
    short = one_line(
        ": ".join(filter(None, [title, _line(about)]))
        + (f"; exports {_list(exports)}" if exports else ""),
        SHORT,
    )
    yield f"- {short}\n"


def _outline(lines: Sequence[str], most: int) -> str:
    """Return the lines as a block that no line of code can close."""
    if not lines:
        return ""
    left = len(lines) - most
    more = [f"… {left:,} more"] if left > 0 else []
    return "\n" + "".join(f"    {line}\n" for line in [*lines[:most], *more])


def _risks(pack: wire.SummaryPack) -> Iterator[str]:
    risks = [
        f"- {quote(one.path)} ({one.risk_type}): {_line(one.description)}"
        + (f" [{_list(one.indicators)}]" if one.indicators else "")
        + "\n"
        for one in pack.risk_hotspots
    ]
    yield from _titled("Risk hotspots", risks)


def _folders(pack: wire.SummaryPack) -> Iterator[str]:
    """Yield folders with their contents, the shallow ones first."""
    described = {one.path for one in pack.files} | {one.path for one in pack.key_files_summary}
    rows = [row for row in pack.file_index if row.exclusion_reason is UNSET or row.size_bytes]
    held: dict[str, list[wire.FileIndexEntry]] = {}
    for row in rows:
        if row.path not in described:
            held.setdefault(dirname(row.path), []).append(row)
    folders = sorted(held, key=lambda folder: (folder.count("/") + bool(folder), folder))
    lines = [_folder(folder, held[folder]) for folder in folders[:MAX_FOLDERS]]
    yield from _titled("Other files, by folder", lines)


def _folder(folder: str, rows: Sequence[wire.FileIndexEntry]) -> str:
    kinds = Counts(row.category for row in rows)
    most = ", ".join(
        f"{number} {kind}"
        for kind, number in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    )
    names = [row.path.rsplit("/", 1)[-1] for row in rows[:6]]
    more = f", … {len(rows) - 6} more" if len(rows) > 6 else ""
    place = quote(f"{folder}/") if folder else "at the root"
    return f"- {place} ({most}): {', '.join(map(quote, names))}{more}\n"


def _head(pack: wire.SummaryPack) -> str:
    manifest, metadata = pack.manifest, pack.metadata
    lines = [f"# {_line(manifest.project_name)}: summary", ""]
    spoken = pack.repo_summary.description
    if manifest.purpose_guess and manifest.purpose_guess not in spoken:
        lines += [f"{_line(manifest.purpose_guess)}", ""]
    lines += [f"- {name}: {_line(value)}" for name, value in _rows(manifest)]
    lines.append(
        f"- files: {metadata.total_files_scanned:,} scanned, {metadata.files_included:,} summarised"
    )
    return "\n".join(lines) + "\n"


def _rows(manifest: wire.Manifest) -> list[tuple[str, str]]:
    rows = [
        ("type", manifest.project_type),
        ("structure", manifest.structure_summary),
        ("build system", manifest.build_system),
        ("test framework", manifest.test_framework),
        ("entry points", ", ".join(manifest.entry_points)),
    ]
    return [(name, value) for name, value in rows if isinstance(value, str) and value]


def _dependencies(items: Sequence[wire.Dependency]) -> list[str]:
    """Return one line for each kind: a name needs no line of its own."""
    lines = []
    for kind in ("runtime", "peer", "dev"):
        names = [
            _line(item.name) + (f" {_line(item.version)}" if item.version is not UNSET else "")
            for item in items
            if item.type == kind
        ]
        more = len(names) - MAX_DEPENDENCIES
        names = names[:MAX_DEPENDENCIES] + ([f"and {more:,} more"] if more > 0 else [])
        lines += [f"- {kind}: {', '.join(names)}\n"] if names else []
    return lines


def _titled(title: str, entries: Sequence[str]) -> Iterator[str]:
    """Yield the entries one by one, with the title before the first, so that no title stands
    alone."""
    for number, entry in enumerate(entries):
        yield f"\n## {title}\n\n{entry.lstrip()}" if number == 0 else entry


def _list(values: Sequence[str]) -> str:
    return ", ".join(map(_line, values))


def _line(text: str) -> str:
    return one_line(text, 2_000)
