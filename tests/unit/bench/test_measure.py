import sys
from functools import partial
from pathlib import Path

from bench.measure import Command, Job, Sample, interleave, machine, measure, own_peak_mb


def command(tmp_path: Path, script: str) -> Command:
    words = (sys.executable, "-c", script)
    return Command(words, {}, str(tmp_path / "out"), str(tmp_path / "err"), str(tmp_path))


def test_a_run_has_its_own_memory_and_status(tmp_path: Path) -> None:
    """A child's peak cannot be seen below that of its parent, and a test worker may be large: the
    two runs are told apart from above, by an amount that no worker has.
    """
    floor = own_peak_mb()
    small = measure(command(tmp_path, "pass"), 60)
    size = int(floor + 200) * 1_000_000
    large = measure(command(tmp_path, f"x = b'x' * {size}; raise SystemExit(3)"), 60)
    assert (small.status, large.status) == (0, 3)
    assert small.peak_mb < floor + 150 < large.peak_mb


def test_streams_go_to_their_files(tmp_path: Path) -> None:
    measure(command(tmp_path, "import sys; print('a'); print('b', file=sys.stderr)"), 60)
    assert ((tmp_path / "out").read_text(), (tmp_path / "err").read_text()) == ("a\n", "b\n")


def test_runs_are_interleaved_and_a_failed_job_is_not_tried_again(tmp_path: Path) -> None:
    order: list[str] = []
    scripts = {"a": "pass", "b": "raise SystemExit(1)", "c": "pass"}
    jobs = [Job(n, command(tmp_path, s), partial(order.append, n)) for n, s in scripts.items()]
    taken: dict[str, list[Sample]] = interleave(jobs, 3, 60)
    assert "".join(order) == "abcacac"
    assert {name: len(samples) for name, samples in taken.items()} == {"a": 3, "b": 1, "c": 3}


def test_the_machine_is_described_without_its_name() -> None:
    assert list(machine()) == ["system", "processor", "cores", "memory", "load"]
