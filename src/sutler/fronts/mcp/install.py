"""Add the server to a client's configuration file; everything else in it stays, comments too.

A file is parsed before and after; if anything but our entry would differ, nothing is written."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, Literal

from msgspec import Struct

from sutler.errors import RefusedError, UsageError
from sutler.fronts.mcp.settings import Entry, read_json, read_toml, with_json, with_toml
from sutler.store.atomic import write_atomic

Scope = Literal["project", "user"]


class Client(Struct, frozen=True):
    """Configuration of a client: the file of each scope, and the key that holds its servers."""

    key: str
    project: str = ""
    user: str = ""
    toml: bool = False
    typed: bool = False  # an entry says `"type": "stdio"`


def _clients(home: str, environ: Mapping[str, str]) -> dict[str, Client]:
    config = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    desktop, code = f"{config}/Claude", f"{config}/Code/User"
    if sys.platform == "darwin":
        desktop = f"{home}/Library/Application Support/Claude"
        code = f"{home}/Library/Application Support/Code/User"
    elif sys.platform == "win32":
        roaming = environ.get("APPDATA") or f"{home}/AppData/Roaming"
        desktop, code = f"{roaming}/Claude", f"{roaming}/Code/User"
    return {
        "claude-code": Client("mcpServers", ".mcp.json", f"{home}/.claude.json"),
        "claude-desktop": Client("mcpServers", "", f"{desktop}/claude_desktop_config.json"),
        "cursor": Client("mcpServers", ".cursor/mcp.json", f"{home}/.cursor/mcp.json"),
        "vscode": Client("servers", ".vscode/mcp.json", f"{code}/mcp.json", typed=True),
        "codex": Client(
            "mcp_servers", ".codex/config.toml", f"{home}/.codex/config.toml", toml=True
        ),
        "zed": Client("context_servers", ".zed/settings.json", f"{config}/zed/settings.json"),
        "gemini": Client("mcpServers", ".gemini/settings.json", f"{home}/.gemini/settings.json"),
    }


def _client(name: str, environ: Mapping[str, str]) -> Client:
    return _clients(environ.get("HOME") or os.path.expanduser("~"), environ)[name]


def usual_scope(name: str) -> Scope:
    return "project" if _client(name, {}).project else "user"


def target(name: str, scope: Scope, root: str, environ: Mapping[str, str]) -> str:
    """Return the file to write."""
    client = _client(name, environ)
    if scope == "user":
        return client.user
    if not client.project:
        raise UsageError(f"{name} has no file of a project", next_step="use --user")
    return os.path.join(root, client.project)


def entry(root: str, tools: tuple[str, ...] = (), writable: tuple[str, ...] = ()) -> Entry:
    """Return the command of the server, with absolute paths: a client has another PATH and another
    current folder."""
    words = ["mcp", "--root", root, *(["--tools", ",".join(tools)] if tools else [])]
    words += [word for glob in writable for word in ("--writable", glob)]
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "sutler")
    program = beside if os.access(beside, os.X_OK) else shutil.which("sutler")
    if program:
        return {"command": os.path.abspath(program), "args": words}
    return {"command": os.path.abspath(sys.executable), "args": ["-m", "sutler", *words]}


class Change(Struct, frozen=True):
    """A file before and after; `entry` is our part."""

    path: str
    before: str | None
    after: str
    entry: str

    @property
    def changed(self) -> bool:
        return self.before != self.after


def plan(name: str, path: str, server: str, wanted: Entry) -> Change:
    """Return the client's file with our entry in it."""
    client = _client(name, os.environ)
    body: Entry = {"type": "stdio", **wanted} if client.typed else wanted
    before = _text(path)
    parse, put = (read_toml, with_toml) if client.toml else (read_json, with_json)
    old = _parsed(parse, before or "", path)
    servers = old.get(client.key, {})
    if not isinstance(servers, dict):
        raise _odd(path, f"{client.key} is not a table")
    if servers.get(server) == body:
        return Change(path, before, before or "", put("", client.key, server, body))
    after = put(before or "", client.key, server, body)
    if _parsed(parse, after, path) != {**old, client.key: {**servers, server: body}}:
        raise _odd(path, "its layout is not understood")
    return Change(path, before, after, put("", client.key, server, body))


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except FileNotFoundError:  # the client has no configuration yet
        return None
    except (OSError, UnicodeDecodeError) as fault:
        raise _odd(path, f"it cannot be read ({type(fault).__name__})") from None


def _parsed(parse: Callable[[str], dict[str, Any]], text: str, path: str) -> dict[str, Any]:
    try:
        return parse(text) if text.strip() else {}
    except ValueError as fault:
        raise _odd(path, str(fault)) from None


def _odd(path: str, what: str) -> RefusedError:
    return RefusedError(
        f"{path}: {what}",
        rule="a file that is not understood is not edited",
        next_step="add the entry by hand; --print shows it",
    )


def write(change: Change) -> str:
    """Write the file and keep the old one beside it; return the backup's name, empty if there was
    none."""
    if not change.changed:
        return ""
    os.makedirs(os.path.dirname(change.path) or ".", exist_ok=True)
    path = os.path.realpath(change.path)  # people keep such files in another place and link to them
    backup = ""
    if change.before is not None:
        backup = f"{path}.before-sutler"
        write_atomic(backup, [change.before.encode()])
    write_atomic(path, [change.after.encode()])
    return backup


def skill() -> str:
    return files("sutler.fronts.mcp").joinpath("SKILL.md").read_text(encoding="utf-8")
