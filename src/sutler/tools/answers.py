"""Answers and failures of tools, as objects, schemas and text: the same for every front."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from sutler.access.search import Found
from sutler.edits.file_access import delimited
from sutler.errors import ConflictError, DeniedError, SutlerError
from sutler.store.records import Conflict, Reading
from sutler.tools.context import PackText
from sutler.tools.declaration import Tool


class Trouble(Struct, frozen=True, omit_defaults=True):
    """An error as data: what happened, which rule or limit, what to do next."""

    kind: str
    what: str
    rule: str = ""
    next: str = ""
    conflict: Conflict | None = None


class Failure(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The answer of a tool that did not do what it was asked. `pending_approval` names what waits
    for a person.
    """

    error: Trouble
    success: bool
    pending_approval: str = ""


_KINDS = {1: "failed", 2: "usage", 3: "refused", 4: "conflict", 5: "denied", 6: "model_command"}


def failure(error: SutlerError) -> Failure:
    conflict = error.conflict if isinstance(error, ConflictError) else None
    approval = error.approval if isinstance(error, DeniedError) else ""
    kind = "approval_needed" if approval else _KINDS.get(error.exit_code, "failed")
    known = conflict if isinstance(conflict, Conflict) else None
    trouble = Trouble(kind, error.what, error.rule, error.next_step, known)
    return Failure(success=False, error=trouble, pending_approval=approval)


def as_object(answer: object) -> object:
    """An answer as something that is an object in JSON: what is none stands under `result`."""
    return answer if isinstance(answer, Struct | dict) else {"result": answer}


def output_schema(tool: Tool) -> dict[str, object]:
    """A tool's answer, or a failure, as a JSON Schema whose root is an object."""
    kind = tool.answer
    (schema, failed), components = msgspec.json.schema_components(
        [kind, Failure], ref_template="#/$defs/{name}"
    )
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        schema = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return {"type": "object", "anyOf": [schema, failed], "$defs": components}


def text_of(answer: object) -> str:
    """What a model reads: file content between delimiters, errors as sentences, the rest as
    JSON.
    """
    if isinstance(answer, Reading):
        return _reading(answer)
    if isinstance(answer, Found):
        return _hits(answer)
    if isinstance(answer, PackText):
        return answer.text + (f"\n[more: cursor {answer.next}]\n" if answer.next else "")
    if isinstance(answer, Failure):
        error = answer.error
        lines = [
            error.what,
            f"rule: {error.rule}" if error.rule else "",
            f"next: {error.next}" if error.next else "",
        ]
        if error.conflict is not None:
            lines.append(msgspec.json.encode(error.conflict).decode())
        return "\n".join(line for line in lines if line)
    if isinstance(answer, str):
        return answer
    try:
        return msgspec.json.encode(answer).decode()
    except UnicodeEncodeError:  # a name or a line that is not UTF-8
        return str(msgspec.to_builtins(answer)).encode("utf-8", "backslashreplace").decode()


def _reading(reading: Reading) -> str:
    if reading.unchanged:
        place = f"{reading.path}:{reading.first}-{reading.last}"
        return f"{place}: unchanged, version {reading.version}\n"
    notes = "".join(f"[note: {note}]\n" for note in reading.notes)
    more = f"[more: cursor {reading.next}]\n" if reading.next else ""
    return f"{delimited(reading)}{notes}{more}"


def _hits(found: Found) -> str:
    """Hits below their places, each line with its number in the file."""
    blocks = []
    for hit in found.hits:
        lines = hit.text.split("\n")
        queries = f" ({', '.join(hit.queries)})" if hit.queries else ""
        rows = [f"{hit.first + at}: {line}" for at, line in enumerate(lines)]
        place = f"{hit.path}:{hit.first}-{hit.first + len(lines) - 1}"
        blocks.append("\n".join([f"{place}{queries}", *rows]))
    skipped = f", {found.skipped:,} skipped" if found.skipped else ""
    ended = f"; stopped at {found.stopped}, narrow the search" if found.stopped else ""
    blocks.append(f"[{len(found.hits):,} matches in {found.files:,} files{skipped}{ended}]")
    return "\n\n".join(blocks) + "\n"
