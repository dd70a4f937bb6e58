"""Key files (seed 004): the seed's names, entry points and the most used files, within its limits.

A category says what a file is. The name proposes it; the text must agree if it is available."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from math import isqrt

from msgspec import Struct
from msgspec.structs import replace

from sutler.paths import basename, dirname
from sutler.scan.classify import Classified
from sutler.scan.snapshot import FileFacts
from sutler.survey.starts import is_own
from sutler.survey.subjects import subject_weight, subjects


class KeyLimits(Struct, frozen=True):
    """Seed 004's key file limits. Content over the byte limit is cut; the file stays a key file."""

    max_per_category: int = 5
    max_total: int = 25
    max_content_per_file_bytes: int = 50_000


_LIMITS = KeyLimits()


class Named(Struct, frozen=True):
    """Entry points and manifests of the project."""

    starts: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()


NOTHING_NAMED = Named()
_RANK = {"critical": 0, "high": 1, "medium": 2}
_EVIDENCE: dict[str, tuple[str, ...]] = {
    "auth": (
        r"log_?(?:in|out)|sign_?(?:in|out|up)",
        r"passw(?:or)?d|passphrase",
        r"authenticat",
        r"authoriz|permission|\brole|\bacl\b",
        r"credential|principal",
        r"jwt|oauth|openid|saml|access_?token|bearer|api_?key|cookie|csrf",
    ),
    "api": (
        r"\brout(?:e|er|ing|es)\b",
        r"endpoint",
        r"\brequest",
        r"\bresponse",
        r"\bhttp",
        r"\bapi\b",
        r"middleware",
    ),
    "database": (
        r"\btable|column",
        r"\bforeign|primary[ _]?key|\bindex(?:es)?\b",
        r"\borm\b|\bsql|\bdb\b|database|@entity",
        r"\b(?:has_many|belongs_to|hasmany|belongsto|models?\.\w*field|foreignkey|mapped_column)\b",
        r"migrat",
        r"\brecords?\b|active_?record|eloquent|repository",
        r"\bschema\b",
    ),
}
"""Subjects of a category. The name's own word does not suffice for any."""
_PLAIN_NAMES = re.compile(
    r"(?i)(?:^|/)(?:auth|login|permissions?|routes?|router|api|models?|schemas?|database|db)\.\w+$"
)
"""Names that consist of a category alone."""
_CERTAIN = re.compile(r"(?:^|/)app/(?:models|controllers)/")
"""Folders of a framework that determine the category."""
PLAIN_TIES = 20
MAX_LARGEST = 500_000
_ENOUGH = 2
"""Number of different subjects of a category that a text of that category mentions."""
_NO_DATABASE = re.compile(
    r"(?:View|Page|Screen|Table|List)_?[Mm]odels?\b|Modal|view_model|useQuer|/(?:tui|ui|views?)/"
)
_VALIDATES = re.compile(r"[\"'](?:[\w@/.-]+/)?(?:zod|yup|joi|valibot|superstruct|arktype)[\"']")
"""Libraries whose schemas check values, and are no database's."""
DERIVED = re.compile(
    r"(?i)(?:^|/)(?:\w*migrations?|migrate|alembic/versions|versions|seeds?|factories)/"
    r"|(?:^|/)seeds?\.\w+$|\.min\.|\.d\.ts$|[-.]bundle\."
)
"""Steps of a database's history and copies: nothing is built on them."""
_ASIDE_CONFIG = re.compile(
    r"(?:^|/)\.|(?i:dockerfile|vagrantfile|compose\.|appsettings|launchsettings|requirements[-_])"
)


_NO_SETTINGS = re.compile(r"(?:^|/)\.|\.slnx?$|(?:^|/)MANIFEST\.in$")
"""Settings of an editor, a formatter or a service, and lists that a program maintains."""
_PARTS_OF_BUILD = re.compile(r"/(?:CMakeLists\.txt|[Mm]akefile|Makefile\.am|meson\.build|BUILD)$")


def key_files(
    pairs: Iterable[Classified],
    central: Mapping[str, int],
    named: Named = NOTHING_NAMED,
    texts: Mapping[str, str] | None = None,
    limits: KeyLimits = _LIMITS,
) -> tuple[Classified, ...]:
    """Return the files to read first. `central` is each file's weight, `named` are the entry points
    and manifests of the survey, `texts` the available texts that confirm a category."""
    candidates: list[Classified] = []
    places = {path: place for place, path in enumerate((*named.starts, *named.manifests))}
    pairs = list(pairs)
    top = {entry.path for entry, _ in pairs if "/" not in entry.path}
    of_subject = subjects(pairs)
    for entry, facts in pairs:
        if entry.path in of_subject and entry.path not in places:
            candidates.append((entry, replace(facts, category="source", importance="high")))
            continue
        if facts.importance is None and entry.path not in central and entry.path not in places:
            continue  # most files: no pattern is tried
        if facts.category == "config" and _NO_SETTINGS.search(entry.path):
            continue
        if entry.size == 0 or not is_own(entry.path, facts) or DERIVED.search(entry.path):
            continue
        if _PARTS_OF_BUILD.search(entry.path) and basename(entry.path) in top:
            continue  # the one at the root represents those below it
        judged = _judged(entry.path, facts, central, named, (texts or {}).get(entry.path))
        if judged.importance is not None:
            candidates.append((entry, judged))
    last = len(places)
    # Of many entry points or members those that hold the central code come first.
    crowded = len(named.starts) > limits.max_per_category
    parts = Counter[str]()
    for path, weight in central.items():
        for folder in accumulate(path.split("/")[:-1], "{}/{}".format):
            parts[folder] += weight

    def order(pair: Classified) -> tuple[int, int, int, int, int, int, str]:
        entry, facts = pair
        path = entry.path
        rank = _RANK[facts.importance or "medium"]
        if facts.category == "config":
            tool = bool(_ASIDE_CONFIG.search(path))
            deep = path.count("/") + 10 * tool
            return rank, 0, deep, -parts[dirname(path)], places.get(path, last), entry.size, path
        if path in places:
            worth = parts[dirname(path)] + central.get(path, 0)
            return rank, 1, -worth if crowded else places[path], 0, 0, 0, path
        weight = central.get(path, 0) if central else isqrt(entry.size)
        if path in of_subject:
            return 1, 2, -subject_weight(path, entry.size), rank, 0, 0, path
        if _PLAIN_NAMES.search(path):  # `routes.rb`, `models.py`: read whatever uses them
            weight += PLAIN_TIES * isqrt(entry.size)
        return 1, 2, -weight, rank, entry.size, path.count("/"), path

    ranked = sorted(candidates, key=order)
    code = _capped([pair for pair in ranked if pair[1].category != "config"], limits)
    inside = tuple(entry.path for entry, _ in code)
    config = [pair for pair in ranked if pair[1].category == "config" and _serves(pair, inside)]
    return tuple([*_capped(config, limits), *code][: limits.max_total])


def _capped(pairs: Iterable[Classified], limits: KeyLimits) -> list[Classified]:
    """Return the first files of each category, within the limit."""
    seen: Counter[str] = Counter()
    chosen: list[Classified] = []
    for pair in pairs:
        if seen[pair[1].category] < limits.max_per_category:
            seen[pair[1].category] += 1
            chosen.append(pair)
    return chosen


def largest(pairs: Iterable[Classified], limits: KeyLimits = _LIMITS) -> list[Classified]:
    """Return the largest of the project's own programs: the key files of a summary if no file has
    users."""
    own = [
        (entry, replace(facts, category="source", importance="high"))
        for entry, facts in pairs
        if facts.tag == "code" and facts.role == "source" and is_own(entry.path, facts)
        if 0 < entry.size <= MAX_LARGEST
    ]
    return _capped(sorted(own, key=lambda pair: (-pair[0].size, pair[0].path)), limits)


def _serves(pair: Classified, inside: tuple[str, ...]) -> bool:
    """Return whether a settings file belongs to the whole, or to a part that holds a key file."""
    folder = dirname(pair[0].path)
    return not folder or any(path.startswith(f"{folder}/") for path in inside) or not inside


def _is_certain(path: str) -> bool:
    return bool(_PLAIN_NAMES.search(path) or _CERTAIN.search(path))


def _judged(
    path: str, facts: FileFacts, central: Mapping[str, int], named: Named, text: str | None
) -> FileFacts:
    """Return the facts with the category and importance on which names, uses and text agree."""
    if path in named.starts:
        return replace(facts, category="entrypoint", importance="critical")
    if path in named.manifests:
        return replace(facts, category="config", importance="critical")
    if facts.tag != "code":
        return facts
    category, importance = facts.category, facts.importance
    if category == "entrypoint" and (named.starts or path.count("/") > 1):
        category = "source"  # by its name alone
    if category == "database" and text is not None and _VALIDATES.search(text[:5_000]):
        category = "source"
    subjects = _EVIDENCE.get(category)
    if subjects is not None and text is not None and not _is_certain(path):
        low = text[:50_000].lower()
        spoken = sum(re.search(subject, low) is not None for subject in subjects)
        if spoken < _ENOUGH or (category == "database" and _NO_DATABASE.search(path)):
            category = "source"
    if category == "source":
        importance = "high" if central.get(path) or not central else None
    return replace(facts, category=category, importance=importance)
