"""Which grammar reads which file, and which module carries it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sutler.values.paths import basename, extension

if TYPE_CHECKING:
    from tree_sitter import Language

_EXTENSIONS = {
    "python": "py pyi pyw pyx pxd",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "kotlin": "kt kts",
    "c": "c",
    "cpp": "cc cpp cxx c++ h hh hpp hxx h++ inl ipp cu cuh",
    "csharp": "cs",
    "ruby": "rb rake gemspec ru",
    "php": "php phtml php5",
    "swift": "swift",
    "bash": "sh bash ksh zsh",
    "scala": "scala sc",
    "lua": "lua",
}
_BY_EXTENSION = {ext: language for language, exts in _EXTENSIONS.items() for ext in exts.split()}
_BY_NAME = {
    "Rakefile": "ruby",
    "Gemfile": "ruby",
    "Podfile": "ruby",
    "SConstruct": "python",
    "SConscript": "python",
}

# language: (module of the grammar's wheel, the function in it that yields the grammar)
_GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "kotlin": ("tree_sitter_kotlin", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "swift": ("tree_sitter_swift", "language"),
    "bash": ("tree_sitter_bash", "language"),
    "scala": ("tree_sitter_scala", "language"),
    "lua": ("tree_sitter_lua", "language"),
}

_DATA = "json jsonl ndjson csv tsv svg po pot xml lock log map ipynb geojson sql dat yaml yml toml ini cfg snap"
DATA = frozenset(_DATA.split())
"""Kinds of file that are mostly data: their words count, but only the most frequent."""


def language_of(path: str, head: str = "") -> str:
    """The language a file's name implies, or its first line where the name says nothing; empty when unknown."""
    name = basename(path)
    found = _BY_NAME.get(name) or _BY_EXTENSION.get(extension(path), "")
    if not found and "." not in name and head.startswith("#!"):
        first = head[: head.find("\n")] if "\n" in head else head
        for word, language in (
            ("python", "python"),
            ("bash", "bash"),
            ("/sh", "bash"),
            ("ruby", "ruby"),
            ("node", "javascript"),
        ):
            if word in first:
                return language
    return found


@lru_cache(maxsize=32)
def grammar(language: str) -> Language | None:
    """The grammar of a language, or None when its wheel is not installed."""
    import importlib
    import warnings

    from tree_sitter import Language

    module, function = _GRAMMARS[language]
    try:
        source = importlib.import_module(module)
    except ImportError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return Language(getattr(source, function)())
