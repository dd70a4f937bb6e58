"""Companions of the best ranked files, by names and by history: the test of the best file, the
sibling that changes with it, and the changelog if the project usually updates one. For a changed
function: its users and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest

from msgspec import Struct

from sutler.languages.terms import STOP, checksum, split, whole
from sutler.paths import basename, quote
from sutler.ranking.history import Past
from sutler.ranking.index import Doc
from sutler.ranking.query import Query
from sutler.ranking.reader import Reader
from sutler.ranking.region_worth import density, held_by, lens_of, lexical
from sutler.ranking.resolution import Links
from sutler.ranking.score import Ranked, query_of
from sutler.ranking.signals import bare_stem, idf
from sutler.ranking.weights import K1

_LATELY = 200  # commits to the source that a habit is counted in
_LEAST, _HABIT = 3, 0.25
_LOGS = frozenset({"changelog", "changes", "history", "news", "whatsnew", "releasenotes"})
_LOG_FOLDERS = _LOGS | {"changelogd", "changelogs", "newsfragments", "changeset", "releases"}
_TESTS = 6  # tests that are compared in detail
_OWN, _IMPORTING = 2.0, 1.5
_IN_PATH = 3  # a word of the path counts as often as so many in the text
_SHARED = "conftest helper helpers util utils setup mod common support fixtures testenv index"
_CONSIDERED = 10  # of the best files, for the best source


class Companion(Struct, frozen=True):
    """A file that a change of the best file usually needs; a folder ends with a slash."""

    path: str
    reason: str
    lines: str = ""  # for a test: the lines with the most of the task's words

    def __str__(self) -> str:
        return f"{quote(self.path)}{self.lines and ':'}{self.lines}: {self.reason}"


def companions_of(
    task: str, ranked: Sequence[Ranked], reader: Reader, past: Past
) -> tuple[Companion, ...]:
    """Return at most three companions of the best source file."""
    numbers = {doc.path: number for number, doc in reader.docs.items()}
    first = [numbers[file.path] for file in ranked[:_CONSIDERED]]
    best = next((n for n in first if reader.docs[n].kind == "source"), None)
    if best is None:
        return ()
    places = {number: numbers[path] for number, path in enumerate(past.paths) if path in numbers}
    found = (
        _test(best, query_of(reader, task), reader),
        _sibling(best, reader, past, places),
        _changelog(reader, past, places),
    )
    return tuple(companion for companion in found if companion is not None)


def _test(best: int, query: Query, reader: Reader) -> Companion | None:
    """Return the test that holds the most of the task's words, among those that are named like the
    best file or import it; or the one that holds by far the most of all tests."""
    links, name = Links(reader), quote(reader.docs[best].path)
    own = own_tests(best, reader, links)
    rows = nlargest(_TESTS, ((worth, -doc) for doc, worth in _test_scores(query, reader).items()))
    rated: list[tuple[float, int, str]] = []
    for worth, negative in rows:
        if -negative in own:
            rated.append((_OWN * worth, negative, f"test of {name}"))
        elif best in links.imported(-negative):
            rated.append((_IMPORTING * worth, negative, f"test that imports {name}"))
        else:
            rated.append((worth, negative, "test with the most words of the task"))
    if rated:
        _, number, reason = max(rated)
        return Companion(reader.docs[-number].path, reason, _place(-number, query, reader))
    return Companion(reader.docs[own[0]].path, f"test of {name}") if own else None


def _place(number: int, query: Query, reader: Reader) -> str:
    """Return the function of a test that holds the most of the task's words."""
    total = len(reader.docs)
    worth = {term: w * idf(len(reader.postings(term)), total) for term, w in query.terms.items()}
    lens = lens_of(query, worth)
    regions = [region for region in reader.regions(number) if region.kind == "function"]
    best = max(regions, key=lambda region: density(region, lens), default=None)
    return f"{best.start}-{best.end}" if best is not None and lexical(best, lens) else ""


def _test_scores(query: Query, reader: Reader) -> dict[int, float]:
    """Return the worth of the task's words in each test, by BM25 over bodies and paths."""
    total = len(reader.docs)
    average = sum(doc.words for doc in reader.docs.values()) / max(1, total)
    worths: dict[int, float] = {}
    for term, weight in query.terms.items():
        body, places = reader.postings(term), reader.postings(f"/{term}")
        rarity = weight * idf(len(body), total)
        for doc in {**body, **places}:
            if reader.docs[doc].kind == "test" and not _helps(reader.docs[doc]):
                count = body.get(doc, 0) + _IN_PATH * places.get(doc, 0)
                length = 0.25 + 0.75 * reader.docs[doc].words / average
                worths[doc] = worths.get(doc, 0.0) + rarity * count / (count + K1 * length)
    return worths


def _helps(doc: Doc) -> bool:
    """Return whether a file among the tests holds no test: it has no code, or helpers for tests."""
    stem = basename(doc.path).partition(".")[0].lower()
    return not doc.language or stem in _SHARED.split()


def _sibling(best: int, reader: Reader, past: Past, places: Mapping[int, int]) -> Companion | None:
    """Return the source that changed with the best file most often."""
    together: Counter[int] = Counter()
    total = 0
    for touched in past.touched:
        docs = {places[number] for number in touched if number in places}
        if best in docs:
            total += 1
            together.update(docs)
    rows = [
        (-count, reader.docs[doc].path)
        for doc, count in together.items()
        if doc != best and reader.docs[doc].kind == "source" and not _log(reader.docs[doc].path)
    ]
    if not rows:
        return None
    count, path = -min(rows)[0], min(rows)[1]
    if count < _LEAST or count < _HABIT * total:
        return None
    name = quote(reader.docs[best].path)
    return Companion(path, f"changed with {name} in {count} of its {total} commits")


def _changelog(reader: Reader, past: Past, places: Mapping[int, int]) -> Companion | None:
    """Return the changelog, or the folder of its parts, if commits to the source usually change
    it."""
    logs: Counter[str] = Counter()
    total = 0
    for touched in past.touched:
        if total == _LATELY:
            break
        kinds = {reader.docs[places[number]].kind for number in touched if number in places}
        if "source" in kinds:
            total += 1
            logs.update({log for number in touched if (log := _log(past.paths[number]))})
    rows = [
        (-count, log)
        for log, count in logs.items()
        if any(doc.path.startswith(log) for doc in reader.docs.values())
    ]
    if not rows or -min(rows)[0] < max(_LEAST, _HABIT * total):
        return None
    share = -min(rows)[0] / total
    return Companion(
        min(rows)[1], f"changelog, touched by {100 * share:.0f} % of commits to the source"
    )


def _log(path: str) -> str:
    """Return the path of the changelog, or of the folder of its parts, that `path` belongs to;
    empty for other files."""
    *folders, name = path.split("/")
    if _plain(basename(path).partition(".")[0]) in _LOGS:
        return path
    for depth, folder in enumerate(folders, 1):
        if _plain(folder) in _LOG_FOLDERS and not name.endswith(_CODE):
            return "/".join(folders[:depth]) + "/"
    return ""


_CODE = (".py", ".js", ".ts", ".go", ".rs", ".java", ".c", ".h", ".rb", ".php", ".cpp")


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(".", "")


MOST_HOLDERS = 40
"""Above this number of files that hold a name, a mention is too vague to count as a use."""
_LEAST_NAME = 3


class User(Struct, frozen=True, order=True):
    """A region that uses a name. A smaller value is a likelier user: `far` is 0 in the defining
    file, 1 where that file is imported, 2 elsewhere."""

    test: bool
    far: int
    path: str
    start: int
    end: int
    name: str


def users_of(name: str, number: int, reader: Reader, links: Links) -> list[User] | None:
    """Return the regions that use a name that document `number` defines, the likeliest first and
    tests last; None if too many files hold the name."""
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
    users = [user for user in users if user.far < 2] or users
    return sorted([user for user in users if user.name] or users)


def _term(name: str) -> str:
    """Return the index term of a name; empty for a short name or a stop word."""
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
        # Not the top of a file: its imports are used elsewhere.
        if region.kind in ("function", "gap") and term in held_by(region):
            mine = test or region.name.rpartition("::")[2].lower().startswith("test")
            yield User(mine, far, path, region.start, region.end, region.name)


def own_tests(number: int, reader: Reader, links: Links) -> list[int]:
    """Return the tests that are named like a file, the nearest first."""
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
    """Count the folders that two paths share, at any depth: 1 for `src/a/b.c` and `tests/a/b.c`."""
    return len(set(left[:-1]) & set(right[:-1]))
