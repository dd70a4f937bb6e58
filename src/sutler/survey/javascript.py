"""JavaScript and TypeScript manifests: package.json with its workspaces, pnpm-workspace.yaml,
lerna.json.
"""

from __future__ import annotations

import re
from typing import Any

from sutler.paths import dirname
from sutler.scan.structured import mapping, parse_json, parse_yaml, string, texts
from sutler.survey.evidence import Found, Tree, beside, dependency
from sutler.survey.wire import DependencyType

_TABLES: tuple[tuple[str, DependencyType], ...] = (
    ("dependencies", "runtime"),
    ("optionalDependencies", "runtime"),
    ("devDependencies", "dev"),
    ("peerDependencies", "peer"),
)
_FRAMEWORKS = (
    "vitest",
    "jest",
    "mocha",
    "ava",
    "jasmine",
    "tap",
    "uvu",
    "karma",
    "qunit",
    "@playwright/test",
    "cypress",
)
_LOCKS = (
    ("pnpm-lock.yaml", "pnpm"), ("pnpm-workspace.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lockb", "bun"),
    ("bun.lock", "bun"), ("package-lock.json", "npm"), ("npm-shrinkwrap.json", "npm"),
)  # fmt: skip


def read_package(path: str, text: str, tree: Tree) -> Found:
    data = mapping(parse_json(text))
    folder = dirname(path)
    tooling = _is_private_root(data, folder, tree)
    found = [
        dependency(name, string(version), "dev" if tooling else kind)
        for table, kind in _TABLES
        for name, version in mapping(data.get(table)).items()
        if not string(version).startswith(("workspace:", "file:", "link:", "portal:"))
    ]
    spaces = data.get("workspaces")
    globs = texts(mapping(spaces).get("packages")) if isinstance(spaces, dict) else texts(spaces)
    bins = data.get("bin")
    name = string(data.get("name"))
    commands = (
        sorted(mapping(bins)) if isinstance(bins, dict) else [name] if isinstance(bins, str) else []
    )
    return Found(
        path=path,
        ecosystem="node",
        name=name,
        description=string(data.get("description")),
        dependencies=tuple(found),
        entry_points=_entries(data, folder, tree),
        commands=tuple(command for command in commands if command),
        build_system=_manager(data, folder, tree),
        test_framework=_framework({item.name for item in found}, mapping(data.get("scripts"))),
        members=tree.matching(folder, globs, "package.json"),
        workspace=bool(globs),
    )


def _is_private_root(data: dict[str, Any], folder: str, tree: Tree) -> bool:
    """A workspace root that is never published: whatever it depends on serves those who work on
    it.
    """
    spaces = bool(data.get("workspaces")) or beside(folder, "pnpm-workspace.yaml") in tree.known
    return data.get("private") is True and spaces


def _entries(data: dict[str, Any], folder: str, tree: Tree) -> tuple[str, ...]:
    """`bin`, `main`, `module`, `exports`: the file itself, or the source a built file comes
    from.
    """
    bins = data.get("bin")
    named = list(mapping(bins).values()) if isinstance(bins, dict) else [bins]
    named += [data.get("main"), data.get("module"), *_exported(data.get("exports"))]
    paths: list[str] = []
    for target in texts(named):
        paths += tree.first(_spellings(folder, target))
    return tuple(dict.fromkeys(paths))


def _exported(exports: Any) -> list[Any]:
    """The targets of the `.` export, conditions unfolded one level at a time."""
    here = mapping(exports).get(".", exports)
    for _ in range(4):
        if not isinstance(here, dict):
            return [here]
        here = next(
            (here[key] for key in ("import", "default", "require", "node") if key in here), None
        )
    return []


def _spellings(folder: str, target: str) -> list[str]:
    path = beside(folder, target)
    stem = re.sub(r"\.(?:d\.)?[cm]?[jt]sx?$", "", path)
    source = re.sub(r"(^|/)(?:dist|build|lib|out)/(?:(?:esm|cjs)/)?", r"\1src/", stem, count=1)
    ends = (".ts", ".tsx", ".js", ".mjs", ".cjs", ".jsx", "/index.js", "/index.ts")
    return [path, *(stem + end for end in ends), *(source + end for end in ends)]


def _manager(data: dict[str, Any], folder: str, tree: Tree) -> str:
    declared = string(data.get("packageManager")).split("@")[0]
    if declared:
        return declared
    found = next((name for lock, name in _LOCKS if beside(folder, lock) in tree.known), "")
    return found or "npm"


def _framework(names: set[str], scripts: dict[str, Any]) -> str:
    script = " ".join(
        string(scripts.get(name)) for name in sorted(scripts) if name.startswith("test")
    )
    for framework in _FRAMEWORKS:
        if framework in names:
            return framework.removeprefix("@").split("/")[0]
    words = set(re.findall(r"[\w-]+", script))
    if "node" in words and re.search(r"node\b.*--test\b", script):
        return "node:test"
    return next((framework for framework in _FRAMEWORKS if framework in words), "")


def read_pnpm_workspace(path: str, text: str, tree: Tree) -> Found:
    globs = texts(mapping(parse_yaml(text)).get("packages"))
    members = tree.matching(dirname(path), globs, "package.json")
    return Found(path=path, ecosystem="node", build_system="pnpm", members=members, workspace=True)


def read_lerna(path: str, text: str, tree: Tree) -> Found:
    globs = texts(mapping(parse_json(text)).get("packages"))
    return Found(
        path=path,
        ecosystem="node",
        members=tree.matching(dirname(path), globs, "package.json"),
        workspace=bool(globs),
    )
