"""Random tasks: the tier's limit always holds, and what must always be included always is."""

from __future__ import annotations

import os
import random
from contextlib import suppress

from msgspec import UNSET
from msgspec.structs import replace

from sutler.errors import RefusedError
from sutler.formats.document import CleanText
from sutler.scan.snapshot import Problem
from sutler.setting_table import TIER_CHARS, Tier
from sutler.tasks.packer import MARKER_ROOM, Source
from sutler.tasks.wire import (
    AcceptanceCriteria,
    FileContract,
    Issue,
    IssueLevel,
    PreviousState,
    RepairTicket,
    TaskContext,
    TaskSpec,
)
from tests.unit.tasks.packing import ContextPacker

COUNT = 10_000 * int(os.environ.get("SUTLER_FUZZ", "1"))
TIERS: tuple[Tier, ...] = ("strong", "default", "cheap")


def pool(rng: random.Random) -> dict[str, str]:
    files: dict[str, str] = {}
    for number in range(24):
        lines = int(10 ** rng.uniform(0, 3.1))
        body = "".join(
            f"line {n} of {number} ```\n" if n % 50 == 3 else f"x{n} = {n * number}\n"
            for n in range(lines)
        )
        files[
            f"{rng.choice(['src', 'lib', 'docs', 'src/deep'])}/f{number}.{rng.choice(['py', 'md', 'ts'])}"
        ] = body
    files["src/wide.js"] = "w" * 150_000
    files["src/denied.py"] = ""
    return files


def some_task(rng: random.Random, paths: list[str], number: int) -> TaskSpec:
    heavy = rng.random() < 0.1  # most tasks are small, so that ten thousand of them take seconds
    contracts = (
        FileContract(),
        FileContract(("no/**",)),
        FileContract(("src/**",), ("src/deep/**",)),
    )

    def text(most: float) -> str:
        return "word " * int(10 ** rng.uniform(0, most))

    def issue(index: int) -> Issue:
        file = rng.choice(paths) if rng.random() < 0.6 else UNSET
        raw = f"raw {index} {text(2.5)}" if rng.random() < 0.3 else UNSET
        level: IssueLevel = "error" if rng.random() < 0.5 else "warning"
        return Issue(
            "test", f"m{index} {text(1)}", level=level, file=file, line=rng.randrange(3000), raw=raw
        )

    diff = "".join(
        f"diff --git a/f{n} b/f{n}\n@@ -1 +1 @@ def f{n}\n+{text(1)}\n"
        for n in range(rng.randrange(60 if heavy else 4))
    )
    return TaskSpec(
        id=f"T-{number}",
        title=text(0.5),
        goal=f"goal {text(3.9 if rng.random() < 0.05 else 2)}",
        acceptance=tuple(
            AcceptanceCriteria(f"a{n}", f"criterion {n} {text(1)}") for n in range(rng.randrange(5))
        ),
        files_contract=rng.choice(contracts if heavy else contracts[:2]),
        context=TaskContext(
            tuple(rng.sample(paths, rng.randrange(5 if heavy else 3))),
            tuple(rng.sample(paths, rng.randrange(4 if heavy else 2))),
        ),
        issues=tuple(issue(n) for n in range(rng.randrange(4))),
        previous_state=PreviousState(
            rng.randrange(9),
            diff,
            tuple(issue(100 + n) for n in range(rng.randrange(60 if heavy else 3))),
        ),
        repair_tickets=tuple(
            RepairTicket(f"i{n}", "test", text(1), rng.choice(paths))
            for n in range(rng.randrange(3))
        ),
        error_output=tuple(f"error {n} {text(2)}" for n in range(rng.randrange(3))),
        model_tier=rng.choice(TIERS),
    )


def check(task: TaskSpec, packer: ContextPacker, limit: int) -> bool:
    """True when the task could be packed; a refusal must have had a reason."""
    try:
        done = packer.assemble(task)
    except RefusedError:
        small = (
            sum(len(issue.message) for issue in task.issues)
            + len(task.goal)
            + sum(map(len, task.error_output))
        )
        assert small + 20 * 3_000 > limit - MARKER_ROOM - 1_000
        return False
    pack, prompt = done.pack, done.prompt
    assert pack.total_chars == len(prompt) <= limit
    assert task.goal.rstrip() in prompt
    assert all(item.text in prompt for item in task.acceptance)
    assert all(text in prompt for text in task.error_output)
    assert all(ticket.message in prompt for ticket in task.repair_tickets)
    assert all(
        glob in prompt for glob in (*task.files_contract.allowed, *task.files_contract.forbidden)
    )
    assert pack.previous_state is not UNSET
    assert all(
        issue.raw in prompt for issue in pack.previous_state.issues if issue.raw is not UNSET
    )
    assert ("[context truncated: " in prompt) is pack.truncated
    # An output may be lost only if it is longer than the room that is left. What the packer keeps
    # free for the marker and for the list of what is not shown is no room.
    entered = {issue.message for issue in pack.previous_state.issues}
    outputs = [
        issue.raw
        for issue in (*task.issues, *earlier_issues(task))
        if issue.raw is not UNSET and issue.message not in entered
    ]
    assert all(len(text) > limit - len(prompt) - 2 * MARKER_ROOM - 200 for text in outputs)
    return True


def check_twice(task: TaskSpec, source: Source) -> None:
    """The same task and the same files, whatever their order, give the same prompt."""
    backwards = replace(source, paths=tuple(reversed(source.paths)))
    with suppress(RefusedError):
        done, again = (ContextPacker(one).assemble(task) for one in (source, backwards))
        assert (done.prompt, done.pack) == (again.prompt, again.pack)


def earlier_issues(task: TaskSpec) -> tuple[Issue, ...]:
    return () if task.previous_state is UNSET else task.previous_state.issues


def test_tier_limits_hold_on_random_tasks() -> None:
    """Ten thousand tasks over one project: never a character over the tier, never a required word
    lost.
    """
    rng = random.Random(20_260_101)
    files = pool(rng)
    paths = [*files, "missing.py"]

    def read(path: str) -> CleanText | Problem:
        return Problem(path, "denied") if path == "src/denied.py" else CleanText(files[path])

    source = Source(tuple(files), read, CleanText)
    packed = 0
    for number in range(COUNT):
        task = some_task(rng, paths, number)
        packed += check(task, ContextPacker(source), TIER_CHARS[task.model_tier])
        if number % 33 == 0:
            check_twice(task, source)
    assert packed > COUNT * 0.8  # refusals are rare, so the law is tested on packs
