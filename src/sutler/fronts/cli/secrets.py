"""`sutler secrets` and `sutler receipt`: findings, and records of packs that left."""

from __future__ import annotations

import argparse
import os
from typing import Any

import msgspec

from sutler.errors import RefusedError, UsageError
from sutler.fronts.cli import options
from sutler.fronts.cli.options import flag, one_of, value
from sutler.fronts.cli.pack import open_project
from sutler.fronts.console import Console, read_bytes
from sutler.pack import receipts
from sutler.pack.findings import findings_in
from sutler.paths import counted, quote, wire_path
from sutler.scan.place import config_home, locate
from sutler.secrets.cleaner import redacted_text
from sutler.secrets.explain import Listed
from sutler.secrets.redactor import THRESHOLD


def configure_secrets(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_selection(parser)
    flag(
        parser,
        "--check",
        "exit with 3 if there is a secret; search files named like credentials too",
    )
    flag(
        parser,
        "--explain",
        "print the rule, the evidence for and against each finding, and how to allow it",
    )


def run_secrets(args: argparse.Namespace, console: Console) -> int:
    if args.check and not args.allow:
        args.allow = ["*"]  # a pack excludes `.env`; a commit would not
    project, _ = open_project(args)
    with console.progress("looking through") as bar:
        project.tell = bar.tell if bar else None
        rows, count, problems = findings_in(project, bar, explain=args.explain)
    for problem in problems:
        console.note(
            redacted_text(
                f"not looked at: {quote(problem.path)}: {problem.kind} {problem.detail}"
            ).rstrip()
        )
    if args.json:
        shown = [msgspec.structs.replace(row, path=wire_path(row.path)) for row in rows]
        console.answer_json({"findings": shown})
    elif args.explain:
        config = quote(os.path.join(config_home(os.environ), "config.toml"))
        console.answer("\n".join(f"{_row(row)}\n{_reasons(row, config)}" for row in rows))
    else:
        console.answer("".join(f"{_row(row)}\n" for row in rows))
    console.note(f"{counted(len(rows), 'finding')} in {counted(count, 'file')}")
    if rows and not args.json and not args.explain:
        console.note(
            "a finding that is no secret: add its tag to allow_secrets in your own config file"
        )
    if args.check and rows:
        raise RefusedError(
            f"{len(rows):,} secrets in {len({row.path for row in rows}):,} files",
            rule="sutler secrets --check",
            next_step="take them out, or allow their tags in your own config file",
        )
    return 0


def _reasons(row: Listed, config: str) -> str:
    why = row.explanation
    if why is None:
        return ""
    lines = [
        f"    rule     {why.rule}, confidence {row.confidence:.2f} of 1, threshold {THRESHOLD}",
        f"    stands   {why.where}",
        f"    for      {'; '.join(why.evidence) or '-'}",
        f"    against  {'; '.join(why.against) or '-'}",
    ]
    shown = [redacted_text(line) for line in lines]
    if row.tag:  # to be copied: a tag is a digest, and a name beside it says secret
        shown.append(f'    allow    allow_secrets = ["{row.tag}"] in {redacted_text(config)}')
    return "".join(f"{line}\n" for line in shown)


def _row(row: Listed) -> str:
    return f"{quote(row.path)}:{row.line}  {row.rule}  {row.confidence:.2f}  {row.tag}  {row.shown}"


def configure_receipt(parser: argparse.ArgumentParser) -> None:
    one_of(
        parser,
        "action",
        ("list", "show", "verify"),
        "list: newest receipts; show: one receipt; verify: check one receipt",
    )
    value(
        parser, "pack", "ID", "beginning of a pack's id, or its file (default: the newest)", "", "?"
    )
    value(parser, "--file", "FILE", "with verify: a file that --receipt wrote")
    value(parser, "--pack-file", "FILE", "with verify: the pack, compared file by file")


def run_receipt(args: argparse.Namespace, console: Console) -> int:
    root = locate([], os.getcwd()).root
    if args.action == "list":
        return list_receipts(receipts.receipts(root, os.environ, files=False), console)
    pack_file = args.pack_file or (args.pack if os.path.isfile(args.pack) else "")
    wanted = _pack_id(pack_file) if pack_file and pack_file == args.pack else args.pack
    receipt = _read(args.file) if args.file else receipts.find(root, os.environ, wanted)
    if args.action == "show":
        console.answer_json({"receipt": receipt})
        return 0
    receipts.verify(receipt, os.environ)
    if pack_file:
        _compare(receipt, pack_file)
    files = counted(len(receipt.files), "file")
    body = {"pack_id": receipt.pack_id, "verified": True}
    return console.reply(body, f"{receipt.pack_id[:16]}: the seal holds, {files}")


def list_receipts(newest: list[receipts.Receipt], console: Console) -> int:
    rows: list[dict[str, Any]] = [
        {
            "pack_id": receipt.pack_id,
            "at": receipt.at,
            "destination": receipt.destination,
            "files": receipt.context_pack_info["files_included"],
            "redacted": receipt.redacted,
            "findings": sum(receipt.findings.values()),
            "hidden": sum(receipt.hidden.values()),
        }
        for receipt in newest
    ]
    text = "".join(
        f"{row['at']}  {row['pack_id'][:16]}  {row['files']:>6,} files  {row['findings']:>4} "
        f"redacted{'' if row['redacted'] else ' (NOT redacted)'}  -> {row['destination']}\n"
        for row in rows
    )
    return console.reply({"receipts": rows}, text)


def _read(name: str) -> receipts.Receipt:
    try:
        return msgspec.json.decode(read_bytes(name), type=receipts.Receipt)
    except msgspec.MsgspecError as error:
        raise UsageError(
            f"{quote(name)} is not a receipt: {error}",
            next_step="give the file that --receipt wrote",
        ) from None


def _pack_id(name: str) -> str:
    from sutler.formats import parse
    from sutler.pack.verify import pack_id_of

    data = read_bytes(name)
    return pack_id_of(data, parse(data))


def _compare(receipt: receipts.Receipt, name: str) -> None:
    from sutler.formats import parse

    sections = {quote(section.path): section.sha256 for section in parse(read_bytes(name)).sections}
    wrong = receipts.matches(receipt, sections)
    if wrong:
        raise RefusedError(
            f"the pack and its receipt disagree on {counted(len(wrong), 'file')}, such as "
            f"{wrong[0]}",
            rule="a receipt lists the digest of every text that left",
            next_step="this is not the pack that the receipt is about",
        )
