"""python -m bench.growth: the same tree 1, 2, 4 and 8 times over; time may grow as fast, not
faster.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence

from bench import bars, corpora, figures, peers, runs
from bench.figures import Row, Verdict, ratio
from bench.measure import stop_cleanly
from bench.speed import chosen, crashed, head, parser, peer_folders, scratch_folder, unmeasured


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    made = parser("Measure how time and memory grow with the tree.")
    made.add_argument(
        "--tree", default="medium", help="small, medium, large or a folder (default: medium)"
    )
    made.add_argument(
        "--class", dest="work", choices=peers.WORK, default="full", help="default: full"
    )
    made.add_argument(
        "--factor", type=int, nargs="+", default=[1, 2, 4, 8], metavar="N", help="default: 1 2 4 8"
    )
    return made.parse_args(argv)


def show(rows: Sequence[Row], factors: Sequence[int]) -> str:
    """One line for each tool and factor: cost, and cost as a multiple of the same tool's first
    factor.
    """
    lines = []
    for label in dict.fromkeys(row.label for row in rows):
        mine = [row for row in rows if row.label == label]
        lines += [_line(row, mine[0], factor) for factor, row in zip(factors, mine, strict=True)]
    return figures.table(
        ("tool", "tree", "runs", "wall s", "CPU s", "peak MB", "wall x", "CPU x"), lines
    )


def _line(row: Row, first: Row, factor: int) -> tuple[str, ...]:
    if not row.runs:
        return (row.label, f"x{factor}", "0", "", "", "", "", "")
    cost = (figures.seconds(row.wall), figures.seconds(row.cpu), f"{row.peak_mb:.0f}")
    grown = (f"{ratio(row.wall, first.wall):.2f}", f"{ratio(row.cpu, first.cpu):.2f}")
    return (row.label, f"x{factor}", str(row.runs), *cost, *grown)


def judge(rows: Sequence[Row], factors: Sequence[int]) -> list[Verdict]:
    """The growth bar, for each of sutler's states, scaled to the factors that were measured."""
    span = max(factors) / min(factors)
    found: list[Verdict] = []
    for label in dict.fromkeys(row.label for row in rows if row.tool == "sutler"):
        mine = dict(zip(factors, (row for row in rows if row.label == label), strict=True))
        first, last = mine[min(factors)], mine[max(factors)]
        if first.runs and last.runs:
            limits = (limit * span / 8 for limit in bars.GROWTH)
            names = (f"{label} {last.tree}", first.tree)
            found.append(Verdict(*names, "wall ratio", ratio(last.wall, first.wall), *limits))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """0, however slow anything was; 1 when a tool crashed."""
    stop_cleanly()
    args = _arguments(argv)
    folders = peer_folders(args.peers)
    found, missing = peers.find(folders)
    tools = chosen(found, args.tools or "sutler")
    print(head(tools, [tool for tool in missing if tool.name == "sutler"]))
    if not any(args.work in tool.tool.recipes for tool in tools):
        print("nothing to measure: none of the chosen tools does this class of work")
        return 0
    cache = corpora.cache_folder(args.cache)
    source = corpora.corpus(args.tree, cache)
    trees = [corpora.multiplied(source, factor, cache) for factor in args.factor]
    vocabularies = peers.vocabularies(folders, os.path.join(cache, "vocabularies"))
    scratch = scratch_folder(args.scratch)
    try:
        rows = runs.race(
            trees, args.work, tools, runs.Plan(scratch, args.runs or 3, args.timeout, vocabularies)
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("\n" + "\n\n".join([show(rows, args.factor), *unmeasured(rows)]))
    if judged := judge(rows, args.factor):
        print("\n" + figures.verdicts(judged))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump([row._asdict() for row in rows], out, indent=1)
    return 1 if crashed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
