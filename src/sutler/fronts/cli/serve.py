"""`sutler serve`: one HTTP server for the projects and members of a team's store."""

from __future__ import annotations

import argparse
import os

from sutler.errors import UsageError
from sutler.fronts.cli.console import Console
from sutler.store.records import PROFILES


def configure_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        nargs="*",
        metavar="[NAME=]DIR",
        help="folders of the projects; without a name: the project's name in the store",
    )
    parser.add_argument(
        "--store",
        default=os.environ.get("SUTLER_STORE", ""),
        metavar="URL",
        help="PostgreSQL URL of a member with the role 'server' (default: SUTLER_STORE)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to bind (default 127.0.0.1)")
    parser.add_argument(
        "--port", type=int, default=8377, help="port to bind (default 8377; 0: any)"
    )
    parser.add_argument(
        "--tools", metavar="NAMES", help="names of the tools to serve, comma-separated"
    )
    parser.add_argument(
        "--profile", choices=sorted(PROFILES), default="cloud", help="limits of an answer"
    )
    parser.add_argument(
        "--log-json", action="store_true", help="log each request to stderr as one line of JSON"
    )
    proxy = parser.add_argument_group("behind a proxy")
    proxy.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="accept this Host too"
    )
    proxy.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="accept this Origin"
    )
    proxy.add_argument(
        "--forwarded-allow",
        action="append",
        default=[],
        metavar="IP",
        help="believe X-Forwarded-Host of this proxy (repeatable)",
    )
    proxy.add_argument(
        "--public-url", default="", metavar="URL", help="address that clients use, without a path"
    )
    oidc = parser.add_argument_group("tokens of an issuer (OpenID Connect)")
    oidc.add_argument("--oidc-issuer", default="", metavar="URL", help="issuer to trust")
    oidc.add_argument("--oidc-audience", default="", metavar="TEXT", help="audience of its tokens")
    oidc.add_argument(
        "--oidc-claim", default="sub", metavar="NAME", help="claim with the member's name"
    )
    oidc.add_argument(
        "--oidc-jwks", default="", metavar="FILE", help="its keys (default: ask the issuer)"
    )


def run_serve(args: argparse.Namespace, console: Console) -> int:
    from sutler.fronts.mcp.issuer import Issuer, require_secure
    from sutler.fronts.mcp.serving import Plan, Team, serve_projects
    from sutler.store.home import is_url

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
    team = Team(
        store=args.store,
        folders=tuple(args.folders),
        issuer=issuer,
        public=args.public_url.rstrip("/"),
    )
    serve_projects(plan, team, console.note)
    return 0
