"""`sutler` and `python -m sutler`."""

from __future__ import annotations

import sys


def main() -> int:
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):  # answered without importing anything else: start-up is a feature
        from sutler.version import VERSION

        sys.stdout.write(f"sutler {VERSION}\n")
        return 0
    from sutler.fronts.cli.main import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
