"""Every language the program knows. To add one, write its module and add its row here."""

from __future__ import annotations

from collections.abc import Iterable

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
    """The language of each suffix, file name or shebang; a name that two languages claim is an
    error."""
    found: dict[str, Language] = {}
    for language in languages:
        for name in getattr(language, part):
            other = found.setdefault(name, language)
            if other is not language:
                raise TypeError(
                    f"languages {other.display} and {language.display}: both claim {part} {name!r}"
                )
    return found


BY_SUFFIX = claims("suffixes")
BY_FILE = claims("files")
BY_SHEBANG = claims("shebangs")
# The first row of a name stands for it: C before its headers.
BY_NAME = {language.name: language for language in reversed(LANGUAGES)}
MANIFESTS = frozenset(name for language in LANGUAGES for name in language.manifests)
