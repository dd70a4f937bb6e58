"""Last picks, saved in the project's private directory; and picks as profiles of a configuration
file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from sutler.config import parse_toml
from sutler.errors import SutlerError, UsageError
from sutler.paths import quote, unquote
from sutler.scan.place import config_files
from sutler.store.atomic import write_atomic
from sutler.store.home import project_folder, replace_private
from sutler.system import fs

_FILE = "picked.json"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def kept(root: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the last picks; empty if there are none or no state can be saved."""
    try:
        path = os.path.join(project_folder(root, environ)[0], _FILE)
        fd = fs.open(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC)
        with os.fdopen(fd, "rb") as stream:
            found = msgspec.json.decode(stream.read(), type=tuple[str, ...])
    except (OSError, SutlerError, msgspec.DecodeError):
        return ()
    return tuple(unquote(one) for one in found)


def keep(root: str, environ: Mapping[str, str], paths: Iterable[str]) -> str:
    """Save the picks atomically; return why that failed, or ""."""
    try:
        path = os.path.join(project_folder(root, environ)[0], _FILE)
        replace_private(path, msgspec.json.encode([quote(name) for name in paths]))
    except OSError as fault:
        return f"the picks cannot be kept: {fault.strerror}"
    except SutlerError as fault:
        return f"the picks cannot be kept: {fault.what}"
    return ""


def profiles(root: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of all profiles of a project."""
    import tomllib

    names: set[str] = set()
    for one in config_files(root, environ):
        parse_toml(
            one.text, one.origin, pyproject=one.pyproject, trusted=one.trusted
        )  # errors name the line
        table = tomllib.loads(one.text)
        if one.pyproject:
            table = table.get("tool", {}).get("sutler", {})
        names.update(table.get("profiles", {}))
    return tuple(sorted(names))


def add_profile(root: str, environ: Mapping[str, str], name: str, globs: Sequence[str]) -> str:
    """Append a profile to the project's own settings atomically; return the file. Its other
    contents stay."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{quote(name)} is no name for a profile", next_step="use letters, digits, - and _"
        )
    if not globs:
        raise UsageError("nothing is picked", next_step="pick files first")
    if name in profiles(root, environ):
        raise UsageError(
            f"there is a profile {name} already", next_step="choose another name, or edit the file"
        )
    own = [
        one
        for one in config_files(root, environ)
        if not one.trusted and os.path.dirname(one.path) == root
    ]
    path = own[-1].path if own else os.path.join(root, "sutler.toml")
    before = own[-1].text if own else ""
    table = "tool.sutler.profiles" if own and own[-1].pyproject else "profiles"
    rows = "".join(f"  {_toml(glob)},\n" for glob in globs)
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    text = f"{before}{gap}[{table}.{name}]\ninclude = [\n{rows}]\n"
    parse_toml(
        text, os.path.basename(path), pyproject=table != "profiles", trusted=False
    )  # or it is not written
    write_atomic(path, [text.encode()])
    return os.path.basename(path)


def _toml(text: str) -> str:
    """Encode a basic string; JSON's escapes are TOML's, except for characters that TOML forbids."""
    if not text.isprintable():
        raise UsageError(
            f"the name {quote(text)} cannot stand in a config file",
            next_step="pick its folder instead",
        )
    return msgspec.json.encode(text).decode()
