"""Go, and its module files, which the grammar does not read."""

from __future__ import annotations

from msgspec.structs import replace

from sutler.languages import base
from sutler.languages.facts import Symbol

_QUERY = """
(function_declaration name: (identifier) @n) @d.function
(method_declaration name: (field_identifier) @n) @d.method
(type_spec name: (type_identifier) @n) @d.class
(type_alias name: (type_identifier) @n) @d.type
(source_file (const_declaration (const_spec name: (identifier) @n) @d.constant))
(source_file (var_declaration (var_spec name: (identifier) @n) @d.constant))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @n) @d.constant)))
(field_declaration name: (field_identifier) @n) @d.field
(method_elem name: (field_identifier) @n) @d.method
(import_spec) @i
"""


def _public(symbol: Symbol) -> bool:
    return symbol.parent < 0 and symbol.name[:1].isupper()


GO = base.Language(
    display="Go",
    name="go",
    kind="program",
    suffixes=("go",),
    files=(),
    shebangs=(),
    comments=base.Comments(("//",), (("/*", "*/"),)),
    grammar=base.Grammar(
        "tree_sitter_go", _QUERY, base.quoted, base.offered(_public), folder_modules=True
    ),
    shapes=None,
    tests=base.Tests(stem=r".*_test", frameworks=(("", "go test"),)),
    entries=base.Entries(
        main=r"(?s)^package\s+main\b.*^func\s+main\s*\(",
        compiled=True,
        routes=(
            r"\.(HandleFunc|Handle|GET|POST|PUT|PATCH|DELETE|Get|Post|Put|Delete|Patch)\(\s*"
            r"\"([^\"\n]*/[^\"\n]*)\"",
        ),
        commands=(r"\bUse:\s*\"([\w:-]+)",),
        script=r"^package main\b",
        script_only=True,
    ),
    uses=base.Uses(
        definitions=r"(?m)^(?:func|type|var|const)\s+(?:\[[^\]]*\])?([A-Za-z_]\w{2,})",
        mentions=r"[A-Za-z_]\w{2,}",
    ),
    manifests=("go.mod", "go.work"),
    ecosystems=("go",),
)

GO_MODULE = replace(
    GO,
    display="Go module file",
    kind="config",
    suffixes=(),
    files=("go.mod", "go.work"),
    grammar=None,
    tests=base.NO_TESTS,
    entries=base.Entries(),
    uses=base.NO_USES,
    manifests=(),
)
