"""Terminal of the fronts: the streams of a command (stdout is data, stderr is notes and progress),
files that the user names, and questions to a person. No text of a project reaches a terminal
raw."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # typing and msgspec are not needed for a few words
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TextIO

    from sutler.errors import SutlerError
    from sutler.scan.snapshot import Problem
    from sutler.store.records import Approval

SCHEMA_VERSION = 1

# C0 without tab and newline, DEL, C1, and characters that reorder or hide text on a screen.
_HOSTILE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ud800-\udfff\ufeff"
    "\U000e0000-\U000e007f]"
)


def harmless(text: str) -> str:
    """Spell out control and direction characters for a terminal."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    import re

    return re.sub(_HOSTILE, lambda match: f"\\u{{{ord(match.group()):x}}}", text)


def read_bytes(name: str, limit: int = -1, next_step: str = "check the name") -> bytes:
    """Read a file that the user names, or stdin for `-`; at most `limit` bytes of it."""
    try:
        if name == "-":
            return sys.stdin.buffer.read(limit)
        with open(name, "rb") as stream:
            return stream.read(limit)
    except OSError as error:
        from sutler.errors import UsageError
        from sutler.paths import quote

        raise UsageError(
            f"cannot read {quote(name)}: {error.strerror}", next_step=next_step
        ) from None


def read_text(name: str, limit: int = 0) -> str:
    """Read a file that the user names, or stdin, as text. Other encodings are refused: a guess
    could be wrong."""
    from sutler.errors import UsageError
    from sutler.paths import quote

    data = read_bytes(name, limit + 1 if limit else -1)
    if limit and len(data) > limit:
        raise UsageError(
            f"{quote(name)} is larger than {limit:,} bytes", next_step="name a smaller text file"
        )
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{quote(name)} is not UTF-8 text", next_step="save it as UTF-8") from None


def terminal_width(stream: TextIO | None, otherwise: int) -> int:
    """Return the columns of the terminal behind a stream; COLUMNS comes first."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80 if stream else otherwise
    except (OSError, ValueError):  # no terminal, or a stream that a test put in its place
        return otherwise


def folded(text: str, stream: TextIO, indent: int = 2) -> str:
    """Format text for a stream: on a terminal long lines break between words, with an indent."""
    if stream is None or not stream.isatty():
        return text
    room = terminal_width(stream, 80)
    return "\n".join(_folded_line(line, room, indent) for line in text.split("\n"))


def _folded_line(line: str, room: int, indent: int) -> str:
    if len(line) <= room:
        return line
    import textwrap

    indent += len(line) - len(line.lstrip())
    wrapper = textwrap.TextWrapper(
        room, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(wrapper.wrap(line))


def at_terminal() -> bool:
    """Return whether a person reads stderr and types into stdin."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def can_ask() -> bool:
    """Return whether a person can answer: on stdin, else on the terminal that shows stderr."""
    if sys.stdin is not None and sys.stdin.isatty():
        return True
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    try:
        with open("/dev/tty", "rb"):
            return True
    except OSError:  # a service or a container has no terminal
        return False


def confirm(question: str) -> bool:
    """Ask on stderr; read the answer from stdin, or from the terminal if stdin is a pipe with other
    data."""
    sys.stderr.write(question)
    sys.stderr.flush()
    if sys.stderr.isatty() and not (sys.stdin and sys.stdin.isatty()):
        try:
            with open("/dev/tty", encoding="utf-8", errors="replace") as terminal:
                return _yes(terminal)
        except OSError:
            pass
    return sys.stdin is not None and _yes(sys.stdin)


def _yes(stream: TextIO) -> bool:
    return stream.readline().strip().lower() in ("y", "yes")


def described(approval: Approval) -> str:
    """Return all fields that an approval binds, each on its line and escaped."""
    from sutler.paths import quote

    rows = [
        ("approval", f"{approval.id} ({approval.state}, until {approval.expires})"),
        ("tool", approval.tool),
        ("path", quote(approval.path)),
        ("arguments", approval.args),
        ("rule", approval.rule),
        ("caller", f"{approval.caller}, session {approval.session}"),
        ("from", approval.base or "-"),
        ("to", approval.result or "-"),
    ]
    lines = [f"  {name:<10} {value}" for name, value in rows]
    return "\n".join([*lines, *(f"  | {line}" for line in approval.preview.split("\n") if line)])


class Console:
    """Output of one command. `quiet` silences notes, never errors; `as_json` selects
    machine-readable answers."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False, color: str = "auto") -> None:
        self.quiet = quiet
        self.as_json = as_json
        self.color = _wants_color(color)
        self._progress: Progress | None = None

    def note(self, text: str) -> None:
        self.note_painted(folded(harmless(text), sys.stderr))

    def note_painted(self, text: str) -> None:
        """Print a note that is harmless already and may hold our own colours."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")

    def error(self, error: SutlerError) -> None:
        if self.as_json:
            body = {
                "what": error.what,
                "rule": error.rule,
                "next": error.next_step,
                "exit_code": error.exit_code,
            }
            if (conflict := getattr(error, "conflict", None)) is not None:
                import msgspec

                body["conflict"] = msgspec.to_builtins(conflict)
            sys.stderr.write(json_text({"error": body}))
        else:
            first, *rest = harmless(str(error)).split("\n")
            rows = [self.paint(folded(f"sutler: {first}", sys.stderr), "31")]
            rows += [folded(f"  {row}", sys.stderr) for row in rest]
            sys.stderr.write("\n".join(rows) + "\n")

    def answer(self, text: str) -> None:
        """Print data for a person: one text on stdout, its lines broken between words on a
        terminal."""
        text = folded(text, sys.stdout)
        self.stream(
            [
                (text if text.endswith("\n") or not text else f"{text}\n").encode(
                    "utf-8", "surrogateescape"
                )
            ]
        )

    def reply(self, body: object, text: str) -> int:
        """Answer with `body` as a JSON object if --json is given, else with `text`. Return the exit
        code of a finished command."""
        if self.as_json:
            import msgspec

            fields = msgspec.to_builtins(body)
            self.answer_json(fields if isinstance(fields, dict) else {"result": fields})
        else:
            self.answer(text)
        return 0

    def answer_json(self, body: Mapping[str, object]) -> None:
        self.stream([json_text(body).encode()])

    def stream(self, blocks: Iterable[bytes | memoryview]) -> None:
        """Write data in blocks. Into a file or a pipe the bytes are exact; on a terminal they are
        made harmless."""
        if sys.stdout is None:
            from sutler.errors import SutlerError

            raise SutlerError(
                "stdout is closed", next_step="write to a file with -o, or open stdout"
            )
        terminal = sys.stdout.isatty()
        for block in blocks:
            if terminal:
                if self._progress:
                    self._progress.stop()  # the data itself is on the screen now
                text = harmless(str(block, "utf-8", "surrogateescape"))
                block = text.encode(sys.stdout.encoding, "backslashreplace")
            _write(block)
        _write(b"")

    def progress(self, what: str) -> Progress:
        """Return a bar on stderr for long work, on a terminal only, and not if notes are
        unwanted."""
        self._progress = Progress(what, wanted=not self.quiet and sys.stderr.isatty())
        return self._progress

    def end_progress(self) -> None:
        """Erase the bar, if there is one, before other output."""
        if self._progress:
            self._progress.stop()

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text


class Progress:
    """A bar `reading 1,234 of 5,678 files [####----]`, overwritten in place. It appears after
    `DELAY` seconds, changes at most ten times a second, and leaves nothing behind. Without a total
    there is a count and no bar."""

    DELAY = 0.5
    PAUSE = 0.1
    BAR = 24

    def __init__(self, what: str, *, wanted: bool) -> None:
        self._what = what
        self._wanted = wanted
        self._due = time.monotonic() + self.DELAY
        self._visible = False

    def __enter__(self) -> Progress | None:
        return self if self._wanted else None

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __call__(self, done: int, total: int) -> None:
        self.tell(self._what, done, total)

    def tell(self, what: str, done: int, total: int) -> None:
        """Show a step, its progress, and the total; 0 if the total is unknown."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self.PAUSE
        self._visible = True
        sys.stderr.write(f"\r{what} {done:,}{self._rest(done, total)}\x1b[K")
        sys.stderr.flush()

    def _rest(self, done: int, total: int) -> str:
        if not total:
            return " files"
        filled = self.BAR * min(done, total) // total
        return f" of {total:,} files [{'#' * filled}{'-' * (self.BAR - filled)}]"

    def stop(self) -> None:
        """Erase the line, for good."""
        self._due = float("inf")
        if self._visible:
            self._visible = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _write(block: bytes | memoryview) -> None:
    """Write into stdout's buffer; an empty block flushes it. A full disk is our error, a reader
    that has closed the pipe is not."""
    try:
        if block:
            sys.stdout.buffer.write(block)
        else:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        forget_stdout()
        from sutler.errors import SutlerError

        raise SutlerError(
            f"cannot write to stdout: {error.strerror}",
            next_step="make room, or write elsewhere with -o",
        ) from None


def claim_streams() -> tuple[int, int]:
    """Take stdin and stdout for the protocol: a print, a warning or a child process gets /dev/null
    and stderr."""
    incoming, outgoing = os.dup(0), os.dup(1)
    os.set_inheritable(incoming, False)
    os.set_inheritable(outgoing, False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return incoming, outgoing


def forget_stdout() -> None:
    """Point stdout at the null device after its reader left; the interpreter flushes it at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _wants_color(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (
        sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    )


def json_text(body: Mapping[str, object]) -> str:
    """Return one JSON document with the schema version first, indented for people, with a final
    newline for tools."""
    import msgspec

    from sutler.paths import json_bytes

    encoded = json_bytes({"schema_version": SCHEMA_VERSION, **body})
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def asker() -> Callable[[Sequence[Problem]], bool] | None:
    """Return a function that asks a person, or None if none can answer."""
    if not at_terminal():
        return None
    from sutler.paths import quote

    def ask(problems: Sequence[Problem]) -> bool:
        rows = [f"  {quote(row.path)}: {row.kind} {row.detail}".rstrip() for row in problems]
        question = "Continue with the files that are left? (y/n): "
        return confirm(harmless("\n".join([*rows, question])))

    return ask
