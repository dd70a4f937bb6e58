"""JavaScript and TypeScript manifests: package.json with its workspaces, pnpm-workspace.yaml,
lerna.json."""

from __future__ import annotations

import re
from typing import Any

from sutler.paths import dirname
from sutler.scan.structured import mapping, parse_json, parse_yaml, string, texts
from sutler.survey.evidence import Found, Tree, beside, dependency, joined, tame
from sutler.survey.wire import DependencyType

_TABLES: tuple[tuple[str, DependencyType], ...] = (
    ("dependencies", "runtime"),
    ("optionalDependencies", "runtime"),
    ("devDependencies", "dev"),
    ("peerDependencies", "peer"),
)
_FRAMEWORKS = (
    "vitest", "jest", "mocha", "ava", "jasmine", "tap", "uvu", "karma", "qunit",
    "@playwright/test", "cypress",
)  # fmt: skip
_LOCKS = (
    ("pnpm-lock.yaml", "pnpm"), ("pnpm-workspace.yaml", "pnpm"), ("yarn.lock", "yarn"),
    ("bun.lockb", "bun"), ("bun.lock", "bun"), ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
)  # fmt: skip


def read_package(path: str, text: str, tree: Tree) -> Found:
    data = mapping(parse_json(text))
    folder = dirname(path)
    tooling = _is_private_root(data, folder, tree)
    needs = [
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
        dependencies=tuple(needs),
        entry_points=_entries(data, folder, tree),
        commands=tuple(command for command in commands if command),
        build_system=_manager(data, folder, tree),
        test_framework=_framework({item.name for item in needs}, mapping(data.get("scripts"))),
        members=tree.matching(folder, globs, "package.json"),
        workspace=bool(globs),
        private=data.get("private") is True,
    )


def _is_private_root(data: dict[str, Any], folder: str, tree: Tree) -> bool:
    """Return whether a workspace root is never published: its dependencies serve its developers
    only. The file of pnpm may hold settings of a single package."""
    own = beside(folder, "package.json")
    inner = [path for path in tree.matching(folder, ["**"], "package.json") if path != own]
    shared = bool(inner) and beside(folder, "pnpm-workspace.yaml") in tree.known
    return data.get("private") is True and (bool(data.get("workspaces")) or shared)


def _entries(data: dict[str, Any], folder: str, tree: Tree) -> tuple[str, ...]:
    """Return the files of `bin`, `main`, `module` and `exports`, or the source that a built file
    comes from."""
    bins = data.get("bin")
    named = list(mapping(bins).values()) if isinstance(bins, dict) else [bins]
    folders = string(mapping(data.get("directories")).get("bin"))
    if folders and not texts(named):
        prefix = beside(folder, folders) + "/"
        named = [name.removeprefix(f"{folder}/") for name in tree.paths if name.startswith(prefix)]
    named += [data.get("main"), data.get("module"), *_exported(data.get("exports"))]
    paths: list[str] = []
    start = re.search(
        r"\bnode\s+(?:-\S+\s+)*([\w./-]+)", string(mapping(data.get("scripts")).get("start"))
    )
    if start and not texts(named):
        named = [start[1]]
    for target in texts(named) or ["index.js"]:  # node's own default
        paths += tree.first(_spellings(folder, target))
    return tuple(dict.fromkeys(path for path in paths if not _BUILT.search(path)))


def _exported(exports: Any) -> list[Any]:
    """Return the targets of the `.` export; conditions are unfolded one level at a time."""
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
    inside = beside(folder, f"src/{stem.removeprefix(folder).lstrip('/')}")
    return [
        *([path] if not _BUILT.search(path) else []),
        *(name + end for name in (source, stem, inside) for end in ends),
        path,
    ]


_BUILT = re.compile(r"\.d\.[cm]?ts$|\.(?:json|css|min\.js)$|(?:^|/)priv/static/")


def _manager(data: dict[str, Any], folder: str, tree: Tree) -> str:
    declared = string(data.get("packageManager")).split("@")[0]
    if declared:
        return declared
    needs = next((name for lock, name in _LOCKS if beside(folder, lock) in tree.known), "")
    return needs or "npm"


def _framework(names: set[str], scripts: dict[str, Any]) -> str:
    script = " ".join(
        string(scripts.get(name)) for name in sorted(scripts) if name.startswith("test")
    )
    named = [name.removeprefix("@").split("/")[0] for name in _FRAMEWORKS if name in names]
    if re.search(r"\bnode\b.*--test\b", script):
        named.append("node:test")
    words = set(re.findall(r"[\w-]+", script))
    return joined(named or [name for name in _FRAMEWORKS if name in words])


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


def read_angular(path: str, text: str, tree: Tree) -> Found:
    """Read angular.json: the script that each application starts with."""
    mains = re.findall(r"\"(?:main|browser)\"\s*:\s*\"([\w./-]+\.ts)\"", tame(text))
    starts = [beside(dirname(path), main) for main in dict.fromkeys(mains)]
    return Found(
        path=path,
        ecosystem="node",
        entry_points=tuple(start for start in starts if start in tree.known),
    )
