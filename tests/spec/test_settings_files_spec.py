"""Settings that are there are read, or the command says why not: a file that is passed over may
hold a denial.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sutler.errors import UsageError
from sutler.scan.place import project_config
from tests.conftest import Plant, Sutler


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


MAKERS: dict[str, Callable[[Path], None]] = {
    "a folder": Path.mkdir,
    "a pipe": lambda path: os.mkfifo(path),
    "a link": _link,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_settings_file_that_cannot_be_read_is_an_error(
    kind: str, plant: Plant, sutler: Sutler
) -> None:
    folder = plant({"a.py": "x = 1\n"})
    MAKERS[kind](folder / "sutler.toml")
    ran = sutler("scan", cwd=folder)
    assert ran.code == 2
    assert "cannot read the settings in sutler.toml" in ran.err
    assert str(folder) not in ran.err


@pytest.mark.parametrize("kind", ["a folder", "a pipe"])
def test_the_users_own_file_is_no_exception(
    kind: str, plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    home = tmp_path / "config" / "sutler"
    home.mkdir(parents=True)
    MAKERS[kind](home / "config.toml")
    ran = sutler("scan", cwd=plant({"a.py": "x = 1\n"}), env={"XDG_CONFIG_HOME": str(home.parent)})
    assert ran.code == 2
    assert "config.toml" in ran.err


def test_the_users_own_file_may_be_a_link(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    """Many keep their dot files in a repository and link to them."""
    home = tmp_path / "config" / "sutler"
    home.mkdir(parents=True)
    (tmp_path / "dotfile.toml").write_text("exclude = ['b.py']\n")
    (home / "config.toml").symlink_to(tmp_path / "dotfile.toml")
    ran = sutler(
        "scan", cwd=plant({"a.py": "", "b.py": ""}), env={"XDG_CONFIG_HOME": str(home.parent)}
    )
    assert ran.code == 0
    assert "a.py" in ran.text
    assert "b.py" not in ran.text


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_no_permission_is_an_error_that_says_so(plant: Plant) -> None:
    folder = plant({"sutler.toml": "exclude = []\n"})
    for path in (folder, *folder.parents[:-2]):
        path.chmod(0o755)
    (folder / "sutler.toml").chmod(0)
    os.seteuid(65534)
    try:
        with pytest.raises(UsageError, match="Permission denied"):
            project_config(str(folder), {"HOME": "/nonexistent"})
    finally:
        os.seteuid(0)


def test_pyproject_toml_belongs_to_others_too(plant: Plant, sutler: Sutler) -> None:
    """A link there is what other tools made of it: their business, and none of our settings."""
    folder = plant({"a.py": "", "real.toml": "[tool.sutler]\nexclude = ['a.py']\n"})
    (folder / "pyproject.toml").symlink_to("real.toml")
    ran = sutler("scan", cwd=folder)
    assert ran.code == 0
    assert "a.py" in ran.text
