"""What a path says of its file, and what the first bytes correct: type, category, tag, language, key file.

Two memos make a scan cheap: one for base names, one for directories. Most trees repeat both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache

from msgspec import Struct
from msgspec.structs import replace

from sutler.stages import names
from sutler.stages.languages import (
    BINARY,
    BY_EXTENSION,
    BY_NAME,
    CODE,
    CONFIG,
    DATA,
    DATA_TEXT,
    DOC,
    IMAGE,
    PROGRAMMING,
    SHEBANG,
)
from sutler.values.snapshot import FileCategory, FileEntry, FileFacts, FileType, Importance, Tag

# Compiled on first use: most projects meet only some of these.
_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"
_HINT = "auth|login|session|jwt|rout|controller|handler|api|model|schema|migration|permission|rbac|acl"
_TEST_ENDS = (".bats", ".t", ".feature", ".phpt", ".tftest.hcl", ".snap")
_API_WORD = r"(?:rest|web|open|http|json|public|internal|graphql|grpc)?apis?(?:server|views?|router|gateway)?$"
_AUTHOR = r"(?:co)?author(?:s|ed|ing|ship)?$"
_compiled = cache(re.compile)  # for those that most names are held against: re's own memory takes longer to ask


class _Name(Struct, frozen=True, gc=False, eq=False):
    """What a base name says, wherever the file lies."""

    type: FileType
    language: str
    tag: Tag
    category: FileCategory
    importance: Importance | None = None
    test: bool = False
    spec: bool = False  # would be a test below `spec/`
    generated: bool = False
    lock: bool = False


class _Place(Struct, frozen=True, gc=False, eq=False):
    """What a directory says of all its files."""

    category: FileCategory | None = None
    test: bool = False
    spec: bool = False
    doc: bool = False
    aside: bool = False  # an example or a document: never as important as the project itself
    generated: bool = False
    hint: FileCategory | None = None


def facts_of(path: str) -> FileFacts:
    """Everything the path alone says. Cheap: three memo lookups for a known name in a known directory."""
    cut = path.rfind("/")
    if cut < 0:
        return _combine(_name(path), _ROOT_PLACE)
    return _combine(_name(path[cut + 1 :]), _place(path[:cut]))


_one_name = cache(_Name)
_one_place = cache(_Place)
# The same object for the same values. There are few, and `_combine`, which is asked for every file, finds its answer
# by identity: hashing a struct would cost more than all the rest of it.
_ROOT_PLACE = _one_place()


NEAREST = 32
"""Folders above a file that have a say. Trees deeper than that exist only to make a quadratic cost felt."""


@lru_cache(maxsize=1 << 16)
def _place(directory: str) -> _Place:
    cut = directory.rfind("/")
    if cut < 0:
        return _below(_ROOT_PLACE, _part(directory))
    if directory.count("/") < NEAREST:
        return _below(_place(directory[:cut]), _part(directory[cut + 1 :]))
    place = _ROOT_PLACE
    for part in directory.rsplit("/", NEAREST)[-NEAREST:]:
        place = _below(place, _part(part))
    return place


@lru_cache(maxsize=1 << 12)
def _below(above: _Place, own: _Place) -> _Place:
    """What is said of a directory's files by its own name and by those above it."""
    categories = (above.category, own.category)
    return _one_place(
        category="dependency" if "dependency" in categories else "build" if "build" in categories else None,
        test=above.test or own.test,
        spec=above.spec or own.spec,
        doc=above.doc or own.doc,
        aside=above.aside or own.aside,
        generated=above.generated or own.generated,
        hint=own.hint,
    )


@lru_cache(maxsize=1 << 14)
def _part(part: str) -> _Place:
    """What one directory's name says, wherever it stands."""
    low = part.lower()
    return _one_place(
        category="dependency" if low in names.DEPENDENCY_DIRS else "build" if low in names.BUILD_DIRS else None,
        test=low in names.TEST_DIRS or _test_folder(part),
        spec=low in names.SPEC_DIRS,
        doc=low in names.DOC_DIRS,
        aside=low in names.ASIDE_DIRS,
        generated=low in names.GENERATED_DIRS,
        hint=names.DIR_CATEGORY.get(low),
    )


def _test_folder(part: str) -> bool:
    """`MyApp.Tests` (C#), `MyAppTests` (Swift), `unit_tests`; not `latest` or `contests`."""
    if "est" not in part:
        return False
    words = re.findall(_WORD, part)
    return (len(words) > 1 and words[-1].lower() in ("tests", "test") and not part.islower()) or (
        part.endswith(("-tests", "_tests", ".tests", "-test", "_test"))
    )


@lru_cache(maxsize=1 << 16)
def _name(name: str) -> _Name:
    low = name.lower()
    dot = low.rfind(".")
    ext = low[dot + 1 :] if dot > 0 else ""
    language = BY_NAME.get(low) or BY_EXTENSION.get(ext) or _language_of_stem(low)
    kind = _type(ext, language, low)
    generated = _is_generated_name(low, ext)
    if low in names.LOCKS:
        return _one_name(kind, language, "config", "dependency", lock=True)
    if kind in ("binary", "image") or (kind == "data" and not language):
        return _one_name(kind, language, "doc" if ext == "pdf" else "config", "other", generated=generated)
    test = _is_test_name(name, low, language)
    category, importance, tag = _judge(name, low, ext, language)
    if generated:
        importance = None
    return _one_name(kind, language, tag, category, importance, test, language in names.SPEC_LANGUAGES, generated)


def _is_generated_name(low: str, ext: str) -> bool:
    return (
        low.endswith(names.GENERATED_ENDS.get(ext, ()))
        or low.startswith(names.GENERATED_STARTS)
        or low in names.GENERATED_WHOLE
        or ".generated." in low
        or "_generated." in low
        or ".gen." in low
    )


def _language_of_stem(low: str) -> str:
    """`Dockerfile.dev`, `Makefile.am`, `README.de`: the part before the first dot decides."""
    stem = low.split(".", 1)[0]
    return BY_NAME.get(stem, "") if stem in ("dockerfile", "makefile", "readme", "license", "jenkinsfile") else ""


def _type(ext: str, language: str, low: str) -> FileType:
    if ext in IMAGE:
        return "image"
    if ext in DATA or ext in DATA_TEXT:
        return "data"
    if ext in BINARY:
        return "binary"
    return "text" if language or low.startswith(".") or low in names.KEY_CONFIG else "unknown"


def _judge(name: str, low: str, ext: str, language: str) -> tuple[FileCategory, Importance | None, Tag]:
    if low in names.KEY_CONFIG or ext in names.KEY_CONFIG_EXT:
        return "config", "critical", "config"
    if (ext not in CODE or "config" in low or "rc." in low) and _compiled(names.CONFIG_NAME).match(low):
        return "config", None, "config"
    stem = low.split(".", 1)[0]
    if ext in DOC or (stem in names.DOC_NAMES and language not in PROGRAMMING):
        shown: FileCategory = "other" if ext in ("txt", "text") and stem not in names.DOC_NAMES else "documentation"
        return shown, None, "doc"
    if stem in ("openapi", "swagger") and language in ("json", "yaml"):
        return "api", "high", "config"
    if ext in CONFIG or ext in DATA_TEXT or low.startswith(".") or language in ("makefile", "dockerfile", "starlark"):
        return ("other" if ext in DATA_TEXT else "config"), None, "config"
    if language in PROGRAMMING or language == "c":
        return _judge_code(name, low, stem, language)
    return ("source", None, "code") if ext in CODE else ("other", None, "code" if language else "doc")


def _judge_code(name: str, low: str, stem: str, language: str) -> tuple[FileCategory, Importance | None, Tag]:
    if (stem in names.ENTRY_STEMS and low.count(".") == 1) or low in names.ENTRY_NAMES:
        return "entrypoint", "critical", "code"
    if _compiled(_HINT).search(low):
        found = _theme(name)
        if found is not None:
            return found, "high", "code"
    return "source", None, "code"


def _theme(name: str) -> FileCategory | None:
    """The seed's `*auth*`, `*route*`, `*model*` …, word by word: `authors.py` and `rapid.c` do not count."""
    stem = name[: name.rfind(".")] if "." in name[1:] else name
    words = [word.lower() for word in re.findall(_WORD, stem)]
    text = " ".join(words)
    if any("auth" in word and not re.match(_AUTHOR, word) for word in words):
        return "auth"
    if any(mark in text for mark in ("login", "session", "jwt", "permission", "rbac")) or {
        "acl",
        "acls",
    } & set(words):
        return "auth"
    if any(mark in text for mark in ("route", "routing", "controller", "handler")):
        return "api"
    if any(re.match(_API_WORD, word) for word in words):
        return "api"
    return "database" if any(mark in text for mark in ("model", "schema", "migration")) else None


def _is_test_name(name: str, low: str, language: str) -> bool:
    """The naming conventions of test runners; `contest.py`, `latest.go` and `spec.py` are not tests."""
    if low.endswith(_TEST_ENDS):
        return True
    if not ("test" in low or "spec" in low or "suite" in low or "cest" in low or ".cy." in low or "it." in low):
        return False
    if low in ("conftest.py", "runtests.jl") or low.startswith("karma.conf"):
        return True
    if language not in PROGRAMMING and language != "c":
        return False
    stem = name[: name.rfind(".")] if "." in name else name
    if language == "go":
        return stem.endswith("_test")
    parts = [part for part in re.split(r"[._-]", stem) if part]
    ends = (parts[0].lower(), parts[-1].lower()) if parts else ("", "")
    if ends[0] in ("test", "tests") or (ends[1] in ("test", "tests", "unittest", "cy", "suite") and len(parts) > 1):
        return True
    if ends[1] == "spec" and len(parts) > 1:
        return language in names.SPEC_LANGUAGES
    return language in names.CAMEL_LANGUAGES and _camel_test(parts[-1] if parts else "", language)


def _camel_test(stem: str, language: str) -> bool:
    words = re.findall(_WORD, stem)
    if len(words) < 2:
        return False
    first, last = words[0], words[-1]
    if last in ("Test", "Tests", "TestCase", "Cest") or words[-2:] == ["Test", "Case"]:
        return True
    if last in ("Spec", "Specs", "Suite") and language in names.SPEC_LANGUAGES:
        return True
    if last == "IT" and language in ("java", "kotlin", "groovy"):
        return True
    return first == "Test" and language in ("java", "kotlin", "csharp", "php", "cpp", "groovy")


@lru_cache(maxsize=1 << 12)
def _combine(name: _Name, place: _Place) -> FileFacts:
    test = name.test or (place.test and name.type in ("text", "data", "unknown")) or (place.spec and name.spec)
    category, importance, tag = name.category, name.importance, name.tag
    if place.category is not None or name.lock:
        category, importance = place.category or "dependency", None
    elif test:
        category, importance = "test", None
    elif category == "source" and place.hint is not None:
        category, importance = place.hint, "medium"
    elif place.doc and category == "other" and tag == "doc" and name.type == "text":
        category = "documentation"
    if place.aside and importance is not None:
        importance = "medium"
    generated = name.generated or place.generated
    return FileFacts(
        type=name.type,
        category=category,
        tag="test" if test else tag,
        language=name.language,
        generated=generated,
        lock=name.lock,
        importance=None if generated else importance,
    )


def extractable(facts: FileFacts) -> bool:
    """Whether the content can be shown as text."""
    return facts.type in ("text", "unknown") or (facts.type == "data" and bool(facts.language))


_SHEBANG_LINE = rb"#!\s*(\S+)(?:[ \t]+(?:-S[ \t]*)?(?:[A-Z_]+=\S*[ \t]+)*(\S+))?"
_GENERATED_HEAD = (
    rb"(?i)"
    rb"code generated .{0,200}do not edit|@generated\b|<auto-?generated|auto-?generated (?:by|from|file)"
    rb"|(?:this file|this code|file) (?:is|was|has been) (?:auto(?:matically)?[ -]?)?generated"
    rb"|automatically generated by"
    rb"|generated by .{0,100}do not (?:edit|modify)|generated by the protocol buffer compiler"
)
_IMAGE_MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM\x00", b"\x00\x00\x01\x00")
_BINARY_MAGIC = (
    b"%PDF",
    b"\x7fELF",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\xca\xfe\xba\xbe",
    b"MZ\x90",
    b"SQLite format 3\x00",
)
_TEXT_BOM = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_HEADER_BYTES = 2_048


def refine(facts: FileFacts, head: bytes) -> FileFacts:
    """Correct the path's guess by the first bytes: binary or text, shebang language, generated header."""
    kind = _sniff(head)
    if kind in ("binary", "image"):
        shown = facts.type if facts.type in ("image", "data", "binary") else kind
        return replace(facts, type=shown, importance=None)
    if facts.type == "unknown" and head:
        facts = replace(facts, type="text")
    if not facts.language and head.startswith(b"#!"):
        language = shebang_language(head)
        code = facts.category in ("other", "config") and bool(language)
        facts = replace(
            facts,
            language=language,
            category="source" if code else facts.category,
            tag="code" if code and facts.tag != "test" else facts.tag,
        )
    if not facts.generated and facts.tag != "doc" and re.search(_GENERATED_HEAD, head[:_HEADER_BYTES]):
        facts = replace(facts, generated=True, importance=None)
    return facts


def _sniff(head: bytes) -> FileType:
    if head.startswith(_IMAGE_MAGIC):
        return "image"
    if head.startswith(_BINARY_MAGIC):
        return "binary"
    if head.startswith(_TEXT_BOM):
        return "text"
    return "binary" if b"\x00" in head else "text"


def shebang_language(head: bytes) -> str:
    """The language of `#!/usr/bin/env python3`, or nothing."""
    match = re.match(_SHEBANG_LINE, head.split(b"\n", 1)[0])
    if match is None:
        return ""
    program, argument = match.groups()
    word = argument if program.endswith(b"/env") and argument else program
    name = word.rsplit(b"/", 1)[-1].decode("ascii", "replace").lower()
    return SHEBANG.get(name) or SHEBANG.get(name.rstrip("0123456789.-"), "")


class KeyLimits(Struct, frozen=True):
    """Seed 004's key file limits. The byte limit cuts a key file's content, it does not drop the file."""

    max_per_category: int = 5
    max_total: int = 25
    max_content_per_file_bytes: int = 50_000


_LIMITS = KeyLimits()
_RANK = {"critical": 0, "high": 1, "medium": 2}

Classified = tuple[FileEntry, FileFacts]


def key_files(entries: Iterable[Classified], limits: KeyLimits = _LIMITS) -> tuple[Classified, ...]:
    """The files to read first: by importance, smaller, shallower, path. Empty files say nothing."""
    keys = [(entry, facts) for entry, facts in entries if facts.importance is not None and entry.size > 0]
    keys.sort(key=lambda pair: _key_order(*pair))
    seen: Counter[str] = Counter()
    chosen: list[Classified] = []
    for entry, facts in keys:
        if len(chosen) >= limits.max_total:
            break
        if seen[facts.category] < limits.max_per_category:
            seen[facts.category] += 1
            chosen.append((entry, facts))
    return tuple(chosen)


def _key_order(entry: FileEntry, facts: FileFacts) -> tuple[int, int, int, str]:
    return _RANK[facts.importance or "medium"], entry.size, entry.path.count("/"), entry.path
