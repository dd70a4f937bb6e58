"""`sutler config`, `init`, `schema`, `doctor` and `completion`."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Callable
from functools import partial

import msgspec

import sutler.config as config
from sutler.errors import SutlerError, UsageError
from sutler.fronts.cli import options
from sutler.fronts.cli.options import flag, one_of, value
from sutler.fronts.console import Console
from sutler.pack.report import Report
from sutler.paths import quote
from sutler.scan.place import locate
from sutler.secrets.cleaner import redacted_text, redacted_values
from sutler.setting_table import KEYS, Value
from sutler.version import VERSION


def configure_config(parser: argparse.ArgumentParser) -> None:
    value(parser, "keys", "KEY", "print only these keys", nargs="*")
    value(parser, "--profile", "NAME", "apply the [profiles.NAME] section of a config file", "")


def run_config(args: argparse.Namespace, console: Console) -> int:
    settings = options.settings_for(args, locate([], os.getcwd()).root)
    unknown = [key for key in args.keys if key not in config.BY_NAME]
    if unknown:
        close = difflib.get_close_matches(unknown[0], list(config.BY_NAME), n=1)
        raise UsageError(
            f"unknown key '{unknown[0]}'",
            next_step=f"did you mean '{close[0]}'?"
            if close
            else "'sutler config' prints; write it in sutler.toml",
        )
    names = args.keys or [key.name for key in KEYS]
    rows = {
        name: {
            "value": settings.values[name],
            "origin": settings.origins[name],
            "default": config.BY_NAME[name].default,
            "help": config.BY_NAME[name].help,
        }
        for name in names
    }
    clean = {name: redacted_values(row) for name, row in rows.items()}
    text = "".join(
        f"{name:<17} {_toml(row['value']):<24} {row['origin']}\n" for name, row in clean.items()
    )
    return console.reply({"settings": clean}, text)


def _toml(value: Value | list[str]) -> str:
    if value is None:
        return "unset"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return msgspec.json.encode(value).decode()


def configure_init(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--user", "write your own config file instead of the project's")
    flag(parser, "--print", "print the file without writing it")


def run_init(args: argparse.Namespace, console: Console) -> int:
    from sutler.scan.place import config_home

    text = template(own=args.user)
    if args.print:
        console.answer(text)
        return 0
    path = (
        os.path.join(config_home(os.environ), "config.toml")
        if args.user
        else os.path.join(os.getcwd(), "sutler.toml")
    )
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise UsageError(
            f"{quote(path)} exists already", next_step="edit it, or print a fresh one with --print"
        ) from None
    except OSError as error:
        raise SutlerError(
            f"cannot write {quote(path)}: {error.strerror}", next_step="use --print"
        ) from None
    return console.reply({"path": quote(path)}, path)


def template(*, own: bool) -> str:
    """Return a configuration file with every permitted key, commented out, at its default."""
    lines = [
        "# sutler's settings. 'sutler config' prints the values in force and where they come from.",
        "",
    ]
    for key in KEYS:
        if key.own and not own:
            continue
        lines += [f"# {key.help}" + (f" ({', '.join(key.choices)})" if key.choices else "")]
        lines += [f"# {key.name} = {_toml(key.default) if key.default is not None else '...'}", ""]
    lines += [
        "# A named selection: sutler pack --profile docs",
        "# [profiles.docs]",
        '# include = ["*.md", "docs/"]',
        "",
    ]
    return "\n".join(lines)


def schemas() -> dict[str, Callable[[], dict[str, object]]]:
    """Return every published schema by its name: answers of commands, and wire documents."""
    from sutler.pack.receipts import Receipt
    from sutler.pack.serial import DOCUMENTS, schema
    from sutler.survey.wire import PackCheck
    from sutler.tasks.wire import ContractReport

    answers: dict[str, type] = {
        "report": Report,
        "receipt": Receipt,
        "contract-report": ContractReport,
        "pack-check": PackCheck,
    }
    figure: dict[str, Callable[[], dict[str, object]]] = {
        name: partial(msgspec.json.schema, kind) for name, kind in answers.items()
    }
    figure |= {
        re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower(): partial(schema, name) for name in DOCUMENTS
    }
    return figure


def configure_schema(parser: argparse.ArgumentParser) -> None:
    value(parser, "name", "NAME", "name of a schema; without one, list the names", nargs="?")
    one_of(parser, "--style", ("mcp", "openai", "anthropic"), "notation of 'schema tools'", "mcp")


def run_schema(args: argparse.Namespace, console: Console) -> int:
    published = schemas()
    if args.name == "tools":
        from sutler.tools.spelling import spelled

        console.answer(
            msgspec.json.format(msgspec.json.encode(spelled(args.style)), indent=2).decode()
        )
        return 0
    if args.name is None:
        names = sorted((*published, "tools"))
        return console.reply({"schemas": names}, "\n".join(names))
    plain = re.sub(r"[^a-z]", "", args.name.lower())  # FullPack, full_pack and full-pack are one
    make = next((make for name, make in published.items() if name.replace("-", "") == plain), None)
    if make is None:
        raise UsageError(
            f"no schema named '{args.name}'",
            next_step=f"use one of {', '.join(sorted((*published, 'tools')))}",
        )
    encoded = msgspec.json.encode(make())
    console.answer(msgspec.json.format(encoded, indent=2).decode())
    return 0


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    del parser


def run_doctor(args: argparse.Namespace, console: Console) -> int:
    rows = [(name, *_checked(check)) for name, check in CHECKS]
    checks = [{"name": name, "ok": ok, "detail": detail} for name, ok, detail in rows]
    lines = [f"{'ok' if ok else 'BAD':<4} {name:<12} {detail}\n" for name, ok, detail in rows]
    console.reply({"checks": checks}, "".join(lines))
    return 0 if all(ok for _, ok, _ in rows) else 1


def _checked(check: Callable[[], str]) -> tuple[bool, str]:
    try:
        return True, check()
    except (SutlerError, OSError, ImportError, ValueError) as error:
        return False, redacted_text(str(error)).replace("\n", "; ")


def _versions() -> str:
    return f"sutler {VERSION}, Python {sys.version.split()[0]}, {sys.platform}"


def _confinement() -> str:
    from sutler.scan.root import Root

    with Root(os.getcwd()) as root:
        return root.method()


def _tokens() -> str:
    from sutler.tokens.counter import by_tokenizer, count_small

    sample = "def provision(army): return [ration for ration in army]\n"
    for maker, count in (("splintr-rs", by_tokenizer("o200k_base")), ("sutler", count_small)):
        if (figure := count(sample)) != 13:  # a damaged table would count otherwise
            raise ValueError(
                f"o200k_base counts {figure} tokens where 13 are right: reinstall {maker}"
            )
    return "o200k_base counts exactly, offline"


def _config() -> str:
    settings = options.settings_for(argparse.Namespace(), locate([], os.getcwd()).root)
    changed = sorted(name for name, origin in settings.origins.items() if origin != "default")
    return f"readable; set: {', '.join(changed)}" if changed else "readable; all defaults"


def _store() -> str:
    """Open the project's store, check every page, and compare its newest checkpoint with it."""
    from sutler.store.sqlite import SqliteDatabase
    from sutler.tools import open_ledger

    with open_ledger(os.getcwd(), os.environ) as ledger:
        ledger.check()
        database = getattr(ledger.store, "database", None)
        rows = f"{ledger.store.head()[0]:,} rows in the ledger"
        if not isinstance(database, SqliteDatabase):
            return f"PostgreSQL, {rows}"
        database.quick_check()
        return f"SQLite {database.version}, sound, {rows}"


def _encoding() -> str:
    return f"file names {sys.getfilesystemencoding()}, stdout {sys.stdout.encoding}"


CHECKS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("version", _versions),
    ("confinement", _confinement),
    ("tokens", _tokens),
    ("config", _config),
    ("encoding", _encoding),
    ("store", _store),
)


def configure_completion(parser: argparse.ArgumentParser) -> None:
    options.explain(
        parser,
        "bash: sutler completion bash > ~/.local/share/bash-completion/completions/sutler\n"
        "zsh:  sutler completion zsh > FOLDER/_sutler, where FOLDER is one of $fpath\n"
        "tcsh: sutler completion tcsh > FILE, and 'source FILE' in ~/.tcshrc",
    )
    one_of(parser, "shell", ("bash", "zsh", "tcsh"), "shell of the script")


def run_completion(args: argparse.Namespace, console: Console) -> int:
    import shtab

    from sutler.fronts.cli.goal_options import COMPLETION_PREAMBLE
    from sutler.fronts.cli.options import whole_parser

    script = shtab.complete(whole_parser(), shell=args.shell, preamble=COMPLETION_PREAMBLE)  # type: ignore[arg-type]  # one text or one for each shell
    return console.reply({"shell": args.shell, "script": script}, script)
