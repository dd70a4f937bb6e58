"""The picker in a real terminal: tmux stands for the person's, keys go in, the screen comes out."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Plant, Sutler
from tests.limits import LIMIT

pytestmark = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="tmux is what gives these tests a terminal"
)

TREE = {
    "README.md": "# Cart\n",
    "src": {"cart.py": "WHEELS = 4\n", "axle.py": "AXLES = 2\n"},
    "z.txt": "z\n",
}
SECONDS = 60


class Terminal:
    """One tmux server of its own, with one window that runs one shell line."""

    def __init__(self, folder: Path, line: str, size: tuple[int, int], term: str) -> None:
        self._socket = str(folder.parent / "tmux")
        env = {
            **os.environ,
            "TMUX_TMPDIR": str(folder.parent),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        env = {
            name: value
            for name, value in env.items()
            if name not in ("TMUX", "COLORTERM", "COLUMNS", "LINES")
        }
        config = folder.parent / "tmux.conf"
        config.write_text(f"set -g default-terminal {term}\nset -g status off\n")
        self._words = ["tmux", "-f", str(config), "-S", self._socket]
        command = [
            *self._words,
            "new-session",
            "-d",
            "-x",
            str(size[0]),
            "-y",
            str(size[1]),
            "-c",
            str(folder),
            line,
        ]
        subprocess.run(command, env=env, check=True, capture_output=True, timeout=LIMIT)

    def tmux(self, *words: str) -> str:
        return subprocess.run(
            [*self._words, *words], check=False, capture_output=True, text=True, timeout=LIMIT
        ).stdout

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def shows(self, *texts: str) -> str:
        """Wait until all of these are on the screen; returns the screen."""
        end = time.monotonic() + SECONDS
        while True:
            seen = self.tmux("capture-pane", "-p")
            if all(text in seen for text in texts):
                return seen
            assert time.monotonic() < end, f"{texts} not on the screen:\n{seen}"
            time.sleep(0.1)

    def pid(self) -> int:
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))


Open = Callable[..., Terminal]


@pytest.fixture
def opened(plant: Plant) -> Iterator[Open]:
    started: list[Terminal] = []

    def start(words: str = "", size: tuple[int, int] = (80, 24), term: str = "screen") -> Terminal:
        line = f"{sys.executable} -m sutler pick {words}; echo left with $?; read end"
        started.append(Terminal(plant(TREE), line, size, term))
        return started[-1]

    yield start
    for one in started:
        one.tmux("kill-server")


@pytest.mark.parametrize(
    ("size", "term"),
    [
        ((80, 24), "screen"),
        ((160, 50), "screen-256color"),
        ((200, 50), "screen-256color"),
        ((40, 15), "screen"),
        ((40, 10), "vt100"),
    ],
)
def test_pick_and_quit_prints_the_selection(opened: Open, size: tuple[int, int], term: str) -> None:
    """Without true colour, without 256 colours, without any: pick a folder, quit, read the list on
    the screen.
    """
    terminal = opened(size=size, term=term)
    terminal.shows("[ ] ▸ src/", "0 of 4 files")
    terminal.press("Space")
    terminal.shows("[x] ▸ src/", "2 of 4 files")
    terminal.press("q")
    assert "src/axle.py\nsrc/cart.py\nleft with 0" in terminal.shows("left with 0")


def test_the_list_goes_down_a_pipe_while_the_screen_stays(
    opened: Open, sutler: Sutler, tmp_path: Path
) -> None:
    terminal = opened("--max-tokens 10k | cat > ../list.txt")
    terminal.shows("[ ] ▸ src/")
    terminal.tmux("resize-window", "-x", "50", "-y", "12")
    terminal.press("Space")
    terminal.shows(
        "[x] ▸ src/", "% of 10,000 tokens, 2 of 4 files"
    )  # the short bar of a narrow terminal
    terminal.press("q")
    terminal.shows("left with 0")
    listed = (tmp_path / "list.txt").read_bytes()
    assert listed == b"src/axle.py\nsrc/cart.py\n"
    packed = sutler("pack", "--stdin", cwd=tmp_path / "project", stdin=listed)
    assert "AXLES = 2" in packed.text
    assert "# Cart" not in packed.text


def test_control_c_keeps_the_picks_for_the_next_time(
    opened: Open, sutler: Sutler, tmp_path: Path
) -> None:
    terminal = opened()
    terminal.shows("[ ] ▸ src/")
    terminal.press("Space")
    terminal.shows("2 of 4 files")
    terminal.press("C-c")
    assert "src/axle.py" not in terminal.shows("picked and kept: 2 files", "left with 130")
    assert sutler("pick", "--kept", cwd=tmp_path / "project").out == b"src/axle.py\nsrc/cart.py\n"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_a_lost_connection_or_a_kill_keeps_the_picks(
    opened: Open, sutler: Sutler, tmp_path: Path, number: signal.Signals
) -> None:
    terminal = opened()
    terminal.shows("[ ] ▸ src/")
    terminal.press("Space")
    terminal.shows("2 of 4 files")
    _until_kept(tmp_path)
    [child] = Path(f"/proc/{terminal.pid()}/task/{terminal.pid()}/children").read_text().split()
    os.kill(int(child), number)
    terminal.shows("left with")
    assert sutler("pick", "--kept", cwd=tmp_path / "project").out == b"src/axle.py\nsrc/cart.py\n"


def _until_kept(folder: Path) -> None:
    """Picks are on the disk a moment after they were made."""
    state = Path(os.environ["HOME"])
    end = time.monotonic() + SECONDS
    while not any(
        b"cart" in found.read_bytes() for found in state.glob(".local/state/sutler/*/picked.json")
    ):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_command_is_typed_and_answered(opened: Open) -> None:
    terminal = opened()
    terminal.shows("[ ] ▸ src/")
    terminal.press("/")
    terminal.press("-l", "open src/cart.py:1-1")
    terminal.press("Enter")
    terminal.shows("WHEELS = 4", "src/cart.py:1-1 of 1 lines")
    terminal.press("Escape")
    terminal.shows("[ ] ▸ src/")
    terminal.press("q")
    terminal.shows("left with 0")


def test_o_packs_what_was_picked(opened: Open, tmp_path: Path) -> None:
    terminal = opened("--all -o ../pack.md")
    terminal.shows("4 of 4 files")
    terminal.press("q")
    terminal.shows("packed 4 files", "left with 0")
    assert "WHEELS = 4" in (tmp_path / "pack.md").read_text()


def test_without_a_terminal_the_picker_says_so(sutler: Sutler, plant: Plant) -> None:
    done = sutler("pick", cwd=plant(TREE))
    assert done.code == 2
    assert "there is no terminal to pick on" in done.err
    assert "--kept" in done.err


def test_kept_without_picks_is_empty_and_json_has_the_figures(sutler: Sutler, plant: Plant) -> None:
    folder = plant(TREE)
    assert sutler("pick", "--kept", cwd=folder).out == b""
    assert b'"limit": 500000' in sutler("pick", "--kept", "--json", cwd=folder).out


@pytest.mark.parametrize("words", [("-o", "x", "--copy"), ("--list", "x", "-o", "y")])
def test_one_destination(sutler: Sutler, plant: Plant, words: tuple[str, ...]) -> None:
    done = sutler("pick", "--kept", *words, cwd=plant(TREE))
    assert done.code == 2
    assert "keep one destination" in done.err
