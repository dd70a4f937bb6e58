"""How a file's path says its values are written: in quotes only, or bare as well."""

from __future__ import annotations

from functools import lru_cache

from sutler.values.paths import basename, extension

_CODE = frozenset(
    [
        "py",
        "pyi",
        "js",
        "mjs",
        "cjs",
        "ts",
        "jsx",
        "tsx",
        "go",
        "java",
        "kt",
        "kts",
        "scala",
        "rb",
        "php",
        "c",
        "h",
        "cpp",
        "cc",
        "hpp",
        "cs",
        "rs",
        "swift",
        "m",
        "mm",
        "dart",
        "lua",
        "pl",
        "pm",
        "ex",
        "exs",
        "erl",
        "clj",
        "cljs",
        "hs",
        "ml",
        "r",
        "jl",
        "groovy",
        "gradle",
        "vue",
        "svelte",
        "css",
        "scss",
        "less",
        "vb",
        "fs",
        "zig",
        "nim",
        "coffee",
        "sql",
        "ipynb",
        "json",
        "jsonl",
        "proto",
        "graphql",
        "rake",
        "tmpl",
        "erb",
        "ejs",
        "jade",
        "pug",
        "xml",
    ]
)


@lru_cache(maxsize=8192)
def quotes_only(path: str) -> bool:
    """Code and JSON: a bare word after `=` or `:` is a name there, not a value."""
    return extension(path) in _CODE and not basename(path).startswith(".env")
