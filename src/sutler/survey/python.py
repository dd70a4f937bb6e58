"""Python manifests: pyproject.toml, setup.cfg, setup.py, requirements files, Pipfile."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from sutler.paths import basename, dirname
from sutler.scan.structured import DocumentError, mapping, parse_toml, string, texts
from sutler.survey.evidence import (
    DEV_WORDS,
    Found,
    Tree,
    beside,
    dependency,
    is_aside,
    joined,
    one_line,
)
from sutler.survey.wire import Dependency, DependencyType

MAX_SETUP_CHARS = 500_000

_BACKENDS = (
    ("setuptools", "setuptools"), ("hatchling", "hatch"), ("flit", "flit"), ("poetry", "poetry"),
    ("pdm", "pdm"), ("maturin", "maturin"), ("uv_build", "uv"), ("scikit_build", "scikit-build"),
    ("mesonpy", "meson"),
)  # fmt: skip
_TESTS = ("pytest", "nose2", "nose", "trial", "behave", "robotframework", "testtools", "ward")
_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?\s*((?:[<>=!~]=?=?|@)[^;#)]*)?"
)


def requirement(text: str, kind: DependencyType) -> Dependency | None:
    """Parse `Werkzeug >= 3.0 ; python_version > "3"` into a name and a version."""
    match = _REQUIREMENT.match(text)
    if match is None or re.match(r"\s*[\w+]+(?:\+\w+)?:|\s*\w+\+\w+:", text):  # an address
        return None
    version = " ".join((match.group(2) or "").split())
    return dependency(match.group(1), version, kind)


def _all(items: Iterable[str], kind: DependencyType) -> list[Dependency]:
    return [needs for needs in (requirement(item, kind) for item in items) if needs is not None]


def _extra_kind(group: str) -> DependencyType:
    """Return the kind of an extra: one that is not for developers is one that users may choose,
    `peer`."""
    return "dev" if DEV_WORDS.search(group.lower()) else "peer"


def read_pyproject(path: str, text: str, tree: Tree) -> Found:
    data = parse_toml(text)
    project, tool = mapping(data.get("project")), mapping(data.get("tool"))
    poetry = mapping(tool.get("poetry"))
    needs = _all(texts(project.get("dependencies")), "runtime")
    for group, items in mapping(project.get("optional-dependencies")).items():
        needs += _all(texts(items), _extra_kind(group))
    for items in mapping(data.get("dependency-groups")).values():
        needs += _all(texts(items), "dev")
    for section in ("pdm", "uv"):
        extra = mapping(tool.get(section)).get("dev-dependencies")
        groups = mapping(extra).values() if isinstance(extra, dict) else [extra]
        needs += [item for group in groups for item in _all(texts(group), "dev")]
    needs += _poetry(poetry)
    scripts = {**mapping(poetry.get("scripts")), **mapping(project.get("scripts"))}
    members = texts(mapping(mapping(tool.get("uv")).get("workspace")).get("members"))
    name = string(project.get("name")) or string(poetry.get("name"))
    named = bool(project or poetry)
    return Found(
        path=path,
        ecosystem="python" if named or "build-system" in data else "",
        name=name,
        description=string(project.get("description")) or string(poetry.get("description")),
        dependencies=tuple(needs),
        entry_points=_modules(scripts.values(), dirname(path), tree)
        or _package(name, dirname(path), tree),
        commands=tuple(sorted(scripts)),
        build_system=_backend(mapping(data.get("build-system"))),
        test_framework=joined(["pytest" if "pytest" in tool else "", _framework(needs)]),
        members=tree.matching(dirname(path), members, "pyproject.toml"),
        workspace=bool(members),
    )


def _backend(section: dict[str, Any]) -> str:
    backend = string(section.get("build-backend")) or " ".join(texts(section.get("requires")))
    return next(
        (name for mark, name in _BACKENDS if mark in backend.replace("-", "_")),
        backend.split(".")[0],
    )


def _poetry(poetry: dict[str, Any]) -> list[Dependency]:
    groups = mapping(poetry.get("group"))
    tables: list[tuple[Any, DependencyType]] = [(poetry.get("dependencies"), "runtime")]
    tables += [(poetry.get("dev-dependencies"), "dev")]
    tables += [(mapping(group).get("dependencies"), "dev") for group in groups.values()]
    return [
        dependency(
            name,
            string(spec) or string(mapping(spec).get("version")),
            "peer" if mapping(spec).get("optional") is True else kind,
        )
        for table, kind in tables
        for name, spec in mapping(table).items()
        if name.lower() != "python"
    ]


def _framework(needs: Iterable[Dependency]) -> str:
    names = {item.name.lower() for item in needs}
    return joined(name for name in _TESTS if name in names)


def _modules(targets: Iterable[Any], folder: str, tree: Tree) -> tuple[str, ...]:
    """Return the files behind `package.module:function` entry points."""
    paths: list[str] = []
    for target in targets:
        module = (string(target) or string(mapping(target).get("reference"))).split(":")[0].strip()
        if not re.fullmatch(r"[\w.]+", module):
            continue
        stem = module.replace(".", "/")
        spellings = [
            f"{base}{stem}{end}"
            for base in ("src/", "", "lib/")
            for end in (".py", "/__init__.py", "/__main__.py")
        ]
        paths += tree.first(beside(folder, spelling) for spelling in spellings)
    return tuple(dict.fromkeys(paths))


def _package(name: str, folder: str, tree: Tree) -> tuple[str, ...]:
    """Return the package where a library starts: the one of its name, or the only one."""
    own = _modules([re.sub(r"[-.]", "_", name.lower())], folder, tree) or _modules(
        [name], folder, tree
    )
    if own:
        return own
    prefix = f"{folder}/" if folder else ""
    pattern = re.compile(re.escape(prefix) + r"(?:src/|lib/|python/)?\w+/__init__\.py")
    tops = [path for path in tree.paths if pattern.fullmatch(path) and not is_aside(path)]
    return tuple(tops) if len(tops) == 1 else ()


def read_setup_cfg(path: str, text: str, tree: Tree) -> Found:
    import configparser

    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise DocumentError(f"not an INI file: {str(error).splitlines()[0]}") from None

    def value(section: str, option: str) -> str:
        return parser.get(section, option, fallback="")

    needs = _all(_lines(value("options", "install_requires")), "runtime")
    needs += _all(_lines(value("options", "tests_require")), "dev")
    if parser.has_section("options.extras_require"):
        for group, items in parser.items("options.extras_require"):
            needs += _all(_lines(items), _extra_kind(group))
    scripts = dict(
        line.split("=", 1)
        for line in _lines(value("options.entry_points", "console_scripts"))
        if "=" in line
    )
    named = parser.has_section("metadata")
    return Found(
        path=path,
        ecosystem="python" if named or needs else "",
        name=value("metadata", "name"),
        description=value("metadata", "description") or value("metadata", "summary"),
        dependencies=tuple(needs),
        entry_points=_modules(scripts.values(), dirname(path), tree)
        or (_package(value("metadata", "name"), dirname(path), tree) if named else ()),
        commands=tuple(sorted(name.strip() for name in scripts)),
        build_system="setuptools" if named else "",
        test_framework="pytest" if parser.has_section("tool:pytest") else _framework(needs),
    )


def _lines(text: str) -> list[str]:
    return [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not line.strip().startswith("#")
    ]


def read_setup_py(path: str, text: str, tree: Tree) -> Found:
    """Read the literal arguments of `setup(…)`; no code is run."""
    if len(text) > MAX_SETUP_CHARS:
        raise DocumentError(f"{len(text):,} characters exceed the limit of {MAX_SETUP_CHARS:,}")
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DocumentError(f"not Python: {one_line(str(error))}") from None
    names = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = [
        node for node in ast.walk(module) if isinstance(node, ast.Call) and _called(node) == "setup"
    ]
    given = {
        word.arg: _literal(word.value, names)
        for call in calls[:1]
        for word in call.keywords
        if word.arg
    }
    needs = _all(texts(given.get("install_requires")), "runtime") + _all(
        texts(given.get("tests_require")), "dev"
    )
    for group, items in mapping(given.get("extras_require")).items():
        needs += _all(texts(items), _extra_kind(str(group)))
    points = mapping(given.get("entry_points")).get("console_scripts")
    scripts = dict(line.split("=", 1) for line in texts(points) if "=" in line)
    return Found(
        path=path,
        ecosystem="python",
        name=string(given.get("name")),
        description=one_line(string(given.get("description"))),
        dependencies=tuple(needs),
        entry_points=_modules(scripts.values(), dirname(path), tree)
        or (_package(string(given.get("name")), dirname(path), tree) if given else ()),
        commands=tuple(sorted(name.strip() for name in scripts)),
        build_system="setuptools" if calls else "",
        test_framework=_framework(needs),
    )


def _called(call: ast.Call) -> str:
    function = call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _literal(node: ast.expr, names: dict[str, ast.expr]) -> Any:
    if isinstance(node, ast.Name) and node.id in names:
        node = names[node.id]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
        return None


def read_requirements(path: str, text: str, tree: Tree) -> Found:
    stem = basename(path).lower().rsplit(".", 1)[0]
    folder = basename(dirname(path)).lower()
    kind: DependencyType = (
        "dev" if DEV_WORDS.search(stem) or DEV_WORDS.search(folder) else "runtime"
    )
    lines = (line.split(" #")[0].strip() for line in text.splitlines()[:5_000])
    return Found(
        path=path,
        ecosystem="python",
        dependencies=tuple(_all((line for line in lines if line and line[0] not in "#-/."), kind)),
        build_system="pip",
    )


def read_pipfile(path: str, text: str, tree: Tree) -> Found:
    data = parse_toml(text)
    tables: list[tuple[str, DependencyType]] = [("packages", "runtime"), ("dev-packages", "dev")]
    needs = [
        dependency(
            name,
            "" if string(spec) == "*" else string(spec) or string(mapping(spec).get("version")),
            kind,
        )
        for table, kind in tables
        for name, spec in mapping(data.get(table)).items()
    ]
    framework = _framework(needs)
    return Found(
        path=path,
        ecosystem="python",
        dependencies=tuple(needs),
        build_system="pipenv",
        test_framework=framework,
    )
