"""A picker on a planted tree, driven without a terminal."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from textual.pilot import Pilot

from sutler.fronts.tui.app import Picker
from sutler.fronts.tui.picking import Plan, Weight
from sutler.fronts.tui.verbs import Verbs
from sutler.pack import picks
from sutler.pack.project import Project
from sutler.store.records import PROFILES, Caller
from tests.limits import LIMIT

Act = Callable[[Picker, Pilot[bool]], Awaitable[None]]


class Gated(Verbs):
    """Weighs files only after the gate is set, if there is one."""

    def __init__(self, project: Project, gate: threading.Event | None) -> None:
        super().__init__(project)
        self._gate = gate

    def weigh(self, progress: Callable[[int, int], None] | None = None) -> Mapping[str, Weight]:
        if self._gate is not None:
            self._gate.wait(LIMIT)
        return super().weigh(progress)


def drive(
    folder: Path,
    act: Act,
    *,
    size: tuple[int, int] = (80, 24),
    limit: int = 1_000,
    gate: threading.Event | None = None,
) -> Picker:
    """Open a picker on `folder`, let `act` play with it, and return it as it was left. With a
    `gate`, files are weighed only after it is set.
    """

    async def play() -> Picker:
        verbs = Gated(Project(str(folder)), gate)
        verbs.set_budget([str(limit)])
        plan = Plan({}, picks.kept(verbs.root, os.environ), weighed=False)
        app = Picker(verbs, Caller("test:person", "pick", PROFILES["person"]), plan)
        async with app.run_test(size=size) as pilot:
            if gate is None:
                await until(pilot, lambda: app.plan.weighed)
            await pilot.pause()
            await act(app, pilot)
        return app

    return asyncio.run(play())


async def say(app: Picker, pilot: Pilot[bool], line: str) -> str:
    """Type a command and wait for its end; returns the text that came."""
    app.action_type(line)
    await pilot.press("enter")
    await settled(app, pilot)
    return "\n".join(app.text_pane.lines)


async def settled(app: Picker, pilot: Pilot[bool]) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause()


async def until(pilot: Pilot[bool], holds: Callable[[], bool]) -> None:
    for _ in range(400):
        if holds():
            return
        await pilot.pause(0.05)
    pytest.fail("the screen did not get there")


def status(app: Picker) -> str:
    from textual.widgets import Static

    return str(app.query_one("#status", Static).content)


def screen(app: Picker) -> str:
    """Everything on the screen, as text."""
    return "\n".join(
        "".join(segment.text for segment in line) for line in app.screen._compositor.render_strips()
    )
