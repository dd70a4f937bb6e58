"""Read a task from YAML or JSON, with keys in camelCase, snake_case or kebab-case. Every error
names its field."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Literal, TypeVar, cast

from msgspec import UNSET, UnsetType

from sutler.errors import UsageError
from sutler.scan.structured import DocumentError, parse_json, parse_yaml
from sutler.setting_table import TIER_CHARS, Tier
from sutler.tasks import wire
from sutler.tasks.contract import contract_globs

MAX_TASK_CHARS = 4_000_000  # JSON takes many times its size in memory

T = TypeVar("T")


def parse_task(text: str, source: str = "task") -> wire.TaskSpec:
    """Parse a task from the text of a YAML or JSON file."""
    return read_task(_document(text, source), source)


def _document(text: str, source: str) -> Any:
    if len(text) > MAX_TASK_CHARS:
        raise _wrong(
            source, f"has {len(text):,} characters", f"a task file holds at most {MAX_TASK_CHARS:,}"
        )
    try:
        return (
            parse_json(text) if text.lstrip("\ufeff \t\r\n").startswith("{") else parse_yaml(text)
        )
    except DocumentError as error:
        raise _wrong(
            source, f"cannot be read: {error}", "a task is a YAML or JSON mapping"
        ) from None


def parse_contract(text: str) -> wire.FileContract:
    """Parse the contract of a task file, or of a file that holds only a contract."""
    source = "contract"
    data = _document(text, source)
    if isinstance(data, dict) and _CONTRACT_KEYS & _fields(data, source).keys():
        return read_contract(data, source)
    return read_task(data, source).files_contract


_CONTRACT_KEYS = frozenset(
    {"allowed", "allowedglobs", "forbidden", "forbiddenglobs", "allownewfiles"}
)


_LONG_KEYS = {
    name.lower(): name
    for name in ("acceptance", "filesContract", "previousState", "repairTickets", "errorOutput")
}
"""Keys that are too long to resemble another word by chance."""


def read_task(data: Any, source: str = "task") -> wire.TaskSpec:
    """Read a task from plain values. Ignore unknown keys: task files carry budgets and more. A
    misspelled key is refused: without it a contract or the issues would be lost unnoticed."""
    fields = _fields(data, source)
    if "id" not in fields and isinstance(fields.get("task"), dict):
        fields = _fields(fields["task"], f"{source}.task")
    for key in fields:
        near = get_close_matches(key, _LONG_KEYS, n=1, cutoff=0.85)
        if near and key not in (near[0], "filecontract"):
            rule = f"a key that resembles `{_LONG_KEYS[near[0]]}` is taken for a mistake"
            raise _wrong(f"{source}.{key}", "is unknown", rule)
    name = _text(fields.get("id"), f"{source}.id")
    goal, title = (
        _text(fields.get("goal"), f"{source}.goal"),
        _text(fields.get("title"), f"{source}.title"),
    )
    if not name:
        raise _wrong(f"{source}.id", "is missing", "every task has an id")
    if not (goal or title).strip():
        raise _wrong(
            f"{source}.goal", "is missing", "a task says what is to be done, in `goal` or `title`"
        )
    previous = _pick(fields, "previousstate", "previous")
    return wire.TaskSpec(
        id=name,
        title=title,
        goal=goal or title,
        acceptance=_each(fields.get("acceptance"), f"{source}.acceptance", _acceptance),
        files_contract=read_contract(
            _pick(fields, "filescontract", "filecontract", "contract"), f"{source}.filesContract"
        ),
        context=_context(fields.get("context"), f"{source}.context"),
        issues=_each(fields.get("issues"), f"{source}.issues", _issue),
        previous_state=UNSET
        if previous is None
        else _previous(previous, f"{source}.previousState"),
        repair_tickets=_each(
            _pick(fields, "repairtickets", "tickets"), f"{source}.repairTickets", _ticket
        ),
        error_output=_error_output(
            _pick(fields, "erroroutput", "errors", "output"), f"{source}.errorOutput"
        ),
        model_tier=read_tier(_pick(fields, "modeltier", "tier"), f"{source}.modelTier"),
    )


def read_tier(value: Any, where: str = "tier") -> Tier:
    if value is None:
        return "default"
    if not isinstance(value, str) or value not in TIER_CHARS:
        raise _wrong(where, f"is {value!r}", f"a tier is one of {', '.join(TIER_CHARS)}")
    return value


def read_contract(data: Any, where: str = "filesContract") -> wire.FileContract:
    if data is None:
        return wire.FileContract()
    fields = _fields(data, where)
    contract = wire.FileContract(
        allowed=_texts(_pick(fields, "allowed", "allowedglobs", "allow"), f"{where}.allowed"),
        forbidden=_texts(
            _pick(fields, "forbidden", "forbiddenglobs", "forbid"), f"{where}.forbidden"
        ),
        allow_new_files=_flag(fields.get("allownewfiles"), f"{where}.allowNewFiles"),
    )
    for name, globs in (("allowed", contract.allowed), ("forbidden", contract.forbidden)):
        try:
            contract_globs(globs)
        except UsageError as fault:
            raise _wrong(f"{where}.{name}:", fault.what, fault.rule) from None
    return contract


def _wrong(where: str, what: str, rule: str) -> UsageError:
    return UsageError(f"{where} {what}", rule=rule, next_step="correct the task file and try again")


def _fields(data: Any, where: str) -> dict[str, Any]:
    """Return a mapping with normalized keys: `files_contract`, `filesContract` and `files-contract`
    are the same key."""
    if not isinstance(data, dict):
        raise _wrong(where, f"is {_kind(data)}", "a mapping is expected here")
    out: dict[str, Any] = {}
    for key, value in data.items():
        out.setdefault(re.sub(r"[_\-\s]", "", str(key)).lower(), value)
    return out


def _pick(fields: dict[str, Any], *names: str) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _kind(value: Any) -> str:
    names = {
        dict: "a mapping",
        list: "a list",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "empty" if value is None else names.get(type(value), type(value).__name__)


def _text(value: Any, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        raise _wrong(where, f"is {_kind(value)}", "text is expected here")
    # YAML reads `true` as a boolean; restore its spelling.
    return str(value).lower() if isinstance(value, bool) else str(value)


def _optional(value: Any, where: str) -> str | UnsetType:
    return _text(value, where) or UNSET


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(
        _text(item, f"{where}[{index}]") for index, item in enumerate(items) if item is not None
    )


def _flag(value: Any, where: str) -> bool:
    if value is None:
        return True
    if not isinstance(value, bool):
        raise _wrong(where, f"is {_kind(value)}", "true or false is expected here")
    return value


def _number(value: Any, where: str) -> int | UnsetType:
    if value is None or value == "":
        return UNSET
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(where, f"is {value!r}", "a whole number from 0 is expected here")
    return value


def _each(value: Any, where: str, read: Callable[[Any, str, int], T]) -> tuple[T, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(read(item, f"{where}[{index}]", index) for index, item in enumerate(items))


def _acceptance(item: Any, where: str, index: int) -> wire.AcceptanceCriteria:
    """Read a criterion: a sentence, or `{id, text, type, evidence}`."""
    if not isinstance(item, dict):
        return wire.AcceptanceCriteria(id=f"acc-{index + 1}", text=_text(item, where))
    fields = _fields(item, where)
    kind = fields.get("type") or "behavior"
    if kind not in ("behavior", "evidence"):
        raise _wrong(f"{where}.type", f"is {kind!r}", "a criterion is of type behavior or evidence")
    evidence = fields.get("evidence")
    files = (
        _fields(evidence, f"{where}.evidence").get("mustincludefiles")
        if evidence is not None
        else None
    )
    return wire.AcceptanceCriteria(
        id=_text(fields.get("id"), f"{where}.id") or f"acc-{index + 1}",
        text=_text(_pick(fields, "text", "description"), f"{where}.text"),
        type=cast(Literal["behavior", "evidence"], kind),
        evidence=UNSET
        if evidence is None
        else wire.Evidence(_texts(files, f"{where}.evidence.must_include_files")),
    )


def _context(data: Any, where: str) -> wire.TaskContext:
    if data is None:
        return wire.TaskContext()
    fields = _fields(data, where)
    return wire.TaskContext(
        _texts(fields.get("files"), f"{where}.files"), _texts(fields.get("docs"), f"{where}.docs")
    )


def _issue(item: Any, where: str, index: int) -> wire.Issue:
    """Read an issue: a mapping, or a sentence, which becomes an issue of kind custom."""
    if not isinstance(item, dict):
        return wire.Issue(kind="custom", message=_text(item, where))
    fields = _fields(item, where)
    level = fields.get("level") or "error"
    if level not in ("error", "warning"):
        raise _wrong(f"{where}.level", f"is {level!r}", "an issue is an error or a warning")
    return wire.Issue(
        kind=_text(fields.get("kind"), f"{where}.kind") or "custom",
        message=_text(fields.get("message"), f"{where}.message"),
        signature=_text(fields.get("signature"), f"{where}.signature"),
        level=cast(Literal["error", "warning"], level),
        file=_optional(fields.get("file"), f"{where}.file"),
        line=_number(fields.get("line"), f"{where}.line"),
        hint=_optional(fields.get("hint"), f"{where}.hint"),
        raw=_optional(_pick(fields, "raw", "output", "erroroutput", "stderr"), f"{where}.raw"),
    )


def _ticket(item: Any, where: str, index: int) -> wire.RepairTicket:
    fields = _fields(item, where)
    return wire.RepairTicket(
        issue_id=_text(_pick(fields, "issueid", "id"), f"{where}.issueId") or f"ticket-{index + 1}",
        kind=_text(fields.get("kind"), f"{where}.kind") or "custom",
        message=_text(fields.get("message"), f"{where}.message"),
        file=_optional(fields.get("file"), f"{where}.file"),
        line=_number(fields.get("line"), f"{where}.line"),
        hint=_optional(fields.get("hint"), f"{where}.hint"),
    )


def _previous(data: Any, where: str) -> wire.PreviousState:
    fields = _fields(data, where)
    iteration = _number(fields.get("iteration"), f"{where}.iteration")
    return wire.PreviousState(
        iteration=0 if iteration is UNSET else iteration,
        diff_summary=_text(_pick(fields, "diffsummary", "diff"), f"{where}.diffSummary"),
        issues=_each(fields.get("issues"), f"{where}.issues", _issue),
    )


def _error_output(value: Any, where: str) -> tuple[str, ...]:
    """Read error output: texts, or ValidateResults with stdout and stderr."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    out: list[str] = []
    for index, item in enumerate(items):
        if isinstance(item, dict):
            fields = _fields(item, f"{where}[{index}]")
            parts = [
                _text(fields.get(name), f"{where}[{index}].{name}") for name in ("stdout", "stderr")
            ]
            out.append("\n".join(part for part in parts if part))
        else:
            out.append(_text(item, f"{where}[{index}]"))
    return tuple(text for text in out if text)
