"""A tree from git's objects as a folder: the rules of a project decide as in a checkout."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sutler.fleet.export import export, sketch
from sutler.pack.project import Project
from tests.limits import LIMIT

FILES = {
    "app.py": "import os\n",
    "build/kept.py": "BUILT = 1\n",
    "notes.tmpl": "tracked although it is ignored\n",
    ".gitignore": "*.tmpl\nbuild/\n",
    ".sutlerignore": "secret/\n",
    "secret/plan.md": "plan\n",
    "docs/ünïcode name.md": "text\n",
    ".env": "TOKEN=x\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    top = tmp_path / "work"
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    os.symlink("/etc/passwd", top / "link")
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "-A", "-f"),
        ("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "first"),
    ):
        subprocess.run(["git", "-C", str(top), *words], check=True, timeout=LIMIT)
    return top


@pytest.mark.parametrize("make", [export, sketch])
def test_the_same_files_are_admitted_as_in_the_checkout(checkout: Path, make: object) -> None:
    """Tracked files pass ignore rules of git, own rules hold, links and credentials stay out."""
    assert callable(make)
    there = str(checkout.parent / "there")
    blobs = make(str(checkout / ".git"), "HEAD", there)
    admitted = [
        [(entry.path, entry.size) for entry in Project(folder).scan().entries]
        for folder in (str(checkout), there)
    ]
    assert admitted[0] == admitted[1]
    assert "notes.tmpl" in dict(admitted[1])
    assert sorted(blobs) == sorted(FILES)


def test_a_sketch_holds_contents_of_rule_files_only(checkout: Path) -> None:
    there = checkout.parent / "there"
    sketch(str(checkout / ".git"), "HEAD", str(there))
    assert (there / ".gitignore").read_text() == FILES[".gitignore"]
    assert (there / "app.py").read_bytes() == bytes(len(FILES["app.py"]))
    assert not (there / "link").is_symlink()


def test_git_reads_the_index_of_an_export(checkout: Path) -> None:
    """Git is the judge of the index that names the files."""
    there = checkout.parent / "there"
    export(str(checkout / ".git"), "HEAD", str(there))
    listed = subprocess.run(
        ["git", "-C", str(there), "ls-files", "-z"], capture_output=True, check=True, timeout=LIMIT
    )
    assert sorted(filter(None, listed.stdout.decode().split("\0"))) == sorted(FILES)
