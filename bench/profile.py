"""python -m bench.profile TREE: where the CPU time of a pack goes, stage by stage.

Each stage runs by itself over the whole tree, on what the stage before it gave, several times; the
least time counts, because noise only ever adds. The sum is less than a real run, which also starts
an interpreter and hands values from stage to stage; the last line shows a whole run in the same
process.
"""

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from bench.figures import table

T = TypeVar("T")


class Stage(NamedTuple):
    name: str
    seconds: float
    work: str


class Clock:
    """Runs stages and keeps what each cost."""

    def __init__(self, runs: int) -> None:
        self.runs = runs
        self.stages: list[Stage] = []

    def take(self, name: str, work: Callable[[], T], said: Callable[[T], str]) -> T:
        best, result = float("inf"), None
        for _ in range(self.runs):
            result = None  # the result of the run before is freed outside the clock
            gc.collect()
            start = time.process_time()
            result = work()
            best = min(best, time.process_time() - start)
        assert result is not None
        self.stages.append(Stage(name, best, said(result)))
        return result


def measure(tree: str, runs: int, counter: str) -> list[Stage]:
    """Every stage of an unlimited pack of `tree`."""
    clock = Clock(runs)
    begin = time.process_time()
    from sutler import config
    from sutler.budget.fit import best_rung
    from sutler.budget.selection import Material, display_key
    from sutler.formats import encoded, section_text
    from sutler.formats.document import CleanText, Listing, Preamble
    from sutler.formats.tree import drawn_within
    from sutler.pack.project import Project
    from sutler.scan.root import Root
    from sutler.scan.snapshot import Problem
    from sutler.scan.text import Loaded, decode
    from sutler.store.atomic import write_atomic
    from sutler.tokens.counter import token_counter

    clock.stages.append(Stage("import", time.process_time() - begin, f"{len(sys.modules)} modules"))
    wish = {"max_bytes": 0, "counter": "none"}
    project = Project(tree, settings=config.resolve([config.layer_from_table(wish, "bench")]))
    request = project.request()
    snapshot = clock.take("walk", project.scan, lambda found: f"{len(found.entries):,} files")
    selection = clock.take(
        "choose",
        lambda: project.select(snapshot, request),
        lambda found: f"{len(found.choices):,} files",
    )
    choices = sorted(selection.choices, key=display_key)
    paths = sorted(choice.path for choice in choices)
    drawing = clock.take("draw", lambda: drawn_within(paths, len, None), _size)

    def read() -> list[bytes]:
        with (
            Root(project.place.root) as root,
            root.reader() as reader,
        ):  # which a tree below this folder is not
            found = (reader.read(choice.path) for choice in choices)
            return [b"" if isinstance(one, Problem) else one.data for one in found]

    blobs = clock.take("read", read, lambda found: f"{sum(map(len, found)):,} bytes")
    decoded = clock.take("decode", lambda: [decode(data) for data in blobs], _texts)
    digests = clock.take(
        "digest", lambda: _digests(blobs, decoded), lambda found: f"{len(found):,} digests"
    )
    loaded = [
        (choice, Loaded(choice.path, one.text, digest, len(data), one.encoding))
        for choice, data, one, digest in zip(choices, blobs, decoded, digests, strict=True)
        if one is not None
    ]
    clean = project.clean()
    cleaned: list[CleanText] = clock.take(
        "clean",
        lambda: [clean(one.text, one.path) for _, one in loaded],
        lambda found: f"{sum(len(one.findings) for one in found):,} findings",
    )
    materials = [Material(*pair, text) for pair, text in zip(loaded, cleaned, strict=True)]
    sections = clock.take(
        "fit",
        lambda: [best_rung(one, request.cut) for one in materials],
        lambda found: f"{len(found):,} sections",
    )
    preamble = Preamble(project.name, tree=CleanText(drawing))
    rendered = clock.take(
        "render",
        lambda: list(encoded(preamble, sections, Listing(), format="markdown")),
        lambda found: f"{len(found):,} runs",
    )
    if counter != "none":
        texts = [text for section in sections for text in section_text(section, "markdown")]
        count = token_counter(counter)
        clock.take("count", lambda: list(map(count, texts)), lambda found: f"{sum(found):,} tokens")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "pack.md")

        def write() -> str:
            write_atomic(out, rendered)
            return out

        clock.take("write", write, _written)
    stages = [*clock.stages, Stage("sum", sum(one.seconds for one in clock.stages), "")]
    whole = clock.take(
        "whole", lambda: sum(map(len, project.pack().encoded())), lambda size: f"{size:,} bytes"
    )
    assert whole
    return [*stages, clock.stages[-1]]


def _size(text: str) -> str:
    return f"{len(text):,} characters"


def _texts(found: Sequence[object]) -> str:
    return f"{sum(one is not None for one in found):,} texts"


def _digests(blobs: Sequence[bytes], decoded: Sequence[object]) -> list[str]:
    from hashlib import sha256

    return [
        "" if one is None else sha256(data).hexdigest()
        for data, one in zip(blobs, decoded, strict=True)
    ]


def _written(path: str) -> str:
    return f"{os.path.getsize(path):,} bytes"


def show(stages: Sequence[Stage]) -> str:
    """The stages as a table, each with its share of their sum."""
    total = next(one.seconds for one in stages if one.name == "sum") or 1
    rows = [
        (one.name, f"{one.seconds * 1000:.1f}", f"{100 * one.seconds / total:.0f} %", one.work)
        for one in stages
    ]
    return table(("stage", "CPU ms", "share", "work"), rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Where the CPU time of a pack goes, stage by stage."
    )
    parser.add_argument("tree", metavar="TREE")
    parser.add_argument(
        "--runs", type=int, default=3, metavar="N", help="runs of each stage (default 3)"
    )
    parser.add_argument("--counter", default="o200k_base", help="token vocabulary, or 'none'")
    args = parser.parse_args(argv)
    print(show(measure(args.tree, args.runs, args.counter)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
