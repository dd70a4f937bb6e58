"""Trees to measure on: source distributions by name, any folder, or a folder multiplied.

Everything lives in a cache outside the repository: `--cache`, SUTLER_BENCH_CACHE or the user's
cache folder.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

# No source distribution alone holds the 50,000 files of a large tree, so three real ones stand side
# by side.
NAMED = {
    "small": ("flask",),
    "medium": ("django",),
    "large": ("ansible", "msgraph-beta-sdk", "django"),
}

_REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SNIFF = 8192


class Census(NamedTuple):
    """The text files of a tree, in order, and their size. The floor reads exactly these."""

    files: tuple[str, ...]
    size: int


class Corpus(NamedTuple):
    name: str
    root: str
    tier: str
    census: Census


def cache_folder(given: str | None) -> str:
    """The cache, made if need be. It may not lie in the repository: corpora are large and not
    ours.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.realpath(
        given or os.environ.get("SUTLER_BENCH_CACHE") or os.path.join(home, "sutler-bench")
    )
    if os.path.commonpath([folder, os.path.realpath(_REPOSITORY)]) == os.path.realpath(_REPOSITORY):
        raise SystemExit(
            f"cache folder {folder} lies inside the repository; name one outside with --cache"
        )
    os.makedirs(folder, exist_ok=True)
    return folder


def corpus(name: str, cache: str) -> Corpus:
    """A named corpus (fetched on first use) or any folder; a folder's size decides which bars
    apply.
    """
    if name in NAMED:
        root = _named(name, cache)
        return Corpus(name, root, name, census(root))
    if not os.path.isdir(name):
        raise SystemExit(f"no folder {name}; give a folder or one of {', '.join(NAMED)}")
    root = os.path.realpath(name)
    counted = census(root)
    return Corpus(os.path.basename(root) or "root", root, tier(len(counted.files)), counted)


def tier(files: int) -> str:
    """Which of the three sizes a tree counts as."""
    return "small" if files < 2_000 else "medium" if files < 30_000 else "large"


def census(root: str) -> Census:
    """Every regular text file below root, links not followed, .git left out."""
    files: list[str] = []
    size = 0
    for path in _regular_files(root):
        if not _is_binary(path):
            files.append(path)
            size += os.path.getsize(path)
    return Census(tuple(files), size)


def multiplied(source: Corpus, factor: int, cache: str) -> Corpus:
    """The tree `factor` times over, in numbered folders, each text file of a copy made unlike its
    twins.

    Equal files would let a cache by content digest answer for seven copies out of eight.
    """
    folder = os.path.join(
        cache, "multiplied", f"{source.name}-{len(source.census.files)}-x{factor}"
    )
    if not os.path.isdir(folder):
        part = _fresh(folder + ".part")
        for number in range(factor):
            _copy(source.root, os.path.join(part, f"copy{number}"), f"\n# copy {number}\n".encode())
        os.rename(part, folder)
    return Corpus(f"{source.name} x{factor}", folder, "", census(folder))


def _named(name: str, cache: str) -> str:
    folder = os.path.join(cache, "corpora", name)
    if not os.path.isdir(folder):
        part = _fresh(folder + ".part")
        for package in NAMED[name]:
            print(f"fetching the source distribution of {package} …", file=sys.stderr)
            _fetch(package, part)
        os.rename(part, folder)
    return folder


def _fresh(folder: str) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def _fetch(package: str, into: str) -> None:
    """Download by name from whatever index pip is set up for, and unpack.

    Only the package itself must be a source distribution: its build tools may come as wheels,
    because pip runs the build back-end once for the metadata. That is the package's own code, so
    name only packages that you would install.
    """
    with tempfile.TemporaryDirectory() as folder:
        words = [
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-binary",
            package,
        ]
        done = subprocess.run(
            [sys.executable, "-m", *words, "--dest", folder, package],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        if done.returncode != 0:
            raise SystemExit(
                f"pip could not download {package}: {done.stderr.strip().splitlines()[-1:]}"
            )
        for archive in sorted(os.listdir(folder)):
            unpack(os.path.join(folder, archive), into)


def unpack(archive: str, into: str) -> None:
    """Unpack regular files and folders alone: no links, no devices, nothing outside the folder."""
    if not hasattr(tarfile, "data_filter"):
        raise SystemExit(
            "this Python cannot unpack safely (tarfile.data_filter); use 3.11.4 or later"
        )
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isreg() or member.isdir():
                tar.extract(member, into, filter="data")


def _regular_files(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f != ".git")
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def _is_binary(path: str) -> bool:
    with open(path, "rb") as file:
        return b"\0" in file.read(_SNIFF)


def _copy(source: str, target: str, tail: bytes) -> None:
    for path in _regular_files(source):
        to = os.path.join(target, os.path.relpath(path, source))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(path, "rb") as file:
            data = file.read()
        with open(to, "wb") as file:
            file.write(data if b"\0" in data[:_SNIFF] else data + tail)
