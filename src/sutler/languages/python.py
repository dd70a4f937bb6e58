"""Python, and Cython, which Python's grammar reads well enough."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from sutler.languages import base
from sutler.languages.facts import Symbol

_FROM = r"(?s)from\s+([.\w]+)\s+import\s+(.*)"
_NAME = r"([\w.]+)(?:\s+as\s+\w+)?"
_LITERAL = r"""["']([\w.]+)["']"""

_QUERY = """
(class_definition name: (identifier) @n) @d.class
(function_definition name: (identifier) @n) @d.function
(type_alias_statement left: (type (identifier) @n)) @d.type
(module (expression_statement (assignment left: (identifier) @n)) @d.constant)
(module (expression_statement (assignment left: (pattern_list (identifier) @n))) @d.constant)
(module (expression_statement (assignment right: (assignment left: (identifier) @n))) @d.constant)
(class_definition body: (block (expression_statement (assignment left: (identifier) @n)) @d.field))
(import_statement) @i
(import_from_statement) @i
(future_import_statement) @i
"""


def _imports(text: str) -> list[str]:
    match = re.match(_FROM, text)
    if match is None:
        return re.findall(_NAME, text.removeprefix("import"))
    module, names = match.groups()
    joint = "" if module.endswith(".") else "."
    return [module, *(module + joint + name for name in re.findall(_NAME, names.strip("()")))]


def _exports(symbols: Sequence[Symbol], lines: Sequence[str]) -> list[str]:
    """Return `__all__` if it is a literal, else the top-level names without a leading
    underscore."""
    tops = [symbol for symbol in symbols if symbol.parent < 0]
    declared = [symbol for symbol in tops if symbol.name == "__all__"]
    if declared:
        return re.findall(_LITERAL, "\n".join(lines[declared[0].start - 1 : declared[0].end]))
    return [symbol.name for symbol in tops if not symbol.name.startswith("_")]


PYTHON = base.Language(
    display="Python",
    name="python",
    kind="program",
    suffixes=("py", "pyw", "pyi", "py3", "wsgi"),
    files=("sconstruct", "sconscript", "wscript"),
    shebangs=("python", "pypy", "pytest", "uv"),
    comments=base.Comments(("#",)),
    grammar=base.Grammar("tree_sitter_python", _QUERY, _imports, _exports, docstrings=True),
    shapes=None,
    # A folder `test` inside a package may be the library's own testing tools (django/test), and a
    # module `test` one of its commands: below the top the name of the file must say more.
    tests=base.Tests(
        stem=r"(?i:conftest|tests|tests?[._-].*|.*[._-](?:tests?|unittest))"
        rf"|{base.CAMEL}|{base.PREFIX}",
        test_folder=False,
        frameworks=(
            (r"^\s*(?:import|from) pytest\b", "pytest"),
            (r"^\s*(?:import|from) unittest\b|TestCase\b", "unittest"),
        ),
    ),
    entries=base.Entries(
        main=(
            r"(?m)^\w+(?:\s*:\s*\w+)?\s*=\s*(?:\w+\.)?"
            r"(?:FastAPI|Flask|Starlette|Sanic|Litestar|Quart|Bottle|Typer)\("
        ),
        names=("__main__.py", "manage.py", "wsgi.py", "asgi.py"),
        libraries=("__init__.py",),
        routes=(
            r"@[\w.]+\.(route|get|post|put|patch|delete|websocket)\(\s*[rf]?[\"']([^\"'\n]*)[\"']",
            r"\b(path|re_path|url)\(\s*r?[\"']([^\"'\n]*)[\"']\s*,",
            r"\.(add_url_rule|add_route|add_api_route)\(\s*[\"']([^\"'\n]*)[\"']",
        ),
        commands=(
            r"\.add_parser\(\s*[\"']([\w:-]+)[\"']",
            r"@[\w.]+\.(?:command|group)\(\s*(?:name\s*=\s*)?[\"']([\w:-]+)[\"']",
            r"@[\w.]+\.(?:command|group)\([^\"'\n]{0,200}\)[ \t]*"
            r"(?:\n[ \t]*@[^\n]*)*\n[ \t]*(?:async\s+)?def\s+(\w+)",
        ),
        script=r"^if __name__ == [\"']__main__[\"']",
    ),
    uses=base.Uses(
        family="python",
        imports=(
            r"(?m)^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
            r"|import[ \t]+([\w., \t]+))"
        ),
    ),
    manifests=base.words(
        "pyproject.toml setup.py setup.cfg requirements.txt pipfile tox.ini noxfile.py"
        " environment.yml manifest.in"
    ),
    ecosystems=("python",),
)

CYTHON = replace(
    PYTHON,
    display="Cython",
    name="cython",
    suffixes=("pyx", "pxd", "pxi"),
    files=(),
    shebangs=(),
    entries=base.Entries(),
    manifests=(),
)
