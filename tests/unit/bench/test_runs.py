"""The harness on real children: small Python programs stand in for the tools."""

import os
import sys
from pathlib import Path

import pytest

from bench import runs
from bench.corpora import Corpus, census
from bench.figures import Row
from bench.peers import Found, Tool

COPY = "import sys; open(sys.argv[1], 'w').write('x' * 5_000_000); print('counted 5')"


@pytest.fixture
def tree(tmp_path: Path) -> Corpus:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.txt").write_text("a")
    return Corpus("t", str(tmp_path / "tree"), "small", census(str(tmp_path / "tree")))


def race(tree: Corpus, tmp_path: Path, tools: list[Found], timeout: float = 60) -> list[Row]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return runs.race([tree], "raw", tools, runs.Plan(str(scratch), 2, timeout, None))


def tool(name: str, script: str, *, states: tuple[str, ...] = ("-",), proof: str = "") -> Found:
    recipes = {"raw": ("-c", script, "OUT")}
    made = Tool(name, recipes, "", {"raw": states}, {"raw": proof} if proof else {})
    return Found(made, (sys.executable,), "1.0")


def test_rows_hold_runs_cost_and_output(tree: Corpus, tmp_path: Path) -> None:
    first, second = race(tree, tmp_path, [tool("a", COPY, proof="counted [1-9]"), tool("b", COPY)])
    assert (first.tool, second.tool, first.runs, first.out_mb, first.note) == ("a", "b", 2, 5.0, "")
    assert first.wall > 0
    assert first.cpu > 0
    assert first.peak_mb > 1


def test_a_crash_is_a_note_with_the_last_words(tree: Corpus, tmp_path: Path) -> None:
    bad, good = race(
        tree, tmp_path, [tool("bad", "raise SystemExit('no such flag')"), tool("good", COPY)]
    )
    assert (bad.runs, bad.note) == (0, "crashed (1): no such flag")
    assert good.runs == 2


def test_a_tool_that_skips_the_work_is_not_measured(tree: Corpus, tmp_path: Path) -> None:
    (found,) = race(tree, tmp_path, [tool("lazy", "pass", proof="counted [1-9]")])
    assert found.runs == 0
    assert "did not do this work" in found.note


def test_a_run_over_the_limit_is_ended(tree: Corpus, tmp_path: Path) -> None:
    (found,) = race(tree, tmp_path, [tool("slow", "import signal; signal.pause()")], timeout=0.3)
    assert (found.runs, found.note) == (0, "over 0.3 s")


def test_cold_runs_find_no_cache_and_warm_runs_find_one(tree: Corpus, tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "mark = os.environ['XDG_CACHE_HOME']\n"
        "open(sys.argv[1], 'w').write('x' * (2 if os.path.exists(mark) else 1))\n"
        "os.makedirs(mark, exist_ok=True)\n"
    )
    race(tree, tmp_path, [tool("tool", script, states=("cold", "warm"))])
    sizes = [
        os.path.getsize(tmp_path / "scratch" / f"t-tool-raw-{state}.out")
        for state in ("cold", "warm")
    ]
    assert sizes == [1, 2]
