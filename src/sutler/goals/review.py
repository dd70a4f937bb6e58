"""The user's review command: a program that proposes how to settle a conflict of edits."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping

import msgspec

from sutler.errors import ModelCommandError

REVIEW_SECONDS = 120.0


def reviewer(
    words: tuple[str, ...], env: Mapping[str, str]
) -> Callable[[str, str, str, str], str] | None:
    """The user's own review command: it gets a JSON object with path, base, ours and theirs on
    stdin and prints the whole text that it proposes.
    """
    if not words:
        return None

    def review(path: str, base: str, ours: str, theirs: str) -> str:
        from sutler.goals.process import Bounds, capture

        asked = msgspec.json.encode({"path": path, "base": base, "ours": ours, "theirs": theirs})
        with (
            tempfile.TemporaryDirectory() as empty
        ):  # not the project: whatever it writes there changes nothing
            try:
                done = capture(
                    words, cwd=empty, env=env, stdin=asked, bounds=Bounds(REVIEW_SECONDS)
                )
            except OSError as fault:
                raise ModelCommandError(
                    f"the review command cannot be run: {fault.strerror}"
                ) from None
        if done.stopped or done.code:
            raise ModelCommandError(f"the review command failed: {done.stopped or done.status}")
        return done.out.decode("utf-8", "replace")

    return review
