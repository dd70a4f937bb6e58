"""`sutler unpack`: the files of a pack, written back."""

from __future__ import annotations

import argparse
import sys
from hashlib import sha256

from sutler.errors import UsageError
from sutler.formats import merge, parse
from sutler.formats.document import PROCESSED, Pack, Section
from sutler.fronts.cli.console import Console
from sutler.pack.unpack import deposit
from sutler.paths import quote, wire_path
from sutler.scan.text import encode


def configure_unpack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "packs",
        nargs="+",
        metavar="FILE",
        help="a pack, or every part of a split one; '-' is stdin",
    )
    parser.add_argument(
        "-d",
        "--directory",
        default="",
        metavar="DIR",
        help="target folder (default: the project's name)",
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="verify the pack and list its files without writing them",
    )


def run_unpack(args: argparse.Namespace, console: Console) -> int:
    pack = _whole([parse(_read(name)) for name in args.packs])
    if args.list or args.json:
        rows = [
            {
                "path": wire_path(one.path),
                "level": one.level,
                "length": one.length,
                "sha256": one.sha256,
            }
            for one in pack.sections
        ]
        if args.json:
            console.answer_json({"project": pack.preamble.project, "files": rows})
        else:
            console.answer(
                "".join(f"{row['length']:>10,}  {row['level']:<9}  {row['path']}\n" for row in rows)
            )
    if args.list:
        return 0
    directory = args.directory or _own_name(pack.preamble.project)
    count = deposit(directory, ((one.path, _data(one), one.mode) for one in pack.sections))
    console.note(f"{count:,} files written below {quote(directory)}")
    shorter = [one for one in pack.sections if sha256(_data(one)).hexdigest() != one.source]
    if shorter:
        shown = ", ".join(quote(one.path) for one in shorter[:5])
        console.note(
            f"{len(shorter):,} of them are as the pack shows them, not as the project has them:"
            f" {shown}"
        )
    return 0


def _own_name(project: str) -> str:
    """The pack's project as a folder right here. A pack comes from anyone: its word is no place
    elsewhere.
    """
    if project in ("", ".", "..") or "/" in project or "\0" in project:
        raise UsageError(
            f"the pack calls its project {quote(project)}, and that is no plain folder name",
            rule="a pack does not choose where its files go",
            next_step="name the directory with -d DIR",
        )
    return project


def _whole(packs: list[Pack]) -> Pack:
    return packs[0] if len(packs) == 1 and packs[0].preamble.part.total == 1 else merge(packs)


def _data(section: Section) -> bytes:
    """The bytes of the file: in its own encoding where the pack shows all of it. Of a file that a
    processor turned into text there is only the text.
    """
    own = section.level == "full" and section.encoding != PROCESSED
    return encode(section.body.text, section.encoding if own else "utf-8")


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        with open(name, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise UsageError(
            f"cannot read {quote(name)}: {error.strerror}",
            next_step="name a file that sutler pack wrote",
        ) from None
