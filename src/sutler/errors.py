"""Exceptions: the few ways a promise can break.

    SutlerError                  exit 1   something failed
    ├── UsageError               exit 2   a flag, a config key or an argument is wrong
    ├── RefusedError             exit 3   a limit, strict mode, the budget or a secret to send
    ├── ConflictError            exit 4   the file has changed
    ├── DeniedError              exit 5   policy denied, or approval is needed
    └── ModelCommandError        exit 6   the model command failed

A failure of the world (a missing file, a denied read) is data, a `Problem`, and not an exception.
An error states what happened, which rule or limit decided, and what to do next."""

from __future__ import annotations


class SutlerError(Exception):
    """Base of all errors that sutler raises on purpose; the fronts print it and use its exit
    code."""

    exit_code = 1

    def __init__(self, what: str, *, rule: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.rule = rule
        self.next_step = next_step

    def __str__(self) -> str:
        lines = [self.what]
        if self.rule:
            lines.append(f"rule: {self.rule}")
        if self.next_step:
            lines.append(f"next: {self.next_step}")
        return "\n".join(lines)

    def with_text(self, what: str) -> SutlerError:
        """Return the same error with another text, such as a redacted one."""
        return type(self)(what, rule=self.rule, next_step=self.next_step)


class UsageError(SutlerError):
    exit_code = 2


class RefusedError(SutlerError):
    exit_code = 3


class ConflictError(SutlerError):
    """`conflict` is a `store.records.Conflict` if there are more facts than one line. `sides` are
    the raw overlapping texts, from which proposals are made; they never leave."""

    exit_code = 4

    def __init__(
        self,
        what: str,
        *,
        rule: str = "",
        next_step: str = "",
        conflict: object = None,
        sides: object = None,
    ) -> None:
        super().__init__(what, rule=rule, next_step=next_step)
        self.conflict = conflict
        self.sides = sides

    def with_text(self, what: str) -> ConflictError:
        return ConflictError(what, rule=self.rule, next_step=self.next_step, conflict=self.conflict)


class DeniedError(SutlerError):
    """`approval` is the id of the pending approval, if there is one."""

    exit_code = 5

    def __init__(
        self, what: str, *, rule: str = "", next_step: str = "", approval: str = ""
    ) -> None:
        super().__init__(what, rule=rule, next_step=next_step)
        self.approval = approval

    def with_text(self, what: str) -> DeniedError:
        return DeniedError(what, rule=self.rule, next_step=self.next_step, approval=self.approval)


class ModelCommandError(SutlerError):
    exit_code = 6
