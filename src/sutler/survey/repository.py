"""Summary of the repository and its key files in a few facts; its sentences are the project's
own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from msgspec import UNSET

from sutler.languages import language_named
from sutler.paths import basename, dirname, wire_path
from sutler.scan.classify import Classified, facts_of
from sutler.scan.snapshot import Excluded
from sutler.scan.structured import DocumentError, mapping, parse_json
from sutler.survey.code import LONG_FUNCTION, CodeFacts
from sutler.survey.entries import commands_in, routes_in
from sutler.survey.evidence import is_aside, tame
from sutler.survey.keys import DERIVED
from sutler.survey.manifest import Surveyed
from sutler.survey.readme import opening, own_readmes
from sutler.survey.starts import is_own
from sutler.survey.subjects import subject_weight, subjects
from sutler.survey.wire import EntrypointSummary, FileSummary, KeyFileSummary, RepoSummary

MAX_DEPENDENCIES_SHOWN = 30
MAX_NOTABLE = 10
MAX_TASKS = 20
MAX_TASK_LISTS = 4
NO_TEXTS: Mapping[str, str] = {}

_FRAMEWORKS = re.compile(
    r"^(?:flask|django|fastapi|starlette|tornado|aiohttp|pyramid|celery|sqlalchemy|pydantic|numpy"
    r"|pandas|torch|tensorflow"
    r"|click|typer|react|react-dom|vue|svelte|@angular/core|next|nuxt|express|fastify|koa"
    r"|@nestjs/core|hono|electron|vite"
    r"|webpack|prisma|@prisma/client|typeorm|zod|tokio|axum|actix-web|rocket|serde|clap|diesel"
    r"|sqlx|bevy|rails|sinatra"
    r"|sidekiq|laravel/framework|symfony/framework-bundle|phoenix|ecto"
    r"|org\.springframework.*|io\.quarkus.*"
    r"|io\.ktor.*"
    r"|com\.google\.guava:guava|Microsoft\.AspNetCore.*|Microsoft\.EntityFrameworkCore"
    r"|Newtonsoft\.Json|Boost|Qt[56]?|OpenSSL"
    r"|github\.com/(?:gin-gonic/gin|labstack/echo.*|gofiber/fiber.*|spf13/cobra|go-chi/chi.*"
    r"|gorilla/mux)"
    r"|google\.golang\.org/grpc|gorm\.io/gorm)$",
    re.IGNORECASE,
)


def repo_summary(
    entries: Sequence[Classified],
    surveyed: Surveyed,
    starts: Sequence[EntrypointSummary],
    excluded: Sequence[Excluded] = (),
    texts: Mapping[str, str] = NO_TEXTS,
) -> RepoSummary:
    return RepoSummary(
        description=_description(entries, surveyed, texts),
        architecture_pattern=_architecture(entries, surveyed, starts),
        key_technologies=_technologies(entries, surveyed),
        notable_patterns=(*_patterns(entries, surveyed), *_tasks(texts)),
        potential_concerns=_concerns(entries, surveyed, excluded),
    )


def _description(
    entries: Sequence[Classified], surveyed: Surveyed, texts: Mapping[str, str]
) -> str:
    """Describe the purpose, the opening of the README, and the components."""
    manifest = surveyed.manifest
    size = sum(entry.size for entry, _ in entries)
    kinds = Counter(facts.category for _, facts in entries)
    counts = ", ".join(
        f"{count} {name}"
        for name, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    )
    contents = f"{len(entries)} files, {size:,} bytes: {counts}." if entries else ""
    about = (
        f"{manifest.project_name}: {manifest.purpose_guess}"
        if manifest.purpose_guess
        else manifest.project_name
    )
    readmes = own_readmes(texts, manifest.project_name)
    said = opening(texts[readmes[0]]) if readmes else ""
    if manifest.purpose_guess and said.startswith(manifest.purpose_guess):
        about = f"{manifest.project_name}: {said}"
        said = ""
    return "\n\n".join(part for part in (about, said, contents) if part)


def _tasks(texts: Mapping[str, str]) -> list[str]:
    """Return the commands that the project offers its developers: `make: build, test`."""
    rows: list[str] = []
    for path in sorted(texts, key=lambda path: (path.count("/"), path)):
        name, place = basename(path).lower(), dirname(path)
        if path.count("/") > 1 or is_aside(path):
            continue
        named: Iterable[str] = ()
        if name in ("package.json", "composer.json"):
            with suppress(DocumentError):
                named = mapping(mapping(parse_json(texts[path])).get("scripts"))
        elif name in ("makefile", "gnumakefile"):
            named = dict.fromkeys(re.findall(r"(?m)^([a-zA-Z][\w-]*)\s*:(?!=)", texts[path]))
        tool = {"package.json": "scripts", "composer.json": "composer"}.get(name, "make")
        shown = list(named)[:MAX_TASKS]
        rows += [f"{tool}{f' in {place}/' if place else ''}: {', '.join(shown)}"] if shown else []
    return rows[:MAX_TASK_LISTS]


def _folders(entries: Sequence[Classified]) -> set[str]:
    return {part.lower() for entry, _ in entries for part in entry.path.split("/")[:-1]}


def _architecture(
    entries: Sequence[Classified], surveyed: Surveyed, starts: Sequence[EntrypointSummary]
) -> str:
    members = [package for package in surveyed.found if "/" in package.path]
    workspace = any(package.workspace for package in surveyed.found)
    folders = _folders([pair for pair in entries if pair[1].tag == "code"])
    tops = {entry.path.split("/", 1)[0].lower() for entry, _ in entries if "/" in entry.path}
    images = [
        entry.path
        for entry, _ in entries
        if basename(entry.path).lower() == "dockerfile" and not _PACKAGING.search(entry.path)
    ]
    kinds = {start.type for start in starts if start.path in surveyed.manifest.entry_points}
    if len({path.rsplit("/", 1)[0] for path in images if "/" in path}) >= 3:
        return f"services ({len(images)} images)"
    if workspace and len(members) > 1:
        return f"workspace of {len({found.path for found in members})} packages"
    if {"models", "views", "controllers"} <= folders:
        return "MVC"
    if {"frontend", "backend"} <= tops or {"client", "server"} <= tops:
        return "client and server"
    if kinds & {"web", "api"}:
        return "web application" if "web" in kinds else "service"
    return "library" if kinds == {"library"} else ""


def _is_programming(name: str) -> bool:
    language = language_named(name)
    return language is not None and language.programming


def _technologies(entries: Sequence[Classified], surveyed: Surveyed) -> tuple[str, ...]:
    languages = Counter(facts.language for _, facts in entries if _is_programming(facts.language))
    common = sorted(languages.items(), key=lambda item: (-item[1], item[0]))
    names = [language for language, count in common[:6] if count * 100 >= languages.total()]
    manifest = surveyed.manifest
    names += [
        value
        for value in (manifest.build_system, manifest.test_framework)
        if isinstance(value, str)
    ]
    names += [item.name for item in manifest.dependencies if _FRAMEWORKS.match(item.name)]
    return tuple(dict.fromkeys(names))


_PACKAGING = re.compile(r"(?:^|/)(?:\.|packaging|contrib|ci|docker|builders?/|tests?|examples?)")
"""Folders whose images package the one program, or serve its developers."""
_MARKS: tuple[tuple[str, str], ...] = (
    (r"\.github/workflows/.+\.ya?ml$", "GitHub Actions"),
    (r"\.gitlab-ci\.yml$", "GitLab CI"),
    (r"(?:.*/)?(?:Dockerfile|Containerfile)$", "container image"),
    (r"(?:docker-)?compose\.ya?ml$", "compose services"),
    (r"(?:.*/)?py\.typed$", "ships type information"),
    (r"src/[^/]+/__init__\.py$", "src layout"),
    (r"(?:.*/)?migrations/.+", "database migrations"),
    (r"(?:.*/)?.+\.proto$", "protocol buffers"),
    (r"(?:.*/)?.+\.(?:graphql|gql)$", "GraphQL schema"),
    (r"(?:.*/)?(?:openapi|swagger)\.(?:ya?ml|json)$", "OpenAPI description"),
    (r"(?:.*/)?.+\.tf$", "Terraform"),
    (r"(?:.*/)?Chart\.yaml$", "Helm chart"),
    (r"\.pre-commit-config\.yaml$", "pre-commit hooks"),
    (r"(?:.*/)?tsconfig\.json$", "TypeScript"),
    (r"\.devcontainer/.+", "dev container"),
)


def _patterns(entries: Sequence[Classified], surveyed: Surveyed) -> tuple[str, ...]:
    patterns = [
        name
        for pattern, name in _MARKS
        if any(re.match(pattern, entry.path) for entry, _ in entries)
    ]
    tests = sum(facts.tag == "test" for _, facts in entries)
    code = sum(facts.tag == "code" for _, facts in entries)
    if tests:
        patterns.append(f"{tests} test files to {code} code files")
    return tuple(patterns)


_LICENCE = re.compile(r"(?i)(?:un)?licen[sc]e|copying|copyright|mit-license|legal")
_README_NAME = re.compile(r"(?i)(?:\.github/|docs/)?readme[^/]*$")


def _concerns(
    entries: Sequence[Classified], surveyed: Surveyed, excluded: Sequence[Excluded]
) -> tuple[str, ...]:
    """Return what is missing or broken by the names in the tree; files excluded from the pack count
    as present."""
    paths = [entry.path for entry, _ in entries]
    there = [*paths, *(item.path for item in excluded)]
    top = [path.rstrip("/") for path in there if "/" not in path.rstrip("/")]
    out: list[str] = []
    tests = any(facts.tag == "test" for _, facts in entries)
    if not tests and surveyed.manifest.test_framework is UNSET and not _tested(there):
        out.append("no test files")
    if not any(map(_README_NAME.match, (*top, *paths))):
        out.append("no README at the root")
    if not any(_LICENCE.search(name) for name in top):
        out.append("no licence file at the root")
    application = any(package.private for package in surveyed.found if "/" not in package.path)
    locked = any(facts.lock for _, facts in entries) or any(
        facts_of(item.path).lock for item in excluded
    )
    if application and surveyed.manifest.dependencies and not locked:
        out.append("dependencies without a lock file")
    large = [
        entry
        for entry, facts in entries
        if facts.tag == "code"
        and _is_programming(facts.language)
        and is_own(entry.path, facts)
        and entry.size > 100_000
        and not _WRITTEN_BY_PROGRAM.search(entry.path)
        and not DERIVED.search(entry.path)
    ]
    large.sort(key=lambda entry: -entry.size)
    out += [
        f"large source file: {wire_path(entry.path)} ({entry.size:,} bytes)" for entry in large[:3]
    ]
    out += [f"{wire_path(problem.path)}: {problem.detail}" for problem in surveyed.problems[:5]]
    return tuple(out)


_WRITTEN_BY_PROGRAM = re.compile(
    r"\.html?$|[-.][0-9a-zA-Z_]{8}\.(?:js|css)$|\.min\.|(?:^|/)static/"
)


def _tested(paths: Sequence[str]) -> bool:
    return any(re.search(r"(?i)(?:^|/)(?:tests?|specs?|molecule)/", path) for path in paths)


def key_file_summary(pair: Classified, text: str, code: CodeFacts) -> KeyFileSummary:
    """Summarise a key file without its text: exports, imports, and notable facts."""
    entry, facts = pair
    return KeyFileSummary(
        path=entry.path,
        category=facts.category,
        summary=about(code),
        exports=code.exports,
        dependencies=code.imports[:MAX_DEPENDENCIES_SHOWN],
        notable_code=_notable(facts.language, text, code),
    )


def about(code: CodeFacts) -> str:
    kinds = Counter(item.kind for item in code.definitions)
    names = {"class": ("type", "types"), "function": ("function", "functions")}
    counts = [f"{count} {names[kind][count > 1]}" for kind, count in sorted(kinds.items())]
    figures = ", ".join([*counts, f"{code.lines} {'line' if code.lines == 1 else 'lines'}"])
    return f"{code.doc} ({figures})" if code.doc else figures


def _notable(language: str, text: str, code: CodeFacts) -> tuple[str, ...]:
    plain = tame(text)
    out = [f"route {route}" for route in routes_in(language, plain)[:5]]
    out += [f"command {name}" for name in commands_in(language, plain)[:5]]
    spoken = language_named(language)
    if (
        spoken is not None
        and spoken.entries.script
        and re.search(spoken.entries.script, plain, re.MULTILINE)
    ):
        out.append("runs as a script")
    long = sorted(
        (item for item in code.definitions if item.length > LONG_FUNCTION),
        key=lambda item: (-item.length, item.line),
    )
    out += [f"{item.kind} {item.name} (lines {item.line}-{item.end})" for item in long[:5]]
    marks = len(re.findall(r"\b(?:TODO|FIXME|XXX|HACK)\b", plain))
    if marks:
        out.append(f"{marks} TODO or FIXME {'mark' if marks == 1 else 'marks'}")
    return tuple(out[:MAX_NOTABLE])


def described_files(
    pairs: Iterable[Classified],
    code: Mapping[str, CodeFacts],
    central: Mapping[str, int],
    users: Mapping[str, Sequence[str]],
) -> tuple[FileSummary, ...]:
    """Summarise the project's own sources that were read, those with the most weight first."""
    pairs = list(pairs)
    of_subject = subjects(pairs)
    worth: dict[str, int] = {}
    for entry, facts in pairs:
        if entry.path in of_subject:
            worth[entry.path] = subject_weight(entry.path, entry.size)
        elif facts.tag == "code" and is_own(entry.path, facts):
            worth[entry.path] = central.get(entry.path, 0)
    own = [path for path in worth if path in code]
    own.sort(key=lambda path: (-worth[path], path.count("/"), path))
    return tuple(
        FileSummary(
            path,
            len(users.get(path, ())),
            about(code[path]),
            code[path].exports,
            code[path].outline,
        )
        for path in own
    )
