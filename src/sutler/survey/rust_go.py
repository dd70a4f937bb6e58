"""Rust and Go manifests: Cargo.toml with workspaces, go.mod, go.work."""

from __future__ import annotations

import re
from typing import Any

from sutler.paths import dirname
from sutler.scan.structured import mapping, parse_toml, string, texts
from sutler.survey.evidence import Found, Tree, beside, dependency, tame
from sutler.survey.wire import Dependency, DependencyType

_TABLES: tuple[tuple[str, DependencyType], ...] = (
    ("dependencies", "runtime"),
    ("dev-dependencies", "dev"),
    ("dev_dependencies", "dev"),
    ("build-dependencies", "dev"),
)


def read_cargo(path: str, text: str, tree: Tree) -> Found:
    data = parse_toml(text)
    package, space = mapping(data.get("package")), mapping(data.get("workspace"))
    folder = dirname(path)
    needs = _cargo_tables(data)
    for target in mapping(data.get("target")).values():
        needs += _cargo_tables(mapping(target))
    shared = mapping(space.get("dependencies"))
    globs = texts(space.get("members")) + [f"!{glob}" for glob in texts(space.get("exclude"))]
    bins = [mapping(item) for item in data.get("bin") or () if isinstance(item, dict)]
    return Found(
        path=path,
        ecosystem="rust",
        name=string(package.get("name")),
        description=string(package.get("description")),
        dependencies=tuple(needs),
        entry_points=_cargo_entries(data, bins, folder, tree),
        commands=tuple(sorted(string(item.get("name")) for item in bins if item.get("name"))),
        build_system="cargo",
        members=tree.matching(folder, globs, "Cargo.toml"),
        workspace=bool(space),
        # The registry takes no package without a description.
        private=package.get("publish") is False or (bool(package) and "description" not in package),
        versions={
            name: _cargo_version(spec) for name, spec in shared.items() if _cargo_version(spec)
        },
    )


def _cargo_tables(data: dict[str, Any]) -> list[Dependency]:
    return [
        dependency(string(mapping(spec).get("package")) or name, _cargo_version(spec), kind)
        for table, kind in _TABLES
        for name, spec in mapping(data.get(table)).items()
        if "path" not in mapping(spec) or "version" in mapping(spec)
    ]


def _cargo_version(spec: Any) -> str:
    return string(spec) or string(mapping(spec).get("version"))


def _cargo_entries(
    data: dict[str, Any], bins: list[dict[str, Any]], folder: str, tree: Tree
) -> tuple[str, ...]:
    if "package" not in data:
        return ()
    named = [string(item.get("path")) for item in bins] + [
        string(mapping(data.get("lib")).get("path"))
    ]
    candidates = [beside(folder, name) for name in (*named, "src/main.rs", "src/lib.rs") if name]
    prefix = re.escape(beside(folder, "src/bin"))
    programs = re.compile(rf"{prefix}/(?:[^/]+\.rs|[^/]+/main\.rs)")
    candidates += [path for path in tree.paths if programs.fullmatch(path)]
    return tuple(dict.fromkeys(path for path in candidates if path in tree.known))


_REQUIRE = re.compile(
    r"^\s*(?:require\s+)?([\w.~-]+\.[\w.~-]+/?[^\s]*|gopkg\.in/[^\s]+)\s+(v[^\s]+)\s*(//.*)?$"
)


def read_go_mod(path: str, text: str, tree: Tree) -> Found:
    """Read the direct requirements: an `// indirect` line belongs to a dependency."""
    module, block, needs, tools = "", "", [], set[str]()
    for line in [line for line in text.splitlines()[:10_000] if len(line) < 500]:
        words = line.split("//")[0].split()
        if words[:1] == ["module"] and len(words) > 1:
            module = words[1].strip('"')
        elif words[1:2] == ["("] or words[:1] == ["("]:
            block = words[0]
        elif words == [")"]:
            block = ""
        elif words[:1] == ["tool"] and len(words) > 1:
            tools.add(words[1])
        match = _REQUIRE.match(line) if block == "require" or words[:1] == ["require"] else None
        if match and "indirect" not in (match.group(3) or ""):
            needs.append(dependency(match.group(1), match.group(2), _go_kind(match.group(1))))
    folder = dirname(path)
    return Found(
        path=path,
        ecosystem="go",
        name=module,
        dependencies=tuple(needs),
        entry_points=_go_entries(folder, tree),
        build_system="go",
    )


_GO_TEST = (
    "stretchr/testify",
    "onsi/ginkgo",
    "onsi/gomega",
    "golang/mock",
    "go.uber.org/mock",
    "google/go-cmp",
)


def _go_kind(name: str) -> DependencyType:
    """Return the kind of a Go module by its name: go.mod does not mark modules that only tests
    use."""
    return "dev" if any(mark in name for mark in _GO_TEST) else "runtime"


def _go_entries(folder: str, tree: Tree) -> tuple[str, ...]:
    prefix = f"{folder}/" if folder else ""
    pattern = re.compile(re.escape(prefix) + r"(?:main\.go|cmd/(?:[^/]+/){0,2}main\.go)$")
    return tuple(path for path in tree.paths if pattern.match(path))


def read_go_work(path: str, text: str, tree: Tree) -> Found:
    text = tame(text)
    block = re.search(r"\buse\s*\(([^)]*)\)", text)
    folders = (block.group(1).split() if block else []) + re.findall(
        r"^\s*use\s+([^\s(]+)", text, re.MULTILINE
    )
    paths = [beside(dirname(path), f"{name}/go.mod") for name in folders]
    members = tuple(sorted({name for name in paths if name in tree.known}))
    return Found(path=path, ecosystem="go", build_system="go", members=members, workspace=True)
