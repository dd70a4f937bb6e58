"""`sutler pack --watch`: pack again when something that would be packed has changed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator

from sutler.errors import SutlerError, UsageError
from sutler.fronts.cli.console import Console
from sutler.pack.project import Project

QUIET_MS = 300
"""A change counts when nothing has followed it for this long: an editor or a checkout writes many
files at once.
"""
LONGEST_MS = 3000
"""Under changes that never end, a pack is made at least this often."""
LOOK_AGAIN_MS = 1000
"""The watcher runs by then."""

State = dict[str, tuple[int, int, int]]


def check_watch(args: argparse.Namespace) -> None:
    """Refuse what cannot be done again and again."""
    if not args.output or args.output == "-" or args.copy:
        raise UsageError("--watch writes a file again and again", next_step="name it with -o FILE")
    if args.stdin or args.goal == "-" or args.task == "-":
        raise UsageError(
            "--watch cannot read stdin a second time", next_step="name the paths and the goal"
        )


def watch(project: Project, pack: Callable[[], int], console: Console) -> int:
    """Call `pack` now and after every change, until somebody interrupts. A pack that is refused is
    told, and the watch goes on: the next change may be the remedy.
    """
    from sutler.secrets.cleaner import told

    seen = state_of(project)
    code = pack()
    console.note("watching for changes; end with Ctrl-C")
    try:
        for _ in changes(project.place.root):
            now = state_of(project)
            if now == seen:
                continue
            changed = sorted(
                path for path in now.keys() | seen.keys() if now.get(path) != seen.get(path)
            )
            seen = now
            console.note(
                told(f"changed: {', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}")
            )
            try:
                code = pack()
            except SutlerError as error:
                code = error.exit_code
                console.error(error)
    except KeyboardInterrupt:
        return code
    return code


def state_of(project: Project) -> State:
    """What a scan admits, and by what a change shows."""
    ours = set(project.outputs)
    entries = (entry for entry in project.found().entries if entry.path not in ours)
    return {entry.path: (entry.size, entry.mtime_ns, entry.inode) for entry in entries}


def changes(root: str) -> Iterator[None]:
    """Yield for each burst of changes below the root, and once soon after the start.

    The kernel reports only what follows the start of the watcher. A change between the first scan
    and that moment would stay unseen until the next one, so the caller looks again as soon as it
    watches.
    """
    try:
        from watchfiles import watch as events
    except ImportError:
        raise UsageError(
            "--watch needs the watch extra", next_step="pip install 'sutler[watch]'"
        ) from None
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
    for number, changed in enumerate(reports):
        if changed or number == 0:
            yield None
