"""Two hundred secrets that exist nowhere else, and a project that hides them in every place a
project has.
"""

from __future__ import annotations

import base64
import json
import os
import random
import string
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote as percent

from sutler.secrets.checksums import base62
from tests.conftest import grow
from tests.limits import LIMIT

COUNT = 200
WORDS = string.ascii_letters + string.digits


class Canary(NamedTuple):
    """`text` is what is planted, on one line or several; `secrets` are the parts that may appear
    nowhere else.
    """

    kind: str
    text: str
    secrets: tuple[str, ...]


class Mint:
    """Makes canaries; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.made: list[Canary] = []

    def some(self, alphabet: str, length: int) -> str:
        return "".join(self._random.choice(alphabet) for _ in range(length))

    def _keep(self, kind: str, text: str, *secrets: str) -> Canary:
        self.made.append(Canary(kind, text, secrets or (text,)))
        return self.made[-1]

    # formats that are secrets wherever they stand

    def aws(self) -> Canary:
        return self._keep("aws", "AKIA" + self.some(string.ascii_uppercase + "234567", 16))

    def github(self) -> Canary:
        from zlib import crc32

        body = self.some(WORDS, 30)
        return self._keep("github", f"ghp_{body}{base62(crc32(body.encode()), 6)}")

    def gitlab(self) -> Canary:
        return self._keep("gitlab", f"glpat-{self.some(WORDS, 20)}")

    def slack(self) -> Canary:
        return self._keep("slack", f"xoxb-{self.some(string.digits, 12)}-{self.some(WORDS, 24)}")

    def stripe(self) -> Canary:
        return self._keep("stripe", f"sk_live_{self.some(WORDS, 24)}")

    def sendgrid(self) -> Canary:
        return self._keep("sendgrid", f"SG.{self.some(WORDS, 22)}.{self.some(WORDS, 43)}")

    def jwt(self) -> Canary:
        head = _base64(b'{"alg":"HS256","typ":"JWT"}')
        body = _base64(json.dumps({"sub": self.some(WORDS, 20)}).encode())
        signature = self.some(WORDS, 43)
        return self._keep("jwt", f"{head}.{body}.{signature}", body, signature)

    def bare(self) -> Canary:
        makers = (
            self.aws,
            self.github,
            self.gitlab,
            self.slack,
            self.stripe,
            self.sendgrid,
            self.jwt,
        )
        return makers[len(self.made) % len(makers)]()

    # secrets by their surroundings

    def password(self) -> Canary:
        value = self.some(WORDS, 18) + "9x"
        return self._keep("password", f'db_password = "{value}"', value)

    def url(self) -> Canary:
        value = self.some(WORDS, 20)
        return self._keep("url", f"postgres://admin:{value}@db.internal:5432/orders", value)

    def basic(self) -> Canary:
        value = base64.b64encode(f"deploy:{self.some(WORDS, 18)}".encode()).decode()
        return self._keep("basic", f"Authorization: Basic {value}", value)

    def bearer(self) -> Canary:
        value = self.some(WORDS, 40)
        return self._keep("bearer", f"Authorization: Bearer {value}", value)

    def pem(self) -> Canary:
        lines = ["MIIEowIBAAKCAQEA" + self.some(WORDS + "+/", 48)] + [
            self.some(WORDS + "+/", 64) for _ in range(6)
        ]
        block = ["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"]
        return self._keep("pem", "\n".join(block), *lines)

    def any(self) -> Canary:
        makers = (
            self.bare,
            self.password,
            self.bare,
            self.url,
            self.basic,
            self.bare,
            self.bearer,
            self.pem,
        )
        return makers[len(self.made) % len(makers)]()

    def many(self, make: Callable[[], Canary], count: int) -> list[Canary]:
        return [make() for _ in range(count)]


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Planted(NamedTuple):
    """The project's folder and what must stay in it, by the place where it stands."""

    folder: Path
    places: dict[str, list[Canary]]

    @property
    def canaries(self) -> list[Canary]:
        return [one for ones in self.places.values() for one in ones]


def plant_canaries(folder: Path, seed: int) -> Planted:
    """A git repository whose every corner holds canaries; HEAD removed some lines that held
    others.
    """
    mint = Mint(seed)
    places = {
        "bodies": mint.many(mint.any, 48),
        "file names": mint.many(mint.bare, 12),
        "folder names": mint.many(mint.bare, 8),
        "ignore patterns": mint.many(mint.bare, 8),
        "goals": mint.many(mint.bare, 12),
        "settings": mint.many(mint.bare, 6),
        "remotes": mint.many(mint.github, 6),
        "messages": mint.many(mint.bare, 10),
        "long lines": mint.many(mint.bare, 14),
        "notebooks": mint.many(mint.any, 12),
        "cut points": mint.many(mint.any, 24),
        "utf-16": mint.many(mint.any, 10),
        "latin-1": mint.many(mint.any, 10),
        "encoded": [*mint.many(mint.pem, 3), *mint.many(mint.bare, 5)],
        "removed lines": mint.many(mint.any, 12),
    }
    grow(folder, _tree(places))
    _history(folder, places)
    return Planted(folder, places)


def _tree(places: dict[str, list[Canary]]) -> dict[str, str | bytes]:
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "source": one.text.splitlines(keepends=True),
                "outputs": [{"text": [one.text]}],
            }
            for one in places["notebooks"]
        ]
    }
    pems, bare = places["encoded"][:3], places["encoded"][3:]
    tree: dict[str, str | bytes] = {
        "README.md": "# A project\n\nSettings live in `src/`.\n",
        ".gitignore": "".join(
            f"{one.text}.txt\ncache-{one.text}/\n" for one in places["ignore patterns"]
        ),
        **{f"{one.text}.txt": "ignored\n" for one in places["ignore patterns"][:4]},
        **{f"names/{one.text}.py": "x = 1\n" for one in places["file names"]},
        **{f"{one.text}/inside.py": "y = 1\n" for one in places["folder names"]},
        "long.js": "var a='"
        + "';var b='".join(f"{'x' * 900}';k='{one.text}" for one in places["long lines"])
        + "';",
        "book.ipynb": json.dumps(notebook, indent=1),
        "wide.txt": _lines(places["utf-16"]).encode("utf-16"),
        "old.txt": ("Grüße aus Köln\n" + _lines(places["latin-1"])).encode("latin-1"),
        "encoded.txt": "".join(f"{base64.b64encode(one.text.encode()).decode()}\n" for one in pems)
        + "".join(
            f"next=https%3A%2F%2Fexample.org%2F%3Ftoken%3D{percent(one.text)}%26a%3D1\n"
            for one in bare
        ),
    }
    for number in range(8):
        tree[f"src/part{number}.py"] = _lines(
            places["bodies"][6 * number : 6 * number + 6]
        ).replace("plain", "# plain")
    for number in range(4):
        tree[f"data/cut{number}.txt"] = _at_the_cuts(places["cut points"][number::4])
    tree["log.txt"] = "started\n" + _lines(places["removed lines"]) + "done\n"
    return tree


def _lines(canaries: Iterable[Canary]) -> str:
    return "".join(f"plain words before\n{one.text}\n" for one in canaries)


def _at_the_cuts(canaries: list[Canary]) -> str:
    """1,200 long lines, with canaries across line 100 from the top and line 50 from the end, where
    files are cut.
    """
    lines = [f"{number} {'lorem ipsum dolor ' * 4}" for number in range(1200)]
    spots = [97, 75, 20, 1148, 1160, 600]
    for spot, one in zip(spots, canaries, strict=True):
        planted = one.text.split("\n")
        lines[spot : spot + len(planted)] = planted
    return "\n".join(lines) + "\n"


def _history(folder: Path, places: dict[str, list[Canary]]) -> None:
    git = [
        "git",
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "-c",
        "commit.gpgsign=false",
    ]

    def run(*words: str) -> None:
        subprocess.run([*git, *words], cwd=folder, check=True, capture_output=True, timeout=LIMIT)

    run("init", "-q", "-b", "main")
    run("add", "README.md", "log.txt", "src")
    messages = [one.text for one in places["messages"]]
    run("commit", "-q", "-m", f"Use {messages[0]} in src\n\n" + "\n".join(messages[1:5]))
    (folder / "log.txt").write_text("started\ndone\n")
    run("commit", "-q", "-am", "Take out " + " and ".join(messages[5:]))
    for number, one in enumerate(places["remotes"]):
        run("config", f"remote.r{number}.url", f"https://robot:{one.text}@example.org/{number}.git")


def needles(canaries: Iterable[Canary]) -> Iterator[tuple[Canary, bytes]]:
    """Every byte string that would betray a canary: a secret part, either half of it if long, as
    UTF-8 and UTF-16.
    """
    for one in canaries:
        for secret in one.secrets:
            middle = len(secret) // 2
            pieces = [
                secret,
                *(half for half in (secret[:middle], secret[middle:]) if len(half) >= 12),
            ]
            for piece in pieces:
                yield one, piece.encode()
                yield one, piece.encode("utf-16-le")
                yield one, "\u27e8U+0000\u27e9".join(piece).encode()


def written(*folders: Path) -> dict[str, bytes]:
    """Every file below these folders, by name."""
    return {
        os.path.join(base, name): Path(base, name).read_bytes()
        for folder in folders
        for base, _, names in os.walk(folder)
        for name in names
    }
