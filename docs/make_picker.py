"""Make docs/picker.svg: the picker on a real folder, as it looks. python docs/make_picker.py DIR"""

from __future__ import annotations

import asyncio
import os
import re
import sys

from sutler.fronts.tui.app import Picker
from sutler.fronts.tui.picking import Plan
from sutler.fronts.tui.verbs import Verbs
from sutler.pack.project import Project
from sutler.store.records import PROFILES, Caller

KEYS = ("down", "down", "enter", "down", "down", "space", "down", "space", "down", "space", "up")


async def drawn(folder: str) -> str:
    os.chdir(folder)
    verbs = Verbs(Project(folder))
    verbs.set_budget(["20k"])
    caller = Caller("docs", "picture", PROFILES["person"])
    app = Picker(verbs, caller, Plan({}, weighed=False))
    async with app.run_test(size=(100, 26)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.press(*KEYS)
        await pilot.pause(1.0)
        await app.workers.wait_for_complete()
        await pilot.pause()
        return app.export_screenshot(title="sutler pick")


def without_network(svg: str) -> str:
    """The drawing asks for a font from elsewhere; the reader's own will do."""
    return re.sub(r"@font-face \{.*?\n    \}\n", "", svg, flags=re.DOTALL).replace(
        "Fira Code", "ui-monospace"
    )


if __name__ == "__main__":
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "picker.svg")
    picture = without_network(asyncio.run(drawn(os.path.abspath(sys.argv[1]))))
    with open(target, "w", encoding="utf-8") as stream:
        stream.write(picture)
