"""One tree, one class of work, every tool that does it: from commands to rows."""

import os
import re
import shutil
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bench.corpora import Corpus
from bench.figures import Row, medians
from bench.floor import write_list
from bench.measure import MEGABYTE, Command, Job, Sample, interleave, measure
from bench.peers import Found, environment, fill


class Plan(NamedTuple):
    """How to measure: the same for every tool of a run."""

    scratch: str
    runs: int
    timeout: float
    vocabularies: str | None


class Entrant(NamedTuple):
    """One tool in one state on one tree, ready to run."""

    tree: Corpus
    found: Found
    state: str
    job: Job
    out: str


def race(trees: Sequence[Corpus], work: str, tools: Sequence[Found], plan: Plan) -> list[Row]:
    """Prime every entrant once, unmeasured, then measure them interleaved.

    Priming fills the page cache and the warm entrants' caches, and shows who does the work at all.
    """
    entrants = [e for tree in trees for tool in tools for e in _enter(tree, work, tool, plan)]
    notes = {e.job.name: _prime(e, work, plan) for e in entrants}
    sizes = {e.job.name: _size(e.out) for e in entrants}
    taken = interleave([e.job for e in entrants if not notes[e.job.name]], plan.runs, plan.timeout)
    return [
        _row(e, work, taken.get(e.job.name, []), sizes[e.job.name], notes[e.job.name])
        for e in entrants
    ]


def _enter(tree: Corpus, work: str, tool: Found, plan: Plan) -> list[Entrant]:
    """The tool's entrants for this class: one for each state of its caches, none if it does other
    work.
    """
    if work not in tool.tool.recipes:
        return []
    states = tool.tool.states.get(work, ("-",))
    return [_entrant(tree, work, tool, state, plan) for state in states]


def _entrant(tree: Corpus, work: str, tool: Found, state: str, plan: Plan) -> Entrant:
    name = re.sub(r"[^a-z0-9]+", "-", f"{tree.name}-{tool.tool.name}-{work}-{state}".lower())
    place = os.path.join(plan.scratch, name)
    cache, out, recipe = place + ".cache", place + ".out", tool.tool.recipes[work]
    shutil.rmtree(cache, ignore_errors=True)
    os.makedirs(cache)
    listing = write_list(tree.census.files, place + ".list") if "LIST" in recipe else ""
    words = (*tool.words, *fill(recipe, tree.root, out, listing))
    env = environment(tool.tool.name, cache, plan.vocabularies)
    stdout = place + ".stdout" if "OUT" in recipe else out
    command = Command(words, env, stdout, place + ".stderr", plan.scratch)
    return Entrant(tree, tool, state, Job(name, command, _preparation(cache, out, state)), out)


def _preparation(cache: str, out: str, state: str) -> Callable[[], None]:
    def prepare() -> None:
        # A fresh output each time: cutting an old one short makes some file systems flush on close.
        if os.path.exists(out):
            os.unlink(out)
        if state == "cold":
            shutil.rmtree(cache, ignore_errors=True)
            os.makedirs(cache)

    return prepare


def _prime(entrant: Entrant, work: str, plan: Plan) -> str:
    """Run once; "" when all is well, else why the tool is not measured."""
    entrant.job.prepare()
    sample = measure(entrant.job.command, plan.timeout)
    if sample.timed_out:
        return f"over {plan.timeout:g} s"
    if sample.status != 0:
        return f"crashed ({sample.status}): {_last_words(entrant.job.command.stderr)}"
    proof = entrant.found.tool.proof.get(work)
    if proof and not any(
        _shows(proof, s) for s in (entrant.job.command.stdout, entrant.job.command.stderr)
    ):
        return "did not do this work (no token count in its output)"
    return ""


def _row(entrant: Entrant, work: str, samples: Sequence[Sample], size: int, note: str) -> Row:
    bad = [s for s in samples if s.status != 0 or s.timed_out]
    if bad:
        note = (
            f"over the limit in run {len(samples)}"
            if bad[0].timed_out
            else f"crashed ({bad[0].status})"
        )
    tree, tool = entrant.tree, entrant.found
    count, wall, cpu, peak = medians(samples)
    head = (tree.name, tree.tier, work, tool.tool.name, entrant.state, tool.version)
    return Row(*head, count, wall, cpu, peak, size / MEGABYTE, note)


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.isfile(path) else 0


def _shows(pattern: str, path: str) -> bool:
    with open(path, encoding="utf-8", errors="replace") as file:
        return re.search(pattern, file.read()) is not None


def _last_words(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    return " / ".join(lines[-3:])[-240:] if lines else "no message"
