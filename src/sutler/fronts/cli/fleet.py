"""`sutler fleet` and `sutler worker`: packs and searches over many repositories."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from difflib import get_close_matches
from functools import partial
from html import escape

from sutler import config
from sutler.errors import UsageError
from sutler.fleet import catalogue, dataset, lookup, workers
from sutler.fleet.catalogue import Fleet
from sutler.fleet.queue import STATES, Queue, open_queue
from sutler.fleet.units import KINDS, units_of, version_of_work
from sutler.fronts.cli.options import add_actions, add_store, integer, one_of, value
from sutler.fronts.console import Console, Progress
from sutler.paths import counted, quote
from sutler.store.atomic import write_atomic

_PAUSE = 1.0  # seconds between two looks at the queue
_NAMED = 20  # repositories that a message names

ACTIONS = {
    "init": "make a fleet in the folder of --fleet",
    "add": "add repositories: URLs, checkouts, bare mirrors, folders or lists of them",
    "remove": "remove repositories by name, with their results",
    "run": "fetch URLs and perform missing units: kinds with commas, as index,secrets,survey,pack",
    "status": "count units by state and kind, and failures by cause",
    "retry": "retry failed units",
    "why": "show the units of one repository and why they failed",
    "find": "find places in all repositories for a task",
    "pack": "make one pack for a task across repositories",
    "watch": "show the status until no unit waits or runs",
    "sql": "run one SQL query over the dataset",
}


def configure_fleet(parser: argparse.ArgumentParser) -> None:
    add_actions(parser, ACTIONS)
    _where(parser)
    value(parser, "--name", "NAME", "with init: the fleet's name", "fleet")
    one_of(
        parser,
        "--on",
        ("local", "workers", "ray"),
        "with run: processes here, workers started elsewhere, or Ray (default local)",
        "local",
    )
    value(parser, "--ray", "ADDRESS", "an existing Ray cluster", "")
    integer(parser, "--max-tokens", "with pack: its ceiling", 16_000)
    value(parser, "--html", "FILE", "with status: write it as a page too")
    integer(parser, "-k --top", "places to show", 20)
    _limits(parser)


def configure_worker(parser: argparse.ArgumentParser) -> None:
    _where(parser)
    _limits(parser)


def _where(parser: argparse.ArgumentParser) -> None:
    value(parser, "--fleet", "DIR", "the fleet's folder", ".sutler-fleet")
    add_store(parser, "PostgreSQL URL of a shared queue")


def _limits(parser: argparse.ArgumentParser) -> None:
    integer(parser, "--jobs", "processes (default: one for each core)", 0)
    parser.add_argument(
        "--timeout", type=float, default=900, metavar="SECONDS", help="limit of one unit"
    )
    integer(parser, "--memory", "memory limit of one unit", 6144, "MB")


def _fence(args: argparse.Namespace) -> workers.Fence:
    if args.timeout <= 0 or args.memory < 256:
        raise UsageError(
            "a unit needs time and memory", rule="--timeout above 0, --memory at least 256"
        )
    return workers.Fence(args.timeout, args.memory << 20)


def run_worker(args: argparse.Namespace, console: Console) -> int:
    fleet = catalogue.open_fleet(args.fleet, args.store)
    open_queue(fleet).close()  # a worker waits for a server, and a wrong URL is an error at once
    workers.run_local(fleet, _fence(args), args.jobs)
    return _report(fleet, console)


def run_fleet(args: argparse.Namespace, console: Console) -> int:
    if args.action == "init":
        fleet = catalogue.create(args.fleet, args.name, args.store)
        os.makedirs(fleet.dataset, exist_ok=True)
        write_atomic(os.path.join(fleet.dataset, "README.md"), [dataset.readme().encode()])
        open_queue(fleet).close()
        console.answer(f"made the fleet {fleet.name} in {quote(fleet.folder)}")
        return 0
    fleet = catalogue.open_fleet(args.fleet, args.store)
    with closing(open_queue(fleet)) as queue:
        match args.action:
            case "add":
                return _add(queue, args.words, console)
            case "remove":
                return _remove(fleet, queue, args.words, console)
            case "run":
                _enqueue(fleet, queue, args.words, console)
            case "status":
                if args.html:
                    write_atomic(args.html, [_page(fleet, queue).encode()])
                return _status(queue, console)
            case "watch":
                return _watch(queue, console)
            case "retry":
                console.answer(_units(queue.retry()) + " again")
                return 0
            case "why":
                return _why(queue, args.words, console)
            case "find":
                return _find(queue, " ".join(args.words), args.top, console)
            case "pack":
                return _pack(fleet, queue, " ".join(args.words), args.max_tokens, console)
            case _:
                return _sql(fleet, queue, " ".join(args.words), console)
    _run(fleet, args, console)
    return _report(fleet, console, filled=args.on == "workers")


def _add(queue: Queue, sources: list[str], console: Console) -> int:
    if not sources:
        raise UsageError("no source was named", next_step="name repositories or folders of them")
    repositories = [item for source in sources for item in catalogue.repositories_in(source)]
    taken = {item.name: item.source for item in queue.repositories()}
    added = queue.add_repositories(catalogue.distinct(repositories, taken))
    console.answer(f"{_repositories(added, 'new ')}, {len(queue.repositories()):,} in all")
    return 0


def _remove(fleet: Fleet, queue: Queue, names: list[str], console: Console) -> int:
    queue.remove_repositories([_known(queue, name) for name in names or [""]])
    queue.clear(partial(dataset.remove, fleet.dataset))
    queue.tidy(version_of_work())
    console.answer(f"{_repositories(len(names))} removed, {len(queue.repositories()):,} left")
    return 0


def _known(queue: Queue, name: str) -> str:
    """Return a name that the catalogue has."""
    names = [item.name for item in queue.repositories()]
    if name in names:
        return name
    close = get_close_matches(name, names, n=1)
    raise UsageError(
        f"no repository of the fleet is called {name[:200]!r}"
        if name
        else "no repository was named",
        next_step=f"did you mean {close[0]!r}?" if close else f"its names: {_some(names)}",
    )


def _some(names: Sequence[str]) -> str:
    """Format the first of these names."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return (", ".join(map(quote, names[:_NAMED])) or "none yet") + more


def _repositories(count: int, which: str = "") -> str:
    return f"{count:,} {which}{'repository' if count == 1 else 'repositories'}"


def _enqueue(fleet: Fleet, queue: Queue, words: list[str], console: Console) -> None:
    """Queue the units of the present trees. Replaced units stay until the new ones are done;
    unstarted ones are dropped."""
    kinds = [kind for word in words for kind in word.split(",") if kind] or ["index"]
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise UsageError(
            f"no kind of work is called {unknown[0]!r}", next_step=f"use {', '.join(KINDS)}"
        )
    repositories = queue.repositories()
    if not repositories:
        raise UsageError(
            "the fleet has no repositories", next_step="add some with 'sutler fleet add SOURCE'"
        )
    failures = catalogue.refresh(fleet, repositories, os.environ)
    for reason, count in Counter(failures.values()).most_common(20):
        console.note(f"not fetched: {count:,} x {reason}")
    settings = config.resolve([config.layer_from_environment(os.environ)])
    units = list(units_of(fleet, repositories, kinds, settings))
    readable = {unit.repo for unit in units}
    if empty := [item.name for item in repositories if item.name not in readable]:
        console.note(f"no commit can be read: {_some(empty)}")
    present = {unit.key for unit in units}
    dropped = [
        unit
        for unit in queue.units()
        if unit.kind in kinds and unit.key not in present and unit.state != "done"
    ]
    queue.forget(unit.key for unit in dropped)
    queue.enqueue(units)


def _run(fleet: Fleet, args: argparse.Namespace, console: Console) -> None:
    if args.on == "workers":
        return
    with closing(open_queue(fleet)) as queue:
        with console.progress("units") as bar:
            tell = partial(_draw, queue, bar) if bar is not None else None
            if args.on == "local":
                workers.run_local(fleet, _fence(args), args.jobs, tell=tell)
            else:
                workers.run_on_ray(fleet, _fence(args), args.ray, tell=tell)
        queue.clear(partial(dataset.remove, fleet.dataset))
        queue.tidy(version_of_work())


def _draw(queue: Queue, bar: Progress) -> None:
    counts = queue.counts()
    total = sum(counts.values())
    bar(total - counts["waiting"] - counts["running"], total)


def _report(fleet: Fleet, console: Console, *, filled: bool = False) -> int:
    """Show the status after work; return failure if units remain that were not only queued."""
    with closing(open_queue(fleet)) as queue:
        _status(queue, console)
        left = 0 if filled else queue.unfinished()
        if left:
            console.note(f"not all is done: {counted(left, 'unit')} open or failed")
            console.note("next: see 'sutler fleet why REPO', then 'sutler fleet retry' and run")
        return 1 if left else 0


def _status(queue: Queue, console: Console) -> int:
    units = queue.units()
    counts = Counter((unit.kind, unit.state) for unit in units)
    causes = Counter(unit.reason for unit in units if unit.state == "failed")
    states = [{"kind": k, "state": s, "units": n} for (k, s), n in sorted(counts.items())]
    reasons = [{"reason": reason, "units": n} for reason, n in causes.most_common()]
    rows = [f"{'kind':10}" + "".join(f"{state:>10}" for state in STATES)]
    for kind in sorted({unit.kind for unit in units}):
        rows.append(f"{kind:10}" + "".join(f"{counts[kind, state]:>10,}" for state in STATES))
    rows += [f"failed: {count:,} × {reason}" for reason, count in causes.most_common(20)]
    return console.reply({"states": states, "failures": reasons}, "\n".join(rows) + "\n")


def _why(queue: Queue, words: list[str], console: Console) -> int:
    units = queue.units(_known(queue, words[0] if words else ""))
    if not units:
        raise UsageError("no units of that repository yet", next_step="see 'sutler fleet run'")
    rows = [f"{u.kind:10} {u.state:8} tries {u.tries}  {u.reason}".rstrip() for u in units]
    console.answer("\n".join(rows) + "\n")
    return 0


def _find(queue: Queue, task: str, top: int, console: Console) -> int:
    if not task.strip():
        raise UsageError("no task was given", next_step="give the text to find")
    places = lookup.find(queue, task, max(top, 1))
    rows = []
    for place in places:
        rows.append(
            f"{place.repo}:{quote(place.path)}:{place.start}-{place.end}  {place.score:.3f}"
        )
        rows += [f"    {reason}" for reason in place.reasons[:2]]
    text = "\n".join(rows) or "nothing in the fleet matches the task"
    return console.reply({"places": places}, text)


def _pack(fleet: Fleet, queue: Queue, task: str, ceiling: int, console: Console) -> int:
    if not task.strip():
        raise UsageError("no task was given", next_step="give the task of the pack")
    with tempfile.TemporaryDirectory(prefix="sutler-fleet-") as folder:
        packing = lookup.pack(fleet, queue, task, os.path.join(folder, "fleet"), max_tokens=ceiling)
        console.stream(packing.encoded())
        report = packing.report
    console.note(
        f"{counted(len(report.shown), 'file')}, {report.tokens or 0:,} of {ceiling:,} tokens"
    )
    return 0


def _watch(queue: Queue, console: Console) -> int:
    with console.progress("units") as bar:
        while queue.open_units():
            if bar is not None:
                _draw(queue, bar)
            time.sleep(_PAUSE)
    return _status(queue, console)


def _page(fleet: Fleet, queue: Queue) -> str:
    """Return the status as one HTML page, without scripts or external parts."""
    units = queue.units()
    counts = Counter((unit.kind, unit.state) for unit in units)
    causes = Counter(unit.reason for unit in units if unit.state == "failed")
    kinds = sorted({unit.kind for unit in units})
    states = [[kind, *(f"{counts[kind, state]:,}" for state in STATES)] for kind in kinds]
    reasons = [[reason, f"{count:,}"] for reason, count in causes.most_common()]
    rows = [[u.repo, u.kind, u.state, str(u.tries), u.reason] for u in units]
    settled = sum(counts[kind, state] for kind in kinds for state in ("done", "failed"))
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta http-equiv=Content-Security-Policy "
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Fleet {escape(fleet.name)}</title>"
        "<style>body{font:1rem system-ui}td,th{padding:.2rem .8rem;text-align:left}</style>"
        f"<h1>Fleet {escape(fleet.name)}</h1>"
        f"<p>{settled:,} of {len(units):,} units are settled. "
        f"<progress value={settled} max={max(1, len(units))}></progress>"
        f"{_table(['kind', *STATES], states)}<h2>Failures by cause</h2>"
        f"{_table(['reason', 'units'], reasons)}<h2>Units</h2>"
        f"{_table(['repository', 'kind', 'state', 'tries', 'reason'], rows)}</html>\n"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ("<tr>" + "".join(f"<td>{escape(cell)}" for cell in row) for row in rows)
    return f"<table><tr>{''.join(f'<th>{cell}' for cell in head)}{''.join(lines)}</table>"


def _sql(fleet: Fleet, queue: Queue, sql: str, console: Console) -> int:
    if not sql.strip():
        raise UsageError("no query was given", next_step="see the dataset's README.md")
    names, rows = dataset.query(fleet.dataset, queue.units(state="done"), sql)
    lines = ["\t".join(names), *("\t".join(str(value) for value in row) for row in rows)]
    plain = [list(map(_plain, row)) for row in rows]
    return console.reply({"columns": names, "rows": plain}, "\n".join(lines))


def _units(count: int) -> str:
    return f"{count:,} unit waits" if count == 1 else f"{count:,} units wait"


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
