"""From all manifests to one: what kind of project this is, what it needs, where it starts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import UNSET, Struct
from msgspec.structs import replace

from sutler.languages import LANGUAGES, language_of
from sutler.paths import basename, wire_path
from sutler.scan.classify import Classified
from sutler.scan.snapshot import Problem
from sutler.survey.evidence import ASIDE, Found, Tree, one_line, tree_of
from sutler.survey.manifests import rank_of, read_all
from sutler.survey.readme import first_sentence, is_readme
from sutler.survey.wire import Dependency, Manifest

MAX_DEPENDENCIES = 300
MAX_ENTRY_POINTS = 25
MIXED_SHARE = 0.25

_PLACEHOLDERS = frozenset({"root", "monorepo", "workspace"})


class Surveyed(Struct, frozen=True):
    """The manifest, the manifests behind it, and what could not be read."""

    manifest: Manifest
    found: tuple[Found, ...]
    problems: tuple[Problem, ...]


def survey_manifest(
    entries: Sequence[Classified], texts: Mapping[str, str], root_name: str
) -> Surveyed:
    """Seed 004's Manifest from the project's own files. `root_name` is the folder's name, the last
    resort.
    """
    tree = tree_of(entry.path for entry, _ in entries)
    everything, problems = read_all(texts, tree)
    scope, loops = _scope(everything)
    weights = _weights(entries)
    kinds = _ecosystems(scope, weights)
    main = [found for found in scope if found.ecosystem == kinds[0]] if kinds else []
    tests = _test_members(scope, everything)
    named = _first(found.test_framework for found in [*main, *tests])
    used = _framework_in_use(kinds, entries, texts)
    framework = (
        used or named if kinds[:1] == ["swift"] else named or used
    )  # a test target may use either of two
    manifest = Manifest(
        project_name=_name(main, scope, root_name),
        project_type=_type(kinds, weights),
        purpose_guess=_purpose(main + scope, texts),
        structure_summary=_structure(entries),
        dependencies=_dependencies(main + scope + tests, everything),
        entry_points=_entry_points(main + scope, entries, texts),
        build_system=_build_system(main, scope, tree) or UNSET,
        test_framework=framework or UNSET,
    )
    return Surveyed(manifest, tuple(scope), tuple(problems + loops))


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")


def _scope(everything: list[Found]) -> tuple[list[Found], list[Problem]]:
    """Root manifests, their workspace members, and other ecosystems one folder down."""
    by_path = {found.path: found for found in everything}
    ahead = [found for found in everything if not ASIDE.search(found.path)]
    shallow = [found for found in ahead if "/" not in found.path]
    if not any(found.ecosystem for found in shallow):
        depth = min((found.path.count("/") for found in ahead if found.ecosystem), default=0)
        shallow += [
            found for found in ahead if found.path.count("/") == depth and found not in shallow
        ]
    chosen: dict[str, Found] = {}
    loops: list[Problem] = []
    for root in shallow:
        _follow(root, by_path, chosen, loops)
    own = {found.ecosystem for found in chosen.values()}
    for found in ahead:
        if found.path.count("/") == 1 and found.ecosystem not in own:
            _follow(found, by_path, chosen, loops)
    return sorted(chosen.values(), key=lambda found: rank_of(found.path)), loops


_TEST_FOLDER = re.compile(r"(?:^|/)tests?/", re.IGNORECASE)


def _test_members(scope: list[Found], everything: list[Found]) -> list[Found]:
    """Members of the workspace that only test it: what they need, the developers need."""
    named = {member for found in scope for member in found.members}
    members = [
        found for found in everything if found.path in named and _TEST_FOLDER.search(found.path)
    ]
    return [
        replace(found, dependencies=tuple(replace(item, type="dev") for item in found.dependencies))
        for found in members
    ]


def _follow(
    root: Found, by_path: dict[str, Found], chosen: dict[str, Found], loops: list[Problem]
) -> None:
    """Walk a workspace. A member that includes one of its own ancestors is a loop, and is said
    so.
    """
    stack: list[tuple[Found, tuple[str, ...]]] = [(root, ())]
    while stack:
        found, ancestors = stack.pop()
        for member in found.members:
            if member in ancestors:
                detail = f"workspace includes {wire_path(member)}, which includes it"
                loops.append(Problem(found.path, "loop", detail))
        if found.path in chosen:
            continue
        chosen[found.path] = found
        line = (*ancestors, found.path)
        members = [
            by_path[member] for member in found.members if member in by_path and member not in line
        ]
        stack += [(member, line) for member in members if not ASIDE.search(member.path)]


def _weights(entries: Sequence[Classified]) -> Counter[str]:
    """Code files by language, what others wrote left out."""
    return Counter(
        facts.language
        for entry, facts in entries
        if facts.type == "text"
        and facts.category not in ("dependency", "build")
        and not ASIDE.search(entry.path)
    )


def _share(ecosystem: str, weights: Counter[str]) -> int:
    return sum(weights[language] for language in _languages().get(ecosystem, ()))


@cache
def _languages() -> dict[str, frozenset[str]]:
    """The names of the languages that each ecosystem's projects are written in."""
    kinds = {kind for language in LANGUAGES for kind in language.ecosystems}
    return {
        kind: frozenset(language.name for language in LANGUAGES if kind in language.ecosystems)
        for kind in sorted(kinds)
    }


def _ecosystems(scope: list[Found], weights: Counter[str]) -> list[str]:
    """The ecosystems with a manifest, most code first; ties keep the manifests' order."""
    seen = list(dict.fromkeys(found.ecosystem for found in scope if found.ecosystem))
    return sorted(seen, key=lambda ecosystem: -_share(ecosystem, weights))


def _type(kinds: list[str], weights: Counter[str]) -> str:
    if not kinds:
        best = sorted(_languages(), key=lambda ecosystem: (-_share(ecosystem, weights), ecosystem))[
            0
        ]
        return best if _share(best, weights) else "unknown"
    total = sum(_share(kind, weights) for kind in kinds) or 1
    large = [kind for kind in kinds if _share(kind, weights) / total >= MIXED_SHARE]
    return f"mixed ({', '.join(large)})" if len(large) > 1 else kinds[0]


def _name(main: list[Found], scope: list[Found], root_name: str) -> str:
    shallow = [found for found in main + scope if "/" not in found.path]
    named = _first(found.name for found in shallow if found.name not in _PLACEHOLDERS)
    return named or root_name or _first(found.name for found in main)


def _purpose(scope: list[Found], texts: Mapping[str, str]) -> str:
    """What the root manifests say, else the README's first sentence, else the only member that
    speaks.
    """
    shallow = _first(found.description for found in scope if "/" not in found.path)
    members = {found.description for found in scope if found.description}
    only = members.pop() if len(members) == 1 else ""
    return one_line(shallow or _readme(texts) or only)


def _readme(texts: Mapping[str, str]) -> str:
    readmes = sorted(
        (path for path in texts if is_readme(path)), key=lambda path: (path.count("/"), path)
    )
    return first_sentence(texts[readmes[0]]) if readmes and "/" not in readmes[0] else ""


def _structure(entries: Sequence[Classified]) -> str:
    """Top-level folders with their file counts and main language: `src/ 24 python; tests/ 40
    python`.
    """
    folders: dict[str, Counter[str]] = {}
    for entry, facts in entries:
        top = entry.path.split("/", 1)[0] + "/" if "/" in entry.path else ""
        folders.setdefault(top, Counter())[facts.language or facts.type] += 1
    shown = sorted(folders.items(), key=lambda item: (-item[1].total(), item[0]))
    parts = [f"{wire_path(name)} {_count(counts)}" for name, counts in shown[:12] if name]
    if len(shown) > 12:
        parts.append(f"{len(shown) - 12} more folders")
    if "" in folders:
        parts.append(f"{folders[''].total()} at the root")
    return "; ".join(parts)


def _count(counts: Counter[str]) -> str:
    language, most = min(counts.items(), key=lambda item: (-item[1], item[0]))
    share = language if most == counts.total() else f"mostly {language}"
    return f"{counts.total()} {'file' if counts.total() == 1 else 'files'} ({share})"


_STRENGTH = {"runtime": 0, "peer": 1, "dev": 2}


def _dependencies(scope: list[Found], everything: list[Found]) -> tuple[Dependency, ...]:
    """One entry for each name, the strongest kind wins; the project's own packages are left out."""
    own = {found.name for found in scope if found.name}
    versions = {
        name: version for found in reversed(everything) for name, version in found.versions.items()
    }
    best: dict[str, Dependency] = {}
    for found in scope:
        for item in found.dependencies:
            item = _resolve(item, versions)
            known = best.get(item.name)
            if known is None or _stronger(item, known):
                best[item.name] = item
    kept = [item for item in best.values() if item.name not in own]
    return tuple(
        sorted(kept, key=lambda item: (_STRENGTH[item.type], item.name.lower(), item.name))[
            :MAX_DEPENDENCIES
        ]
    )


def _stronger(new: Dependency, old: Dependency) -> bool:
    rank = (_STRENGTH[new.type], new.version is UNSET)
    return rank < (_STRENGTH[old.type], old.version is UNSET)


def _resolve(item: Dependency, versions: Mapping[str, str]) -> Dependency:
    """Fill in what the workspace says: a shared version, or a catalogue's real coordinates."""
    shared = versions.get(item.name)
    if shared is None:
        return item
    if item.name.startswith("libs."):
        name, _, version = shared.partition("@")
        return Dependency(name, item.type, version or UNSET)
    return Dependency(item.name, item.type, shared) if item.version is UNSET else item


def _entry_points(
    scope: list[Found], entries: Sequence[Classified], texts: Mapping[str, str]
) -> tuple[str, ...]:
    """What the manifests name; `__main__.py` besides; and by name alone only when no manifest
    speaks.
    """
    named = list(dict.fromkeys(path for found in scope for path in found.entry_points))
    mains = [entry.path for entry, facts in entries if facts.category == "entrypoint"]
    near = sorted(
        (path for path in mains if not ASIDE.search(path)), key=lambda path: (path.count("/"), path)
    )
    named += [
        path
        for path in near
        if basename(path) in ("__main__.py", "manage.py") and path not in named
    ]
    if not named:
        named = [path for path in near if path.count("/") <= 2]
    return tuple([path for path in named if _runs(path, texts)][:MAX_ENTRY_POINTS])


def _runs(path: str, texts: Mapping[str, str]) -> bool:
    """A Go file called main.go may still be a library: only its package clause makes it a
    program.
    """
    language = language_of(path)
    if language is None or not language.entries.script_only or path not in texts:
        return True
    return re.search(language.entries.script, texts[path], re.MULTILINE) is not None


def _build_system(main: list[Found], scope: list[Found], tree: Tree) -> str:
    root = [found for found in main if "/" not in found.path] or main
    systems = [found.build_system for found in root if found.build_system]
    strong = [system for system in systems if system not in ("pip", "make")]
    if main and main[0].ecosystem == "python" and not strong:
        locks = (("uv.lock", "uv"), ("poetry.lock", "poetry"), ("pdm.lock", "pdm"))
        strong = [system for lock, system in locks if lock in tree.known]
    return _first([*strong, *systems, *(found.build_system for found in scope)])


def _framework_in_use(
    kinds: list[str], entries: Sequence[Classified], texts: Mapping[str, str]
) -> str:
    """What the tests at hand import, when no manifest says."""
    rows = [row for row in LANGUAGES if row.tests.frameworks and row.ecosystems == tuple(kinds[:1])]
    tests = {entry.path: facts.language for entry, facts in entries if facts.tag == "test"}
    for language in rows:
        beside = (
            tuple(f".{suffix}" for suffix in language.suffixes) if language.tests.inline else ()
        )
        looked = [
            path for path in sorted(texts) if path in tests or (beside and path.endswith(beside))
        ]
        for pattern, name in language.tests.frameworks:
            if not pattern and language.name in tests.values():
                return name
            if pattern and any(
                re.search(pattern, texts[path][:200_000], re.MULTILINE) for path in looked
            ):
                return name
    return ""
