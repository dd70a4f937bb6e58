"""An application that hands its unexpected exceptions to the command that started it."""

from __future__ import annotations

from textual.app import App


class ReportingApp(App[bool]):
    """`raise_fault` after `run` raises the exception that ended the screen."""

    def _fatal_error(self) -> None:
        # Textual's own method prints a traceback with local values, which may be secrets.
        self._close_messages_no_wait()

    def raise_fault(self) -> None:
        if self._exception is not None:
            raise self._exception
