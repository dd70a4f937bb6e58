"""`sutler` and `python -m sutler`."""

from __future__ import annotations

import sys


def main() -> int:
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):  # answered without importing anything else: start-up is a feature
        from sutler.version import VERSION

        sys.stdout.write(f"sutler {VERSION}\n")
        return 0
    import gc

    from sutler.fronts.cli.main import run

    # A command makes many small values and hardly a cycle: looking for cycles every 700 allocations is for nothing.
    gc.set_threshold(100_000, 50, 50)
    return run(words)


if __name__ == "__main__":
    sys.exit(main())
