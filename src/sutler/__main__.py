"""`sutler` and `python -m sutler`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing costs more than a short command
if TYPE_CHECKING:
    from types import ModuleType
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
            _load_argparse()
            _load_msgspec()
        return run(words)
    except KeyboardInterrupt:  # while modules were still loading
        return 130
    except BrokenPipeError:
        return 0
    except OSError as error:
        sys.stderr.write(f"sutler: cannot write to stdout: {error.strerror}\n")
        return 1


def _load_argparse() -> None:
    """Load argparse without what would translate its few words, which takes as long; `parsing` gives it ours."""
    if "argparse" in sys.modules or "gettext" in sys.modules:
        return
    module = type(sys)("gettext")
    module.gettext = module.ngettext = str  # type: ignore[attr-defined]  # a module made a moment ago
    sys.modules["gettext"] = module
    try:
        import argparse  # noqa: F401  # loaded for the others
    finally:
        del sys.modules["gettext"]


def _load_msgspec() -> None:
    """Load msgspec without what it asks for and a command hardly ever needs: a third of the time it takes.

    It takes typing where typing_extensions is absent. The others are there the moment something of theirs is used.
    """
    if "msgspec" in sys.modules:
        return
    absent = [name for name in _STAND_INS if name not in sys.modules]
    sys.modules.update((name, _stand_in(name)) for name in absent)
    if "typing_extensions" not in sys.modules:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # the documented way to make an import fail
        absent.append("typing_extensions")
    try:
        import msgspec  # noqa: F401  # loaded for the others
    finally:
        for name in absent:
            del sys.modules[name]


_STAND_INS = ("decimal", "msgspec.inspect", "platform", "textwrap")


def _stand_in(name: str) -> ModuleType:
    """A module that is loaded when it is first asked for anything but the one thing asked for at once."""
    module = type(sys)(name)

    def late(attribute: str) -> object:
        import importlib

        return getattr(importlib.import_module(name), attribute)

    module.__getattr__ = late  # type: ignore[method-assign]  # how a module answers for what it does not have
    if name == "platform":
        module.system = lambda: os.uname().sysname  # type: ignore[attr-defined]  # for uuid, which asks while it loads
    if name == "decimal":  # msgspec wants to know it by sight, and no value of ours is one
        module.Decimal = type("Decimal", (), {})  # type: ignore[attr-defined]  # a module made a moment ago
    return module


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
