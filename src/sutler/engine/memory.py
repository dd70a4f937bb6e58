"""What earlier packs of a project found out about its files, kept between runs and found by content.

Kept is what redaction made of a content, and what it cost in tokens. Of most files that is a digest and a number; of
one that held something to redact, the lines that changed, as they may leave. A file counts as known when its bytes
have the digest on record; or when it is the very inode, of the same size and times, the time of change among them, and
was left alone for some seconds before it was read. A memory that is damaged, old or of other rules is ignored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import compress
from operator import ne
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sutler.engine import home
from sutler.store.state import project_id
from sutler.values.pack import CleanText, Finding, Loaded, Section
from sutler.version import VERSION

if TYPE_CHECKING:
    from sutler.config import Settings
    from sutler.values.pack import Request

_FORMAT = 4
UNCOUNTED = -1
RACY_NS = 2_000_000_000
"""A file that changed this shortly before it was read may change again within one tick of the clock: not trusted."""
MOST_FIGURES = 2000
_LONG = 1 << 20
MOST_KEPT = 1_000_000
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
    sight: tuple[int, ...] = ()  # by which the very same file is known without another look; only if spotless
    frame: tuple[str, str, str] = ("", "", "")  # head, tail and manifest line, for that case


def known_of(loaded: Loaded, clean: CleanText) -> Known | None:
    """What to keep of a file; None for one that is better looked at again."""
    if not clean.findings and not clean.hidden:
        return Known(loaded.digest)
    changed = map(ne, _lines(loaded.text), _lines(clean.text))
    lines = dict(compress(enumerate(_lines(clean.text)), changed))
    if loaded.text.count("\n") != clean.text.count("\n") or sum(map(len, lines.values())) > MOST_KEPT:
        return None
    return Known(loaded.digest, lines=lines, findings=clean.findings, hidden=clean.hidden)


def _lines(text: str) -> Iterable[str]:
    """The lines, of a long text one at a time: a list of all, although faster, would take several times its room."""
    return text.split("\n") if len(text) < _LONG else _one_by_one(text)


def _one_by_one(text: str) -> Iterator[str]:
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


NO_CONTENT = ""
"""In place of a digest, for a file that stayed out when it was read."""


class Kept(Struct, frozen=True, array_like=True):
    """What is known of files, as it lies in the cache."""

    format: int
    files: dict[str, Known]


class Figures(Struct, frozen=True, array_like=True):
    """Figures about texts of packs themselves, by kind and digest. In a file of their own: whoever wants one of these
    need not read about all the files."""

    format: int
    figures: dict[str, int]


NOT_KEPT = Kept(0, {})
NO_FIGURES = Figures(0, {})


def about(mode: int, reason: str) -> str:
    """What a section's line in the manifest says besides its content, path and language."""
    return f"{'100755' if mode & 0o100 else '100644'} {reason}"


class Memory:
    """Known files by path. `learn` adds to it; `save` keeps it, if there is anything new."""

    __slots__ = ("_environ", "_figures", "_fresh", "_kept", "_noted", "_started", "_supposed", "name")

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self.name = name
        self._environ = environ
        self._kept: Kept | None = None if name else NOT_KEPT
        self._figures: Figures | None = None if name else NO_FIGURES
        self._fresh: dict[str, Known] = {}
        self._supposed: dict[str, Known] = {}
        self._noted: dict[str, int] = {}
        self._started = time.time_ns()

    def __bool__(self) -> bool:
        """Whether anything is kept at all."""
        return bool(self.name)

    @property
    def known(self) -> Mapping[str, Known]:
        """What earlier runs left. Read when it is first asked for: a pack that is printed again asks for nothing."""
        if self._kept is None:
            kept = _read(home.cached(self.name, self._environ), Kept)
            self._kept = kept if kept is not None and kept.format == _FORMAT else NOT_KEPT
        return self._kept.files

    @property
    def figures(self) -> Mapping[str, int]:
        if self._figures is None:
            kept = _read(home.cached(_of_figures(self.name), self._environ), Figures)
            self._figures = kept if kept is not None and kept.format == _FORMAT else NO_FIGURES
        return self._figures.figures

    def clean(self, loaded: Loaded) -> CleanText | None:
        """What redaction makes of this content under this path, if that is known."""
        known = self.known.get(loaded.path)
        if known is None or known.digest != loaded.digest:
            return None
        if not known.lines:
            return CleanText(loaded.text, known.findings, known.hidden)
        lines = loaded.text.split("\n")
        for number, line in known.lines.items():
            lines[number] = line
        return CleanText("\n".join(lines), known.findings, known.hidden)

    def tokens(self, section: Section) -> int:
        """What a whole file costs, or UNCOUNTED."""
        known = self.known.get(section.path)
        if known is None and not section.body.findings and not section.body.hidden:
            known = self._supposed.get(section.path)
        same = (
            known is not None and known.digest == section.source and known.about == about(section.mode, section.reason)
        )
        return known.tokens if same and known is not None else UNCOUNTED

    def counted(self, section: Section, tokens: int) -> None:
        """Add to what is known of a file what it costs."""
        known = self.latest(section.path)
        if known is not None and known.digest == section.source:
            self.learn(section.path, replace(known, tokens=tokens, about=about(section.mode, section.reason)))

    def suppose(self, section: Section, tokens: int) -> None:
        """What the file costs if nothing in it needs redaction. Holds for this run only."""
        self._supposed[section.path] = Known(section.source, tokens, about(section.mode, section.reason))

    def figure(self, kind: str, text: str, make: Callable[[], int]) -> int:
        """A figure about a text: from memory, or made and noted."""
        if not self.name:
            return make()
        key = f"{kind} {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
        value = self.figures.get(key, self._noted.get(key))
        self._noted[key] = make() if value is None else value
        return self._noted[key]

    def trusted(self, sight: tuple[int, ...]) -> tuple[int, ...]:
        """The sight of a file if it may be relied on, else nothing."""
        return sight if sight and max(sight[1:3]) < self._started - RACY_NS else ()

    def latest(self, path: str) -> Known | None:
        """What is known of a file, by this run or an earlier one."""
        return self._fresh.get(path) or self.known.get(path)

    def learn(self, path: str, known: Known | None) -> None:
        if known is not None and self.name:
            self._fresh[path] = known

    def save(self, *, whole: bool) -> None:
        """Keep what this run found out. One that saw the `whole` project forgets the files it did not see."""
        if not self.name:
            return
        if self._noted and not self._noted.items() <= self.figures.items():
            figures = {**self.figures, **self._noted}
            self._figures = Figures(_FORMAT, figures if len(figures) <= MOST_FIGURES else self._noted)
            home.keep(_of_figures(self.name), msgspec.msgpack.encode(self._figures), self._environ)
        if not self._fresh:
            return
        files = self._fresh if whole else {**self.known, **self._fresh}
        if files != self.known:
            self._kept = Kept(_FORMAT, {path: known for path, known in sorted(files.items()) if _speakable(path)})
            home.keep(self.name, msgspec.msgpack.encode(self._kept), self._environ)


NOTHING = Memory("", {})
"""For runs that have no use for a memory. It learns and forgets."""


def memory_of(root: str, settings: Settings, request: Request, environ: Mapping[str, str]) -> Memory:
    """The memory of a project for packs of this kind: other rules, another format or vocabulary, another memory."""
    rules = ""
    if settings.flag("redact"):
        from sutler.engine.database import redactor_mark

        rules = redactor_mark()
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


T = TypeVar("T")


def _read(data: bytes | None, shape: type[T]) -> T | None:
    try:
        return None if data is None else msgspec.msgpack.decode(data, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _of_figures(name: str) -> str:
    return "figures" + name.removeprefix("facts")


def _speakable(path: str) -> bool:
    return path.isascii() or not any("\ud800" <= char <= "\udfff" for char in path)
