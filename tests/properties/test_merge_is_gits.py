"""Our merge judged by `git merge-file`: the same bytes where both are clean, and never clean where
git conflicts.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.merges import Tally, Triple, history, judge
from tests.stores import FUZZ


def _generated(seed: int) -> Triple:
    rnd = random.Random(seed)
    words = [b"%d\n" % n for n in range(rnd.choice([3, 6, 30, 300]))] + [b"crlf\r\n", b"\xff\x0c\n"]
    base = [rnd.choice(words) for _ in range(rnd.randint(0, 60))]

    def edited() -> bytes:
        lines = list(base)
        for _ in range(rnd.randint(1, 4)):
            at = rnd.randint(0, len(lines))
            lines[at : at + rnd.randint(0, 3)] = [
                rnd.choice(words) for _ in range(rnd.randint(0, 3))
            ]
        data = b"".join(lines)
        return data[:-1] if rnd.random() < 0.1 else data

    return b"".join(base), edited(), edited()


def test_generated_triples(tmp_path: Path) -> None:
    found = judge(tmp_path, (_generated(seed) for seed in range(int(400 * FUZZ))))
    assert (found.refused, found.other, found.merged) == (0, 0, 0)
    assert found.clean >= 150 * FUZZ


@pytest.mark.skipif(
    not os.environ.get("SUTLER_REAL_REPOS"), reason="SUTLER_REAL_REPOS names git directories"
)
def test_triples_from_history(tmp_path: Path) -> None:
    found = Tally()
    for repository in os.environ["SUTLER_REAL_REPOS"].split(os.pathsep):
        found.add(judge(tmp_path, history(repository, int(100 * FUZZ))))
    assert (found.refused, found.other, found.merged) == (0, 0, 0)
