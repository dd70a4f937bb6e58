"""A server that is killed loses nothing it acknowledged: files, versions and a ledger that
verifies.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import FUZZ, Plant, Sutler, grow
from tests.mcpkit import stdio

KILLS = max(1, int(3 * FUZZ))


def test_acknowledged_writes_survive_a_kill(
    plant: Plant, sutler: Sutler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path / "config" / "sutler", {"config.toml": 'writable = ["**"]\n'})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    project = plant({"a.py": "x = 1\n"})
    said = {}
    for kill in range(KILLS):
        with stdio(project) as wire:
            for n in range(25):
                name, text = f"f{n % 5}.txt", f"{kill} {n}\n"
                found = wire.call("write_file", path=name, content=text, base="any")[
                    "structuredContent"
                ]
                said[name] = text, found["version_id"]
                wire.call("read_file", path="a.py")
            wire.process.kill()
    for name, (text, version) in said.items():
        assert (project / name).read_text() == text
        assert version[:12] in sutler("history", name, "--json", cwd=project).text
    assert sutler("verify", cwd=project).code == 0
