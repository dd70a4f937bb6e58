"""Apply the error mode to context files: strict refuses, flexible asks, ignore continues."""

from __future__ import annotations

from collections.abc import Callable

from sutler.errors import RefusedError, SutlerError
from sutler.goals.context_files import Ask, Gathered
from sutler.setting_table import Mode


def judge(
    gathered: Gathered,
    mode: Mode,
    ask: Ask | None,
    note: Callable[[str], None],
    *,
    compat: bool = False,
) -> None:
    """Apply `mode` to the errors. Each warning is reported once: in the report that `ask` shows,
    else as a note. Compat reports warnings only along with errors, and withheld files always."""
    asking = mode == "flexible" and ask is not None and bool(gathered.errors)
    for line in gathered.withheld:
        note(f"warning: {line}")
    if not compat and not asking:
        for warning in gathered.warnings:
            note(f"warning: {warning}")
    if not gathered.errors:
        return
    lines = [issue.message for issue in gathered.errors]
    refused = SutlerError if compat else RefusedError
    if mode == "strict":
        raise refused(
            f"Context processing failed with {len(lines)} error(s):\n  " + "\n  ".join(lines)
        )
    if mode == "ignore":
        for line in lines if not compat else [*gathered.warnings, *lines]:
            note(f"ignored: {line}" if not compat else line)
        return
    if ask is None:
        raise RefusedError(
            f"{len(lines)} problem(s) with the context files, and no terminal to ask on:\n  "
            + "\n  ".join(lines),
            rule="error_handling_mode: flexible",
            next_step="correct them, or choose --mode ignore or --mode strict",
        )
    if not ask(report(gathered)):
        raise refused("Context processing aborted by user.")


def report(gathered: Gathered) -> str:
    """Build the report that `ask` shows in flexible mode."""
    lines = ["Context processing issues:", "", f"Errors ({len(gathered.errors)}):"]
    lines += [f"  - {issue.message}" for issue in gathered.errors]
    if gathered.warnings:
        lines += [
            "",
            f"Warnings ({len(gathered.warnings)}):",
            *(f"  - {warning}" for warning in gathered.warnings),
        ]
    lines += ["", f"Successfully processed {len(gathered.files)} file(s)."]
    return "\n".join(lines)
