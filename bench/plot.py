"""Draw results that a run saved: python -m bench.plot RESULTS.json -o docs/speed.svg [--metric
wall|cpu]
"""

import argparse
import json
import sys
from collections.abc import Sequence

from bench import chart
from bench.figures import Row


def read(path: str) -> list[Row]:
    """The rows that `bench.speed --json` wrote."""
    with open(path, encoding="utf-8") as file:
        return [Row(**row) for row in json.load(file)["rows"]]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.plot", description="Draw saved results as bars."
    )
    parser.add_argument(
        "results", nargs="+", metavar="RESULTS", help="what bench.speed --json wrote"
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE.svg")
    parser.add_argument("--metric", choices=("wall", "cpu"), default="wall")
    args = parser.parse_args(argv)
    drawn = chart.groups([row for path in args.results for row in read(path)], args.metric)
    if not drawn:
        print("nothing to draw: no tool has a measured run in these results", file=sys.stderr)
        return 1
    with open(args.output, "w", encoding="utf-8") as out:
        out.write(chart.draw(drawn))
    return 0


if __name__ == "__main__":
    sys.exit(main())
