"""Entry points of a project: files that its manifests declare, and files that are programs by their
language. Names decide only without other evidence."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate

from sutler.languages import language_named, language_of
from sutler.languages.python import PYTHON
from sutler.paths import basename, dirname
from sutler.scan.classify import Classified
from sutler.scan.snapshot import FileFacts
from sutler.survey.evidence import Found, beside, is_aside

MAX_ENTRY_POINTS = 25
_ROLES_ASIDE = frozenset({"test", "doc", "example", "bench", "generated", "vendor", "ci"})

_SERVERS = re.compile(
    r"\.listen\(|createServer\(|createRoot\(|ReactDOM\.render\(|createApp\(|bootstrapApplication\("
)
_GUARD = re.compile(r"(?m)^if\s+__name__\s*==\s*[\"']__main__[\"']")
_COMMENT = re.compile(r"/\*(?:[^*]|\*(?!/))*\*/|(?<![:\"'])//[^\n]*")
_CONDITION = re.compile(r"(?m)^[ \t]*#[ \t]*(if(?:def|ndef)?|el\w+|endif)\b([^\n]*)")
_SYSTEM = re.compile(r"(?i)win|unix|linux|apple|posix|have_|cplusplus|unicode|^\s*1\b")
"""Macros of a system or a compiler; any other condition is a person's choice of another program."""
_GENERATOR = re.compile(r"(?i)[\w-]*generators?/")
"""Modules that write code or documents of the project, beside its programs."""
_COMPLETE = frozenset({"haskell", "zig"})
"""Ecosystems whose manifests declare every program, if they declare one."""
_PLAIN_PLACES = re.compile(r"(?:(?:src|bin|cli|cmd|app|apps|programs)(?:/.*)?)?")
_SCRIPT = re.compile(r"<script\b[^>]*\bsrc=[\"']/?(?:\./)?([\w./-]+\.[jt]sx?)[\"']", re.IGNORECASE)


def is_own(path: str, facts: FileFacts) -> bool:
    """Return whether the project delivers a file: it is no test, example, document or copy."""
    packaged = facts.role == "example" and "src/main/" in path  # the name of a Java package
    return (
        (facts.role not in _ROLES_ASIDE or packaged)
        and facts.category not in ("dependency", "build", "test")
        and not facts.generated
        and not is_aside(path)
    )


def entry_points(
    scope: Sequence[Found],
    entries: Sequence[Classified],
    sources: Mapping[str, str],
    project: str = "",
) -> tuple[str, ...]:
    """Return the declarations of the manifests, then programs by their language, then by name
    alone. `sources` are the available texts, `project` is the project's name."""
    own: dict[str, FileFacts] = {
        entry.path: facts for entry, facts in entries if is_own(entry.path, facts)
    }
    homes = {(dirname(path), fact.language) for path, fact in own.items() if fact.role == "source"}
    own = {path: facts for path, facts in own.items() if not _is_example(path, facts, homes)}
    published = [package for package in scope if not package.private] or list(scope)
    if any(_is_application(package) for package in published):
        published = [package for package in published if not _is_library(package)]
    speaking = [package for package in scope if package in published or package.commands]
    first = sorted(scope, key=lambda package: not _is_application(package))
    delivered = [package for package in published if any(map(_is_binary, package.entry_points))]
    declared = [
        path
        for package in (delivered if any(not one.private for one in delivered) else first)
        for path in package.entry_points
        if _is_binary(path)
    ]
    declared += [path for package in speaking for path in package.entry_points]
    named = [path for path in dict.fromkeys(declared) if path in own and _runs(path, sources)]
    # Beside declared programs a script serves developers; a go.mod declares none.
    scripted = all(path.endswith(".go") for path in named)
    complete = {package.ecosystem for package in scope if package.commands} & _COMPLETE
    programs = _near(
        path
        for path, facts in own.items()
        if (facts.language not in complete and _is_program(path, facts, sources))
        or (scripted and _is_script(path, facts, sources, project))
    )
    named += [path for path in programs if path not in named]
    if "main.go" in named:  # `go install` builds it; those below cmd/ generate or check
        named = [path for path in named if not path.startswith("cmd/")]
    named += [path for path in _pages(own, sources) if path not in named]
    named = [path for path in named if not _GENERATOR.match(path)] or named
    if any(_is_app(path) for path in programs):  # an application's package is no entry of its own
        named = [path for path in named if basename(path) != "__init__.py"]
    if not named:
        roots = [package for package in scope if "/" not in package.path or not package.private]
        named = [path for package in roots for path in package.entry_points if path in own]
    if not named:
        named = _by_name(own, sources)
    return tuple(dict.fromkeys(named))[:MAX_ENTRY_POINTS]


def _is_example(path: str, facts: FileFacts, homes: Collection[tuple[str, str]]) -> bool:
    """Return whether a Java package holds examples: one that stands beside the code of a library,
    not `com.example.app`."""
    folders = accumulate(path.split("/")[:-1], "{}/{}".format)
    return facts.role == "example" and any((place, facts.language) in homes for place in folders)


def _is_application(package: Found) -> bool:
    """Return whether a crate is never published and starts as a program: the crates beside it serve
    it."""
    return (
        package.ecosystem == "rust"
        and package.private
        and any(map(_is_binary, package.entry_points))
        and not is_aside(package.path)
    )


def _is_binary(path: str) -> bool:
    return path.endswith("src/main.rs") and not is_aside(path)


def _is_library(package: Found) -> bool:
    return package.ecosystem == "rust" and all(
        path.endswith("src/lib.rs") for path in package.entry_points
    )


def _near(paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda path: (path.count("/"), path))


def _is_app(path: str) -> bool:
    return path.endswith(".py") and basename(path) in (
        "main.py",
        "app.py",
        "server.py",
        "manage.py",
    )


def _runs(path: str, sources: Mapping[str, str]) -> bool:
    """Return whether a Go file called main.go is a program by its package clause, and no
    library."""
    language = language_of(path)
    if language is None or not language.entries.script_only or path not in sources:
        return True
    return re.search(language.entries.script, sources[path], re.MULTILINE) is not None


def _is_program(path: str, facts: FileFacts, sources: Mapping[str, str]) -> bool:
    """Return whether the text starts a program, by the rules of its language; comments do not
    count."""
    name = basename(path)
    if name in ("__main__.py", "manage.py"):
        return True
    text = sources.get(path)
    if text is None or facts.tag != "code" or facts.language == "shell":
        return False
    language = language_named(facts.language)
    pattern = language.entries.main if language else ""
    if not pattern or not re.search(pattern, text, re.MULTILINE):
        return False
    if facts.language == "python":
        return name in ("main.py", "app.py", "server.py", "asgi.py", "wsgi.py", "api.py", "cli.py")
    if facts.language in ("c", "cpp") and (
        _on_demand(text, pattern) or not _PLAIN_PLACES.fullmatch(dirname(path))
    ):
        return False
    if re.search(r"(?i)benchmark|(?:example|sample|demo)s?\.\w+$", name):
        return False
    if re.match(r"(?i)(?:tools?|plugins|scripts?|dev)/", path):
        return False
    if facts.language == "go" and path.count("/") > 1 and not re.search(r"(?:^|/)cmd/", path):
        return False  # generators and tools of the build are below internal/
    return re.search(pattern, _COMMENT.sub("", text), re.MULTILINE) is not None


def _on_demand(text: str, main: str) -> bool:
    """Return whether a main function of C is compiled only for a macro: as a test, or to generate
    the file's own tables."""
    start = re.search(main, text, re.MULTILINE)
    asked: list[bool] = []
    for match in _CONDITION.finditer(text, 0, start.start() if start else 0):
        word, condition = match.groups()
        if word.startswith("if"):
            asked.append(word != "ifndef" and not _SYSTEM.search(condition))
        elif asked and word == "endif":
            asked.pop()
        elif asked:
            asked[-1] = False
    return any(asked)


def _is_script(path: str, facts: FileFacts, sources: Mapping[str, str], project: str) -> bool:
    """Return whether a file is a shell script in a folder for programs, or one with the project's
    name."""
    if facts.language != "shell" or not sources.get(path, "").startswith("#!"):
        return False
    named = basename(path) == project and dirname(path) in ("", "libexec")
    return named or dirname(path) in ("bin", "exe", "src/bin")


def _pages(own: Mapping[str, FileFacts], sources: Mapping[str, str]) -> list[str]:
    """Return the scripts that a page beside a package.json loads: entry points of a browser
    application."""
    package: list[str] = []
    pages = [path for path in sources if basename(path) == "index.html" and not is_aside(path)]
    for path in _near(pages):
        folder = dirname(path)
        if beside(folder, "package.json") in own or folder in ("", "public", "src"):
            targets = [beside(folder, name) for name in _SCRIPT.findall(sources.get(path, ""))]
            package += [target for target in targets if target in own]
    return package


def _by_name(own: Mapping[str, FileFacts], sources: Mapping[str, str]) -> list[str]:
    """Return files with the name of an entry point, unless the text contradicts; else scripts of
    the root; else the page of a site."""
    near = _near(path for path, facts in own.items() if facts.category == "entrypoint")
    chosen = [
        path
        for path in near
        if path.count("/") <= 2 and _starts(path, own[path], sources.get(path))
    ]
    if chosen:
        return chosen
    scripts = [
        path
        for path, facts in own.items()
        if facts.language == "python"
        and "/" not in path
        and _GUARD.search(sources.get(path, ""))
        and basename(path) not in ("setup.py", "conftest.py")
    ]
    code = any(
        facts.tag == "code" and facts.language not in ("html", "css") for facts in own.values()
    )
    site = [path for path in ("index.html", "public/index.html") if path in own and not code]
    return sorted(scripts) or site


def _starts(path: str, facts: FileFacts, text: str | None) -> bool:
    """Return whether a file called `main`, `index`, `app` or `server` starts something."""
    language = facts.language
    if language in ("html", "css") or not text:
        return language not in ("html", "css") and basename(path).islower()
    if language == "python":
        return bool(_GUARD.search(text)) or bool(re.search(PYTHON.entries.main, text))
    if language in ("javascript", "typescript", "jsx", "tsx"):
        return bool(_SERVERS.search(text)) or "/" not in path or basename(path).startswith("index.")
    if language == "php":
        return basename(path) == "index.php"
    row = language_named(language)
    return row is not None and bool(row.shebangs) and not row.entries.compiled
