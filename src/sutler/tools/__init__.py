"""Every tool that an agent may call, declared once in `table.py`; fronts and docs derive from
it."""

from __future__ import annotations

from sutler.tools.declaration import MOST, Param, Tool, checked, schema
from sutler.tools.opening import Opener, open_door, open_doors, open_ledger, rules_from
from sutler.tools.table import ALIASES, BY_NAME, DEFAULT, TOOLS, call

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
    "open_ledger",
    "rules_from",
    "schema",
]
