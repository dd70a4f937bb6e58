"""What the fronts share: files that the user names, questions to a person, and texts as a terminal
may show them. Nothing from a project reaches a terminal raw."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing is not needed to say a few words
if TYPE_CHECKING:
    from typing import TextIO

    from sutler.store.records import Approval

# C0 without tab and newline, DEL, C1, and what reorders or hides text on a screen.
_HOSTILE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ud800-\udfff\ufeff"
    "\U000e0000-\U000e007f]"
)


def harmless(text: str) -> str:
    """Text as a terminal may show it: control and direction characters spelled out."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    import re

    return re.sub(_HOSTILE, lambda match: f"\\u{{{ord(match.group()):x}}}", text)


def read_bytes(name: str, limit: int = -1, next_step: str = "check the name") -> bytes:
    """A file that the user names, or stdin for `-`; at most `limit` bytes of it."""
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


def read_text(name: str, limit: int = -1, next_step: str = "check the name") -> str:
    """A file that the user names, or stdin, as text. Other encodings are refused: a guess could be
    wrong."""
    try:
        return read_bytes(name, limit, next_step).decode()
    except UnicodeDecodeError:
        from sutler.errors import UsageError
        from sutler.paths import quote

        raise UsageError(f"{quote(name)} is not UTF-8 text", next_step="save it as UTF-8") from None


def terminal_width(stream: TextIO | None, otherwise: int) -> int:
    """The columns of the terminal behind a stream; COLUMNS comes first."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80 if stream else otherwise
    except (OSError, ValueError):  # no terminal, or a stream that a test put in its place
        return otherwise


def folded(text: str, stream: TextIO, indent: int = 2) -> str:
    """Text for a stream: on a terminal long lines break between words and go on indented."""
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
    """Whether a person reads stderr and types into stdin."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def can_ask() -> bool:
    """Whether a person can answer: on stdin, else on the terminal that shows stderr."""
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
    """Ask on stderr; the answer comes from stdin, or from the terminal if stdin is a pipe that
    carries something else."""
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
    """Everything an approval is bound to, each on its line and escaped."""
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
