"""The program works on a platform that lacks what the kernel of this machine offers.

The tests of a small set run in a subprocess in which features are switched off, each alone and all
at once. Other systems are simulated this way: none but Linux was run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sutler.system import FEATURES

REPOSITORY = Path(__file__).parents[2]
LIMIT = 280
TESTS = (
    "tests/unit/store/test_atomic.py",
    "tests/unit/test_parallel.py",
    "tests/unit/pack/test_cache.py",
    "tests/unit/pack/test_project.py",
    "tests/contract/test_plain_platform.py",
)


def outcome(folder: Path, *features: str) -> subprocess.CompletedProcess[str]:
    """A run of the set without these features, as pytest reports it."""
    path = f"{REPOSITORY}/tests/plain:{REPOSITORY}/src"
    words = ["-m", "pytest", "-q", "-x", "-m", "fast", "-p", "no:xdist", "-p", "no:cacheprovider"]
    # strace injects errors into the very calls that are switched off.
    words += ["-k", "not failing_system_call"]
    return subprocess.run(
        [sys.executable, *words, f"--basetemp={folder / 'base'}", *TESTS],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": path, "WITHOUT": ",".join(features)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.mark.parametrize("feature", FEATURES)
def test_without_one_feature(feature: str, tmp_path: Path) -> None:
    """Each feature has a fallback."""
    done = outcome(tmp_path, feature)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_without_any_feature(tmp_path: Path) -> None:
    """The plain platform."""
    done = outcome(tmp_path, *FEATURES)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
