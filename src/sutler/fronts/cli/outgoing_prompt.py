"""Common steps of `run`, `dry-run` and `gather` before a prompt leaves: settings, questions to a
person, the summary line and the receipt."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

import msgspec

import sutler.config as config
from sutler.config import Settings
from sutler.errors import UsageError
from sutler.fronts.cli import options
from sutler.fronts.console import Console, can_ask, confirm, harmless
from sutler.goals import discovery, runner, send
from sutler.goals.ceiling import Ceiling, ceiling_of
from sutler.goals.redactions import Redactions
from sutler.goals.runner import Hooks, Job
from sutler.pack.project import Project
from sutler.secrets.cleaner import redacted_text
from sutler.store.atomic import write_atomic

_LIMITS = ("max_tokens", "max_chars", "tier")


def compat_of(args: argparse.Namespace, settings: Settings) -> bool:
    """Return whether claw's rules apply: by the flag, else by the setting."""
    return (args.compat or settings.text("goals_compat")) == "claw"


def ceiling_from(args: argparse.Namespace, settings: Settings) -> Ceiling | None:
    """Return the ceiling of the flags; the settings' budget is for packs and takes no part."""
    if all(getattr(args, name, None) is None for name in _LIMITS):
        return None
    limit, unit = config.resolve([options.flags_layer(args)]).limit()
    vocabulary = settings.text("counter")
    if unit == "tokens" and vocabulary == "none":
        raise UsageError("--max-tokens needs a counter", next_step="leave out --counter none")
    return ceiling_of(limit, unit, vocabulary)


def own_commands(settings: Settings) -> dict[str, str]:
    """Return the user's `[commands]` by name."""
    pairs = (text.partition("=") for text in settings.words("commands"))
    return {name.strip(): line.strip() for name, _, line in pairs if line.strip()}


def target_from(args: argparse.Namespace, settings: Settings) -> send.Target | None:
    """Return the program named by a flag; None leaves it to claw.yaml."""
    if args.command and args.to:
        raise UsageError("--command and --to are given together", next_step="keep one of them")
    if args.command:
        return send.target_of_line(args.command)
    return send.profile(args.to, own_commands(settings)) if args.to else None


def bases_here(compat: bool) -> tuple[discovery.Base, ...]:
    return discovery.find_bases(os.getcwd(), os.environ, compat=compat)


def hooks_of(
    console: Console, settings: Settings, compat: bool = False
) -> tuple[Hooks, Redactions]:
    """Return the callbacks of a run, and its redactor, which counts its replacements."""
    redactions = Redactions(Project(settings=settings).numbered().clean())
    progress = console.progress("reading context files:").__enter__()

    def note(text: str) -> None:
        console.end_progress()
        console.note(f"sutler: {redactions(text, '')}")

    def ask(report: str) -> bool:
        console.end_progress()
        return _continue(redactions(report, ""))

    hooks = Hooks(
        note=note,
        ask=ask if compat or can_ask() else None,
        clean=redactions,
        count=redactions.count,
        tell=(lambda count: progress(count, 0)) if progress else None,
    )
    return hooks, redactions


def _continue(report: str) -> bool:
    return confirm(
        f"{harmless(report)}\n\nDo you want to continue with the available files? (y/n): "
    )


def tokens_of(text: str, settings: Settings) -> int | None:
    from sutler.tokens.counter import token_counter

    vocabulary = settings.text("counter")
    return None if vocabulary == "none" else token_counter(vocabulary)(text)


class Outgoing(msgspec.Struct, frozen=True):
    """A prompt that is about to leave: its text, its files, and its destination."""

    text: str
    files: Mapping[str, str]
    destination: str
    settings: Settings
    redactions: Redactions
    ceiling: Ceiling | None = None

    def announce(self, console: Console) -> None:
        """Print `12 files, 18,204 tokens, 2 redacted, to ...`, and the redactions by file."""
        console.end_progress()
        tokens = tokens_of(self.text, self.settings)
        number = len(self.files)
        parts = [f"{number:,} {'file' if number == 1 else 'files'}"]
        parts.append(f"{len(self.text):,} characters" if tokens is None else f"{tokens:,} tokens")
        if not self.settings.flag("redact"):
            parts.append("redaction off")
        elif self.redactions.total:
            parts.append(f"{self.redactions.total:,} redacted")
        console.note(f"sutler: {', '.join(parts)}, to {redacted_text(self.destination)}")
        if self.redactions.total:
            console.note(f"sutler: redacted: {redacted_text(str(self.redactions))}")

    def record(self, sent: runner.Sent, job: Job, console: Console) -> None:
        """Record the prompt before it leaves: a model command that fails has read it all the
        same."""
        from sutler.pack import receipts
        from sutler.scan.place import locate

        receipt = receipts.receipt_of_prompt(
            sent.goal, redacted_text(" ".join(sent.command)), sent.bytes, sent.sha256, sent.files
        )
        receipt = msgspec.structs.replace(
            receipt,
            redacted=self.settings.flag("redact"),
            findings=self.redactions.rules(),
            tokens=tokens_of(self.text, self.settings),
            counter=self.settings.text("counter"),
            budget=str(self.ceiling) if self.ceiling else "no limit",
        )
        _, trouble = receipts.recorded(receipt, locate([], job.cwd).root, job.environ)
        if trouble:
            console.note(trouble)


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def write_text(path: str, text: str) -> None:
    write_atomic(path, [encoded(text)])
