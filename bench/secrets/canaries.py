"""Plant fresh secrets by seed in every kind of place, go through every door, and search every byte
that was said or written for them.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import random
import re
import signal
import string
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import hyperscan

from bench.mcp.client import Server
from bench.secrets.samples import draw
from sutler.formats import FORMATS
from sutler.secrets.format_table import formats
from sutler.secrets.verdict import judge_format

ALNUM = string.ascii_letters + string.digits
_LIMIT = 300  # seconds for one command

# `{v}` is the value, `{a}` and `{b}` its halves, `{n}` a name; a place is a file and its text.
ANYWHERE: dict[str, tuple[str, str]] = {
    "comment": ("a.py", "# rotate {v} soon\n"),
    "string": ("a.py", 'connect("{v}")\n'),
    "call": ("a.js", "client.use('{v}', 3);\n"),
    "array": ("a.go", 'x := []string{{"{v}"}}\n'),
    "prose": ("a.md", "We use {v} in the tests.\n"),
    "code block": ("a.md", "```\ncurl -H 'X: {v}' localhost\n```\n"),
    "log": ("a.log", "2024-05-01 12:00:01 INFO used {v} and got 200\n"),
    "element": ("a.html", "<td>{v}</td>\n"),
    "yaml list": ("a.yaml", "- {v}\n"),
    "json list": ("a.json", '["{v}"]\n'),
    "csv": ("a.csv", "id,note\n1,{v}\n"),
    "long line": ("a.min.js", "var a='" + "x" * 5000 + "';k='{v}';\n"),
    "notebook": ("a.ipynb", '{{"cells": [{{"source": ["x = \'{v}\'"]}}]}}\n'),
    "shell": ("a.sh", "login {v}\n"),
    "query": ("a.txt", "https://api.corp.net/v1?x={v}&y=1\n"),
}
NAMED: dict[str, tuple[str, str]] = {
    "python": ("a.py", '{n} = "{v}"\n'),
    "javascript": ("a.js", "const {n} = '{v}';\n"),
    "java": ("a.java", 'private static final String {N} = "{v}";\n'),
    "go": ("a.go", 'var {n} string = "{v}"\n'),
    "ruby": ("a.rb", "{n}: '{v}',\n"),
    "php": ("a.php", "'{n}' => '{v}',\n"),
    "c": ("a.c", '#define {N} "{v}"\n'),
    "rust": ("a.rs", 'let {n} = "{v}";\n'),
    "dotenv": ("a.txt", "{N}={v}\n"),
    "ini": ("a.ini", "{n} = {v}\n"),
    "yaml": ("a.yaml", "{n}: {v}\n"),
    "json": ("a.json", '{{"{n}": "{v}"}}\n'),
    "toml": ("a.toml", '{n} = "{v}"\n'),
    "properties": ("a.properties", "app.{n}={v}\n"),
    "xml": ("a.xml", "<{n}>{v}</{n}>\n"),
    "dockerfile": ("Dockerfile", "ENV {N} {v}\n"),
    "powershell": ("a.ps1", "$env:{N} = '{v}'\n"),
    "docstring": ("a.py", '"""\n{n} = "{v}"\n"""\n'),
    "url": ("a.txt", "postgres://admin:{v}@db.corp.net/x\n"),
    "header": ("a.txt", "Authorization: Bearer {v}\n"),
}
JOINED: dict[str, tuple[str, str]] = {
    "plus": ("a.py", '{n} = "{a}" + "{b}"\n'),
    "implicit": ("a.py", '{n} = ("{a}"\n    "{b}")\n'),
    "continued": ("a.py", '{n} = "{a}" \\\n    "{b}"\n'),
    "concat": ("a.js", "const {n} = '{a}'.concat('{b}');\n"),
    "dot": ("a.php", "${n} = '{a}' . '{b}';\n"),
    "join": ("a.js", "const {n} = ['{a}', '{b}'].join('');\n"),
}
APART: dict[str, tuple[str, str]] = {
    "nested": ("a.json", '{{"{n}": {{"value": "{v}"}}}}\n'),
    "terraform": ("a.tf", 'variable "{n}" {{\n  default = "{v}"\n}}\n'),
    "kubernetes": ("a.yaml", "- name: {N}\n  value: {v}\n"),
    "table": ("a.md", "| {n} | {v} |\n"),
    "insert": ("a.sql", "INSERT INTO t (id, {n}) VALUES (1, '{v}');\n"),
    "attribute": ("a.xml", '<property name="{n}" value="{v}"/>\n'),
    "column": ("a.csv", "id,{n}\n1,{v}\n"),
    "secure string": ("a.ps1", "ConvertTo-SecureString '{v}' -AsPlainText -Force\n"),
}
SHARED: dict[str, tuple[str, str]] = {
    "bare": ("a.txt", "someone wrote {v} on the board\n"),
    "quoted": ("a.py", "print('{v}')\n"),
    "percent": ("a.txt", "x?y={q}&z\n"),
    "base64": ("a.txt", "blob {e}\n"),
    "split": ("a.txt", "it is {a}\n{b} and more\n"),
    "half": ("a.txt", "it begins with {a} they say\n"),
    "path": ("dir-{p}/a.txt", "nothing\n"),
}
CLASSES = {
    "anywhere": ANYWHERE,
    "named": NAMED,
    "joined": JOINED,
    "apart": APART,
    "shared": SHARED,
}
SHAPES = {
    "alphanumeric": (ALNUM, 20, 32),
    "hexadecimal": ("0123456789abcdef", 31, 63),
    "password": (ALNUM + "!*_-.~^", 11, 16),
    "long password": (ALNUM + "!*_-.~^", 24, 40),
    "url-safe base64": (ALNUM + "-_", 31, 43),
}
"""Alphabets of values that only their names give away, and how long they are."""
NAMES = ("db_password", "api_token", "client_secret", "secret_key", "auth_token", "root_password")


class Canary(NamedTuple):
    kind: str
    place: str
    needles: tuple[str, ...]


def canaries(folder: Path, seed: int, count: int) -> list[Canary]:
    """Plant `count` values below the folder, the same ones for the same seed."""
    rng = random.Random(seed)
    places = [(group, place) for group, table in CLASSES.items() for place in table]
    kinds = [entry for entry in formats() if not entry.spans_lines]
    planted = []
    for number in range(count):
        group, place = places[number % len(places)]
        kind, value, secret = _value(rng, kinds, number, group, place)
        file, text = CLASSES[group][place]
        fields = _fields(value, rng.choice(NAMES))
        target = folder / f"{group}-{number:04}" / file.format(**fields)
        target.parent.mkdir(parents=True)
        target.write_text(text.format(**fields))
        if group == "shared":
            (folder / f"{group}-{number:04}" / "vault.ini").write_text(f"password = {value}\n")
        planted.append(Canary(kind, f"{group}: {place}", tuple(_needles(secret))))
    return planted


def _value(
    rng: random.Random, kinds: list[Any], number: int, group: str, place: str
) -> tuple[str, str, str]:
    """The kind, the text that is planted and the part of it that must not be seen. A header takes
    no marks (RFC 6750).
    """
    if group != "anywhere":
        shape = sorted(SHAPES)[number % (len(SHAPES) if place != "header" else 2)]
        letters, least, most = SHAPES[shape]
        value = "".join(rng.choices(letters, k=rng.randint(least, most))) + str(rng.randint(0, 9))
        return f"{shape} {group}", value, value
    while True:
        entry = kinds[number % len(kinds)]
        text = draw(entry.core, rng)
        match = re.search(entry.core, text)
        secret = match[1] if match and match.re.groups and match[1] else text
        if match and len(secret) >= 12 and judge_format(secret) and not set(text) & set("'\"\n\\"):
            return entry.name, text, secret
        number += 1


def _fields(value: str, name: str) -> dict[str, str]:
    middle = len(value) // 2
    encoded = base64.b64encode(f"user:{value}:x".encode()).decode()
    return {
        "v": value, "a": value[:middle], "b": value[middle:], "n": name, "N": name.upper(),
        "q": quote(value, safe=""), "e": encoded, "p": value.replace("/", "_"),
    }  # fmt: skip


def _needles(secret: str) -> Iterator[str]:
    yield from {secret, quote(secret, safe="")}
    middle = len(secret) // 2
    if middle >= 10:
        yield from (secret[-middle:], base64.b64encode(f"user:{secret}:x".encode()).decode()[8:-8])


class Doors:
    """Everything that was said, by the door it came through."""

    def __init__(self, project: Path, base: Path) -> None:
        self.project, self.base = project, base
        for name in ("home", "tmp", "out"):
            (base / name).mkdir()
        self.env = {
            **{name: text for name, text in os.environ.items() if not name.startswith("XDG_")},
            "HOME": str(base / "home"),
            "TMPDIR": str(base / "tmp"),
        }
        self.said: dict[str, bytes] = {}

    def command(self, *words: str) -> None:
        ran = subprocess.run(
            [sys.executable, "-m", "sutler", *words],
            cwd=self.project,
            env=self.env,
            capture_output=True,
            timeout=_LIMIT,
            check=False,
        )
        self.said[" ".join(words)[:60]] = ran.stdout + ran.stderr

    def commands(self, goal: str) -> None:
        for name in FORMATS:
            self.command("pack", "--no-budget", "-f", name)
        self.command("pack")
        self.command("pack", "--goal", goal)
        self.command("pack", "--type", "full")
        self.command("pack", "--type", "summary")
        self.command("pack", "-q", "-o", str(self.base / "out" / "pack.md"))
        self.command("report", str(self.base / "out" / "pack.md"), "-o", str(self.base / "out/r"))
        for words in (("secrets",), ("secrets", "--explain", "--json"), ("tree",), ("scan",)):
            self.command(*words)
        self.command("rank", goal)
        self.command("read", f"missing/{goal}")
        self.command("log", "show")
        self.with_a_model(goal)

    def with_a_model(self, goal: str) -> None:
        """What a model is sent and what versions of a file show."""
        file = next(self.project.rglob("shared-*/a.txt"))
        name = str(file.relative_to(self.project))
        self.command("run", "explain", "-c", name, "--print")
        self.command("run", "explain", "-c", name, "--command", "cat")
        self.command("gather", goal, "--rank", "--print")
        self.command("gather", goal, "--rank", "--command", "cat")
        self.command("write", "-a", name, str(file))
        self.command("diff", name)
        self.command("history", name)

    def page(self, goal: str) -> None:
        """The page of `ui`, as a browser gets it."""
        process = subprocess.Popen(
            [sys.executable, "-m", "sutler", "ui", "--goal", goal],
            cwd=self.project,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.env,
        )
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        connection = http.client.HTTPConnection(address.netloc, timeout=_LIMIT)
        connection.request("GET", f"{address.path}?{address.query}")
        entered = connection.getresponse()
        entered.read()
        cookie = (entered.getheader("set-cookie") or "").partition(";")[0]
        connection.request("GET", address.path, headers={"Cookie": cookie})
        body = connection.getresponse().read()
        assert b"<html" in body.lower(), "the page was not served"
        self.said["ui"] = body
        process.send_signal(signal.SIGINT)
        process.wait(_LIMIT)

    def killed(self) -> None:
        """A pack that is ended in the middle: what it leaves behind is searched with the rest."""
        for seconds in (0.2, 0.5, 0.9):
            words = [sys.executable, "-m", "sutler", "pack", "--no-budget", "-o"]
            process = subprocess.Popen(
                [*words, str(self.base / "out" / f"k{seconds}")],
                cwd=self.project,
                env=self.env,
                stderr=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
            process.wait(_LIMIT)

    def calls(self, goal: str) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "list_files", {}
        yield "search", {"query": "password"}
        yield "search", {"query": goal}
        yield "pack", {"goal": goal, "max_tokens": 4000}
        for file in sorted(self.project.rglob("a.*")):
            path = str(file.relative_to(self.project))
            yield "read_file", {"path": path}
            if file.suffix in (".py", ".md"):
                yield "outline", {"path": path}
                yield "summarize_file", {"path": path, "max_tokens": 200}

    def stdio(self, goal: str) -> None:
        server = Server(
            [sys.executable, "-m", "sutler", "mcp", "--root", str(self.project)], self.env
        )
        server.hello()
        answers = [
            server.ask("tools/call", {"name": name, "arguments": arguments})
            for name, arguments in self.calls(goal)
        ]
        server.close()
        self.said["MCP over stdio"] = json.dumps(answers, ensure_ascii=False).encode()

    def over_http(self, goal: str) -> None:
        words = ["mcp", "--root", str(self.project), "--http", "--port", "0", "--no-token"]
        process = subprocess.Popen(
            [sys.executable, "-m", "sutler", *words],
            stderr=subprocess.PIPE,
            text=True,
            env=self.env,
        )
        assert process.stderr is not None
        address = None
        while address is None:
            address = re.search(r":(\d+)/mcp", process.stderr.readline())
        connection = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=_LIMIT)
        fields = {"Content-Type": "application/json", "Accept": "application/json"}
        answers = []
        for number, (name, arguments) in enumerate(self.calls(goal)):
            params = {"name": name, "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            connection.request("POST", "/mcp", json.dumps(message), fields)
            answers.append(connection.getresponse().read())
        process.terminate()
        process.wait(_LIMIT)
        self.said["MCP over HTTP"] = b"\n".join(answers)

    def everything(self) -> Iterator[tuple[str, bytes]]:
        yield from self.said.items()
        for folder, _, names in os.walk(self.base):
            for name in names:
                if Path(folder) != self.project and self.project not in Path(folder).parents:
                    yield f"file {name}", Path(folder, name).read_bytes()


def run(seed: int, count: int) -> int:
    """Plant, go through every door, print what leaked; returns how many canaries did."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        project = base / "project"
        planted = canaries(project, seed, count)
        doors = Doors(project, base)
        goal = f"fix {planted[-1].needles[0]}"
        doors.commands(goal)
        doors.page(goal)
        doors.killed()
        doors.stdio(goal)
        doors.over_http(goal)
        leaks = _leaks(planted, doors.everything())
        places = {canary.place for canary in planted}
        kinds = {canary.kind for canary in planted}
        print(f"{count} canaries of {len(kinds)} kinds in {len(places)} places, seed {seed}")
        print(f"{len(doors.said)} doors: {', '.join(doors.said)}"[:1500])
        for canary, where in sorted(leaks.items()):
            print(
                f"  leaked: {canary.kind} in {canary.place}, at {len(where)}: {', '.join(where)[:300]}"
            )
        by_class = Counter(canary.place.partition(":")[0] for canary in leaks)
        print(f"leaked: {len(leaks)}  by class: {dict(by_class)}")
        return len(leaks)


def _leaks(
    planted: list[Canary], everything: Iterator[tuple[str, bytes]]
) -> dict[Canary, list[str]]:
    owners = [(needle.encode(), canary) for canary in planted for needle in canary.needles]
    database = hyperscan.Database()
    database.compile(
        expressions=[re.escape(needle) for needle, _ in owners],
        ids=list(range(len(owners))),
        elements=len(owners),
        flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(owners),
    )
    leaks: dict[Canary, list[str]] = {}
    for door, data in everything:
        seen: list[int] = []
        database.scan(data, match_event_handler=_note, context=seen)
        for canary in {owners[number][1] for number in seen}:
            leaks.setdefault(canary, []).append(door)
    return leaks


def _note(number: int, _start: int, _end: int, _flags: int, seen: Any) -> None:
    seen.append(number)
