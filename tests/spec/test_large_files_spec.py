"""Large files are answered from a bounded part of them, and their secrets stay hidden there too."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from sutler.access import large_files, pages
from sutler.access.door import Door
from sutler.access.pages import WHOLE
from sutler.errors import RefusedError
from tests.conftest import FUZZ
from tests.doors import OpenDoor

MIB = 1 << 20
SIZE = min(300, int(12 * FUZZ)) * MIB
"""12 MiB in the short run, 300 MiB from SUTLER_FUZZ=25 on."""


def big(door: Door, name: str) -> Path:
    return Path(door.root.host_path) / name


@pytest.fixture
def door(open_door: OpenDoor) -> Door:
    return open_door({"small": "x\n"})


def test_lines_of_a_large_file_are_exact(door: Door) -> None:
    """Any range of a file too large to hold is found, without holding it."""
    with open(big(door, "big"), "w") as file:
        count = SIZE // 100
        for start in range(1, count + 1, 1000):
            file.writelines(
                f"{n:09d} {'x' * 89}\n" for n in range(start, min(start + 1000, count + 1))
            )
    tracemalloc.start()
    for line in (1, 2, count // 2, count - 1, count):
        found = door.read_lines("big", line, line)
        assert (found.text[:9], found.first, found.last) == (f"{line:09d}", line, line)
    assert door.read_lines("big", count + 1, count + 9).text == ""
    assert door.read_lines("big", count, count + 9).total == count
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * MIB


def test_a_key_in_a_large_file_is_hidden_from_every_offset(door: Door) -> None:
    """A range inside a key block is redacted although only a part of the file is looked at."""
    key = "-----BEGIN KEY-----\n" + "secretsecretsecret\n" * 40 + "-----END KEY-----\n"
    filler = "plain line\n" * (WHOLE // 22)
    big(door, "big").write_text(filler + key + filler)
    first = WHOLE // 22 + 1
    for line in range(first, first + 42, 3):
        assert "secret" not in door.read_lines("big", line, line + 3).text
    assert door.read_lines("big", first - 1, first - 1).text == "plain line\n"
    assert door.read_lines("big", first + 42, first + 42).text == "plain line\n"


def test_a_large_file_in_parts_is_the_whole_file(door: Door) -> None:
    """Following the cursor from part to part leaves nothing out and repeats nothing."""
    text = "".join(f"{n} {'é' * (n % 200)}\n" for n in range(40_000))
    big(door, "big").write_text(text)
    part = door.read_file("big")
    parts = [part.text]
    while part.next:
        part = door.read_file("big", cursor=part.next)
        parts.append(part.text)
    assert "".join(parts) == text
    assert part.total == 40_000


def test_a_key_at_the_edge_of_a_part_is_hidden(door: Door) -> None:
    """A part ends before a key that begins near its end, or shows it redacted: never its first
    lines.
    """
    key = "-----BEGIN KEY-----\n" + "secretsecretsecret\n" * 40 + "-----END KEY-----\n"
    for shift in range(0, 1_000, 90):
        head = "plain line\n" * ((120_000 - shift) // 11)
        big(door, "big").write_text(head + key + "plain line\n" * (WHOLE // 11))
        part = door.read_file("big")
        assert "secret" not in part.text
        assert "secret" not in door.read_file("big", cursor=part.next).text


def test_a_single_line_is_cut_and_said_to_be(door: Door) -> None:
    """A 20 MB line gives its beginning, marked as cut."""
    big(door, "line").write_bytes(b"y" * (20 * MIB))
    found = door.read_file("line")
    assert (found.truncated, found.first, found.last, len(found.text)) == (True, 1, 1, 95_000)


def test_a_sparse_terabyte_is_refused_as_binary(door: Door) -> None:
    """Holes are zeros, zeros are not text, and nobody reads them all to find out."""
    with open(big(door, "sparse"), "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RefusedError, match="is not text"):
        door.read_file("sparse")


def test_the_text_around_a_sparse_terabyte_is_read(door: Door) -> None:
    """Holes are stepped over: they hold no line ends."""
    with open(big(door, "sparse"), "wb") as file:
        file.write(b"text line\n" * 1_000)
        file.seek(1 << 40)
        file.write(b"\nlast line\n")
    assert door.read_lines("sparse", 1_000, 1_000).text == "text line\n"
    assert door.read_lines("sparse", 1_002, 1_002).text == "last line\n"
    assert door.read_lines("sparse", 5_000, 5_001).text == ""


def test_a_line_beyond_the_counted_part_is_refused(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting lines has an end, and says where it is."""
    monkeypatch.setattr(large_files, "SCANNED", 1 * MIB)
    monkeypatch.setattr(pages, "SCANNED", 1 * MIB)  # the limit that the message names
    big(door, "big").write_text("x\n" * (WHOLE // 2 + 1))
    with pytest.raises(RefusedError, match="lies beyond the first 1 MiB"):
        door.read_lines("big", WHOLE // 2, WHOLE // 2)


def test_a_growing_file_is_read_to_the_size_it_had(door: Door) -> None:
    """Reading ends although the writer does not."""
    path = big(door, "log")
    path.write_text("entry\n" * (WHOLE // 6 + 1))
    with open(path, "a") as writer:
        found = door.read_file("log")
        writer.write("more\n" * 100)
    assert found.text.startswith("entry\n")
    assert os.path.getsize(path) > WHOLE


def test_a_search_passes_large_files_over(door: Door) -> None:
    """What is not searched is counted, never silently missing."""
    big(door, "big").write_text("needle\n" * (WHOLE // 7 + 1))
    found = door.search("needle")
    assert (found.hits, found.skipped) == ((), 1)
