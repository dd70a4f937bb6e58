"""Merge all manifests into one: the kind of the project, its dependencies and its entry points."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import UNSET, Struct
from msgspec.structs import replace

from sutler.languages import LANGUAGES
from sutler.paths import basename, dirname, wire_path
from sutler.scan.classify import Classified
from sutler.scan.snapshot import Problem
from sutler.survey.evidence import Found, Tree, is_aside, joined, one_line, tree_of
from sutler.survey.frameworks import framework_by_tree, framework_in_use
from sutler.survey.manifests import rank_of, read_all
from sutler.survey.readme import first_sentence, own_readmes
from sutler.survey.starts import entry_points
from sutler.survey.wire import Dependency, Manifest

MAX_DEPENDENCIES = 300
MIXED_SHARE = 0.25

_CHART = re.compile(r"-(?:helm-)?charts?$|^helm-")
_PLACEHOLDER = re.compile(r"(?i)(?:^|[/-])(?:root|monorepo|workspace)$|^build$")
_NO_KIND = frozenset(
    {"html", "erb", "makefile", "starlark", "dockerfile", "cmake", "batch", "tex", "jinja", "svg"}
)
"""Languages that surround a project's own code."""


class Surveyed(Struct, frozen=True):
    """The manifest, the manifests it was merged from, and problems of reading."""

    manifest: Manifest
    found: tuple[Found, ...]
    problems: tuple[Problem, ...]


def survey_manifest(
    entries: Sequence[Classified],
    texts: Mapping[str, str],
    root_name: str,
    sources: Mapping[str, str] | None = None,
) -> Surveyed:
    """Build seed 004's Manifest from the project's own files. `root_name` is the folder's name, the
    last resort; `sources` are texts that are searched for the start of a program only."""
    tree = tree_of(entry.path for entry, _ in entries)
    everything, problems = read_all(texts, tree)
    scope, loops = _scope(everything)
    weights = _weights(entries)
    kinds = _ecosystems(scope, weights)
    main = [package for package in scope if package.ecosystem == kinds[0]] if kinds else []
    tests = _test_members(scope, everything)
    ordered = [*main, *(package for package in scope if package not in main), *tests]
    named = joined(package.test_framework for package in [*main, *tests])
    others = [package.test_framework for package in ordered]
    used = framework_in_use(kinds, entries, texts)
    if kinds[:1] == ["swift"]:  # a test target may use either of the two
        named = joined(name for name in named.split(", ") if name != "xctest") if used else named
        framework = joined([used, named])
    else:
        framework = joined([named or used, *others]) or framework_by_tree(tree, texts)
    name = _name(main, scope, root_name)
    large = _large(kinds, scope, weights)
    manifest = Manifest(
        project_name=name,
        project_type=_type(large, weights, tree),
        purpose_guess=_purpose(main + scope, texts, name),
        structure_summary=_structure(entries),
        dependencies=_dependencies(_tooled(main + scope, large) + tests, everything),
        entry_points=entry_points(
            _kin_of(main + scope, large), entries, {**(sources or {}), **texts}, root_name
        ),
        build_system=_build_system(main, _kin_of(scope, large), large, tree) or UNSET,
        test_framework=framework or UNSET,
    )
    return Surveyed(manifest, tuple(scope), tuple(problems + loops))


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")


def _scope(everything: list[Found]) -> tuple[list[Found], list[Problem]]:
    """Return root manifests, their workspace members, and other ecosystems one folder down."""
    by_path = {package.path: package for package in everything}
    ahead = [package for package in everything if not is_aside(package.path)]
    shallow = [
        package
        for package in ahead
        if "/" not in package.path or dirname(package.path).lower() == "requirements"
    ]
    if not any(package.ecosystem for package in shallow):
        deep = [package for package in ahead if package.ecosystem and not _is_of_scripts(package)]
        depth = min((package.path.count("/") for package in deep), default=0)
        shallow += [
            package
            for package in ahead
            if package.path.count("/") == depth and package not in shallow
        ]
    chosen: dict[str, Found] = {}
    loops: list[Problem] = []
    for root in shallow:
        _follow(root, by_path, chosen, loops)
    own = {package.ecosystem for package in chosen.values()}
    for package in ahead:
        if package.path.count("/") == 1 and package.ecosystem not in own:
            _follow(package, by_path, chosen, loops)
    return sorted(chosen.values(), key=lambda package: rank_of(package.path)), loops


def _is_of_scripts(package: Found) -> bool:
    """Return whether a manifest is a list of requirements deep in the tree: those of scripts
    beside it."""
    return package.build_system == "pip" and package.path.count("/") > 1


_TEST_FOLDER = re.compile(r"(?:^|/)tests?/", re.IGNORECASE)


def _test_members(scope: list[Found], everything: list[Found]) -> list[Found]:
    """Return members of the workspace that only test it, and what they share: their dependencies
    count as development dependencies."""
    named = {member for package in scope for member in package.members}
    members = [
        package
        for package in everything
        if (package.path in named or not package.ecosystem) and _TEST_FOLDER.search(package.path)
    ]
    return [
        replace(
            package, dependencies=tuple(replace(item, type="dev") for item in package.dependencies)
        )
        for package in members
    ]


def _follow(
    root: Found, by_path: dict[str, Found], chosen: dict[str, Found], loops: list[Problem]
) -> None:
    """Walk a workspace. A member that includes one of its own ancestors is a loop, and becomes a
    problem."""
    stack: list[tuple[Found, tuple[str, ...]]] = [(root, ())]
    while stack:
        package, ancestors = stack.pop()
        for member in package.members:
            if member in ancestors:
                detail = f"workspace includes {wire_path(member)}, which includes it"
                loops.append(Problem(package.path, "loop", detail))
        if package.path in chosen:
            continue
        chosen[package.path] = package
        line = (*ancestors, package.path)
        members = [
            by_path[member]
            for member in package.members
            if member in by_path and member not in line
        ]
        stack += [(member, line) for member in members if not is_aside(member.path)]


def _weights(entries: Sequence[Classified]) -> Counter[str]:
    """Count code files by language, without code of others."""
    return Counter(
        facts.language
        for entry, facts in entries
        if facts.type == "text"
        and facts.category not in ("dependency", "build")
        and not is_aside(entry.path)
    )


def _share(ecosystem: str, weights: Counter[str]) -> int:
    return sum(weights[language] for language in _languages().get(ecosystem, ()))


@cache
def _languages() -> dict[str, frozenset[str]]:
    """Return the languages that each ecosystem's projects are written in. A language of no
    ecosystem is its own."""
    kinds: dict[str, set[str]] = {}
    for language in LANGUAGES:
        alone = (language.name,) if language.kind == "program" else ()
        for kind in language.ecosystems or alone:
            if kind not in _NO_KIND:
                kinds.setdefault(kind, set()).add(language.name)
    return {kind: frozenset(kinds[kind]) for kind in sorted(kinds)}


_INFRASTRUCTURE = frozenset({"helm", "ansible"})
"""Kinds without a language: they are a project's type only if most of its files are of that
kind."""


def _ecosystems(scope: list[Found], weights: Counter[str]) -> list[str]:
    """Return the ecosystems with a manifest, most code first; ties keep the manifests' order."""
    seen = list(dict.fromkeys(package.ecosystem for package in scope if package.ecosystem))
    return sorted(seen, key=lambda ecosystem: -_size(ecosystem, scope, weights))


def _size(ecosystem: str, scope: list[Found], weights: Counter[str]) -> int:
    own = sum(package.weight for package in scope if package.ecosystem == ecosystem)
    return _share(ecosystem, weights) + own


def _large(kinds: list[str], scope: list[Found], weights: Counter[str]) -> list[str]:
    """Return the ecosystems that make up the project, the largest first."""
    sizes = {kind: _size(kind, scope, weights) for kind in kinds}
    total = sum(sizes.values()) or 1
    large = [
        kind
        for kind in kinds
        if sizes[kind] / total >= (0.5 if kind in _INFRASTRUCTURE else MIXED_SHARE)
    ]
    return large or kinds[:1]


def _type(large: list[str], weights: Counter[str], tree: Tree) -> str:
    """Return the ecosystems of the manifests, unless nearly all code is in a language without
    one."""
    shares = {kind: _share(kind, weights) for kind in sorted(_languages())}
    best = max(shares, key=lambda kind: (shares[kind], kind in large), default="")
    total = sum(weights[name] for name in {n for group in _languages().values() for n in group})
    if not large:
        books = sum(path.endswith(".ipynb") for path in tree.paths)
        if books > max(shares.values(), default=0):
            return "jupyter notebooks"
        pages = weights["markdown"] + weights["restructuredtext"] + weights["asciidoc"]
        if pages > 5 * max(shares.values(), default=0):
            return "documentation"
        return best if shares.get(best) else "unknown"
    if not _INFRASTRUCTURE.intersection(large) and total:
        own = sum(shares.get(kind, 0) for kind in large)
        if own * 10 < total and shares[best] * 2 > total:
            return best
    books = sum(path.endswith(".ipynb") for path in tree.paths)
    if large == ["python"] and books > 2 * shares["python"]:
        return "jupyter notebooks (python)"
    return f"mixed ({', '.join(large)})" if len(large) > 1 else large[0]


_KIN = {"kotlin": "java", "scala": "java", "c": "cpp", "fsharp": "csharp", "vb": "csharp"}
"""Ecosystems that share their packages with another."""


def _as_tools(package: Found, scope: list[Found]) -> Found:
    """Count a requirements file as development dependencies if a package beside it declares its
    own."""
    declares = any(
        other.name and other.dependencies and dirname(other.path) == dirname(package.path)
        for other in scope
        if other.ecosystem == "python"
    )
    if not declares or not basename(package.path).startswith("requirements"):
        return package
    return replace(
        package, dependencies=tuple(replace(item, type="dev") for item in package.dependencies)
    )


def _kin_of(scope: list[Found], large: list[str]) -> list[Found]:
    """Return the manifests of the ecosystems that make up the project."""
    kin = {_KIN.get(kind, kind) for kind in large}
    return [
        package for package in scope if _KIN.get(package.ecosystem, package.ecosystem) in kin
    ] or scope


def _tooled(scope: list[Found], large: list[str]) -> list[Found]:
    """Return the manifests. Those of other ecosystems count as tools for developers: a Gemfile for
    the documentation, a package.json for a formatter."""
    kin = {_KIN.get(kind, kind) for kind in large}
    scope = [_as_tools(package, scope) for package in scope]
    return [
        package
        if not package.ecosystem or not kin or _KIN.get(package.ecosystem, package.ecosystem) in kin
        else replace(
            package, dependencies=tuple(replace(item, type="dev") for item in package.dependencies)
        )
        for package in scope
    ]


def _name(main: list[Found], scope: list[Found], root_name: str) -> str:
    shallow = [package for package in main + scope if "/" not in package.path]
    named = _first(package.name for package in shallow if not _PLACEHOLDER.search(package.name))
    return named or root_name or _first(package.name for package in main)


def _purpose(scope: list[Found], texts: Mapping[str, str], name: str) -> str:
    """Return the description of the root manifests or of the member with the project's name; else
    that of the README; else that of the only member with one."""
    shallow = _first(package.description for package in scope if "/" not in package.path)
    plain = _CHART.sub("", name.rsplit("/", 1)[-1].lower())
    same = _first(package.description for package in scope if package.name.lower() == plain)
    members = list(dict.fromkeys(package.description for package in scope if package.description))
    only = members[0] if len(members) == 1 else ""
    return one_line(shallow or same or _readme(texts, name) or only or _first(members))


def _readme(texts: Mapping[str, str], name: str) -> str:
    return _first(first_sentence(texts[path], name) for path in own_readmes(texts, name))


def _structure(entries: Sequence[Classified]) -> str:
    """Describe top-level folders with their file counts and main language: `src/ 24 python; tests/
    40 python`."""
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
    """Return one entry for each name with its strongest kind; the project's own packages are left
    out."""
    own = {package.name for package in scope if package.name}
    versions = {
        name: version
        for package in reversed(everything)
        for name, version in package.versions.items()
    }
    best: dict[str, Dependency] = {}
    for package in scope:
        for declared in package.dependencies:
            item = replace(_resolve(declared, versions), ecosystem=package.ecosystem or UNSET)
            recorded = best.get(item.name)
            if recorded is None or _stronger(item, recorded):
                best[item.name] = item
    remaining = [item for item in best.values() if item.name not in own]
    return tuple(
        sorted(remaining, key=lambda item: (_STRENGTH[item.type], item.name.lower(), item.name))[
            :MAX_DEPENDENCIES
        ]
    )


def _stronger(new: Dependency, old: Dependency) -> bool:
    rank = (_STRENGTH[new.type], new.version is UNSET)
    return rank < (_STRENGTH[old.type], old.version is UNSET)


def _resolve(item: Dependency, versions: Mapping[str, str]) -> Dependency:
    """Fill in the workspace's values: a shared version, or a catalogue's real coordinates."""
    shared = versions.get(item.name)
    if shared is None:
        return item
    if item.name.startswith(("libs.", "Libs.")):
        name, _, version = shared.partition("@")
        return Dependency(name, item.type, version or UNSET)
    return Dependency(item.name, item.type, shared) if item.version is UNSET else item


def _build_system(main: list[Found], scope: list[Found], large: list[str], tree: Tree) -> str:
    """Return the systems at the root; those of members only if it has none for the ecosystem."""
    root = [package for package in scope if "/" not in package.path]
    first = [package for package in root if package in main] or [
        package for package in scope if package.path.count("/") == _depth(scope)
    ]
    systems = [
        package.build_system
        for package in [*first, *(package for package in root if package.ecosystem)]
    ]
    strong = [system for system in systems if system and system not in ("pip", "make")]
    declared = {package.ecosystem for package in root if package.build_system not in ("", "pip")}
    if "python" in large and "python" not in declared:
        locks = (("uv.lock", "uv"), ("poetry.lock", "poetry"), ("pdm.lock", "pdm"))
        strong += [system for lock, system in locks if lock in tree.known]
    if strong and not tree.known.isdisjoint(("MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel")):
        strong.append("bazel")
    rooted = {package.ecosystem for package in root}
    for kind in large if strong else ():
        inner = [package for package in scope if package.ecosystem == kind and kind not in rooted]
        strong += [package.build_system for package in inner if package.build_system != "pip"][:1]
    weak = [package.build_system for package in [*first, *root, *scope]]
    return joined(strong) or next((system for system in weak if system), "")


def _depth(scope: list[Found]) -> int:
    return min((package.path.count("/") for package in scope if package.ecosystem), default=0)
