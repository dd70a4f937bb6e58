"""The last commits of a repository, read as objects.

A hostile `.git/config` makes most git commands run programs. Here only plumbing that compares trees
and prints messages runs (`rev-list`, `diff-tree --name-only`), with a clean environment, the
repository named explicitly, and every setting that could start a program switched off: no
attributes, filters, text conversion, pager, hook, signature check, replacement object or lazy fetch
takes part."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from sutler.scan.git import Repository, read_plain
from sutler.scan.root import DESCRIPTORS

MAX_COMMITS = 3_000  # older commits are weak evidence, and git takes seconds to print more
_MAX_MESSAGE = 2_000  # a merge may quote a hundred others
_MAX_PATHS = 100  # a commit that touches everything relates no files
_TIMEOUT = 60  # git may wait for a lock or a network file system
_COMMIT = re.compile(rb"[0-9a-f]{40,64}\n?")
_BRANCH = re.compile(rb"ref: (refs/heads/[\w./-]+)\n?")

SETTINGS = (
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "core.sshCommand=false",
    "diff.external=",
    "diff.renames=false",
    "gpg.program=false",
    "log.showSignature=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",  # a tree may hold a repository with settings of its own
)
"""With these, over those of any file, git starts no program and opens no connection. Every call of
git has them; `remote` allows what a fetch needs beside them."""
ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


def options(settings: Iterable[str]) -> list[str]:
    """Return settings as options of git; the last of equal ones applies."""
    return [word for setting in settings for word in ("-c", setting)]


class Commit(Struct, frozen=True, gc=False, array_like=True):
    """One commit: its message and the paths that it touched."""

    id: str
    message: str
    paths: tuple[str, ...]


def head_of(repository: Repository) -> str:
    """Return the commit of HEAD, or "" if there is none yet. Plain ref files are read directly,
    which is a hundred times faster than starting git."""
    text = read_plain(os.path.join(repository.git_dir, "HEAD")) or b""
    if _COMMIT.fullmatch(text):
        return text.decode("ascii").strip()
    named = _BRANCH.fullmatch(text)
    if named is not None and b".." not in text:
        place = os.path.join(repository.common, os.fsdecode(named[1]))
        branch = read_plain(place) or b""
        if _COMMIT.fullmatch(branch):
            return branch.decode("ascii").strip()
        others = (os.path.join(repository.common, name) for name in ("packed-refs", "reftable"))
        if not any(map(os.path.lexists, (place, *others))):
            return ""  # a branch that has no commit yet
    return (
        plumbing(repository.git_dir, ["rev-list", "--max-count=1", "HEAD", "--"])
        .decode("ascii", "replace")
        .strip()
    )


def read_history(git_dir: str, limit: int = MAX_COMMITS) -> tuple[Commit, ...]:
    """Return the last `limit` commits, newest first; none without a readable history."""
    listed = plumbing(git_dir, ["rev-list", f"--max-count={limit}", "HEAD", "--"])
    return read_commits(git_dir, listed.decode("ascii", "replace").split())


def read_commits(git_dir: str, ids: Sequence[str]) -> tuple[Commit, ...]:
    """Return messages and touched paths of the named commits, in the given order. Merges touch
    nothing."""
    words = [
        "diff-tree",
        "--stdin",
        "--root",
        "-r",
        "-z",
        "--name-only",
        "--no-renames",
        "--no-ext-diff",
    ]
    words += ["--no-textconv", "--always", "--format=%x01%H%x00%B%x02"]
    out = plumbing(git_dir, words, "".join(f"{id_}\n" for id_ in ids).encode("ascii"))
    return tuple(_commit(record) for record in out.split(b"\x01") if b"\x02" in record)


def _commit(record: bytes) -> Commit:
    head, _, rest = record.partition(b"\x02")
    id_, _, message = head.partition(b"\0")
    paths = [path for path in rest.strip(b"\0\n").split(b"\0") if path]
    return Commit(
        id=id_.decode("ascii", "replace"),
        message=message.decode("utf-8", "replace").strip()[:_MAX_MESSAGE],
        # a commit that touches everything relates no files
        paths=() if len(paths) > _MAX_PATHS else tuple(_speakable(paths)),
    )


def _speakable(paths: Iterable[bytes]) -> Iterator[str]:
    """Yield the paths that are UTF-8: commits are stored as text, and no task names the others."""
    for path in paths:
        try:
            yield path.decode()
        except UnicodeDecodeError:  # no task could name it
            continue


def plumbing(git_dir: str, words: Sequence[str], given: bytes = b"") -> bytes:
    """Return the output of git plumbing, or b"" if git is missing, refuses, or takes too long."""
    import subprocess  # not needed while the cached commits are valid

    environment = {
        key: os.environ[key] for key in ("PATH", "SYSTEMROOT") if key in os.environ
    } | ENVIRONMENT
    command = ["git", *options(SETTINGS), "--git-dir", git_dir, *words]
    # A path below a root's anchor names a descriptor of ours, which git has to inherit.
    anchored = git_dir.startswith(DESCRIPTORS)
    kept = (int(git_dir[len(DESCRIPTORS) :].partition("/")[0]),) if anchored else ()
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            env=environment,
            timeout=_TIMEOUT,
            check=False,
            pass_fds=kept,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""
