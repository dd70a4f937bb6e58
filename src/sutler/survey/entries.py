"""Entry points of a program, and the routes and commands that its code declares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET

from sutler.languages import language_named
from sutler.languages.base import Language
from sutler.paths import basename
from sutler.scan.classify import Classified
from sutler.scan.snapshot import FileFacts
from sutler.survey.code import CodeFacts
from sutler.survey.evidence import Found, is_aside, tame
from sutler.survey.wire import EntrypointSummary, EntrypointType

MAX_ENTRIES = 25
MAX_ROUTES = 50

_CLI_SIGNS = re.compile(
    r"\bargparse\b|\bimport click\b|\bfrom"
    r" click\b|\btyper\b|\boptparse\b|\bdocopt\b|\bclap\b|\blexopt\b"
    r"|spf13/cobra|\bcommander\b|\byargs\b|urfave/cli|\bpicocli\b|\bOptionParser\b|flag\.Parse\("
    r"|process\.argv"
    r"|sys\.argv|os\.Args|getopt"
)
_BROWSER = re.compile(r"createRoot\(|ReactDOM\.render\(|createApp\(|bootstrapApplication\(")
_PAGES = re.compile(r"render_template|TemplateResponse|\brender\(|res\.render|\.html\b|View\(")
_DOCSTRING = re.compile(r"(\"{3}|'{3}).*?(?:\1|\Z)", re.DOTALL)


def routes_in(language: str, text: str) -> tuple[str, ...]:
    """Return the declared routes, such as `GET /users`, in the order of the text."""
    spoken = language_named(language)
    if spoken is None:
        return ()
    text = _without_docstrings(spoken, text)
    matches = [
        match
        for pattern in spoken.entries.routes
        for match in re.finditer(pattern, text, re.MULTILINE)
    ]
    return _in_order((match.start(), _route(match.group(1), match.group(2))) for match in matches)


def _without_docstrings(language: Language, text: str) -> str:
    """Remove examples in documentation: the program neither serves nor runs them."""
    documented = language.grammar is not None and language.grammar.docstrings
    return _DOCSTRING.sub("", text) if documented else text


def _in_order(rows: Iterable[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row for _, row in sorted(rows)))[:MAX_ROUTES]


def _route(verb: str, target: str) -> str:
    word = re.sub(r"^(?:Map|Http)", "", verb).upper()
    plain = word in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    shown = target if target.startswith("/") or not plain else f"/{target}"
    return f"{word} {shown}" if plain else (target or "/")


def commands_in(language: str, text: str) -> tuple[str, ...]:
    """Return the names of the commands that a text declares, in its order."""
    if language == "rust" and "clap" not in text:
        return ()  # `Command` of the standard library is a program that the code starts
    spoken = language_named(language)
    if spoken is None:
        return ()
    text, patterns = _without_docstrings(spoken, text), spoken.entries.commands
    matches = [match for pattern in patterns for match in re.finditer(pattern, text, re.MULTILINE)]
    return _in_order((match.start(), match.group(1)) for match in matches)


def entrypoints(
    entries: Sequence[Classified],
    texts: Mapping[str, str],
    code: Mapping[str, CodeFacts],
    named: Sequence[str],
    found: Sequence[Found],
) -> tuple[EntrypointSummary, ...]:
    """Return the manifest's entry points first, then other files with routes or commands."""
    facts: dict[str, FileFacts] = {entry.path: fact for entry, fact in entries}
    commands = {
        path: item.commands for item in found for path in item.entry_points if item.commands
    }
    paths = [path for path in named if path in facts]
    others = [path for path in sorted(texts) if path in facts and path not in paths]
    paths += [path for path in others if _main_code(path, facts[path])]
    out: list[EntrypointSummary] = []
    for path in paths:
        if len(out) == MAX_ENTRIES:
            break
        summary = _summary(
            path,
            facts[path].language,
            _without_comments(facts[path].language, texts.get(path, "")),
            path in named,
            commands.get(path, ()),
        )
        if summary is not None:
            doc = code[path].doc if path in code else ""
            out.append(EntrypointSummary(path, summary[0], doc, summary[1] or UNSET))
    return tuple(out)


_COMMENT_LINE = re.compile(r"(?m)^[ \t]*(?://|/?\*).*$")
_HASH_LINE = re.compile(r"(?m)^[ \t]*#.*$")
_HASHED = frozenset({"python", "ruby", "elixir", "shell"})


def _without_comments(language: str, text: str) -> str:
    """Remove comments and docstrings, and in Rust the tests at the end."""
    if (spoken := language_named(language)) is not None:
        text = _without_docstrings(spoken, text)
    text = (_HASH_LINE if language in _HASHED else _COMMENT_LINE).sub("", tame(text))
    return text.split("#[cfg(test)]", 1)[0] if language == "rust" else text


def _main_code(path: str, facts: FileFacts) -> bool:
    return (
        facts.tag == "code" and facts.category not in ("dependency", "build") and not is_aside(path)
    )


def _summary(
    path: str, language: str, text: str, named: bool, declared: tuple[str, ...]
) -> tuple[EntrypointType, tuple[str, ...]] | None:
    routes, commands = routes_in(language, text), commands_in(language, text)
    if routes:
        return ("web" if _PAGES.search(text) and not _has_api(path, routes) else "api"), routes
    if not commands and not named:
        return None
    spoken = language_named(language)
    opens = spoken is not None and basename(path) in spoken.entries.libraries
    library = opens or re.search(r"(?:^|/)index\.[cm]?[jt]sx?$", path)
    parses = _CLI_SIGNS.search(text) is not None
    if commands or ((parses and declared) if library else (parses or declared)):
        return "cli", commands or declared
    if language == "html" or _BROWSER.search(text):
        return "web", ()
    compiled = spoken is not None and spoken.entries.compiled
    return ("library" if library else "cli" if compiled else "script"), ()


def _has_api(path: str, routes: tuple[str, ...]) -> bool:
    return "api" in path.lower() or any("/api" in route for route in routes)
