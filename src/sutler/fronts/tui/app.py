"""The picker's application: keys and commands to picks, picks to rows and figures."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import suppress

from textual.timer import Timer
from textual.widgets import Input

from sutler.errors import SutlerError, UsageError
from sutler.fronts.tui import commands
from sutler.fronts.tui.commands import Reply, Scene
from sutler.fronts.tui.door_thread import DoorThread, Stopped
from sutler.fronts.tui.panes import TreePane
from sutler.fronts.tui.picking import Plan
from sutler.fronts.tui.question import Asker
from sutler.fronts.tui.screen import PickerScreen
from sutler.fronts.tui.verbs import Verbs
from sutler.paths import counted
from sutler.secrets.cleaner import redacted_text
from sutler.store.records import Caller

WIDE = 120
"""Columns above which an answer to a command does not need the whole width."""
PAUSE = 0.2
"""Seconds without a cursor movement before a file is read for the text pane, and without a change
before picks are stored."""


class Picker(PickerScreen):
    """`run()` returns True if the user is done and wants the selection, False if it is only stored.
    `raise_fault` after it raises the exception that ended the screen.

    The screen opens empty. Names and sizes follow once the tree is walked; the exact weights
    replace the estimates when all files are read, with the picks made in the meantime."""

    def __init__(self, verbs: Verbs, caller: Caller, plan: Plan) -> None:
        super().__init__(plan, verbs.budget())
        self.verbs = verbs
        self.pick_everything = False  # as soon as the files are listed
        self.ask = Asker(self)
        self.door_thread = DoorThread(verbs.root, caller, self.ask)
        self._to_keep = False
        self._rest: Timer | None = None

    async def on_mount(self) -> None:
        self.find_panes()
        self.redraw()
        self.set_interval(PAUSE, self.keep_picks)
        self.run_worker(self.guarded(self.load()), group="weigh")
        with suppress(
            NotImplementedError, RuntimeError, ValueError
        ):  # not in the main thread, as in tests
            # The terminal must be restored when its window is closed.
            for number in (signal.SIGHUP, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self.action_leave)

    async def on_unmount(self) -> None:
        self.ask.withdraw()
        self.weighing.stop()
        self.keep_picks()
        await self.door_thread.close()

    # the files and their weights

    async def load(self) -> None:
        """List the files, then weigh them; picks stay."""
        listed = await self.door_thread.do(self.verbs.listed)
        self.plan = Plan(listed, self.plan.kept(), weighed=False)
        if self.pick_everything:
            self.plan.pick_all(self.plan.below(""))
            self._to_keep = True
        self.redraw()
        self.status(f"weighing {counted(len(listed), 'file')}")
        await self.weigh()
        without_text = len(listed) - len(self.plan.files)
        more = f", {without_text:,} more without text" if without_text else ""
        self.status(f"{counted(len(self.plan.files), 'file')}{more}")
        if unseen := len(self.plan.unseen):
            self.status(f"not here: {counted(unseen, 'file')} picked before")

    async def weigh(self) -> None:
        timer = self.set_interval(PAUSE, self.show_bar)
        try:
            files = await self.weighing.call(self.verbs.weigh)
        except Stopped:
            return
        finally:
            timer.stop()
        self.plan = Plan(files, self.plan.kept(), self.verbs.frame)
        self.redraw()

    # keeping

    def changed(self) -> None:
        self._to_keep = True
        self.redraw()

    def keep_from_start(self) -> None:
        """Store the picks even without a change: they differ from the last ones."""
        self._to_keep = True

    def keep_picks(self) -> None:
        """Store the picks during work, so that a kill loses only the last moment."""
        if self._to_keep:
            self._to_keep = False
            if trouble := self.verbs.keep(self.plan.kept()):
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
        """Open a folder; close it, or go to the parent."""
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
        """Toggle all that is shown: everything, or the matches of a search."""
        paths = self.plan.hits(self.word) if self.word else self.plan.below("")
        done = self.plan.pick_all(paths, not all(path in self.plan.picked for path in paths))
        if len(paths) == len(self.plan.files) and not self.plan.picked:
            self.plan.unseen.clear()  # dropping everything includes unseen picks
        self.changed()
        self.status(f"{counted(done, 'file')} changed sides")

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
        """Whether the text replaces the tree."""
        return self.screen.has_class("reading")

    def read(self, on: bool) -> None:
        self.screen.set_class(on, "reading")
        (self.text_pane if on else self.files_pane).focus()
        if on and not self.text_pane.lines:
            self.read_here()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Give the keys that lead to the command line priority: fast typing after them would still
        reach the tree as keys. On the line itself they are letters."""
        if len(self.screen_stack) > 1:
            return action == "leave"  # an open question has keys of its own
        return not (action in ("find", "type", "profiles") and self.typing)

    @property
    def typing(self) -> bool:
        """Whether the command line has the focus; the widget's own state changes a moment later."""
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
        """Go back one step: out of a command, out of the text, out of a search."""
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
        self.ask.withdraw()
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
                f"{counted(len(self.files_pane.rows), 'row')} for '{self.word}'; a picks all, "
                "escape ends"
                " the search"
            )

    def say(self, line: str) -> None:
        """Carry out one command in its turn; an error is shown in the status line."""
        self.run_worker(self.guarded(self.carry_out(line)), group="command")

    async def guarded(self, act: Awaitable[None]) -> None:
        try:
            await act
        except SutlerError as error:
            steps = [error.what, error.rule and f"rule: {error.rule}", error.next_step]
            self.status("; ".join(step for step in steps if step))
            self.text_pane.show_text(redacted_text(str(error)))
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
        self.answer(await self.door_thread.at_door(lambda door: act(door, words, scene)))

    def answer(self, reply: Reply) -> None:
        self.text_pane.show_text(reply.text)
        full = self.size.width < WIDE and bool(reply.text)
        self.status(f"{reply.title}  (escape: back to the tree)" if full else reply.title)
        if full:
            self.read(True)
        self.screen.remove_class("hidden")
        if reply.wrote:
            self.run_worker(self.guarded(self.weigh()), group="command")

    def scene(self) -> Scene:
        row, plan = self.files_pane.row, self.plan
        here = row.path if row and not row.folder else ""
        weights = tuple((path, weight.tokens) for path, weight in plan.files.items())
        return Scene(
            here, self.budget.unit, self.budget.limit, plan.used, len(plan.picked), weights
        )

    async def command_budget(self, words: Sequence[str]) -> None:
        self.budget = self.verbs.set_budget(words)
        await self.weigh()
        self.status(f"the budget is {self.budget.limit or 'no limit'} {self.budget.unit}")

    async def command_add(self, words: Sequence[str]) -> None:
        self.change(self.plan.matching(words), True)

    async def command_drop(self, words: Sequence[str]) -> None:
        self.change(self.plan.matching(words), False)

    def change(self, paths: Iterable[str], on: bool) -> None:
        done = self.plan.pick_all(paths, on)
        self.changed()
        self.status(f"{counted(done, 'file')} {'picked' if on else 'dropped'}")

    async def command_profile(self, words: Sequence[str]) -> None:
        if not words:
            names = self.verbs.profiles()
            self.answer(
                Reply(
                    f"{len(names):,} profiles; /profile NAME picks what one selects",
                    "\n".join(names),
                )
            )
            return
        chosen = set(await self.door_thread.do(lambda: self.verbs.selected_by(words[0])))
        self.plan.pick_all(self.plan.below(""), False)
        self.change([path for path in self.plan.below("") if path in chosen], True)

    async def command_why(self, words: Sequence[str]) -> None:
        path = commands.named(self.scene(), words)
        self.answer(Reply(path, await self.door_thread.do(lambda: self.verbs.why(path))))

    async def command_keep(self, words: Sequence[str]) -> None:
        self.status(self.verbs.add_profile(words[0] if words else "", self.plan))

    async def command_export(self, words: Sequence[str]) -> None:
        self.status(self.verbs.export(self.plan.chosen(), _single(words, "/export")))

    async def command_pack(self, words: Sequence[str]) -> None:
        paths, target = self.plan.chosen(), _single(words, "/pack")
        self.status("packing …")
        self.status(await self.door_thread.do(lambda: self.verbs.pack(paths, target)))

    async def command_copy(self, words: Sequence[str]) -> None:
        paths = self.plan.chosen()

        def by_terminal(text: str) -> None:
            self.call_from_thread(self.copy_to_clipboard, text)

        self.status("packing …")
        self.status(await self.door_thread.do(lambda: self.verbs.copy(paths, by_terminal)))

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
        if not self.screen_stack:  # called while the screen closes
            return
        row = self.files_pane.row
        beside = not self.screen.has_class("hidden") and not self.screen.has_class("narrow")
        if row and not row.folder and (beside or self.reading):
            self.run_worker(self.guarded(self.preview(row.path)), group="preview", exclusive=True)

    async def preview(self, path: str) -> None:
        reply = await self.door_thread.at_door(lambda door: commands.preview(door, path))
        if self.files_pane.row and self.files_pane.row.path == path:
            self.text_pane.show_text(reply.text)
            self.status(reply.title)


def _single(words: Sequence[str], command: str) -> str:
    if len(words) != 1:
        raise UsageError(f"{command} needs one FILE", next_step="name a file to write")
    return words[0]
