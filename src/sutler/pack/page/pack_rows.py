"""A pack as the rows of the report page: pure, every text in display form and free of hidden
characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest

from msgspec import Struct

from sutler.formats import section_text, shape
from sutler.formats.assembly import labels
from sutler.formats.document import Format, Pack
from sutler.pack.diff import AnyPack, diff_packs, level_of
from sutler.pack.page import view
from sutler.pack.report import WHOLE
from sutler.paths import RelPath, Span, quote, rel_of, unquote
from sutler.scan.classify import facts_of
from sutler.secrets.hidden import visible
from sutler.secrets.markers import MARKER
from sutler.survey.wire import FileContent, FullPack, KeyFile, PackChange, SummaryPack
from sutler.tasks.wire import ContextPack
from sutler.tokens.counter import Counter, count_bytes

EXCERPT_LINES = 30
LINE = 180
OUTLINE_LINES = 60
MATCHES = 20

Outline = Callable[[str, str], Sequence[tuple[int, int, str]]]
"""Maps path and text to structural lines: (line, level, text)."""

_POINTED = re.compile(
    r"the (?:title|task) names this path|a stack frame of the task|a dotted name of the task|it"
    r" defines |"
    r"it holds (?:a text that the task quotes|what the task puts)"
)
_LINKS = (
    "it imports a file",
    "a file that ranks high imports",
    "tests or examples that match",
    "it changes together",
    "it resembles",
)
_BY_CATEGORY: Mapping[str, view.Why] = {
    "documentation": "documentation",
    "config": "config",
    "build": "config",
    "dependency": "config",
    "test": "test",
    "other": "other",
}


def why_of(reason: str, path: str) -> view.Why:
    """Return the class of a reason: first those by the user or the task, then those by the file."""
    first, _, rest = reason.partition("; ")
    if first in (
        "named by you",
        "task.context.docs",
        "task.context.files",
        "context",
    ) or first.startswith("the last "):
        return "named"
    if first.startswith(("changed since", "changes since")):
        return "changed"
    if first.startswith("repair ticket") or first.endswith(" issue"):
        return "issue"
    if rest:
        if _POINTED.search(rest):
            return "issue"
        return "neighbour" if rest.startswith(_LINKS) else "ranked"
    if first == "entry document":
        return "entry"
    if first.startswith("key file"):
        return "key"
    if first in ("lock file", "generated file"):
        return "derived"
    facts = facts_of(RelPath(path))
    return _BY_CATEGORY.get(facts.category, "source")


def plain(text: str) -> str:
    """Return text for the page: hidden characters spelled out, and only what UTF-8 can encode."""
    return visible(text).text.encode("utf-8", "backslashreplace").decode()


def detail_of(
    path: str, text: str, outline: Outline, spans: Sequence[Span] = (), words: Sequence[str] = ()
) -> view.Detail:
    """Return the outline, the first lines and the lines with one of `words`, of a redacted text.
    `spans` are the lines of the file that a cut text shows."""
    structure = outline(path, text)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    numbers = line_numbers(spans, len(lines))
    rows = tuple(
        (numbers[number - 1] or number, level, plain(line)[:LINE])
        for number, level, line in structure[:OUTLINE_LINES]
    )
    return view.Detail(
        rows, excerpt_of(text), len(lines), _over(structure), _matches(lines, numbers, words)
    )


def line_numbers(spans: Sequence[Span], count: int) -> list[int]:
    """Return the file's line number of each of `count` lines of a packed text; 0 for the
    markers."""
    if not spans:
        return list(range(1, count + 1))
    return [int(label[:5]) if label[:5].strip() else 0 for label in labels(spans, count)]


def _matches(
    lines: Sequence[str], numbers: Sequence[int], words: Sequence[str]
) -> tuple[tuple[int, str], ...]:
    """Return the lines that hold most of the words, in the order of the file."""
    if not words:
        return ()
    pattern = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    hits = []
    for number, line in zip(numbers, lines, strict=True):
        distinct = {match.lower() for match in pattern.findall(line)} if number else ()
        if distinct:
            hits.append((-len(distinct), number, line))
    return tuple(sorted((n, plain(line)[:LINE]) for _, n, line in nsmallest(MATCHES, hits)))


_MATCHED = re.compile(r"matches ((?:`[^`]+`(?:, )?)+)")


def words_of(reason: str) -> tuple[str, ...]:
    """Return the words of the goal that a reason lists as matches."""
    return tuple(
        dict.fromkeys(
            word for hit in _MATCHED.findall(reason) for word in hit.strip("`").split("`, `")
        )
    )


def _over(outline: Sequence[object]) -> int:
    return max(0, len(outline) - OUTLINE_LINES)


def excerpt_of(text: str) -> str:
    head = text[: EXCERPT_LINES * LINE * 4].split("\n")[:EXCERPT_LINES]
    return "\n".join(plain(line[:LINE]) + (" …" if len(line) > LINE else "") for line in head)


class Part(Struct, frozen=True):
    """One shown file of any pack, before its cost is counted. `weighed` is the text that it adds to
    the pack."""

    path: RelPath
    level: str
    text: str
    weighed: str
    reason: str
    sha256: str = ""
    language: str = ""


Details = Callable[[Part], view.Detail | None]
"""Returns the details of a file; None if the page has enough already."""


def parts_of(pack: AnyPack, format: Format) -> Iterator[Part]:
    """Yield the files of a pack, in its own order."""
    if isinstance(pack, Pack):
        for section in pack.sections:
            framed, line = section_text(section, format, pack.line_numbers)
            weighed = framed + line + shape(format).GLUE
            yield Part(
                section.path,
                section.level,
                section.body.text,
                weighed,
                section.reason,
                section.sha256,
                section.language,
            )
    elif isinstance(pack, ContextPack):
        for doc in pack.docs:
            yield _part(
                doc.path, doc.level, doc.content, "task.context.docs", _text_or_empty(doc.digest)
            )
        for file in pack.files:
            yield _part(
                file.path,
                file.level,
                file.content,
                file.reason or file.priority,
                _text_or_empty(file.digest),
            )
    elif isinstance(pack, SummaryPack):
        for item in pack.key_files_summary:
            facts = [item.summary, *item.exports, *item.dependencies, *item.notable_code]
            yield _part(
                item.path, "summary", "\n".join(filter(None, facts)), f"key file: {item.category}"
            )
    else:
        yield from _full_parts(pack)


def _full_parts(pack: FullPack) -> Iterator[Part]:
    digests = {row.path: _text_or_empty(row.digest) for row in pack.file_index}
    reasons = {key.path: f"key file: {key.category}" for key in pack.key_files}
    texts: dict[str, KeyFile | FileContent] = {item.path: item for item in pack.key_files}
    texts |= {item.path: item for item in pack.contents}
    for path, item in texts.items():
        reason = reasons.get(path, "text")
        yield _part(path, level_of(item), item.content, reason, digests.get(path, ""))


def _part(path: str, level: str, text: str, reason: str, digest: str = "") -> Part:
    rel = rel_of(path)
    return Part(rel, level, text, text, reason, digest, facts_of(rel).language)


def _text_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""


def rows_of(parts: Iterable[Part], tokens: Counter, detail: Details) -> list[view.FileRow]:
    """Return rows with their costs in tokens and bytes."""
    return [_row(part, tokens, detail(part)) for part in parts]


def _row(part: Part, tokens: Counter, detail: view.Detail | None) -> view.FileRow:
    return view.FileRow(
        path=quote(part.path),
        costs=(tokens(part.weighed), count_bytes(part.weighed)),
        level=part.level,
        why=why_of(part.reason, part.path),
        reason=plain(part.reason),
        cut=part.level not in WHOLE,
        language=part.language,
        redacted=len(MARKER.findall(part.text)),
        sha256=part.sha256,
        detail=detail,
    )


def measures_of(
    rows: Sequence[view.FileRow], totals: Sequence[tuple[str, int]]
) -> tuple[view.Measure, ...]:
    """Return the measures with the rest for the frame: opening, goal, tree, names, manifest."""
    sums = [sum(row.costs[at] for row in rows) for at in range(len(totals))]
    return tuple(
        view.Measure(name, total, total - spent)
        for (name, total), spent in zip(totals, sums, strict=True)
    )


def left_of(pack: AnyPack) -> tuple[list[view.LeftRow], int]:
    """Return the files that a pack names as omitted, and the number of those without a name."""
    if isinstance(pack, Pack):
        rule = "the pack names it and does not show it"
        return [
            view.LeftRow(quote(path), "listed", rule) for path in pack.listing.paths
        ], pack.listing.unnamed
    if isinstance(pack, ContextPack):
        return [
            view.LeftRow(plain(line), "not shown", "task") for line in pack.not_shown
        ], pack.not_shown_more
    shown_paths = {part.path for part in parts_of(pack, "json")}
    rows = [
        view.LeftRow(
            quote(unquote(row.path)),
            _text_or_empty(row.exclusion_reason) or "listed",
            "the pack's file index",
        )
        for row in pack.file_index
        if row.path not in shown_paths and not (row.included and isinstance(pack, FullPack))
    ]
    return rows, 0


_GROUPS: tuple[tuple[view.ChangeKind, str], ...] = (
    ("entered", "entered"),
    ("left", "left"),
    ("level", "level_changed"),
    ("content", "content_changed"),
)


def against(
    before: AnyPack,
    after: AnyPack,
    old: Sequence[view.FileRow],
    new: Sequence[view.FileRow],
    pack_id: str,
) -> view.Against:
    """Compare `before` with `after`, with the costs of each side in the first measure."""
    was = {row.path: row.costs[0] for row in old}
    now = {row.path: row.costs[0] for row in new}
    difference = diff_packs(before, after)
    rows: list[view.ChangeRow] = []
    for kind, group in _GROUPS:
        changes: tuple[PackChange, ...] = getattr(difference, group)
        for change in changes:
            path = quote(unquote(change.path) if re.match('"', change.path) else change.path)
            paid = was.get(path, 0), now.get(path, 0)
            rows.append(
                view.ChangeRow(path, kind, plain(change.why), change.before, change.after, *paid)
            )
    return view.Against(pack_id, sum(was.values()), len(old), tuple(rows))
