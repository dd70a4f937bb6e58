"""Golden cases: a small tree, a request, and the exact bytes that must come of them.

    tests/golden/cases/<name>/tree/         the project; a name ending in `.esc` is read by `grow`, see below
    tests/golden/cases/<name>/request.toml  options of `Project.pack`, and `goal`
    tests/golden/cases/<name>/pack.md|xml|json and report.json

A change of format shows up as a change of these files. `python -m tests.golden.bless [NAME…]`
rewrites them; read the difference before it is committed.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import sutler
from sutler.formats.document import Format
from sutler.fronts.cli.pack import spelled
from sutler.paths import unquote

CASES = Path(__file__).parent / "cases"
FORMATS: dict[str, Format] = {"pack.md": "markdown", "pack.xml": "xml", "pack.json": "json"}


def case_names() -> list[str]:
    return sorted(path.name for path in CASES.iterdir() if (path / "request.toml").is_file())


def grown(case: Path, target: Path) -> Path:
    """The case's tree in a folder of its own. Files that no repository should hold (odd names,
    ignore files that would act on this very repository, line ends that git would touch) are written
    in `odd.json`: name to text.
    """
    project = target / case.name
    shutil.copytree(case / "tree", project)
    odd = case / "odd.json"
    for shown, text in (json.loads(odd.read_text()) if odd.exists() else {}).items():
        path = os.path.join(os.fsencode(project), os.fsencode(unquote(shown)))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogateescape"))
    for folder, _, files in os.walk(os.fsencode(project)):
        for name in files:
            os.chmod(os.path.join(folder, name), 0o755 if name.endswith(b".sh") else 0o644)
    return project


def produced(case: Path, target: Path) -> dict[str, str]:
    """The files that the case makes, by name."""
    project = grown(case, target)
    request: dict[str, Any] = tomllib.loads((case / "request.toml").read_text())
    goal = request.pop("goal", "")
    made: dict[str, str] = {}
    for name, format in FORMATS.items():
        packing = sutler.Project(project).pack(goal=goal, **{**request, "format": format})
        made[name] = packing.text()
        if format == "markdown":
            made["report.json"] = (
                json.dumps(spelled(packing.report), indent=1, sort_keys=True) + "\n"
            )
    return made
