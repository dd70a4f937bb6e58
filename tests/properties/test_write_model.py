"""All tools that write, outside edits and restarts in any order, against a model: a dict of what
each file holds.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from sutler.edits.writer import Writer
from sutler.errors import ConflictError, SutlerError
from tests.limits import exit_code
from tests.stores import FUZZ
from tests.writers import free_door

NAMES = st.sampled_from(["a.txt", "b.txt", "c/d.txt"])
TEXTS = st.lists(st.sampled_from(["x", "y", "z", "", "long line"]), max_size=6).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


class Writes(RuleBasedStateMachine):
    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.top = tempfile.mkdtemp()
        self.tree, self.state = f"{self.top}/tree", f"{self.top}/state"
        Path(self.tree).mkdir()
        self.files: dict[str, str] = {}
        self.written: dict[str, list[str]] = {}
        self.open()

    def open(self) -> None:
        self.stack = ExitStack()
        self.door = self.stack.enter_context(free_door(self.tree, self.state, url=self.url))
        self.writer = Writer(self.door)

    def teardown(self) -> None:
        self.stack.close()
        shutil.rmtree(self.top)

    def now(self, name: str, text: str) -> None:
        if self.files.get(name) != text:
            self.written.setdefault(name, []).append(text)
        self.files[name] = text

    @rule(name=NAMES, text=TEXTS)
    def write(self, name: str, text: str) -> None:
        self.writer.write_file(name, text, base="any")
        self.now(name, text)

    @rule(name=NAMES, text=TEXTS)
    def create(self, name: str, text: str) -> None:
        try:
            self.writer.write_file(name, text, mode="create")
        except ConflictError:
            assert name in self.files
        else:
            assert name not in self.files
            self.now(name, text)

    @rule(name=NAMES, text=TEXTS)
    def append(self, name: str, text: str) -> None:
        self.writer.write_file(name, text, mode="append")
        self.now(name, self.files.get(name, "") + text)

    @rule(name=NAMES, old=st.sampled_from(["x\n", "y\nz\n", "long"]), new=TEXTS)
    def edit(self, name: str, old: str, new: str) -> None:
        text = self.files.get(name, "")
        try:
            self.writer.edit(name, old, new, base="any")
        except ConflictError:
            assert text.count(old) != 1
        else:
            assert text.count(old) == 1
            self.now(name, text.replace(old, new))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        try:
            self.writer.apply_patch(
                f"*** Begin Patch\n*** Delete File: {name}\n*** End Patch", base="any"
            )
        except ConflictError:
            assert name not in self.files
        else:
            del self.files[name]

    @rule(name=NAMES, text=TEXTS)
    def outside(self, name: str, text: str) -> None:
        path = Path(self.tree) / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        self.files[name] = text

    @rule(name=NAMES, data=st.data())
    def rollback(self, name: str, data: st.DataObject) -> None:
        if self.written.get(name):
            text = data.draw(st.sampled_from(self.written[name]))
            self.writer.rollback(name, sha256(text.encode()).hexdigest())
            self.now(name, text)

    @rule(name=NAMES)
    def refused(self, name: str) -> None:
        for bad in ("nonsense", f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-nowhere\n+x\n"):
            try:
                self.writer.apply_patch(bad)
            except SutlerError:
                continue
            raise AssertionError("applied")

    @rule(name=NAMES, text=TEXTS)
    def reply(self, name: str, text: str) -> None:
        self.writer.apply_reply(f"````text {name}\n{text}````\n", base="any")
        self.now(name, text)

    @rule(name=NAMES, text=TEXTS)
    def take_back(self, name: str, text: str) -> None:
        """A call and its undoing leave the file as it was."""
        before = self.files.get(name)
        done = self.writer.write_file(name, text, base="any")
        if before == text:
            return
        self.writer.rollback_call(done.call)
        if before is None:
            self.written.setdefault(name, []).append(text)
        else:
            self.now(name, text)
            self.now(name, before)

    @rule(name=NAMES, text=TEXTS, at=st.integers(1, 14))
    def crash(self, name: str, text: str, at: int) -> None:
        """The process ends at its at-th call to the disk; the file is old or new, and the next
        start says which.
        """
        self.stack.close()
        child = os.fork()
        if not child:
            try:
                with free_door(self.tree, self.state, url=self.url) as door:
                    _end_at(at)
                    Writer(door).write_file(name, text, base="any")
            finally:
                os._exit(0)
        exit_code(child)
        self.open()
        path = Path(self.tree) / name
        found = path.read_text() if path.exists() else None
        assert found in (self.files.get(name), text)
        if found is not None:
            self.now(name, found)

    @rule()
    def restart(self) -> None:
        self.stack.close()
        self.open()

    @invariant()
    def files_are_what_the_model_says(self) -> None:
        found = {
            str(path.relative_to(self.tree)): path.read_text()
            for path in sorted(Path(self.tree).rglob("*"))
            if path.is_file()
        }
        assert found == self.files
        assert self.door.gate.store.pending() == ()


def _end_at(count: int) -> None:
    """From now on the count-th write, sync, link, rename or unlink of this process is its end."""
    left = [count]

    def last(call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **named: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                os._exit(9)
            return call(*args, **named)

        return step

    for name in ("write", "fsync", "link", "rename", "unlink", "mkdir"):
        setattr(os, name, last(getattr(os, name)))


def _settings(examples: float) -> settings:
    return settings(
        max_examples=max(1, int(examples * FUZZ)),
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


Writes.TestCase.settings = _settings(8)
test_writes_follow_the_model = Writes.TestCase


def test_writes_follow_the_model_on_postgres(postgres_url: str) -> None:
    class Shared(Writes):
        url = postgres_url

    run_state_machine_as_test(Shared, settings=_settings(2))
