"""Key files (seed 004): the seed's names, entry points and the most used files, within its limits.

A category says what a file is. The name proposes it; the text has to agree, where it is at hand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from sutler.paths import basename
from sutler.scan.classify import Classified, KeyLimits
from sutler.scan.snapshot import FileFacts
from sutler.survey.starts import is_own

_LIMITS = KeyLimits()


class Named(Struct, frozen=True):
    """What the survey found by reading: where the project starts, and its manifests."""

    starts: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()


NOTHING_NAMED = Named()
_RANK = {"critical": 0, "high": 1, "medium": 2}
_EVIDENCE: dict[str, re.Pattern[str]] = {
    "auth": re.compile(
        r"(?i)log_?(?:in|out)|passw(?:or)?d|authenticat|authoriz|permission|credential|jwt"
        r"|oauth|principal"
        r"|\brole|\bacl\b|access_?token|bearer|api_?key|session_?id"
    ),
    "api": re.compile(
        r"(?i)\brout(?:e|er|ing)|endpoint|\brequest|\bresponse|\bhttp|controller|\bapi\b"
        r"|middleware|handler"
    ),
    "database": re.compile(
        r"(?i)\btable|column|quer(?:y|ies)|schema|entity|foreign|\borm\b|\bsql|\bdb\b|database"
        r"|repository"
        r"|migrat|\bmodels?\b|\brecord"
    ),
}
_PLAIN_NAMES = re.compile(
    r"(?i)(?:^|/)(?:auth|login|permissions?|routes?|router|api|models?|schemas?|database|db)\.\w+$"
)
"""Names that are nothing but a category."""
_ENOUGH = 2
"""Different words of a category that a text must hold to be of it."""
_DERIVED = re.compile(
    r"(?i)(?:^|/)(?:migrations?|alembic/versions|versions)/|\.min\.|\.d\.ts$|[-.]bundle\."
)
_ASIDE_CONFIG = re.compile(
    r"(?:^|/)\.|(?i:dockerfile|vagrantfile|compose\.|appsettings|launchsettings|requirements[-_])"
)


_PARTS_OF_BUILD = re.compile(r"/(?:CMakeLists\.txt|[Mm]akefile|Makefile\.am|meson\.build|BUILD)$")


def key_files(
    pairs: Iterable[Classified],
    central: Mapping[str, int],
    named: Named = NOTHING_NAMED,
    texts: Mapping[str, str] | None = None,
    limits: KeyLimits = _LIMITS,
) -> tuple[Classified, ...]:
    """The files to read first. `central` says how many files use each, `named` are the entry points
    and manifests that the survey found, `texts` what is at hand to judge by."""
    candidates: list[Classified] = []
    places = {path: place for place, path in enumerate((*named.starts, *named.manifests))}
    pairs = list(pairs)
    top = {entry.path for entry, _ in pairs if "/" not in entry.path}
    for entry, facts in pairs:
        if facts.importance is None and entry.path not in central and entry.path not in places:
            continue  # most files: patterns are not held against them
        if entry.size == 0 or not is_own(entry.path, facts) or _DERIVED.search(entry.path):
            continue
        if _PARTS_OF_BUILD.search(entry.path) and basename(entry.path) in top:
            continue  # the one at the root stands for those below it
        judged = _judged(entry.path, facts, central, named, (texts or {}).get(entry.path))
        if judged.importance is not None:
            candidates.append((entry, judged))
    last = len(places)

    def order(pair: Classified) -> tuple[int, int, int, int, int, int, str]:
        entry, facts = pair
        path = entry.path
        rank = _RANK[facts.importance or "medium"]
        if facts.category == "config":
            tool = bool(_ASIDE_CONFIG.search(path))
            return rank, 0, path.count("/") + 10 * tool, places.get(path, last), 0, entry.size, path
        if path in places:
            return rank, 1, places[path], 0, 0, 0, path
        return rank, 2, -central.get(path, 0), entry.size, path.count("/"), 0, path

    seen: Counter[str] = Counter()
    chosen: list[Classified] = []
    for pair in sorted(candidates, key=order):
        if len(chosen) < limits.max_total and seen[pair[1].category] < limits.max_per_category:
            seen[pair[1].category] += 1
            chosen.append(pair)
    return tuple(chosen)


def _judged(
    path: str, facts: FileFacts, central: Mapping[str, int], named: Named, text: str | None
) -> FileFacts:
    """The facts with the category and importance that names, uses and text agree on."""
    if path in named.starts:
        return replace(facts, category="entrypoint", importance="critical")
    if path in named.manifests:
        return replace(facts, category="config", importance="critical")
    if facts.tag != "code":
        return facts
    category, importance = facts.category, facts.importance
    if category == "entrypoint" and named.starts:
        category = "source"  # its name alone says so, and the project starts elsewhere
    pattern = _EVIDENCE.get(category)
    if pattern is not None and text is not None and not _PLAIN_NAMES.search(path):
        words = {word.lower() for word in pattern.findall(text[:50_000])}
        if len(words) < _ENOUGH:
            category = "source"
    if category == "source":
        importance = "high" if central.get(path) else None
    return replace(facts, category=category, importance=importance)
