from __future__ import annotations

import pytest

from sutler.edits.merge import Clash, lines_of, merge

BASE = b"1\n2\n3\n4\n5\n"


def test_changes_apart_are_both_kept() -> None:
    assert merge(BASE, b"one\n2\n3\n4\n5\n", b"1\n2\n3\n4\nfive\n").data == b"one\n2\n3\n4\nfive\n"


def test_changes_of_one_line_clash() -> None:
    found = merge(BASE, b"1\n2\nours\n4\n5\n", b"1\n2\ntheirs\n4\n5\n")
    assert found.data == b""
    assert found.clashes == (Clash((3, 3, 3), (b"3\n",), (b"ours\n",), (b"theirs\n",)),)


def test_changes_that_touch_clash() -> None:
    assert merge(BASE, b"1\nours\n3\n4\n5\n", b"1\n2\ntheirs\n4\n5\n").clashes


@pytest.mark.parametrize("same", [b"1\n2\nx\n4\n5\n", b"", b"1\n2\n3\n4\n5"])
def test_the_same_change_on_both_sides_is_one_change(same: bytes) -> None:
    assert merge(BASE, same, same).data == same


@pytest.mark.parametrize("data", [b"", b"a", b"a\n", b"a\r\nb\rc\x0c\n\xff", b"\n\n"])
def test_lines_join_to_the_same_bytes(data: bytes) -> None:
    assert b"".join(lines_of(data)) == data
