"""Whether a text still parses after redaction, by the parser of its language."""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable

import yaml

from sutler.languages.extract import tree_of
from sutler.languages.table import language_of
from sutler.paths import extension

Clean = Callable[[str, str], str]


def _python(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ast.parse(text)


def _yaml(text: str) -> None:
    for _ in yaml.parse(text, Loader=yaml.CSafeLoader):
        pass


_PARSERS: dict[str, Callable[[str], object]] = {
    "py": _python,
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": _yaml,
    "yml": _yaml,
}


def parses(text: str, path: str) -> bool | None:
    """Whether the text is well formed; None if no parser knows its kind."""
    parser = _PARSERS.get(extension(path))
    if parser is not None:
        try:
            parser(text)
        except (ValueError, SyntaxError, RecursionError, yaml.YAMLError):
            return False
        return True
    language = language_of(path)
    if language is None or language.grammar is None:
        return None
    tree = tree_of(language.grammar, text.encode("utf-8", "replace"))
    return None if tree is None else not tree.root_node.has_error


def broken(files: Iterable[tuple[str, str]], clean: Clean) -> tuple[Counter[str], list[str]]:
    """Of the files that redaction touches: how many a parser reads before, by ending, and which of
    these it does not read after.
    """
    read: Counter[str] = Counter()
    worse = []
    for path, text in files:
        after = clean(text, path)
        if after != text and parses(text, path):
            read[extension(path)] += 1
            if not parses(after, path):
                worse.append(path)
    return read, worse
