"""Scala."""

from __future__ import annotations

from sutler.languages.base import (
    BY_SPEC,
    JVM_USES,
    Comments,
    Entries,
    Grammar,
    Language,
    dotted,
    offered,
    visible_top,
)

_QUERY = """
(class_definition name: (identifier) @n) @d.class
(object_definition name: (identifier) @n) @d.class
(trait_definition name: (identifier) @n) @d.class
(function_definition name: (identifier) @n) @d.function
(function_declaration name: (identifier) @n) @d.function
(template_body (val_definition pattern: (identifier) @n) @d.field)
(import_declaration) @i
"""

SCALA = Language(
    display="Scala",
    name="scala",
    kind="program",
    suffixes=("scala", "sc", "sbt"),
    files=(),
    shebangs=("scala",),
    comments=Comments(("//",), (("/*", "*/"),)),
    grammar=Grammar("tree_sitter_scala", _QUERY, dotted, offered(visible_top)),
    shapes=None,
    tests=BY_SPEC,
    entries=Entries(
        main=(r"\bdef\s+main\s*\(\s*\w+\s*:\s*Array|\bextends\s+(?:IO)?App\b|(?m:^@main\b)"),
        compiled=True,
    ),
    uses=JVM_USES,
    manifests=("build.sbt",),
    ecosystems=(),
)
