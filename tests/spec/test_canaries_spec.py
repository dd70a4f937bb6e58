"""Nothing that the redactor hides appears anywhere else: answers, errors, ledger, caches, checkpoints, database."""

from __future__ import annotations

import os
import random
from pathlib import Path

import msgspec
from tests.doors import OpenDoor

from sutler.access.registry import opening
from sutler.toolbox import TOOLS, call
from sutler.values.access import REVIEW
from sutler.values.errors import SutlerError

COUNT = 200


def test_two_hundred_canaries_stay_in_their_files(open_door: OpenDoor, door_state: str) -> None:
    """Planted in bodies, long lines, names, removed lines and queries; every byte written or returned is searched."""
    rng = random.Random(3)
    canaries = [f"canary-{rng.getrandbits(48):012x}" for _ in range(COUNT)]
    parts = [canaries[n::5] for n in range(5)]
    tree: dict[str, str | bytes] = {
        "body.py": "".join(f"key_{n} = '{one}'\ndef f_{n}(): return '{one}'\n" for n, one in enumerate(parts[0])),
        "long.txt": " ".join(f"{'x' * 500}{one}" for one in parts[1]),
        "utf16.txt": "".join(f"{one}\n" for one in parts[2]).encode("utf-16"),
        "removed.txt": "".join(f"{one}\n" for one in parts[3]),
        "README.md": f"# Title {canaries[0]}\n",
        **{f"names/{one}.txt": "x\n" for one in parts[4][:20]},
    }
    door = open_door(tree, profile=REVIEW)
    said = [repr(msgspec.to_builtins(opening(door)))]

    def say(tool: str, arguments: dict[str, object]) -> None:
        try:
            said.append(repr(msgspec.to_builtins(call(door, tool, arguments))))
        except SutlerError as refusal:
            said.append(str(refusal))

    for name in tree:
        for tool in TOOLS:
            given = dict(tool.example)
            if "path" in given:
                given["path"] = name
            say(tool.name, given)
    Path(door.root.host_path, "removed.txt").write_text("gone\n")
    say("get_diff", {"path": "removed.txt"})
    for one in canaries:
        say("search", {"query": one})
        say("read_file", {"path": f"../{one}"})
        say("read_file", {"path": f"missing/{one}", "cursor": one})
        say("get_diff", {"path": "body.py", "version1": one})
        say("read_file", {"path": "body.py", one: one})
    door.gate.store.close()
    written = b"".join(Path(folder, name).read_bytes() for folder, _, names in os.walk(door_state) for name in names)
    everything = "\n".join(said).encode("utf-8", "replace") + written
    assert len(said) > COUNT * 4
    assert b"REDACTED" in everything
    assert [one for one in canaries if one.encode() in everything or one.encode("utf-16-le") in everything] == []
