"""`sutler diff-packs` and `sutler verify PACK`: a pack compared with another, or with its
folder."""

from __future__ import annotations

import argparse
import os

from sutler.errors import ConflictError, RefusedError, UsageError
from sutler.fronts.cli.options import value
from sutler.fronts.console import Console, read_bytes
from sutler.pack.diff import AnyPack, diff_packs, read_pack
from sutler.pack.verify import check_pack
from sutler.paths import quote
from sutler.survey.wire import PackChange, PackCheck

LEDGER = b'{"hash":'


def configure_diff_packs(parser: argparse.ArgumentParser) -> None:
    value(parser, "before", "A", "a pack in any format; '-' is stdin")
    value(parser, "after", "B", "another pack")


def run_diff_packs(args: argparse.Namespace, console: Console) -> int:
    if args.before == args.after == "-":
        raise UsageError("both packs come from stdin", next_step="give one of them as a file")
    changes = diff_packs(_pack(args.before), _pack(args.after))
    groups = (
        ("entered", changes.entered),
        ("left", changes.left),
        ("level", changes.level_changed),
        ("content", changes.content_changed),
    )
    rows = [_row(title, change) for title, group in groups for change in group]
    return console.reply(changes, "".join(rows) or "the packs show the same")


def _row(title: str, change: PackChange) -> str:
    levels = (
        f"{change.before} -> {change.after}"
        if change.before and change.after
        else change.before or change.after
    )
    return f"{title:<8}  {quote(change.path)}  [{levels}]  {change.why}\n"


def _pack(name: str) -> AnyPack:
    return read_pack(read_bytes(name))


def is_pack(name: str) -> bool:
    """Return whether a file for `verify` is a pack, and not an exported ledger, whose lines start
    with their hash."""
    head = read_bytes(name, 4096).lstrip()
    return bool(head) and not head.startswith(LEDGER)


def verify_pack(name: str, console: Console) -> int:
    """Return 0 if nothing changed, 4 if files changed, 3 if the pack itself is invalid."""
    check = check_pack(read_bytes(name), os.getcwd(), os.environ)
    console.reply(check, _described(check))
    if check.altered:
        raise RefusedError(
            f"{len(check.altered):,} texts are not what their files give, such as"
            f" {quote(check.altered[0])}",
            rule="a file that has not moved on gives the text the pack shows",
            next_step=(
                "the pack was changed, or made with other redaction settings; pack anew and compare"
            ),
        )
    if check.moved:
        raise ConflictError(
            f"{len(check.moved):,} of {check.files:,} files have moved on since",
            rule="a pack records the digest of every file it read",
            next_step="pack anew",
        )
    return 0


def _described(check: PackCheck) -> str:
    rows = [f"pack {check.pack_id[:16]}: {check.files:,} files recorded\n"]
    rows += (
        [f"receipt: {check.receipt}\n"]
        if check.receipt
        else ["receipt: none in this folder's ledger\n"]
    )
    rows += [f"altered  {quote(path)}\n" for path in check.altered]
    rows += [
        f"{'gone' if not change.now else 'changed':<8} {quote(change.path)}\n"
        for change in check.moved
    ]
    return "".join(rows)
