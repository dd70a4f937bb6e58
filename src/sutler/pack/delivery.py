"""Deliver a document as text or bytes in its format, within its budget, with its report."""

from __future__ import annotations

from hashlib import sha256

from msgspec import UNSET, Struct
from msgspec.structs import replace

from sutler.budget.selection import Budget
from sutler.errors import UsageError
from sutler.formats.document import CleanText, Listing
from sutler.pack.documents import Made
from sutler.pack.report import Report
from sutler.pack.scope import Scope
from sutler.pack.serial import serialize
from sutler.survey.wire import FullPack, PackType, SummaryPack
from sutler.tasks.wire import ContextPack
from sutler.tokens.counter import counter_for, token_counter


class Sending(Struct, frozen=True):
    """The bytes that leave, and their report."""

    data: bytes
    report: Report


def send(
    project: Scope, made: Made, format: str, goal: str = "", *, count_tokens: bool = True
) -> Sending:
    """Render a document. `json` and `msgpack` are its wire form, `markdown` is for people and, of a
    summary, for models; `prompt` is a task's prompt for a backend."""
    document = made.document
    limit, unit = project.settings.limit()
    counter = project.settings.text("counter")
    if isinstance(document, ContextPack):
        text = _task_text(document, format)
        limit, unit, used = document.max_chars, "chars", document.total_chars
    elif isinstance(document, SummaryPack) and format == "markdown":
        from sutler.survey.summary_text import summary_markdown

        count = counter_for(unit, counter)
        cleaned = project.clean()(goal, "") if goal else CleanText("")
        text = summary_markdown(document, cleaned.text, limit, count)
        used = count(text)
    else:
        text = None
        unit, used = "bytes", document.metadata.total_content_bytes
        limit = limit if isinstance(document, FullPack) else None
    data = text.encode() if text is not None else _wire(document, format)
    counts = count_tokens and counter != "none" and format != "msgpack"
    kind: PackType = "summary" if isinstance(document, SummaryPack) else "full"
    report = Report(
        pack_id=document_id(document),
        format=format,
        budget=Budget(limit, unit, counter),
        used=used,
        bytes=len(data),
        tokens=token_counter(counter)(data.decode()) if counts else None,
        shown=made.shown,
        listing=Listing(),
        excluded=made.excluded,
        problems=made.problems,
        type=kind,
        linked=made.linked,
        document_bytes=UNSET
        if isinstance(document, ContextPack)
        else document.metadata.total_content_bytes,
    )
    return Sending(data, report)


def _task_text(pack: ContextPack, format: str) -> str | None:
    from sutler.tasks.prompt import render_context_md, render_prompt

    if format == "markdown":
        return render_context_md(pack)
    return render_prompt(pack) if format == "prompt" else None


def _wire(document: FullPack | SummaryPack | ContextPack, format: str) -> bytes:
    if format == "json":
        return serialize(document, "json") + b"\n"
    if format == "msgpack":
        return serialize(document, "msgpack")
    name = type(document).__name__
    raise UsageError(
        f"a {name} cannot be written as {format}",
        rule=(
            "documents are json or msgpack; a summary is markdown too, a task pack markdown or"
            " prompt"
        ),
        next_step="choose another --format",
    )


def document_id(document: FullPack | SummaryPack | ContextPack) -> str:
    """Identify a document by its content, independent of its format and of the files' times."""
    if not isinstance(document, ContextPack):
        document = replace(document, metadata=replace(document.metadata, created_at=""))
    return sha256(serialize(document, "json")).hexdigest()
