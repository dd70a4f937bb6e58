"""Trust: a project's own scripts and model command run only after the user has seen that very
content once.

A grant is a place and a digest. For a goal the digest covers every file of its folder, and files of
the project that a script names by their path from the project's folder. When a byte of these
changes, the grant is void. What a script starts without naming it (a Makefile, an installed
program, a module that it imports) is not covered. The model command is a grant of its own.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from hashlib import sha256

from sutler.errors import DeniedError, UsageError
from sutler.goals.claw import COMMAND_KEYS, ClawFile, parse_claw
from sutler.goals.discovery import Found
from sutler.paths import quote


def digest_of(files: Mapping[str, bytes]) -> str:
    """One digest over names and contents, whatever their order."""
    total = sha256()
    for name in sorted(files):
        total.update(f"{len(name.encode())}:{name}:{sha256(files[name]).hexdigest()}\n".encode())
    return total.hexdigest()


def trust_file_of(environ: Mapping[str, str]) -> str:
    """The user's own record of what is trusted, in the private state directory."""
    from sutler.store import home
    from sutler.store.state import state_home

    try:
        folder = home.home(environ)
    except OSError:  # a home that cannot be written: nothing is trusted, and nothing can be
        folder = state_home(environ)
    return os.path.join(folder, "trust.json")


class TrustStore:
    """A small file of the user's, `{place: digest}`, outside every project."""

    def __init__(self, path: str) -> None:
        self.path = path

    def entries(self) -> dict[str, str]:
        try:
            with open(self.path, encoding="utf-8") as stream:
                table = json.load(stream)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise UsageError(
                f"the trust file {quote(self.path)} cannot be read: {error}",
                next_step="repair or remove it",
            ) from None
        if not isinstance(table, dict):
            raise UsageError(
                f"the trust file {quote(self.path)} is malformed", next_step="remove it"
            )
        return {str(place): str(digest) for place, digest in table.items()}

    def knows(self, place: str, digest: str) -> bool:
        return self.entries().get(os.path.realpath(place)) == digest

    def add(self, place: str, digest: str) -> None:
        self._write({**self.entries(), os.path.realpath(place): digest})

    def remove(self, place: str) -> bool:
        entries = self.entries()
        known = entries.pop(os.path.realpath(place), None) is not None
        self._write(entries)
        return known

    def _write(self, entries: Mapping[str, str]) -> None:
        folder = os.path.dirname(os.path.abspath(self.path))
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".trust-")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(dict(sorted(entries.items())), stream, indent=1)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, self.path)


MAX_HELPER = 16 * 1024 * 1024
_WORD = re.compile(r"[^\s'\"|&;<>()$`=,]+")


def helpers_of(found: Found) -> dict[str, bytes]:
    """Files of the project that the goal's scripts name, by their path from the folder that holds
    `.sutler`.
    """
    top = os.path.realpath(os.path.dirname(found.base.path))
    helpers: dict[str, bytes] = {}
    for script in found.goal.scripts:
        for word in _WORD.findall(script.command):
            real = os.path.realpath(os.path.join(top, word))
            if not real.startswith(f"{top}/") or not os.path.isfile(real):
                continue
            path = os.path.relpath(real, top)
            try:
                with open(real, "rb") as stream:
                    helpers[path] = stream.read(MAX_HELPER)
            except OSError:
                helpers[path] = b""
    return helpers


def goal_digest(found: Found) -> str:
    """What a grant is bound to: the goal's folder, and the helper files of its scripts."""
    helpers = {f"../{path}": data for path, data in helpers_of(found).items()}
    return digest_of({**found.files, **helpers})


def goal_trusted(found: Found, store: TrustStore) -> bool:
    return found.base.own or store.knows(found.folder, goal_digest(found))


def require_goal(found: Found, store: TrustStore, what: str) -> None:
    if not goal_trusted(found, store):
        raise DeniedError(
            f"goal '{found.id}' of this project {what}, and you have not trusted it yet",
            rule="a project's own scripts run only after you trusted their content",
            next_step=f"look at it with 'sutler trust {found.id}', which asks before it grants",
        )


def require_command(
    files: Sequence[ClawFile], origins: Mapping[str, str], store: TrustStore
) -> None:
    """The file that decides which program is run must be the user's own, or trusted."""
    for file in files:
        chosen = [key for key in COMMAND_KEYS if origins.get(key) == file.name]
        if chosen and not file.own and not store.knows(file.name, sha256(file.data).hexdigest()):
            raise DeniedError(
                f"{quote(file.name)} of this project sets {', '.join(chosen)}, and you have not"
                " trusted it",
                rule="a project chooses a program to run only after you trusted its content",
                next_step=(
                    "read it, then run 'sutler trust', or name the command yourself with --command"
                ),
            )


def sets_command(file: ClawFile) -> bool:
    return any(key in COMMAND_KEYS for key in parse_claw(file, compat=True))
