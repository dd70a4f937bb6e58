"""Consent on the screen: the fields that an approval binds, with the escaped diff. The answer is
yes, no or none."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Static

from sutler.fronts.console import described
from sutler.fronts.tui.panes import TextPane
from sutler.store.records import Approval


class Question(ModalScreen[bool]):
    CSS = """
    Question { align: center middle; }
    Question > TextPane { height: 1fr; margin: 1 2 0 2; }
    Question > Static { height: 1; margin: 0 2 1 2; text-style: reverse; }
    """
    BINDINGS = [  # noqa: RUF012  # Textual reads it from the class
        Binding("y", "settle(True)", "allow once", priority=True),
        Binding("n,escape", "settle(False)", "deny", priority=True),
        Binding("ctrl+c,ctrl+q", "app.leave", "leave", priority=True),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        yield TextPane("question")
        yield Static("allow exactly this, once?  y: yes   n: no   arrows: scroll", markup=False)

    def on_mount(self) -> None:
        pane = self.query_one(TextPane)
        pane.show_text(self.text)
        pane.focus()

    def action_settle(self, answer: bool) -> None:
        self.dismiss(answer)


class Asker:
    """Callback of the gate in the door's thread; waits until the person at the screen has
    answered."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._waiting: Future[bool | None] | None = None

    def __call__(self, approval: Approval) -> bool | None:
        waiting: Future[bool | None] = Future()
        self._waiting = waiting

        def put() -> None:
            self._app.push_screen(
                Question(described(approval)), lambda answer: _settle(waiting, answer)
            )

        self._app.call_from_thread(put)
        return waiting.result()

    def withdraw(self) -> None:
        """Leave an open question unanswered when the screen closes; it stays pending."""
        if self._waiting is not None:
            _settle(self._waiting, None)


def _settle(waiting: Future[bool | None], answer: bool | None) -> None:
    if not waiting.done():
        waiting.set_result(answer)
