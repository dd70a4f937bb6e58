"""Table of all languages, and the lookups by path, name and shebang.

To add a language, write its module and add its row to `LANGUAGES`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from sutler.languages.base import Language
from sutler.languages.c import C
from sutler.languages.cpp import CPP, CUDA, HEADER
from sutler.languages.csharp import CSHARP
from sutler.languages.data_only import DATA_ONLY
from sutler.languages.go import GO, GO_MODULE
from sutler.languages.java import JAVA
from sutler.languages.javascript import JAVASCRIPT, JSX
from sutler.languages.kotlin import KOTLIN
from sutler.languages.lua import LUA
from sutler.languages.php import PHP
from sutler.languages.plain_code import PLAIN_CODE
from sutler.languages.python import CYTHON, PYTHON
from sutler.languages.ruby import RUBY
from sutler.languages.rust import RUST
from sutler.languages.scala import SCALA
from sutler.languages.shell import SHELL
from sutler.languages.swift import SWIFT
from sutler.languages.typescript import TSX, TYPESCRIPT

LANGUAGES: tuple[Language, ...] = (
    C,
    CPP,
    CSHARP,
    CUDA,
    CYTHON,
    GO,
    GO_MODULE,
    HEADER,
    JAVA,
    JAVASCRIPT,
    JSX,
    KOTLIN,
    LUA,
    PHP,
    PYTHON,
    RUBY,
    RUST,
    SCALA,
    SHELL,
    SWIFT,
    TSX,
    TYPESCRIPT,
    *PLAIN_CODE,
    *DATA_ONLY,
)


def claims(part: str, languages: Iterable[Language] = LANGUAGES) -> dict[str, Language]:
    """Return the language of each suffix, file name or shebang. Raise TypeError if two languages
    claim a name."""
    owners: dict[str, Language] = {}
    for language in languages:
        for name in getattr(language, part):
            other = owners.setdefault(name, language)
            if other is not language:
                raise TypeError(
                    f"languages {other.display} and {language.display}: both claim {part} {name!r}"
                )
    return owners


BY_SUFFIX = claims("suffixes")
BY_FILE = claims("files")
BY_SHEBANG = claims("shebangs")
# The first row of a name represents it: C before its headers.
BY_NAME = {language.name: language for language in reversed(LANGUAGES)}
MANIFESTS = frozenset(name for language in LANGUAGES for name in language.manifests)

_STEMS = frozenset({"dockerfile", "makefile", "readme", "license", "jenkinsfile"})
_SHEBANG = r"#!\s*(\S+)(?:[ \t]+(?:-S[ \t]*)?(?:[A-Z_]+=\S*[ \t]+)*(\S+))?"


def language_named(name: str) -> Language | None:
    """Return the language with this name in documents."""
    return BY_NAME.get(name)


def language_of(path: str, head: str = "") -> Language | None:
    """Return the language of a file by its name, else by the first line of its text."""
    language = language_of_name(path[path.rfind("/") + 1 :].lower())
    return language or (language_of_shebang(head) if head.startswith("#!") else None)


def language_of_name(low: str) -> Language | None:
    """Return the language of a lower-case base name: by the whole name, the suffix, or the stem
    (`Dockerfile.dev`)."""
    dot = low.rfind(".")
    language = BY_FILE.get(low) or (BY_SUFFIX.get(low[dot + 1 :]) if dot > 0 else None)
    if language is None:
        stem = low.partition(".")[0]
        language = BY_FILE.get(stem) if stem in _STEMS else None
    return language


def language_of_shebang(head: str) -> Language | None:
    """Return the language of a line like `#!/usr/bin/env python3`."""
    match = re.match(_SHEBANG, head.partition("\n")[0])
    if match is None:
        return None
    program, argument = match.groups()
    word = argument if program.endswith("/env") and argument else program
    name = word.rpartition("/")[2].lower()
    return BY_SHEBANG.get(name) or BY_SHEBANG.get(name.rstrip("0123456789.-"))


@cache
def entry_names() -> frozenset[str]:
    """Return the file names that are entry points in any language."""
    return frozenset(name for language in LANGUAGES for name in language.entries.names)


@cache
def source_version(package: str, *modules: str) -> int:
    """Return a number that changes with these modules of a package, or with all of them if none is
    named."""
    import pkgutil
    from hashlib import sha256
    from importlib import import_module

    names = modules or sorted(
        info.name for info in pkgutil.iter_modules(import_module(package).__path__)
    )
    digest = sha256()
    for name in names:
        # A source edited in place has the old bytecode only until it is imported: the source
        # decides.
        digest.update(b"%s\0%s\0" % (name.encode(), pkgutil.get_data(package, f"{name}.py") or b""))
    return int.from_bytes(digest.digest()[:6], "big")


def facts_version() -> int:
    """Return the version of the facts that `extract` yields: cached facts of another version are
    stale."""
    return source_version("sutler.languages")
