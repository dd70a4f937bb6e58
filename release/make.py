"""Make everything that a release needs, except the upload.

python -m release.make --home URL [--out DIR]

Checks that version and changelog agree, builds sdist and wheel, installs the wheel into a new
environment, and writes completions, the man page, the licences and a bill of materials (CycloneDX)
of what was installed. DIR then holds all of it with checksums.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SHELLS = ("bash", "zsh", "tcsh")
IN_SDIST = ("tests/conftest.py", "docs/guide.md", "constraints.txt", "CHANGELOG.md", ".ci/run")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m release.make")
    parser.add_argument("--out", default=str(REPOSITORY / "dist"), help="folder of the results")
    parser.add_argument(
        "--home",
        required=True,
        metavar="URL",
        help="the repository's page, for links of the README",
    )
    args = parser.parse_args(words)
    out = Path(args.out).resolve()
    version = checked_version((REPOSITORY / "CHANGELOG.md").read_text())
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        source = export(Path(folder) / "source")
        readme = source / "README.md"
        readme.write_text(absolute_links(readme.read_text(), args.home.rstrip("/")))
        run([sys.executable, "-m", "build", "--outdir", str(out), str(source)], Path(folder))
        sdist, wheel = out / f"sutler-{version}.tar.gz", next(out.glob(f"sutler-{version}-*.whl"))
        check_archives(sdist, wheel)
        describe(wheel, out, Path(folder) / "environment")
    write_checksums(out)
    print(f"version {version} is ready in {out}; nothing was uploaded")
    return 0


def checked_version(changelog: str) -> str:
    """The version, if it is semantic and the changelog has notes for it, or says Unreleased."""
    from sutler.version import VERSION

    if not re.fullmatch(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?", VERSION):
        raise SystemExit(f"{VERSION} is not a semantic version")
    if not re.search(rf"^## (?:\[?{re.escape(VERSION)}\b|Unreleased)", changelog, re.M):
        raise SystemExit(f"CHANGELOG.md has no notes for {VERSION}")
    return VERSION


def export(folder: Path) -> Path:
    """The files that git tracks, or all files of an unpacked sdist."""
    if (REPOSITORY / ".git").exists():
        names = subprocess.run(
            ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True
        ).stdout.decode().split("\0")  # fmt: skip
        for name in filter(None, names):
            if (REPOSITORY / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(REPOSITORY / name, folder / name)
    else:
        shutil.copytree(REPOSITORY, folder)
    return folder


def absolute_links(readme: str, home: str) -> str:
    """Relative links and pictures as a registry's page needs them."""

    def absolute(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        return f"{picture}[{text}]({home}/{'raw' if picture else 'blob'}/main/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", absolute, readme)


def check_archives(sdist: Path, wheel: Path) -> None:
    """The sdist holds what its tests need; the wheel is pure Python and holds no tests."""
    with tarfile.open(sdist) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    if missing := [name for name in IN_SDIST if name not in names]:
        raise SystemExit(f"the sdist lacks {', '.join(missing)}")
    if not wheel.name.endswith("-py3-none-any.whl"):
        raise SystemExit(f"{wheel.name} is not pure Python")
    with zipfile.ZipFile(wheel) as made:
        stray = [one for one in made.namelist() if not one.startswith(("sutler/", "sutler-"))]
    if stray:
        raise SystemExit(f"the wheel holds {stray[0]}")


def describe(wheel: Path, out: Path, environment: Path) -> None:
    """Install the wheel and write what follows from it: completions, man page, licences, SBOM."""
    run([sys.executable, "-m", "venv", str(environment)], out)
    python = str(environment / "bin/python")
    limits = ["-c", str(REPOSITORY / "constraints.txt")]
    run([python, "-m", "pip", "install", "-q", *limits, str(wheel)], out)
    for shell in SHELLS:
        text = run([str(environment / "bin/sutler"), "completion", shell], out)
        (out / f"sutler.{shell}").write_text(text)
    shutil.copy(REPOSITORY / "docs/sutler.1", out / "sutler.1")
    parts = json.loads(run([python, "-c", _PARTS], out))
    lines = [f"{one['name']} {one['version']}: {one['licence']}\n" for one in parts]
    (out / "LICENCES.txt").write_text("".join(lines))
    (out / "sbom.cdx.json").write_text(json.dumps(bill(parts), indent=2) + "\n")


_PARTS = """
import json
from importlib.metadata import distributions
def licence(meta):
    named = meta.get("License-Expression") or (meta.get("License") or "").strip().split("\\n")[0]
    if named and len(named) < 80:
        return named
    rows = [row.rpartition(" :: ")[2] for row in meta.get_all("Classifier") or () if row.startswith("License ::")]
    return ", ".join(rows) or "not stated"
rows = {d.metadata["Name"].lower(): d for d in distributions()}
print(json.dumps([{"name": n, "version": d.version, "licence": licence(d.metadata)}
                  for n, d in sorted(rows.items()) if n not in ("pip", "setuptools")]))
"""


def bill(parts: Sequence[dict[str, str]]) -> dict[str, object]:
    """A CycloneDX 1.5 bill of materials."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "components": [
            {
                "type": "application" if part["name"] == "sutler" else "library",
                "name": part["name"],
                "version": part["version"],
                "purl": f"pkg:pypi/{part['name']}@{part['version']}",
                "licenses": [{"license": {"name": part["licence"]}}],
            }
            for part in parts
        ],
    }


def write_checksums(out: Path) -> None:
    names = sorted(one for one in out.iterdir() if one.is_file() and one.name != "SHA256SUMS")
    rows = [f"{sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in names]
    (out / "SHA256SUMS").write_text("".join(rows))


def run(words: Sequence[str], folder: Path) -> str:
    """Run a program; its output, or an end with what it printed."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{' '.join(words[:4])} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
