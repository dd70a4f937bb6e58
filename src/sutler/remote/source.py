"""Addresses of remote repositories: `owner/name[@ref][:path]`, `owner/name#7`, or a git URL."""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from sutler.errors import RefusedError, UsageError
from sutler.paths import quote

HOST = "https://github.com"
"""Host of `owner/name`."""
SCHEMES = ("https", "ssh", "file")
LOCAL_SCHEMES = ("http", "git")
"""Neither encrypted nor authenticated: allowed for servers on this machine only."""

_SHORT = re.compile(r"([\w-][\w.-]*)/([\w-][\w.-]*)((?:#\d+)|(?:@[^:\s]+))?(?::([^\s]+))?")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://\S+")
_SCP = re.compile(r"([\w.-]+@[\w.-]+):([^\s:][^\s]*)")
_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_REF = re.compile(r"(?!-)(?!.*\.\.)(?!.*@\{)(?!.*//)[\w./+@-]+(?<![./])")
_HOSTS = ("github.com/", "www.github.com/", "gitlab.com/", "codeberg.org/", "bitbucket.org/")
"""Hosts whose addresses are pasted without a scheme."""
_PAGE = re.compile(
    r"(?P<repository>https://[^/?#]+/[^/?#]+/[^?#]+?)/(?:-/)?"
    r"(?P<kind>tree|blob|raw|commit|pull|merge_requests|compare)/(?P<rest>[^?#]+)(?:[?#].*)?"
)
_FORMS = "owner/name[@ref][:path], or a URL with https, ssh or file"


class Remote(Struct, frozen=True):
    """A repository and the requested part of it. `ref` is empty for the default branch; `since` is
    the older end of a range of commits."""

    url: str
    name: str
    ref: str = ""
    since: str = ""
    path: str = ""

    @property
    def scheme(self) -> str:
        return urlsplit(self.url).scheme


def remote_of(word: str) -> Remote | None:
    """Return the repository that a word of a command line means, or None for a local path. Refuse a
    spelling for which git would run a program."""
    if os.path.lexists(word) or not word:
        return None
    if _HELPER.match(word):
        raise RefusedError(
            f"{quote(word)} names a transport that runs a program",
            rule="only https, ssh and file are used to fetch",
            next_step=f"write {_FORMS}",
        )
    if _URL.fullmatch(word):
        return _of_page(word) or _of_url(word)
    if word.startswith(_HOSTS):
        return remote_of(f"https://{word}")
    if scp := _SCP.fullmatch(word):
        return _of_url(f"ssh://{scp[1]}/{scp[2]}")
    short = _SHORT.fullmatch(word)
    if short is None or os.path.lexists(short[1]):
        return None
    ref, since = _ref(short[3] or "")
    url = f"{HOST}/{short[1]}/{short[2].removesuffix('.git')}.git"
    return Remote(url, short[2].removesuffix(".git"), ref, since, _path(short[4] or ""))


def _of_page(word: str) -> Remote | None:
    """Return the repository of a web page's address in a browser. A branch with a slash in its name
    is indistinguishable from a path: it is written as `URL@branch`."""
    page = _PAGE.fullmatch(word)
    if page is None:
        return None
    repository, kind, rest = page["repository"], page["kind"], page["rest"].rstrip("/")
    first, _, path = rest.partition("/")
    if kind == "pull":
        return _of_url(f"{repository}@refs/pull/{first}/head")
    if kind == "merge_requests":
        return _of_url(f"{repository}@refs/merge-requests/{first}/head")
    if kind == "compare":
        return _of_url(f"{repository}@{rest.replace('...', '..')}")
    return _of_url(f"{repository}@{first}{f':{path}' if path else ''}")


def _of_url(word: str) -> Remote:
    """Parse a URL, with `@ref` and `:path` behind its last name, `#ref`, or `#7`."""
    base, _, fragment = word.partition("#")
    scheme, _, rest = base.partition("://")
    scheme = scheme.lower()
    # An address copied from a browser may end in `?tab=readme`.
    rest = rest.partition("?")[0] if scheme == "https" else rest
    host, slash, place = rest.partition("/")
    place, _, path = place.partition(":")
    place, _, ref = place.partition("@")
    _check_host(scheme, host)
    name = place.rstrip("/").rpartition("/")[2].removesuffix(".git")
    if not slash or not name or name in (".", "..") or place.startswith("-"):
        raise UsageError(f"{quote(word)} names no repository", next_step=f"write {_FORMS}")
    pull = not ref and fragment.isdecimal()
    wanted, since = _ref(f"{'#' if pull else '@'}{ref or fragment}" if ref or fragment else "")
    return Remote(f"{scheme}://{host}/{place}", name, wanted, since, _path(path))


def _check_host(scheme: str, host: str) -> None:
    """Refuse unknown transports, options in place of hosts, and passwords."""
    bare = host.rpartition("@")[2]
    name = bare.partition("]")[0].lstrip("[") if bare.startswith("[") else bare.partition(":")[0]
    if scheme in LOCAL_SCHEMES and not _is_here(name):
        raise RefusedError(
            f"{scheme}:// is neither encrypted nor authenticated",
            rule="http and git are for servers on this machine",
            next_step="use https or ssh",
        )
    if scheme not in (*SCHEMES, *LOCAL_SCHEMES):
        raise RefusedError(
            f"{quote(scheme)}:// is not a transport for repositories",
            rule="only https, ssh and file are used to fetch",
            next_step=f"write {_FORMS}",
        )
    if host.startswith("-") or name.startswith("-") or not re.fullmatch(r"[\w.@:\[\]-]*", host):
        raise RefusedError(
            f"{quote(host)} is not a host", rule="an option is never passed for a host"
        )
    if (scheme == "file") != (not host):
        raise UsageError(f"{scheme}:// {'has no' if host else 'needs a'} host", next_step=_FORMS)
    if ":" in host.rpartition("@")[0]:
        raise RefusedError(
            "the URL holds a password",
            rule="credentials are neither read nor stored",
            next_step="use ssh with your key, or clone it yourself and pack the clone",
        )


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name and no address; it may lead anywhere
        return False


def _ref(word: str) -> tuple[str, str]:
    """Return the revision and the older end of a range, from `#7`, `@ref` or `@old..new`."""
    if not word:
        return "", ""
    if word[0] == "#":
        return f"refs/pull/{word[1:]}/head", ""
    old, dots, new = word[1:].partition("..")
    wanted, since = (new, old) if dots else (old, "")
    for name in filter(None, (wanted, since)):
        if not _REF.fullmatch(name):
            raise UsageError(
                f"{quote(name)} is not a revision",
                rule="a branch, a tag or a commit",
                next_step="write owner/name@ref or owner/name@old..new",
            )
    return wanted, since


def _path(path: str) -> str:
    parts = path.split("/")
    if path.startswith(("/", "-")) or ".." in parts:
        raise UsageError(f"{quote(path)} leads out of the repository", next_step=f"write {_FORMS}")
    return path.rstrip("/")
