"""Gather: a model requests files round by round; only files inside the root are read.

A run has at most six questions. The model command is any program that takes a prompt on stdin (or
as an argument) and prints an answer. The only effect of an answer is that files are read. An answer
that cannot be parsed gets one more question with the complaint. `compat` follows the original,
which ends at such an answer and does not read the files of the last answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sutler.errors import RefusedError, UsageError
from sutler.goals import loader
from sutler.goals.answers import Answer, Unreadable, read_answer, read_original
from sutler.goals.ceiling import UNIT_NAMES, Ceiling
from sutler.goals.context_files import Clean, unchanged
from sutler.goals.gather_options import Options, constraints_section, parse_input
from sutler.goals.gather_prompt import (
    Loaded,
    Parts,
    list_directory,
    question,
    room_for_files,
    within,
)
from sutler.goals.model_command import Model
from sutler.goals.redactions import Redactions
from sutler.scan.snapshot import ScanRules

MAX_ROUNDS = 5  # each round of a model that never ends costs money
QUOTED = 300
"""Characters of an unreadable answer that the error message quotes."""


class Round(Struct, frozen=True):
    """A question and its answer, for progress and records. Round 0 is the first question; `known`
    is the number of files so far."""

    number: int
    answer: Answer
    known: int
    prompt_bytes: int


class Question(Struct, frozen=True):
    """A question before it is sent: the whole prompt, and the files whose text it contains."""

    number: int
    prompt: str
    files: Mapping[str, str]


class Gathering(Struct, frozen=True):
    """Result of gather: assign lines, their files, all rounds, and notes for the user."""

    text: str
    files: dict[str, str]
    rounds: tuple[Round, ...]
    notes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Files that were read, relative to the root; every other entry of `files` is a marker."""


class UnreadableAnswerError(RefusedError):
    """Two answers in a row could not be parsed; `partial` holds the files so far."""

    def __init__(self, complaint: str, answer: str, partial: Gathering) -> None:
        quoted = " ".join(answer.split())
        if len(quoted) > QUOTED:
            quoted = f"{quoted[:QUOTED]}…"
        super().__init__(
            f"the model's answer could not be read, twice: {complaint}\nanswer: {quoted}",
            rule='an answer is one JSON object with "done" and "files"',
            next_step="try again, or use another model command",
        )
        self.partial = partial


class Ground(Struct, frozen=True):
    """Limits of a dialogue: the root, the redactor, the ceiling of each question, and the scan
    rules that apply to requests of the model."""

    root: str
    clean: Clean = unchanged
    ceiling: Ceiling | None = None
    rules: ScanRules = loader.MODEL_RULES
    compat: bool = False


class Watch(Struct, frozen=True):
    """Callbacks: `leaving` gets each question before it is sent, `answered` each round after."""

    leaving: Callable[[Question], None] = lambda question: None
    answered: Callable[[Round], None] = lambda step: None


UNWATCHED = Watch()


def gather(
    text: str,
    ground: Ground,
    model: Model,
    *,
    first: Callable[[str], Sequence[str]] | None = None,
    watch: Watch = UNWATCHED,
) -> Gathering:
    """Run the dialogue. `first` may propose files for the request before the first question."""
    parsed = parse_input(text)
    if not parsed.prompt:
        raise UsageError(
            "No input provided for context-loader.", next_step="write what you want to know"
        )
    options = replace(
        parsed.options, dir=loader.resolve(ground.root, parsed.options.dir, ".") or "."
    )
    dialogue = _Dialogue(parsed.prompt, options, ground, model, watch)
    if parsed.error:
        dialogue.notes.append(f"{parsed.error} The defaults were used.")
    if first:
        dialogue.load(first(parsed.prompt))
    if ground.compat:
        dialogue.run_original(bool(first))
    else:
        dialogue.run(bool(first))
    return dialogue.result()


class _Dialogue:
    """The state of one run: files and markers so far, rounds, and notes."""

    def __init__(
        self, prompt: str, options: Options, ground: Ground, model: Model, watch: Watch
    ) -> None:
        self.options, self.ground, self.model, self.watch = options, ground, model, watch
        self.files: dict[str, str] = {}
        self.skipped: list[str] = []
        self.rounds: list[Round] = []
        self.notes: list[str] = []
        self.loading = loader.LoadOptions(
            dir=options.dir,
            filter=options.filter,
            max_files=options.max_files,
            max_file_size=options.max_file_size,
            root=ground.root,
            clean=ground.clean,
            rules=ground.rules,
        )
        # The request leaves with every question, so it is redacted like a file.
        request = ground.clean(prompt, "")
        listing = list_directory(ground.root, options, ground.clean, ground.rules)
        self.parts = Parts(request, tuple(listing), constraints_section(options))
        self.reserved = room_for_files(self.parts, ground.ceiling) if ground.ceiling else self.parts
        loader.read_include_files(options.include, self.files, self.loading)
        if self.files and not self._fits():
            assert ground.ceiling is not None  # noqa: S101  # only a ceiling can refuse
            size = ground.ceiling.count(self._assigned())
            raise ground.ceiling.refusal("the question with the included files", size)

    def run(self, show_first: bool) -> None:
        """Ask at most six questions; read the files of the last answer too."""
        for _ in range(MAX_ROUNDS + 1):
            answer = self.ask(show_first or bool(self.rounds))
            added = self.load(answer.files)
            if answer.done:
                return
            if not added:
                self.notes.append("the model asked for nothing new")
                return
            if self._full():
                self.notes.append(f"the limit of {self.options.max_files} files is reached")
                return
        self.notes.append(
            f"the limit of {MAX_ROUNDS + 1} questions is reached; the model may need more files"
        )

    def run_original(self, show_first: bool) -> None:
        """Follow the original's loop, which does not read the files of the last answer."""
        answer = self.ask(show_first)
        while not answer.done and len(self.rounds) <= MAX_ROUNDS and not self._full():
            self.load(answer.files)
            answer = self.ask(True)

    def _full(self) -> bool:
        return self.options.max_files is not None and len(self.files) >= self.options.max_files

    def load(self, paths: Sequence[str]) -> int:
        """Read files one by one and check each against the ceiling. Return how many are new."""
        before = len(self.files)
        for path in paths:
            if path in self.files:
                continue
            loader.read_requested_files([path], self.files, self.loading)
            ceiling = self.ground.ceiling
            if ceiling and path in self.files and not self._fits():
                self.skipped.append(path)
                if isinstance(self.ground.clean, Redactions):
                    # The text is not sent, so its redactions must not be reported.
                    self.ground.clean.discard(self._below(path))
                size = ceiling.count(self.files[path])
                self.files[path] = loader.Marker(
                    f"[Skipped: {size:,} {UNIT_NAMES[ceiling.unit]}"
                    f" do not fit in the ceiling of {ceiling}]"
                )
        return len(self.files) - before

    def _below(self, path: str) -> str:
        try:
            return loader.resolve(self.ground.root, self.options.dir, path)
        except RefusedError:  # the refusal is reported when the path is read
            return path

    def _fits(self) -> bool:
        ceiling = self.ground.ceiling
        return ceiling is None or ceiling.admits(question(self.reserved, Loaded(self._assigned())))

    def _loaded_files(self) -> dict[str, str]:
        """Return the files without the skipped ones, whose markers must not use up the ceiling."""
        return {path: text for path, text in self.files.items() if path not in self.skipped}

    def _assigned(self, files: Mapping[str, str] | None = None) -> str:
        return loader.build_context_assign_string(
            self._loaded_files() if files is None else files,
            root=self.ground.root,
            dir=self.options.dir,
            compat=self.ground.compat,
        )

    def ask(self, show_files: bool) -> Answer:
        """Ask one question; after an unreadable answer ask once more with the complaint."""
        files = self._loaded_files() if show_files else {}
        text = self._assigned(files)
        skipped = tuple(self.skipped)
        reply = self._put(Loaded(text, skipped), files)
        if self.ground.compat:
            return self._answered(read_original(reply))
        answer = read_answer(reply)
        if isinstance(answer, Unreadable):
            self.notes.append(f"an answer could not be read ({answer.complaint}); asked again")
            reply = self._put(Loaded(text, skipped, answer.complaint), files)
            answer = read_answer(reply)
        if isinstance(answer, Unreadable):
            quoted = self.ground.clean(reply, "")
            raise UnreadableAnswerError(answer.complaint, quoted, self.result())
        return self._answered(answer)

    def _put(self, loaded: Loaded, files: Mapping[str, str]) -> str:
        prompt = within(self.parts, loaded, self.ground.ceiling)
        self.watch.leaving(Question(len(self.rounds), prompt, dict(files)))
        self.prompt_bytes = len(prompt.encode(errors="surrogatepass"))
        return self.model(prompt)

    def _answered(self, answer: Answer) -> Answer:
        step = Round(len(self.rounds), answer, len(self.files), self.prompt_bytes)
        self.rounds.append(step)
        self.watch.answered(step)
        return answer

    def result(self) -> Gathering:
        text = self._assigned(self.files)
        read = [
            path for path, content in self.files.items() if not isinstance(content, loader.Marker)
        ]
        paths = tuple(loader.resolve(self.ground.root, self.options.dir, path) for path in read)
        return Gathering(text, self.files, tuple(self.rounds), tuple(self.notes), paths)
