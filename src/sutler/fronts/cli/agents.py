"""`sutler mcp` serves agents, `sutler mcp install` configures a client for it, `sutler call` calls
one tool."""

from __future__ import annotations

import argparse
import os
import sys

import msgspec

from sutler.errors import SutlerError, UsageError
from sutler.fronts.cli.door import add_profile, caller
from sutler.fronts.cli.options import flag, integer, one_of, repeated, value
from sutler.fronts.console import Console, claim_streams
from sutler.store.records import PROFILES, Approval

HOST, PORT = "127.0.0.1", 8377
CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "codex", "zed", "gemini")


def configure_mcp(parser: argparse.ArgumentParser) -> None:
    one_of(
        parser,
        "action",
        ("install", "skill"),
        "install: add the server to a client's configuration; skill: print the skill file",
        nargs="?",
    )
    value(parser, "--root", "DIR", "folder of the project (default: the current folder)", ".")
    value(
        parser,
        "--tools",
        "NAMES",
        "names of the tools to serve, comma-separated, or 'all' (see 'sutler schema tools'); "
        "default: list twelve, answer all",
    )
    one_of(parser, "--profile", sorted(PROFILES), "limits on the size of an answer", "cloud")
    integer(parser, "--max-tokens", "maximum tokens in one answer (default 25000)", 25_000)
    flag(parser, "--strict-ledger", "sync the ledger to disk for every read, not only for writes")
    repeated(
        parser,
        "--writable",
        "GLOB",
        "files that agents may write without asking, as 'src/**' (repeatable); control files ask",
    )
    flag(parser, "--log-json", "log each request to stderr as one line of JSON")
    http = parser.add_argument_group("over HTTP")
    flag(http, "--http", "serve Streamable HTTP instead of stdio")
    value(http, "--host", "HOST", f"address to bind (default {HOST})")
    integer(http, "--port", f"port to bind (default {PORT}; 0: any)", metavar="PORT")
    value(http, "--token-file", "FILE", "file with the token (default: in the state folder)", "")
    flag(http, "--no-token", "require no token; only on a loopback address")
    repeated(http, "--allow-host", "NAME", "accept this Host header too (repeatable)")
    repeated(http, "--allow-origin", "URL", "accept requests from this Origin (repeatable)")
    install = parser.add_argument_group("install")
    one_of(install, "--client", CLIENTS, "client to configure")
    value(install, "--name", "NAME", "name of the server in the client (default sutler)", "sutler")
    where = install.add_mutually_exclusive_group()
    flag(where, "--project", "write the project's configuration file, shared by its users")
    flag(where, "--user", "write your own configuration file")
    flag(install, "--print", "print the configuration without writing it")


def run_mcp(args: argparse.Namespace, console: Console) -> int:
    if args.action == "skill":
        from sutler.fronts.mcp.install import skill

        console.answer(skill())
        return 0
    _require_http(args)
    root = os.path.abspath(args.root)
    if not os.path.isdir(root):
        raise UsageError("--root names no folder", next_step="name the project's folder")
    if args.action == "install":
        return _install(args, console, root)
    if not args.http and sys.stdin.isatty():
        console.note(
            "this command serves the Model Context Protocol to a client: see 'sutler mcp install"
            " --help'"
        )
    streams = None if args.http else claim_streams()
    from sutler.fronts.mcp.serving import Plan, serve_http, serve_stdio

    plan = Plan(
        root=root,
        tools=tuple(args.tools.split(",")) if args.tools else (),
        profile=args.profile,
        max_tokens=max(1_000, args.max_tokens),
        strict=args.strict_ledger,
        writable=tuple(args.writable),
        log_json=args.log_json,
        host=args.host or HOST,
        port=PORT if args.port is None else args.port,
        token_file=args.token_file,
        tokenless=args.no_token,
        hosts=tuple(args.allow_host),
        origins=tuple(args.allow_origin),
    )
    if streams is None:
        serve_http(plan, console.note)
    else:
        serve_stdio(plan, streams)
    return 0


def _require_http(args: argparse.Namespace) -> None:
    """Refuse an option that only a server over HTTP uses."""
    given = (
        ("--host", args.host),
        ("--port", args.port is not None),
        ("--token-file", args.token_file),
        ("--no-token", args.no_token),
        ("--allow-host", args.allow_host),
        ("--allow-origin", args.allow_origin),
    )
    for name, present in given:
        if present and not (args.http and not args.action):
            raise UsageError(
                f"{name} is for a server over HTTP",
                next_step="use it with 'sutler mcp --http', or leave it out",
            )


def _install(args: argparse.Namespace, console: Console, root: str) -> int:
    from sutler.fronts.mcp import install

    if not args.client:
        raise UsageError("install needs a client", next_step=f"--client {'|'.join(CLIENTS)}")
    tools = tuple(args.tools.split(",")) if args.tools else ()
    entry = install.entry(root, tools, tuple(args.writable))
    scope = "project" if args.project else "user" if args.user else install.usual_scope(args.client)
    path = install.target(args.client, scope, root, os.environ)
    change = install.plan(args.client, path, args.name, entry)
    if args.print:
        console.note(f"for {path}:")
        console.answer(change.entry)
        return 0
    backup = install.write(change)
    kept = f"; the old file is {backup}" if backup else ""
    console.reply(
        {"file": path, "changed": change.changed, "backup": backup},
        f"{path} {'now' if change.changed else 'already'} starts {args.name}{kept}",
    )
    if not console.as_json:
        writes = ", ".join(args.writable) or "nothing"
        console.note(
            f"agents may read {root} without credentials and what AI-ignore files deny; "
            f"they may write {writes} without asking, and ask for the rest"
        )
    return 0


def configure_call(parser: argparse.ArgumentParser) -> None:
    value(parser, "tool", "TOOL", "name of a tool; 'sutler schema tools' lists them")
    value(parser, "arguments", "JSON", "arguments as a JSON object; '-' is stdin", "{}", "?")
    add_profile(parser)
    parser.set_defaults(profile="cloud")


def run_call(args: argparse.Namespace, console: Console) -> int:
    """Call one tool. With --json the answer is the structured content of a protocol client, errors
    included."""
    from sutler.tools import call, open_door
    from sutler.tools.declaration import as_object, failure, text_of

    text = (
        sys.stdin.buffer.read()
        if args.arguments == "-"
        else args.arguments.encode("utf-8", "surrogateescape")
    )
    try:
        arguments = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as fault:
        raise UsageError(
            f"the arguments are not JSON: {fault}",
            next_step="""give an object, as '{"path": "a.py"}'""",
        ) from None
    if not isinstance(arguments, dict):
        raise UsageError("the arguments are not a JSON object")

    def nobody(_: Approval) -> None:
        return None  # an agent loop cannot consent: `sutler approve` settles it

    code = 0
    with open_door(".", caller(args), ask=nobody) as door:
        try:
            answer = call(door, args.tool, arguments)
        except SutlerError as error:
            if not args.json:
                raise
            answer, code = failure(error), error.exit_code
    console.reply(as_object(answer), text_of(answer))
    return code
