"""Who uses a function, and what tests a file, by the names in the index: the two questions of a
review and of a pack for a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from sutler.languages.terms import STOP, checksum, split, whole
from sutler.ranking.reader import Reader
from sutler.ranking.region_worth import held_by
from sutler.ranking.resolution import Links
from sutler.ranking.signals import bare_stem

MOST_HOLDERS = 40
"""Files that hold a name before it is too common to say who means it."""
_LEAST_NAME = 3


class User(Struct, frozen=True, order=True):
    """A region that uses a name. Smaller is likelier: `far` is 0 in the file that defines it, 1
    where that file is imported, 2 elsewhere."""

    test: bool
    far: int
    path: str
    start: int
    end: int
    name: str


def users_of(name: str, number: int, reader: Reader, links: Links) -> list[User] | None:
    """The regions that use a name that document `number` defines, the likeliest first and tests
    last; None where too many files hold the name."""
    term = _term(name)
    holders = reader.postings(term) if term else {}
    code = [doc for doc in holders if reader.docs[doc].language]
    if not term or len(code) > MOST_HOLDERS:
        return None
    reader.parse(code)
    users = [
        user
        for doc in code
        for user in _users_in(doc, checksum(term), _far(doc, number, links), reader)
        if doc != number or user.name.rpartition("::")[2] != name
    ]
    near = [user for user in users if user.far < 2]
    return sorted(near or users)


def _term(name: str) -> str:
    """The term by which a name is found; none for one that says nothing."""
    terms = split(name)
    if len(name) < _LEAST_NAME or not terms or name.lower() in STOP:
        return ""
    return whole(name) if whole(name) in terms else terms[-1]


def _far(doc: int, number: int, links: Links) -> int:
    if doc == number:
        return 0
    return 1 if number in links.imported(doc) else 2


def _users_in(doc: int, term: int, far: int, reader: Reader) -> Iterator[User]:
    path, test = reader.docs[doc].path, reader.docs[doc].kind == "test"
    for region in reader.regions(doc):
        if region.kind == "function" and term in held_by(region):
            mine = test or region.name.rpartition("::")[2].lower().startswith("test")
            yield User(mine, far, path, region.start, region.end, region.name)


def own_tests(number: int, reader: Reader, links: Links) -> list[int]:
    """The tests that are named like a file, the nearest first."""
    module = links.module(number)
    if not module:
        return []
    path = reader.docs[number].path.split("/")
    tests = [
        (-_shared(path, doc.path.split("/")), doc.path, other)
        for other, doc in reader.docs.items()
        if doc.kind == "test" and module[-1] in _stems(links.module(other))
    ]
    return [other for _, _, other in sorted(tests)]


def _stems(module: Sequence[str]) -> Iterable[str]:
    return (bare_stem(module[-1]), module[-1]) if module else ()


def _shared(left: Sequence[str], right: Sequence[str]) -> int:
    """How many folders two paths share, wherever they stand: `src/a/b.c` and `tests/a/b.c` one."""
    return len(set(left[:-1]) & set(right[:-1]))
