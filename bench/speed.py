"""python -m bench.speed: sutler and every peer that is installed, on the same trees, in one run."""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence

from bench import bars, chart, corpora, figures, floor, peers, runs
from bench.figures import Row
from bench.measure import machine, own_peak_mb, stop_cleanly
from bench.peers import Found, Tool


def parser(description: str) -> argparse.ArgumentParser:
    """The options that every bench command has."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument(
        "--peers", action="append", default=[], metavar="DIR", help="also look for tools below DIR"
    )
    made.add_argument(
        "--tools", metavar="A,B", help="measure only these tools (default: all that are found)"
    )
    made.add_argument(
        "--cache", metavar="DIR", help="where corpora are kept (default: SUTLER_BENCH_CACHE)"
    )
    made.add_argument(
        "--scratch", metavar="DIR", help="where outputs are written (default: a temporary folder)"
    )
    made.add_argument("--runs", type=int, metavar="N", help="measured runs of each tool")
    made.add_argument(
        "--timeout", type=float, default=600, metavar="S", help="give up on a run after S seconds"
    )
    made.add_argument("--json", metavar="FILE", help="also write every figure as JSON")
    return made


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    made = parser("Compare speed and memory with other packers, as ratios in one run.")
    trees = "small, medium, large or a folder; may be repeated (default: small medium)"
    made.add_argument("--tree", nargs="+", action="extend", metavar="TREE", help=trees)
    made.add_argument(
        "--class", dest="work", nargs="+", action="extend", choices=peers.WORK, help="default: all"
    )
    made.add_argument("--chart", metavar="FILE.svg", help="also write the bars as a picture")
    return made.parse_args(argv)


def peer_folders(given: Sequence[str]) -> list[str]:
    """--peers and SUTLER_BENCH_PEERS, absolute: children run elsewhere."""
    named = [*given, *os.environ.get("SUTLER_BENCH_PEERS", "").split(os.pathsep)]
    return [os.path.abspath(folder) for folder in named if folder]


def scratch_folder(given: str | None) -> str:
    """A new folder for outputs and the tools' caches; the caller removes it."""
    return tempfile.mkdtemp(prefix="sutler-bench-", dir=os.path.abspath(given) if given else None)


def unmeasured(rows: Sequence[Row]) -> list[str]:
    """One line for each tool that was there and has no figures, or fewer than it should."""
    return [f"not measured: {r.tree} {r.work} {r.label}: {r.note}" for r in rows if r.note]


def crashed(rows: Sequence[Row]) -> bool:
    return any("crashed" in row.note for row in rows)


def chosen(tools: Sequence[Found], names: str | None) -> list[Found]:
    wanted = names.split(",") if names else [found.tool.name for found in tools]
    return [found for found in tools if found.tool.name in wanted]


def head(tools: Sequence[Found], missing: Sequence[Tool]) -> str:
    """What was measured, with what, on what."""
    lines = [f"{key}: {value}" for key, value in machine().items()]
    lines += [
        f"found: {found.tool.name} {found.version} ({' '.join(found.words)})" for found in tools
    ]
    lines += [f"missing: {tool.name} (to have it: {tool.install})" for tool in missing]
    return "\n".join(lines)


def measure_all(
    args: argparse.Namespace, tools: Sequence[Found], scratch: str, folders: Sequence[str]
) -> list[Row]:
    cache = corpora.cache_folder(args.cache)
    vocabularies = peers.vocabularies(folders, os.path.join(cache, "vocabularies"))
    rows: list[Row] = []
    for name in args.tree or ("small", "medium"):
        tree = corpora.corpus(name, cache)
        files, size = tree.census
        print(f"\n{tree.name} ({tree.tier}): {len(files)} text files, {size / 1e6:.1f} MB")
        plan = runs.Plan(
            scratch, args.runs or (3 if tree.tier == "large" else 5), args.timeout, vocabularies
        )
        for work in args.work or peers.WORK:
            mine = runs.race([tree], work, tools, plan)
            rows += mine
            if args.json:
                write_json(args.json, rows)
            if mine:
                print("\n" + figures.results(mine), flush=True)
    return rows


def report(rows: Sequence[Row]) -> str:
    parts = unmeasured(rows)
    if judged := bars.judge(rows):
        parts.append("Bars, against peers measured in this run\n\n" + figures.verdicts(judged))
    if derived := bars.derive(rows):
        why = "Derived bars, for peers that are not installed: estimated from another tool's time, not measured"
        parts.append(f"{why}\n\n{figures.verdicts(derived)}")
    if not judged and not derived:
        parts.append("No bar could be judged: sutler and a peer with a bar must both have run.")
    parts.append(
        f"peaks up to {own_peak_mb():.0f} MB are the harness's own: a child's cannot be seen below it"
    )
    parts.append(f"load at the end: {machine()['load']}")
    return "\n\n".join(parts)


def write_json(path: str, rows: Sequence[Row]) -> None:
    found = {"judged": bars.judge(rows), "derived": bars.derive(rows)}
    verdicts = {kind: [{**v._asdict(), "word": v.word} for v in vs] for kind, vs in found.items()}
    with open(path, "w", encoding="utf-8") as out:
        json.dump(
            {"machine": machine(), "rows": [row._asdict() for row in rows], **verdicts},
            out,
            indent=1,
        )
        out.write("\n")


def main(argv: Sequence[str] | None = None) -> int:
    """0, however slow anything was; 1 when a tool crashed."""
    stop_cleanly()
    args = _arguments(argv)
    folders = peer_folders(args.peers)
    found, missing = peers.find(folders)
    scratch = scratch_folder(args.scratch)
    try:
        ground = floor.build(scratch)
        tools = chosen([*found, *([ground] if ground else [])], args.tools)
        print(head(tools, [*missing, *([] if ground else [floor.TOOL])]))
        rows = measure_all(args, tools, scratch, folders)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("\n" + report(rows))
    if args.chart and (drawn := chart.groups(rows)):
        with open(args.chart, "w", encoding="utf-8") as out:
            out.write(chart.draw(drawn))
    return 1 if crashed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
