"""Every rule is linear: none gets lost in a text that was made to lose it in."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from sutler.secrets import format_table as table
from sutler.secrets.grammar import TRIGGERS, head
from sutler.secrets.redactor import redact

SIZE = 100_000 * int(os.environ.get("SUTLER_FUZZ", "1"))
_UNITS = (
    "key", "key=", "key: ", "key.key-", "key=a(a(a(", "password\"' ", "key=' ", '"', "'", '\\"', "&quot;", "://a:", "<key ", "-p ",
    "name: key", "azure=", "identified by ", "basic+", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "%2fa", "\\u0041",
    "key=a || ", "key: a[a[a", "key={{{{", "passwordpasswd", "secret: \"", "tokens: [\"a\",", "a@tcp:", "eyJ.", "-eyJ", "Ab0/", "é", "key=é",
)  # fmt: skip


def fill(unit: str) -> str:
    return (unit * (SIZE // len(unit) + 1))[:SIZE]


@contextmanager
def cpu_seconds(limit: float) -> Iterator[None]:
    """A hard stop in CPU time: a rule that is not linear needs hours, so the limit may be
    generous.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        pytest.fail(f"not linear: more than {limit} CPU seconds on {SIZE} characters")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_no_format_gets_lost() -> None:
    for entry in table.formats():
        word = entry.words[0]
        hostile = (
            fill(word),
            fill(f"-{word}"),
            word + fill("a1B"),
            fill(word + "a" * 30),
            fill("Ab0/"),
            fill("0-"),
        )
        with cpu_seconds(10):
            for text in hostile:
                sum(1 for _ in table.pattern(entry.core).finditer(text))


@pytest.mark.parametrize("trigger", range(len(TRIGGERS)))
def test_no_head_gets_lost(trigger: int) -> None:
    for unit in _UNITS:
        with cpu_seconds(10):
            sum(1 for _ in head(trigger).finditer(fill(unit.lower())))


@pytest.mark.parametrize("unit", _UNITS)
def test_redaction_does_not_get_lost(unit: str) -> None:
    with cpu_seconds(30):
        redact(fill(unit), "a.yml", key=b"k" * 32)
