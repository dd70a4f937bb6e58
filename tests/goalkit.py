"""What tests of goals share: a project with a goal, a run in this process, and programs that play
the model.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from sutler.config import resolve
from sutler.fronts.cli import main
from sutler.goals.runner import Hooks, Job, Prompt, run
from sutler.scan.judge import rules_for
from tests.conftest import Ran, Tree

Capture = pytest.CaptureFixture[bytes]
Files = dict[str, "str | bytes | Tree"]

PLAIN = "name: Plain\nprompt: |\n  Say {{ Args.word | default(value='hello') }}.\n"


class Run(NamedTuple):
    prompt: Prompt
    notes: list[str]

    @property
    def text(self) -> str:
        return self.prompt.text

    @property
    def section(self) -> str:
        return self.text.partition("\n\n# Context Files\n")[2]


def write_goal(folder: Path, name: str = "plain", text: str = PLAIN, base: str = ".sutler") -> Path:
    """A goal in a project's own folder; returns the goal's folder."""
    home = folder / base / "goals" / name
    home.mkdir(parents=True, exist_ok=True)
    (home / "prompt.yaml").write_text(text, "utf-8")
    return home


def configured(claw: str = "", prompt: str = "hello") -> Files:
    """A project's own folder with a claw.yaml and a goal named plain."""
    return {
        ".sutler": {
            "claw.yaml": claw,
            "goals": {"plain": {"prompt.yaml": f"name: P\nprompt: {prompt}\n"}},
        }
    }


GOAL_RULES = rules_for(resolve([]), "goal")


def cli(capfd: Capture, folder: Path, *words: str) -> Ran:
    """The command line in this process; programs that it starts are real ones."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        code = main.run(words)
    finally:
        os.chdir(before)
    out, err = capfd.readouterr()
    return Ran(code, out, err.decode())


def job(folder: Path, goal: str = "plain", *paths: str, mode: str = "strict") -> Job:
    """A job in `folder` with these context paths; strict, so that no test passes by ignoring a
    problem.
    """
    return Job(
        goal=goal,
        paths=paths,
        cwd=str(folder),
        environ={**os.environ, "XDG_STATE_HOME": str(folder.parent / "state")},
        mode=mode,  # type: ignore[arg-type]  # typed loosely here
    )


def go(work: Job, *words: str, answer: bool | None = None, depth: int | None = None) -> Run:
    """Run a job; `answer` is what the person says when asked, None means that nobody is there."""
    notes: list[str] = []

    def person(report: str) -> bool:
        notes.append(report)
        return bool(answer)

    work = replace(
        work, words=words or work.words, depth=depth if depth is not None else work.depth
    )
    return Run(run(work, Hooks(note=notes.append, ask=None if answer is None else person)), notes)


def trusted(work: Job) -> Job:
    """The same job after its goal has been trusted."""
    from sutler.goals.discovery import find_bases, find_goal
    from sutler.goals.trust import TrustStore, goal_digest

    found = find_goal(work.goal, find_bases(work.cwd, work.environ))
    TrustStore(work.environ).add(found.folder, goal_digest(found))
    return work


def program(folder: Path, name: str, body: str) -> Path:
    """An executable shell script."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@contextmanager
def without_privileges(folder: Path) -> Iterator[None]:
    """Root reads everything, so a test of denied files runs as nobody; `folder` and its parents
    become readable.
    """
    if os.geteuid() != 0:
        yield
        return
    chain = [folder, *folder.parents]
    modes = [(path, stat.S_IMODE(path.stat().st_mode)) for path in chain]
    for path, mode in modes:
        path.chmod(mode | 0o755)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for path, mode in modes:
            path.chmod(mode)
