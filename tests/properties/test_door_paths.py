"""No spelling of a path, and no race, gets anything from outside the root through any tool.

The long runs are the same tests: SUTLER_FUZZ=1200 gives 10^6 strings through each tool in turn.
"""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import msgspec
import pytest

from sutler.toolbox import TOOLS, Tool, call
from sutler.values.errors import SutlerError
from tests.conftest import FUZZ, Plant
from tests.doors import OpenDoor

OUTSIDE = "canary from outside"
PIECES = [
     "..", ".", "", "/", "//", "a", "sub", "link", "dirlink", "abs", "deep/up", "secret.txt", "project",
    "project-evil", "~", "~root", "$HOME", "%2e%2e", "%2f", "..%2f", "\\", "..\\", "C:", "\\\\?\\", "file://", "\0",
    "\n", "\x1b", "\u202e", "\u2215", "\uff0e\uff0e", "\udcff", ".git", ".ENV", "CON", "nul.txt", "a:stream", "a.",
    "a ", "*", "**", "{a,b}", "proc", "self", "root", "etc", "passwd", '"', '"..', "\\057", "x" * 300,
]  # fmt: skip
PATH_TOOLS = [tool for tool in TOOLS if any(param.name in ("path", "globs", "query") for param in tool.params)]


def arguments(tool: Tool, text: str) -> dict[str, object]:
    given = dict(tool.example)
    for name in ("path", "query"):
        if name in given:
            given[name] = text
    if "globs" in [param.name for param in tool.params]:
        given["globs"] = [text]
    return given


def snare(folder: Path) -> None:
    """Everything that has led out of a root somewhere: links of all kinds, a sibling with the same prefix."""
    outside = folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "secret.txt").write_text(OUTSIDE)
    (folder.parent / "secret.txt").write_text(OUTSIDE)
    evil = folder.parent / "project-evil"
    evil.mkdir(exist_ok=True)
    (evil / "secret.txt").write_text(OUTSIDE)
    (folder / "link").symlink_to("../secret.txt")
    (folder / "dirlink").symlink_to("../outside")
    (folder / "abs").symlink_to(outside)
    (folder / "proc").symlink_to("/proc")
    (folder / "deep").mkdir()
    (folder / "deep" / "up").symlink_to("../..")


def test_no_spelling_reaches_outside(open_door: OpenDoor) -> None:
    door = open_door({"a": "inside\n", "sub/b": "inside\n"})
    snare(Path(door.root.host_path))
    rng = random.Random(11)
    for n in range(int(840 * FUZZ)):
        spelling = rng.choice(["/", "", "/", "//"]).join(rng.choice(PIECES) for _ in range(rng.randint(1, 6)))
        if rng.random() < 0.1:
            spelling = f'"{spelling}"'
        tool = PATH_TOOLS[n % len(PATH_TOOLS)]
        try:
            answer = repr(msgspec.to_builtins(call(door, tool.name, arguments(tool, spelling))))
        except SutlerError as refusal:
            answer = str(refusal)
        assert OUTSIDE not in answer, (tool.name, spelling)
        assert door.root.host_path not in answer, (tool.name, spelling)


def test_a_directory_swapped_for_a_link_leads_nowhere(open_door: OpenDoor, plant: Plant) -> None:
    """While one thread swaps a directory and a link to the outside, no read comes back with what lies outside."""
    door = open_door({"box/secret.txt": "inside\n"})
    root = Path(door.root.host_path)
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "secret.txt").write_text(OUTSIDE)
    (root / "trap").symlink_to("../outside")
    done = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        names = [str(root / name) for name in ("box", "trap", "aside")]
        while not done.is_set():
            for _ in range(2):
                os.rename(names[0], names[2])
                os.rename(names[1], names[0])
                os.rename(names[2], names[1])
            swaps += 2

    thread = threading.Thread(target=swap)
    thread.start()
    inside = refused = 0
    try:
        for n in range(int(300 * FUZZ)):
            tool = PATH_TOOLS[n % len(PATH_TOOLS)]
            try:
                answer = repr(msgspec.to_builtins(call(door, tool.name, arguments(tool, "box/secret.txt"))))
                inside += 1
            except SutlerError as refusal:
                answer = str(refusal)
                refused += 1
            assert OUTSIDE not in answer
    finally:
        done.set()
        thread.join()
    assert swaps
    assert inside
    assert refused


@pytest.mark.parametrize("tool", PATH_TOOLS, ids=lambda tool: tool.name)
def test_a_chain_of_links_beyond_path_max_leads_nowhere(open_door: OpenDoor, tool: Tool) -> None:
    """The shape of CVE-2025-4517: realpath gives up where the kernel goes on."""
    door = open_door({"z": "x\n"})
    root = Path(door.root.host_path)
    (root.parent / "secret.txt").write_text(OUTSIDE)
    long, path = "d" * 247, ""
    for letter in "abcdefghijklmnop":
        os.makedirs(os.path.join(root, path, long), exist_ok=True)
        os.symlink(long, os.path.join(root, path, letter))
        path = os.path.join(path, letter)
    os.symlink("../" * 17 + "secret.txt", os.path.join(root, path, "l"))
    try:
        answer = repr(call(door, tool.name, arguments(tool, f"{path}/l")))
    except SutlerError as refusal:
        answer = str(refusal)
    assert OUTSIDE not in answer
