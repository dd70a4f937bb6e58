"""`sutler unpack`: the files of a pack, written back."""

from __future__ import annotations

import argparse
from hashlib import sha256

from sutler.errors import UsageError
from sutler.formats.document import Pack
from sutler.formats.split import merge
from sutler.fronts.cli.options import flag, value
from sutler.fronts.console import Console, read_bytes
from sutler.pack.diff import AnyPack, read_pack
from sutler.pack.unpack import deposit, project_of, unpacked
from sutler.paths import counted, quote, wire_path


def configure_unpack(parser: argparse.ArgumentParser) -> None:
    value(parser, "packs", "FILE", "a pack, or every part of a split one; '-' is stdin", nargs="+")
    value(parser, "-d --directory", "DIR", "target folder (default: the project's name)", "")
    flag(parser, "--list", "verify the pack and list its files without writing them")


def run_unpack(args: argparse.Namespace, console: Console) -> int:
    hint = "name a file that sutler pack wrote"
    pack = _whole([read_pack(read_bytes(name, next_step=hint)) for name in args.packs])
    project, files = project_of(pack), unpacked(pack)
    if args.list or args.json:
        rows = [
            {
                "path": wire_path(file.path),
                "level": file.level,
                "length": len(file.data),
                "sha256": sha256(file.data).hexdigest(),
            }
            for file in files
        ]
        if args.json:
            console.answer_json({"project": project, "files": rows})
        else:
            console.answer(
                "".join(f"{row['length']:>10,}  {row['level']:<9}  {row['path']}\n" for row in rows)
            )
    if args.list:
        return 0
    directory = args.directory or _own_name(project)
    count = deposit(directory, ((file.path, file.data, file.mode) for file in files))
    console.note(f"{counted(count, 'file')} written below {quote(directory)}")
    shorter = [file for file in files if sha256(file.data).hexdigest() != file.source]
    if shorter:
        names = ", ".join(quote(file.path) for file in shorter[:5])
        console.note(
            f"{len(shorter):,} of them are as the pack shows them, not as the project has them:"
            f" {names}"
        )
    return 0


def _own_name(project: str) -> str:
    """Return the pack's project as a name in this folder. A pack is untrusted: its text must not
    lead elsewhere."""
    if project in ("", ".", "..") or "/" in project or "\0" in project:
        raise UsageError(
            f"the pack calls its project {quote(project)}, and that is no plain folder name",
            rule="a pack does not choose where its files go",
            next_step="name the directory with -d DIR",
        )
    return project


def _whole(packs: list[AnyPack]) -> AnyPack:
    """Return the pack, with the parts of a split one merged. Only rendered packs are split."""
    if len(packs) == 1 and not (isinstance(packs[0], Pack) and packs[0].preamble.part.total > 1):
        return packs[0]
    parts = [pack for pack in packs if isinstance(pack, Pack)]
    if len(parts) < len(packs):
        raise UsageError(
            "several files are given, and not all of them are parts of a split pack",
            rule="a document of --type or --task is one file",
            next_step="unpack each document by itself",
        )
    return merge(parts)
