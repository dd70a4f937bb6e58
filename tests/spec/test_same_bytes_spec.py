"""A pack with secrets has the same bytes under any home folder, locale and number of cores."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.canaries import Mint
from tests.conftest import Plant, Tree

LARGE = 60_000
"""Lines that make a tree large enough for worker processes."""
COMMANDS = (
    ("pack", "--no-budget"),
    ("pack", "--no-budget", "-f", "xml", "-n"),
    ("pack", "--max-tokens", "900"),
    ("pack", "--max-bytes", "4000", "-f", "json"),
    ("pack", "--goal", "rotate the database password"),
    ("pack", "--type", "full", "-f", "json"),
    ("pack", "--type", "summary", "-f", "markdown"),
    ("pack", "--task", "-", "-f", "prompt"),
    ("scan", "--json"),
)


def tree(seed: int, lines: int = 30) -> Tree:
    """Secrets of several kinds, some of them in several files, and one in a file's name."""
    mint = Mint(seed)
    shared, aws, github = (
        mint.some("abcdefgh23456789XYZ", 18),
        mint.aws().text,
        mint.github().text,
    )
    files = {f"src/m{n}.py": f'password = "{mint.some("qrstuvw3456", 14)}"\n' for n in range(12)}
    filler = "".join(f"value_{n} = {n} * {n + 1}\n" for n in range(lines))
    return {
        **files,
        "README.md": f"# Shop\n\nThe key is {aws}.\n",
        "a.ini": f"password = {shared}\n",
        "b/big.py": f'{filler}db_password = "{shared}"\nkey = "{aws}"\n',
        "c/big.py": f'{filler}db_token = "{mint.github().text}"\n',
        f"d/{github}.txt": "x\n",
        "package.json": f'{{"name": "shop", "description": "token {github}"}}\n',
    }


def environments(folder: Path) -> list[dict[str, str]]:
    locked = folder / "locked"
    locked.mkdir(parents=True)
    locked.chmod(0o500)
    plain = {"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": "1700000000"}
    homes = [
        {"HOME": str(folder / name), "XDG_STATE_HOME": "", "XDG_CACHE_HOME": ""}
        for name in ("one", "two")
    ]
    unwritable = {
        "HOME": "/proc",
        "XDG_STATE_HOME": "/proc/none",
        "XDG_CACHE_HOME": str(locked / "cache"),
    }
    return [
        {**plain, **homes[0], "LC_ALL": "C"},
        {**plain, **homes[1], "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "7"},
        {**plain, **unwritable, "LC_ALL": "C.UTF-8"},
    ]


def packed(folder: Path, words: tuple[str, ...], env: dict[str, str], cores: str = "") -> bytes:
    task = b'{"id": "t1", "title": "t", "goal": "fix a.ini", "context": {"files": ["a.ini", "b/big.py"]}}'
    pinned = ["taskset", "-c", cores] if cores else []
    ran = subprocess.run(
        [*pinned, sys.executable, "-m", "sutler", *words, "-q"],
        cwd=folder,
        env={**env, "PYTHONPATH": os.pathsep.join(sys.path)},
        input=task,
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words))
def test_every_home_and_locale_gives_the_same_bytes(
    words: tuple[str, ...], plant: Plant, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = plant(tree(7))
    places = environments(tmp_path_factory.mktemp("homes"))
    packs = {packed(folder, words, env) for env in (*places, places[0])}
    assert len(packs) == 1


def test_workers_and_the_cache_give_the_same_bytes(
    plant: Plant, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = plant(tree(8, LARGE))
    one, two, unwritable = environments(tmp_path_factory.mktemp("homes"))
    words = ("pack", "--no-budget")
    packs = [packed(folder, words, one), packed(folder, words, one)]
    packs += [packed(folder, words, two, "0"), packed(folder, words, unwritable)]
    assert len(set(packs)) == 1


def test_ordinals_count_by_first_appearance(plant: Plant) -> None:
    """Each rule counts from 1 in the order of the pack; a value has one marker in all of it."""
    folder = plant(tree(9))
    text = packed(folder, ("pack", "--no-budget"), {**os.environ}).decode()
    markers = re.findall(r"\[REDACTED:([a-z0-9-]+):([0-9]+)\]", text)
    assert len(markers) == text.count("[REDACTED:")
    for rule in {rule for rule, _ in markers}:
        numbers = list(dict.fromkeys(int(number) for name, number in markers if name == rule))
        assert numbers == list(range(1, len(numbers) + 1)), rule
    shared = re.findall(
        r"^(?:db_)?password = \"?(\[REDACTED:password:[0-9]+\])", text, re.MULTILINE
    )
    assert len(shared) == 14
    assert len(set(shared)) == 13


def test_a_number_that_a_file_brings_along_is_no_marker(plant: Plant) -> None:
    folder = plant({"doc.txt": "[REDACTED:password:1]\npassword = tr0ub4dor-x\n"})
    text = packed(folder, ("pack", "--no-budget"), {**os.environ}).decode()
    assert "[REDACTED-LITERAL:password:1]\npassword = [REDACTED:password:1]\n" in text


def test_a_pack_with_numbers_verifies(plant: Plant) -> None:
    folder = plant(tree(10))
    target = folder.parent / "pack.md"
    target.write_bytes(packed(folder, ("pack", "--no-budget"), {**os.environ}))
    assert packed(folder, ("verify", str(target)), {**os.environ})
