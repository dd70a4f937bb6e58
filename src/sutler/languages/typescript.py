"""TypeScript and TSX."""

from __future__ import annotations

from msgspec.structs import replace

from sutler.languages.base import JAVASCRIPT_USES, Comments, Entries, Grammar, Language, quoted
from sutler.languages.javascript import COMMANDS, ECMA, ROUTES, TESTS, exports

_QUERY = (
    ECMA
    + """
(class_declaration name: (type_identifier) @n) @d.class
(abstract_class_declaration name: (type_identifier) @n) @d.class
(interface_declaration name: (type_identifier) @n) @d.class
(type_alias_declaration name: (type_identifier) @n) @d.type
(enum_declaration name: (identifier) @n) @d.class
(function_signature name: (identifier) @n) @d.function
(method_signature name: (_) @n) @d.method
(abstract_method_signature name: (_) @n) @d.method
(property_signature name: (_) @n) @d.field
(public_field_definition name: (_) @n) @d.field
(internal_module name: (_) @n) @d.module
(module name: (_) @n) @d.module
"""
)
_GRAMMAR = Grammar(
    "tree_sitter_typescript", _QUERY, quoted, exports, function="language_typescript"
)

TYPESCRIPT = Language(
    display="TypeScript",
    name="typescript",
    kind="program",
    suffixes=("ts", "mts", "cts"),
    files=(),
    shebangs=("bun", "deno", "ts-node", "tsx"),
    comments=Comments(("//",), (("/*", "*/"),)),
    grammar=_GRAMMAR,
    shapes=None,
    tests=TESTS,
    entries=Entries(
        names=("mod.ts",),
        libraries=("mod.ts",),
        routes=(*ROUTES, r"@(Get|Post|Put|Patch|Delete|Controller)\(\s*[\"']([^\"'\n]*)[\"']"),
        commands=COMMANDS,
    ),
    uses=JAVASCRIPT_USES,
    manifests=("tsconfig.json", "deno.json", "deno.jsonc", "vite.config.ts", "vitest.config.ts"),
    ecosystems=("node",),
)

TSX = replace(
    TYPESCRIPT,
    display="TSX",
    name="tsx",
    suffixes=("tsx",),
    shebangs=(),
    grammar=replace(_GRAMMAR, function="language_tsx"),
    entries=Entries(routes=ROUTES),
    manifests=(),
)
