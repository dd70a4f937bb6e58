"""The two panes: a tree that draws only the rows on screen, and a text. Their text is made harmless
here, at the last step before the terminal."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sutler.fronts.console import harmless
from sutler.fronts.tui.picking import Row
from sutler.paths import quote

BOXES = {"none": "[ ]", "some": "[-]", "all": "[x]"}
INDENT = 2
LONGEST = 2_000
"""Limit of drawn characters in a line."""


def row_text(row: Row, width: int, *, estimated: bool = False) -> str:
    """Format `[x] ▾ src/          12,345`: box and name to the left, tokens to the right, with a
    tilde for an estimate. A name that is too long is cut."""
    arrow = ("▾ " if row.open else "▸ ") if row.folder else "  "
    name = f"{quote(row.name)}{'/' if row.folder else ''}"
    indent = " " * min(INDENT * row.depth, max(width // 3, 0))
    left = f"{BOXES[row.mark]} {indent}{arrow}{name}"
    right = f" {'~' if estimated else ''}{row.tokens:,}"
    room = width - cell_len(right)
    if room < 8:  # a shorter name is useless
        return set_cell_size(left, width)
    if cell_len(left) > room:
        left = set_cell_size(left, room - 1) + "…"
    return set_cell_size(left, room) + right


def plain_lines(text: str) -> list[str]:
    """Split a text into lines for a terminal, without control characters."""
    lines = harmless(text.replace("\r\n", "\n")).split("\n")
    return [line.expandtabs(4)[:LONGEST] for line in lines]


class TreePane(ScrollView, can_focus=True):
    """The tree, with its rows and the cursor; the app decides what a key means for the picks."""

    class Moved(Message):
        """The cursor moved to another row."""

    class Clicked(Message):
        """A row was clicked; `box` means on its check box."""

        def __init__(self, box: bool) -> None:
            super().__init__()
            self.box = box

    BINDINGS = [  # noqa: RUF012  # Textual reads it from the class
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home,g", "move(-1000000000)", "first", show=False),
        Binding("end,G", "move(1000000000)", "last", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="tree")
        self.rows: list[Row] = []
        self.estimated = False
        self.cursor = 0

    @property
    def row(self) -> Row | None:
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def show_rows(self, rows: list[Row], *, estimated: bool = False) -> None:
        """Show other rows; the cursor stays on its path if that is still there, else on the nearest
        folder above."""
        at = self.row.path if self.row else ""
        self.rows, self.estimated = rows, estimated
        places = {row.path: index for index, row in enumerate(rows)}
        while at and at not in places:
            at = at.rpartition("/")[0]
        self.cursor = places.get(at, min(self.cursor, max(len(rows) - 1, 0)))
        self.virtual_size = Size(0, len(rows))
        self.scroll_to_cursor()
        self.refresh()

    def go_to(self, path: str) -> None:
        self.cursor = next(
            (index for index, row in enumerate(self.rows) if row.path == path), self.cursor
        )
        self.scroll_to_cursor()
        self.refresh()

    def scroll_to_cursor(self) -> None:
        top, height = round(self.scroll_y), max(self.scrollable_content_region.height, 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)

    def action_move(self, step: int) -> None:
        self.cursor = max(0, min(self.cursor + step, len(self.rows) - 1))
        self.scroll_to_cursor()
        self.refresh()
        self.post_message(self.Moved())

    def action_page(self, step: int) -> None:
        self.action_move(step * max(self.scrollable_content_region.height - 1, 1))

    def on_resize(self) -> None:
        self.scroll_to_cursor()

    def on_click(self, event: events.Click) -> None:
        line = event.y + round(self.scroll_y)
        if line < len(self.rows):
            self.cursor = line
            self.refresh()
            self.post_message(self.Moved())
            self.post_message(self.Clicked(event.x < len(BOXES["all"])))

    def render_line(self, y: int) -> Strip:
        index = y + round(self.scroll_y)
        width = self.scrollable_content_region.width
        base = self.rich_style
        if index >= len(self.rows):
            return Strip.blank(width, base)
        row = self.rows[index]
        style = base + Style(bold=row.mark != "none", dim=row.mark == "none" and not row.folder)
        if index == self.cursor:
            style += Style(reverse=True, dim=False, bold=self.has_focus)
        text = row_text(row, width, estimated=self.estimated)
        return Strip([Segment(text, style)], width).adjust_cell_length(width, style)


class TextPane(ScrollView, can_focus=True):
    """Lines of text that scroll."""

    def __init__(self, id: str = "text") -> None:
        super().__init__(id=id)
        self.lines: list[str] = []

    def show_text(self, text: str) -> None:
        self.lines = plain_lines(text)
        width = max((cell_len(line) for line in self.lines), default=0)
        self.virtual_size = Size(width, len(self.lines))
        self.scroll_to(0, 0, animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        index = y + round(self.scroll_y)
        style = self.rich_style
        line = self.lines[index] if index < len(self.lines) else ""
        strip = Strip([Segment(line, style)])
        left, width = round(self.scroll_x), self.scrollable_content_region.width
        return strip.crop(left, left + width).adjust_cell_length(width, style)
