"""Parse a model's answer in gather: the files it requests, and whether it is done.

`read_answer` takes the first valid object anywhere in the text: after prose, in a fence, after a
reasoning block. `read_original` follows the original's rules, which reject some of these
answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from msgspec import Struct

UNPARSED = "Could not parse LLM response."
MAX_WORK = 64 * 1024 * 1024
"""Characters that may be parsed in one answer, failed attempts included."""

_THOUGHT = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_THINKING = re.compile(r"\s*<(?:think|thinking|reasoning)>", re.IGNORECASE)
_FALSE_WORDS = ("", "0", "false", "no", "none", "null")
_PATH_KEYS = ("path", "file", "filename", "name")


class Answer(Struct, frozen=True):
    done: bool
    files: tuple[str, ...] = ()
    reason: str = ""


class Unreadable(Struct, frozen=True):
    """An answer without a valid object; `complaint` goes into the next question."""

    complaint: str


def read_answer(text: str) -> Answer | Unreadable:
    """Return the first object in `text` that has `done` or `files` of a usable type."""
    if not text.strip():
        return Unreadable("the answer was empty")
    first_complaint = ""
    for part in _parts(text):
        for value in _objects(part):
            answer = value if isinstance(value, Unreadable) else _answer(value)
            if isinstance(answer, Answer):
                return answer
            first_complaint = first_complaint or answer.complaint
    return Unreadable(first_complaint or "there was no JSON object in the answer")


def _parts(text: str) -> Iterator[str]:
    """Yield the parts to search: the text after the reasoning, then the whole text unless it starts
    with reasoning."""
    # Objects inside the reasoning are drafts, so the text after it comes first.
    ends = list(_THOUGHT.finditer(text))
    if ends:
        yield text[ends[-1].end() :]
    if not ends or not _THINKING.match(text):
        yield text


def _objects(text: str) -> Iterator[dict[str, object] | Unreadable]:
    """Yield every JSON object in `text`, from left to right, or why a brace does not start one."""
    decoder = json.JSONDecoder()
    work, at = 0, text.find("{")
    while at >= 0 and work <= MAX_WORK:
        try:
            value, end = decoder.raw_decode(text, at)
            work += end - at
            if isinstance(value, dict):
                yield value
        except json.JSONDecodeError as error:
            work += error.pos - at + 1
            yield Unreadable(f"the object is not JSON: {error.msg} at line {error.lineno}")
        except (ValueError, RecursionError):
            work += 5_000  # no position in these exceptions: charge a fixed amount
            yield Unreadable("the object is nested too deep")
        # Search inside the object too: an outer object may wrap the answer.
        at = text.find("{", at + 1)


def _answer(body: dict[str, object]) -> Answer | Unreadable:
    if "done" not in body and "files" not in body:
        return Unreadable('the object has neither "done" nor "files"')
    files = body.get("files")
    # Some models write a single path without a list, and `done` in quotes.
    if isinstance(files, str):
        files = [files]
    if files is not None and not isinstance(files, list):
        return Unreadable('"files" is not a list of paths')
    names = [name for item in files or () if (name := _path(item).strip())]
    if files and not names:
        return Unreadable('"files" holds no path')
    done = body.get("done", False)
    if isinstance(done, str):
        done = done.strip().lower() not in _FALSE_WORDS
    reason = body.get("reason")
    return Answer(
        bool(done), tuple(dict.fromkeys(names)), reason if isinstance(reason, str) else ""
    )


def _path(item: object) -> str:
    """Return the path of an item: a string, or an object with a path under a usual key."""
    if isinstance(item, dict):
        item = next((item[key] for key in _PATH_KEYS if key in item), "")
    return item if isinstance(item, str) else ""


def read_original(text: str) -> Answer:
    """Parse the outermost braces as JSON; an answer without a JSON object ends the loop."""
    braces = re.search(r"\{[\s\S]*\}", text)
    try:
        body = json.loads(braces.group()) if braces else None
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        return Answer(True, (), UNPARSED)
    files = body.get("files")
    names = (
        [name for name in files if isinstance(name, str) and name.strip()]
        if isinstance(files, list)
        else []
    )
    reason = body.get("reason")
    return Answer(
        _truthy(body.get("done")), tuple(names), reason if isinstance(reason, str) else ""
    )


def _truthy(value: object) -> bool:
    """JavaScript truthiness: unlike in Python, an empty list or object is true."""
    return bool(value) or isinstance(value, list | dict)
