"""Lua."""

from __future__ import annotations

from sutler.languages import base

_QUERY = """
(function_declaration name: (_) @n) @d.function
(chunk (variable_declaration (assignment_statement (variable_list name:
  (identifier) @n))) @d.constant)
(function_call name: (identifier) @_r arguments: (arguments (string)) (#eq? @_r "require")) @i
"""

LUA = base.Language(
    display="Lua",
    name="lua",
    kind="program",
    suffixes=("lua", "rockspec"),
    files=(),
    shebangs=("lua", "luajit"),
    comments=base.Comments(("--",), (("--[[", "]]"),)),
    grammar=base.Grammar("tree_sitter_lua", _QUERY, base.quoted, base.offered(base.top)),
    shapes=None,
    tests=base.BY_SPEC,
    entries=base.Entries(),
    uses=base.Uses(imports=r"\brequire[ (]*[\"']([\w./-]+)[\"']", dotted=True),
    manifests=(),
    ecosystems=(),
)
