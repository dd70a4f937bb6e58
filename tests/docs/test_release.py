"""The release recipe, dry: everything is built, checked and described; nothing is uploaded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from release.make import absolute_links, checked_version
from tests.docs.blocks import REPOSITORY
from tests.limits import LONG

TOKEN = "ghp_" + "x7Kq2mVb9RtY4wLs8NcD3fGh6JpZ1aE0uQiB"


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


def project(folder: Path, text: str = "WHEELS = 4\n") -> Path:
    folder.mkdir()
    (folder / "cart.py").write_text(text)
    return folder


@pytest.mark.parametrize(("text", "code"), [("WHEELS = 4\n", 0), (f"KEY = '{TOKEN}'\n", 3)])
def test_the_steps_of_the_action_run_as_they_stand(tmp_path: Path, text: str, code: int) -> None:
    """Each step's script in bash as the runner calls it, with a stand-in for `gh`; installing and
    uploading are the runner's.
    """
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text())
    folder, temp = project(tmp_path / "cart", text), tmp_path / "temp"
    temp.mkdir()
    (temp / "gh").write_text(f'#!/bin/sh\necho "$@" >> {temp}/called\ntest "$6" != --edit-last\n')
    (temp / "gh").chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{temp}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(temp),
        "GITHUB_OUTPUT": str(temp / "output"),
        "GITHUB_STEP_SUMMARY": str(temp / "summary"),
        "ARGS": "--max-tokens 2k",
        "NUMBER": "7",
        "SUTLER_SESSION": "",
    }
    steps = [
        step for step in action["runs"]["steps"] if "run" in step and step["name"] != "Install"
    ]
    assert [step["name"] for step in steps] == ["Check for secrets", "Pack", "Comment"]
    for step in steps:
        assert set(step.get("env", {})) <= {"ARGS", "NUMBER", "GH_TOKEN"}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder, env=env, capture_output=True, text=True, timeout=LONG, check=False,
        )  # fmt: skip
        if done.returncode:
            break
    assert done.returncode == code, done.stderr
    if code == 0:
        assert (temp / "output").read_text() == f"pack={temp}/pack.md\n"
        assert "WHEELS = 4" in (temp / "pack.md").read_text()
        assert "cart.py" in (temp / "summary").read_text()
        assert (temp / "called").read_text().count(f"pr comment 7 --body-file {temp}/tree.md") == 2


def test_the_image_packs_with_a_read_only_root(tmp_path: Path) -> None:
    """The Dockerfile's environment and another user, in namespaces: the root is read-only, /tmp is
    fresh but for this Python and this checkout, if they lie there. The user may read what root may,
    because this Python may lie in root's home.
    """
    text = (REPOSITORY / "Dockerfile").read_text()
    assert re.search(r"^USER sutler$", text, re.M)
    variables = re.findall(r"\b([A-Z_]+)=(/tmp/\w+|1)\b", text)
    assert len(variables) == 3
    own = [path for path in (REPOSITORY, Path(sys.prefix)) if path.is_relative_to("/tmp")]
    kept = "".join(
        f"mkdir -p {path} && mount --bind /srv/{path.relative_to('/tmp')} {path} && "
        for path in own
    )
    run = f"""
mount --make-rprivate / && mount --bind {project(tmp_path / "cart")} /mnt &&
mount --bind /tmp /srv && mount -t tmpfs none /tmp && {kept}mount -o remount,bind,ro / && cd /mnt && ! touch /x 2>/dev/null &&
exec setpriv --reuid 10001 --regid 10001 --clear-groups --inh-caps +dac_read_search \\
  --ambient-caps +dac_read_search env -i {" ".join(map("=".join, variables))} HOME=/nonexistent \\
  PATH=/usr/bin:/bin {sys.executable} -m sutler pack
"""
    try:
        subprocess.run(["unshare", "-m", "true"], check=True, timeout=LONG, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no namespaces here")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", run],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WHEELS = 4" in done.stdout
    assert "receipt" not in done.stderr  # it could be stored


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
    [wheel] = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as made:
        assert any(name.endswith("share/man/man1/sutler.1") for name in made.namelist())
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
