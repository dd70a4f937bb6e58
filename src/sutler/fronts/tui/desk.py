"""The door in a thread of its own: the database is opened, used and closed there, and the screen
never waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

from sutler.access.door import Door
from sutler.access.grants import Ask
from sutler.store.records import Caller
from sutler.tools import open_door

T = TypeVar("T")


class Desk:
    """One thread, one door, one thing at a time. The door is opened with the first call that needs
    it.
    """

    def __init__(self, root: str, caller: Caller, ask: Ask) -> None:
        self._root, self._caller, self._ask = root, caller, ask
        self._thread = ThreadPoolExecutor(1, "sutler-door")
        self._stack = ExitStack()
        self._door: Door | None = None

    async def do(self, act: Callable[[], T]) -> T:
        """Run something in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, act)

    async def at_door(self, act: Callable[[Door], T]) -> T:
        return await self.do(lambda: act(self._opened()))

    def _opened(self) -> Door:
        if self._door is None:
            self._door = self._stack.enter_context(
                open_door(self._root, self._caller, ask=self._ask)
            )
        return self._door

    async def close(self) -> None:
        """Sign the ledger's head and let go of the database."""
        await self.do(self._stack.close)
        self._thread.shutdown(wait=False)
