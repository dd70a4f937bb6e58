"""The fleet's folder and its repositories: the location and the current tree of each.

A repository is a folder with git's objects, or a URL that the fleet keeps a shallow mirror of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import msgspec
from msgspec import Struct

from sutler.errors import RefusedError, SutlerError, UsageError
from sutler.paths import quote
from sutler.remote.git_fetch import mirror
from sutler.remote.source import remote_of
from sutler.scan.commits import plumbing
from sutler.scan.git import repository_at
from sutler.store.atomic import write_atomic

ACCOUNT = "fleet.json"
DATASET = "dataset"
MIRRORS = "mirrors"
SCHEMA = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SCP = re.compile(r"[\w.-]+@[\w.-]+:[^\s:]")
_DEEPEST = 3
"""Levels of folders below a source that are searched for repositories."""
_AT_ONCE = 8
"""Repositories that are fetched at once."""


class Fleet(Struct, frozen=True):
    """A fleet. `store` is a PostgreSQL URL, or empty for the SQLite file in the folder."""

    folder: str
    name: str
    store: str = ""

    @property
    def dataset(self) -> str:
        return os.path.join(self.folder, DATASET)

    @property
    def database(self) -> str:
        return os.path.join(self.folder, "fleet.db")


class Account(Struct, frozen=True):
    """Contents of `fleet.json`. The store's URL is never in it, because it may carry a password."""

    name: str
    shared: bool = False
    schema: int = SCHEMA


class Repository(Struct, frozen=True, order=True):
    """A repository of the catalogue: its name in the fleet, and the folder of its git objects or
    its URL."""

    name: str
    source: str


def create(folder: str, name: str, store: str) -> Fleet:
    """Create the folder of a new fleet."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:80]!r} is no name for a fleet",
            rule="letters, digits, '.', '_' and '-', at most 64",
            next_step="choose another name with --name",
        )
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, ACCOUNT)
    if os.path.exists(path):
        raise RefusedError(
            f"{folder} is a fleet already",
            rule="a fleet is created once",
            next_step="use it, or name another folder with --fleet",
        )
    write_atomic(path, [msgspec.json.encode(Account(name, bool(store)))])
    return Fleet(os.path.abspath(folder), name, store)


def open_fleet(folder: str, store: str) -> Fleet:
    """Open the fleet of a folder; a shared fleet needs `store`, the URL of its database."""
    path = os.path.join(folder, ACCOUNT)
    try:
        with open(path, "rb") as stream:
            account = msgspec.json.decode(stream.read(1 << 16), type=Account)
    except OSError:
        raise UsageError(
            f"{folder} is no fleet", next_step="make one with 'sutler fleet init'"
        ) from None
    except msgspec.DecodeError as error:
        raise RefusedError(
            f"{path} is damaged: {error}", next_step="restore the file, or make a new fleet"
        ) from None
    if account.schema != SCHEMA:
        raise RefusedError(
            f"the fleet has schema {account.schema}",
            rule=f"this version reads schema {SCHEMA}",
            next_step="use the version of sutler that made it",
        )
    if account.shared and not store:
        raise UsageError(
            "the queue of this fleet is in PostgreSQL",
            next_step="name its URL with --store or SUTLER_STORE",
        )
    return Fleet(os.path.abspath(folder), account.name, store if account.shared else "")


def repositories_in(source: str) -> Iterator[Repository]:
    """Yield the repositories of a source: a git URL, a checkout or a bare mirror, a folder of
    these, or a text file with one source per line."""
    if is_url(source):
        yield _remote(source)
        return
    path = os.path.abspath(source)
    if os.path.isfile(path):
        yield from _listed(path)
        return
    if not os.path.isdir(path):
        raise UsageError(
            f"there is no folder or list at {source}",
            next_step="name a repository or its URL, a folder of them, or a file that lists them",
        )
    repositories = sorted(_below(path, path, _DEEPEST))
    if not repositories:
        raise UsageError(
            f"no repository in {source}",
            rule=f"a checkout or a bare mirror, at most {_DEEPEST} folders deep",
            next_step="clone the repositories first, for example with 'git clone --mirror'",
        )
    yield from repositories


def distinct(repositories: Iterable[Repository], taken: Mapping[str, str]) -> list[Repository]:
    """Return the repositories under distinct names. If another source has the name, here or in
    `taken` (name to source), prefix it with the folders above."""
    names = dict(taken)
    named: list[Repository] = []
    for repository in sorted(repositories, key=lambda item: item.source):
        name, folder = repository.name, os.path.dirname(repository.source)
        while names.get(name, repository.source) != repository.source:
            folder, above = os.path.split(folder)
            if not above:
                raise RefusedError(
                    f"two repositories are called {repository.name}",
                    rule="names are distinct",
                    next_step="rename the folder of one of them",
                )
            name = f"{above}/{name}"
        names[name] = repository.source
        named.append(Repository(name, repository.source))
    return named


def _listed(path: str) -> Iterator[Repository]:
    with open(path, encoding="utf-8", errors="surrogateescape") as stream:
        lines = [line.strip() for line in stream]
    for line in lines:
        if line and not line.startswith("#"):
            place = line if is_url(line) else os.path.join(os.path.dirname(path), line)
            yield from repositories_in(place)


def is_url(source: str) -> bool:
    """Return whether a source is an address and not a path."""
    return "://" in source or _SCP.match(source) is not None


def _remote(source: str) -> Repository:
    remote = remote_of(source)
    if remote is None or remote.path or remote.since:
        raise UsageError(
            f"{quote(source)} is no address of a repository",
            rule="a fleet takes whole repositories, at HEAD or at one revision",
            next_step="write a git URL, with '#branch' behind it if need be",
        )
    return Repository(remote.name, f"{remote.url}#{remote.ref}" if remote.ref else remote.url)


def located(fleet: Fleet, source: str) -> str:
    """Return the git directory of a source."""
    return os.path.join(_mirror_of(fleet, source), ".git") if is_url(source) else source


def _mirror_of(fleet: Fleet, source: str) -> str:
    return os.path.join(fleet.folder, MIRRORS, sha256(source.encode()).hexdigest()[:32])


def refresh(
    fleet: Fleet, repositories: Iterable[Repository], environ: Mapping[str, str]
) -> dict[str, str]:
    """Bring the mirrors of all URLs up to date; return the reasons of failures by repository."""

    def fetch(repository: Repository) -> str:
        remote = remote_of(repository.source)
        try:
            if remote is not None:
                mirror(remote, _mirror_of(fleet, repository.source), environ)
        except SutlerError as error:
            return error.what
        return ""

    far = [repository for repository in repositories if is_url(repository.source)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reasons = pool.map(fetch, far)
        return {item.name: why for item, why in zip(far, reasons, strict=True) if why}


def _below(path: str, top: str, depth: int) -> Iterator[Repository]:
    objects = _objects_of(path)
    if objects:
        name = os.path.relpath(path, top) if path != top else os.path.basename(path)
        yield Repository(name.removesuffix("/.git").removesuffix(".git").rstrip("/"), objects)
    elif depth:
        with os.scandir(path) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        for folder in folders:
            yield from _below(folder, top, depth - 1)


def _objects_of(path: str) -> str:
    """Return the git directory of a checkout or a bare mirror at `path`; empty if there is none."""
    bare = all(os.path.exists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs"))
    if bare:
        return path
    repository = repository_at(path)
    return repository.git_dir if repository is not None else ""


def tree_of_head(source: str) -> str:
    """Return the id of HEAD's tree; empty if the repository has no commit."""
    answer = plumbing(source, ["rev-parse", "--verify", "--end-of-options", "HEAD^{tree}"])
    return answer.decode("ascii", "replace").strip()
