"""python -m bench.startup: what sutler costs before it does any work, and on a tiny project."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence

from bench import bars, corpora, figures, peers, runs
from bench.figures import Row, Verdict, ratio
from bench.measure import stop_cleanly
from bench.peers import Found, Tool
from bench.speed import crashed, head, parser, peer_folders, scratch_folder, unmeasured

WORK = "start-up"
BASE = "python -c pass"
_PEER = "files-to-prompt"


def project(folder: str) -> corpora.Corpus:
    """Twenty small files, the same every time."""
    for number in range(18):
        body = "\n\n".join(_function(number, part) for part in range(12))
        _write(
            os.path.join(folder, "tiny", f"part{number % 3}", f"module{number:02}.py"), body + "\n"
        )
    _write(os.path.join(folder, "README.md"), "# tiny\n\nA project of twenty files.\n")
    _write(os.path.join(folder, "pyproject.toml"), '[project]\nname = "tiny"\nversion = "1"\n')
    return corpora.Corpus("tiny", folder, "", corpora.census(folder))


def _function(number: int, part: int) -> str:
    return f'def step_{number}_{part}(value: int) -> int:\n    """Add {part}."""\n    return value + {part}'


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def entrants(found: Sequence[Found]) -> list[Found]:
    """The interpreter alone, three ways to start sutler, and the peer, each in its own
    environment.
    """
    here = {f.tool.name: f for f in found}
    ours, peer = here.get("sutler"), here.get(_PEER)
    python = peers.python_of(ours.words) if ours else sys.executable
    made = [_made(BASE, (python,), ("-c", "pass"), here[BASE].version)]
    if ours:
        made += [
            _made(f"sutler {flag}", ours.words, (flag,), ours.version)
            for flag in ("--version", "--help")
        ]
        made.append(
            _made("sutler pack", ours.words, peers.SUTLER_TINY, ours.version, ("cold", "warm"))
        )
    if peer:
        made.append(_made(_PEER, peer.words, peer.tool.recipes["raw"], peer.version))
    return made


def _made(
    name: str,
    words: tuple[str, ...],
    recipe: tuple[str, ...],
    version: str,
    states: tuple[str, ...] = ("-",),
) -> Found:
    return Found(Tool(name, {WORK: recipe}, "", {WORK: states}), words, version)


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """The two start-up bars, where both sides ran."""
    good = {row.label: row for row in rows if row.runs}
    found: list[Verdict] = []
    if BASE in good and "sutler --version" in good:
        value = ratio(good["sutler --version"].cpu, good[BASE].cpu)
        found.append(Verdict("sutler --version", BASE, "cpu ratio", value, *bars.START_UP))
    for state in ("cold", "warm"):
        ours, peer = good.get(f"sutler pack ({state})"), good.get(_PEER)
        if ours and peer:
            value = ratio(ours.wall, peer.wall)
            found.append(
                Verdict(f"20 files, {state}", peer.label, "wall ratio", value, *bars.TINY_PACK)
            )
    return found


def show(rows: Sequence[Row]) -> str:
    """CPU and wall of each, in milliseconds, and as a multiple of the bare interpreter."""
    base = next(row for row in rows if row.tool == BASE)
    head = ("command", "version", "runs", "CPU ms", "wall ms", "peak MB", "CPU x", "wall x")
    return figures.table(head, (_line(row, base) for row in rows))


def _line(row: Row, base: Row) -> tuple[str, ...]:
    if not row.runs:
        return (row.label, row.version, "0", "", "", "", "", "")
    cost = (f"{row.cpu * 1000:.1f}", f"{row.wall * 1000:.1f}", f"{row.peak_mb:.0f}")
    grown = (f"{ratio(row.cpu, base.cpu):.2f}", f"{ratio(row.wall, base.wall):.2f}")
    return (row.label, row.version, str(row.runs), *cost, *grown)


def _measure(args: argparse.Namespace, found: Sequence[Found]) -> list[Row]:
    scratch = scratch_folder(args.scratch)
    try:
        tree = project(os.path.join(scratch, "project"))
        return runs.race(
            [tree], WORK, entrants(found), runs.Plan(scratch, args.runs or 21, args.timeout, None)
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main(argv: Sequence[str] | None = None) -> int:
    """0, however slow anything was; 1 when a tool crashed."""
    stop_cleanly()
    args = parser(
        "Compare start-up cost with the bare interpreter and with files-to-prompt."
    ).parse_args(argv)
    found, missing = peers.find(peer_folders(args.peers))
    wanted = ("sutler", _PEER, BASE)
    print(
        head([f for f in found if f.tool.name in wanted], [t for t in missing if t.name in wanted])
    )
    rows = _measure(args, found)
    print("\n" + "\n\n".join([show(rows), *unmeasured(rows)]))
    if judged := judge(rows):
        print("\n" + figures.verdicts(judged))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump([row._asdict() for row in rows], out, indent=1)
    return 1 if crashed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
