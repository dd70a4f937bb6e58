"""C++, the headers of C and C++, and CUDA."""

from __future__ import annotations

from msgspec.structs import replace

from sutler.languages import base
from sutler.languages.c import QUERY, public

_QUERY = (
    QUERY
    + """
(class_specifier name: (_) @n body: (_)) @d.class
(namespace_definition name: (_) @n) @d.module
(alias_declaration name: (type_identifier) @n) @d.type
(concept_definition name: (identifier) @n) @d.type
(function_definition declarator: (function_declarator declarator:
  [(qualified_identifier) (field_identifier) (destructor_name) (operator_name)] @n)) @d.function
(function_definition declarator: (pointer_declarator (function_declarator declarator:
  [(qualified_identifier) (field_identifier) (operator_name)] @n))) @d.function
(function_definition declarator: (reference_declarator (function_declarator declarator:
  [(identifier) (qualified_identifier) (field_identifier) (operator_name)] @n))) @d.function
(field_declaration declarator: (function_declarator declarator: (field_identifier) @n)) @d.method
(field_declaration declarator: (pointer_declarator (function_declarator declarator:
  (field_identifier) @n))) @d.method
(field_declaration declarator: (reference_declarator (function_declarator declarator:
  (field_identifier) @n))) @d.method
"""
)

CPP = base.Language(
    display="C++",
    name="cpp",
    kind="program",
    suffixes=base.words("cpp cc cxx c++ hpp hh hxx h++ inl ipp tpp txx ino cppm ixx"),
    files=(),
    shebangs=(),
    comments=base.Comments(("//",), (("/*", "*/"),)),
    grammar=base.Grammar("tree_sitter_cpp", _QUERY, base.included, base.offered(public)),
    shapes=None,
    tests=base.Tests(stem=f"{base.AFFIX}|{base.CAMEL}|{base.PREFIX}"),
    entries=base.Entries(main=r"(?m)^(?:(?:int|auto|void)\s+)(?:SDL_|w)?main\s*\(", compiled=True),
    uses=base.C_USES,
    manifests=("conanfile.txt", "conanfile.py", "vcpkg.json"),
    ecosystems=("cpp",),
)

HEADER = replace(
    CPP, display="C header", name="c", suffixes=("h",), manifests=(), ecosystems=("c", "cpp")
)
CUDA = replace(CPP, display="CUDA", name="cuda", suffixes=("cu", "cuh"), manifests=())
