"""`sutler cache`: files of earlier runs that save time, their size, and their removal."""

from __future__ import annotations

import argparse
import os

from sutler.fronts.cli.options import one_of
from sutler.fronts.console import Console
from sutler.paths import quote
from sutler.remote import shelf
from sutler.secrets.cleaner import redacted_text
from sutler.store import home


def configure_cache(parser: argparse.ArgumentParser) -> None:
    one_of(
        parser,
        "action",
        ("info", "clear"),
        "info: show size and location (default); clear: delete it",
        "info",
        nargs="?",
    )


def run_cache(args: argparse.Namespace, console: Console) -> int:
    files = home.cache_files(os.environ)
    folder = redacted_text(quote(home.cache_folder(os.environ)))
    fetched = shelf.shelved(os.environ)
    total = sum(file.size for file in files) + sum(file.size for file in fetched)
    if args.action == "clear":
        home.forget([file.name for file in files], os.environ)
        shelf.forget_shelved([file.name for file in fetched], os.environ)
    kinds = {
        kind: {
            "files": sum(1 for file in files if file.kind == kind),
            "bytes": sum(file.size for file in files if file.kind == kind),
        }
        for kind in home.KINDS
    }
    kinds[shelf.FOLDER] = {"files": len(fetched), "bytes": sum(file.size for file in fetched)}
    body = {"folder": folder, "limit": home.CACHE_LIMIT, "bytes": total, "kinds": kinds}
    if args.action == "clear":
        text = f"cleared {len(files) + len(fetched):,} files, {total:,} bytes, of {folder}"
        return console.reply({**body, "cleared": True}, text)
    about = {**home.KINDS, shelf.FOLDER: "repositories and archives that were packed"}
    rows = [
        f"{count['bytes']:>13,}  {count['files']:>5,} files  {kind}: {about[kind]}\n"
        for kind, count in kinds.items()
    ]
    text = "".join(rows) + f"{total:>13,}  of {home.CACHE_LIMIT:,} bytes in {folder}\n"
    return console.reply({**body, "cleared": False}, text)
