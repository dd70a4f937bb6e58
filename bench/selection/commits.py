"""python -m bench.selection.commits --repos DIR [--count 9] [owner/name …] > FILE

Instances in many languages from the history of projects. The message of a commit is the task, the
source files that it changed are the answer, and its parent is the tree. Messages with at least 200
characters of prose in their body only: shorter ones name the change and not the problem. Without
names, the projects of `languages.txt`, which says for each whether it is for tuning or for
measuring. No project of that list is among the held-out ones. `languages.jsonl` is the result for
the whole list, without the messages: `filled` reads these from the mirrors again.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from bench.selection.data import Gold, Instance, mirror_of
from sutler.scan.classify import facts_of

LISTED = os.path.join(os.path.dirname(__file__), "languages.txt")
TASKS = os.path.join(os.path.dirname(__file__), "languages.jsonl")
_TRAILER = re.compile(
    r"\s*(?:signed-off-by|co-authored-by|reviewed-by|closes?|pr-url|change-id)\b", re.IGNORECASE
)
_CHORE = re.compile(
    r"(?:merge|revert|bump|release|chore|ci|build|docs?|style|refactor|lint|typo|clean ?up|rename"
    r"|update dep|\[?changelog|version|prepare|format|reformat|tests?)\b",
    re.IGNORECASE,
)
_LISTING = ("*", "- ", "#", ">", "+", "|", "    ")  # lines of a body that are no prose
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)
_SHORTEST, _LONGEST = 200, 2500  # characters of a body that states a problem and is no diary
_MOST_ANSWERS, _MOST_FILES = 6, 16
_RECENT = 6000  # commits that are looked at


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.selection.commits", description=__doc__)
    parser.add_argument("--repos", required=True, help="folder of bare mirrors, owner+name/repo")
    parser.add_argument(
        "--count", type=int, default=9, help="instances of each project (default: 9)"
    )
    parser.add_argument("projects", nargs="*", metavar="owner/name")
    options = parser.parse_args(arguments)
    splits = listed()
    for project in options.projects or splits:
        mirror = mirror_of(options.repos, project)
        found = sorted(_candidates(mirror, project), key=lambda one: one.id)
        step = max(
            1, len(found) // max(1, options.count)
        )  # ids are digests: evenly spaced is as good as random
        for one in found[: step * options.count : step]:
            one = replace(_with_lines(one, mirror), split=splits.get(project, "dev"), query="")
            sys.stdout.buffer.write(msgspec.json.encode(one) + b"\n")
        print(f"{project}: {len(found)} commits would do", file=sys.stderr)
    return 0


def filled(instances: Iterable[Instance], repos: str) -> Iterator[Instance]:
    """Instances with their task text: the message of their commit where none is stored."""
    for one in instances:
        if not one.query:
            commit = one.id.rsplit("-", 1)[1]
            message = _git(mirror_of(repos, one.repo), "log", "-1", "--format=%B", commit)
            one = replace(one, query=_task(message))
        yield one


def _task(message: str) -> str:
    kept = [line for line in message.strip().splitlines() if not _TRAILER.match(line)]
    return "\n".join(kept).strip() + "\n"


def listed() -> dict[str, str]:
    """The projects of `languages.txt` with their split."""
    with open(LISTED, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {name: split for split, _, name in lines}


def _git(mirror: str, *words: str) -> str:
    done = subprocess.run(
        ["git", "--git-dir", mirror, *words], capture_output=True, check=True, timeout=600
    )
    return done.stdout.decode("utf-8", "replace")


def _candidates(mirror: str, project: str) -> Iterator[Instance]:
    form = "--format=%x01%H%x02%P%x02%B%x03"
    log = _git(
        mirror,
        "log",
        "--no-merges",
        form,
        "--name-status",
        "--no-renames",
        f"--max-count={_RECENT}",
        "HEAD",
    )
    for record in log.split("\x01")[1:]:
        head, _, changed = record.partition("\x03")
        if head.count("\x02") < 2:  # a message with such a character itself
            continue
        commit, parents, message = head.split("\x02", 2)
        query = _task(message)
        changes = [line.split("\t", 1) for line in changed.strip().splitlines() if "\t" in line]
        answer = [(status, path) for status, path in changes if _is_source(path)]
        usual = 1 <= len(answer) <= _MOST_ANSWERS and len(changes) <= _MOST_FILES
        if not (usual and parents and _states_problem(query)):
            continue
        if all(status == "M" for status, _ in answer):
            gold = [Gold(path, "M") for _, path in answer]
            name = f"{project.replace('/', '__')}-{commit[:12]}"
            yield Instance(name, "dev", project, parents.split()[0], query, gold)


def _states_problem(query: str) -> bool:
    title, _, body = query.partition("\n")
    if _CHORE.match(title) or len(body) > _LONGEST:
        return False
    prose = [line for line in body.splitlines() if line.strip() and not line.startswith(_LISTING)]
    return len(" ".join(prose)) >= _SHORTEST


def _is_source(path: str) -> bool:
    facts = facts_of(path)
    return (
        facts.tag == "code"
        and not facts.generated
        and facts.category not in ("build", "dependency")
    )


def _with_lines(one: Instance, mirror: str) -> Instance:
    """The instance with the lines of the tree that the commit touched; around them where it only
    added some.
    """
    commit = one.id.rsplit("-", 1)[1]
    gold = []
    for answer in one.gold:
        diff = _git(mirror, "diff", "-U0", one.base_commit, commit, "--", answer.path)
        spans = [
            (int(found[1]), 1 if found[2] is None else int(found[2]))
            for found in _HUNK.finditer(diff)
        ]
        gold.append(
            Gold(
                answer.path,
                "M",
                [[at, at + size - 1] if size else [max(at, 1), at + 1] for at, size in spans],
            )
        )
    return replace(one, gold=gold)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
