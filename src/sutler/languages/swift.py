"""Swift."""

from __future__ import annotations

from sutler.languages.base import (
    AFFIX,
    CAMEL,
    SPEC,
    Comments,
    Entries,
    Grammar,
    Language,
    Tests,
    Uses,
    dotted,
    marked,
    offered,
)

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

SWIFT = Language(
    display="Swift",
    name="swift",
    kind="program",
    suffixes=("swift",),
    files=(),
    shebangs=("swift",),
    comments=Comments(("//",), (("/*", "*/"),)),
    grammar=Grammar("tree_sitter_swift", _QUERY, dotted, offered(marked("public", "open"))),
    shapes=None,
    tests=Tests(
        stem=f"{AFFIX}|{SPEC}|{CAMEL}",
        spec_folder=True,
        frameworks=(
            (r"import Quick\b", "quick"),
            (r"import XCTest", "xctest"),
            (r"import Testing", "swift-testing"),
        ),
    ),
    entries=Entries(main=r"(?m)^@(?:main|UIApplicationMain|NSApplicationMain)\b", compiled=True),
    uses=Uses(definitions=r"\b(?:class|struct|enum|protocol|actor|typealias)\s+([A-Z]\w+)"),
    manifests=("package.swift", "podfile"),
    ecosystems=("swift",),
)
