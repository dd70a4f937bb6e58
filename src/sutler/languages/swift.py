"""Swift."""

from __future__ import annotations

from sutler.languages import base

_QUERY = """
(class_declaration name: (_) @n) @d.class
(protocol_declaration name: (_) @n) @d.class
(function_declaration name: (simple_identifier) @n) @d.function
(protocol_function_declaration name: (simple_identifier) @n) @d.method
(init_declaration "init" @n) @d.method
(source_file (property_declaration name: (pattern bound_identifier:
  (simple_identifier) @n)) @d.constant)
(class_body (property_declaration name: (pattern bound_identifier:
  (simple_identifier) @n)) @d.field)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @n)) @d.field
(enum_entry name: (simple_identifier) @n) @d.field
(typealias_declaration name: (type_identifier) @n) @d.type
(import_declaration) @i
"""

SWIFT = base.Language(
    display="Swift",
    name="swift",
    kind="program",
    suffixes=("swift",),
    files=(),
    shebangs=("swift",),
    comments=base.Comments(("//",), (("/*", "*/"),)),
    grammar=base.Grammar(
        "tree_sitter_swift", _QUERY, base.dotted, base.offered(base.marked("public", "open"))
    ),
    shapes=None,
    tests=base.Tests(
        stem=f"{base.AFFIX}|{base.SPEC}|{base.CAMEL}",
        spec_folder=True,
        frameworks=(
            (r"import Quick\b", "quick"),
            (r"import XCTest", "xctest"),
            (r"import Testing", "swift-testing"),
        ),
    ),
    entries=base.Entries(
        main=r"(?m)^@(?:main|UIApplicationMain|NSApplicationMain)\b", compiled=True
    ),
    uses=base.Uses(definitions=r"\b(?:class|struct|enum|protocol|actor|typealias)\s+([A-Z]\w+)"),
    manifests=("package.swift", "podfile"),
    ecosystems=("swift",),
)
