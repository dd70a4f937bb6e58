"""python -m bench.many: what packs within a budget cost where there are very many files, memory
first of all.
"""

import argparse
import json
import os
import random
import shutil
import sys
from collections.abc import Sequence

from bench import bars, corpora, figures, peers, runs
from bench.figures import Row, Verdict
from bench.measure import stop_cleanly
from bench.peers import Found, Tool
from bench.speed import crashed, head, parser, peer_folders, scratch_folder, unmeasured

WORK = "within a budget"
FILES = 100_000
_FOLDERS = 2_000
_WORDS = [a + b + c + d for a in "bdfgk" for b in "aeiu" for c in "lmnr" for d in "aeiou"]
_GOAL = "The bale of a fema is lost when its gana is read twice"
_TAIL = ("--quiet", "-o", "OUT")


def project(folder: str, files: int) -> corpora.Corpus:
    """So many files of eight functions each, the same every time. Few words stand in very many
    files.
    """
    dice = random.Random(5)
    for number in range(files):
        place = os.path.join(folder, _WORDS[number % 40], _WORDS[number % _FOLDERS // 40])
        os.makedirs(place, exist_ok=True)
        with open(
            os.path.join(place, f"{dice.choice(_WORDS)}_{number}.py"), "w", encoding="utf-8"
        ) as out:
            out.write(f"from {dice.choice(_WORDS)} import {dice.choice(_WORDS)}\n")
            out.writelines(_function(dice, number) for _ in range(8))
    return corpora.Corpus(f"{files:,} files", folder, "", corpora.census(folder))


def _function(dice: random.Random, number: int) -> str:
    name, owner, given, made = dice.choices(_WORDS, k=4)
    about = " ".join(dice.choices(_WORDS, k=8))
    head = f"def {name}_{owner}_{number % 977}({given}):"
    return f'\n\n{head}\n    """{about}"""\n    {made} = {owner}({given}, {number})\n    return {made}\n'


def entrants(ours: Found) -> list[Found]:
    """A pack within a number of tokens, and one for a goal, which needs an index of everything."""
    recipes = {
        "sutler pack --max-tokens": (("pack", "TREE", "--max-tokens", "60000", *_TAIL), ("cold",)),
        "sutler pack --goal": (
            ("pack", "TREE", "--goal", _GOAL, "--max-chars", "60000", *_TAIL),
            ("cold", "warm"),
        ),
    }
    return [
        Found(Tool(name, {WORK: recipe}, "", {WORK: states}), ours.words, ours.version)
        for name, (recipe, states) in recipes.items()
    ]


def judge(rows: Sequence[Row], files: int) -> list[Verdict]:
    """The bar for memory, which is one for this very number of files."""
    if files != FILES:
        return []
    return [
        Verdict(row.label, "-", "peak MB", row.peak_mb, *bars.MANY_FILES)
        for row in rows
        if row.runs
    ]


def show(rows: Sequence[Row]) -> str:
    return figures.table(
        ("command", "runs", "wall s", "CPU s", "peak MB"), (_line(row) for row in rows)
    )


def _line(row: Row) -> tuple[str, ...]:
    cost = (
        (figures.seconds(row.wall), figures.seconds(row.cpu), f"{row.peak_mb:.0f}")
        if row.runs
        else ("", "", "")
    )
    return (row.label, str(row.runs), *cost)


def _measure(args: argparse.Namespace, ours: Found) -> list[Row]:
    scratch = scratch_folder(args.scratch)
    try:
        tree = project(os.path.join(scratch, "project"), args.files)
        return runs.race(
            [tree], WORK, entrants(ours), runs.Plan(scratch, args.runs or 1, args.timeout, None)
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main(argv: Sequence[str] | None = None) -> int:
    """0, however much anything took; 1 when a tool crashed."""
    stop_cleanly()
    made = parser("Measure packs within a budget of a project of very many files.")
    made.add_argument("--files", type=int, default=FILES, metavar="N", help=f"default: {FILES:,}")
    args = made.parse_args(argv)
    found, missing = peers.find(peer_folders(args.peers))
    ours = [one for one in found if one.tool.name == "sutler"]
    print(head(ours, [tool for tool in missing if tool.name == "sutler"]))
    if not ours:
        return 0
    rows = _measure(args, ours[0])
    print("\n" + "\n\n".join([show(rows), *unmeasured(rows)]))
    if judged := judge(rows, args.files):
        print("\n" + figures.verdicts(judged))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump([row._asdict() for row in rows], out, indent=1)
    return 1 if crashed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
