"""Fetch a repository with git, hardened, and write its files without a checkout.

git does the transport and keeps the objects: no hooks, no filters, no submodules, no prompts, no
configuration of the user or the machine, one protocol, no redirects to another host. This module
writes the files from the objects, so that no checkout runs. Time and disk are bounded."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from sutler.errors import RefusedError, SutlerError
from sutler.paths import quote
from sutler.process import Bounds, capture
from sutler.remote.redirect import new_address
from sutler.remote.shelf import MOST_BYTES, Writer, fetched, plain_path, size_of
from sutler.remote.source import Remote
from sutler.scan.commits import ENVIRONMENT, SETTINGS, options

SECONDS = 300.0
"""Time limit for one call of git."""
LARGEST_FETCH = MOST_BYTES
"""Limit of a fetch in bytes of objects."""
_REDIRECTED = re.compile(r"returned error: 30\d")
_EXCEEDED = {"time": "long", "size": "much output", "room": "much room"}
_OUTPUT = 64 << 20  # a listing of as many files as are written fits
# Nothing else is passed on: git reads dozens of variables that name programs and files.
_PASSED_ON = (
    "PATH",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
)
_SSH = (
    "ssh -oBatchMode=yes -oProxyCommand=none -oPermitLocalCommand=no -oForwardAgent=no "
    "-oClearAllForwardings=yes -oStrictHostKeyChecking=yes -oConnectTimeout=20"
)
_SETTINGS = (
    *SETTINGS,
    "core.symlinks=false",
    "core.sshCommand=" + _SSH,
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "fetch.unpackLimit=1",  # one pack: loose objects would be as many files as the tree has
    "gc.auto=0",
    "maintenance.auto=false",
    "http.followRedirects=false",  # they may lead to any host; redirect.py asks for a rename
    "http.emptyAuth=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=20",
    "protocol.version=2",
    "transfer.fsckObjects=false",  # old histories fail it; paths are checked when they are written
    "uploadpack.packObjectsHook=",
)


def checkout(remote: Remote, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return a folder with the files of the wanted commit, and the older commit of a range or "".
    An earlier fetch is reused. A repository that its host has renamed is fetched from its new
    address."""
    try:
        return _checkout(remote, environ)
    except SutlerError as error:
        address = new_address(remote.url) if _REDIRECTED.search(error.what) else ""
        if not address:
            raise
    return _checkout(replace(remote, url=address), environ)


def mirror(remote: Remote, folder: str, environ: Mapping[str, str]) -> None:
    """Fetch the wanted commit into the repository at `folder`, which is created if it is absent.
    Only objects that it lacks are fetched, and no file is written from them."""
    commit = _resolved(remote, remote.ref or "HEAD", environ)
    try:
        with open(os.path.join(folder, ".git", "HEAD"), encoding="ascii") as stream:
            held = stream.read(100).strip()
    except OSError:
        held = ""
    if held != commit:
        os.makedirs(folder, exist_ok=True)
        _fetch(remote, [commit], folder, environ)


def _checkout(remote: Remote, environ: Mapping[str, str]) -> tuple[str, str]:
    commit = _resolved(remote, remote.ref or "HEAD", environ)
    since = _resolved(remote, remote.since, environ) if remote.since else ""

    def fill(folder: str) -> None:
        _fetch(remote, [name for name in (commit, since) if name], folder, environ)
        _write_files(remote, commit, folder, environ)

    key = " ".join((remote.url, commit, since))
    return fetched(key, remote.name, environ, fill), since


def _resolved(remote: Remote, ref: str, environ: Mapping[str, str]) -> str:
    """Return the commit of a branch, a tag or HEAD; a full commit id is itself."""
    if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", ref):
        return ref
    names = [ref] if ref == "HEAD" or ref.startswith("refs/") else _spellings(ref)
    out = _git(remote, ["ls-remote", "--quiet", "--", remote.url, *names], "/", environ)
    lines = [line.partition("\t") for line in out.decode("utf-8", "replace").splitlines()]
    rows = {name: commit for commit, _, name in lines}
    for name in names:
        if (commit := rows.get(name)) and re.fullmatch(r"[0-9a-f]{40,64}", commit):
            return commit
    raise RefusedError(
        f"{quote(remote.url)} has no revision {quote(ref)}",
        rule="a branch, a tag or a full commit id",
        next_step="check the spelling; HEAD is the default branch",
    )


def _spellings(ref: str) -> list[str]:
    """Return the full names that a short one may mean; a peeled tag before the tag itself."""
    return [f"refs/heads/{ref}", f"refs/tags/{ref}^{{}}", f"refs/tags/{ref}"]


def _fetch(remote: Remote, commits: Sequence[str], folder: str, environ: Mapping[str, str]) -> None:
    """Create a repository at `folder` with these commits alone, and an index of the first."""
    _git(remote, ["init", "--quiet", "--template=", "--", folder], "/", environ)
    words = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"]
    words += ["--no-write-fetch-head", "--no-auto-maintenance", "--", remote.url, *commits]
    _git(remote, words, folder, environ)
    _git(remote, ["update-ref", "--no-deref", "HEAD", commits[0]], folder, environ)
    _git(remote, ["read-tree", commits[0]], folder, environ)


def _write_files(remote: Remote, commit: str, folder: str, environ: Mapping[str, str]) -> None:
    """Write the regular files of a commit, but no links and submodules, which a scan does not
    follow either."""
    what = f"the repository {quote(remote.url)}"
    listing = _git(remote, ["ls-tree", "-r", "-l", "-z", "--full-tree", commit], folder, environ)
    rows = []
    writer = Writer(folder, what)
    for row in filter(None, listing.split(b"\0")):
        facts, _, name = row.partition(b"\t")
        mode, kind, digest, size = facts.split()
        path = os.fsdecode(name)
        if kind != b"blob" or mode not in (b"100644", b"100755"):
            continue
        if not plain_path(path):
            raise RefusedError(
                f"{what} holds the path {quote(path)}", rule="a path stays inside its folder"
            )
        writer.room(int(size))
        rows.append((path, mode == b"100755", digest, int(size)))
    with _objects(folder, environ) as child:
        for (path, executable, _, _), data in zip(rows, _blobs(child, rows), strict=True):
            writer.write(path, data, executable=executable)


def _objects(folder: str, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    words = [*_prefix("file"), "cat-file", "--batch"]
    return subprocess.Popen(
        words,
        cwd=folder,
        env=_environment("file", environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _blobs(
    child: subprocess.Popen[bytes], rows: Sequence[tuple[str, bool, bytes, int]]
) -> Iterator[bytes]:
    """Yield the bytes of each object, requested and read one at a time."""
    assert child.stdin is not None  # noqa: S101  # both are pipes
    assert child.stdout is not None  # noqa: S101
    # All requests at once could fill both pipes, and each side would wait for the other.
    for path, _, digest, size in rows:
        child.stdin.write(digest + b"\n")
        child.stdin.flush()
        head = child.stdout.readline().split()
        if len(head) != 3 or int(head[2]) != size:
            raise SutlerError(f"{quote(path)} is missing from the fetched objects")
        data = child.stdout.read(size)
        child.stdout.read(1)
        yield data
    child.stdin.close()


def _prefix(scheme: str) -> list[str]:
    return ["git", *options([*_SETTINGS, f"protocol.{scheme}.allow=always"])]


def _environment(scheme: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return git's whole environment, without configuration or prompts."""
    passed = {name: environ[name] for name in _PASSED_ON if name in environ}
    return {
        **passed,
        **ENVIRONMENT,
        "GIT_ALLOW_PROTOCOL": scheme,
        "GIT_ASKPASS": "false",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_SSH_COMMAND": _SSH,
        "HOME": "/nonexistent",
        "SSH_ASKPASS": "false",
        "SSH_ASKPASS_REQUIRE": "never",
    }


def _git(remote: Remote, words: Sequence[str], folder: str, environ: Mapping[str, str]) -> bytes:
    """Run git and return its output; refuse if it takes too long, too much disk, or fails."""
    scheme, fetches = remote.scheme, words[0] == "fetch"
    try:
        done = capture(
            [*_prefix(scheme), *words],
            cwd=folder,
            env=_environment(scheme, environ),
            bounds=Bounds(
                SECONDS,
                _OUTPUT,
                fits=lambda: not fetches or size_of(folder) <= LARGEST_FETCH,
            ),
        )
    except FileNotFoundError:
        raise SutlerError(
            "git is not installed", next_step="install git, or pack a folder or an archive"
        ) from None
    if done.stopped:
        raise RefusedError(
            f"fetching {quote(remote.url)} was stopped: it took too {_EXCEEDED[done.stopped]}",
            rule=f"at most {SECONDS:.0f} seconds and {LARGEST_FETCH:,} bytes",
            next_step="clone it yourself and pack the clone",
        )
    if done.code:
        raise _failure(remote, done.err)
    return done.out


def _failure(remote: Remote, err: bytes) -> SutlerError:
    lines = err.decode("utf-8", "replace").strip().splitlines()
    reason = next((line for line in reversed(lines) if line.startswith("fatal: ")), "")
    reason = reason or (lines[-1] if lines else "git gave no reason")
    return SutlerError(
        f"cannot fetch {quote(remote.url)}: {reason.removeprefix('fatal: ')[:300]}",
        rule="no credentials are asked for and no redirects to another host are followed",
        next_step="check the address, or clone it yourself and pack the clone",
    )
