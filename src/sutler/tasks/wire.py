"""Seed 002's types: the task (input) and the context pack (output), in camelCase on the wire."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from sutler.formats.transparency import SCHEMA_VERSION
from sutler.setting_table import Tier

FilePriority = Literal["high", "medium", "low"]
FileLevel = Literal["full", "condensed", "excerpt", "head"]
LineRange = tuple[int, int]
"""First and last line, counted from 1."""
ViolationReason = Literal["forbidden", "not_allowed", "new_file_disallowed"]
AcceptanceType = Literal["behavior", "evidence"]
IssueLevel = Literal["error", "warning"]


class Evidence(Struct, frozen=True):
    """Files that the pack must include; snake case on the wire too, as in the task files."""

    must_include_files: tuple[str, ...] = ()


class AcceptanceCriteria(Struct, frozen=True, rename="camel"):
    id: str
    text: str
    type: AcceptanceType = "behavior"
    evidence: Evidence | UnsetType = UNSET


class FileContract(Struct, frozen=True, rename="camel"):
    """Files that a change may touch. An empty `allowed` allows every file that is not forbidden."""

    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    allow_new_files: bool = True


class Issue(Struct, frozen=True, rename="camel"):
    """An issue of a validator. `raw` is the tool's output, which is never cut."""

    kind: str
    message: str
    signature: str = ""
    level: IssueLevel = "error"
    file: str | UnsetType = UNSET
    line: int | UnsetType = UNSET
    hint: str | UnsetType = UNSET
    raw: str | UnsetType = UNSET


class RepairTicket(Struct, frozen=True, rename="camel"):
    issue_id: str
    kind: str
    message: str
    file: str | UnsetType = UNSET
    line: int | UnsetType = UNSET
    hint: str | UnsetType = UNSET


class TaskContext(Struct, frozen=True, rename="camel"):
    files: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()


class PreviousState(Struct, frozen=True, rename="camel"):
    iteration: int = 0
    diff_summary: str = ""
    issues: tuple[Issue, ...] = ()


class TaskSpec(Struct, frozen=True, rename="camel", kw_only=True):
    """A task. `error_output` is the complete output of the validators."""

    id: str
    title: str = ""
    goal: str = ""
    acceptance: tuple[AcceptanceCriteria, ...] = ()
    files_contract: FileContract = FileContract()
    context: TaskContext = TaskContext()
    issues: tuple[Issue, ...] = ()
    previous_state: PreviousState | UnsetType = UNSET
    repair_tickets: tuple[RepairTicket, ...] = ()
    error_output: tuple[str, ...] = ()
    model_tier: Tier = "default"


class TaskInfo(Struct, frozen=True, rename="camel"):
    id: str
    title: str
    goal: str
    acceptance: tuple[AcceptanceCriteria, ...] = ()


class Constraints(Struct, frozen=True, rename="camel"):
    allowed_globs: tuple[str, ...] = ()
    forbidden_globs: tuple[str, ...] = ()
    allow_new_files: bool = True


class ContextFile(Struct, frozen=True, rename="camel"):
    """A file of the pack. `level` is the part of the file in `content`, `reason` why it is
    included; both are additions to the seed. `line_ranges` are the file's lines in `content`, if
    the prompt numbers them. `used_by` names users of a file that the contract allows;
    `used_by_more` counts the others."""

    path: str
    content: str
    priority: FilePriority
    level: FileLevel = "full"
    reason: str = ""
    digest: str | UnsetType = UNSET
    line_ranges: tuple[LineRange, ...] | UnsetType = UNSET
    used_by: tuple[str, ...] | UnsetType = UNSET
    used_by_more: int | UnsetType = UNSET


class ContextDoc(Struct, frozen=True, rename="camel"):
    path: str
    content: str
    level: FileLevel = "full"
    digest: str | UnsetType = UNSET
    line_ranges: tuple[LineRange, ...] | UnsetType = UNSET


class ContextPack(Struct, frozen=True, rename="camel", kw_only=True):
    """The pack. `total_chars` counts the characters (code points) of the rendered prompt.

    `not_shown` lists requested files that are missing from the pack; `not_shown_more` counts those
    that did not fit in the list. `max_chars` is the tier's limit, which the prompt obeys;
    `json_chars` is the length of this document as JSON."""

    task: TaskInfo
    constraints: Constraints
    previous_state: PreviousState | UnsetType = UNSET
    files: tuple[ContextFile, ...] = ()
    docs: tuple[ContextDoc, ...] = ()
    repair_tickets: tuple[RepairTicket, ...] | UnsetType = UNSET
    error_output: tuple[str, ...] | UnsetType = UNSET
    total_chars: int = 0
    truncated: bool = False
    max_chars: int = 0
    json_chars: int = 0
    not_shown: tuple[str, ...] = ()
    not_shown_more: int = 0
    schema_version: int = SCHEMA_VERSION


class Change(Struct, frozen=True, rename="camel"):
    """A changed file, for the contract check."""

    file: str
    new: bool = False


class ContractViolation(Struct, frozen=True, rename="camel"):
    file: str
    reason: ViolationReason
    rule: str = ""


class ContractReport(Struct, frozen=True, rename="camel"):
    """Result of `sutler contract check`; `idle_globs` match no file of the project."""

    checked: int
    violations: tuple[ContractViolation, ...] = ()
    idle_globs: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION
