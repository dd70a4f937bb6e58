"""Play the commands of a page as a newcomer types them: one shell, a home of its own, nothing of
ours on the PATH.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from tests.docs.blocks import opens_screen
from tests.limits import LONG
from tests.terminals import on_terminal

_PAINT = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
PASSED_ON = ("PIP_", "SSL_", "REQUESTS_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "LANG")
"""How this machine reaches a package index; everything else of the environment stays behind."""


class Shell:
    """A shell session. Commands run one by one; environment and folder are carried over as in one
    shell.
    """

    def __init__(self, home: Path, folder: Path, *path: str) -> None:
        self.folder = folder
        self.env = {
            key: value for key, value in os.environ.items() if key.upper().startswith(PASSED_ON)
        }
        own = Path.home() / ".config/pip/pip.conf"
        if own.exists():
            self.env["PIP_CONFIG_FILE"] = str(own)
        search = os.pathsep.join((*path, "/usr/local/bin", "/usr/bin", "/bin"))
        self.env |= {"HOME": str(home), "PATH": search, "TERM": "xterm", "CC": "false"}

    def run(self, line: str, *, keys: bytes = b" q", seconds: float = LONG) -> tuple[int, str]:
        """Exit code and output of one line; where a screen opens, `keys` are typed."""
        with tempfile.TemporaryDirectory() as notes:
            state = Path(notes) / "state"
            script = f"trap 'env -0 > {state}; pwd > {state}.pwd' EXIT\nset -o pipefail\n{line}\n"
            words = ["bash", "--norc", "-c", script]
            if opens_screen(line):
                code, seen = on_terminal(
                    ["env", "-i", *(f"{key}={value}" for key, value in self.env.items()), *words],
                    self.folder,
                    seconds=seconds,
                    keys=(b" files", keys),
                )
            else:
                done = subprocess.run(
                    words,
                    cwd=self.folder,
                    env=self.env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=seconds,
                    check=False,
                )
                code, seen = done.returncode, done.stdout
            self._carry_over(state)
        return code, _PAINT.sub("", seen.decode(errors="replace"))

    def _carry_over(self, state: Path) -> None:
        if not state.exists():
            return
        pairs = (item.partition("=") for item in state.read_text().split("\0") if item)
        self.env = {key: value for key, _, value in pairs if key not in ("_", "SHLVL", "PWD")}
        self.folder = Path(state.with_name("state.pwd").read_text().strip())
