"""The two streams: stdout is data, stderr is notes and progress. Nothing from a project reaches a terminal raw."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing and msgspec are not needed to say a few words
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sutler.values.errors import SutlerError

SCHEMA_VERSION = 1

# C0 without tab and newline, DEL, C1, and what reorders or hides text on a screen.
_HOSTILE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"


def harmless(text: str) -> str:
    """Text as a terminal may show it: control and direction characters spelled out."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    import re

    return re.sub(_HOSTILE, lambda match: f"\\u{{{ord(match.group()):x}}}", text)


class Console:
    """What one command may say. `quiet` silences notes, never errors; `as_json` asks for machine-readable answers."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False, color: str = "auto") -> None:
        self.quiet = quiet
        self.as_json = as_json
        self.color = _wants_color(color)

    def note(self, text: str) -> None:
        if not self.quiet:
            self._say(text)

    def error(self, error: SutlerError) -> None:
        if self.as_json:
            body = {
                "what": error.what,
                "rule": error.rule,
                "next": error.next_step,
                "exit_code": error.exit_code,
            }
            sys.stderr.write(json_text({"error": body}))
        else:
            lines = str(error).split("\n")
            self._say(self.paint(f"sutler: {lines[0]}", "31") + "".join(f"\n  {line}" for line in lines[1:]))

    def answer(self, text: str) -> None:
        """Data for a person: one text on stdout."""
        self.stream([(text if text.endswith("\n") or not text else f"{text}\n").encode()])

    def answer_json(self, body: Mapping[str, object]) -> None:
        self.stream([json_text(body).encode()])

    def stream(self, blocks: Iterable[bytes]) -> None:
        """Data as it comes. Into a file or a pipe the bytes are exact; on a terminal they are made harmless."""
        sys.stdout.flush()
        if sys.stdout.isatty():
            for block in blocks:
                sys.stdout.write(harmless(block.decode()))
            sys.stdout.flush()
            return
        binary = sys.stdout.buffer
        for block in blocks:
            binary.write(block)
        binary.flush()

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def _say(self, text: str) -> None:
        sys.stderr.write(_shown(text) if self.color else f"{harmless(text)}\n")


def _shown(text: str) -> str:
    """Our own colour codes survive, everything else that is hostile does not."""
    import re

    pieces = re.split("(\x1b\\[[0-9;]*m)", text)
    return "".join(piece if index % 2 else harmless(piece) for index, piece in enumerate(pieces)) + "\n"


def _wants_color(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stderr.isatty() and os.environ.get("TERM") != "dumb")


def json_text(body: Mapping[str, object]) -> str:
    """One JSON document with the schema version first, indented for people, final newline for tools."""
    import msgspec

    encoded = msgspec.json.encode({"schema_version": SCHEMA_VERSION, **body})
    return msgspec.json.format(encoded, indent=2).decode() + "\n"
