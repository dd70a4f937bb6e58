"""Run a goal: from its name to the prompt, and to the program that receives the prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from sutler.config import Settings, resolve
from sutler.errors import ModelCommandError, RefusedError, SutlerError, UsageError
from sutler.formats.document import Finding
from sutler.goals import context_arguments, context_compat
from sutler.goals.ceiling import Ceiling
from sutler.goals.claw import Claw, load_claw
from sutler.goals.context_files import (
    Ask,
    Clean,
    ContextFile,
    Gathered,
    Issue,
    Wanted,
    unchanged,
)
from sutler.goals.discovery import Found, claw_files, find_bases, find_goal
from sutler.goals.params import parse_words, validate
from sutler.goals.redactions import PROMPT
from sutler.goals.scripts import DEFAULT_SECONDS, run_scripts
from sutler.goals.section import section
from sutler.goals.send import Delivery, Target
from sutler.goals.template import environment_read, referenced, render
from sutler.goals.trust import TrustStore, goal_trusted, require_command, require_goal
from sutler.paths import quote
from sutler.scan.judge import rules_for
from sutler.setting_table import Mode


class Chosen(Struct, frozen=True, kw_only=True):
    """Context beyond the paths: changes since a revision, a diff, the files that rank best for the
    goal (within `auto_tokens`), and files that are already loaded."""

    since: str = ""
    diff: bool = False
    auto_tokens: int | None = None
    files: tuple[ContextFile, ...] = ()


NOTHING_CHOSEN = Chosen()
DEFAULTS = resolve([])


class Job(Struct, frozen=True, kw_only=True):
    """Input of a run. `stdin` is the text that the path `-` stands for."""

    goal: str = ""
    words: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    depth: int | None = None
    cwd: str
    environ: Mapping[str, str]
    mode: Mode | None = None
    compat: bool = False
    script_seconds: float = DEFAULT_SECONDS
    stdin: str | None = None
    chosen: Chosen = NOTHING_CHOSEN
    ceiling: Ceiling | None = None
    settings: Settings = DEFAULTS


def _silent(_text: str) -> None:
    pass


class Hooks(Struct, frozen=True):
    """Callbacks of the front: notes for the user, a question, the redactor, progress with the
    number of files so far, and findings of texts that are redacted elsewhere."""

    note: Callable[[str], None] = _silent
    ask: Ask | None = None
    clean: Clean = unchanged
    tell: Callable[[int], None] | None = None
    count: Callable[[str, Iterable[Finding]], None] = lambda path, findings: None


class Prompt(Struct, frozen=True):
    """The text to send, and its sources."""

    text: str
    found: Found
    claw: Claw
    files: tuple[ContextFile, ...] = ()
    scripts: tuple[str, ...] = ()


class Sent(Struct, frozen=True):
    """Receipt of a sent prompt: the command, and digests of the prompt and its files."""

    goal: str
    command: tuple[str, ...]
    how: str
    bytes: int
    sha256: str
    files: dict[str, str]
    scripts: tuple[str, ...]


QUIET = Hooks()


def run(job: Job, hooks: Hooks = QUIET) -> Prompt:
    """Build the prompt from goal, parameters, scripts, template and files. Nothing is sent."""
    bases = find_bases(job.cwd, job.environ, compat=job.compat)
    loaded = find_goal(job.goal, bases, compat=job.compat)
    claw = load_claw(claw_files(bases), compat=job.compat)
    arguments = validate(loaded.goal, job.goal, parse_words(job.words), compat=job.compat)
    for note in (*claw.warnings, *loaded.goal.warnings, *arguments.notes):
        hooks.note(note)
    if loaded.goal.needs_files and not job.paths and job.chosen == NOTHING_CHOSEN:
        raise UsageError(
            f"goal '{job.goal}' needs files",
            rule="context_files: required",
            next_step=f"name them: sutler run {job.goal} -c PATH",
        )
    store = TrustStore(job.environ)
    if loaded.goal.scripts:
        require_goal(loaded, store, "runs context scripts")
    outputs = run_scripts(
        loaded.goal.scripts,
        arguments.values,
        cwd=job.cwd,
        env=job.environ,
        seconds=job.script_seconds,
        note=_silent if job.compat else hooks.note,
    )
    values = {"Args": arguments.values, "Context": outputs}
    text = render_goal(loaded, values, job.environ, store, compat=job.compat)
    text = hooks.clean(text, PROMPT)
    files: tuple[ContextFile, ...] = ()
    if job.paths or job.chosen != NOTHING_CHOSEN:
        claw = replace(claw, error_handling_mode=job.mode or claw.error_handling_mode)
        files = context_files(job, claw, hooks, text)
        text = _whole_of(text, claw, job, files)
    if job.ceiling and not job.ceiling.admits(text):
        raise job.ceiling.refusal("the prompt without any file", job.ceiling.count(text))
    return Prompt(text, loaded, claw, files, tuple(outputs))


def _paths(files: Sequence[ContextFile]) -> frozenset[str]:
    return frozenset(file.path for file in files)


def _whole_of(text: str, claw: Claw, job: Job, files: Sequence[ContextFile]) -> str:
    return f"{text}\n\n{section(files, claw, job.depth, compat=job.compat)}"


def render_goal(
    loaded: Found,
    values: Mapping[str, Mapping[str, str]],
    environ: Mapping[str, str],
    store: TrustStore | None = None,
    *,
    compat: bool = False,
) -> str:
    """Render the prompt with `values`; a file beside it can be included by its name.

    A project's template reads the environment only if it is trusted: a variable may be a secret."""

    def load(name: str) -> str | None:
        data = loaded.files.get(name)
        try:
            return None if data is None else data.decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError(
                f"{loaded.folder}/{name} is not UTF-8", next_step="a template includes texts only"
            ) from None

    prompt = loaded.goal.prompt
    if compat:  # one bad file beside the prompt breaks the goal, as in the original
        files = {name: load(name) or "" for name in loaded.files}
    else:
        files = referenced(prompt, load)
    if store and not goal_trusted(loaded, store):
        for text in (prompt, *files.values()):
            if (variable := environment_read(text)) is not None:
                what = f"reads the environment variable {variable}".rstrip()
                require_goal(loaded, store, what)
        # Also for `get_env` calls that the check above cannot see.
        environ = {}
    return render(prompt, values, files=files, environ=environ)


def context_files(job: Job, claw: Claw, hooks: Hooks, prompt: str) -> tuple[ContextFile, ...]:
    """Return the files that follow the prompt, within the ceiling: first those of the paths, then
    the chosen ones. The error mode applies to files that were left out."""
    chosen, paths, extra = job.chosen, job.paths, list(job.chosen.files)
    fill: list[ContextFile] = []
    if chosen.since or chosen.diff or chosen.auto_tokens is not None:
        from sutler.goals import chosen_context
        from sutler.pack.project import Project

        project = Project(settings=job.settings, cwd=job.cwd)
        if chosen.since or chosen.diff:
            changed, texts = chosen_context.changed(project, chosen.since, chosen.diff, hooks.count)
            paths, extra = (*paths, *changed), [*extra, *texts]
        if chosen.auto_tokens is not None:
            fill = chosen_context.ranked(project, prompt, chosen.auto_tokens, hooks.count)
    rules = rules_for(job.settings, "goal")
    wanted = Wanted(paths, job.cwd, claw, rules, job.depth, job.stdin, hooks.tell, hooks.clean)
    gather = context_compat.gather_files if job.compat else context_arguments.gather_files
    gathered = gather(wanted)
    named = [*gathered.files, *(file for file in extra if file.path not in _paths(gathered.files))]
    filled = [file for file in fill if file.path not in _paths(named)]
    gathered = replace(gathered, files=(*named, *filled))
    if job.ceiling:
        whole = partial(_whole_of, prompt, claw, job)
        gathered = _within(gathered, job.ceiling, whole, _paths(filled))
    judge(gathered, claw.error_handling_mode, hooks.ask, hooks.note, compat=job.compat)
    return gathered.files


def _within(
    gathered: Gathered,
    ceiling: Ceiling,
    whole: Callable[[Sequence[ContextFile]], str],
    optional: frozenset[str],
) -> Gathered:
    """Select files in order while the whole prompt stays within the ceiling. Each other file is an
    error, unless it is in `optional` (files that ranking added)."""
    if ceiling.admits(whole(gathered.files)):
        return gathered
    sizes = [ceiling.count(file.content) for file in gathered.files]
    room = ceiling.limit - ceiling.count(whole(()))
    entered: list[ContextFile] = []
    for file, size in zip(gathered.files, sizes, strict=True):
        if size <= room:
            entered.append(file)
            room -= size
    while entered and not ceiling.admits(whole(entered)):  # frames and the tree count too
        entered.pop()
    left = [
        Issue(
            "over_ceiling",
            file.path,
            f"Over the ceiling of {ceiling}: {quote(file.path)} ({size:,} {ceiling.unit})",
        )
        for file, size in zip(gathered.files, sizes, strict=True)
        if file not in entered and file.path not in optional
    ]
    return replace(gathered, files=tuple(entered), errors=(*gathered.errors, *left))


def target_of(claw: Claw, job: Job) -> Target:
    """Return the program that claw.yaml names; a project's own file must be trusted for that."""
    bases = find_bases(job.cwd, job.environ, compat=job.compat)
    require_command(claw_files(bases), claw.origins, TrustStore(job.environ))
    if claw.command is None:
        raise ModelCommandError(
            "llm_command is required when using Generic receiver type.",
            next_step="set llm_command in claw.yaml, or use receiver_type: ClaudeCli",
        )
    return Target(claw.command, claw.prompt_arg_template)


def receipt(prompt: Prompt, delivery: Delivery, clean: Clean = unchanged) -> Sent:
    """Build the receipt, without the text itself: `{{prompt}}` replaces the prompt in the
    arguments."""
    words = delivery.words
    if prompt.text:
        # Replacing an empty text would put the placeholder between all letters.
        words = tuple(word.replace(prompt.text, "{{prompt}}") for word in words)
    command = tuple(clean(word, "") for word in words)  # the user's own line can hold a key
    files = {file.path: file.content for file in prompt.files}
    return sent(prompt.found.id, command, delivery.how, prompt.text, files, prompt.scripts)


def sent(
    goal: str,
    command: tuple[str, ...],
    how: str,
    text: str,
    files: Mapping[str, str],
    scripts: tuple[str, ...] = (),
) -> Sent:
    """Build the receipt of a text and the files in it, by digest."""
    digests = {
        path: sha256(content.encode(errors="surrogatepass")).hexdigest()
        for path, content in files.items()
    }
    body = text.encode(errors="surrogateescape")
    return Sent(goal, command, how, len(body), sha256(body).hexdigest(), digests, scripts)


def judge(
    gathered: Gathered,
    mode: Mode,
    ask: Ask | None,
    note: Callable[[str], None],
    *,
    compat: bool = False,
) -> None:
    """Apply `mode` to the errors. Each warning is reported once: in the report that `ask` shows,
    else as a note. Compat reports warnings only along with errors, and withheld files always."""
    asking = mode == "flexible" and ask is not None and bool(gathered.errors)
    for line in gathered.withheld:
        note(f"warning: {line}")
    if not compat and not asking:
        for warning in gathered.warnings:
            note(f"warning: {warning}")
    if not gathered.errors:
        return
    lines = [issue.message for issue in gathered.errors]
    refused = SutlerError if compat else RefusedError
    if mode == "strict":
        raise refused(
            f"Context processing failed with {len(lines)} error(s):\n  " + "\n  ".join(lines)
        )
    if mode == "ignore":
        for line in lines if not compat else [*gathered.warnings, *lines]:
            note(f"ignored: {line}" if not compat else line)
        return
    if ask is None:
        raise RefusedError(
            f"{len(lines)} problem(s) with the context files, and no terminal to ask on:\n  "
            + "\n  ".join(lines),
            rule="error_handling_mode: flexible",
            next_step="correct them, or choose --mode ignore or --mode strict",
        )
    if not ask(report(gathered)):
        raise refused("Context processing aborted by user.")


def report(gathered: Gathered) -> str:
    """Build the report that `ask` shows in flexible mode."""
    lines = ["Context processing issues:", "", f"Errors ({len(gathered.errors)}):"]
    lines += [f"  - {issue.message}" for issue in gathered.errors]
    if gathered.warnings:
        lines += [
            "",
            f"Warnings ({len(gathered.warnings)}):",
            *(f"  - {warning}" for warning in gathered.warnings),
        ]
    lines += ["", f"Successfully processed {len(gathered.files)} file(s)."]
    return "\n".join(lines)
