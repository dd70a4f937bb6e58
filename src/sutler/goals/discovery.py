"""Locate and load goals: from the nearest `.sutler/` or `.claw/` above the current folder, from the
user's configuration, and from the package."""

from __future__ import annotations

import difflib
import os
import re
import stat
import sys
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from sutler.errors import SutlerError, UsageError
from sutler.goals.claw import ClawFile
from sutler.goals.goal import Goal, parse_goal
from sutler.paths import quote
from sutler.system import fs

Origin = Literal["local", "global", "shipped"]

MAX_FILES = 1000  # a goal's folder that is a whole project by mistake must not be read
MAX_PROMPT = 4 * 1024 * 1024  # the YAML parser takes many times this in memory
MAX_BYTES = 16 * 1024 * 1024  # a folder is held whole: its grant is a digest of all files
LOCAL_NAMES = (".sutler", ".claw")
_NO_NAME = r"[/\\\x00-\x1f:]"


class Base(Struct, frozen=True):
    """A directory that may hold `goals/` and `claw.yaml`. `own` is False for a project's directory,
    which needs trust."""

    path: str
    origin: Origin
    own: bool


class Found(Struct, frozen=True):
    """A goal with all files of its folder. The files are read once, so that trust, parser and
    renderer see the same bytes."""

    id: str
    goal: Goal
    base: Base
    files: dict[str, bytes]

    @property
    def folder(self) -> str:
        return os.path.join(self.base.path, "goals", self.id)


class Listed(Struct, frozen=True):
    """A row of the list of goals; `problem` is set if its prompt.yaml cannot be read."""

    id: str
    origin: Origin
    folder: str
    title: str = ""
    description: str = ""
    problem: str = ""


def find_bases(cwd: str, environ: Mapping[str, str], *, compat: bool = False) -> tuple[Base, ...]:
    """Return the bases, nearest first: the project's, the user's, then the shipped goals (not in
    compat)."""
    home = environ.get("HOME") or os.path.expanduser("~")
    bases = [*_local(os.path.abspath(cwd), home, compat), *_global(home, environ, compat)]
    if not compat:
        bases.append(Base(shipped_path(), "shipped", True))
    return tuple(bases)


def shipped_path() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "shipped")


def _local(cwd: str, home: str, compat: bool) -> list[Base]:
    """Return the bases of the nearest ancestor that has any; `.sutler` precedes `.claw`."""
    folder = cwd
    while True:
        names = [
            name
            for name in LOCAL_NAMES[1 if compat else 0 :]
            if os.path.isdir(os.path.join(folder, name))
        ]
        if names:
            # In the home folder `.sutler` is the user's own, not a project's.
            own = os.path.realpath(folder) == os.path.realpath(home)
            return [Base(os.path.join(folder, name), "local", own) for name in names]
        parent = os.path.dirname(folder)
        if parent == folder:
            return []
        folder = parent


def global_folders(home: str, environ: Mapping[str, str], *, compat: bool = False) -> list[str]:
    """Return the folders searched for the user's own goals, existing or not."""
    configured = environ.get("XDG_CONFIG_HOME", "")
    folder = configured if os.path.isabs(configured) else os.path.join(home, ".config")
    folders = [os.path.join(folder, name) for name in (("claw",) if compat else ("sutler", "claw"))]
    if sys.platform == "darwin":
        folders.append(os.path.join(home, "Library", "Application Support", "claw"))
    return folders


def _global(home: str, environ: Mapping[str, str], compat: bool) -> list[Base]:
    folders = global_folders(home, environ, compat=compat)
    return [Base(folder, "global", True) for folder in folders if os.path.isdir(folder)]


def check_name(name: str) -> str:
    """Return `name`, or raise UsageError if it has path parts or is hidden."""
    if not name or name.startswith(".") or re.search(_NO_NAME, name):
        raise UsageError(
            f"{quote(name)} is not a goal name",
            rule="a goal name is one plain name without path parts",
            next_step="see 'sutler goals list'",
        )
    return name


def has_goal(name: str, bases: Sequence[Base]) -> bool:
    """Return whether a goal has this name; an invalid name is not an error here."""
    plain = name and not name.startswith((".", "-")) and not re.search(_NO_NAME, name)
    return bool(plain) and any(
        os.path.isfile(os.path.join(base.path, "goals", name, "prompt.yaml")) for base in bases
    )


def find_goal(name: str, bases: Sequence[Base], *, compat: bool = False) -> Found:
    """Load the goal from the nearest base that has it."""
    check_name(name)
    for base in bases:
        if os.path.isfile(os.path.join(base.path, "goals", name, "prompt.yaml")):
            return load_goal(name, base, compat=compat)
    names = sorted({listed.id for listed in list_goals(bases)})
    close = difflib.get_close_matches(name, names, n=1)
    raise UsageError(
        f"Goal '{name}' not found in local or global configuration",
        next_step=f"did you mean '{close[0]}'?" if close else "see 'sutler goals list'",
    )


def load_goal(name: str, base: Base, *, compat: bool = False) -> Found:
    folder = os.path.join(base.path, "goals", name)
    files = _read_folder(folder, base)
    if "prompt.yaml" not in files:
        raise UsageError(
            f"{quote(folder)}/prompt.yaml is not a plain file inside {quote(base.path)}"
        )
    if len(files["prompt.yaml"]) > MAX_PROMPT:
        raise UsageError(f"{quote(folder)}/prompt.yaml is larger than {MAX_PROMPT:,} bytes")
    goal = parse_goal(files["prompt.yaml"], os.path.join(folder, "prompt.yaml"), compat=compat)
    return Found(name, goal, base, files)


def _read_folder(folder: str, base: Base) -> dict[str, bytes]:
    """Read every regular file below a goal's folder, by relative path. Links that leave the base
    are not followed: a project must not pull other files of the user into a prompt."""
    top = os.path.realpath(base.path)
    files: dict[str, bytes] = {}
    total = 0
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            data = _read_inside(os.path.join(here, name), top)
            if data is None:
                continue
            files[os.path.relpath(os.path.join(here, name), folder).replace(os.sep, "/")] = data
            total += len(data)
            if len(files) > MAX_FILES or total > MAX_BYTES:
                raise UsageError(
                    f"the goal folder {quote(folder)} is too large",
                    rule=f"at most {MAX_FILES:,} files and {MAX_BYTES // 1024 // 1024} MiB",
                    next_step="keep only what the prompt includes beside it",
                )
    return files


def _read_inside(path: str, top: str) -> bytes | None:
    real = os.path.realpath(path)
    if os.path.commonpath([real, top]) != top:
        return None
    try:
        # O_NONBLOCK: opening a named pipe must not block.
        fd = fs.open(real, fs.O_RDONLY | fs.O_NONBLOCK | fs.O_NOFOLLOW | fs.O_CLOEXEC)
    except OSError:  # an unreadable file counts as missing
        return None
    try:
        if not stat.S_ISREG(fs.fstat(fd).st_mode):
            return None
        with os.fdopen(fs.dup(fd), "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    finally:
        fs.close(fd)


def list_goals(bases: Sequence[Base], *, compat: bool = False) -> tuple[Listed, ...]:
    """List the goals of all bases, sorted by name, then nearest first. In compat an invalid file
    raises."""
    rows: list[tuple[str, int, Listed]] = []
    for rank, base in enumerate(bases):
        folder = os.path.join(base.path, "goals")
        for name in sorted(fs.listdir(folder)) if os.path.isdir(folder) else []:
            if os.path.isfile(os.path.join(folder, name, "prompt.yaml")) and not name.startswith(
                "."
            ):
                rows.append((name, rank, _listed(name, base, compat)))
    return tuple(listed for _, _, listed in sorted(rows, key=lambda item: item[:2]))


def _listed(name: str, base: Base, compat: bool) -> Listed:
    folder = os.path.join(base.path, "goals", name)
    try:
        goal = load_goal(name, base, compat=compat).goal
    except SutlerError as error:
        if compat:
            raise
        return Listed(name, base.origin, folder, problem=error.what)
    return Listed(name, base.origin, folder, goal.name, " ".join((goal.description or "").split()))


def claw_files(bases: Sequence[Base]) -> tuple[ClawFile, ...]:
    """Return the claw.yaml of each base that has one, nearest first."""
    files: list[ClawFile] = []
    for base in bases:
        path = os.path.join(base.path, "claw.yaml")
        data = _read_inside(path, os.path.realpath(base.path)) if os.path.isfile(path) else None
        if data is not None:
            files.append(ClawFile(path, data, base.own))
    return tuple(files)
