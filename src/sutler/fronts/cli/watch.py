"""`sutler pack --watch`: pack again after each change of an admitted file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator

from sutler.errors import SutlerError, UsageError
from sutler.fronts.console import Console
from sutler.pack.project import Project

QUIET_MS = 300
"""Time without a change that ends a burst: an editor or a checkout writes many files at once."""
LONGEST_MS = 3000
"""Longest time between packs under continuous changes."""
LOOK_AGAIN_MS = 250
"""Time without a change after which the tree is scanned once more: the watch of a new folder may
begin after a file in it was written."""

State = dict[str, tuple[int, int, int]]


def check_watch(args: argparse.Namespace) -> None:
    """Refuse a request that cannot be repeated."""
    if not args.output or args.output == "-" or args.copy:
        raise UsageError("--watch writes a file again and again", next_step="name it with -o FILE")
    if args.stdin or args.goal == "-" or args.task == "-":
        raise UsageError(
            "--watch cannot read stdin a second time", next_step="name the paths and the goal"
        )


def watch(project: Project, pack: Callable[[], int], console: Console) -> int:
    """Call `pack` now and after every change, until an interrupt. A refused pack is reported and
    the watch continues: the next change may be the remedy. The watch exists before the first scan,
    so no change after it is lost."""
    from sutler.secrets.cleaner import redacted_text

    code = 0
    try:
        bursts = changes(project.place.root)
        next(bursts)
        seen = state_of(project)
        code = _reported(pack, console)
        console.note("watching for changes; end with Ctrl-C")
        for _ in bursts:
            now = state_of(project)
            if now == seen:
                continue
            changed = sorted(
                path for path in now.keys() | seen.keys() if now.get(path) != seen.get(path)
            )
            seen = now
            console.note(
                redacted_text(
                    f"changed: {', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}"
                )
            )
            code = _reported(pack, console)
    except KeyboardInterrupt:
        return code
    return code


def _reported(pack: Callable[[], int], console: Console) -> int:
    """Return the exit code of a pack; a refusal is printed."""
    try:
        return pack()
    except SutlerError as error:
        console.error(error)
        return error.exit_code


def state_of(project: Project) -> State:
    """Return the files that a scan admits, with the stat data that show a change."""
    ours = set(project.outputs)
    entries = (entry for entry in project.found().entries if entry.path not in ours)
    return {entry.path: (entry.size, entry.mtime_ns, entry.inode) for entry in entries}


def changes(root: str) -> Iterator[None]:
    """Yield once when the watch exists, then for each burst of changes below the root, and once
    more after it."""
    from watchfiles import watch as events

    reports = events(
        os.path.realpath(root),
        debounce=LONGEST_MS,
        step=QUIET_MS,
        watch_filter=None,
        raise_interrupt=True,
        ignore_permission_denied=True,
        rust_timeout=LOOK_AGAIN_MS,
        yield_on_timeout=True,
    )
    next(reports)  # with its first answer the kernel's watch exists
    yield None
    restless = True
    for report in reports:
        if report or restless:
            yield None
        restless = bool(report)
