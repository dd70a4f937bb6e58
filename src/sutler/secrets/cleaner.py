"""One redaction policy for everything that leaves: files, goals, names, rules and messages.

The multi-pattern database is shipped for the usual machine; elsewhere it is compiled once and then
read from the cache."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from sutler.config import Settings, resolve
from sutler.formats.document import CleanText
from sutler.scan.snapshot import Excluded, FileEntry, Problem, Rule, Snapshot
from sutler.store import home
from sutler.version import VERSION

if TYPE_CHECKING:
    from sutler.secrets.engines import Engine

MACHINE = f"{sys.platform} {os.uname().machine}"
COMPILE_ABOVE = 400_000
"""Bytes of text from which compiling pays at once."""


def engine_for(size: int, environ: Mapping[str, str]) -> Engine:
    """Return the fast engine if its database exists or is worth compiling, else the plain one,
    which gives the same results."""
    from sutler.secrets.engines import hyperscan_engine, stdlib_engine

    ready = _ready(MACHINE)
    if ready is not None:
        return ready
    if size < COMPILE_ABOVE and "hyperscan" not in sys.modules and not _any_kept(environ):
        return stdlib_engine()  # no engine that could be named
    name = _name()
    if not name:
        return stdlib_engine()
    cached = home.cached_file(name, environ)
    try:
        if cached is not None:
            return _loaded(name, cached)
        return (
            hyperscan_engine(_compiled(name, environ)) if size >= COMPILE_ABOVE else stdlib_engine()
        )
    except Exception:  # a damaged or foreign database must never cost more than time
        return stdlib_engine()


@lru_cache(maxsize=1)
def _ready(machine: str) -> Engine | None:
    """Return the engine of the shipped database, if that is for this kind of machine."""
    from sutler.secrets.engines import hyperscan_engine, ready_made

    try:
        database = ready_made(machine)
        return hyperscan_engine(database) if database else None
    except Exception:  # no hyperscan, or another version: compile one, or use the plain engine
        return None


def _any_kept(environ: Mapping[str, str]) -> bool:
    return any(one.kind == "secrets" for one in home.cache_files(environ))


@lru_cache(maxsize=1)
def _loaded(name: str, cached: home.CachedFile) -> Engine:
    """Load the engine of a cached database, once per version of its file: a process may answer many
    calls."""
    from sutler.secrets.engines import hyperscan_engine

    return hyperscan_engine(home.read_kept(os.path.join(cached.folder, name)))


def _compiled(name: str, environ: Mapping[str, str]) -> bytes:
    from sutler.secrets.engines import compile_database

    data = compile_database()
    home.keep(name, data, environ)
    return data


@cache
def _name() -> str:
    """Return the database's file name in the cache; empty if no engine could use it."""
    try:
        import hyperscan
    except ImportError:  # no wheel for this platform
        return ""
    from sutler.secrets.engines import probes_digest

    key = f"{VERSION} {probes_digest()} {getattr(hyperscan, '__version__', '')} {_processor()}"
    return f"secrets-{sha256(key.encode()).hexdigest()[:24]}.hs"


def redactor_mark() -> str:
    """Return an identifier of the present redactor. Results of an older one are not reused."""
    from sutler.secrets.format_table import __file__ as table
    from sutler.secrets.format_table import rules_digest

    return f"{rules_digest()} {newest_in(os.path.dirname(table))}"


def newest_in(folder: str) -> int:
    """Return the time of the latest change of a file in a folder of our code."""
    try:
        with os.scandir(folder) as listing:
            return max(entry.stat().st_mtime_ns for entry in listing if entry.is_file())
    except (OSError, ValueError):  # not on a disk, as in an archive: the version alone decides
        return 0


def _processor() -> str:
    """Identify the processor: a database is valid only for the features it was compiled for."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            return next((line for line in stream if line.startswith(("flags", "Features"))), "")
    except OSError:  # not Linux
        return os.uname().machine


class Clean(Protocol):
    """Redacts a whole text of the file `path`; `raw` is the text in UTF-8 if the caller has it
    already."""

    def __call__(self, text: str, path: str, raw: bytes = b"") -> CleanText: ...


PER_FILE = 1_000
"""Cost of one more text in the plain engine, as bytes of text: many tiny files are much work."""

SECRET_NAME = Rule("secrets", "its name holds a secret")


def as_it_is(text: str, path: str, raw: bytes = b"") -> CleanText:
    """Return the text unredacted, for `--no-redact`; the receipt records the option."""
    del path, raw
    return CleanText(text)


def cleaner(
    settings: Settings,
    size: int = 0,
    environ: Mapping[str, str] = os.environ,
    *,
    packed: bool = False,
) -> Clean:
    """Return the redactor for texts of `size` bytes in total: it makes hidden characters visible
    and replaces secrets. With `packed`, texts come from a pack and hold ordinals already."""
    if not settings.flag("redact"):
        return as_it_is
    from sutler.secrets.hidden import visible
    from sutler.secrets.redactor import Allow, redact

    key = home.key(environ)
    allow = Allow(frozenset(settings.words("allow_secrets")), settings.words("allow_lines"), packed)
    engine = engine_for(size, environ)

    def clean(text: str, path: str, raw: bytes = b"") -> CleanText:
        raw = raw or text.encode("utf-8", "surrogatepass")
        seen = visible(text, raw)
        if not seen.counts:
            return redact(text, path, key=key, allow=allow, engine=engine, raw=raw)
        return replace(
            redact(seen.text, path, key=key, allow=allow, engine=engine), hidden=seen.counts
        )

    return clean


class Numbering:
    """Ordinals of the secrets of one pack: counted for each rule in the order of first appearance.

    A value has one number and one rule in the whole pack, those of its first appearance. Only the
    equality of tags counts, so the installation's key has no influence on the result."""

    __slots__ = ("_counts", "_markers")

    def __init__(self) -> None:
        self._markers: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def clean(self, text: CleanText) -> CleanText:
        """Return the text with ordinals in place of tags; its findings keep their tags."""
        return replace(text, text=self.text(text.text)) if text.findings else text

    def text(self, text: str) -> str:
        """Return a redacted text with ordinals in place of tags."""
        if "[REDACTED:" not in text:
            return text
        from sutler.secrets.markers import TAGGED

        return TAGGED.sub(self._numbered, text)

    def learn(self, markers: Iterable[str]) -> None:
        """Number tagged markers in their order."""
        for one in markers:
            self.text(one)

    def _numbered(self, found: re.Match[str]) -> str:
        from sutler.secrets.markers import marker, value_digest

        rule, tag = found.groups()
        value = value_digest(tag)
        if value not in self._markers:
            self._counts[rule] = self._counts.get(rule, 0) + 1
            self._markers[value] = marker(rule, str(self._counts[rule]))
        return self._markers[value]


def numbered(clean: Clean, numbering: Numbering | None = None) -> Clean:
    """Return a cleaner whose texts carry ordinals in place of tags: those of `numbering`, or each
    text's own."""
    if clean is as_it_is:
        return clean

    def with_numbers(text: str, path: str, raw: bytes = b"") -> CleanText:
        return (numbering or Numbering()).clean(clean(text, path, raw))

    return with_numbers


class Redactor:
    """A cleaner that is set up on first use: cached results need none."""

    __slots__ = ("_clean", "_make")

    def __init__(self, make: Callable[[], Clean]) -> None:
        self._make = make
        self._clean: Clean | None = None

    def __call__(self, text: str, path: str, raw: bytes = b"") -> CleanText:
        return self.ready()(text, path, raw)

    def ready(self) -> Clean:
        if self._clean is None:
            self._clean = self._make()
        return self._clean


def redacted_text(text: str) -> str:
    """Redact a message for a person or a record: it may quote an argument, a name or a setting that
    holds a secret.

    The user's allow-list does not apply: no message needs a secret."""
    return cleaner(resolve([]))(text, "").text


def redacted_values(body: object) -> Any:
    """Apply `redacted_text` to every text in a tree of plain values, keys included."""
    import msgspec

    clean = cleaner(resolve([]))

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return clean(value, "").text
        if isinstance(value, list | tuple):
            return [walk(one) for one in value]
        if isinstance(value, dict):
            return {walk(name): walk(one) for name, one in value.items()}
        return value

    return walk(msgspec.to_builtins(body))


def masked(snapshot: Snapshot, clean: Clean) -> Snapshot:
    """Return the snapshot with no secret in any name: a file whose path holds one is excluded,
    under its masked name."""
    if clean is as_it_is:
        return snapshot
    names = [entry.path for entry in snapshot.entries]
    changed = _changed(names, clean)
    others = _texts(snapshot)
    rewritten = _changed(others, clean)
    if not changed and not rewritten:
        return snapshot
    entries: list[FileEntry] = []
    excluded = [_masked_exclusion(item, rewritten) for item in snapshot.excluded]
    for entry in snapshot.entries:
        if entry.path in changed:
            excluded.append(Excluded(changed[entry.path], "credentials", SECRET_NAME))
        else:
            entries.append(entry)
    problems = [
        Problem(rewritten.get(one.path, one.path), one.kind, rewritten.get(one.detail, one.detail))
        for one in snapshot.problems
    ]
    return replace(
        snapshot,
        entries=tuple(entries),
        excluded=tuple(sorted(excluded, key=lambda item: item.path)),
        problems=tuple(sorted(problems, key=lambda one: (one.path, one.kind, one.detail))),
    )


def names_of(snapshot: Snapshot) -> str:
    """Join all texts that `masked` searches."""
    return "\n".join([*(entry.path for entry in snapshot.entries), *_texts(snapshot)])


def _texts(snapshot: Snapshot) -> list[str]:
    found = {item.path for item in snapshot.excluded} | {
        item.rule.pattern for item in snapshot.excluded
    }
    found |= {one.path for one in snapshot.problems} | {one.detail for one in snapshot.problems}
    return sorted(text for text in found if text)


def _masked_exclusion(item: Excluded, rewritten: Mapping[str, str]) -> Excluded:
    path, pattern = (
        rewritten.get(item.path, item.path),
        rewritten.get(item.rule.pattern, item.rule.pattern),
    )
    if path == item.path and pattern == item.rule.pattern:
        return item
    return replace(item, path=path, rule=replace(item.rule, pattern=pattern))


def _changed(texts: Iterable[str], clean: Clean) -> dict[str, str]:
    """Return the one-line texts that hold a secret, with their redacted form. All are searched in
    one run."""
    lines = [text.replace("\n", " ").replace("\r", " ") for text in texts]
    looked_at = clean("\n".join(lines).encode("utf-8", "replace").decode(), "")
    if not looked_at.findings:
        return {}
    guilty = {finding.line for finding in looked_at.findings if finding.confidence > 0}
    shown = looked_at.text.split("\n")
    return {text: shown[number] for number, text in enumerate(texts) if number + 1 in guilty}
