"""How long a diff and a merge of very long files take.

python -m bench.door.long [LINES]

Two authors change a file of LINES lines (200,000): a few edits each, half of the lines, its lines
shuffled, and a file that is made of four different lines only. Shown are CPU seconds, and how the
merge ended.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from sutler.edits.difference import unified
from sutler.edits.merge import merge

T = TypeVar("T")
Texts = tuple[list[str], list[str], list[str]]


def few(lines: int, rng: random.Random) -> Texts:
    base = [f"line {number} {rng.random()}\n" for number in range(lines)]
    return base, _edited(base, 200, "ours", rng), _edited(base, 200, "theirs", rng)


def half(lines: int, rng: random.Random) -> Texts:
    base = [f"line {number} {rng.random()}\n" for number in range(lines)]
    return base, _edited(base, lines // 2, "ours", rng), _edited(base, 200, "theirs", rng)


def shuffled(lines: int, rng: random.Random) -> Texts:
    base = [f"line {number} {rng.random()}\n" for number in range(lines)]
    return base, rng.sample(base, lines), _edited(base, 200, "theirs", rng)


def words(lines: int, rng: random.Random) -> Texts:
    base = [rng.choice("abcd") + "\n" for _ in range(lines)]
    return (
        base,
        [rng.choice("abcd") + "\n" for _ in range(lines)],
        _edited(base, 200, "theirs", rng),
    )


def _edited(base: list[str], count: int, by: str, rng: random.Random) -> list[str]:
    lines = list(base)
    for number in rng.sample(range(len(lines)), count):
        lines[number] = f"{by} {number}\n"
    return lines


def timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def main() -> None:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    print(f"{'':<10} {'diff s':>7} {'merge s':>8}  {lines:,} lines")
    for make in (few, half, shuffled, words):
        base, ours, theirs = make(lines, random.Random(7))  # the same texts every time
        diff, _ = timed(partial(unified, base, ours, "a", "b"))
        sides = ["".join(side).encode() for side in (base, ours, theirs)]
        taken, merged = timed(partial(merge, sides[0], sides[1], sides[2]))
        ended = "refused as a conflict" if merged.clashes else "clean"
        print(f"{make.__name__:<10} {diff:>7.2f} {taken:>8.2f}  {ended}")


if __name__ == "__main__":
    main()
