"""PHP."""

from __future__ import annotations

from sutler.languages import base

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
    return base.nested(text) if text.startswith("use") else base.quoted(text)


PHP = base.Language(
    display="PHP",
    name="php",
    kind="program",
    suffixes=("php", "php3", "php4", "php5", "php7", "phtml"),
    files=(),
    shebangs=("php",),
    comments=base.Comments(("//", "#"), (("/*", "*/"),)),
    grammar=base.Grammar(
        "tree_sitter_php", _QUERY, _imports, base.offered(base.visible_top), function="language_php"
    ),
    shapes=None,
    tests=base.Tests(stem=f"{base.AFFIX}|{base.SPEC}|{base.CAMEL}|{base.PREFIX}", spec_folder=True),
    entries=base.Entries(
        names=("artisan",),
        routes=(
            r"Route::(get|post|put|patch|delete|head|options|all|resource|any)"
            r"\(\s*[\"']([^\"'\n]*)[\"']",
            r"#\[(Route)\(\s*[\"']([^\"'\n]*)[\"']",
        ),
    ),
    uses=base.Uses(
        imports=r"(?:require|include)(?:_once)?[^;\n]*?[\"']([\w./-]+\.php)[\"']",
        definitions=r"\b(?:class|interface|trait|enum)\s+([A-Z]\w+)",
    ),
    manifests=("composer.json",),
    ecosystems=("php",),
)
