"""The picker on the screen: keys and commands to picks, picks to rows and figures."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import suppress

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widgets import Footer, Input, Static

from sutler.errors import SutlerError, UsageError
from sutler.fronts.cli.console import harmless
from sutler.fronts.tui import commands
from sutler.fronts.tui.asking import Asker
from sutler.fronts.tui.commands import Reply, Scene
from sutler.fronts.tui.deeds import Deeds
from sutler.fronts.tui.desk import Desk
from sutler.fronts.tui.faults import ReportingApp
from sutler.fronts.tui.panes import TextPane, TreePane
from sutler.fronts.tui.plan import Budget, Plan, bar_line
from sutler.store.records import Caller

NARROW = 70
"""Columns below which tree and text do not stand side by side."""
WIDE = 120
"""Columns from which an answer to a command does not need the whole width."""
PAUSE = 0.2
"""Seconds the cursor rests before a file is read for the text pane, and picks rest before they are
kept.
"""


class Picker(ReportingApp):
    """`run()` returns True when the user is done and the selection is wanted, False when it is only
    kept.
    """

    ENABLE_COMMAND_PALETTE = False
    TITLE = "sutler"
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
    BINDINGS = [  # noqa: RUF012  # Textual reads it from the class
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

    def __init__(self, root: str, caller: Caller, plan: Plan, budget: Budget, deeds: Deeds) -> None:
        super().__init__()
        # the terminal's own sixteen colours: nothing more is needed, over SSH as well
        self.theme = "ansi-dark"
        self.plan, self.budget, self.deeds = plan, budget, deeds
        self.ask = Asker(self)
        self.desk = Desk(root, caller, self.ask)
        self.open_folders: set[str] = set()
        self.word = ""
        self.heaviest = False
        self._to_keep = False
        self._rest: Timer | None = None

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

    async def on_mount(self) -> None:
        self.files_pane, self.text_pane = self.query_one(TreePane), self.query_one(TextPane)
        self.line = self.query_one("#line", Input)
        self.files_pane.focus()
        self.redraw()
        gone = f", {len(self.plan.unseen):,} picked before are not here" if self.plan.unseen else ""
        self.status(f"{len(self.plan.files):,} files, {len(self.plan.picked):,} picked{gone}")
        self.set_interval(PAUSE, self.keep_picks)
        with suppress(
            NotImplementedError, RuntimeError, ValueError
        ):  # not in the main thread: a test's affair
            for number in (signal.SIGHUP, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self.action_leave)

    async def on_unmount(self) -> None:
        self.ask.nobody()
        self.keep_picks()
        await self.desk.close()

    # what is seen

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
        self.files_pane.show_rows(rows)
        self.show_bar()

    def show_bar(self) -> None:
        self.say_at("#bar", bar_line(self.plan, self.budget, self.size.width))

    def status(self, text: str) -> None:
        self.say_at("#status", harmless(self.deeds.told(text)).replace("\n", "; "))

    def say_at(self, place: str, line: str) -> None:
        for shown in self.query(place).results(Static):  # none while the screen is being taken down
            shown.update(line)

    def on_resize(self, event: events.Resize) -> None:
        self.screen.set_class(event.size.width < NARROW, "narrow")
        self.screen.set_class(event.size.height < 12, "low")
        self.call_after_refresh(self.show_bar)

    # keeping

    def changed(self) -> None:
        self._to_keep = True
        self.redraw()

    def changed_before(self) -> None:
        """The picks are not those of last time, even if nothing more happens to them."""
        self._to_keep = True

    def keep_picks(self) -> None:
        """Little by little while one works, so that not even a kill loses more than the last
        moment.
        """
        if self._to_keep:
            self._to_keep = False
            if trouble := self.deeds.keep(self.plan.kept()):
                self.status(trouble)

    # keys

    def action_pick(self) -> None:
        if self.files_pane.row and not self.reading:
            self.plan.toggle(self.files_pane.row.path)
            self.changed()

    def action_enter(self) -> None:
        row = self.files_pane.row
        if row and row.folder and not self.word:
            self.action_open(not row.open)
        elif row:
            self.action_pick()

    def action_open(self, wanted: bool) -> None:
        """Open a folder; close it, or go to the one above."""
        row = self.files_pane.row
        if row is None or self.word:
            return
        if wanted:
            self.open_folders.update([row.path] if row.folder else [])
        elif row.folder and row.open:
            self.open_folders.discard(row.path)
        else:
            self.files_pane.go_to(row.path.rpartition("/")[0])
        self.redraw()

    def action_all(self) -> None:
        """All that is shown: everything, or what was found."""
        paths = self.plan.hits(self.word) if self.word else self.plan.below("")
        done = self.plan.pick_all(paths, not all(path in self.plan.picked for path in paths))
        if len(paths) == len(self.plan.files) and not self.plan.picked:
            self.plan.unseen.clear()  # who drops everything means everything
        self.changed()
        self.status(f"{done:,} files changed sides")

    def action_sort(self) -> None:
        self.heaviest = not self.heaviest
        self.redraw()
        self.status("the heaviest first" if self.heaviest else "by name")

    def action_view(self) -> None:
        if self.screen.has_class("narrow") or self.reading:
            self.read(not self.reading)
        else:
            self.screen.toggle_class("hidden")

    @property
    def reading(self) -> bool:
        """Whether the text has the place of the tree."""
        return self.screen.has_class("reading")

    def read(self, on: bool) -> None:
        self.screen.set_class(on, "reading")
        (self.text_pane if on else self.files_pane).focus()
        if on and not self.text_pane.lines:
            self.read_here()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that lead to the command line come before all others, or what is typed fast after
        them would still reach the tree and be taken for keys; on the line itself they are
        letters.
        """
        if len(self.screen_stack) > 1:
            return action == "leave"  # a question is open, and its keys are its own
        return not (action in ("find", "type", "profiles") and self.typing)

    @property
    def typing(self) -> bool:
        """Whether the command line has the focus; a widget itself learns that a moment later."""
        return self.screen.focused is self.line

    def action_find(self) -> None:
        self.action_type(self.word)

    def action_type(self, text: str) -> None:
        self.line.value = text
        self.screen.set_focus(self.line)  # at once, not with the next message
        self.line.cursor_position = len(text)

    def action_profiles(self) -> None:
        self.say("/profile")
        self.action_type("/profile ")

    def action_say(self, line: str) -> None:
        self.say(line)

    def action_escape(self) -> None:
        """One step back: out of a command, out of the text, out of a search."""
        if self.typing and self.line.value.startswith("/"):
            self.line.value = self.word
        elif not self.reading or self.typing:
            self.word = self.line.value = ""
        self.read(False)
        self.redraw()
        self.status(f"{len(self.plan.picked):,} picked")

    def action_done(self) -> None:
        self.keep_picks()
        self.exit(True)

    def action_leave(self) -> None:
        self.ask.nobody()
        self.keep_picks()
        self.exit(False)

    # the command line

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.typing and not event.value.startswith("/") and event.value != self.word:
            self.word = event.value
            self.redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.files_pane.focus()
        if event.value.startswith("/"):
            self.line.value = ""
            self.say(event.value)
        else:
            self.status(
                f"{len(self.files_pane.rows):,} rows for '{self.word}'; a picks all, escape ends"
                " the search"
            )

    def say(self, line: str) -> None:
        """Carry out one command, in its turn; what went wrong is said in the status line."""
        self.run_worker(self.guarded(self.carry_out(line)), group="command")

    async def guarded(self, act: Awaitable[None]) -> None:
        try:
            await act
        except SutlerError as error:
            steps = [error.what, error.rule and f"rule: {error.rule}", error.next_step]
            self.status("; ".join(step for step in steps if step))
            self.text_pane.show_text(self.deeds.told(str(error)))
        except OSError as error:
            self.status(f"{error.strerror or error}")

    async def carry_out(self, line: str) -> None:
        name, words = commands.parse(line)
        slash = commands.BY_NAME.get(name)
        if slash is None:
            raise UsageError(f"no command /{name[:40]}", next_step="/help lists them")
        if slash.act is None or (name == "budget" and words):
            await getattr(self, f"command_{name}")(words)
            return
        act, scene = slash.act, self.scene()
        self.status(f"/{name} …")
        self.answer(await self.desk.at_door(lambda door: act(door, words, scene)))

    def answer(self, reply: Reply) -> None:
        self.text_pane.show_text(reply.text)
        full = self.size.width < WIDE and bool(reply.text)
        self.status(f"{reply.title}  (escape: back to the tree)" if full else reply.title)
        if full:
            self.read(True)
        self.screen.remove_class("hidden")
        if reply.wrote:
            self.run_worker(self.guarded(self.weigh_again()), group="command")

    def scene(self) -> Scene:
        row, plan = self.files_pane.row, self.plan
        here = row.path if row and not row.folder else ""
        weights = tuple((path, weight.tokens) for path, weight in plan.files.items())
        return Scene(
            here, self.budget.unit, self.budget.limit, plan.used, len(plan.picked), weights
        )

    async def weigh_again(self) -> None:
        files = await self.desk.do(self.deeds.weigh)
        self.plan = Plan(files, self.plan.kept(), self.deeds.frame())
        self.redraw()

    async def command_budget(self, words: Sequence[str]) -> None:
        self.budget = self.deeds.budget(words)
        await self.weigh_again()
        self.status(f"the budget is {self.budget.limit or 'no limit'} {self.budget.unit}")

    async def command_add(self, words: Sequence[str]) -> None:
        self.change(self.plan.matching(words), True)

    async def command_drop(self, words: Sequence[str]) -> None:
        self.change(self.plan.matching(words), False)

    def change(self, paths: Iterable[str], on: bool) -> None:
        done = self.plan.pick_all(paths, on)
        self.changed()
        self.status(f"{done:,} files {'picked' if on else 'dropped'}")

    async def command_profile(self, words: Sequence[str]) -> None:
        if not words:
            names = self.deeds.profiles()
            self.answer(
                Reply(
                    f"{len(names):,} profiles; /profile NAME picks what one selects",
                    "\n".join(names),
                )
            )
            return
        chosen = set(await self.desk.do(lambda: self.deeds.profile(words[0])))
        self.plan.pick_all(self.plan.below(""), False)
        self.change([path for path in self.plan.below("") if path in chosen], True)

    async def command_keep(self, words: Sequence[str]) -> None:
        self.status(self.deeds.add_profile(words[0] if words else "", self.plan))

    async def command_export(self, words: Sequence[str]) -> None:
        self.status(self.deeds.export(self.plan.chosen(), _one(words, "/export")))

    async def command_pack(self, words: Sequence[str]) -> None:
        paths, target = self.plan.chosen(), _one(words, "/pack")
        self.status("packing …")
        self.status(await self.desk.do(lambda: self.deeds.pack(paths, target)))

    async def command_copy(self, words: Sequence[str]) -> None:
        paths = self.plan.chosen()

        def by_terminal(text: str) -> None:
            self.call_from_thread(self.copy_to_clipboard, text)

        self.status("packing …")
        self.status(await self.desk.do(lambda: self.deeds.copy(paths, by_terminal)))

    async def command_quit(self, words: Sequence[str]) -> None:
        self.action_done()

    # the text pane

    def on_tree_pane_moved(self) -> None:
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(PAUSE, self.read_here)

    def on_tree_pane_clicked(self, event: TreePane.Clicked) -> None:
        self.action_pick() if event.box else self.action_enter()

    def read_here(self) -> None:
        if not self.screen_stack:  # its time came while the screen was being taken down
            return
        row = self.files_pane.row
        beside = not self.screen.has_class("hidden") and not self.screen.has_class("narrow")
        if row and not row.folder and (beside or self.reading):
            self.run_worker(self.guarded(self.preview(row.path)), group="preview", exclusive=True)

    async def preview(self, path: str) -> None:
        reply = await self.desk.at_door(lambda door: commands.preview(door, path))
        if self.files_pane.row and self.files_pane.row.path == path:
            self.text_pane.show_text(reply.text)
            self.status(reply.title)


def _one(words: Sequence[str], command: str) -> str:
    if len(words) != 1:
        raise UsageError(f"{command} needs one FILE", next_step="name a file to write")
    return words[0]
