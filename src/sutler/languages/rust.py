"""Rust."""

from __future__ import annotations

from sutler.languages import base

_QUERY = """
(function_item name: (identifier) @n) @d.function
(function_signature_item name: (identifier) @n) @d.function
(struct_item name: (type_identifier) @n) @d.class
(enum_item name: (type_identifier) @n) @d.class
(union_item name: (type_identifier) @n) @d.class
(trait_item name: (type_identifier) @n) @d.class
(impl_item type: (_) @n) @d.class
(type_item name: (type_identifier) @n) @d.type
(mod_item name: (identifier) @n) @d.module
(const_item name: (identifier) @n) @d.constant
(static_item name: (identifier) @n) @d.constant
(macro_definition name: (identifier) @n) @d.macro
(field_declaration name: (field_identifier) @n) @d.field
(enum_variant name: (identifier) @n) @d.field
(use_declaration) @i
(extern_crate_declaration) @i
"""

RUST = base.Language(
    display="Rust",
    name="rust",
    kind="program",
    suffixes=("rs",),
    files=(),
    shebangs=("cargo", "rust-script"),
    comments=base.Comments(("//",), (("/*", "*/"),)),
    grammar=base.Grammar("tree_sitter_rust", _QUERY, base.nested, base.offered(base.marked("pub"))),
    shapes=None,
    tests=base.Tests(
        stem=f"{base.AFFIX}|{base.CAMEL}",
        inline=True,
        frameworks=((r"#\[(?:\w+::)?test\]|#\[cfg\(test\)\]", "cargo test"),),
    ),
    entries=base.Entries(
        compiled=True,
        names=("lib.rs",),
        libraries=("lib.rs", "mod.rs"),
        routes=(
            r"#\[(get|post|put|patch|delete)\(\s*\"([^\"\n]*)\"",
            r"\.(route|nest)\(\s*\"([^\"\n]*)\"",
        ),
        commands=(r"(?:Command|SubCommand|App)::(?:new|with_name)\(\s*\"([\w:-]+)\"",),
    ),
    uses=base.Uses(
        imports=(r"(?m)^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?(?:use[ \t]+([^;]+);|mod[ \t]+(\w+);)")
    ),
    manifests=("cargo.toml",),
    ecosystems=("rust",),
)
