"""Run the fast tests on the plain platform: `python -m tests.plain`, all features switched off.

`--each` also runs them with each feature switched off alone, which takes ten times as long.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sutler.system import FEATURES

REPOSITORY = Path(__file__).parents[2]
LIMIT = 900  # seconds for one run, on two busy cores
# strace injects errors into the very calls that are switched off, and a trace of modules
# counts the path of Linux.
LEFT_OUT = "not failing_system_call and not few_modules"


def passes(features: tuple[str, ...]) -> bool:
    """Whether the fast tests pass without these features."""
    path = f"{REPOSITORY}/tests/plain:{REPOSITORY}/src"
    words = ["-m", "pytest", "-n", "2", "-m", "fast", "-p", "no:cacheprovider", "-k", LEFT_OUT]
    words += ["--ignore=tests/contract/test_platforms.py"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        done = subprocess.run(
            [sys.executable, *words, f"--basetemp={folder}/base", "tests"],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": path, "WITHOUT": ",".join(features)},
            timeout=LIMIT,
            check=False,
        )
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--each", action="store_true", help="each feature alone, too")
    runs: list[tuple[str, ...]] = [FEATURES]
    if parser.parse_args().each:
        runs += [(feature,) for feature in FEATURES]
    failed = []
    for features in runs:
        name = "all features" if features == FEATURES else features[0]
        print(f"without {name}", flush=True)
        if not passes(features):
            failed.append(name)
    print(f"failed without: {', '.join(failed)}" if failed else "every run passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
