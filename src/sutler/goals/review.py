"""The user's review command: a program that proposes how to settle a conflict of edits."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping

import msgspec

from sutler.errors import ModelCommandError

REVIEW_SECONDS = 120.0  # the agent waits for its conflict meanwhile


def reviewer(
    words: tuple[str, ...], env: Mapping[str, str]
) -> Callable[[str, str, str, str], str] | None:
    """Wrap the user's review command; None if it is not set. The command gets a JSON object with
    path, base, ours and theirs on stdin and prints the whole text that it proposes."""
    if not words:
        return None

    def review(path: str, base: str, ours: str, theirs: str) -> str:
        from sutler.goals.process import Bounds, capture

        request = msgspec.json.encode({"path": path, "base": base, "ours": ours, "theirs": theirs})
        # Not in the project: files that the command writes must not change it.
        with tempfile.TemporaryDirectory() as empty:
            try:
                done = capture(
                    words, cwd=empty, env=env, stdin=request, bounds=Bounds(REVIEW_SECONDS)
                )
            except OSError as fault:
                raise ModelCommandError(
                    f"the review command cannot be run: {fault.strerror}"
                ) from None
        if done.stopped or done.code:
            raise ModelCommandError(f"the review command failed: {done.stopped or done.status}")
        return done.out.decode("utf-8", "replace")

    return review
