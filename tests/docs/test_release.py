"""The release recipe, dry: everything is built, checked and described; nothing is uploaded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from release.make import absolute_links, checked_version
from tests.docs.blocks import REPOSITORY
from tests.limits import LONG


def test_links_of_the_readme_become_absolute() -> None:
    text = absolute_links("![a](b.svg) [c](d.md) [e](https://f) [g](#h)", "https://x.org/y")
    assert text == (
        "![a](https://x.org/y/raw/main/b.svg) [c](https://x.org/y/blob/main/d.md) "
        "[e](https://f) [g](#h)"
    )
    readme = absolute_links((REPOSITORY / "README.md").read_text(), "https://x.org/y")
    assert not re.findall(r"\]\((?!https:|#)", readme)


def test_a_version_without_notes_is_refused() -> None:
    with pytest.raises(SystemExit, match="no notes"):
        checked_version("# Changes\n\n## 0.0.1\n")


def test_the_action_names_options_that_exist() -> None:
    """Every sutler command of action.yml and of the hooks is one that the parser takes."""
    from sutler.fronts.cli.command_table import BY_NAME
    from sutler.fronts.cli.options import load

    action = yaml.safe_load((REPOSITORY / "action.yml").read_text())
    script = "\n".join(step.get("run", "") for step in action["runs"]["steps"])
    [hook] = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    lines = re.findall(r"sutler ([a-z]+)([^\n;]*)", f"{script}\n{hook['entry']}\n")
    assert len(lines) == 4
    for name, rest in lines:
        words = [word.strip('"') for word in rest.split() if "[@]" not in word]
        load(BY_NAME[name])[0].read(words)
    assert "${{" not in script  # inputs reach the shell as variables, never as text


def test_the_image_runs_as_a_user_and_writes_only_below_tmp() -> None:
    text = (REPOSITORY / "Dockerfile").read_text()
    assert re.search(r"^USER sutler$", text, re.M)
    assert "XDG_STATE_HOME=/tmp/state" in text
    assert "XDG_CACHE_HOME=/tmp/cache" in text


def test_a_release_is_made_dry(tmp_path: Path) -> None:
    out = tmp_path / "dist"
    words = ["-m", "release.make", "--home", "https://example.org/sutler", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, *words], cwd=REPOSITORY, capture_output=True, text=True, timeout=LONG,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    names = {one.name for one in out.iterdir()}
    assert {"LICENCES.txt", "SHA256SUMS", "sbom.cdx.json", "sutler.1", "sutler.bash"} <= names
    parts = json.loads((out / "sbom.cdx.json").read_text())["components"]
    assert {"sutler", "msgspec", "textual"} <= {part["name"] for part in parts}
    assert "not stated" not in (out / "LICENCES.txt").read_text().partition("sutler")[0]
    [sdist] = out.glob("*.tar.gz")
    with tarfile.open(sdist) as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    [folder] = (tmp_path / "unpacked").iterdir()
    some = ["tests/unit/formats", "tests/unit/test_config.py", "tests/unit/test_paths.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *some],
        cwd=folder, capture_output=True, text=True, timeout=LONG, check=False,
        # The options of this run name a temporary folder that holds the unpacked one.
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
