"""`sutler` and `python -m sutler`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing costs more than a short command
if TYPE_CHECKING:
    from typing import NoReturn


def command() -> NoReturn:
    """The installed command. It ends without taking the interpreter apart piece by piece, which takes longer than many
    a command: whatever was said is flushed, and files and stores are closed by whoever opened them."""
    code = main()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream:
                stream.flush()
    except OSError:
        code = code or 1
    os._exit(code)


def main() -> int:
    _settle_streams()
    words = sys.argv[1:]
    try:
        if words in (["--version"], ["-V"]) and sys.stdout:  # answered without importing anything else
            from sutler.version import VERSION

            os.write(sys.stdout.fileno(), f"sutler {VERSION}\n".encode())
            return 0
        if sys.getfilesystemencoding() != "utf-8":
            _speak_utf8(words)
        import gc

        # A command makes many small values and hardly a cycle: looking for cycles every 700 allocations is for nothing.
        gc.set_threshold(100_000, 50, 50)
        from sutler.fronts.cli.main import run

        if len(words) > 1 and words[1] not in ("-h", "--help"):
            _load_msgspec()
        return run(words)
    except KeyboardInterrupt:  # while modules were still loading
        return 130
    except BrokenPipeError:
        return 0
    except OSError as error:
        sys.stderr.write(f"sutler: cannot write to stdout: {error.strerror}\n")
        return 1


def _load_msgspec() -> None:
    """msgspec asks for typing_extensions, whose import costs more than its own, and takes typing where it is absent."""
    if "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # the documented way to make an import fail
    try:
        import msgspec  # noqa: F401  # loaded for the others
    finally:
        del sys.modules["typing_extensions"]


def _settle_streams() -> None:
    """A closed stdin, stdout or stderr would lend its number to the next file that is opened; /dev/null takes it."""
    if sys.stdin and sys.stdout and sys.stderr:
        return
    while (fd := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(fd)
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115  # lives as long as the process
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115  # lives as long as the process


def _speak_utf8(words: list[str]) -> None:
    """In a locale that is not UTF-8, Python would read file names differently, and the same tree would give other
    bytes. Start again in UTF-8 mode; -P keeps modules of the current folder, which nobody vouches for, out."""
    os.execv(sys.executable, [sys.executable, "-P", "-X", "utf8", "-m", "sutler", *words])  # noqa: S606  # ourselves


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder: `python -m` would import msgspec.py from the tree that is packed
    command()
