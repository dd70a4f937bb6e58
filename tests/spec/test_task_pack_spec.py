"""Packs for a task: the right files and regions, the history, and a budget that is not wasted."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import sutler as api
from tests.conftest import Plant, Sutler
from tests.limits import LIMIT


def module(name: str, functions: int) -> str:
    body = "".join(
        f"\n\ndef {name}_{number}(value: int) -> int:\n    "
        + "\n    ".join(["value += 1"] * 12)
        + "\n    return value\n"
        for number in range(functions)
    )
    return f'"""The {name} of a cart."""\n{body}'


TREE = {
    "README.md": "# Cart\n\nA cart with axles.\n",
    "src": {
        "axle.py": module("axle", 40)
        + "\n\ndef grease_bearing(bearing: str) -> str:\n    return bearing.strip()\n",
        "wheel.py": module("wheel", 40),
        "harness.py": "from axle import grease_bearing\n\n\ndef hitch() -> None:\n    grease_bearing('left')\n",
    },
    "tests": {
        "test_axle.py": "from axle import grease_bearing\n\n\ndef test_grease() -> None: ...\n"
    },
}
GOAL = "grease_bearing() fails on a None bearing"


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.invalid"]
    subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, timeout=LIMIT
    )


@pytest.fixture
def repository(plant: Plant) -> Path:
    folder = plant(TREE)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Build the cart")
    return folder


def sections(data: bytes) -> dict[str, tuple[str, str]]:
    return {str(one.path): (one.level, one.body.text) for one in api.parse(data).sections}


def test_the_region_that_matters_is_shown(plant: Plant, sutler: Sutler) -> None:
    """Under a budget far below the file's size, the function that the task names is in the pack,
    whole.
    """
    ran = sutler("pack", "--goal", GOAL, "--max-chars", "6000", "--fill", cwd=plant(TREE))
    shown = sections(ran.out)
    assert shown["src/axle.py"][0] == "excerpt"
    assert (
        "def grease_bearing(bearing: str) -> str:\n    return bearing.strip()"
        in shown["src/axle.py"][1]
    )
    assert "src/harness.py" in shown


@pytest.mark.parametrize(
    ("flag", "limit"), [("--max-chars", 9_000), ("--max-tokens", 2_600), ("--max-bytes", 12_000)]
)
def test_the_budget_is_used(plant: Plant, sutler: Sutler, flag: str, limit: int) -> None:
    """With --fill and more material than budget at least 97 % of it is used, and never more."""
    words = ("pack", "--goal", GOAL, "--fill", flag, str(limit), "--json")
    ran = sutler(*words, cwd=plant(TREE))
    used = json.loads(ran.out)["report"]["used"]
    assert limit * 0.97 <= used <= limit


def test_a_second_run_gives_the_same_bytes_from_the_cache(plant: Plant, sutler: Sutler) -> None:
    """Cold, warm, with a damaged cache and without one: the same pack."""
    folder = plant(TREE)
    words = ("pack", "--goal", GOAL, "--max-chars", "8000")
    cold = sutler(*words, cwd=folder).out
    cache = Path(os.environ["HOME"]) / ".cache/sutler"
    kept = list(cache.glob("index-*.bin"))
    assert kept
    assert sutler(*words, cwd=folder).out == cold
    kept[0].write_bytes(kept[0].read_bytes()[:-100])
    assert sutler(*words, cwd=folder).out == cold
    kept[0].unlink()
    assert sutler(*words, cwd=folder).out == cold


def test_an_edit_is_seen(plant: Plant, sutler: Sutler) -> None:
    folder = plant(TREE)
    sutler("rank", "--goal", "lubricate hub", cwd=folder)
    (folder / "src/wheel.py").write_text("def lubricate_hub() -> None: ...\n")
    ranked = json.loads(sutler("rank", "--goal", "lubricate_hub", "--json", cwd=folder).out)[
        "ranked"
    ]
    assert ranked[0]["path"] == "src/wheel.py"


def test_rank_gives_reasons(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("rank", "--goal", GOAL, "-k", "3", cwd=plant(TREE))
    lines = ran.text.splitlines()
    assert "src/axle.py" in lines[0]
    assert lines[1].startswith("               ")


def test_outline_keeps_imports_and_names(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("outline", "src/harness.py", cwd=plant(TREE))
    assert "from axle import grease_bearing" in ran.text
    assert "def hitch() -> None" in ran.text
    assert sutler("outline", "nothing.py", cwd=plant(TREE)).code == 2


def test_since_with_fill_puts_changed_files_first_and_whole(
    repository: Path, sutler: Sutler
) -> None:
    with (repository / "src/axle.py").open("a") as stream:
        stream.write("\n\nAXLES = 2\n")
    (repository / "src/new.py").write_text("NEW = True\n")
    (repository / "src/wheel.py").unlink()
    ran = sutler(
        "pack", "--since", "HEAD", "--fill", "--diff", "--log", "2", "--max-chars", "30k",
        cwd=repository,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    shown = sections(ran.out)
    assert shown["src/axle.py"][0] == shown["src/new.py"][0] == "full"
    diff = shown["git/changes.diff"][1]
    assert "+AXLES = 2\n" in diff
    assert "--- /dev/null\n+++ b/src/new.py\n" in diff
    assert "--- a/src/wheel.py\n+++ /dev/null\n" in diff
    assert shown["git/log.txt"][1].endswith(" Build the cart\n")


def test_the_diff_is_what_git_would_show(repository: Path, sutler: Sutler) -> None:
    text = (repository / "src/axle.py").read_text()
    (repository / "src/axle.py").write_text(
        text.replace("return bearing.strip()", "return bearing or ''", 1)
    )
    ours = sections(sutler("pack", "--diff", cwd=repository).out)["git/changes.diff"][1]
    theirs = subprocess.run(
        ["git", "diff", "HEAD"],
        cwd=repository,
        check=True,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    ).stdout
    changed = [
        line for line in theirs.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert [
        line for line in ours.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ] == changed


def test_a_secret_in_a_removed_line_stays_out(repository: Path, sutler: Sutler) -> None:
    value = "hunter2" + "Correct8Horse"
    (repository / "conf.py").write_text(f'PASSWORD = "{value}"\n')
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Add settings")
    (repository / "conf.py").write_text("PASSWORD = None\n")
    ran = sutler("pack", "--since", "HEAD~1", "--diff", cwd=repository)
    assert ran.code == 0
    assert value.encode() not in ran.out
    assert "git/changes.diff" in sections(ran.out)


def test_history_flags_run_nothing_of_the_repository(
    repository: Path, sutler: Sutler, tmp_path: Path
) -> None:
    """T26: hooks, filters, text conversion, fsmonitor and pagers of a hostile configuration stay
    silent.
    """
    marker = tmp_path / "ran"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    trap.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=trap diff=trap\n")
    for key in (
        "core.fsmonitor",
        "core.pager",
        "filter.trap.clean",
        "filter.trap.smudge",
        "diff.trap.textconv",
        "diff.external",
        "core.sshCommand",
        "gpg.program",
        "core.hooksPath",
    ):
        git(repository, "config", key, str(trap))
    marker.unlink(missing_ok=True)
    for words in (["--since", "HEAD", "--diff", "--log", "5"], ["--goal", GOAL]):
        assert sutler("pack", *words, cwd=repository).code == 0
    assert not marker.exists()


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "HEAD~99", ""])
def test_a_wrong_revision_is_named(repository: Path, sutler: Sutler, revision: str) -> None:
    ran = sutler("pack", f"--since={revision}", cwd=repository)
    assert ran.code == (2 if revision else 0)
    assert "Traceback" not in ran.err


def test_history_outside_a_repository_is_a_usage_error(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("pack", "--diff", cwd=plant(TREE))
    assert ran.code == 2
    assert "not a git repository" in ran.err


def test_assign_is_the_pack_in_another_spelling(plant: Plant, sutler: Sutler) -> None:
    """seed 000's output format: the same files, each with a variable for its path and one for its
    content.
    """
    folder = plant({"a b.py": "x = 1\n", "docs": {"a b.md": "--end-x--\n"}})
    ran = sutler("pack", "-f", "assign", cwd=folder)
    assert ran.code == 0, ran.err
    assert '@spec_a_b assign "docs/a b.md"\n@spec_a_bContent assign\n--begin-context-' in ran.text
    assert '@spec_a_b_2 assign "a b.py"\n' in ran.text
    assert sutler("pack", "-f", "assign", cwd=folder).out == ran.out
    assert sutler("pack", "-f", "assign", "--split", "9k", "-o", "x", cwd=folder).code == 2


def test_gather_may_start_from_the_ranking(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    model = tmp_path / "model.sh"
    model.write_text(
        '#!/bin/sh\ncat > /dev/null\necho \'{"done": true, "files": [], "reason": "enough"}\'\n'
    )
    model.chmod(0o755)
    ran = sutler("gather", GOAL, "--command", str(model), "--rank", cwd=plant(TREE))
    assert ran.code == 0, ran.err
    assert '"src/axle.py"' in ran.text
    result, first = json.loads(sutler("receipt", "list", "--json", cwd=tmp_path / "project").out)[
        "receipts"
    ]
    assert (first["destination"], result["destination"]) == (str(model), "stdout")
