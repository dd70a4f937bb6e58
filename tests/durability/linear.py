"""Are concurrent operations on a file as if they had come one after the other?

`python -m tests.durability.linear DIRECTORY sqlite|postgres PROCESSES OPERATIONS SEED`

Processes read, append, write over what they saw and write blindly; each operation is recorded with
the moments it began and ended. The history of versions proposes an order, and the checker, which
believes none of it, holds that order against the record: every acknowledged write has one place,
builds on the version before it, a write over a version saw that very version, a read shows a
version that was there, no refused write left a trace, and nothing stands before something that had
ended when it began.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from sutler.access.door import Door
from sutler.edits.writer import Writer
from sutler.errors import ConflictError, SutlerError
from tests.limits import LONG, exit_code
from tests.writers import free_door

FILES = ("one.txt", "two.txt")


class Op(NamedTuple):
    """`saw`: the text a write was made for or a read returned; `text`: what the file should hold
    then, or for an append what was added. `state`: "ok", "refused" (nothing may have happened) or
    "unknown".
    """

    path: str
    kind: str
    saw: str
    text: str
    state: str
    began: int
    ended: int


def judge(path: str, versions: Sequence[str], operations: Sequence[Op]) -> list[str]:
    """What is wrong with this order of a file's texts (the first is what it began with)."""
    mine = [one for one in operations if one.path == path]
    place = {text: n for n, text in enumerate(versions)}
    wrong = [] if len(place) == len(versions) else ["a text came twice"]
    order: list[tuple[int, int, int, Op]] = []
    writes = {n: one for one in mine if one.kind != "read" for n in _places(one, versions, place)}
    for one in mine:
        found = _places(one, versions, place)
        if one.state == "refused" and found:
            wrong.append(f"refused and done: {one}")
        elif one.state == "ok" and len(found) != 1:
            wrong.append(f"acknowledged and {'lost' if not found else 'done twice'}: {one}")
        elif found:
            n = found[0]
            if one.kind == "over" and versions[n - 1] != one.saw:
                wrong.append(f"an update was lost before: {one}")
            order.append((n, one.kind == "read", one.began, one))
    wrong += [f"nobody wrote version {n}" for n in range(1, len(versions)) if n not in writes]
    latest = 0
    for _, _, _, one in sorted(order, key=lambda row: row[:3]):
        if one.ended < latest:
            wrong.append(f"stands after something that began when it had ended: {one}")
        latest = max(latest, one.began)
    return wrong


def _places(one: Op, versions: Sequence[str], place: dict[str, int]) -> list[int]:
    """Which versions an operation made or, for a read, showed."""
    if one.kind == "append":
        return [n for n in range(1, len(versions)) if versions[n] == versions[n - 1] + one.text]
    return [place[one.text]] if one.text in place else []


def act(door: Door, rnd: random.Random, word: str) -> Op:
    path, kind = rnd.choice(FILES), rnd.choice(("read", "append", "over", "blind"))
    writer, saw, text, state = Writer(door), "", f"{word}\n", "ok"
    base = door.read_file(path) if kind == "over" else None
    began = time.monotonic_ns()
    try:
        if kind == "read":
            text = door.read_file(path).text
        elif kind == "append":
            writer.write_file(path, text, mode="append")
        elif kind == "blind":
            writer.write_file(path, text, base="any")
        elif base is not None:
            saw = base.text
            writer.write_file(path, text, base=base.version)
    except ConflictError:
        state = "refused"
    except SutlerError:
        state = "unknown"
    return Op(path, kind, saw, text, state, began, time.monotonic_ns())


def _process(top: Path, url: str, name: str, operations: int, seed: int) -> None:
    rnd = random.Random(seed)
    with free_door(str(top / "tree"), str(top / "state"), name, url) as door:
        done = [act(door, rnd, f"{name} {n}") for n in range(operations)]
    (top / f"{name}.json").write_bytes(msgspec.json.encode(done))


def run(
    top: Path, url: str, processes: int, operations: int, seed: int
) -> tuple[int, int, list[str]]:
    """Operations, refused ones, and what was wrong."""
    (top / "tree").mkdir(parents=True)
    for name in FILES:
        (top / "tree" / name).write_text(f"{name}\n")
    with free_door(str(top / "tree"), str(top / "state"), "start", url):
        pass
    children = []
    for n in range(processes):
        child = os.fork()
        if not child:
            code = 1
            try:
                _process(top, url, f"p{n}", operations, seed * 1_000 + n)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    codes = [exit_code(child, LONG) for child in children]
    assert codes == [0] * processes, codes
    done = [
        one
        for n in range(processes)
        for one in msgspec.json.decode((top / f"p{n}.json").read_bytes(), type=list[Op])
    ]
    wrong: list[str] = []
    with free_door(str(top / "tree"), str(top / "state"), "end", url) as door:
        store = door.gate.store
        assert door.gate.ledger.verify().ok
        for path in FILES:
            known = [
                one for one in reversed(store.versions(path, 100_000)) if one.origin == "written"
            ]
            texts = [f"{path}\n", *((store.blob(one.digest) or b"?").decode() for one in known)]
            wrong += judge(path, texts, done)
            if (top / "tree" / path).read_text() != texts[-1]:
                wrong.append(f"{path} is not its last version")
    return len(done), sum(one.state == "refused" for one in done), wrong


def main(words: list[str]) -> None:
    top, kind, processes, operations, seed = Path(words[0]), words[1], *map(int, words[2:5])
    url = ""
    if kind == "postgres":
        from tests.stores import joined, serving

        with serving() as admin:
            url = joined(admin, "linear", "lin", "admin")
            count, refused, wrong = run(top, url, processes, operations, seed)
    else:
        count, refused, wrong = run(top, url, processes, operations, seed)
    print(f"{kind}: {count} operations, {refused} refused, {len(wrong)} anomalies")
    print("\n".join(wrong[:20]), end="")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
