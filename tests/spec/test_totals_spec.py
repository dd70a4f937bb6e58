"""Summary, report, receipt, page and scan count the files of one tree alike."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Plant, Sutler


@pytest.fixture
def folder(plant: Plant) -> Path:
    """Files in, an ignored file, a credential, a binary, and a folder with more than is counted."""
    folder = plant(
        {
            "a.py": "x = 1\n",
            "b.md": "# B\n",
            ".gitignore": "skipped.txt\n",
            "skipped.txt": "no\n",
            "versions.env": "no\n",
            "image.png": "no\n",
        }
    )
    many = folder / "node_modules" / "lib"
    many.mkdir(parents=True)
    for number in range(1_010):
        (many / f"{number}.js").write_text("")
    return folder


def test_totals_agree(folder: Path, sutler: Sutler, tmp_path: Path) -> None:
    """A count that stopped at a limit says so with a plus in every place."""
    receipt_file, page = tmp_path / "receipt.json", tmp_path / "page.html"
    words = ("-o", str(tmp_path / "p.md"), "--receipt", str(receipt_file), "--report", str(page))
    ran = sutler("pack", *words, cwd=folder)
    assert ran.code == 0, ran.err
    report = json.loads(sutler("pack", "--json", cwd=folder).out)["report"]
    scanned = sutler("scan", cwd=folder)
    receipt = json.loads(receipt_file.read_text())
    info = receipt["context_pack_info"]

    packed = re.search(r"packed\s+([\d,]+) of ([\d,]+)\+ files", ran.err)
    assert packed, ran.err
    included, total = (int(number.replace(",", "")) for number in packed.groups())
    assert info["files_included"] == included == len(report["shown"])
    assert info["files_scanned"] == total
    out = sum(item["count"] for item in report["excluded"] if item["rule"]["source"] != "git")
    assert info["files_excluded"] == out == total - included
    assert receipt["capped"] == ["pattern"]
    assert "1,000+ dependency dir" in ran.err
    assert "1,000+ dependency dir" in scanned.out.decode() + scanned.err
    assert re.search(rf"{included} of {total:,}\+; left out: .*1,\d+\+ pattern", page.read_text())


def test_credentials_are_counted_in_the_pack(folder: Path, sutler: Sutler) -> None:
    """A name that is a credential's is not shown; the pack says that there is one."""
    text = sutler("pack", cwd=folder).out.decode()
    assert "left out by name: ./ 1 file named like credentials" in text
    assert "versions.env" not in text
