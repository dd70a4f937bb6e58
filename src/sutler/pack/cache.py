"""Cache of earlier packs of a project, looked up by content.

It holds the result of redaction for a content, and the tokens of the section that showed it, whole
or cut. For most files that is a digest and a number; for a file with redactions, the changed lines
in clean form. A cached result is used if the file's bytes have the digest on record. Outlines of a
limited pack are looked up by the clean text that they are made of. The digest of a file
itself is taken from the cache if the inode, the size and both times are unchanged, and the file was
at rest for some seconds before it was read. A cache that is damaged, outdated or made by other
rules is ignored."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from itertools import compress
from operator import ne
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sutler.budget.shrink import outline_text
from sutler.formats.document import PROCESSED, CleanText, Finding, Section
from sutler.languages import __file__ as languages
from sutler.scan.root import Blob, Root
from sutler.scan.snapshot import FileEntry
from sutler.scan.text import Loaded
from sutler.secrets.cleaner import newest_in, redactor_mark
from sutler.store import home
from sutler.version import VERSION

if TYPE_CHECKING:
    from sutler.budget.selection import Request
    from sutler.config import Settings
    from sutler.scan.classify import Classified

_FORMAT = 8
_CHECK = 4  # bytes of the checksum
UNCOUNTED = -1
RACY_NS = 2_000_000_000
"""A file that changed within this time before it was read may change again within one tick of the
clock, so it is not trusted."""
MAX_FIGURES = 2000  # figures of other goals and formats would grow without end
MAX_CHANGED = 1_000_000
"""Limit of cached characters of changed lines for one file."""
_LONG = 1 << 20
_ADDRESSED: frozenset[str] = frozenset(
    ("full", "outline", "head_tail")
)  # levels whose text depends on the content alone


class CachedFile(Struct, frozen=True, array_like=True, omit_defaults=True):
    """Record of one file as last packed. Without a digest the file holds no text. `section` are the
    dependencies of its section besides the content; `lines` are those that redaction changed, by
    number from 0."""

    digest: str
    tokens: int = UNCOUNTED
    section: str = ""
    lines: dict[int, str] = {}
    findings: tuple[Finding, ...] = ()
    hidden: tuple[tuple[str, int], ...] = ()
    stat_key: tuple[int, ...] = ()  # size, times and inode; only if they are reliable


class Files(Struct, frozen=True, array_like=True):
    """Cached files by path, as stored in the cache folder."""

    format: int
    files: dict[str, CachedFile]


class Figures(Struct, frozen=True, array_like=True):
    """Numbers of texts, by kind and digest, and outlines, in a file of their own: a limited pack
    need not read the records of all files."""

    format: int
    figures: dict[str, int]
    outlines: dict[str, str] = {}


NO_FILES = Files(0, {})
NO_FIGURES = Figures(0, {})


def stat_key(file: FileEntry | Blob) -> tuple[int, ...]:
    """Return the stat fields that change with every write: the time of change (ctime) cannot be set
    back."""
    return file.size, file.mtime_ns, file.ctime_ns, file.inode


def section_key(section: Section) -> str:
    """Return the dependencies of a section's tokens besides content, path, format and cut."""
    mode = "100755" if section.mode & 0o100 else "100644"
    # Ordinals depend on other files, outlines on the grammars.
    numbers = section.sha256 if section.body.findings or section.level == "outline" else ""
    return f"{mode} {section.level} {section.reason} {numbers}".rstrip()


class PackCache:
    """Cached files by path. `learn` adds a record; `save` writes them if there are new ones.
    Without a name nothing is saved."""

    __slots__ = (
        "_environ",
        "_figures",
        "_files",
        "_forgotten",
        "_fresh",
        "_noted",
        "_outlines",
        "_started",
        "name",
    )

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self.name = name
        self._environ = environ
        self._files: Files | None = None if name else NO_FILES
        self._figures: Figures | None = None if name else NO_FIGURES
        self._fresh: dict[str, CachedFile] = {}
        self._noted: dict[str, int] = {}
        self._outlines: dict[str, str] = {}
        self._forgotten: set[str] = set()
        self._started = time.time_ns()

    @property
    def files(self) -> Mapping[str, CachedFile]:
        """Records of earlier runs, read on first use."""
        if self._files is None:
            stored = decoded(home.cached(self.name, self._environ), Files)
            self._files = stored if stored is not None and stored.format == _FORMAT else NO_FILES
        return self._files.files

    @property
    def texts(self) -> Figures:
        """Figures and outlines of earlier runs, read on first use."""
        if self._figures is None:
            stored = decoded(home.cached(_figures_name(self.name), self._environ), Figures)
            valid = stored is not None and stored.format == _FORMAT
            self._figures = stored if stored is not None and valid else NO_FIGURES
        return self._figures

    def unchanged(self, path: str, stat_key: tuple[int, ...]) -> CachedFile | None:
        """Return the record of a file whose size, times and inode are still those on record."""
        cached = self._fresh.get(path) or self.files.get(path)
        if cached is not None and cached.stat_key and cached.stat_key == stat_key:
            return cached
        return None

    def redacted(self, loaded: Loaded) -> CleanText | None:
        """Return the result of redaction for this content under this path, if it is on record. A
        processor's output is not cached here: it does not depend on the file's content alone."""
        if loaded.encoding == PROCESSED:
            return None
        cached = self._fresh.get(loaded.path) or self.files.get(loaded.path)
        if cached is None or cached.digest != loaded.digest:
            return None
        if not cached.lines:
            return CleanText(loaded.text, cached.findings, cached.hidden)
        lines = loaded.text.split("\n")
        for number, line in cached.lines.items():
            lines[number] = line
        return CleanText("\n".join(lines), cached.findings, cached.hidden)

    def record_of(self, loaded: Loaded, clean: CleanText) -> CachedFile | None:
        """Return the record of a redacted file; None if redacting again is better."""
        if not self.name or loaded.encoding == PROCESSED:
            return None
        cached = self._fresh.get(loaded.path) or self.files.get(loaded.path)
        if cached is None or cached.digest != loaded.digest:
            cached = _record(loaded, clean)
        stat_key = self.trusted(loaded.stat_key)
        if cached is None or cached.stat_key == stat_key:
            return cached
        return replace(cached, stat_key=stat_key)

    def tokens(self, section: Section, count: Callable[[], int]) -> int:
        """Return the tokens of a section: from the cache, or counted and added to its file's
        record. Excerpts are cached by their text, since they depend on the task."""
        state = section_key(section)
        if section.level not in _ADDRESSED:
            key = (state, section.sha256, section.source, section.encoding, section.path)
            return self.figure("section", repr(key), count)
        cached = self.files.get(section.path)
        same = cached is not None and (cached.digest, cached.section) == (section.source, state)
        tokens = cached.tokens if cached is not None and same else UNCOUNTED
        if tokens == UNCOUNTED:
            tokens = count()
        record = self._fresh.get(section.path)
        if record is not None and record.digest == section.source:
            self._fresh[section.path] = replace(record, tokens=tokens, section=state)
        return tokens

    def figure(self, kind: str, text: str, make: Callable[[], int]) -> int:
        """Return a number of a text, cached or computed."""
        if not self.name:
            return make()
        key = f"{kind} {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
        value = self.texts.figures.get(key, self._noted.get(key))
        self._noted[key] = make() if value is None else value
        return self._noted[key]

    def outline(self, path: str, text: str) -> str:
        """Return the outline of a clean text, cached or made. The next save drops those that this
        run did not use: in another text, a part of one may be a secret by now."""
        parts = "\0".join((_code_mark(), path, text))
        key = sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()
        cached = self._outlines.get(key, self.texts.outlines.get(key))
        self._outlines[key] = outline_text(path, text) if cached is None else cached
        return self._outlines[key]

    def trusted(self, stat_key: tuple[int, ...]) -> tuple[int, ...]:
        """Return the stat key of a file if it is reliable, else ()."""
        return stat_key if stat_key and max(stat_key[1:3]) < self._started - RACY_NS else ()

    def learn(self, path: str, record: CachedFile | None) -> None:
        if record is not None and self.name:
            self._fresh[path] = record

    def forget(self, paths: Iterable[str]) -> None:
        """Drop the records of these files, whose paths hold a secret."""
        self._forgotten |= set(paths)

    def learned(self, path: str) -> CachedFile | None:
        """Return the record that this process made; a worker sends it to its parent."""
        return self._fresh.get(path)

    def save(self, *, whole: bool) -> None:
        """Save the records of this run. A run over the `whole` project drops those of other
        files."""
        if not self.name:
            return
        figures = {**self.texts.figures, **self._noted}
        if len(figures) > MAX_FIGURES:
            figures = self._noted
        texts = Figures(_FORMAT, figures, self._outlines or self.texts.outlines)
        if texts != self.texts:
            self._figures = texts
            home.keep(_figures_name(self.name), encoded(texts), self._environ, durable=False)
        if not self._fresh:
            return
        files = self._fresh if whole else {**self.files, **self._fresh}
        if self._forgotten:
            files = {path: files[path] for path in files if path not in self._forgotten}
        if files != self.files:
            self._files = Files(
                _FORMAT, {path: files[path] for path in sorted(files) if _is_unicode(path)}
            )
            home.keep(self.name, encoded(self._files), self._environ, durable=False)


NO_CACHE = PackCache("", {})
"""A cache that saves nothing, for runs without use for one."""


def cache_for(
    root: str, settings: Settings, request: Request, environ: Mapping[str, str]
) -> PackCache:
    """Return the cache of a project for packs of this kind: rules, format, cut and vocabulary each
    select another one."""
    rules = ""
    if settings.flag("redact"):
        rules = redactor_mark()
    kind = (
        _FORMAT,
        VERSION,
        rules,
        request.format,
        request.line_numbers,
        request.transforms,
        settings.words("processors"),
        settings.flag("condense"),
        request.cut,
        request.budget.counter,
        settings.words("allow_secrets"),
        settings.words("allow_lines"),
    )
    tag = sha256(repr(kind).encode()).hexdigest()[:16]
    return PackCache(f"facts-{home.project_id(root, home.key(environ))}-{tag}.bin", environ)


def _record(loaded: Loaded, clean: CleanText) -> CachedFile | None:
    if not clean.findings and not clean.hidden:
        return CachedFile(loaded.digest)
    changed = map(ne, _lines(loaded.text), _lines(clean.text))
    lines = dict(compress(enumerate(_lines(clean.text)), changed))
    moved = loaded.text.count("\n") != clean.text.count("\n")
    if moved or sum(map(len, lines.values())) > MAX_CHANGED:
        return None
    return CachedFile(loaded.digest, lines=lines, findings=clean.findings, hidden=clean.hidden)


def _lines(text: str) -> Iterable[str]:
    """Split a text into lines; a long text lazily, since a list of all takes several times its
    room."""
    return text.split("\n") if len(text) < _LONG else _lazy_lines(text)


def _lazy_lines(text: str) -> Iterator[str]:
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


T = TypeVar("T")


def encoded(content: object) -> bytes:
    """Encode with a checksum in front, so that a truncated cache is detected."""
    data = msgspec.msgpack.encode(content)
    return crc32(data).to_bytes(_CHECK, "little") + data


def decoded(data: bytes | None, kind: type[T]) -> T | None:
    if data is None or data[:_CHECK] != crc32(memoryview(data)[_CHECK:]).to_bytes(_CHECK, "little"):
        return None
    try:
        return msgspec.msgpack.decode(memoryview(data)[_CHECK:], type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None  # damaged or of another version: rebuilt


def kept_for_tree(
    name: str,
    root: Root,
    files: Iterable[Classified],
    make: Callable[[], T],
    kind: type[T],
    environ: Mapping[str, str],
) -> T:
    """Return a value that depends on a tree's files and our code alone, cached while none of them
    changes. It is not cached if a file changed so recently that it may change again unnoticed."""
    started, entries = time.time_ns(), [entry for entry, _ in files]
    keys = [stat_key(entry) for entry in entries]
    names = "\0".join([_code_mark(), *(entry.path for entry in entries)])
    state = sha256(names.encode("utf-8", "surrogatepass") + msgspec.msgpack.encode(keys)).digest()
    place = f"{name}-{home.project_id(root.host_path, home.key(environ))}.bin"
    kept = home.cached(place, environ) or b""
    value = decoded(kept[len(state) :], kind) if kept.startswith(state) else None
    if value is None:
        value = make()
        if max((max(key[1:3]) for key in keys), default=0) < started - RACY_NS:
            home.keep(place, state + encoded(value), environ, durable=False)
    return value


@cache
def _code_mark() -> str:
    """Return a mark of our code that reads files, and of the installed packages, such as grammars:
    two commits can have one version."""
    ours = os.path.dirname(os.path.dirname(languages))
    newest = [newest_in(os.path.join(ours, name)) for name in ("languages", "scan", "survey")]
    packages = os.path.join(os.path.dirname(msgspec.__file__), os.pardir)
    return f"{VERSION} {newest} {os.stat(packages).st_mtime_ns}"


def _figures_name(name: str) -> str:
    return "figures" + name.removeprefix("facts")


def _is_unicode(path: str) -> bool:
    return path.isascii() or not any("\ud800" <= char <= "\udfff" for char in path)
