"""Scala."""

from __future__ import annotations

import re

from sutler.languages import base

_QUERY = """
(class_definition name: (identifier) @n) @d.class
(object_definition name: (identifier) @n) @d.class
(trait_definition name: (identifier) @n) @d.class
(enum_definition name: (identifier) @n) @d.class
(type_definition name: (type_identifier) @n) @d.type
(function_definition name: (identifier) @n) @d.function
(function_declaration name: (identifier) @n) @d.function
(template_body (val_definition pattern: (identifier) @n) @d.field)
(import_declaration) @i
"""


def imports(text: str) -> list[str]:
    """Return the targets of `import a.b.{c, d => e}, f.g._`: a.b, a.b.c, a.b.d and f.g."""
    names: list[str] = []
    for whole, braced in re.findall(r"([\w.]+)(?:\{([^{}]*)\})?", text.removeprefix("import")):
        module = re.sub(r"\.[_*]?$", "", whole)
        inner = re.findall(r"(?:^|,)\s*(\w+)", braced)
        names += [module, *(f"{module}.{name}" for name in inner if name != "_")]
    return names


SCALA = base.Language(
    display="Scala",
    name="scala",
    kind="program",
    suffixes=("scala", "sc", "sbt"),
    files=(),
    shebangs=("scala",),
    comments=base.Comments(("//",), (("/*", "*/"),)),
    grammar=base.Grammar("tree_sitter_scala", _QUERY, imports, base.offered(base.visible_top)),
    shapes=None,
    tests=base.BY_SPEC,
    entries=base.Entries(
        main=(
            r"(?m)^(?:\w+ )*object\s(?:(?!^\S*\s*(?:\w+ )*(?:trait|class)\s)[\s\S]){0,5000}?"
            r"\bdef\s+main\s*\(\s*\w+\s*:\s*Array"
            r"|^(?:\w+ )*object\s+\w+\s+extends\s+(?:\w*\.)*(?:\w*IO)?App\b|^@main\b"
        ),
        compiled=True,
    ),
    uses=base.JVM_USES,
    manifests=("build.sbt",),
    ecosystems=(),
)
