"""Make one pack: ten steps, each with a type of its own.

    scan      Snapshot            names, exclusions with their rule, problems
    classify  Classified          type, category and language of each file by its name
    rank      Ranking             worth for a task; none without one
    choose    Selection           files in the order of their claim
    load      LoadedFile          bytes decoded, each file read once
    redact    Material            clean text
    fit       Fitted              sections within the budget
    render    Batch               sections between their frames, in bytes
    seal      bytes               the text that leaves, its digest at the end
    record    Report              included and omitted files with reasons; the cache is saved

A pack without a limit is built in batches, by worker processes if that pays. Each batch shows
secrets by ordinals that count over the whole pack, so a first pass redacts all files before the
first is built: redacted once, read twice. A limited pack is one batch, whose files are loaded,
redacted and numbered while `fit` spends the budget."""

from __future__ import annotations

from collections.abc import Iterator

from sutler.pack.report import Batch
from sutler.pack.steps import PackRun
from sutler.parallel import ordered
from sutler.scan.classify import classified


def make(run: PackRun) -> Iterator[bytes]:
    """Yield the pack's text; the report is complete after the last of it."""
    snapshot = run.scan()
    pairs = classified(snapshot)
    ranking = run.rank(snapshot)
    selection = run.choose(pairs, ranking)
    with run.reading(selection, ranking) as batches:

        def build(index: int) -> Batch:
            loaded = run.load(batches[index])
            materials = run.redact(loaded)
            fitted = run.fit(batches[index], materials)
            return run.render(fitted)

        workers = run.workers()
        run.learn(batches, workers)
        run.begin()
        built = ordered(build, len(batches), workers, Batch)
        yield from run.seal(built)
    run.record()
