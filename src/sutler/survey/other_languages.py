"""Manifests of less frequent languages: Scala, Lua, Dart, Haskell, Clojure, Erlang, R, Julia and
Zig. No code is run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sutler.paths import basename, dirname
from sutler.scan.structured import mapping, parse_toml, parse_yaml, string
from sutler.survey.evidence import (
    MAX_TAME,
    Found,
    Tree,
    beside,
    dependency,
    field,
    joined,
    one_line,
    tame,
)
from sutler.survey.wire import Dependency, DependencyType

_SCALA_TESTS = ("scalatest", "munit", "specs2", "utest", "scalacheck", "weaver", "zio-test")


def read_sbt(path: str, text: str, tree: Tree) -> Found:
    text = re.sub(r"(?m)//.*$", "", tame(text))
    found: list[Dependency] = []
    pattern = (
        r"\"([\w.-]+)\"\s*%{1,3}\s*\"([\w.-]+)\"\s*%\s*(?:\"([^\"]+)\"|[\w.]+)((?:\s*%\s*[\w\"]+)?)"
    )
    for group, name, version, scope in re.findall(pattern, text):
        tests = bool(re.search(r"[tT]est", scope)) or any(mark in name for mark in _SCALA_TESTS)
        found.append(dependency(f"{group}:{name}", version, "dev" if tests else "runtime"))
    names = set(re.findall(r"\bname\s*:=\s*\"([^\"]+)\"", text))
    modules = re.findall(r"\bfile\(\s*\"([\w./-]+)\"\s*\)", text)
    return Found(
        path=path,
        ecosystem="scala",
        name=names.pop() if len(names) == 1 else "",
        description=one_line(field(r"\bdescription\s*:=\s*\"([^\"]+)\"", text)),
        dependencies=tuple(dict.fromkeys(found)),
        build_system="sbt",
        test_framework=joined(mark for mark in _SCALA_TESTS if mark in text),
        workspace=len(modules) > 1,
    )


def read_mill(path: str, text: str, tree: Tree) -> Found:
    text = re.sub(r"(?m)//.*$", "", tame(text))
    coordinates = re.findall(r"(?:ivy|mvn)\"([\w.-]+):{1,3}([\w.-]+):{1,3}([^\"]+)\"", text)
    found = [
        dependency(
            f"{group}:{name}",
            "" if "$" in version else version,
            "dev" if any(mark in name for mark in _SCALA_TESTS) else "runtime",
        )
        for group, name, version in coordinates
    ]
    return Found(
        path=path,
        ecosystem="scala",
        dependencies=tuple(dict.fromkeys(found)),
        build_system="mill",
        test_framework=joined(
            [
                *(name.lower() for name in re.findall(r"TestModule\.(\w+)", text)),
                *(mark for mark in _SCALA_TESTS if any(mark in item.name for item in found)),
            ]
        ),
    )


def read_rockspec(path: str, text: str, tree: Tree) -> Found:
    text = re.sub(r"(?m)--.*$", "", tame(text))
    block = re.search(r"\bdependencies\s*=\s*\{(.*?)\}", text, re.DOTALL)
    items = re.findall(r"[\"']([^\"']+)[\"']", block[1] if block else "")
    found = [dependency(*item.partition(" ")[::2]) for item in items if not item.startswith("lua ")]
    scripts = re.search(r"\bbin\s*=\s*\{(.*?)\}", text, re.DOTALL)
    programs = re.findall(r"[\"']([\w./-]+)[\"']", scripts[1] if scripts else "")
    folder = dirname(path)
    return Found(
        path=path,
        ecosystem="lua",
        name=field(r"(?m)^\s*package\s*=\s*[\"']([^\"']+)", text),
        description=one_line(field(r"\bsummary\s*=\s*(?:\[\[|[\"'])([^\"'\]]+)", text)),
        dependencies=tuple(found),
        entry_points=tuple(
            p for p in (beside(folder, name) for name in programs) if p in tree.known
        ),
        commands=tuple(sorted({basename(name) for name in programs})),
        build_system="luarocks",
        test_framework="busted" if ".busted" in tree.known or "busted" in text else "",
    )


def read_pubspec(path: str, text: str, tree: Tree) -> Found:
    data = mapping(parse_yaml(text))
    tables: tuple[tuple[str, DependencyType], ...] = (
        ("dependencies", "runtime"),
        ("dev_dependencies", "dev"),
    )
    found = [
        dependency(name, string(spec), kind)
        for table, kind in tables
        for name, spec in mapping(data.get(table)).items()
        if name != "flutter" and "path" not in mapping(spec)
    ]
    name = string(data.get("name"))
    folder = dirname(path)
    flutter = "flutter" in mapping(data.get("dependencies"))
    commands = sorted(mapping(data.get("executables")))
    starts = [f"bin/{command}.dart" for command in commands]
    starts += ["lib/main.dart", f"bin/{name}.dart", f"lib/{name}.dart"]
    known = [beside(folder, start) for start in starts]
    names = {item.name for item in found}
    return Found(
        path=path,
        ecosystem="dart",
        name=name,
        description=one_line(string(data.get("description"))),
        dependencies=tuple(found),
        entry_points=tuple(dict.fromkeys(start for start in known if start in tree.known)),
        commands=tuple(commands),
        build_system="flutter" if flutter else "pub",
        test_framework=joined(mark for mark in ("flutter_test", "test") if mark in names),
    )


_CABAL_ITEM = re.compile(r"^([A-Za-z][\w-]*)(?::[\w{},\s-]+)?\s*(.*)$")
_CABAL_FIELD = re.compile(r"([ \t]*)([\w-]+):(.*)")
_CABAL_SECTION = re.compile(r"(?i)(library|executable|test-suite|benchmark|common|flag)\b\s*(\S*)")
_HASKELL_TESTS = ("hspec", "tasty", "HUnit", "QuickCheck", "hedgehog", "doctest")


def read_cabal(path: str, text: str, tree: Tree) -> Found:
    """Read a package description: fields that continue over indented lines, in sections."""
    needs: dict[str, Dependency] = {}
    mains: dict[str, list[str]] = {}
    section = program = ""
    for name, value in _cabal_fields(text[:MAX_TAME]):
        if name == "section":
            section, _, program = value.partition(" ")
        elif name == "build-depends":
            dev = section in ("test-suite", "benchmark")
            for item in value.split(","):
                match = _CABAL_ITEM.match(item.strip())
                if match and match[1] != "base" and not (dev and match[1] in needs):
                    kind: DependencyType = "dev" if dev else "runtime"
                    needs[match[1]] = dependency(match[1], match[2].strip(), kind)
        elif section == "executable" and name in ("main-is", "hs-source-dirs"):
            mains.setdefault(program, []).append(value.strip())
    folder = dirname(path)
    # A program's folder and file come in either order; without a folder the file is beside.
    starts = [
        beside(folder, f"{folder_name}/{file_name}")
        for parts in mains.values()
        for folder_name, file_name in ((*parts, "")[:2], (*parts, "")[:2][::-1])
    ]
    own = field(r"(?mi)^name:\s*(\S+)", text)
    stack = beside(folder, "stack.yaml") in tree.known
    return Found(
        path=path,
        ecosystem="haskell",
        name=own,
        description=one_line(field(r"(?mi)^synopsis:\s*(\S.*)$", text)),
        dependencies=tuple(item for name, item in needs.items() if name != own),
        entry_points=tuple(dict.fromkeys(start for start in starts if start in tree.known)),
        commands=tuple(mains),
        build_system=joined(["cabal", "stack" if stack else ""]),
        test_framework=joined(mark.lower() for mark in _HASKELL_TESTS if mark in needs),
    )


def _cabal_fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield fields in their order; the start of a section is a field called `section`."""
    name, indent, lines = "", 0, list[str]()
    for line in [*text.splitlines(), "end"]:
        if not line.strip() or line.lstrip().startswith("--"):
            continue
        deep = len(line) - len(line.lstrip())
        if name and deep > indent:
            lines.append(line.strip())
            continue
        if name:
            yield name.lower(), " ".join(lines)
        field, head = _CABAL_FIELD.match(line), _CABAL_SECTION.match(line)
        name, indent, lines = (field[2], deep, [field[3].strip()]) if field else ("", 0, [])
        if head and not field:
            yield "section", f"{head[1].lower()} {head[2]}"


def read_clojure(path: str, text: str, tree: Tree) -> Found:
    text = re.sub(r"(?m);.*$", "", tame(text))
    lein = basename(path) == "project.clj"
    pattern = (
        r"\[([\w./-]+)\s+\"([^\"]+)\""
        if lein
        else r"([\w.-]+/[\w.-]+)\s+\{:mvn/version\s+\"([^\"]+)\""
    )
    found = [dependency(n, v) for n, v in re.findall(pattern, text) if n != "org.clojure/clojure"]
    return Found(
        path=path,
        ecosystem="clojure",
        name=field(r"\(defproject\s+([\w./-]+)", text),
        description=one_line(field(r":description\s+\"([^\"]+)\"", text)),
        dependencies=tuple(dict.fromkeys(found)),
        build_system="leiningen" if lein else "clojure cli",
        test_framework="clojure.test" if any(p.endswith("_test.clj") for p in tree.paths) else "",
    )


def read_rebar(path: str, text: str, tree: Tree) -> Found:
    text = re.sub(r"(?m)%.*$", "", tame(text))
    block = re.search(r"\{\s*deps\s*,\s*\[(.*?)\]\s*\}\s*\.", text, re.DOTALL)
    names = re.findall(r"\{\s*(\w+)\s*,\s*(?:\"([^\"]+)\")?", block[1] if block else "")
    found = [dependency(name, version) for name, version in names if name not in ("git", "tag")]
    suites = any(name.endswith("_SUITE.erl") for name in tree.paths)
    units = any(name.endswith("_tests.erl") for name in tree.paths)
    return Found(
        path=path,
        ecosystem="erlang",
        dependencies=tuple(found),
        build_system="rebar3",
        test_framework=joined(["common test" if suites else "", "eunit" if units else ""]),
    )


def read_description(path: str, text: str, tree: Tree) -> Found:
    """Read the DESCRIPTION of an R package."""
    fields = dict(re.findall(r"(?m)^([A-Z][\w@/]*):[ \t]*((?:.*\n?)(?:[ \t]+.*\n?)*)", tame(text)))
    kinds: tuple[tuple[str, DependencyType], ...] = (
        ("Imports", "runtime"), ("Depends", "runtime"), ("LinkingTo", "runtime"),
        ("Suggests", "peer"),
    )  # fmt: skip
    found = [
        dependency(match[1], match[2] or "", kind)
        for field, kind in kinds
        for match in re.finditer(r"([A-Za-z][\w.]*)\s*(?:\(([^)]*)\))?", fields.get(field, ""))
        if match[1] != "R"
    ]
    named = {item.name for item in found}
    return Found(
        path=path,
        ecosystem="r" if "Package" in fields else "",
        name=fields.get("Package", "").strip(),
        description=one_line(fields.get("Title", "")),
        dependencies=tuple(dict.fromkeys(found)),
        build_system="r cmd build",
        test_framework=joined(name for name in ("testthat", "tinytest", "RUnit") if name in named),
    )


def read_julia(path: str, text: str, tree: Tree) -> Found:
    data = parse_toml(text)
    name, bounds = string(data.get("name")), mapping(data.get("compat"))
    found = [dependency(need, string(bounds.get(need))) for need in mapping(data.get("deps"))]
    return Found(
        path=path,
        ecosystem="julia" if "deps" in data or "uuid" in data else "",
        name=name,
        dependencies=tuple(found),
        entry_points=tree.first([beside(dirname(path), f"src/{name}.jl")]) if name else (),
        build_system="pkg",
        test_framework="test" if beside(dirname(path), "test/runtests.jl") in tree.known else "",
    )


def read_zig(path: str, text: str, tree: Tree) -> Found:
    starts = [beside(dirname(path), f"src/{name}.zig") for name in ("main", "root", "lib")]
    programs = re.findall(r"\baddExecutable\(\s*\.\{\s*\.name\s*=\s*\"([^\"]+)\"", tame(text))
    return Found(
        path=path,
        ecosystem="zig",
        entry_points=tuple(start for start in starts if start in tree.known),
        commands=tuple(sorted(set(programs))),
        build_system="zig build",
        test_framework="zig test" if "addTest" in text else "",
    )


def read_zon(path: str, text: str, tree: Tree) -> Found:
    """Read build.zig.zon: a package and the packages that it fetches."""
    text = re.sub(r"(?m)//.*$", "", tame(text))
    needs = re.findall(r"\.(\w+)\s*=\s*\.\{\s*\.(?:url|path)\s*=\s*\"([^\"]*)\"", text)
    return Found(
        path=path,
        ecosystem="zig",
        name=field(r"\.name\s*=\s*[.\"]([\w-]+)", text),
        dependencies=tuple(dependency(name) for name, _ in needs),
        build_system="zig build",
    )
