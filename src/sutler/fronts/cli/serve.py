"""`sutler serve`: one HTTP server for the projects and members of a team's store."""

from __future__ import annotations

import argparse
import os

from sutler.errors import UsageError
from sutler.fronts.cli.options import add_store, flag, integer, one_of, repeated, value
from sutler.fronts.console import Console
from sutler.store.records import PROFILES


def configure_serve(parser: argparse.ArgumentParser) -> None:
    value(
        parser,
        "folders",
        "[NAME=]DIR",
        "folders of the projects; without a name: the project's name in the store",
        nargs="*",
    )
    add_store(parser, "PostgreSQL URL of a member with the role 'server'")
    value(parser, "--host", "HOST", "address to bind (default 127.0.0.1)", "127.0.0.1")
    integer(parser, "--port", "port to bind (default 8377; 0: any)", 8377, "PORT")
    value(parser, "--tools", "NAMES", "names of the tools to serve, comma-separated")
    one_of(parser, "--profile", sorted(PROFILES), "limits of an answer", "cloud")
    flag(parser, "--log-json", "log each request to stderr as one line of JSON")
    proxy = parser.add_argument_group("behind a proxy")
    repeated(proxy, "--allow-host", "NAME", "accept this Host too")
    repeated(proxy, "--allow-origin", "URL", "accept this Origin")
    repeated(
        proxy, "--forwarded-allow", "IP", "believe X-Forwarded-Host of this proxy (repeatable)"
    )
    value(proxy, "--public-url", "URL", "address that clients use, without a path", "")
    oidc = parser.add_argument_group("tokens of an issuer (OpenID Connect)")
    value(oidc, "--oidc-issuer", "URL", "issuer to trust", "")
    value(oidc, "--oidc-audience", "TEXT", "audience of its tokens", "")
    value(oidc, "--oidc-claim", "NAME", "claim with the member's name", "sub")
    value(oidc, "--oidc-jwks", "FILE", "its keys (default: ask the issuer)", "")


def run_serve(args: argparse.Namespace, console: Console) -> int:
    from sutler.fronts.mcp.issuer import Issuer, require_secure
    from sutler.fronts.mcp.projects import Team, named_folders
    from sutler.fronts.mcp.serving import Plan, serve_projects
    from sutler.store.location import is_url

    if not is_url(args.store):
        raise UsageError("no PostgreSQL URL was given", next_step="name it with --store")
    issuer = None
    if args.oidc_issuer:
        if not args.oidc_audience:
            raise UsageError(
                "an issuer was named without an audience",
                rule="a token for another service opens nothing here",
                next_step="--oidc-audience TEXT",
            )
        if not args.oidc_jwks:
            require_secure(args.oidc_issuer)
        issuer = Issuer(args.oidc_issuer, args.oidc_audience, args.oidc_claim, args.oidc_jwks)
    plan = Plan(
        root="",
        tools=tuple(args.tools.split(",")) if args.tools else (),
        profile=args.profile,
        log_json=args.log_json,
        host=args.host,
        port=args.port,
        hosts=tuple(args.allow_host),
        origins=tuple(args.allow_origin),
        proxies=tuple(args.forwarded_allow),
    )
    folders = named_folders(args.folders, os.environ)
    team = Team(args.store, folders, issuer, args.public_url.rstrip("/"))
    serve_projects(plan, team, console.note)
    return 0
