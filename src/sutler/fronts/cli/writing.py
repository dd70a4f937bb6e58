"""`sutler write|patch|edit|apply|diff|history|rollback|replay`: the writing tools from a shell."""

from __future__ import annotations

import argparse

from sutler.edits.versions import NO_CHANGE, Shown, get_diff
from sutler.edits.writer import Writer
from sutler.errors import ConflictError, UsageError
from sutler.fronts.cli.door import add_profile, opened
from sutler.fronts.cli.options import flag, integer, one_of, value
from sutler.fronts.console import Console, read_bytes, read_text
from sutler.paths import quote
from sutler.store.records import Conflict, FileChange, PatchResult
from sutler.tools import call


def _add_write(parser: argparse.ArgumentParser, *, base: bool = True) -> None:
    if base:
        value(
            parser,
            "--base",
            "VERSION",
            "base version (default: the last one this session read; 'any': overwrite)",
            "",
        )
    value(parser, "-m --reason", "REASON", "reason for the change, recorded in the history", "")
    flag(parser, "-n --dry-run", "show the change without writing it")
    add_profile(parser)


def _common(args: argparse.Namespace) -> dict[str, object]:
    common = {"reason": args.reason, "dry_run": args.dry_run}
    return common | {"base": args.base} if hasattr(args, "base") else common


def _report(console: Console, result: object) -> int:
    assert isinstance(result, PatchResult)  # noqa: S101  # the table says so
    for note in result.notes:
        console.note(note)
    if len(result.files) > 1:
        for item in result.files:
            merged = "  (merged)" if item.merged else ""
            console.note(f"  {_word(item):<8} {item.path}{merged}")
    undo = (
        f"; 'sutler rollback --call {result.call}' takes it back"
        if result.call and result.diff
        else ""
    )
    console.note(f"{result.message}{undo}")
    return console.reply(result, result.diff)


def _word(item: FileChange) -> str:
    if item.before == item.after:
        return "same"
    return "deleted" if not item.after else "changed" if item.before else "created"


def configure_write(parser: argparse.ArgumentParser) -> None:
    value(parser, "path", "PATH", "a file of this project")
    value(parser, "source", "FILE", "file with the text; '-' is stdin", "-", "?")
    how = parser.add_mutually_exclusive_group()
    flag(how, "-a --append", "append to the file")
    flag(how, "--create", "fail if the file exists")
    _add_write(parser)


def run_write(args: argparse.Namespace, console: Console) -> int:
    mode = "append" if args.append else "create" if args.create else "truncate"
    content = read_text(args.source)
    with opened(args, console) as door:
        arguments = {"path": args.path, "content": content, "mode": mode, **_common(args)}
        return _report(console, call(door, "write_file", arguments))


def configure_patch(parser: argparse.ArgumentParser) -> None:
    value(parser, "source", "FILE", "file with the patch; '-' is stdin", "-", "?")
    value(parser, "--path", "PATH", "the only file that the patch may change", "")
    _add_write(parser)


def run_patch(args: argparse.Namespace, console: Console) -> int:
    patch = read_text(args.source)
    with opened(args, console) as door:
        return _report(
            console, call(door, "apply_patch", {"patch": patch, "path": args.path, **_common(args)})
        )


def configure_edit(parser: argparse.ArgumentParser) -> None:
    value(parser, "path", "PATH", "a file of this project")
    value(parser, "old", "OLD", "text to replace; it must occur exactly once")
    value(parser, "new", "NEW", "replacement")
    _add_write(parser)


def run_edit(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        arguments = {"path": args.path, "old": args.old, "new": args.new, **_common(args)}
        return _report(console, call(door, "edit", arguments))


def configure_apply(parser: argparse.ArgumentParser) -> None:
    value(parser, "source", "REPLY", "file with a model's chat reply; '-' is stdin", "-", "?")
    output = parser.add_mutually_exclusive_group()
    value(
        output, "--pack", "FILE", "pack that the model received; its versions are the base versions"
    )
    one_of(
        output,
        "--base",
        ("any",),
        "'any': whole files in the reply may replace any version",
        "",
    )
    _add_write(parser, base=False)


def run_apply(args: argparse.Namespace, console: Console) -> int:
    return apply_text(read_text(args.source), _seen(args.pack) if args.pack else {}, args, console)


def apply_text(
    reply: str, seen: dict[str, Shown], args: argparse.Namespace, console: Console
) -> int:
    """Apply a reply through the gate; `seen` holds the versions that the model was shown."""
    with opened(args, console) as door:
        try:
            done = Writer(door).apply_reply(
                reply, base=args.base, seen=seen, reason=args.reason, dry_run=args.dry_run
            )
        except ConflictError as fault:
            if (
                isinstance(fault.conflict, Conflict)
                and fault.conflict.kind == "stale"
                and not fault.conflict.base_version
            ):
                fault.next_step = (
                    "name the pack that the model was shown with --pack FILE, or use --base any"
                )
            raise
    return _report(console, done)


def _seen(name: str) -> dict[str, Shown]:
    """Return the contents of a pack: the digest of each file, and the text of those it shows
    whole."""
    from sutler.pack.diff import pack_digests, read_pack, whole_texts
    from sutler.paths import rel_of

    pack = read_pack(read_bytes(name))
    texts = whole_texts(pack)
    return {
        rel_of(path): Shown(digest, texts.get(path, ""))
        for path, digest in pack_digests(pack).items()
    }


def configure_diff(parser: argparse.ArgumentParser) -> None:
    value(parser, "path", "PATH", "a file of this project")
    value(parser, "version1", "FROM", "older version (default: the newest that differs)", "", "?")
    value(parser, "version2", "TO", "newer version (default: the current file)", "", "?")
    add_profile(parser)


def run_diff(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        text = get_diff(door, args.path, args.version1 or None, args.version2 or None)
    if not text:
        console.note(NO_CHANGE)
    return console.reply({"diff": text}, text)


def configure_history(parser: argparse.ArgumentParser) -> None:
    value(parser, "path", "PATH", "a file of this project")
    integer(parser, "-n", "maximum number of versions (default 20)", 20)
    add_profile(parser)


def run_history(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        versions = door.get_file_history(args.path, max(1, args.n))
    if not versions:
        console.note(f"no version of {quote(args.path)} is stored; 'sutler ls' lists the files")
    text = "".join(
        f"{item.id:<32}  {item.at[:19]}  {item.origin:<8}  {item.size:>9,}  {item.author}"
        f"{f'  {item.note}' if item.note else ''}"
        f"{f'  call {item.call.partition(chr(46))[0]}' if item.call else ''}\n"
        for item in versions
    )
    return console.reply({"versions": versions}, text)


def configure_rollback(parser: argparse.ArgumentParser) -> None:
    value(parser, "path", "PATH", "a file of this project", "", "?")
    value(parser, "version", "VERSION", "version id from 'sutler history'", "", "?")
    value(parser, "--call", "ID", "undo the writes of one call instead", "")
    value(parser, "--session", "ID", "undo all writes of a session instead", "")
    _add_write(parser, base=False)


def run_rollback(args: argparse.Namespace, console: Console) -> int:
    if (bool(args.session), bool(args.call), bool(args.path and args.version)).count(True) != 1:
        raise UsageError(
            "rollback needs PATH and VERSION, or --call ID, or --session ID",
            next_step="see 'sutler history PATH'",
        )
    with opened(args, console) as door:
        writer, common = Writer(door), {"reason": args.reason, "dry_run": args.dry_run}
        if args.session:
            return _report(console, writer.rollback_session(args.session, **common))
        if args.call:
            return _report(console, writer.rollback_call(args.call, **common))
        return _report(
            console,
            call(door, "rollback", {"path": args.path, "version": args.version, **_common(args)}),
        )


def configure_replay(parser: argparse.ArgumentParser) -> None:
    value(parser, "session", "SESSION", "session whose writes are repeated")
    value(
        parser,
        "target",
        "FOLDER",
        "folder of the copy; a new folder starts with the files as they were",
    )
    integer(parser, "--until", "stop after this row of the ledger", 0, "ROW")
    flag(parser, "-n --dry-run", "show the change without writing it")
    add_profile(parser)


def run_replay(args: argparse.Namespace, console: Console) -> int:
    from sutler.edits.replay import replay

    with opened(args, console) as door:
        return _report(
            console, replay(door, args.session, args.target, until=args.until, dry_run=args.dry_run)
        )
