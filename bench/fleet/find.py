"""`fleet find` over at least 100 repositories: the right repository, the right file, CPU.

    python -m bench.fleet.find --data FILE --mirrors DIR --fleet DIR [--sample 6] [--split dev]

Tasks are instances of `bench.selection`. Each of their projects is in the fleet at the base commit
of one early task, so that no fix is in the tree; tasks of that commit or later count whose gold
files exist there. The other repositories are mirrors of medium size, taken in a fixed random order.
The project's own name is masked in every task. The fleet is made in `--fleet` on the first run and
used again. CPU is that of one call in this process, with the file system's cache warm.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from bench.selection.data import Instance, load_instances
from sutler.fleet.catalogue import open_fleet
from sutler.fleet.lookup import Cards, Shelf, best_repositories, find
from sutler.fleet.queue import Queue, Unit, open_queue
from sutler.languages.terms import terms_of
from sutler.ranking import Reader, rank
from sutler.ranking.query import analyse

LEAST, MOST = 200_000, 4_000_000
"""Bytes of the files of a mirror that is no project of a task."""
PACKAGES = {"scikit-learn": "sklearn", "pvlib-python": "pvlib"}
"""Names of import packages that differ from the repository's."""
FIRST = 10


def git(git_dir: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "--git-dir", str(git_dir), *words], capture_output=True, check=False
    )
    return done.stdout.decode(errors="replace").strip()


def git_dir_of(folder: Path) -> Path:
    return folder / "repo" / ".git" if (folder / "repo" / ".git").exists() else folder / "repo"


def bare(place: Path, git_dir: Path, commit: str) -> None:
    """A repository at a commit whose objects stay where they are."""
    for name in ("objects/info", "refs/heads"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "objects/info/alternates").write_text(f"{git_dir / 'objects'}\n")
    (place / "HEAD").write_text(f"{commit}\n")


def placed(instances: Sequence[Instance], mirrors: Path, top: Path) -> list[Instance]:
    """Put the project of each task at an early base commit; return the tasks that count."""
    by_repo: defaultdict[str, list[Instance]] = defaultdict(list)
    for instance in instances:
        by_repo[instance.repo].append(instance)
    usable = []
    for repo, mine in sorted(by_repo.items()):
        git_dir = git_dir_of(mirrors / repo.replace("/", "+"))
        dated = [(git(git_dir, "show", "-s", "--format=%ct", i.base_commit), i) for i in mine]
        rows = sorted((int(at), i.id, i) for at, i in dated if at.isdigit())
        if not rows:
            continue
        start, _, base = rows[len(rows) // 4]
        paths = set(git(git_dir, "ls-tree", "-r", "--name-only", base.base_commit).split("\n"))
        bare(top / f"{repo.rpartition('/')[2]}.git", git_dir, base.base_commit)
        usable += [i for at, _, i in rows if at >= start and all(g.path in paths for g in i.wanted)]
    return usable


def others(mirrors: Path, top: Path, count: int) -> None:
    """Add mirrors of medium size until there are `count` repositories."""
    folders = sorted(path for path in mirrors.iterdir() if "+" in path.name)
    random.Random(5).shuffle(folders)
    taken = {path.name.lower() for path in top.iterdir()}
    for folder in folders:
        name = f"{folder.name.partition('+')[2]}.git"
        if name.lower() in taken or len(taken) >= count:
            continue
        rows = git(git_dir_of(folder), "ls-tree", "-r", "-l", "HEAD").split("\n")
        sizes = [row.split()[3] for row in rows if len(row.split()) > 4]
        if LEAST < sum(int(size) for size in sizes if size.isdigit()) < MOST:
            bare(top / name, git_dir_of(folder), git(git_dir_of(folder), "rev-parse", "HEAD"))
            taken.add(name.lower())


def masked(instance: Instance) -> str:
    """The text of a task without the name of its project."""
    name = instance.repo.rpartition("/")[2]
    names = {instance.repo, name, name.replace("-", "_"), PACKAGES.get(name, name)}
    pattern = "|".join(re.escape(word) for word in sorted(names, key=len, reverse=True))
    return re.sub(pattern, " ", instance.query, flags=re.IGNORECASE)


def by_paths(shelves: Mapping[str, Counter[str]], task: str) -> list[str]:
    """The plain way: repositories by how many words of the task their paths have, weighted by
    rarity."""
    scores: defaultdict[str, float] = defaultdict(float)
    for term in sorted(set(terms_of(task))):
        holders = [name for name, words in shelves.items() if words[term]]
        for name in holders:
            scores[name] += len(shelves) / len(holders)
    return sorted(scores, key=lambda name: (-scores[name], name))


class Row(msgspec.Struct):
    split: str
    place: int  # of the right repository
    plain: int
    fleet: bool  # all gold files are among the first ten
    single: bool
    milliseconds: float


def measured(
    queue: Queue,
    units: Mapping[str, Unit],
    cards: Cards,
    words: Mapping[str, Counter[str]],
    instance: Instance,
) -> Row:
    task, repo = masked(instance), instance.repo.rpartition("/")[2]
    gold = {f"{repo}/{item.path}" for item in instance.wanted}
    started = time.process_time()
    places = find(queue, task, FIRST)
    spent = 1000 * (time.process_time() - started)
    shelf = Shelf(queue, [units[repo]])
    single = {item.path for item in rank(Reader(shelf, shelf.facts), task, limit=FIRST)}
    ranked = [name for name, _ in best_repositories(cards, analyse(task).terms)]
    plain = by_paths(words, task)
    return Row(
        instance.split,
        ranked.index(repo) if repo in ranked else len(units),
        plain.index(repo) if repo in plain else len(units),
        gold <= {f"{place.repo}/{place.path}" for place in places},
        gold <= single,
        spent,
    )


def report(rows: Sequence[Row], split: str) -> None:
    mine = [row for row in rows if row.split == split]
    if not mine:
        return

    def share(values: Sequence[bool]) -> str:
        return f"{100 * sum(values) / len(values):.0f} %"

    spent = sorted(row.milliseconds for row in mine)
    fleet, single = [row.fleet for row in mine], [row.single for row in mine]
    print(
        f"{split}, {len(mine)} tasks: right repository first "
        f"{share([row.place == 0 for row in mine])}, in five "
        f"{share([row.place < 5 for row in mine])}; by words of paths "
        f"{share([row.plain == 0 for row in mine])} / {share([row.plain < 5 for row in mine])}; "
        f"gold files in the first ten: fleet {share(fleet)}, single repository {share(single)}, "
        f"{sum(fleet) / max(1, sum(single)):.2f} x; CPU median {spent[len(spent) // 2]:.0f} ms, "
        f"p95 {spent[int(len(spent) * 0.95)]:.0f} ms"
    )


def _report_repositories(instances: Sequence[Instance], cards: Cards) -> None:
    """The right repository over all tasks, also as the mean over projects."""
    for split in ("tune", "dev"):
        places: defaultdict[str, list[int]] = defaultdict(list)
        for instance in instances:
            if instance.split == split:
                ranked = [
                    name for name, _ in best_repositories(cards, analyse(masked(instance)).terms)
                ]
                name = instance.repo.rpartition("/")[2]
                places[name].append(ranked.index(name) if name in ranked else 999)
        for below in (1, 5):
            shares = [sum(p < below for p in some) / len(some) for some in places.values()]
            hits = sum(p < below for some in places.values() for p in some)
            total = sum(map(len, places.values()))
            if total:
                print(
                    f"{split}, all {total} tasks: right repository in {below}: "
                    f"{100 * hits / total:.0f} %, mean of projects "
                    f"{100 * sum(shares) / len(shares):.0f} %"
                )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.fleet.find", description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--mirrors", required=True)
    parser.add_argument("--fleet", required=True)
    parser.add_argument("--repositories", type=int, default=110)
    parser.add_argument("--sample", type=int, default=6, help="tasks of each project")
    parser.add_argument("--split", default="", help="tune or dev; default: both")
    args = parser.parse_args(arguments)
    folder = Path(args.fleet)
    sources = folder / "repositories"
    sources.mkdir(parents=True, exist_ok=True)
    instances = placed(load_instances(args.data), Path(args.mirrors), sources)
    others(Path(args.mirrors), sources, args.repositories)
    if not (folder / "fleet" / "fleet.json").exists():
        for action in (["init"], ["add", str(sources)]):
            _sutler(*action, "--fleet", str(folder / "fleet"))
    _sutler("run", "index", "--fleet", str(folder / "fleet"))
    queue = open_queue(open_fleet(str(folder / "fleet"), ""))
    units = {unit.repo: unit for unit in queue.units(state="done", kind="index")}
    cards = Cards(queue, units)
    words = {
        repo: Counter(
            term
            for doc in Shelf(queue, [unit]).documents().values()
            for term in terms_of(doc.path.partition("/")[2])
        )
        for repo, unit in units.items()
    }
    random.Random(1).shuffle(instances)
    seen: Counter[str] = Counter()
    rows = []
    _report_repositories([i for i in instances if i.repo.rpartition("/")[2] in units], cards)
    for instance in instances:
        wanted = args.split in ("", instance.split) and seen[instance.repo] < args.sample
        if wanted and instance.repo.rpartition("/")[2] in units:
            seen[instance.repo] += 1
            rows.append(measured(queue, units, cards, words, instance))
    print(f"{len(units)} repositories, {len(seen)} projects with tasks")
    for split in ("tune", "dev"):
        report(rows, split)
    return 0


def _sutler(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "sutler", "fleet", *words], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
