"""What earlier packs of a project found out about its files, kept between runs and found by content.

Kept is what redaction made of a content, and what it cost in tokens. Of most files that is a digest and a number; of
one that held something to redact, the lines that changed, as they may leave. A file counts as known when its bytes
have the digest on record, so no clock and no time stamp is trusted. A memory that is damaged, old or of other rules is
ignored and made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sutler.engine import home
from sutler.store.state import project_id
from sutler.values.pack import CleanText, Finding, Loaded
from sutler.version import VERSION

if TYPE_CHECKING:
    from sutler.config import Settings
    from sutler.values.pack import Request

_FORMAT = 1
UNCOUNTED = -1
MOST_KEPT = 20_000
"""Characters of changed lines that are kept of one file."""


class Known(Struct, frozen=True, array_like=True, omit_defaults=True):
    """One file as it was last packed whole. `about` is what its line in the manifest says besides its content; `lines`
    are those that redaction changed, by number from 0."""

    digest: str
    tokens: int = UNCOUNTED
    about: str = ""
    lines: dict[int, str] = {}
    findings: tuple[Finding, ...] = ()
    hidden: tuple[tuple[str, int], ...] = ()


def known_of(loaded: Loaded, clean: CleanText) -> Known | None:
    """What to keep of a file; None for one that is better looked at again."""
    if not clean.findings and not clean.hidden:
        return Known(loaded.digest)
    before, after = loaded.text.split("\n"), clean.text.split("\n")
    lines = {number: new for number, (old, new) in enumerate(zip(before, after, strict=False)) if old != new}
    if len(before) != len(after) or sum(map(len, lines.values())) > MOST_KEPT:
        return None
    return Known(loaded.digest, lines=lines, findings=clean.findings, hidden=clean.hidden)


NO_TEXT_INSIDE = Known("")
"""A file that stayed out when it was read. No content has this digest; it only says that there is nothing to do."""


class Memory:
    """Known files by path. `learn` adds to it; `save` keeps it, if there is anything new."""

    __slots__ = ("_environ", "_fresh", "_name", "_old")

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self._name = name
        self._environ = environ
        self._old = _read(home.cached(name, environ)) if name else {}
        self._fresh: dict[str, Known] = {}

    def __bool__(self) -> bool:
        """Whether anything is kept at all."""
        return bool(self._name)

    @property
    def known(self) -> Mapping[str, Known]:
        """What earlier runs left."""
        return self._old

    def clean(self, loaded: Loaded) -> CleanText | None:
        """What redaction makes of this content under this path, if that is known."""
        known = self._old.get(loaded.path)
        if known is None or known.digest != loaded.digest:
            return None
        if not known.lines:
            return CleanText(loaded.text, known.findings, known.hidden)
        lines = loaded.text.split("\n")
        for number, line in known.lines.items():
            lines[number] = line
        return CleanText("\n".join(lines), known.findings, known.hidden)

    def tokens(self, path: str, digest: str, about: str) -> int:
        """What the file costs, or UNCOUNTED."""
        known = self._old.get(path)
        same = known is not None and known.digest == digest and known.about == about
        return known.tokens if same and known is not None else UNCOUNTED

    def learn(self, path: str, known: Known | None) -> None:
        if known is not None and self._name:
            self._fresh[path] = known

    def save(self, *, whole: bool) -> None:
        """Keep what this run found out. One that saw the `whole` project forgets the files it did not see."""
        files = self._fresh if whole else {**self._old, **self._fresh}
        if self._name and files != self._old:
            files = {path: known for path, known in sorted(files.items()) if _speakable(path)}
            home.keep(self._name, msgspec.msgpack.encode((_FORMAT, files)), self._environ)


NOTHING = Memory("", {})
"""For runs that have no use for a memory. It learns and forgets."""


def memory_of(root: str, settings: Settings, request: Request, environ: Mapping[str, str]) -> Memory:
    """The memory of a project for packs of this kind: other rules, another format or vocabulary, another memory."""
    rules = ""
    if settings.flag("redact"):
        from sutler.stages.redact import rules_digest

        rules = rules_digest()
    kind = (
        _FORMAT,
        VERSION,
        rules,
        request.format,
        request.line_numbers,
        request.budget.counter,
        settings.words("allow_secrets"),
        settings.words("allow_lines"),
    )
    tag = sha256(repr(kind).encode()).hexdigest()[:16]
    return Memory(f"facts-{project_id(root, home.key(environ))}-{tag}.bin", environ)


def _read(data: bytes | None) -> dict[str, Known]:
    if data is None:
        return {}
    try:
        version, files = msgspec.msgpack.decode(data, type=tuple[int, dict[str, Known]], strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return files if version == _FORMAT else {}


def _speakable(path: str) -> bool:
    return path.isascii() or not any("\ud800" <= char <= "\udfff" for char in path)
