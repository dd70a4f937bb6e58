"""Lua."""

from __future__ import annotations

from sutler.languages.base import (
    BY_SPEC,
    Comments,
    Entries,
    Grammar,
    Language,
    Uses,
    offered,
    quoted,
    top,
)

_QUERY = """
(function_declaration name: (_) @n) @d.function
(chunk (variable_declaration (assignment_statement (variable_list name:
  (identifier) @n))) @d.constant)
(function_call name: (identifier) @_r arguments: (arguments (string)) (#eq? @_r "require")) @i
"""

LUA = Language(
    display="Lua",
    name="lua",
    kind="program",
    suffixes=("lua", "rockspec"),
    files=(),
    shebangs=("lua", "luajit"),
    comments=Comments(("--",), (("--[[", "]]"),)),
    grammar=Grammar("tree_sitter_lua", _QUERY, quoted, offered(top)),
    shapes=None,
    tests=BY_SPEC,
    entries=Entries(),
    uses=Uses(imports=r"\brequire[ (]*[\"']([\w./-]+)[\"']", dotted=True),
    manifests=(),
    ecosystems=(),
)
