"""Load files: bytes, text, clean text, or the reason of an exclusion. Each file is read once."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from sutler.budget.selection import Choice, Material
from sutler.config import Settings
from sutler.formats import FORMATS
from sutler.formats.document import PROCESSED, CleanText
from sutler.languages.base import CONDENSED_BYTES, CONDENSED_ENDS
from sutler.languages.condense import CondenseMode, condensed
from sutler.pack.cache import NO_CACHE, CachedFile, PackCache, stat_key
from sutler.paths import RelPath
from sutler.scan.root import Blob, Reader
from sutler.scan.snapshot import Excluded, Problem, Reason, Rule
from sutler.scan.text import Loaded, decode
from sutler.secrets.cleaner import SECRET_NAME, Clean, Numbering
from sutler.secrets.markers import markers_in

if TYPE_CHECKING:
    from sutler.pack.processors import Processors
    from sutler.secrets.shared_values import SharedValues

CEILING = 1 << 30
"""Limit of any file in bytes, whatever the settings are: a sparse terabyte must not fill the
memory."""
NOT_TEXT = Rule("content", "not text")

BATCH_BYTES = 1 << 19  # a worker's answer fits in its pipe, so that it begins the next
BATCH_FILES = 256  # empty files have no bytes but take time

_HEAD = 256  # the first words of every format name sutler


REPORT_START = (
    b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    b'<meta name="generator" content="sutler report">\n'
)
"""Beginning of a report, by which a report inside a project is excluded."""


def is_pack(data: bytes) -> bool:
    """Return whether a file begins as a pack or a report does, in any format."""
    head = data[:_HEAD]
    if b"sutler" not in head:
        return False
    if head.lstrip().startswith(b"{"):  # many JSON files name sutler, such as `.mcp.json`
        return b'"This is a sutler pack' in head
    return data.startswith(REPORT_START) or any(
        module.recognizes(data) for module in FORMATS.values()
    )


LoadedFile = tuple[Choice, Loaded | Material | Excluded]
"""A chosen file with its text; a text of our own is clean already."""

_REASONS: dict[str, Reason] = {"too_large": "size_limit", "special": "special", "loop": "symlink"}


class Seen(Struct, frozen=True, array_like=True, gc=False):
    """Results of the first pass over a file."""

    record: CachedFile | None = None
    markers: tuple[str, ...] = ()
    secrets: tuple[tuple[str, str], ...] = ()  # values that other files may hold, with their rule


NOTHING_SEEN = Seen()


class Loader:
    """Reads, decodes and redacts files, and collects the problems."""

    def __init__(
        self,
        reader: Reader,
        clean: Clean,
        settings: Settings,
        cache: PackCache = NO_CACHE,
        numbering: Numbering | None = None,
    ) -> None:
        self._reader = reader
        self._clean = clean
        self._limit = min(settings.number("skip_over") or CEILING, CEILING)
        self._skip = settings.text("on_decode_error") == "skip"
        self._cache = cache
        self._numbering = numbering
        self._transforms = settings.words("transforms")
        self._skips_packs = settings.flag("default_excludes")
        self._processors = _processors(settings)
        self._redacts = settings.flag("redact")
        self.condense: CondenseMode = "all" if settings.flag("condense") else "none"
        self.problems: list[Problem] = []
        self.values: SharedValues | None = None  # secrets of the project, hidden in every text
        self.withheld: frozenset[str] = frozenset()  # paths that hold one of these secrets
        self.texts: dict[str, Material] = {}  # texts of our own that stand among the files, by path

    def material(self, choice: Choice) -> Material | Excluded:
        """Load and redact one file."""
        return self.redact(choice, self.load(choice))

    def load(self, choice: Choice) -> Loaded | Material | Excluded:
        """Read and decode a file, without redacting it."""
        path = choice.entry.path
        if self.texts and path in self.texts:
            return self.texts[path]
        if path in self.withheld:
            return Excluded(path, "credentials", SECRET_NAME)
        cached = self._cache.unchanged(path, stat_key(choice.entry))
        if cached is not None and not cached.digest and not choice.entry.named:
            # A whole pack keeps only records that it saw: without this the next one reads it again.
            self._cache.learn(path, cached)
            return Excluded(path, "binary", NOT_TEXT)
        blob = self._reader.read(path, self._limit_of(path))
        if self._processors is not None and not isinstance(blob, Problem):
            digest = sha256(blob.data).hexdigest()
            text = self._processors.text_of(path, blob.data, digest)
            if text is not None:
                return self._processed(path, text, digest, len(blob.data))
        return self._decoded(choice, blob)

    def _limit_of(self, path: RelPath) -> int:
        """Return the size limit of a file; one that is shown condensed has none."""
        if self.condense == "all" and path.lower().endswith(CONDENSED_ENDS):
            return max(self._limit, CONDENSED_BYTES)
        return self._limit

    def _processed(
        self, path: RelPath, text: bytes | Problem, digest: str, size: int
    ) -> Loaded | Excluded:
        """Return the output of a processor, or its failure."""
        if isinstance(text, Problem):
            self.problems.append(text)
            return Excluded(path, "unreadable", Rule("processor", text.detail))
        decoded = decode(text)
        if decoded is None:
            return Excluded(path, "binary", Rule("processor", "its output is not text"))
        return Loaded(path, decoded.text, digest, size, encoding=PROCESSED)

    def _keep_processed(self, processors: Processors, loaded: Loaded, clean: CleanText) -> None:
        """Cache a processor's output if redaction was on and changed nothing."""
        if self._redacts and self._cache.name and clean.text == loaded.text:
            processors.keep(loaded.path, loaded.digest, loaded.text)

    def redact(self, choice: Choice, loaded: Loaded | Material | Excluded) -> Material | Excluded:
        """Redact a loaded text; clean texts and exclusions stay as they are."""
        if isinstance(loaded, Material):  # a diff or a log, redacted and numbered already
            return replace(loaded, clean=self.shown(loaded.clean)) if self.values else loaded
        if isinstance(loaded, Excluded):
            return loaded
        self.problems.extend(loaded.problems)
        clean = self._cache.redacted(loaded)
        if clean is None:
            clean = self._clean(loaded.text, loaded.path, loaded.data)
        self._cache.learn(loaded.path, self._cache.record_of(loaded, clean))
        shorter = self._condensed(clean, loaded.path)
        clean = self.shown(shorter, loaded.data if shorter is clean else b"")
        if self._processors is not None and loaded.encoding == PROCESSED:
            self._keep_processed(self._processors, loaded, clean)
        if self._transforms:
            from sutler.languages.transforms import transformed

            clean = replace(clean, text=transformed(clean.text, loaded.path, self._transforms))
        return Material(choice, loaded, clean)

    def _condensed(self, clean: CleanText, path: RelPath) -> CleanText:
        """Return the short form of a clean text, if its kind has one. It is redacted again if lines
        moved: a key in a notebook as a list of strings is whole only now."""
        shorter = condensed(clean.text, path, self.condense)
        if shorter is None:
            return clean
        moved = shorter.name != "literals"
        short = replace(clean, text=shorter.text, condensed=shorter.name, moved=moved)
        if not moved:
            return short
        again = self._clean(short.text, path)
        return replace(short, text=again.text, findings=(*clean.findings, *again.findings))

    def shown(self, clean: CleanText, raw: bytes = b"") -> CleanText:
        """Return the text as it leaves: without the project's secrets, with ordinals in place of
        tags."""
        if self.values:
            clean = self.values.hide(clean, raw)
        return clean if self._numbering is None else self._numbering.clean(clean)

    def look(self, choice: Choice) -> Seen:
        """Redact a file for its record in the cache and its markers. A file that did not change
        since it was packed is not read again."""
        path = choice.entry.path
        record = self._cache.unchanged(path, stat_key(choice.entry))
        if path in self.texts or (record is not None and not record.findings):
            return NOTHING_SEEN
        loaded = self.load(choice)
        return self.seen(loaded) if isinstance(loaded, Loaded) else NOTHING_SEEN

    def seen(self, loaded: Loaded) -> Seen:
        """Redact a text for its record in the cache and its markers."""
        clean = self._cache.redacted(loaded)
        if clean is None:
            clean = self._clean(loaded.text, loaded.path, loaded.data)
        record = self._cache.record_of(loaded, clean)
        if not clean.findings:
            return Seen(record)
        from sutler.secrets.shared_values import values_of

        return Seen(record, markers_in(clean.text), tuple(values_of(loaded.text, clean.text)))

    def words(self, text: str) -> CleanText:
        """Redact our own text with quoted names. The cache records that it is harmless, so that a
        second pack needs no redactor for it."""
        if self._cache.figure("words", text, lambda: int(self._clean(text, "").text == text)):
            return self.shown(CleanText(text))
        return self.shown(self._clean(text, ""))

    def _decoded(self, choice: Choice, blob: Blob | Problem) -> Loaded | Excluded:
        path = choice.entry.path
        if isinstance(blob, Problem):
            self.problems.append(blob)
            return Excluded(
                path, _REASONS.get(blob.kind, "unreadable"), Rule(blob.kind, blob.detail)
            )
        if blob.links > 1 and blob.inode != choice.entry.inode:
            return Excluded(path, "hard_link", Rule("hard link", "replaced since the scan"))
        if self._skips_packs and not choice.entry.named and is_pack(blob.data):
            return Excluded(path, "generated", Rule("content", "begins as a pack of sutler does"))
        decoded = decode(blob.data)
        if decoded is None:
            if choice.entry.named:
                self.problems.append(Problem(path, "binary", "not text"))
            self._cache.learn(
                path, CachedFile("", stat_key=self._cache.trusted(stat_key(choice.entry)))
            )
            return Excluded(path, "binary", NOT_TEXT)
        problems: tuple[Problem, ...] = ()
        if decoded.issue:
            if self._skip:
                return Excluded(path, "undecodable", Rule("on_decode_error = skip", decoded.issue))
            problems = (Problem(path, "undecodable", decoded.issue),)
        plain = blob.data if decoded.encoding == "utf-8" else b""
        digest = self._digest(path, blob)
        return Loaded(
            path,
            decoded.text,
            digest,
            len(blob.data),
            decoded.encoding,
            problems,
            plain,
            stat_key(blob),
        )

    def _digest(self, path: str, blob: Blob) -> str:
        """Return the digest of the file's bytes; from the cache if the file is unchanged."""
        cached = self._cache.unchanged(path, stat_key(blob))
        if cached is not None and cached.digest and len(blob.data) == blob.size:
            return cached.digest
        return sha256(blob.data).hexdigest()


def _processors(settings: Settings) -> Processors | None:
    rows = settings.words("processors")
    if not rows:
        return None
    from sutler.pack.processors import Processors

    return Processors(rows)


def batches_of(choices: Sequence[Choice]) -> list[range]:
    """Group the numbers of the files that are built together."""
    batches: list[range] = []
    start = size = 0
    for number, choice in enumerate(choices):
        if size >= BATCH_BYTES or number - start >= BATCH_FILES:
            batches.append(range(start, number))
            start, size = number, 0
        size += choice.entry.size
    return [*batches, range(start, len(choices))] if choices else []
