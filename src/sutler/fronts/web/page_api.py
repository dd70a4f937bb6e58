"""Functions behind the page's requests, from values to values. Each call opens what it needs and
closes it again."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Literal

import msgspec
from msgspec import Struct

from sutler.access.audit import Ledger
from sutler.edits.consent import settle, waiting
from sutler.errors import UsageError
from sutler.pack import receipts
from sutler.pack.options import Options
from sutler.pack.page.build import view_of_run, watch_for
from sutler.pack.page.view import View
from sutler.pack.project import Packing, Project
from sutler.paths import quote, unquote
from sutler.secrets.cleaner import redacted_text
from sutler.store.records import PROFILES, Caller, unseal
from sutler.system import fs
from sutler.tools import open_door, open_ledger

PAGE = 200
"""Rows of the ledger that are shown at once."""


class Wanted(Struct, frozen=True, forbid_unknown_fields=True):
    """A selection from the page's form. `without` are files unticked one by one, in display
    form."""

    goal: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_tokens: int | None = None
    without: tuple[str, ...] = ()


class Settled(Struct, frozen=True, forbid_unknown_fields=True):
    """A person's decision on one approval; `digest` identifies what they were shown."""

    verdict: Literal["approve", "deny"]
    digest: str


class PageApi:
    """One project for one person. Packs are made one at a time: each may take all cores."""

    def __init__(self, project: Project, goal: str, environ: Mapping[str, str]) -> None:
        self._project = project
        self._environ = environ
        self._busy = threading.Lock()
        self._caller = Caller(
            f"web:uid{fs.getuid()}", f"ui-{secrets.token_hex(4)}", PROFILES["person"]
        )
        settings = project.settings
        limit, unit = settings.limit()
        self.first = Wanted(
            goal,
            settings.words("include"),
            settings.words("exclude"),
            limit if unit == "tokens" else None,
        )

    def view(self, wanted: Wanted) -> View:
        """Return the page of the pack of this selection. Nothing leaves, so no receipt is made."""
        with self._busy:
            packing, project = self._packing(wanted)
            packing.watch = watch = watch_for(project)
            packing.empty_ok = True
            for _ in packing.encoded():
                pass
            watch.learn(packing)
        return view_of_run(
            packing.report,
            watch,
            project=redacted_text(project.name),
            goal=project.quotable(wanted.goal),
        )

    def text(self, wanted: Wanted) -> bytes:
        """Return the pack for the browser: it leaves, so it has a receipt."""
        with self._busy:
            packing, project = self._packing(wanted)
            data = packing.text().encode()
        receipt = receipts.receipt_of(
            packing.report,
            project=redacted_text(project.name),
            destination="browser",
            redacted=project.settings.flag("redact"),
        )
        receipts.recorded(receipt, project.place.root, self._environ)
        return data

    def _packing(self, wanted: Wanted) -> tuple[Packing, Project]:
        project = self._project.unticking(unquote(path) for path in wanted.without)
        options: Options = {"include": wanted.include, "exclude": wanted.exclude}
        if wanted.max_tokens is not None:
            if wanted.max_tokens < 1:
                raise UsageError(
                    "a budget is at least one token", next_step="give a number, or leave it empty"
                )
            options["max_tokens"] = wanted.max_tokens
        return project.pack(goal=wanted.goal, **options), project

    # approvals

    def approvals(self) -> list[dict[str, object]]:
        with self._ledger() as ledger:
            return [
                {
                    **{name: getattr(request.approval, name) for name in _APPROVAL},
                    "path": quote(request.approval.path),
                    "digest": request.digest,
                    "whole": request.whole,
                }
                for request in waiting(ledger.store, time.time())
            ]

    def _ledger(self) -> AbstractContextManager[Ledger]:
        return open_ledger(self._project.place.root, self._environ)

    def settle(self, id: str, settled: Settled) -> dict[str, str]:
        state: Literal["approved", "denied"] = (
            "approved" if settled.verdict == "approve" else "denied"
        )
        with open_door(self._project.place.root, self._caller, environ=self._environ) as door:
            approval = settle(door, id, state, f"person:{self._caller.id}", settled.digest)
        return {"id": approval.id, "state": state}

    # the ledger

    def ledger(self, before: int | None) -> dict[str, object]:
        """Return the newest rows, or those before one, newest first."""
        with self._ledger() as ledger:
            end = ledger.store.head()[0] + 1 if before is None else max(1, before)
            rows = ledger.store.audit(max(0, end - 1 - PAGE), PAGE)
        entries = [unseal(row) for row in rows if row.seq < end]
        older = bool(entries) and entries[0].seq > 1
        return {"rows": [msgspec.to_builtins(entry) for entry in reversed(entries)], "older": older}

    def verify(self) -> object:
        with self._ledger() as ledger:
            return msgspec.to_builtins(ledger.verify())


_APPROVAL = (
    "id",
    "tool",
    "args",
    "rule",
    "caller",
    "session",
    "base",
    "result",
    "created",
    "expires",
    "preview",
)
