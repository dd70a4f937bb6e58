"""Trees as literals, and the command line as a function."""

from __future__ import annotations

import codecs
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import pytest

from tests.browsers import chromium
from tests.doors import door_state, open_door
from tests.limits import LONG
from tests.stores import FUZZ, OpenStore, open_store, postgres_admin, postgres_url, store

__all__ = [
    "FUZZ",
    "OpenStore",
    "chromium",
    "door_state",
    "open_door",
    "open_store",
    "postgres_admin",
    "postgres_url",
    "store",
]

# Some tests read as another user, who may not see the standard library; a codec that is looked up
# only then would
# be remembered as missing by this process.
for _codec in (
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "utf-32-le",
    "utf-32-be",
    "latin-1",
    "cp1252",
):
    codecs.lookup(_codec)

# Whoever runs the tests in the background of a shell may have told them to ignore interrupts;
# children would too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FAST_FOLDERS = ("unit/", "contract/")
SLOW_FILES = (
    "contract/test_mcp_clients.py",
    "contract/test_mcp_http.py",
    "contract/test_mcp_killed.py",
    "contract/test_picker_terminal.py",
    "contract/test_platforms.py",
    "contract/test_processes.py",
    "contract/test_tera_differential.py",
    "contract/test_write_faults.py",
    "unit/bench/",
)
"""Files of the fast folders that start servers, terminals or many processes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the fast set by folder, so that a new test belongs to it without a decorator."""
    here = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(here).as_posix()
        if place.startswith(FAST_FOLDERS) and not place.startswith(SLOW_FILES):
            item.add_marker("fast")


Tree = Mapping[str, Any]  # str and bytes are files, mappings are folders
Plant = Callable[[Tree], Path]


# Examples are not kept between runs: a checkout may be read-only, and a run must not depend on the
# last one.
hypothesis.settings.register_profile("plain", database=None)
hypothesis.settings.load_profile("plain")


class Ran(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


Sutler = Callable[..., Ran]


def grow(folder: Path, tree: Tree) -> Path:
    """Write a tree literal: text and bytes are files, mappings are folders."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in tree.items():
        path = folder / name
        if isinstance(content, str):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode())
        elif isinstance(content, bytes):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        else:
            grow(path, content)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _nothing_left_behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Some tests grow trees deeper than any recursion; pytest's own clean-up would stumble over
    them later. SUTLER_KEEP=1 keeps everything for a look.
    """
    yield
    if not os.environ.get("SUTLER_KEEP"):
        rubbish = str(tmp_path_factory.getbasetemp())
        with suppress(subprocess.TimeoutExpired):  # a slow disk fails no test
            subprocess.run(["rm", "-rf", rubbish], check=False, timeout=LONG)


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees, or writes to, the home of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("SUTLER_", "XDG_", "GIT_"))]:
        if name not in (
            "SUTLER_FUZZ",
            "SUTLER_REAL_REPOS",
            "SUTLER_CORPORA",
            "SUTLER_NODE_MODULES",
        ):
            monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """plant({"a.py": "x = 1\\n", "docs": {"b.md": "# B\\n"}}) makes a project and returns its folder."""
    return lambda tree: grow(tmp_path / "project", tree)


@pytest.fixture
def sutler(tmp_path: Path) -> Sutler:
    """Run the real command in a real process: sutler("pack", cwd=folder)."""

    def run(
        *words: str,
        cwd: Path | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "sutler", *words],
            cwd=cwd or tmp_path,
            input=stdin,
            capture_output=True,
            check=False,
            timeout=120,
            env={**os.environ, **(env or {})},
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    return run
