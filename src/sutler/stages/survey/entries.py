"""Where a program starts, and what it answers to: routes and commands found in the code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import UNSET

from sutler.stages.classify import Classified
from sutler.stages.survey.code import CodeFacts
from sutler.stages.survey.found import ASIDE, Found, tame
from sutler.values.paths import basename
from sutler.values.snapshot import FileFacts
from sutler.values.wire import EntrypointSummary, EntrypointType

MAX_ENTRIES = 25
MAX_ROUTES = 50

_VERBS = "get|post|put|patch|delete|head|options|all"
_ROUTES: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"python"}),
        r"@[\w.]+\.(route|get|post|put|patch|delete|websocket)\(\s*[rf]?[\"']([^\"'\n]*)[\"']",
    ),
    (frozenset({"python"}), r"\b(path|re_path|url)\(\s*r?[\"']([^\"'\n]*)[\"']\s*,"),
    (frozenset({"python"}), r"\.(add_url_rule|add_route|add_api_route)\(\s*[\"']([^\"'\n]*)[\"']"),
    (
        frozenset({"javascript", "typescript", "jsx", "tsx"}),
        rf"\b(?:app|router|server|api|fastify|route|hono)\.({_VERBS}|use)\(\s*[\"'`](/[^\"'`\n]*)[\"'`]",
    ),
    (frozenset({"typescript"}), r"@(Get|Post|Put|Patch|Delete|Controller)\(\s*[\"']([^\"'\n]*)[\"']"),
    (
        frozenset({"go"}),
        r"\.(HandleFunc|Handle|GET|POST|PUT|PATCH|DELETE|Get|Post|Put|Delete|Patch)\(\s*"
        r"\"([^\"\n]*/[^\"\n]*)\"",
    ),
    (
        frozenset({"java", "kotlin"}),
        r"@(Get|Post|Put|Patch|Delete|Request)Mapping\(\s*(?:value\s*=\s*|path\s*=\s*)?\{?\"([^\"\n]*)\"",
    ),
    (frozenset({"java", "kotlin"}), r"@(Path)\(\s*\"([^\"\n]*)\""),
    (
        frozenset({"ruby"}),
        r"^[ \t]*(get|post|put|patch|delete|resources|resource|root|mount)\s+[\"':]([^\"'\s,]+)",
    ),
    (frozenset({"php"}), rf"Route::({_VERBS}|resource|any)\(\s*[\"']([^\"'\n]*)[\"']"),
    (frozenset({"php"}), r"#\[(Route)\(\s*[\"']([^\"'\n]*)[\"']"),
    (frozenset({"rust"}), r"#\[(get|post|put|patch|delete)\(\s*\"([^\"\n]*)\""),
    (frozenset({"rust"}), r"\.(route|nest)\(\s*\"([^\"\n]*)\""),
    (frozenset({"csharp"}), r"\.(Map(?:Get|Post|Put|Patch|Delete))\(\s*\"([^\"\n]*)\""),
    (frozenset({"csharp"}), r"\[(Http(?:Get|Post|Put|Patch|Delete)|Route)\(\s*\"([^\"\n]*)\""),
    (frozenset({"elixir"}), r"^[ \t]*(get|post|put|patch|delete|live|resources)\s+\"(/[^\"\n]*)\""),
)
_COMMANDS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"python"}), r"\.add_parser\(\s*[\"']([\w:-]+)[\"']"),
    (frozenset({"python"}), r"@[\w.]+\.(?:command|group)\(\s*(?:name\s*=\s*)?[\"']([\w:-]+)[\"']"),
    (
        frozenset({"python"}),
        r"@[\w.]+\.(?:command|group)\([^\"'\n]{0,200}\)[ \t]*"
        r"(?:\n[ \t]*@[^\n]*)*\n[ \t]*(?:async\s+)?def\s+(\w+)",
    ),
    (frozenset({"javascript", "typescript"}), r"\.command\(\s*[\"'`]([\w:-]+)"),
    (frozenset({"go"}), r"\bUse:\s*\"([\w:-]+)"),
    (frozenset({"java", "kotlin"}), r"@(?:CommandLine\.)?Command\([^)]{0,200}?name\s*=\s*\"([\w:-]+)\""),
    (frozenset({"ruby"}), r"^[ \t]*desc\s+[\"']([\w:-]+)"),
    (frozenset({"rust"}), r"(?:Command|SubCommand|App)::(?:new|with_name)\(\s*\"([\w:-]+)\""),
)
_CLI_SIGNS = re.compile(
    r"\bargparse\b|\bimport click\b|\bfrom click\b|\btyper\b|\boptparse\b|\bdocopt\b|\bclap\b|\blexopt\b"
    r"|spf13/cobra|\bcommander\b|\byargs\b|urfave/cli|\bpicocli\b|\bOptionParser\b|flag\.Parse\(|process\.argv"
    r"|sys\.argv|os\.Args|getopt"
)
_PAGES = re.compile(r"render_template|TemplateResponse|\brender\(|res\.render|\.html\b|View\(")
_LIBRARY = frozenset({"__init__.py", "lib.rs", "mod.rs", "mod.ts"})


_DOCSTRING = re.compile(r"(\"{3}|'{3}).*?(?:\1|\Z)", re.DOTALL)


def routes_in(language: str, text: str) -> tuple[str, ...]:
    """`GET /users` and the like, in the order of the text."""
    if language == "python":
        text = _DOCSTRING.sub("", text)  # documentation shows routes that nobody serves
    found: list[tuple[int, str]] = []
    for languages, pattern in _ROUTES:
        if language in languages:
            for match in re.finditer(pattern, text, re.MULTILINE):
                found.append((match.start(), _route(match.group(1), match.group(2))))
    return tuple(dict.fromkeys(route for _, route in sorted(found)))[:MAX_ROUTES]


def _route(verb: str, target: str) -> str:
    word = re.sub(r"^(?:Map|Http)", "", verb).upper()
    plain = word in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    shown = target if target.startswith("/") or not plain else f"/{target}"
    return f"{word} {shown}" if plain else (target or "/")


def commands_in(language: str, text: str) -> tuple[str, ...]:
    found: list[tuple[int, str]] = []
    for languages, pattern in _COMMANDS:
        if language in languages:
            found += [(match.start(), match.group(1)) for match in re.finditer(pattern, text, re.MULTILINE)]
    return tuple(dict.fromkeys(name for _, name in sorted(found)))[:MAX_ROUTES]


def entrypoints(
    entries: Sequence[Classified],
    texts: Mapping[str, str],
    code: Mapping[str, CodeFacts],
    named: Sequence[str],
    found: Sequence[Found],
) -> tuple[EntrypointSummary, ...]:
    """The manifest's entry points first, then other files that answer to routes or commands."""
    facts: dict[str, FileFacts] = {entry.path: fact for entry, fact in entries}
    commands = {path: item.commands for item in found for path in item.entry_points if item.commands}
    paths = [path for path in named if path in facts]
    others = [path for path in sorted(texts) if path in facts and path not in paths]
    paths += [path for path in others if _main_code(path, facts[path])]
    out: list[EntrypointSummary] = []
    for path in paths:
        summary = _summary(path, facts[path].language, tame(texts.get(path, "")), path in named, commands.get(path, ()))
        if summary is not None and len(out) < MAX_ENTRIES:
            doc = code[path].doc if path in code else ""
            out.append(EntrypointSummary(path, summary[0], doc, summary[1] or UNSET))
    return tuple(out)


def _main_code(path: str, facts: FileFacts) -> bool:
    return facts.tag == "code" and facts.category not in ("dependency", "build") and not ASIDE.search(path)


def _summary(
    path: str, language: str, text: str, named: bool, declared: tuple[str, ...]
) -> tuple[EntrypointType, tuple[str, ...]] | None:
    routes, commands = routes_in(language, text), commands_in(language, text)
    if routes:
        return ("web" if _PAGES.search(text) and not _has_api(path, routes) else "api"), routes
    if commands or (named and (declared or _CLI_SIGNS.search(text))):
        return "cli", commands or declared
    if not named:
        return None
    if language == "html":
        return "web", ()
    library = basename(path) in _LIBRARY or re.search(r"(?:^|/)index\.[cm]?[jt]sx?$", path)
    return ("library" if library else "script"), ()


def _has_api(path: str, routes: tuple[str, ...]) -> bool:
    return "api" in path.lower() or any("/api" in route for route in routes)
