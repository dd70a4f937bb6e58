"""Identity of a project in a shared store: its name, its tenant, and the repository it belongs to.

A name is explicit (`SUTLER_PROJECT`, or `project` in the configuration) or derived from the address
of git's remote `origin`. A configuration file of the project may name any project, also one of
another repository whose texts are in the store. Therefore the store keeps the address of the
repository that used a name first, and another repository needs `SUTLER_PROJECT` to use it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from sutler.errors import RefusedError, UsageError
from sutler.store.base import Database, Query
from sutler.store.rows import NAMED

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ADDRESS = re.compile(r"(?:[a-z+]+://)?(?:[^@/]*@)?([^/:]+)(?::[0-9]+)?[:/]+(.*?)(?:\.git)?/*")
ORIGIN = "origin"


class Membership(Struct, frozen=True):
    """A tenant of a login, with its role and its projects: names with spaces between, or `*`."""

    tenant: str
    role: str
    projects: str = "*"


class Identity(Struct, frozen=True):
    """Name of a project and the address of its repository. `sure` if the user chose the name; an
    address is then not compared."""

    name: str
    address: str = ""
    sure: bool = False


def require_name(name: str, what: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:100]!r} is no name for a {what}",
            rule="letters, digits, '.', '_' and '-', at most 100",
            next_step="choose another name",
        )
    return name


def project_in(name: str, memberships: Sequence[Membership]) -> str:
    """Return `TENANT/NAME` for a project of a member, or raise."""
    tenant, slash, bare = name.rpartition("/")
    tenants = [member for member in memberships if not slash or member.tenant == tenant]
    if not tenants:
        raise RefusedError(
            "this login is not a member of the project's tenant" if slash else "no tenant of yours",
            rule="a store is open to members",
            next_step="an administrator runs 'sutler store members add NAME --role ROLE'",
        )
    if len(tenants) > 1:
        names = ", ".join(member.tenant for member in tenants)
        raise UsageError(
            f"this login is a member of several tenants: {names}",
            next_step="name the project with its tenant: SUTLER_PROJECT=TENANT/NAME",
        )
    require_name(bare, "project")
    member = tenants[0]
    if member.projects != "*" and bare not in member.projects.split():
        raise RefusedError(
            f"this login is not a member of the project {bare}",
            rule=f"its projects: {member.projects}",
            next_step="ask an administrator of the store",
        )
    return f"{member.tenant}/{bare}"


def identity_of(root: str, environ: Mapping[str, str], fallback: str) -> Identity:
    """Return the identity of the project at `root`; `fallback` names one without a remote."""
    from sutler import config
    from sutler.scan.place import project_config

    address = address_of(root)
    if environ.get("SUTLER_PROJECT"):
        return Identity(environ["SUTLER_PROJECT"], address, sure=True)
    layers = [*project_config(root, environ), config.layer_from_environment(environ)]
    name = config.resolve(layers).text("project")
    return Identity(name or derived(address) or fallback, address)


def address_of(root: str) -> str:
    """Return host and path of the remote `origin`, without user, scheme and `.git`; or nothing."""
    from sutler.scan.git import find_repository, parse_config, read_plain

    repository = find_repository(root)
    data = read_plain(os.path.join(repository.common, "config")) if repository else None
    url = dict(parse_config(data or b"", whole=True)).get("remote.origin.url", "")
    match = _ADDRESS.fullmatch(url)
    return f"{match[1].lower()}/{match[2]}" if match and match[2] else ""


def derived(address: str) -> str:
    """Return a project's name from an address: the last two parts of its path. The last one alone
    would be the same for many owners."""
    name = ".".join(address.split("/")[1:][-2:])
    return name if _NAME.fullmatch(name) else ""


def bind(database: Database, project: str, identity: Identity) -> None:
    """Keep the address of the first repository of a project; refuse another one."""

    def work(query: Query) -> str:
        rows = query(NAMED, (project, ORIGIN))
        if not rows and identity.address:
            query(
                "INSERT INTO named VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (project, ORIGIN, identity.address.encode()),
            )
        return bytes(rows[0][0]).decode() if rows else identity.address

    first = database.transact(work, write=True)
    if first != identity.address and not identity.sure:
        raise RefusedError(
            f"the project {project} belongs to the repository {first}",
            rule="a name belongs to one repository",
            next_step="set another `project` in sutler.toml, or SUTLER_PROJECT to use this one",
        )
