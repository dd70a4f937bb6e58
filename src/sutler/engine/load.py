"""Files into memory, each read once: bytes, text, clean text, or the reason why not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from sutler.config import Settings
from sutler.disk.calls import Frames
from sutler.disk.root import Blob, Reader
from sutler.disk.text import decode
from sutler.engine.clean import Clean, Redactor, as_it_is
from sutler.engine.memory import NOTHING, Memory, known_of
from sutler.stages.fit import Material
from sutler.values.pack import Choice, Form, Loaded
from sutler.values.snapshot import Excluded, Problem, Reason, Rule

CEILING = 1 << 30
"""No file above this many bytes is read, whatever the settings say: a sparse terabyte must not take the memory."""

if TYPE_CHECKING:
    from sutler.disk.ahead import Ahead

NO_FORM: Form = (b"", b"", b"", 0)

T = TypeVar("T")

_REASONS: dict[str, Reason] = {"too_large": "size_limit", "special": "special", "loop": "symlink"}


class Loader:
    """Fetches one choice after another for `fit`, and keeps the problems met on the way."""

    def __init__(
        self,
        reader: Reader,
        clean: Clean,
        settings: Settings,
        done: Callable[[], None] | None = None,
        memory: Memory = NOTHING,
    ) -> None:
        self._reader = reader
        self._clean = clean
        self._limit = min(settings.number("skip_over") or CEILING, CEILING)
        self._done = done
        self._memory = memory
        self._skip = settings.text("on_decode_error") == "skip"
        self.problems: list[Problem] = []
        self.made: dict[str, Material] = {}  # texts of ours that stand among the files, by path

    @property
    def bare(self) -> bool:
        """Whether files are neither looked through nor remembered, nor anything else stands among them."""
        return self._clean is as_it_is and not self._memory and not self.made

    def prepare(self) -> None:
        """Set up now what would be set up on first use: children inherit it."""
        if isinstance(self._clean, Redactor):
            self._clean.ready()

    def fetch(self, choice: Choice) -> Material | Excluded:
        found = self.open(choice)
        return self.cleaned(choice, found) if isinstance(found, Loaded) else found

    def open(self, choice: Choice) -> Loaded | Material | Excluded:
        """The first half of `fetch`."""
        if self._done is not None:
            self._done()
        return self.made[choice.path] if choice.path in self.made else self.load(choice)

    def cleaned(self, choice: Choice, loaded: Loaded) -> Material:
        """The second half of `fetch`."""
        self.problems.extend(loaded.problems)
        clean = self._memory.clean(loaded)
        if clean is None:
            clean = self._clean(loaded.text, loaded.path, loaded.data)
            self._memory.learn(loaded.path, known_of(loaded, clean))
        return Material(choice, loaded, clean)

    def load(self, choice: Choice) -> Loaded | Excluded:
        return self._understood(choice, self._reader.read(choice.path, self._limit))

    @property
    def frames(self) -> bool:
        """Whether `framed` may be called."""
        return self._reader.frames

    def ahead(self, work: Callable[[int], T], count: int) -> Ahead[T]:
        """Somebody who does pieces of work before they are asked for, for as long as files are read."""
        return self._reader.ahead(work, count)

    def framed(self, choices: Sequence[Choice], forms: list[Form | None], most: int) -> Frames:
        """Whole files as they lie there, between their frames, without a text made of them. Those of more than `most`
        bytes (0 is no limit), those that were named, of which more is to be told, and whatever else is out of the
        ordinary are left for `open`."""
        most = min(most or CEILING, self._limit)
        entries = [choice.entry for choice in choices]
        sizes = [
            -1 if form is None or entry.named or entry.size > most else entry.size
            for entry, form in zip(entries, forms, strict=True)
        ]
        return self._reader.framed([entry.path for entry in entries], sizes, [form or NO_FORM for form in forms])

    def _understood(self, choice: Choice, blob: Blob | Problem) -> Loaded | Excluded:
        path = choice.path
        if isinstance(blob, Problem):
            self.problems.append(blob)
            return Excluded(path, _REASONS.get(blob.kind, "unreadable"), Rule(blob.kind, blob.detail))
        decoded = decode(blob.data)
        if decoded is None:
            if choice.entry.named:
                self.problems.append(Problem(path, "binary", "not text"))
            return Excluded(path, "binary", Rule("content", "not text"))
        problems: tuple[Problem, ...] = ()
        if decoded.issue:
            if self._skip:
                return Excluded(path, "undecodable", Rule("on_decode_error = skip", decoded.issue))
            problems = (Problem(path, "undecodable", decoded.issue),)
        digest = sha256(blob.data).hexdigest()
        plain = blob.data if decoded.encoding == "utf-8" else b""
        return Loaded(path, decoded.text, digest, len(blob.data), decoded.encoding, problems, plain, blob.sight)

    def unchanged(self, choice: Choice, sight: tuple[int, ...]) -> bytes | None:
        """The bytes of a file that still looks the same as then, else None."""
        blob = self._reader.read(choice.path, self._limit)
        if isinstance(blob, Problem) or blob.sight != sight or len(blob.data) != blob.size:
            return None
        return blob.data
