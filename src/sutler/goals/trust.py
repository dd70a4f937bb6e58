"""Trust: a project's own scripts and model command run only after the user has approved their exact
content.

A grant is a path and a digest. For a goal the digest covers every file of its folder, and files of
the project that a script names by their path from the project's folder. If a byte of these changes,
the grant is void. Files that a script uses without naming them (a Makefile, an installed program,
an imported module) are not covered. The model command has a separate grant."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from hashlib import file_digest, sha256

from sutler.errors import DeniedError, UsageError
from sutler.goals.claw import COMMAND_KEYS, ClawFile, parse_claw
from sutler.goals.discovery import Found
from sutler.paths import quote


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return one digest over names and contents, independent of their order."""
    total = sha256()
    for name in sorted(files):
        # With the length of the name, no two sets of files give the same input.
        total.update(f"{len(name.encode())}:{name}:{sha256(files[name]).hexdigest()}\n".encode())
    return total.hexdigest()


class TrustStore:
    """The user's trust file: JSON `{path: digest}`, in the private state directory."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        from sutler.store import home

        try:
            folder = home.home(environ)
        except OSError:  # home not writable: nothing is trusted, no grant can be added
            folder = home.state_home(environ)
        self.path = os.path.join(folder, "trust.json")

    def entries(self) -> dict[str, str]:
        try:
            with open(self.path, encoding="utf-8") as stream:
                table = json.load(stream)
        except FileNotFoundError:  # nothing was trusted yet
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
        granted = entries.pop(os.path.realpath(place), None) is not None
        self._write(entries)
        return granted

    def _write(self, entries: Mapping[str, str]) -> None:
        from sutler.store.home import replace_private

        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        text = json.dumps(dict(sorted(entries.items())), indent=1)
        replace_private(self.path, f"{text}\n".encode())


MAX_HELPER = 16 * 1024 * 1024  # larger ones are not held in memory
_WORD = re.compile(r"[^\s'\"|&;<>()$`=,]+")


def helpers_of(loaded: Found) -> dict[str, bytes]:
    """Return the files of the project that the goal's scripts name, by their path from the folder
    that holds `.sutler`."""
    top = os.path.realpath(os.path.dirname(loaded.base.path))
    helpers: dict[str, bytes] = {}
    for script in loaded.goal.scripts:
        for word in _WORD.findall(script.command):
            real = os.path.realpath(os.path.join(top, word))
            if not real.startswith(f"{top}/") or not os.path.isfile(real):
                continue
            path = os.path.relpath(real, top)
            try:
                with open(real, "rb") as stream:
                    helpers[path] = stream.read(MAX_HELPER)
                    if stream.read(1):  # a digest of all of it stands for a larger one
                        stream.seek(0)
                        helpers[path] = file_digest(stream, "sha256").digest()
            except OSError:
                # If it becomes readable later, the digest changes and the grant is void.
                helpers[path] = b""
    return helpers


def goal_digest(loaded: Found) -> str:
    """Return the digest of a grant: over the goal's folder and the helper files of its scripts."""
    helpers = {f"../{path}": data for path, data in helpers_of(loaded).items()}
    return digest_of({**loaded.files, **helpers})


def goal_trusted(loaded: Found, store: TrustStore) -> bool:
    return loaded.base.own or store.knows(loaded.folder, goal_digest(loaded))


def require_goal(loaded: Found, store: TrustStore, what: str) -> None:
    if not goal_trusted(loaded, store):
        raise DeniedError(
            f"goal '{loaded.id}' of this project {what}, and you have not trusted it yet",
            rule="a project's own scripts run only after you trusted their content",
            next_step=f"inspect it with 'sutler trust {loaded.id}', which asks before it grants",
        )


def require_command(
    files: Sequence[ClawFile], origins: Mapping[str, str], store: TrustStore
) -> None:
    """Raise DeniedError unless the file that selects the program is the user's own or trusted."""
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
