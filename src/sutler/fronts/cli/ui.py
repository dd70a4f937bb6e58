"""`sutler ui`: the report, live, on this machine and for the user who started it."""

from __future__ import annotations

import argparse
import os
import socket

from sutler.errors import SutlerError
from sutler.fronts.cli import options
from sutler.fronts.cli.options import value
from sutler.fronts.cli.pack import open_project
from sutler.fronts.console import Console

LOOPBACK = "127.0.0.1"


def configure_ui(parser: argparse.ArgumentParser) -> None:
    options.explain(
        parser,
        "The server listens on loopback. The printed address works once, in one browser.\n"
        "Ctrl-C ends the server.",
    )
    options.add_paths(parser)
    options.add_selection(parser)
    options.add_budget(parser)
    value(parser, "--goal", "TEXT", "task by which files are ranked at the start")
    parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="port to bind (default: any free port)"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text[:9]) <= 65_535:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port")
    return int(text)


def run_ui(args: argparse.Namespace, console: Console) -> int:
    import uvicorn

    from sutler.fronts.web.app import build
    from sutler.fronts.web.guard import Keys
    from sutler.fronts.web.page_api import PageApi

    project, goal = open_project(args)
    with _listening(args.port) as own:
        keys = Keys(f"{LOOPBACK}:{own.getsockname()[1]}")
        app = build(PageApi(project, goal, os.environ), keys)
        setup = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            limit_concurrency=64,
        )
        if args.json:
            console.answer_json({"url": keys.url})
        else:
            console.answer(keys.url)
            console.note("open this address in a browser; it works once. Ctrl-C ends the server.")
        try:
            uvicorn.Server(setup).run(sockets=[own])
        except KeyboardInterrupt:
            console.note("stopped")
    return 0


def _listening(port: int) -> socket.socket:
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A server that has just ended leaves its port closed for a minute otherwise.
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((LOOPBACK, port))
        own.listen(64)  # before the address is printed: who opens it at once must wait, not fail
    except OSError as error:
        own.close()
        raise SutlerError(
            f"cannot listen on port {port}: {error.strerror}",
            next_step="choose another with --port, or leave it out",
        ) from None
    return own
