"""Manifests of languages with a smaller share of projects: Scala, Lua, Dart, Haskell, Clojure,
Erlang, R, Julia and Zig. Nothing is run.
"""

from __future__ import annotations

import re

from sutler.paths import basename, dirname
from sutler.scan.structured import mapping, parse_toml, parse_yaml, string
from sutler.survey.evidence import Found, Tree, beside, dependency, joined, one_line, tame
from sutler.survey.wire import Dependency, DependencyType

_SCALA_TESTS = ("scalatest", "munit", "specs2", "utest", "scalacheck", "weaver", "zio-test")


def _field(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[1].strip() if match else ""


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
        description=one_line(_field(r"\bdescription\s*:=\s*\"([^\"]+)\"", text)),
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
        name=_field(r"(?m)^\s*package\s*=\s*[\"']([^\"']+)", text),
        description=one_line(_field(r"\bsummary\s*=\s*(?:\[\[|[\"'])([^\"'\]]+)", text)),
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


_CABAL_ITEM = re.compile(r"^([A-Za-z][\w-]*)\s*(.*)$")


def read_cabal(path: str, text: str, tree: Tree) -> Found:
    text = re.sub(r"(?m)^\s*--.*$", "", tame(text))
    found: dict[str, Dependency] = {}
    folder = dirname(path)
    section, starts, programs = "", list[str](), list[str]()
    for part in re.split(
        r"(?m)^(?=(?:library|executable|test-suite|benchmark|common|flag)\b)", text
    ):
        section = part.split(None, 1)[0] if part.split() else ""
        kind: DependencyType = "dev" if section in ("test-suite", "benchmark") else "runtime"
        for block in re.findall(
            r"(?mi)^\s+build-depends:((?:.*\n)(?:\s+,?.*\n?)*?)(?=^\s+[\w-]+:|\Z)", part
        ):
            for item in block.replace("\n", " ").split(","):
                match = _CABAL_ITEM.match(item.strip())
                if match and match[1] != "base" and not (match[1] in found and kind == "dev"):
                    found[match[1]] = dependency(match[1], match[2].strip(), kind)
        if section == "executable":
            programs.append(part.split()[1])
            source = _field(r"(?i)hs-source-dirs:\s*([\w./-]+)", part)
            main = _field(r"(?i)main-is:\s*([\w./-]+)", part)
            starts.append(beside(folder, f"{source}/{main}"))
    tests = ("hspec", "tasty", "HUnit", "QuickCheck", "hedgehog")
    return Found(
        path=path,
        ecosystem="haskell",
        name=_field(r"(?mi)^name:\s*(\S+)", text),
        description=one_line(_field(r"(?mi)^synopsis:\s*(\S.*)$", text)),
        dependencies=tuple(found.values()),
        entry_points=tuple(start for start in starts if start in tree.known),
        commands=tuple(programs),
        build_system="stack" if beside(folder, "stack.yaml") in tree.known else "cabal",
        test_framework=joined(mark.lower() for mark in tests if mark in found),
    )


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
        name=_field(r"\(defproject\s+([\w./-]+)", text),
        description=one_line(_field(r":description\s+\"([^\"]+)\"", text)),
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
    """DESCRIPTION of an R package."""
    fields = dict(re.findall(r"(?m)^([A-Z][\w@/]*):[ \t]*((?:.*\n?)(?:[ \t]+.*\n?)*)", tame(text)))
    kinds: tuple[tuple[str, DependencyType], ...] = (
        ("Imports", "runtime"), ("Depends", "runtime"), ("LinkingTo", "runtime"), ("Suggests", "peer"),
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
    return Found(
        path=path,
        ecosystem="zig",
        entry_points=tuple(start for start in starts if start in tree.known),
        build_system="zig build",
        test_framework="zig test" if "addTest" in text else "",
    )
