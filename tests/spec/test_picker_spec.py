"""`sutler pick` as a person uses it, without a terminal: keys in, picks and screens out."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from sutler.fronts.tui.app import Picker
from sutler.fronts.tui.commands import SLASHES
from sutler.fronts.tui.picking import bar_line
from sutler.fronts.tui.question import Question
from sutler.pack import picks
from sutler.store.records import unseal
from sutler.tools import open_ledger
from tests.conftest import Plant
from tests.pickers import drive, say, screen, settled, status, until

TREE: dict[str, Any] = {
    "README.md": "# Cart\n\nTwo axles.\n",
    "sutler.toml": '[profiles.docs]\ninclude = ["*.md"]\n',
    "src": {
        "cart.py": "WHEELS = 4\nAXLES = 2\n" * 20,
        "axle.py": "AXLES = 2\n",
        "deep": {"hub.py": "HUB = 1\n"},
    },
    "tests": {"test_cart.py": "def test_cart() -> None: ...\n"},
}
PATCH = "--- a/src/axle.py\n+++ b/src/axle.py\n@@ -1 +1 @@\n-AXLES = 2\n+AXLES = 3\n"


@pytest.fixture
def project(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = plant(TREE)
    monkeypatch.chdir(folder)
    return folder


def rows_of(folder: Path) -> list[tuple[str, str, bool]]:
    """Tool, path and success of every row in the ledger."""
    with open_ledger(str(folder), os.environ) as ledger:
        return [
            (one.tool, one.path, one.success)
            for one in map(unseal, ledger.store.audit(0, 1_000))
            if one.phase == "done"
        ]


def test_space_picks_and_the_bar_follows(project: Path) -> None:
    """Picking changes the figures at once; a folder counts everything below it."""

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        assert bar_line(app.plan, app.budget, 80).endswith("0 of 6 files")
        await pilot.press("space")
        assert app.plan.chosen() == ["src/axle.py", "src/cart.py", "src/deep/hub.py"]
        assert "3 of 6 files" in screen(app)
        assert f"about {app.plan.used:,} of 1,000 tokens" in screen(app)
        await pilot.press("space")
        assert app.plan.chosen() == []

    drive(project, act)


def test_the_screen_opens_before_the_files_are_weighed(project: Path) -> None:
    """The tree is there with estimates; picks made before the weights arrive stay."""
    gate = threading.Event()

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await until(pilot, lambda: "▸ src/" in screen(app))
        assert "weighing" in screen(app)
        assert "~" in screen(app)
        await pilot.press("space")
        assert app.plan.chosen() == ["src/axle.py", "src/cart.py", "src/deep/hub.py"]
        gate.set()
        await until(pilot, lambda: app.plan.weighed)
        assert "weighing" not in screen(app)
        assert "~" not in screen(app)
        assert app.plan.chosen() == ["src/axle.py", "src/cart.py", "src/deep/hub.py"]

    drive(project, act, gate=gate)


def test_why_names_the_reason(project: Path) -> None:
    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        assert "src/cart.py: in (full)" in await say(app, pilot, "/why src/cart.py")
        (project / "gone.txt").write_text("x\n")
        (project / ".gitignore").write_text("*.txt\n")
        assert "rule: .gitignore:1: *.txt" in await say(app, pilot, "/why gone.txt")

    drive(project, act)


def test_closing_does_not_wait_for_the_weights(project: Path) -> None:
    gate = threading.Event()

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await until(pilot, lambda: "▸ src/" in screen(app))
        await pilot.press("space", "q")

    app = drive(project, act, gate=gate)
    assert not app.plan.weighed
    assert picks.kept(str(project), os.environ) == tuple(app.plan.chosen())
    gate.set()


def test_the_bar_is_close_to_what_a_pack_costs(project: Path, tmp_path: Path) -> None:
    """The figure before packing and the exact one after differ by little, for few files and for
    all.
    """

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        for size in ("100k tokens", "500k bytes"):
            await say(app, pilot, f"/budget {size}")
            for globs in ("*.md", "*"):
                await say(app, pilot, f"/add {globs}")
                about = app.plan.used
                await say(app, pilot, f"/pack {tmp_path}/out.md")
                exact = int(status(app).split(", ")[1].split()[0].replace(",", ""))
                assert abs(about - exact) <= 0.05 * exact + 20, (size, globs, about, exact)
            await say(app, pilot, "/drop *")

    drive(project, act)


def test_what_is_typed_in_one_burst_is_not_taken_for_keys(project: Path) -> None:
    """A slow line delivers many keys at once; those behind the slash belong to the command."""

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        from textual import events

        for char in "/add w/a/p/e":
            key = {"/": "slash", " ": "space"}.get(char, char)
            app.post_message(events.Key(key, char))
        await pilot.pause()
        assert app.line.value == "/add w/a/p/e"
        assert app.plan.chosen() == []

    drive(project, act)


def test_folders_open_and_close(project: Path) -> None:
    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("enter", "down", "right", "down")
        assert app.files_pane.row is not None
        assert app.files_pane.row.path == "src/deep/hub.py"
        await pilot.press("left", "left", "left", "left")
        assert [row.path for row in app.files_pane.rows][:2] == ["src", "tests"]

    drive(project, act)


def test_the_bar_says_when_it_is_over(project: Path) -> None:
    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("a")
        assert "OVER by" in screen(app)
        await say(app, pilot, "/budget 100k chars")
        assert "OVER by" not in bar_line(app.plan, app.budget, 80)
        assert "100,000 chars" in bar_line(app.plan, app.budget, 80)

    drive(project, act, limit=10)


def test_search_narrows_the_tree_and_escape_ends_it(project: Path) -> None:
    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("f", "c", "a", "r", "t")
        assert [row.path for row in app.files_pane.rows if not row.folder] == [
            "src/cart.py",
            "tests/test_cart.py",
        ]
        await pilot.press("enter", "a")
        assert app.plan.chosen() == ["src/cart.py", "tests/test_cart.py"]
        await pilot.press("escape")
        assert len(app.files_pane.rows) == 4
        assert app.plan.chosen() == ["src/cart.py", "tests/test_cart.py"]

    drive(project, act)


def test_the_text_pane_shows_the_file_under_the_cursor(project: Path) -> None:
    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("end", "up")
        await until(pilot, lambda: "# Cart" in screen(app))

    drive(project, act)
    assert ("get_excerpt", "README.md", True) in rows_of(project)


COMMANDS = {
    "/files *.py": "src/cart.py",
    "/open src/cart.py:2-2": "AXLES = 2",
    "/open README.md": "Two axles.",
    "/diff src/axle.py": "",
    "/history src/axle.py": "",
    "/stats files": "py  ",
    "/budget": "reads",
}


def test_commands_answer_through_the_door(project: Path) -> None:
    """Each command shows its answer and leaves its row in the ledger."""

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        for line, text in COMMANDS.items():
            assert text in await say(app, pilot, line), line

    drive(project, act)
    done = [(tool, path.strip('"')) for tool, path, success in rows_of(project) if success]
    assert [call for call in done if call[0] != "get_excerpt"] == [
        ("list_files", ""),
        ("read_lines", "src/cart.py"),
        ("read_file", "README.md"),
        ("get_diff", "src/axle.py"),
        ("get_file_history", "src/axle.py"),
        ("list_files", ""),
        ("get_session", ""),
        ("get_session", ""),
    ]


def test_help_names_every_command(project: Path) -> None:
    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        shown = await say(app, pilot, "/help")
        assert all(one.usage in shown for one in SLASHES)
        await pilot.press("escape")
        assert not app.reading

    drive(project, act)


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_patch_is_shown_and_applied_only_with_consent(
    project: Path, tmp_path: Path, answer: str
) -> None:
    """The question shows the diff; yes writes it, weighs the files again and is in the history; no
    writes nothing.
    """
    patch = tmp_path / "change.patch"
    patch.write_text(PATCH)

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await say(app, pilot, "/open src/axle.py")
        app.action_type(f"/patch {patch}")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        assert "+AXLES = 3" in "\n".join(app.screen.query_one("#question").lines)  # type: ignore[attr-defined]  # a TextPane
        await pilot.press(answer)
        await settled(app, pilot)
        if answer == "y":
            assert "+AXLES = 3" in await say(app, pilot, "/diff src/axle.py")
            assert "written" in await say(app, pilot, "/history src/axle.py")
        else:
            assert "denied" in status(app)

    drive(project, act)
    assert (project / "src/axle.py").read_text() == (
        "AXLES = 3\n" if answer == "y" else "AXLES = 2\n"
    )


def test_leaving_while_a_question_waits_writes_nothing(project: Path, tmp_path: Path) -> None:
    (tmp_path / "change.patch").write_text(PATCH)

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("space")
        await say(app, pilot, "/open src/axle.py")
        app.action_type(f"/patch {tmp_path / 'change.patch'}")
        await pilot.press("escape", "slash")
        app.action_type(f"/patch {tmp_path / 'change.patch'}")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("ctrl+c")

    app = drive(project, act)
    assert app.return_value is False
    assert (project / "src/axle.py").read_text() == "AXLES = 2\n"
    assert len(picks.kept(str(project), os.environ)) == 3


WRONG = {
    "/nonsense": "no command /nonsense",
    "/open missing.py": "missing.py",
    "/open ../etc/passwd": "..",
    "/patch": "needs a FILE",
    "/patch nowhere.patch": "cannot read nowhere.patch",
    "/stats trees": "knows no 'trees'",
    "/pack out.md": "nothing is picked",
    "/profile nobody": "no profile named",
    "/keep x": "nothing is picked",
    "/keep ../x": "is no name for a profile",
    "/budget much": "is not a size",
    "/budget 5 apples": "no unit apples",
    "/export": "needs one FILE",
    "/export nowhere/list": "nowhere/list",
    "/add ../x": "selects nothing below the root",
}


def test_what_goes_wrong_is_said_and_the_picker_lives(project: Path) -> None:
    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        for line, said in WRONG.items():
            await say(app, pilot, line)
            assert said in status(app), line

    drive(project, act)


def test_add_drop_and_profiles(project: Path) -> None:
    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await say(app, pilot, "/add src/ *.md")
        await say(app, pilot, "/drop src/deep/")
        assert app.plan.chosen() == ["README.md", "src/axle.py", "src/cart.py"]
        await say(app, pilot, "/keep mine")
        await say(app, pilot, "/profile docs")
        assert app.plan.chosen() == ["README.md"]
        assert await say(app, pilot, "/profile") == "docs\nmine"
        await pilot.press("escape")
        await say(app, pilot, "/profile mine")
        assert app.plan.chosen() == ["README.md", "src/axle.py", "src/cart.py"]

    drive(project, act)
    assert '"/src/axle.py"' in (project / "sutler.toml").read_text()


def test_pack_and_export_write_what_is_picked(project: Path, tmp_path: Path) -> None:
    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await say(app, pilot, "/add *.md src/axle.py")
        await say(app, pilot, f"/pack {tmp_path}/out.md")
        assert "packed 2 files" in status(app)
        await say(app, pilot, f"/export {tmp_path}/list.txt")

    drive(project, act)
    pack = (tmp_path / "out.md").read_text()
    assert "Two axles." in pack
    assert "WHEELS" not in pack
    assert (tmp_path / "list.txt").read_text() == "README.md\nsrc/axle.py\n"


def test_copy_goes_to_the_terminal_where_no_program_is(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await say(app, pilot, "/add *.md")
        await pilot.press("escape", "c")
        await settled(app, pilot)
        assert "clipboard (terminal)" in status(app)
        assert "Two axles." in app.clipboard

    drive(project, act)


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
def test_no_way_out_loses_the_selection(project: Path, key: str) -> None:
    """Whichever way one leaves, the next picker begins with the same picks."""

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("space", key)

    assert drive(project, act).return_value is (key == "q")

    async def look(app: Picker, pilot: Pilot[bool]) -> None:
        assert app.plan.chosen() == ["src/axle.py", "src/cart.py", "src/deep/hub.py"]
        await pilot.press("ctrl+c")

    drive(project, look)


def test_a_selection_survives_without_any_leaving(project: Path) -> None:
    """Picks are kept while one works: a kill comes without warning."""

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("space")
        await until(pilot, lambda: len(picks.kept(str(project), os.environ)) == 3)

    drive(project, act)


def test_any_size_works(project: Path) -> None:
    """A narrow terminal shows the tree, and the text in its place when asked."""

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("space")
        for width, height in ((20, 5), (40, 10), (69, 24), (70, 24), (200, 60)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            assert app.text_pane.display == (width >= 70)
            await pilot.press("v", "escape")
            app.screen.remove_class("hidden")
            assert app.files_pane.display
            assert "[x]" in screen(app)

    drive(project, act)


def test_resizing_keeps_cursor_and_picks(project: Path) -> None:
    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("enter", "down", "down", "space")
        for width, height in ((30, 8), (120, 40), (60, 7), (80, 24)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            assert app.files_pane.row is not None
            assert app.files_pane.row.path == "src/axle.py"
            assert "src/axle.py".rpartition("/")[2] in screen(app)
        assert app.plan.chosen() == ["src/axle.py"]

    drive(project, act)


def test_hostile_names_and_texts_do_not_reach_the_screen_raw(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = plant(
        {
            "a\x1b]0;owned\x07.txt": "x\x1b[2J\x1b]52;c;aGk=\x07y\u202ez\n",
            "[bold red]m.txt": "[blink]hi\n",
        }
    )
    monkeypatch.chdir(folder)

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("down")
        await until(pilot, lambda: any("x" in line for line in app.text_pane.lines))
        shown = screen(app)
        assert shown.replace("\n", "").isprintable()
        assert "[bold red]m.txt" in shown

    drive(folder, act, size=(120, 20))


def test_secrets_are_redacted_in_the_text_pane(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "ghp_" + "q7Zk2Lw9Xc4Vb8Nm1As5Df6Gh3Jk0PoI2uYt"
    folder = plant({"settings.py": f"TOKEN = '{token}'\nNAME = 'cart'\n"})
    monkeypatch.chdir(folder)

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        shown = await say(app, pilot, "/open settings.py")
        assert "NAME = 'cart'" in shown
        assert token not in shown

    drive(folder, act)


def test_many_files_stay_quick_to_walk(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the rows on screen are drawn, and a folder's figures are not summed anew."""
    folder = plant({f"d{number % 40}": {} for number in range(40)})
    for number in range(2_000):
        (folder / f"d{number % 40}" / f"f{number}.txt").write_text("word\n")
    monkeypatch.chdir(folder)

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        app.open_folders.update(f"d{number}" for number in range(40))
        app.redraw()
        await pilot.press("end", "pageup", "a", "home", "space")
        assert len(app.plan.picked) == 2_000 - 50

    drive(folder, act)


def test_what_comes_due_while_the_screen_goes_is_dropped(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timers of a picker that is being closed find no screen, and nothing to do."""
    folder = plant(TREE)
    monkeypatch.chdir(folder)

    async def act(app: Picker, pilot: Pilot[bool]) -> None:
        await pilot.press("down")

    app = drive(folder, act)
    app.read_here()
    app.show_bar()
    app.keep_picks()
