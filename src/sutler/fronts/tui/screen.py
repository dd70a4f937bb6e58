"""The picker's screen: widgets, style, key bindings, and the display of picks and figures."""

from __future__ import annotations

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import Footer, Input, Static

from sutler.errors import UsageError
from sutler.fronts.console import harmless
from sutler.fronts.tui.door_thread import Background
from sutler.fronts.tui.panes import TextPane, TreePane
from sutler.fronts.tui.picking import Budget, Plan, bar_line
from sutler.secrets.cleaner import redacted_text

NARROW = 70
"""Columns below which tree and text do not fit side by side."""
CSS = """
Screen { layout: vertical; }
#bar { height: 1; }
#panes { height: 1fr; }
#tree { width: 1fr; }
#tree, #text { scrollbar-size: 1 1; }
#text { width: 1fr; border-left: solid $primary; padding-left: 1; }
#status { height: 1; text-style: reverse; }
#line, #line:focus { height: 1; border: none; padding: 0; }
.narrow #text, .hidden #text { display: none; }
.reading #text { display: block; border-left: none; padding-left: 0; }
.reading #tree { display: none; }
.low Footer { display: none; }
"""

BINDINGS: list[Binding | tuple[str, str] | tuple[str, str, str]] = [
    Binding("space", "pick", "pick"),
    Binding("enter", "enter", "open", show=False),
    Binding("right,l", "open(True)", "open", show=False),
    Binding("left,h", "open(False)", "close", show=False),
    Binding("a", "all", "all"),
    Binding("f", "find", "find", priority=True),
    Binding("slash", "type('/')", "command", priority=True),
    Binding("s", "sort", "sort"),
    Binding("v", "view", "view"),
    Binding("w", "type('/pack ')", "write", priority=True),
    Binding("c", "say('/copy')", "copy"),
    Binding("e", "type('/export ')", "export", show=False, priority=True),
    Binding("p", "profiles", "profiles", priority=True),
    Binding("escape", "escape", "back", show=False, priority=True),
    Binding("question_mark", "say('/help')", "help", show=False),
    Binding("q", "done", "done"),
    Binding("ctrl+c,ctrl+q", "leave", "leave", show=False, priority=True),
]


class PickerScreen(App[bool]):
    """The display; `Picker` acts on keys and commands."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "sutler"
    CSS = CSS
    BINDINGS = BINDINGS
    files_pane: TreePane
    text_pane: TextPane
    line: Input

    def __init__(self, plan: Plan, budget: Budget) -> None:
        super().__init__()
        # the terminal's own sixteen colours suffice, over SSH as well
        self.theme = "ansi-dark"
        self.plan, self.budget = plan, budget
        self.weighing = Background()
        self.open_folders: set[str] = set()
        self.word = ""
        self.heaviest = False

    def compose(self) -> ComposeResult:
        yield Static(id="bar", markup=False)
        with Horizontal(id="panes"):
            yield TreePane()
            yield TextPane()
        yield Static(id="status", markup=False)
        yield Input(
            id="line", placeholder="/ for a command, f to find, ? for help", select_on_focus=False
        )
        yield Footer(compact=True, show_command_palette=False)

    def find_panes(self) -> None:
        self.files_pane, self.text_pane = self.query_one(TreePane), self.query_one(TextPane)
        self.line = self.query_one("#line", Input)
        self.files_pane.focus()

    def _fatal_error(self) -> None:
        # Textual's own method prints a traceback with local values, which may be secrets.
        self._close_messages_no_wait()

    def raise_fault(self) -> None:
        if self._exception is not None:
            raise self._exception

    def redraw(self) -> None:
        try:
            plan = self.plan
            rows = (
                plan.found(self.word)
                if self.word
                else plan.rows(self.open_folders, heaviest=self.heaviest)
            )
        except UsageError as wrong:
            self.status(wrong.what)
            rows = []
        self.files_pane.show_rows(rows, estimated=not self.plan.weighed)
        self.show_bar()

    def show_bar(self) -> None:
        done, total = self.weighing.done, self.weighing.total
        share = f" {100 * done // total} %" if total else ""
        if not (self.plan.weighed or self.plan.files):
            self.say_at("#bar", "reading the tree …")
            return
        state = "" if self.plan.weighed else f"weighing{share} · "
        self.say_at("#bar", state + bar_line(self.plan, self.budget, self.size.width - len(state)))

    def status(self, text: str) -> None:
        self.say_at("#status", harmless(redacted_text(text)).replace("\n", "; "))

    def say_at(self, place: str, line: str) -> None:
        for widget in self.query(place).results(Static):  # empty while the screen closes
            widget.update(line)

    def on_resize(self, event: events.Resize) -> None:
        self.screen.set_class(event.size.width < NARROW, "narrow")
        self.screen.set_class(event.size.height < 12, "low")  # then the text pane has no line left
        self.call_after_refresh(self.show_bar)
