"""Kotlin."""

from __future__ import annotations

from sutler.languages import base
from sutler.languages.java import COMMANDS, ROUTES, STEM

_QUERY = """
(class_declaration name: (identifier) @n) @d.class
(object_declaration name: (identifier) @n) @d.class
(function_declaration name: (identifier) @n) @d.function
(type_alias type: (identifier) @n) @d.type
(source_file (property_declaration (variable_declaration (identifier) @n)) @d.constant)
(class_body (property_declaration (variable_declaration (identifier) @n)) @d.field)
(enum_entry (identifier) @n) @d.field
(import) @i
"""

KOTLIN = base.Language(
    display="Kotlin",
    name="kotlin",
    kind="program",
    suffixes=("kt", "kts", "ktm"),
    files=(),
    shebangs=("kotlin",),
    comments=base.Comments(("//",), (("/*", "*/"),)),
    grammar=base.Grammar("tree_sitter_kotlin", _QUERY, base.dotted, base.offered(base.visible_top)),
    shapes=None,
    tests=base.Tests(
        stem=STEM,
        spec_folder=True,
        frameworks=((r"org\.junit\.jupiter", "junit5"), (r"org\.junit\.|kotlin\.test", "junit")),
    ),
    entries=base.Entries(
        main=(
            r"(?m)^(?:\w+\s+)*fun\s+main\s*\(|@SpringBootApplication\b|:\s*(?:\w+,\s*)*"
            r"(?:MultiDex)?Application\(\)|\bclass\s+(?:Main|Launch(?:er)?|Splash)Activity\b[^{]*:"
        ),
        compiled=True,
        names=("application.kt",),
        routes=ROUTES,
        commands=COMMANDS,
    ),
    uses=base.JVM_USES,
    manifests=(),
    ecosystems=("kotlin",),
)
