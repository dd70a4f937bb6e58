from __future__ import annotations

import itertools

import pytest

from sutler.edits.portable import unportable

DEVICES = [
    "CON",
    "prn",
    "Aux",
    "NUL",
    "CONIN$",
    "conout$",
    *(f"COM{n}" for n in range(10)),
    *(f"lpt{n}" for n in range(10)),
]
ENDINGS = ["", ".txt", ".tar.gz", " .c"]
FORMS = [
    "a.txt:stream", "a.txt::$DATA", ".env::$DATA", "C:", "C:x", "C:\\x", "c:/x", "\\\\?\\C:\\x", "\\\\server\\share",
    "\\\\.\\pipe\\x", "a\\b", "..\\up", "\\abs", "sub\\..\\x", "a.", "a..", "a ", "a. .", "sub./x", "sub /x", ".env.",
    ".env ", ".git ", ".git.", "GIT~1", "git~2", "GIT~1/config", "PROGRA~1", "ENV~1", "LONGNA~1.TXT", "a<b", "a>b",
    'a"b', "a|b", "a?b", "a*b", "tab\there", "bell\x07", "new\nline", "del\x7f", "com¹", "LPT².txt", "deep/nul/x",
]  # fmt: skip
REFUSED = [*map("".join, itertools.product(DEVICES, ENDINGS)), *FORMS]
PLAIN = [
    "a", "a.txt", ".env", ".git", "src/app.py", "con-fig.py", "console.c", "auxiliary.h", "nullable.ts", "com10.txt",
    "com.txt", "comma", "lpt", "a b.txt", "ü.md", "日本.txt", "file~", "file.txt~", "~", "~user", "a~b", "$HOME", "%2e",
    "[id].tsx", "(group)/page.tsx", "@scope/pkg", "a+b.c", "a,b", "a;b", "a'b", "a=b", "a&b", "#x#", ".#x", "x.con",
    "longerstem~1",
]  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_some_platform_cannot_have(name: str) -> None:
    assert unportable(name)
    assert unportable(f"sub/{name}/x")


def test_the_table_is_long_enough() -> None:
    assert len(REFUSED) >= 120


@pytest.mark.parametrize("name", PLAIN)
def test_ordinary_names_are_not_over_refused(name: str) -> None:
    assert unportable(name) == ""
