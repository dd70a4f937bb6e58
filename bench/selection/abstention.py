"""python -m bench.selection.abstention --repos DIR --cache DIR [--data FILE] [--repo NAMES]
[--sample 76] [--split tune|dev] [--titles]

Poses each task to its own tree and to that of another project, and prints how many are answered
with "nothing fits". The other tree is that of the task half of the list further on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.selection.commits import TASKS, filled
from bench.selection.data import Instance, list_tree, load_instances, mirror_of, stratified
from bench.selection.kept import Shelf
from sutler.budget.chance import fits
from sutler.budget.excerpt import lens_for
from sutler.pack.scope import RANKED
from sutler.ranking import rank


def main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    instances = [
        instance
        for instance in load_instances(options.data)
        if options.split in ("", instance.split)
        and (not options.repo or instance.repo in options.repo.split(","))
    ]
    tasks = list(filled(stratified(instances, options.sample), options.repos))
    tasks.sort(key=lambda task: (task.repo, task.id))
    shelf = Shelf(options.cache)
    own = wrong = 0
    for number, task in enumerate(tasks):
        query = task.query.strip().partition("\n")[0] if options.titles else task.query
        other = tasks[(number + len(tasks) // 2) % len(tasks)]
        own += not _fits(task, query, options.repos, shelf)
        wrong += not _fits(other, query, options.repos, shelf)
    print(
        f"{len(tasks)} tasks: nothing fits for {100 * own / len(tasks):.1f} % in their own trees, "
        f"for {100 * wrong / len(tasks):.1f} % in other trees"
    )
    return 0


def _fits(tree_of: Instance, query: str, repos: str, shelf: Shelf) -> bool:
    git_dir = mirror_of(repos, tree_of.repo)
    reader, _ = shelf.reader(tree_of, git_dir, list_tree(git_dir, tree_of.base_commit))
    ranked = rank(reader, query, shelf.past(tree_of, git_dir), limit=RANKED)
    return fits(reader, lens_for(reader, query), ranked)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.selection.abstention", description=__doc__)
    parser.add_argument("--data", default=TASKS, help="the instances (default: %(default)s)")
    parser.add_argument("--repos", required=True, help="folder of bare mirrors, owner+name/repo")
    parser.add_argument("--cache", required=True, help="folder for facts and indexes")
    parser.add_argument("--repo", default="", help="only these repositories, separated by commas")
    parser.add_argument("--sample", type=int, default=0, help="about N tasks; 0 takes all")
    parser.add_argument("--split", choices=("", "tune", "dev"), default="")
    parser.add_argument("--titles", action="store_true", help="pose titles alone")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
