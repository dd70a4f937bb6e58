"""Repositories for the benches of the fleet: packages, and trees from the histories of mirrors."""

from __future__ import annotations

import random
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from bench.fleet.find import bare, git_dir_of
from bench.fleet.find import git as answer

NAMES = [
    "requests",
    "markupsafe",
    "itsdangerous",
    "blinker",
    "iniconfig",
    "pyparsing",
    "flask",
    "click",
    "jinja2",
    "werkzeug",
    "httpx",
    "attrs",
    "tox",
    "pluggy",
    "urllib3",
    "idna",
    "certifi",
    "packaging",
    "wheel",
    "platformdirs",
    "filelock",
    "typer",
    "starlette",
    "fastapi",
    "uvicorn",
    "h11",
    "anyio",
    "sniffio",
    "mako",
    "tomlkit",
    "toml",
    "markdown",
    "mistune",
    "bleach",
    "html5lib",
    "six",
    "python-dateutil",
    "pytz",
    "arrow",
    "tqdm",
    "colorama",
    "tabulate",
    "prettytable",
    "flake8",
    "pycodestyle",
    "pyflakes",
    "astroid",
    "jsonschema",
    "referencing",
    "kombu",
    "amqp",
    "vine",
    "gunicorn",
    "parsel",
    "w3lib",
    "lark",
    "ply",
    "parso",
    "traitlets",
    "nbformat",
]
LEAST, MOST = 20_000, 500_000
"""Bytes of the files of a mirror whose history is taken."""


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def plant(wheels: Path, top: Path, count: int) -> int:
    """Make a repository of each package; return the bytes of text."""
    size = 0
    for wheel in sorted(wheels.glob("*.whl"))[:count]:
        folder = top / wheel.name.partition("-")[0].lower()
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "as published")
        size += sum(
            path.stat().st_size
            for path in folder.rglob("*")
            if path.is_file() and ".git/" not in str(path)
        )
    return size


def fetch(folder: Path, count: int) -> None:
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*words, "-d", str(folder), *NAMES[:count]], check=True)


def touch(top: Path, share: float, rng: random.Random) -> tuple[int, int]:
    """Change this share of all Python files, and commit; return how many files and
    repositories."""
    files = sorted(path for path in top.rglob("*.py") if ".git/" not in str(path))
    chosen = rng.sample(files, max(1, int(len(files) * share)))
    for path in chosen:
        with path.open("a") as stream:
            stream.write("\nANOTHER_LINE = 1\n")
    folders = {top / path.relative_to(top).parts[0] for path in chosen}
    for folder in folders:
        git(folder, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qam", "a change")
    return len(chosen), len(folders)


def histories(mirrors: Path, top: Path, count: int) -> int:
    """Make a bare repository of each of `count` distinct trees, taken evenly from the histories of
    small mirrors; their objects stay there."""
    small = [git_dir for git_dir in _mirrors(mirrors) if LEAST < _size(git_dir) < MOST]
    made: set[str] = set()
    for number, git_dir in enumerate(small):
        rows = answer(git_dir, "log", "--first-parent", "--format=%H %T", "HEAD").split("\n")
        trees = {tree: commit for commit, tree in (row.split() for row in rows if row)}
        new = sorted(trees.keys() - made, key=list(trees).index)
        wanted = -(-(count - len(made)) // (len(small) - number))
        for tree in new[:: max(1, len(new) // max(1, wanted))][:wanted]:
            made.add(tree)
            bare(top / f"{git_dir.parts[-2]}.{len(made)}.git", git_dir, trees[tree])
    return len(made)


def _mirrors(folder: Path) -> Iterator[Path]:
    for mirror in sorted(folder.iterdir()):
        git_dir = git_dir_of(mirror)
        if (git_dir / "HEAD").exists():
            yield git_dir


def _size(git_dir: Path) -> int:
    rows = answer(git_dir, "ls-tree", "-r", "-l", "HEAD").split("\n")
    sizes = [row.split()[3] for row in rows if len(row.split()) > 4]
    return sum(int(size) for size in sizes if size.isdigit())
