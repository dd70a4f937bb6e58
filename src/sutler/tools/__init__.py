"""Every tool an agent may call, declared once in `table.py`; fronts and docs derive from it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from sutler.access.door import Door
from sutler.errors import UsageError
from sutler.paths import ROOT
from sutler.store.records import Call
from sutler.tools.declaration import MOST, Param, Tool, checked, schema
from sutler.tools.opening import Opener, open_door, open_doors, open_store, rules_from
from sutler.tools.table import TOOLS

__all__ = [
    "ALIASES",
    "BY_NAME",
    "DEFAULT",
    "MOST",
    "TOOLS",
    "Opener",
    "Param",
    "Tool",
    "call",
    "checked",
    "open_door",
    "open_doors",
    "open_store",
    "rules_from",
    "schema",
]

BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
ALIASES: Mapping[str, str] = {alias: tool.name for tool in TOOLS for alias in tool.aliases}
"""Other names that are answered: those of seed 003 where ours differ."""
DEFAULT: tuple[str, ...] = tuple(tool.name for tool in TOOLS if tool.standard)
"""What a server lists unless --tools names others, in the table's order."""


def call(door: Door, name: str, arguments: Mapping[str, object]) -> object:
    """Run a tool by name. Refuse unknown names and arguments, so that no misspelt check is
    skipped.
    """
    name = ALIASES.get(name, name)
    try:
        tool = BY_NAME.get(name)
        if tool is None:
            raise UsageError(f"no tool {name[:60]!r}", next_step=f"tools: {', '.join(BY_NAME)}")
        complete = checked(tool, arguments)
    except UsageError as wrong:  # refused before there was a call, and still recorded in the ledger
        shown = name if name in BY_NAME else "unknown"
        attempt = Call(id=secrets.token_hex(16), tool=shown, effect="list", path=ROOT)
        door.gate.refused(attempt, "arguments", wrong.what)
        raise door.gate.cleaned(wrong) from None
    return tool.run(door, complete)
