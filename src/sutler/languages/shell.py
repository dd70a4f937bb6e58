"""Shell scripts: sh, bash and their kin."""

from __future__ import annotations

from sutler.languages.base import BY_AFFIX, Comments, Entries, Grammar, Language, Uses, offered, top

_QUERY = """
(function_definition name: (word) @n) @d.function
(program (variable_assignment name: (variable_name) @n) @d.constant)
(program (declaration_command (variable_assignment name: (variable_name) @n)) @d.constant)
(command name: (command_name (word) @_s) (#any-of? @_s "source" ".")) @i
"""


def _imports(text: str) -> list[str]:
    return [word.strip("\"'") for word in text.split()[1:2]]


SHELL = Language(
    display="Shell",
    name="shell",
    kind="program",
    suffixes=("sh", "bash", "zsh", "ksh", "bats"),
    files=(".bashrc", ".bash_profile", ".zshrc", ".profile", ".envrc"),
    shebangs=("sh", "bash", "dash", "zsh", "ksh", "ash", "bats"),
    comments=Comments(("#",)),
    grammar=Grammar("tree_sitter_bash", _QUERY, _imports, offered(top)),
    shapes=None,
    tests=BY_AFFIX,
    entries=Entries(),
    uses=Uses(
        imports=r"(?m)^[ \t]*(?:source|\.)[ \t]+[\"']?([^\s\"';]+)",
        beside=True,
        definitions=r"(?m)^(?:function[ \t]+)?([A-Za-z_][\w:.-]{3,})[ \t]*\(\)",
        mentions=r"[A-Za-z_][\w:.-]{3,}",
    ),
    manifests=(),
    ecosystems=(),
)
