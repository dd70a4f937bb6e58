"""Send a prompt to a program as an argument or on stdin; the program inherits our streams."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from sutler.errors import ModelCommandError, UsageError
from sutler.process import converse, end_group, status

PLACEHOLDER = "{{prompt}}"
LARGE = 1024 * 1024
_WORD_LIMIT = 128 * 1024 if sys.platform == "linux" else 1 << 30
"""Linux rejects a single argument of 128 KiB or more, whatever ARG_MAX is."""
_SILENCE = 0.5  # a model command may leave a server behind that holds its pipe


class Target(Struct, frozen=True):
    """A program and the template of its arguments; without the placeholder the prompt goes to
    stdin."""

    command: str
    template: str = PLACEHOLDER


# Non-interactive modes: one prompt, one answer. Interactive sessions keep claw's argument mode.
PROFILES: dict[str, Target] = {
    "claude": Target("claude", "-p"),
    "codex": Target("codex", "exec -"),
    "gemini": Target("gemini", ""),
    "llm": Target("llm", ""),
    "ollama": Target("ollama", "run {model}"),
}


class Delivery(Struct, frozen=True):
    """The command line to run, and how it receives the prompt. `note` is for the user."""

    words: tuple[str, ...]
    how: Literal["argument", "stdin"]
    note: str = ""


def profile(name: str, own: Mapping[str, str] | None = None) -> Target:
    """Return a named profile: the user's own from `[commands]`, else a built-in one. `ollama:MODEL`
    names the model as well."""
    if own and name in own:
        return target_of_line(own[name])
    base, _, model = name.partition(":")
    if base not in PROFILES:
        names = ", ".join((*(own or ()), *PROFILES))
        raise UsageError(
            f"unknown profile '{name}'",
            next_step=(
                f"use one of {names}, or --command; add yours under [commands] in your config"
            ),
        )
    target = PROFILES[base]
    if "{model}" in target.template:
        if not model:
            raise UsageError(
                f"profile '{base}' needs a model", next_step=f"write --to {base}:MODEL"
            )
        return Target(target.command, target.template.replace("{model}", shlex.quote(model)))
    if model:
        return Target(target.command, f"{target.template} --model {shlex.quote(model)}".strip())
    return target


def target_of_line(line: str) -> Target:
    """Parse a command line: the first word is the program, the rest its argument template."""
    words = split(line)
    if not words:
        raise UsageError("the model command is empty")
    return Target(words[0], shlex.join(words[1:]).replace(shlex.quote(PLACEHOLDER), PLACEHOLDER))


def split(template: str) -> list[str]:
    try:
        return shlex.split(template)
    except ValueError as error:
        raise UsageError(
            "Could not parse 'prompt_arg_template' from your config.",
            rule=f"shell quoting: {error}",
            next_step="balance the quotes",
        ) from None


def locate(command: str, environ: Mapping[str, str]) -> str:
    program = shutil.which(command, path=environ.get("PATH"))
    if program is None:
        raise ModelCommandError(
            f"LLM command '{command}' not found in your PATH. Please make sure it's installed and"
            " accessible.",
            next_step="install it, set llm_command in claw.yaml, or use --command, --to or --print",
        )
    return program


def plan(target: Target, prompt: str, environ: Mapping[str, str]) -> Delivery:
    """Choose how to pass the prompt. A prompt that does not fit in an argument goes to stdin, with
    a note."""
    program = locate(target.command, environ)
    words = split(target.template)
    if PLACEHOLDER not in target.template:
        return Delivery((program, *words), "stdin")
    filled = [word.replace(PLACEHOLDER, prompt) for word in words]
    obstacle = _obstacle([program, *filled], prompt, environ)
    if not obstacle:
        size = len(prompt.encode())
        note = (
            f"the prompt has {size:,} bytes; an argument template without {PLACEHOLDER} uses stdin"
        )
        return Delivery((program, *filled), "argument", note if size > LARGE else "")
    if any(PLACEHOLDER in word and word != PLACEHOLDER for word in words):
        raise ModelCommandError(
            f"the prompt cannot be an argument: {obstacle}",
            rule="the platform's argument limit",
            next_step=(
                f"take {PLACEHOLDER} out of prompt_arg_template, so that the prompt goes to stdin"
            ),
        )
    # A placeholder of its own is left out; an empty argument would be another prompt.
    others = [word for word in words if word != PLACEHOLDER]
    return Delivery((program, *others), "stdin", f"the prompt goes by stdin: {obstacle}")


def _obstacle(words: Sequence[str], prompt: str, environ: Mapping[str, str]) -> str:
    """Return why these words cannot be passed as arguments, or an empty text."""
    if "\0" in prompt:
        return "it holds a NUL character"
    longest = max(len(word.encode("utf-8", "surrogateescape")) for word in words)
    if longest >= _WORD_LIMIT:
        return f"{longest:,} bytes are more than one argument may have ({_WORD_LIMIT - 1:,})"
    # Besides its bytes, an argument takes a NUL and a pointer of 8 bytes; a variable also `=`. A
    # character has at most 4 bytes.
    total = sum(len(word.encode("utf-8", "surrogateescape")) + 9 for word in words)
    total += sum(
        len(key.encode("utf-8", "surrogateescape")) + len(value) * 4 + 10
        for key, value in environ.items()
    )
    # The kernel itself needs some of it, for the program's path and alignment.
    limit = os.sysconf("SC_ARG_MAX") - 4096 if "SC_ARG_MAX" in os.sysconf_names else 120_000
    return (
        f"{total:,} bytes are more than all arguments may have ({limit:,})" if total > limit else ""
    )


Sink = Callable[[bytes], None]
"""Callback for each block of the answer as it arrives."""


class Watching(Struct, frozen=True):
    """Supervision of a run: a time limit, and a sink that gets the answer instead of our stdout.
    With either, the program runs in its own process group, which is killed at the end."""

    seconds: float | None = None
    sink: Sink | None = None

    @property
    def apart(self) -> bool:
        return self.seconds is not None or self.sink is not None


UNWATCHED = Watching()


def send(
    delivery: Delivery,
    prompt: str,
    *,
    environ: Mapping[str, str],
    cwd: str,
    watching: Watching = UNWATCHED,
) -> None:
    """Run the program and wait for it. A non-zero exit status is a ModelCommandError."""
    program = delivery.words[0]
    code = _run(delivery, prompt, environ, cwd, watching)
    if code != 0:
        raise ModelCommandError(
            f"LLM command '{program}' exited with non-zero status: {status(code)}"
        )


def _run(
    delivery: Delivery, prompt: str, environ: Mapping[str, str], cwd: str, watching: Watching
) -> int:
    # No process group of its own by default: an interactive program must stay in the terminal's
    # foreground. In a group of its own it must not read from the terminal, which would stop it.
    data = prompt.encode("utf-8", "surrogateescape") if delivery.how == "stdin" else None
    stdin = subprocess.PIPE if data is not None else None
    if stdin is None and watching.apart and sys.stdin is not None and sys.stdin.isatty():
        stdin = subprocess.DEVNULL
    try:
        child = subprocess.Popen(
            list(delivery.words),
            stdin=stdin,
            stdout=subprocess.PIPE if watching.sink else None,
            env=dict(environ),
            cwd=cwd,
            process_group=0 if watching.apart else None,
        )
    except OSError as error:
        reason = (
            "the arguments are too long"
            if error.errno == errno.E2BIG
            else os.strerror(error.errno or 0)
        )
        raise ModelCommandError(
            f"Failed to execute LLM command: '{delivery.words[0]}': {reason}"
        ) from None
    try:
        takers = [watching.sink] if watching.sink else []
        converse(child, data or b"", takers, watching.seconds, _SILENCE)
    except subprocess.TimeoutExpired:
        raise ModelCommandError(
            f"LLM command '{delivery.words[0]}' did not finish in {watching.seconds:g} seconds",
            rule="time limit",
            next_step="raise --timeout",
        ) from None
    except KeyboardInterrupt:
        if not watching.apart:
            child.wait()  # the terminal interrupted the child too; let it end in its own way
        raise
    finally:
        if watching.apart:
            end_group(child)
    return child.returncode


def pass_through(command: str, *, environ: Mapping[str, str], cwd: str) -> int:
    """Run the program without a prompt, with our streams; return its exit code."""
    program = locate(command, environ)
    child = subprocess.Popen([program], env=dict(environ), cwd=cwd)
    try:
        child.wait()
    except KeyboardInterrupt:
        child.wait()
    return child.returncode if child.returncode >= 0 else 128 - child.returncode
