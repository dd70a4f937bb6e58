"""Whatever files hold and are called, they come back from a pack without redaction, and watching
changes nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from sutler import Project
from sutler.formats import parse
from sutler.formats.document import Format
from sutler.pack.project import Packing
from sutler.scan.text import decode
from tests.properties.test_render_round_trip import BITS, FUZZ, NAMES

ODD = (
    b"",
    b"\xff",
    b"\0",
    b"\xef\xbb\xbf",
    "é".encode("latin-1"),
    "wide".encode("utf-16"),
    b"\xde\x12\4\x95\0\0\0\0" * 9,
)


def some_bytes(random: Random) -> bytes:
    text = "".join(random.choice(BITS) for _ in range(random.choice((0, 1, 3, 30))))
    if random.random() < 0.5:
        text = text.replace("\0", "").replace("```", "``")  # most files are plain
    return text.encode() + (random.choice(ODD) if random.random() < 0.2 else b"")


def planted(folder: Path, random: Random) -> dict[str, bytes]:
    """Files of any content under any name that a file can have."""
    files: dict[str, bytes] = {}
    for number in range(random.randrange(1, 40)):
        name = (
            f"{number}{random.choice(NAMES)}"
            if random.random() < 0.5
            else f"{number}.{random.choice('cmp')}"
        )
        name = name.replace("/", "").replace("\ud800", "")  # no file can be called that
        path = folder / random.choice(("", "a", "a/b", "a b", "<c>")) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = some_bytes(random)
        path.write_bytes(data)
        path.chmod(random.choice((0o644, 0o755)))
        files[str(path.relative_to(folder))] = data
    return files


def packing(folder: Path, format: Format) -> Packing:
    return Project(folder).pack(
        format=format, counter="none", redact=False, default_excludes=False, cut_over=0, max_bytes=0
    )


@pytest.mark.parametrize("format", ["markdown", "xml"])
@pytest.mark.parametrize("seed", range(20 * FUZZ))
def test_files_come_back_as_they_are(tmp_path: Path, format: Format, seed: int) -> None:
    files = planted(tmp_path, Random(f"{format} {seed}"))
    plain, watched = packing(tmp_path, format), packing(tmp_path, format)
    watched.watch = lambda section: None
    text = plain.text()
    assert text == watched.text()
    assert plain.report == watched.report
    whole = {
        path: data
        for path, data in files.items()
        if (found := decode(data)) and found.encoding == "utf-8"
    }
    bodies = {
        os.fsencode(section.path): section.body.text.encode() for section in parse(text).sections
    }
    assert {path: bodies[os.fsencode(path)] for path in whole} == whole
