"""C#."""

from __future__ import annotations

from sutler.languages import base

_QUERY = """
(class_declaration name: (identifier) @n) @d.class
(interface_declaration name: (identifier) @n) @d.class
(struct_declaration name: (identifier) @n) @d.class
(record_declaration name: (identifier) @n) @d.class
(enum_declaration name: (identifier) @n) @d.class
(delegate_declaration name: (identifier) @n) @d.type
(namespace_declaration name: (_) @n) @d.module
(method_declaration name: (identifier) @n) @d.method
(constructor_declaration name: (identifier) @n) @d.method
(property_declaration name: (identifier) @n) @d.field
(field_declaration (variable_declaration (variable_declarator name: (identifier) @n))) @d.field
(event_field_declaration (variable_declaration (variable_declarator name:
  (identifier) @n))) @d.field
(enum_member_declaration name: (identifier) @n) @d.field
(using_directive) @i
"""

CSHARP = base.Language(
    display="C#",
    name="csharp",
    kind="program",
    suffixes=("cs", "csx", "cake"),
    files=(),
    shebangs=(),
    comments=base.Comments(("//",), (("/*", "*/"),)),
    grammar=base.Grammar(
        "tree_sitter_c_sharp", _QUERY, base.dotted, base.offered(base.visible_type)
    ),
    shapes=None,
    tests=base.Tests(stem=f"{base.AFFIX}|{base.SPEC}|{base.CAMEL}|{base.PREFIX}", spec_folder=True),
    entries=base.Entries(
        main=(r"\bstatic\s+(?:async\s+)?(?:void|int|Task(?:<int>)?)\s+Main\s*\("),
        compiled=True,
        names=("program.cs",),
        routes=(
            r"\.(Map(?:Get|Post|Put|Patch|Delete))\(\s*\"([^\"\n]*)\"",
            r"\[(Http(?:Get|Post|Put|Patch|Delete)|Route)\(\s*\"([^\"\n]*)\"",
        ),
    ),
    uses=base.DOTNET_USES,
    manifests=base.words(
        "directory.packages.props directory.build.props global.json appsettings.json"
    ),
    ecosystems=("csharp",),
)
