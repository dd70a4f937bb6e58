"""`sutler` and `python -m sutler`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing costs more than a short command
if TYPE_CHECKING:
    from typing import NoReturn


def command() -> NoReturn:
    """Run the installed command and exit at once. The interpreter's own clean-up takes longer than
    many commands. Streams are flushed; files and stores are closed where they were opened."""
    code = main()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream:
                stream.flush()
    except OSError:
        code = code or 1
    os._exit(code)  # flushed above; only the interpreter's own tables remain


def main() -> int:
    _settle_streams()
    words = sys.argv[1:]
    try:
        if (
            words in (["--version"], ["-V"]) and sys.stdout
        ):  # answered without importing anything else
            from sutler.version import VERSION

            os.write(sys.stdout.fileno(), f"sutler {VERSION}\n".encode())
            return 0
        if sys.getfilesystemencoding() != "utf-8":
            _speak_utf8(words)
        import gc

        # A command makes many small values and hardly a cycle: a collection every 700
        # allocations is useless.
        gc.set_threshold(100_000, 50, 50)
        from sutler.fronts.cli.main import run

        return run(words)
    except KeyboardInterrupt:  # while modules are loading
        return 130
    except BrokenPipeError:
        return 0
    except OSError as error:
        sys.stderr.write(f"sutler: cannot write to stdout: {error.strerror}\n")
        return 1
    except Exception as error:  # before the command could start: a damaged installation
        sys.stderr.write(
            f"sutler: cannot start: {type(error).__name__}\n  next: install sutler again\n"
        )
        return 1


def _settle_streams() -> None:
    """Replace closed standard streams by /dev/null: the next opened file would get their
    numbers."""
    if sys.stdin and sys.stdout and sys.stderr:
        return
    while (fd := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(fd)
    # These live as long as the process.
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115


def _speak_utf8(words: list[str]) -> None:
    """Start again in UTF-8 mode if the locale is not UTF-8: Python would decode file names
    differently, and the same tree would give other bytes. -P keeps out modules of the current
    folder, which are not trusted."""
    command = [sys.executable, "-P", "-X", "utf8", "-m", "sutler", *words]
    os.execv(sys.executable, command)  # noqa: S606  # this program itself


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[
            0
        ]  # the current folder: `python -m` would import msgspec.py from the tree that is packed
    command()
