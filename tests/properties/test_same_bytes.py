"""The same tree gives the same pack under any home folder, locale and number of cores.

Trees with planted secrets are packed by children that differ in these only: twelve packs a tree.
SUTLER_FUZZ=42 makes 1,008 packs.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

from tests.limits import LONG

TREES = 2 * int(os.environ.get("SUTLER_FUZZ", "1"))
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789"
PROGRAM = """
import hashlib, os, sys
import sutler, sutler.pack.steps
sutler.pack.steps.ENOUGH = 10  # worker processes for small trees too
if sys.argv[2] == "1":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for name in sorted(os.listdir(sys.argv[1])):
    number = int(name)
    options = ({"max_bytes": 0}, {"max_tokens": 3000}, {"goal": "rotate the password"})[number % 3]
    text = sutler.Project(os.path.join(sys.argv[1], name)).pack(**options).text()
    assert "REDACTED" in text, name
    print(name, hashlib.sha256(text.encode()).hexdigest())
"""


def secret(rng: random.Random) -> str:
    """A value that the redactor finds, by its format or by the name before it."""
    word = "".join(rng.choice(LETTERS) for _ in range(36))
    return rng.choice((f"ghp_{word}", f"AKIA{word[:16].upper()}", f"{word[:20]}!", word))


def plant_tree(folder: Path, seed: int) -> None:
    """Code, settings and prose that share some secrets, and a credential file."""
    rng = random.Random(seed)
    shared = [secret(rng) for _ in range(3)]
    folder.mkdir(parents=True)
    for number in range(rng.randint(4, 9)):
        value = rng.choice((*shared, secret(rng)))
        texts = {
            f"m{number}.py": f'def rotate_{number}():\n    password = "{value}"\n' * 2,
            f"c{number}.yaml": f"database:\n  password: {value}\n",
            f"n{number}.md": f"# Größe {number}\n\nThe token {value} is old.\n",
        }
        for name in rng.sample(sorted(texts), 2):
            (folder / name).write_text(texts[name], encoding="utf-8")
    (folder / "conf.py").write_text(f'API_TOKEN = "{shared[0]}"\nDB_PASSWORD = "{shared[1]}"\n')
    (folder / ".env").write_text(f"API_TOKEN={shared[2]}\n")


def test_homes_locales_and_cores_do_not_show(tmp_path: Path) -> None:
    """Two homes and one that cannot be written, two locales, one core and all of them."""
    for seed in range(TREES):
        plant_tree(tmp_path / "trees" / f"{seed}", seed)
    homes = [tmp_path / "one", tmp_path / "two", Path("/dev/null/home")]
    for home in homes[:2]:
        home.mkdir()
    outcomes = set[str]()
    for home in homes:
        for locale in ("C", "C.UTF-8"):
            for cores in ("1", "all"):
                environ = {
                    **{key: os.environ[key] for key in ("PATH",) if key in os.environ},
                    "HOME": str(home),
                    "LC_ALL": locale,
                    "PYTHONPATH": os.pathsep.join(sys.path),
                }
                done = subprocess.run(
                    [sys.executable, "-c", PROGRAM, str(tmp_path / "trees"), cores],
                    env=environ,
                    capture_output=True,
                    text=True,
                    timeout=LONG,
                    check=False,
                )
                assert done.returncode == 0, done.stderr
                outcomes.add(done.stdout)
    lines = [frozenset(outcome.splitlines()) for outcome in outcomes]
    common = lines[0].intersection(*lines)
    assert len(outcomes) == 1, sorted(lines[0].union(*lines) - common)[:6]
