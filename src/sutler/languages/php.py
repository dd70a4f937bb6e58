"""PHP."""

from __future__ import annotations

from sutler.languages.base import (
    AFFIX,
    CAMEL,
    PREFIX,
    SPEC,
    Comments,
    Entries,
    Grammar,
    Language,
    Tests,
    Uses,
    nested,
    offered,
    quoted,
    visible_top,
)

_QUERY = """
(class_declaration name: (name) @n) @d.class
(interface_declaration name: (name) @n) @d.class
(trait_declaration name: (name) @n) @d.class
(enum_declaration name: (name) @n) @d.class
(method_declaration name: (name) @n) @d.method
(function_definition name: (name) @n) @d.function
(const_declaration (const_element (name) @n)) @d.field
(property_declaration (property_element name: (variable_name) @n)) @d.field
(enum_case name: (name) @n) @d.field
(namespace_use_declaration) @i
[(require_expression) (require_once_expression) (include_expression) (include_once_expression)] @i
"""


def _imports(text: str) -> list[str]:
    return nested(text) if text.startswith("use") else quoted(text)


PHP = Language(
    display="PHP",
    name="php",
    kind="program",
    suffixes=("php", "php3", "php4", "php5", "php7", "phtml"),
    files=(),
    shebangs=("php",),
    comments=Comments(("//", "#"), (("/*", "*/"),)),
    grammar=Grammar(
        "tree_sitter_php", _QUERY, _imports, offered(visible_top), function="language_php"
    ),
    shapes=None,
    tests=Tests(stem=f"{AFFIX}|{SPEC}|{CAMEL}|{PREFIX}", spec_folder=True),
    entries=Entries(
        names=("artisan",),
        routes=(
            r"Route::(get|post|put|patch|delete|head|options|all|resource|any)"
            r"\(\s*[\"']([^\"'\n]*)[\"']",
            r"#\[(Route)\(\s*[\"']([^\"'\n]*)[\"']",
        ),
    ),
    uses=Uses(
        imports=r"(?:require|include)(?:_once)?[^;\n]*?[\"']([\w./-]+\.php)[\"']",
        definitions=r"\b(?:class|interface|trait|enum)\s+([A-Z]\w+)",
    ),
    manifests=("composer.json",),
    ecosystems=("php",),
)
