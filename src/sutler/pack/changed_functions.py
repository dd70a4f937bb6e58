"""Additions of a review to the diff: the users and tests of changed functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from sutler.pack.changes import Changes, text_of_ours
from sutler.paths import quote
from sutler.ranking.companions import User, own_tests, users_of
from sutler.ranking.reader import Reader
from sutler.ranking.resolution import Links
from sutler.scan.snapshot import Snapshot

USERS = "git/users.txt"
_HEAD = (
    "Users and tests of the changed functions, found by their names; `:LINE` is in the same file.\n"
)
_FUNCTIONS, _NAMED = 12, 4  # a review stays a page; its reader can ask for more
_LENGTH = 2_400  # characters, about 600 tokens


def with_users(changes: Changes, reader: Reader, snapshot: Snapshot) -> Changes:
    """Add the list of users as a text of its own behind the diff."""
    text = users_text(reader, changes.lines)
    if not text:
        return changes
    diff, *others = changes.texts
    users = text_of_ours(USERS, text, "users of the changed functions", snapshot)
    return replace(changes, texts=(diff, users, *others))


def users_text(reader: Reader, changed: Mapping[str, Sequence[int]]) -> str:
    """List the users and the tests of each changed function, as far as there is room; empty if no
    function changed."""
    numbers = {doc.path: number for number, doc in reader.docs.items() if doc.path in changed}
    links, parts, size = Links(reader), [_HEAD], len(_HEAD)
    functions = [
        item
        for path, number in sorted(numbers.items())
        if reader.docs[number].kind != "test"
        for item in _functions(number, changed[path], reader)
    ]
    for name, number, place in functions[:_FUNCTIONS]:
        part = "".join(_lines(name, number, place, reader, links))
        if size + len(part) > _LENGTH:
            break
        parts.append(part)
        size += len(part)
    left = len(functions) - (len(parts) - 1)
    if left:
        parts.append(f"\n{left} more changed functions are not shown here.\n")
    return "".join(parts) if functions else ""


def _functions(number: int, lines: Sequence[int], reader: Reader) -> Iterator[tuple[str, int, str]]:
    """Yield the functions with a changed line: name, document and place, each once."""
    names: set[str] = set()
    for region in reader.regions(number):
        touched = any(region.start <= line <= region.end for line in lines)
        if touched and region.kind == "function" and region.name and region.name not in names:
            names.add(region.name)
            path = quote(reader.docs[number].path)
            yield region.name, number, f"{path}:{region.start}-{region.end} {quote(region.name)}"


def _lines(name: str, number: int, place: str, reader: Reader, links: Links) -> Iterator[str]:
    yield f"\n{place}\n"
    users = users_of(name.rpartition("::")[2], number, reader, links)
    if users is None:
        yield "  used in too many places to name\n"
        return
    path = reader.docs[number].path
    callers = _named([user for user in users if not user.test], path)
    yield f"  used by {callers}\n" if callers else "  no user found\n"
    tests = _named([user for user in users if user.test], path)
    files = ", ".join(
        quote(reader.docs[test].path) for test in own_tests(number, reader, links)[:2]
    )
    if tests:
        yield f"  tested by {tests}\n"
    else:
        yield (
            f"  no test names it; tests of the file: {files}\n" if files else "  no test names it\n"
        )


def _named(users: Sequence[User], path: str) -> str:
    """Return the names of the first of these regions, without the path inside the same file; a
    function of several regions counts once."""
    places = {
        (user.path, user.name): (
            f"{'' if user.path == path else quote(user.path)}:{user.start}"
            f"{user.name and ' '}{quote(user.name) if user.name else ''}"
        )
        for user in reversed(users)
    }
    texts = list(reversed(places.values()))
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return ", ".join(texts[:_NAMED]) + more
