"""python -m bench.selection [--data FILE] --repos DIR --cache DIR [--sample 200] [--ablate] [--split
tune|dev] [--titles] [--peers [DIR]] [--page FILE]
python -m bench.selection --report ROWS… [--page FILE]      prints rows that earlier runs kept with
--rows

Reads development instances, rebuilds each project's tree and history at the base commit from bare
mirrors (DIR/owner+name/repo), ranks, packs, and prints tune and dev apart. Weights were tuned on
tune alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from bench.selection import lines, measure, peers
from bench.selection.baseline import bm25
from bench.selection.commits import TASKS, filled
from bench.selection.data import (
    Blob,
    Instance,
    list_tree,
    load_instances,
    mirror_of,
    stratified,
)
from bench.selection.kept import Shelf
from bench.selection.packs import Bench, visible_lines
from bench.selection.page import Record, Row, page_of
from sutler.formats import parse
from sutler.pack.scope import GOAL_LIMIT, RANKED
from sutler.ranking import WEIGHTS, Reader, Weights, rank
from sutler.ranking.history import Past
from sutler.ranking.score import Ranked
from sutler.tokens.counter import counter_for

PLACES = 300
"""Files of a ranking that the figures look at."""


def main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    if options.report:
        _show([record for path in options.report for record in _load_rows(path)], options.page)
        return 0
    others, hints = peers.installed(options.peers) if options.peers else ([], [])
    print("\n".join(hints), file=sys.stderr, end="\n" if hints else "")
    chosen_tasks = stratified(load_instances(options.data), options.sample)
    instances = list(filled(chosen_tasks, options.repos))
    if options.titles:
        instances = [replace(i, query=i.query.strip().partition("\n")[0]) for i in instances]
    chosen = (
        options.repo.split(",")
        if options.repo
        else sorted({instance.repo for instance in instances})
    )
    shelf = Shelf(options.cache)
    variants = _variants(options.ablate)
    asked = {i.id for i in instances if options.split in ("", i.split) and i.repo in chosen}
    records = [record for record in _rows_so_far(options.rows) if record.id in asked]
    done = {record.id for record in records}
    for repo in chosen:
        mine = [i for i in instances if i.repo == repo and i.id in asked - done]
        for instance in mine:
            git_dir = mirror_of(options.repos, repo)
            rows = _measure(instance, git_dir, shelf, variants)
            if options.peers:
                tree = list_tree(git_dir, instance.base_commit)
                reader, _ = shelf.reader(instance, git_dir, tree)
                rows |= peers.rows(others, options.peers, instance, git_dir, reader)
            fresh = [Record(instance.id, instance.split, name, row) for name, row in rows.items()]
            records += fresh
            _keep_rows(options.rows, fresh)
        print(f"{repo}: {len(mine)} done", file=sys.stderr, flush=True)
    _show(records, options.page)
    return 0


def _show(records: Sequence[Record], page: str) -> None:
    _print(records)
    if page:
        with open(page, "w", encoding="utf-8") as file:
            file.write(page_of(records))


def _keep_rows(path: str, records: Sequence[Record]) -> None:
    if path:
        with open(path, "ab") as file:
            file.writelines(msgspec.json.encode(record) + b"\n" for record in records)


def _rows_so_far(path: str) -> list[Record]:
    """What an earlier run that was cut short has measured already."""
    return _load_rows(path) if path and os.path.exists(path) else []


def _load_rows(path: str) -> list[Record]:
    with open(path, "rb") as file:
        return [msgspec.json.decode(line, type=Record) for line in file]


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.selection", description=__doc__)
    parser.add_argument(
        "--data", default=TASKS, help="the instances, one JSON object a line (default: %(default)s)"
    )
    parser.add_argument("--repos", help="folder of bare mirrors, owner+name/repo")
    parser.add_argument("--cache", help="folder for extracted facts and indexes")
    parser.add_argument(
        "--sample", type=int, default=0, help="a fixed stratified sample of about N; 0 takes all"
    )
    parser.add_argument("--split", choices=("", "tune", "dev"), default="")
    parser.add_argument("--repo", default="", help="only these repositories, separated by commas")
    parser.add_argument(
        "--titles", action="store_true", help="pose each task as its title alone: a short goal"
    )
    parser.add_argument(
        "--rows", default="", help="append figures to this file; what it has is not measured again"
    )
    parser.add_argument(
        "--report", nargs="+", default=[], help="print kept rows and measure nothing"
    )
    parser.add_argument(
        "--peers",
        nargs="?",
        const=os.environ.get("SUTLER_BENCH_PEERS", "peers"),
        default="",
        metavar="DIR",
        help="also measure the tools whose environments lie below DIR (default: %(const)s)",
    )
    parser.add_argument("--page", default="", metavar="FILE", help="write the tables as HTML")
    parser.add_argument(
        "--ablate", action="store_true", help="also switch off every ingredient in turn"
    )
    return parser.parse_args(arguments)


def _variants(ablate: bool) -> dict[str, Weights]:
    found = {"sutler": WEIGHTS}
    if ablate:
        found |= {
            f"- {name}": replace(WEIGHTS, **{name: 0.0}) for name in WEIGHTS.__struct_fields__
        }
    return found


def _measure(
    instance: Instance, git_dir: str, shelf: Shelf, variants: dict[str, Weights]
) -> dict[str, Row]:
    tree = list_tree(git_dir, instance.base_commit)
    reader, built = shelf.reader(instance, git_dir, tree)
    past = shelf.past(instance, git_dir)
    sizes = {doc.path: tree[doc.path].size for doc in reader.docs.values()}
    results: dict[str, Row] = {}
    for name, weights in variants.items():
        started = time.process_time()
        ranked = rank(reader, instance.query, past, weights, limit=RANKED)
        spent = 1000 * (time.process_time() - started)
        places = [item.path for item in ranked[:PLACES]]
        results[name] = measure.ranking_figures(places, instance.wanted, sizes) | {
            "query ms": spent
        }
        if name == "sutler":
            results[name] |= _pack_row(
                reader, instance, ranked, {path: tree[path] for path in sizes}, git_dir, past
            )
    if built:
        results["sutler"]["index s"] = built
    results["plain BM25"] = measure.ranking_figures(
        bm25(reader, instance.query), instance.wanted, sizes
    )
    return results


def _pack_row(
    reader: Reader,
    instance: Instance,
    ranked: tuple[Ranked, ...],
    tree: dict[str, Blob],
    git_dir: str,
    past: Past,
) -> Row:
    """Gold lines visible in the rendered packs, and how full these are."""
    row: Row = {}
    with Bench(instance, git_dir, tree, reader) as bench:
        for name, fill, budget in zip(
            measure.VISIBLE, measure.FILLED, measure.BUDGETS, strict=True
        ):
            started = time.process_time()
            text = bench.pack(ranked, budget)
            row["pack ms"] = 1000 * (time.process_time() - started)
            row[name] = measure.visible_share(visible_lines(text, bench), instance.wanted)
            if text:
                row[fill] = len(text) / budget
        row |= _line_row(bench, instance, ranked, past)
    return row


def _line_row(bench: Bench, instance: Instance, ranked: tuple[Ranked, ...], past: Past) -> Row:
    """Line figures of the pack that stops by itself, and of packs that are filled."""
    gold = lines.gold_lines(instance.wanted, bench.texts(item.path for item in instance.wanted))
    text = bench.pack(ranked, GOAL_LIMIT[True][0], "tokens", fill=False, past=past)
    row = lines.line_figures(visible_lines(text, bench), gold, lines.STOP)
    row["tokens"] = float(counter_for("tokens", "o200k_base")(text))
    row["abstained"] = float(bool(text) and parse(text).listing.abstained)
    for limit in lines.FIXED:
        text = bench.pack(ranked, limit, "tokens")
        row |= lines.line_figures(visible_lines(text, bench), gold, f"{limit // 1000}k")
    return row


def _print(records: Sequence[Record]) -> None:
    _print_files(records)
    _print_lines(records)
    _print_peer_lines(records)


def _print_lines(records: Sequence[Record]) -> None:
    """Line figures of each split: at the stop, then at fixed budgets."""
    for split in ("tune", "dev"):
        mine = [r.row for r in records if (r.split, r.variant) == (split, "sutler")]
        mine = [row for row in mine if f"R@{lines.STOP}" in row]
        if not mine:
            continue
        print(f"{split} lines    " + "  ".join(f"{name:>6}" for name in lines.NAMES))
        for place in (lines.STOP, *(f"{limit // 1000}k" for limit in lines.FIXED)):
            names = [f"{name}@{place}" for name in lines.NAMES]
            print(f"{place:>12}  " + measure.table(mine, names))
        tokens = sorted(row["tokens"] for row in mine)
        refused = measure.mean(mine, "abstained")
        print(
            f"at the stop: median {tokens[len(tokens) // 2]:,.0f} tokens, {refused:.1f} % abstain"
        )


def _print_peer_lines(records: Sequence[Record]) -> None:
    """Line figures of other tools at fixed budgets."""
    variants = dict.fromkeys((record.split, record.variant) for record in records)
    for split, variant in sorted(variants):
        mine = [r.row for r in records if (r.split, r.variant) == (split, variant)]
        mine = [row for row in mine if "R@2k" in row and "R@stop" not in row]
        for place in (f"{limit // 1000}k" for limit in lines.FIXED if mine):
            names = [f"{name}@{place}" for name in lines.NAMES]
            print(f"{f'{split} {variant} {place}':>32}  {measure.table(mine, names)}")


def _print_files(records: Sequence[Record]) -> None:
    names = (*measure.RANKING, *measure.VISIBLE, *measure.FILLED)
    variants = dict.fromkeys(["plain BM25", *(record.variant for record in records)])
    print(f"{'':18}" + "  ".join(f"{name:>6}" for name in names))
    for split in ("tune", "dev"):
        for variant in variants:
            mine = [
                record.row
                for record in records
                if (record.split, record.variant) == (split, variant)
            ]
            if mine:
                print(f"{split} {variant:13}" + measure.table(mine, names) + f"   n={len(mine)}")
    for name in ("index s", "query ms", "pack ms"):
        values = sorted(
            record.row[name]
            for record in records
            if record.variant == "sutler" and name in record.row
        )
        if values:
            print(f"{name}: median {values[len(values) // 2]:.2f}, worst {values[-1]:.2f} CPU")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
