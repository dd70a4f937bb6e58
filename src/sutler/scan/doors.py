"""The one decision about a path, for every door through which text leaves.

    pack    `pack`, `scan`, `rank`, `report`, `ui`, `pick` and documents
    goal    files given with `-c` to `run` and `dry-run`
    gather  files that a model asks for by name, and the listing that it is shown
    agent   tools of a served project, before the policy's own rules (`access.policy`)

The rules of all doors come from `rules_for`, and `decide` applies them with the code of the scan, so
that `sutler why PATH --for DOOR` cannot differ from what happens. Credentials, AI-ignore files, hard
links, confinement and the user's `allow` are the same at every door. The doors differ in this only:

    goal    built-in exclusions and the size limit are claw's (its own settings)
    agent   built-in exclusions and sizes do not hide a file that the agent names; ignored files ask

`named` lifts ignore rules and built-in exclusions for a file that the user named. A model's request
is never `named`.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec.structs import replace

from sutler.config import Settings
from sutler.paths import RelPath
from sutler.scan.root import Root
from sutler.scan.snapshot import Excluded, FileEntry, Problem, ScanRules
from sutler.scan.walk import explain

DoorName = Literal["pack", "goal", "gather", "agent"]
DOORS: tuple[DoorName, ...] = get_args(DoorName)


def rules_for(settings: Settings, door: DoorName = "pack") -> ScanRules:
    """What a scan leaves out at a door. Without redaction nothing judges content, so that names
    which resemble credentials stay out.
    """
    rules = ScanRules(
        default_excludes=settings.flag("default_excludes"),
        hidden=settings.flag("hidden"),
        depth=settings.number("depth"),
        skip_file_bytes=settings.number("skip_over") or None,
        allow=settings.words("allow"),
        strict_patterns=settings.flag("strict_patterns") or not settings.flag("redact"),
    )
    match door:
        case "goal":
            return replace(rules, default_excludes=False, depth=None, skip_file_bytes=None)
        case "agent":
            return replace(
                rules, default_excludes=False, hidden=True, depth=None, skip_file_bytes=None
            )
        case "pack" | "gather":
            return rules


def decide(
    root: Root, settings: Settings, door: DoorName, path: RelPath, *, named: bool = False
) -> FileEntry | Excluded | Problem:
    """Whether the file at `path` may leave by a door: an entry, or what keeps it out and by which
    rule. A folder that is entered is an entry too.
    """
    return explain(root, rules_for(settings, door), path, named=named)
