"""Two threads beside the screen: one owns the door and its database, one weighs files."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import TypeVar, cast

from sutler.access.door import Door
from sutler.access.grants import Ask
from sutler.store.records import Caller
from sutler.tools import open_door

T = TypeVar("T")


class DoorThread:
    """One thread, one door, one call at a time. The first call that needs the door opens it."""

    def __init__(self, root: str, caller: Caller, ask: Ask) -> None:
        self._root, self._caller, self._ask = root, caller, ask
        self._thread = ThreadPoolExecutor(1, "sutler-door")
        self._stack = ExitStack()
        self._door: Door | None = None

    async def do(self, act: Callable[[], T]) -> T:
        """Run a function in the thread."""
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
        """Sign the ledger's head and close the database."""
        await self.do(self._stack.close)
        self._thread.shutdown(wait=False)


class Stopped(Exception):  # noqa: N818  # not an error: the screen closes while files are weighed
    """Raised inside a background call when its result is no longer wanted."""


class Background:
    """A call in a daemon thread, so that closing the screen does not wait for it."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self.done = self.total = 0

    def progress(self, done: int, total: int) -> None:
        """Report progress of the call; raise once `stop` was called."""
        self.done, self.total = done, total
        if self._stopped.is_set():
            raise Stopped

    def stop(self) -> None:
        self._stopped.set()

    async def call(self, function: Callable[[Callable[[int, int], None]], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            if future.done():  # the screen closed in the meantime
                return
            future.set_exception(error) if error else future.set_result(cast("T", result))

        def run() -> None:
            result, error = None, None
            try:
                result = function(self.progress)
            except BaseException as fault:  # raised again where it is awaited
                error = fault
            with suppress(RuntimeError):  # the loop is closed: the screen is gone
                loop.call_soon_threadsafe(settle, result, error)

        threading.Thread(target=run, name="sutler-weigh", daemon=True).start()
        return await future
