"""C. The module `cpp` has its headers: only that grammar reads the headers of both languages."""

from __future__ import annotations

from sutler.languages import base
from sutler.languages.facts import Symbol

QUERY = """
(function_definition declarator: (function_declarator declarator: (identifier) @n)) @d.function
(function_definition declarator: (pointer_declarator (function_declarator declarator:
  (identifier) @n))) @d.function
(function_definition declarator:
  (pointer_declarator (pointer_declarator
    (function_declarator declarator: (identifier) @n)))) @d.function
(declaration declarator: (function_declarator declarator: (identifier) @n)) @d.function
(declaration declarator: (pointer_declarator (function_declarator declarator:
  (identifier) @n))) @d.function
(struct_specifier name: (type_identifier) @n body: (_)) @d.class
(union_specifier name: (type_identifier) @n body: (_)) @d.class
(enum_specifier name: (type_identifier) @n body: (_)) @d.class
(type_definition declarator: (type_identifier) @n) @d.type
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @n)) @d.type
(type_definition declarator: (function_declarator declarator:
  (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @n)))) @d.type
(preproc_def name: (identifier) @n) @d.macro
(preproc_function_def name: (identifier) @n) @d.macro
(translation_unit (declaration declarator: (init_declarator declarator:
  (identifier) @n)) @d.constant)
(translation_unit (declaration declarator:
  (init_declarator declarator: (array_declarator declarator: (identifier) @n))) @d.constant)
(translation_unit (declaration declarator:
  (init_declarator declarator: (pointer_declarator declarator: (identifier) @n))) @d.constant)
(translation_unit (declaration declarator: (identifier) @n) @d.constant)
(enumerator name: (identifier) @n) @d.field
(field_declaration declarator: (field_identifier) @n) @d.field
(preproc_include) @i
"""


def public(symbol: Symbol) -> bool:
    """Return whether a symbol is a function or type with external linkage."""
    offers = symbol.kind in ("function", "class", "type")
    return offers and symbol.parent < 0 and not symbol.signature.startswith("static")


C = base.Language(
    display="C",
    name="c",
    kind="program",
    suffixes=("c",),
    files=(),
    shebangs=(),
    comments=base.Comments(("//",), (("/*", "*/"),)),
    grammar=base.Grammar("tree_sitter_c", QUERY, base.included, base.offered(public)),
    shapes=None,
    tests=base.BY_AFFIX,
    entries=base.Entries(
        main=r"(?m)^(?:(?:static\s+)?(?:int|void)\s+)?w?main\s*\(\s*(?:int|void|\))", compiled=True
    ),
    uses=base.C_USES,
    manifests=base.words(
        "cmakelists.txt meson.build makefile gnumakefile configure.ac configure.in"
    ),
    ecosystems=("c", "cpp"),
)
