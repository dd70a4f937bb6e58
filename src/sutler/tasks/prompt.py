"""Render a context pack: the prompt for a backend, and CONTEXT.md for readers.

The functions for the pieces are public, so that the budget counts exactly the characters sent."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import UNSET

from sutler.formats.assembly import numbered
from sutler.paths import Span, quote
from sutler.scan.classify import facts_of
from sutler.tasks import wire
from sutler.tasks.contract import sentences

FILES_TITLE = "## Files\n\n"
DOCS_TITLE = "## Documents\n\n"
REMINDER_CHARS = 240
"""Each of the two lines at the end of a prompt has at most this many characters of text."""


def fenced(text: str, language: str = "") -> str:
    """Return the text in a fence longer than any run of backticks in it."""
    fence = "```"
    while fence in text:
        fence += "`"
        if len(fence) > 16:  # many backticks: search once instead of for each length
            fence = "`" * (max(map(len, re.findall("`+", text))) + 1)
    return (
        f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}\n"
    )


def required_text(pack: wire.ContextPack) -> str:
    """Render everything except documents and files; this part is never cut."""
    parts = [
        f"# Task {pack.task.id}"
        + (f": {' '.join(pack.task.title.split())}" if pack.task.title else "")
        + "\n",
        f"## Goal\n\n{pack.task.goal.rstrip()}\n",
        _acceptance(pack.task.acceptance),
        _constraints(pack.constraints),
        _previous(pack.previous_state) if pack.previous_state is not UNSET else "",
        _tickets(pack.repair_tickets) if pack.repair_tickets is not UNSET else "",
        _errors(pack.error_output) if pack.error_output is not UNSET else "",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def required_chars(pack: wire.ContextPack) -> int:
    """Count the characters that are never cut, with the two lines at the end."""
    return len(required_text(pack)) + len(reminder_text(pack)) + 1


def _acceptance(items: Sequence[wire.AcceptanceCriteria]) -> str:
    lines = [f"- [{item.id}] {item.text}{_evidence(item)}" for item in items]
    return "## Acceptance criteria\n\n" + "\n".join(lines) + "\n" if lines else ""


def _evidence(item: wire.AcceptanceCriteria) -> str:
    if item.evidence is UNSET or not item.evidence.must_include_files:
        return ""
    return f" (evidence: the change includes {', '.join(item.evidence.must_include_files)})"


def _constraints(constraints: wire.Constraints) -> str:
    contract = wire.FileContract(
        constraints.allowed_globs, constraints.forbidden_globs, constraints.allow_new_files
    )
    return "## Constraints\n\n" + "\n".join(f"- {line}" for line in sentences(contract)) + "\n"


def _previous(state: wire.PreviousState) -> str:
    parts = [f"## Previous iteration: {state.iteration}\n"]
    if state.diff_summary:
        parts.append(f"### Diff summary\n\n{fenced(state.diff_summary, 'diff')}")
    if state.issues:
        parts.append("### Issues\n\n" + "\n".join(_issue(issue) for issue in state.issues) + "\n")
    return "\n".join(parts)


def _where(file: object, line: object) -> str:
    if not isinstance(file, str):
        return ""
    return f" {quote(file)}:{line}:" if isinstance(line, int) else f" {quote(file)}:"


def _issue(issue: wire.Issue) -> str:
    text = f"- [{issue.kind}, {issue.level}]{_where(issue.file, issue.line)} {issue.message}"
    text += f"\n  hint: {issue.hint}" if issue.hint is not UNSET else ""
    return text + (f"\n\n{fenced(issue.raw)}" if issue.raw is not UNSET else "")


def _tickets(tickets: Sequence[wire.RepairTicket]) -> str:
    lines = [
        f"- [{ticket.issue_id}] {ticket.kind}:{_where(ticket.file, ticket.line)} {ticket.message}"
        + (f"\n  hint: {ticket.hint}" if ticket.hint is not UNSET else "")
        for ticket in tickets
    ]
    return (
        "## Repair tickets\n\nFix these specific issues only\n\n" + "\n".join(lines) + "\n"
        if lines
        else ""
    )


def _errors(outputs: Sequence[str]) -> str:
    return "## Error output\n\n" + "\n".join(fenced(text) for text in outputs) if outputs else ""


def file_block(item: wire.ContextFile) -> str:
    title = f"### {quote(item.path)} ({item.priority} priority, {item.level})"
    text = fenced(_numbered(item), facts_of(item.path).language)
    return f"{title}\n\n{_used_by(item)}{text}\n"


def _used_by(item: wire.ContextFile) -> str:
    if item.used_by is UNSET:
        return ""
    more = "" if item.used_by_more is UNSET else f" and {item.used_by_more:,} more"
    return f"Used by {', '.join(map(quote, item.used_by))}{more}.\n\n"


def _numbered(item: wire.ContextFile | wire.ContextDoc) -> str:
    """Return the content, with line numbers of the file if the pack records its lines."""
    if item.line_ranges is UNSET:
        return item.content
    return numbered(item.content, [Span(start, end) for start, end in item.line_ranges])


def doc_block(item: wire.ContextDoc) -> str:
    return (
        f"### {quote(item.path)}"
        f" ({item.level})\n\n{fenced(_numbered(item), facts_of(item.path).language)}\n"
    )


def tail_text(pack: wire.ContextPack) -> str:
    """Render the list of omissions, and the marker of a truncated context."""
    lines = [f"- {line}" for line in pack.not_shown]
    lines += [f"- and {pack.not_shown_more:,} more"] if pack.not_shown_more and lines else []
    listing = "## Not shown\n\n" + "\n".join(lines) + "\n\n" if lines else ""
    return listing + (f"{_marker(pack)}\n" if pack.truncated else "")


def _marker(pack: wire.ContextPack) -> str:
    levels = [*(item.level for item in pack.files), *(item.level for item in pack.docs)]
    shortened = sum(level not in ("full", "condensed") for level in levels)
    missing = len(pack.not_shown) + pack.not_shown_more
    return (
        f"[context truncated: {shortened:,} files shortened, {missing:,} things not shown, "
        f"limit {pack.max_chars:,} characters]"
    )


def reminder_text(pack: wire.ContextPack) -> str:
    """Repeat goal and constraints in two lines at the end, where models read best."""
    contract = wire.FileContract(
        pack.constraints.allowed_globs,
        pack.constraints.forbidden_globs,
        pack.constraints.allow_new_files,
    )
    return (
        f"Goal: {_one_line(pack.task.goal)}\n"
        f"Constraints: {_one_line('; '.join(sentences(contract)))}\n"
    )


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= REMINDER_CHARS else f"{line[: REMINDER_CHARS - 4]} ..."


def render_prompt(pack: wire.ContextPack) -> str:
    """Render the prompt from the pack alone; its length is the pack's `total_chars`."""
    docs = "".join(doc_block(item) for item in pack.docs)
    files = "".join(file_block(item) for item in pack.files)
    body = (DOCS_TITLE + docs if docs else "") + (FILES_TITLE + files if files else "")
    text = required_text(pack) + body + tail_text(pack)
    return text + ("" if text.endswith("\n\n") else "\n") + reminder_text(pack)


def render_context_md(pack: wire.ContextPack) -> str:
    """Render CONTEXT.md: an overview of the pack, with the names of the files only."""
    lines = [
        f"# Context for {pack.task.id}",
        "",
        "## Task",
        "",
        pack.task.title or pack.task.goal.split("\n")[0],
        "",
    ]
    lines += [pack.task.goal.rstrip(), "", "## Acceptance Criteria", ""]
    lines += [f"- {item.id}: {item.text}{_evidence(item)}" for item in pack.task.acceptance] or [
        "- none"
    ]
    contract = wire.FileContract(
        pack.constraints.allowed_globs,
        pack.constraints.forbidden_globs,
        pack.constraints.allow_new_files,
    )
    lines += ["", "## Constraints", "", *(f"- {line}" for line in sentences(contract))]
    lines += ["", "## Previous Issues", ""]
    issues = pack.previous_state.issues if pack.previous_state is not UNSET else ()
    lines += [_issue(issue) for issue in issues] or ["- none"]
    if pack.repair_tickets is not UNSET and pack.repair_tickets:
        lines += ["", _tickets(pack.repair_tickets).rstrip()]
    lines += ["", "## Files Included", ""]
    rows = [
        f"- {quote(item.path)} ({item.level}), {item.priority} priority: {item.reason}"
        for item in pack.files
    ]
    rows += [f"- {quote(item.path)} ({item.level}), document" for item in pack.docs]
    lines += rows or ["- none"]
    lines += [
        "",
        f"{pack.total_chars:,} characters" + (", context truncated" if pack.truncated else ""),
    ]
    return "\n".join(lines) + "\n"
