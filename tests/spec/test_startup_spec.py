"""Start-up: a command loads what it uses and nothing else. Checked on the set of modules, never on
a clock.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import LIMIT

SOURCE = Path(__file__).parents[2] / "src"

WORDS_ONLY = frozenset(
    """
    argparse collections ctypes difflib enum hashlib importlib.metadata msgspec re shutil subprocess typing
    sutler.config sutler.scan sutler.pack sutler.secrets sutler.budget sutler.ranking
    """.split()
)
"""What neither --version nor --help needs: both print a few words."""

NOT_FOR_PACK = frozenset(
    """
    asyncio ctypes difflib email http importlib.metadata jinja2 locale logging multiprocessing pathlib shtab
    shutil socket sqlite3 splintr ssl subprocess tempfile textual tomllib unittest urllib.request yaml
    sutler.access sutler.pack.unpack ctypes sutler.fronts.clipboard
    sutler.fronts.cli.inspection sutler.fronts.cli.setup sutler.fronts.cli.split sutler.fronts.cli.unpack sutler.goals
    sutler.formats.parser sutler.formats.split
    """.split()
)
"""What a plain pack of a small project without token counts does not need."""

_CHILD = (
    "import sys; bare = set(sys.modules); from sutler.__main__ import main; sys.argv[0] = 'sutler'; code = main(); "
    "sys.stderr.write('\\nLOADED ' + ' '.join(sorted(set(sys.modules) - bare))); sys.exit(code)"
)


def loaded_by(*words: str, cwd: Path) -> set[str]:
    """The modules that a command adds to those of the bare interpreter."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, *words],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("LOADED ")[2].split())


@pytest.mark.parametrize("word", ["--version", "--help", "-h", "-V"])
def test_words_cost_no_machinery(word: str, tmp_path: Path) -> None:
    """`sutler --version` and `sutler --help` load neither the engine nor a parser."""
    assert loaded_by(word, cwd=tmp_path).isdisjoint(WORDS_ONLY)


def test_pack_loads_what_it_uses(tmp_path: Path) -> None:
    """A pack does not load other commands, the parser of packs, or the tokenizer when it counts
    none.
    """
    (tmp_path / "main.py").write_text("print('hello')\n")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    loaded = loaded_by("pack", "--quiet", "--counter", "none", "-o", "out.md", cwd=tmp_path)
    assert (tmp_path / "out.md").exists()
    assert loaded.isdisjoint(NOT_FOR_PACK), sorted(loaded.intersection(NOT_FOR_PACK))


@pytest.mark.parametrize(
    "words",
    [("--max-tokens", "5k"), ("--no-budget",), ("--goal", "say hello", "--max-tokens", "2k")],
)
def test_a_small_pack_is_counted_without_the_tokenizer(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """Its start would take longer than all the rest; and a large one is not counted without it."""
    (tmp_path / "main.py").write_text("print('hello')\n" * 400)
    assert "splintr" not in loaded_by("pack", *words, "-o", "out.md", cwd=tmp_path)
    (tmp_path / "more.py").write_text("print('hello')\n" * 60_000)
    assert "splintr" in loaded_by("pack", "--no-budget", "-o", "out.md", cwd=tmp_path)


def test_importing_the_package_loads_no_part_of_it(tmp_path: Path) -> None:
    """`import sutler` is free; names are loaded when they are first used."""
    program = "import sys; bare = set(sys.modules); import sutler; print(*sorted(set(sys.modules) - bare))"
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert set(done.stdout.split()) <= {"sutler", "__future__"}


def test_one_core_and_two_give_the_same_answer(tmp_path: Path) -> None:
    """Tokens are counted on as many cores as there are; what is written and counted does not depend
    on how many.
    """
    for number in range(60):
        (tmp_path / f"file{number}.py").write_text(f"value_{number} = '{'word ' * number}'\n" * 40)
    answers = []
    for threads in ("1", "2"):
        env = {**os.environ, "PYTHONPATH": str(SOURCE), "RAYON_NUM_THREADS": threads}
        words = [sys.executable, "-m", "sutler", "pack", "--no-budget"]
        texts = [
            subprocess.run(
                [*words, *more],
                cwd=tmp_path,
                env=env,
                capture_output=True,
                check=True,
                timeout=LIMIT,
            ).stdout
            for more in ((), ("--json",))
        ]
        answers.append(texts)
    assert answers[0] == answers[1]
    assert b'"tokens"' in answers[0][1]
