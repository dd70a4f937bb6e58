"""JavaScript and JSX, and the parts that TypeScript shares with them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from sutler.languages import base
from sutler.languages.facts import Symbol

_EXPORTED = r"\s*(?:export\b|(?:module\.)?exports\.)"
_CLAUSE = r"(?m)^export\s*\{([^}]{0,2000})\}"

ECMA = """
(function_declaration name: (identifier) @n) @d.function
(generator_function_declaration name: (identifier) @n) @d.function
(method_definition name: (_) @n) @d.method
(program [(lexical_declaration (variable_declarator name: (identifier) @n))
          (variable_declaration (variable_declarator name: (identifier) @n))] @d.constant)
(program (export_statement [(lexical_declaration (variable_declarator name: (identifier) @n))
                            (variable_declaration (variable_declarator name:
                              (identifier) @n))]) @d.constant)
(variable_declarator name: (identifier) @n value: [(arrow_function)
  (function_expression)]) @d.function
(assignment_expression left: (member_expression property: (property_identifier) @n)
                       right: [(arrow_function) (function_expression) (class)]) @d.function
(pair key: (property_identifier) @n value: [(arrow_function) (function_expression)]) @d.function
(import_statement) @i
(export_statement source: (string)) @i
(call_expression function: (identifier) @_f arguments: (arguments . (string))
  (#eq? @_f "require")) @i
(call_expression function: (import) arguments: (arguments . (string))) @i
(program (expression_statement (assignment_expression
  left: (member_expression object: (_) @_o property: (property_identifier) @n)
  (#any-of? @_o "exports" "module.exports")) @d.constant))
"""

_QUERY = (
    ECMA
    + """
(class_declaration name: (identifier) @n) @d.class
(class name: (identifier) @n) @d.class
(field_definition property: (_) @n) @d.field
"""
)


def exports(symbols: Sequence[Symbol], lines: Sequence[str]) -> list[str]:
    """Return declarations below `export`, members of `exports`, and the names in `export { … }`."""
    names = [
        symbol.name
        for symbol in symbols
        if symbol.parent < 0 and re.match(_EXPORTED, lines[symbol.start - 1])
    ]
    for clause in re.findall(_CLAUSE, "\n".join(lines)):
        names += [part.split(" as ")[-1].strip() for part in clause.split(",") if part.strip()]
    return names


ROUTES = (
    r"\b(?:app|router|server|api|fastify|route|hono)"
    r"\.(get|post|put|patch|delete|head|options|all|use)"
    r"\(\s*[\"'`](/[^\"'`\n]*)[\"'`]",
)
COMMANDS = (r"\.command\(\s*[\"'`]([\w:-]+)",)
TESTS = base.Tests(
    stem=f"{base.AFFIX}|{base.SPEC}|{base.CAMEL}|karma\\.conf.*",
    spec_folder=True,
    frameworks=(
        (r"from ['\"]vitest['\"]", "vitest"),
        (r"node:test", "node:test"),
        (r"\bjest\.", "jest"),
    ),
)

JAVASCRIPT = base.Language(
    display="JavaScript",
    name="javascript",
    kind="program",
    suffixes=("js", "mjs", "cjs", "es6"),
    files=(),
    shebangs=("node", "nodejs"),
    comments=base.Comments(("//",), (("/*", "*/"),)),
    grammar=base.Grammar("tree_sitter_javascript", _QUERY, base.quoted, exports),
    shapes=None,
    tests=TESTS,
    entries=base.Entries(routes=ROUTES, commands=COMMANDS),
    uses=base.JAVASCRIPT_USES,
    manifests=base.words(
        "package.json jsconfig.json pnpm-workspace.yaml lerna.json nx.json turbo.json "
        "angular.json webpack.config.js vite.config.js next.config.js rollup.config.js "
        "babel.config.js jest.config.js .babelrc .eslintrc eslint.config.js "
        ".eslintrc.json .prettierrc"
    ),
    ecosystems=("node",),
)

JSX = replace(
    JAVASCRIPT,
    display="JSX",
    name="jsx",
    suffixes=("jsx",),
    shebangs=(),
    entries=base.Entries(routes=ROUTES),
    manifests=(),
)
