"""The only classifier: type, category, tag, language, role and importance of a file by its path.

The same predicates (test, generated, vendored) decide the category in a manifest and the role in a
ranking. Two caches make a scan cheap: one for base names, one for directories. Most trees repeat
both."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise

from msgspec import Struct

from sutler.languages import MANIFESTS, Language, entry_names, language_of_name
from sutler.scan import key_names as names
from sutler.scan.snapshot import (
    FileCategory,
    FileEntry,
    FileFacts,
    FileType,
    Importance,
    Role,
    Snapshot,
    Tag,
)

# Compiled on first use: most projects meet only some of these.
_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"
_HINT = (
    "auth|login|session|jwt|rout|controller|handler|api|model|schema|migration|queries|permission"
    "|rbac|acl"
)
_API_WORD = (
    r"(?:rest|web|open|http|json|public|internal|graphql|grpc)?"
    r"apis?(?:server|views?|router|gateway)?$"
)
_AUTHOR = r"(?:co)?author(?:s|ed|ing|ship)?$"
_SETTINGS = r"\.[^.]*$|[a-z]+rc$"
_compiled = cache(re.compile)  # `re`'s own cache takes longer to ask, and most names ask
Marks = frozenset[str]
"""Properties of a file by the folders above it: see `_marks_of` and `_place`."""


class _Name(Struct, frozen=True, gc=False, eq=False):
    """Properties of a base name in any folder. `spec` and `folder`: a test below `spec/` and below
    `test/`."""

    type: FileType
    language: str
    tag: Tag
    category: FileCategory
    importance: Importance | None = None
    role: Role = "source"
    test: bool = False
    spec: bool = False
    folder: bool = True
    generated: bool = False
    lock: bool = False
    bundled: bool = False


# The same object for the same values: `_combine` finds its answer by identity, and hashing a struct
# for every file would cost more than the rest of the classification.
_interned = cache(_Name)


@lru_cache(maxsize=1 << 16)
def facts_of(path: str) -> FileFacts:
    """Classify a file by its path alone: three cache look-ups for a known name in a known
    directory."""
    cut = path.rfind("/")
    if cut < 0:
        return _combine(_name(path), _NO_MARKS)
    return _combine(_name(path[cut + 1 :]), _place(path[:cut]))


_NO_MARKS: Marks = frozenset()
NEAREST = 32
"""Number of folders above a file that count: otherwise the cost in deep trees would be
quadratic."""


@lru_cache(maxsize=1 << 16)
def _place(directory: str) -> Marks:
    """Return the marks of a directory: those of all its folders, and those that depend on their
    position."""
    parts = directory.rsplit("/", NEAREST)[-NEAREST:]
    lows = directory.lower().rsplit("/", NEAREST)[-NEAREST:]
    marks = set[str]().union(*map(_marks_of, parts))
    if hint := names.DIR_CATEGORY.get(lows[-1]):
        marks.add(hint)
    if len(parts) < NEAREST:
        if lows[0] in ("test", "testing"):
            marks.add("test")
        if lows[0] == "t":
            marks.add("test folder")
        if lows[0] in names.CI_DIRS:
            marks.add("ci")
        if lows[0] in ("src", "lib") and lows[1:2] == ["benchmark"]:
            marks -= {"bench", "aside"}  # the code of a program that measures others
        if not names.DOC_DIRS.isdisjoint(lows[:2]):
            marks.add("manual")
    if "test" in lows and any(
        low == "test" and above in names.TEST_PARENTS for above, low in pairwise(lows)
    ):
        marks.add("test")
    return _same(frozenset(marks))


@cache
def _same(marks: Marks) -> Marks:
    return marks


@lru_cache(maxsize=1 << 14)  # folders' names repeat; hostile trees must not fill the memory
def _marks_of(part: str) -> Marks:
    """Return the marks of one directory's name at any position."""
    low = part.lower()
    last = low.rpartition(".")[2]  # `MyApp.Benchmarks` (C#)
    held = {
        "dependency": low in names.DEPENDENCY_DIRS,
        "build": low in names.BUILD_DIRS,
        "dist": low == "dist",
        "test": low in names.TEST_DIRS or _is_test_folder(part),
        "test folder": low in ("test", "unittest"),
        "spec": low in names.SPEC_DIRS,
        "doc": low in names.DOC_DIRS,
        "example": last in names.EXAMPLE_DIRS,
        "bench": last in names.BENCH_DIRS,
        "manual": last == "docc",
        "aside": low in names.ASIDE_DIRS,
        "generated": low in names.GENERATED_DIRS,
    }
    return frozenset(mark for mark, holds in held.items() if holds)


def _is_test_folder(part: str) -> bool:
    """Return whether a folder is one of tests: `MyApp.Tests` (C#), `MyAppTests` (Swift),
    `unit_tests`; not `latest` or `contests`."""
    if "est" not in part:
        return False
    words = re.findall(_WORD, part)
    camel = len(words) > 1 and words[-1].lower() in ("tests", "test") and not part.islower()
    return camel or part.endswith(("-tests", "_tests", ".tests", "-test", "_test"))


@lru_cache(maxsize=1 << 16)
def _name(name: str) -> _Name:
    low = name.lower()
    dot = low.rfind(".")
    ext = low[dot + 1 :] if dot > 0 else ""
    language = language_of_name(low)
    spoken = language.name if language is not None else ""
    kind = _type(ext, language, low)
    generated = _is_generated_name(low, ext)
    bundled = ext in names.BUNDLED_EXT
    if low in names.LOCKS:
        return _interned(kind, spoken, "config", "dependency", role="generated", lock=True)
    config, document = _is_config_name(low, language), _is_document(low, language)
    role = _role(low, ext, language, kind, config, document)
    if kind in ("binary", "image") or (kind == "data" and language is None):
        tag: Tag = "doc" if ext == "pdf" else "config"
        return _interned(kind, spoken, tag, "other", role=role, generated=generated)
    category, importance, tag = _judge(name, low, ext, language, config, document)
    return _interned(
        kind,
        spoken,
        tag,
        category,
        None if generated else importance,
        role,
        _is_test_name(name, low, language),
        language is not None and language.tests.spec_folder,
        language is None or language.tests.test_folder,
        generated,
        bundled=bundled,
    )


def _is_generated_name(low: str, ext: str) -> bool:
    return (
        low.endswith(names.GENERATED_ENDS.get(ext, ()))
        or low.startswith(names.GENERATED_STARTS)
        or low in names.GENERATED_WHOLE
        or ".generated." in low
        or "_generated." in low
        or ".gen." in low
    )


def _type(ext: str, language: Language | None, low: str) -> FileType:
    if ext in names.IMAGE:
        return "image"
    if ext in names.DATA or (language is not None and language.kind == "data"):
        return "data"
    if ext in names.BINARY:
        return "binary"
    return "text" if language or low.startswith(".") or low in MANIFESTS else "unknown"


def _is_config_name(low: str, language: Language | None) -> bool:
    """Return whether a name is one of configuration: `requirements-dev.txt`, `vite.config.ts`. Code
    needs an explicit name."""
    asked = language is None or not _is_code(language) or "config" in low or "rc." in low
    return asked and _compiled(names.CONFIG_NAME).match(low) is not None


def _is_code(language: Language) -> bool:
    return language.kind in ("program", "schema", "style")


def _is_document(low: str, language: Language | None) -> bool:
    if language is not None and language.kind == "doc":
        return True
    named = low.split(".", 1)[0] in names.DOC_NAMES
    return named and (language is None or not language.programming)


def _role(
    low: str, ext: str, language: Language | None, kind: FileType, config: bool, document: bool
) -> Role:
    """Return a file's role in the project by its name alone."""
    if ext in names.BUNDLED_EXT and _compiled(names.VERSIONED).match(low):
        return "vendor"
    if low in MANIFESTS or low in names.BUILD_NAMES or ext in names.KEY_CONFIG_EXT:
        return "build"
    if config:
        return "build" if language is not None and language.programming else "data"
    if document or ext in names.PAGE_EXT:
        return "doc"
    if language is None:
        settings = _compiled(_SETTINGS).match(low) is not None
        return (
            "data" if settings or kind in ("data", "image") or ext in names.DATA_EXT else "source"
        )
    return "source" if language.kind == "program" else "data"


def _judge(
    name: str, low: str, ext: str, language: Language | None, config: bool, document: bool
) -> tuple[FileCategory, Importance | None, Tag]:
    if low in MANIFESTS or ext in names.KEY_CONFIG_EXT:
        return "config", "critical", "config"
    if config:
        return "config", None, "config"
    stem = low.split(".", 1)[0]
    if document:
        plain = language is not None and language.name == "text" and stem not in names.DOC_NAMES
        return ("other" if plain else "documentation"), None, "doc"
    if language is None:
        return ("config", None, "config") if low.startswith(".") else ("other", None, "doc")
    if stem in ("openapi", "swagger") and language.name in ("json", "yaml"):
        return "api", "high", "config"
    if language.kind == "data":
        return "other", None, "config"
    if language.kind == "config" or low.startswith(".") or language.name in names.CONFIG_LANGUAGES:
        return "config", None, "config"
    return _judge_code(name, low, stem) if language.programming else ("source", None, "code")


def _judge_code(name: str, low: str, stem: str) -> tuple[FileCategory, Importance | None, Tag]:
    if (stem in names.ENTRY_STEMS and low.count(".") == 1) or low in entry_names():
        return "entrypoint", "critical", "code"
    theme = _theme(name) if _compiled(_HINT).search(low) else None
    return (theme, "high", "code") if theme is not None else ("source", None, "code")


def _theme(name: str) -> FileCategory | None:
    """Return the category of the seed's `*auth*`, `*route*`, `*model*` …, matched word by word:
    `authors.py` and `rapid.c` have none."""
    stem = name[: name.rfind(".")] if "." in name[1:] else name
    words = [word.lower() for word in re.findall(_WORD, stem)]
    text = " ".join(words)
    if any("auth" in word and not re.match(_AUTHOR, word) for word in words):
        return "auth"
    marks = ("login", "session", "jwt", "permission", "rbac")
    if any(mark in text for mark in marks) or not {"acl", "acls"}.isdisjoint(words):
        return "auth"
    if any(mark in text for mark in ("route", "routing", "controller", "handler")):
        return "api"
    if any(re.match(_API_WORD, word) for word in words):
        return "api"
    if any(mark in text for mark in ("model", "schema", "migration", "queries")):
        return "database"
    return None


def _is_test_name(name: str, low: str, language: Language | None) -> bool:
    """Return whether a name follows a convention of test runners; `contest.py`, `latest.go` and
    `spec.py` do not."""
    if low.endswith(names.TEST_ENDS):
        return True
    if language is None or not language.tests.stem or not _compiled(names.TEST_HINT).search(low):
        return False
    stem = name[: name.rfind(".")] if "." in name[1:] else name
    return _compiled(language.tests.stem).fullmatch(stem) is not None


@lru_cache(maxsize=1 << 14)
def _combine(name: _Name, marks: Marks) -> FileFacts:
    generated = name.generated or "generated" in marks
    test = _is_test(name, marks)
    category, importance, tag = name.category, name.importance, name.tag
    hint = next((mark for mark in _HINTS if mark in marks), None)
    if "dependency" in marks or name.lock:
        category, importance = "dependency", None
    elif "build" in marks:
        category, importance = "build", None
    elif test:
        category, importance = "test", None
    elif category == "source" and hint is not None:
        category, importance = hint, "medium"
    elif "doc" in marks and category == "other" and tag == "doc" and name.type == "text":
        category = "documentation"
    if "aside" in marks and importance is not None:
        importance = "medium"
    return FileFacts(
        type=name.type,
        category=category,
        tag="test" if test else tag,
        language=name.language,
        generated=generated,
        lock=name.lock,
        importance=None if generated else importance,
        role=_role_there(name, marks, test, generated),
    )


_HINTS: tuple[FileCategory, ...] = ("auth", "api", "database")


def _is_test(name: _Name, marks: Marks) -> bool:
    if name.test or (name.spec and "spec" in marks):
        return True
    below = "test" in marks or (name.folder and "test folder" in marks)
    return below and name.type in ("text", "data", "unknown")


def _role_there(name: _Name, marks: Marks, test: bool, generated: bool) -> Role:
    """Return the role of a name in its folder: the first that applies."""
    rows: tuple[tuple[Role, bool], ...] = (
        ("generated", generated or name.lock or (name.bundled and "dist" in marks)),
        ("vendor", "dependency" in marks or name.role == "vendor"),
        ("test", test),
        ("ci", "ci" in marks),
        ("doc", "manual" in marks or name.role == "doc"),
        ("example", "example" in marks),
        ("bench", "bench" in marks),
    )
    return next((role for role, holds in rows if holds), name.role)


def extractable(facts: FileFacts) -> bool:
    """Return whether the content can be shown as text."""
    return facts.type in ("text", "unknown") or (facts.type == "data" and bool(facts.language))


Classified = tuple[FileEntry, FileFacts]
"""A file with its properties by name."""


_SCRIPT = FileFacts("text", "source", "code", "shell")
_EXECUTABLE = 0o111


def classified(snapshot: Snapshot) -> list[Classified]:
    """Return the files with their facts. Executable files without an ending are scripts: `bin/x`,
    `libexec/x`."""
    pairs = [(entry, facts_of(entry.path)) for entry in snapshot.entries]
    return [
        (entry, _SCRIPT) if facts.type == "unknown" and _is_script(entry, facts) else (entry, facts)
        for entry, facts in pairs
    ]


def _is_script(entry: FileEntry, facts: FileFacts) -> bool:
    name = entry.path[entry.path.rfind("/") + 1 :]
    return (
        bool(entry.mode & _EXECUTABLE and entry.size)
        and "." not in name
        and (facts.category == "other" and facts.role == "source")
    )
