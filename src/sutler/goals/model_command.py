"""Run a program as a model: it takes a prompt and prints an answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from sutler.errors import ModelCommandError
from sutler.goals.process import Bounds, capture
from sutler.goals.send import Target, plan

Model = Callable[[str], str]
"""Takes a prompt and returns the answer."""

ANSWER_BYTES = 8 * 1024 * 1024  # a command that prints without end must not fill the memory


def command_model(
    target: Target, *, cwd: str, environ: Mapping[str, str], seconds: float = 300.0
) -> Model:
    """Return a function that runs `target` for each prompt. A failure, a timeout and an answer
    above 8 MiB raise ModelCommandError."""
    bounds = Bounds(seconds=seconds, out_bytes=ANSWER_BYTES)

    def ask(prompt: str) -> str:
        delivery = plan(target, prompt, environ)
        program = delivery.words[0]
        stdin = prompt.encode("utf-8", "surrogateescape") if delivery.how == "stdin" else b""
        try:
            done = capture(delivery.words, cwd=cwd, env=environ, stdin=stdin, bounds=bounds)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise ModelCommandError(
                f"Failed to execute LLM command: '{program}': {reason}"
            ) from None
        if done.stopped == "time":
            raise ModelCommandError(
                f"LLM command '{program}' gave no answer in {seconds:g} seconds", rule="time limit"
            )
        if done.stopped == "size":
            raise ModelCommandError(
                f"LLM command '{program}' printed more than 8 MiB", rule="answer limit"
            )
        if done.code != 0:
            tail = done.err.decode("utf-8", "replace")[-2000:].rstrip()
            raise ModelCommandError(
                f"LLM command '{program}' exited with non-zero status: {done.status}"
                + (f"\n{tail}" if tail else "")
            )
        return done.out.decode("utf-8", "replace")

    return ask
