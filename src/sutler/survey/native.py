"""C, C++ and Swift manifests: CMake, Meson, Make, Autotools, Conan, vcpkg, Package.swift."""

from __future__ import annotations

import re

from sutler.paths import basename, dirname
from sutler.scan.structured import mapping, parse_json, string
from sutler.survey.evidence import (
    Found,
    Tree,
    beside,
    dependency,
    field,
    is_aside,
    joined,
    one_line,
    tame,
)
from sutler.survey.wire import Dependency, DependencyType

_TESTS = (
    ("gtest", "googletest"), ("googletest", "googletest"), ("catch2", "catch2"),
    ("doctest", "doctest"), ("unit_test_framework", "boost.test"), ("cmocka", "cmocka"),
    ("unity", "unity"), ("check", "check"),
)  # fmt: skip
_HELPERS = frozenset((
    "git", "python", "python3", "pythoninterp", "pythonlibs", "doxygen", "pkgconfig", "threads",
    "perl", "sphinx",
))  # fmt: skip
_NATIVE = (
    *(".c", ".h", ".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".cppm", ".ixx", ".inl", ".ipp"),
    *(".m", ".mm", ".cu", ".cuh", ".asm", ".s", ".S"),
)


def _ecosystem(tree: Tree, declared: str = "") -> str:
    """Return `cpp` or `c`, whichever has more sources; the declaration decides between headers
    alone."""
    own = [path for path in tree.paths if not is_aside(path)]
    if not any(path.endswith(_NATIVE) for path in own):
        return ""  # it builds another kind, such as a Swift package
    plus = sum(path.endswith((".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx")) for path in own)
    plain = sum(path.endswith(".c") for path in own)
    if plus == plain == 0:
        return "cpp" if re.search(r"cpp|CXX", declared) or not declared else "c"
    return "cpp" if plus > plain else "c"


def _framework(words: str) -> str:
    lowered = words.lower()
    return joined(name for mark, name in _TESTS if re.search(rf"\b{mark}", lowered))


def _kind(name: str) -> DependencyType:
    """Return the kind of a library: a test framework is for developers."""
    return "dev" if _framework(name) else "runtime"


def read_cmake(path: str, text: str, tree: Tree) -> Found:
    text = re.sub(r"#[^\n]*", "", tame(text))
    project = re.search(r"\bproject\s*\(\s*\"?([\w.+-]++)\"?([^)]{0,300})\)", text, re.IGNORECASE)
    rest = project.group(2) if project else ""
    needs: dict[str, Dependency] = {}
    ecosystem = _ecosystem(tree, rest)
    for name, version in re.findall(
        r"\bfind_package\s*\(\s*([\w.+-]+)(?:\s+([\d.]+))?", text, re.IGNORECASE
    ):
        if ecosystem and name.lower() not in _HELPERS:
            needs.setdefault(name, dependency(name, version, _kind(name)))
    for name, body in re.findall(
        r"\bFetchContent_Declare\s*\(\s*([\w.+-]++)([^)]{0,2000})\)", text, re.IGNORECASE
    ):
        tag = field(r"GIT_TAG\s+\"?([\w./-]+)", body)
        needs.setdefault(name, dependency(name, tag, _kind(name)))
    programs = re.findall(r"\badd_executable\s*\(\s*([\w.+-]+)", text, re.IGNORECASE)
    ctest = (
        "ctest"
        if re.search(r"\b(?:enable_testing|include\s*\(\s*CTest)", text, re.IGNORECASE)
        else ""
    )
    return Found(
        path=path,
        ecosystem=ecosystem,
        name=project.group(1) if project else "",
        description=field(r"DESCRIPTION\s+\"([^\"]*)\"", rest),
        dependencies=tuple(needs.values()),
        entry_points=_mains(text, dirname(path), tree),
        commands=tuple(sorted(set(programs))) if "/" not in path else (),
        build_system="cmake",
        test_framework=_framework(" ".join(needs)) or ctest,
    )


def _mains(text: str, folder: str, tree: Tree) -> tuple[str, ...]:
    """Return files called main.* that the manifest names or that lie beside it or in src/."""
    named = re.findall(r"(?<![\w./-])[\w./-]{0,200}\bmain\.(?:cpp|cc|cxx|c)\b", text)
    usual = [f"{base}main.{end}" for base in ("", "src/") for end in ("cpp", "cc", "cxx", "c")]
    paths = [beside(folder, name) for name in (*named, *usual)]
    return tuple(dict.fromkeys(path for path in paths if path in tree.known))


def read_meson(path: str, text: str, tree: Tree) -> Found:
    text = re.sub(r"#[^\n]*", "", tame(text))
    project = re.search(r"\bproject\s*\(\s*'([^']+)'\s*,?\s*([^)]{0,300})", text)
    pattern = r"\bdependency\s*\(\s*'([^']+)'(?:[^)]{0,150}?version\s*:\s*\[?\s*'([^']+)')?"
    needs = [
        dependency(name, version, _kind(name))
        for name, version in re.findall(pattern, text)
        if name.lower() not in _HELPERS
    ]
    has_tests = "meson test" if re.search(r"\btest\s*\(", text) else ""
    return Found(
        path=path,
        ecosystem=_ecosystem(tree, project.group(2)[:200] if project else ""),
        name=project.group(1) if project else "",
        dependencies=tuple(dict.fromkeys(needs)),
        entry_points=_mains(text, dirname(path), tree),
        commands=tuple(sorted(set(re.findall(r"\bexecutable\s*\(\s*'([^']+)'", text)))),
        build_system="meson",
        test_framework=_framework(" ".join(item.name for item in needs)) or has_tests,
    )


def read_make(path: str, text: str, tree: Tree) -> Found:
    """Read a Makefile; it is a C project's manifest only if there are C sources."""
    ends = (".c", ".cpp", ".cc", ".cxx")
    sources = any(name.endswith(ends) and not is_aside(name) for name in tree.paths)
    compiles = bool(re.search(r"\$[({](?:CC|CXX)[)}]|\b(?:gcc|g\+\+|clang)\b", tame(text)))
    return Found(
        path=path, ecosystem=_ecosystem(tree) if sources and compiles else "", build_system="make"
    )


def read_autoconf(path: str, text: str, tree: Tree) -> Found:
    plain = tame(text)
    modules = re.findall(
        r"PKG_CHECK_MODULES\s*\(\s*\[?\w+\]?\s*,\s*\[?\s*([\w.+-]+)[ \t]*([^\],)\n]*)", plain
    )
    needs = [dependency(module, version) for module, version in modules]
    return Found(
        path=path,
        ecosystem=_ecosystem(tree),
        name=field(r"AC_INIT\s*\(\s*\[?([\w.+ -]+)\]?", plain),
        dependencies=tuple(dict.fromkeys(needs)),
        build_system="autotools",
    )


def _conan(reference: str, dev: bool) -> Dependency | None:
    match = re.match(r"\s*([\w.+-]+)/([\w.+<>=~^ \[\]-]+)", reference)
    if match is None:
        return None
    return dependency(match.group(1), match.group(2), "dev" if dev else _kind(match.group(1)))


def read_conan(path: str, text: str, tree: Tree) -> Found:
    """Read conanfile.txt or conanfile.py, with references like `zlib/1.3.1`."""
    references: list[tuple[str, bool]] = []
    if basename(path).lower().endswith(".txt"):
        section = ""
        for line in text.splitlines()[:5_000]:
            section = line.strip().lower() if line.strip().startswith("[") else section
            if section in ("[requires]", "[test_requires]", "[tool_requires]"):
                references.append((line, section != "[requires]"))
    else:
        for word, reference in re.findall(
            r"\b(\w*requires)\s*(?:=|\()\s*\(?\s*[\"']([^\"']+)[\"']", tame(text)
        ):
            references.append((reference, word not in ("requires",)))
    needs = [
        item
        for item in (_conan(reference, dev) for reference, dev in references)
        if item is not None
    ]
    names = " ".join(item.name for item in needs)
    return Found(
        path=path,
        ecosystem=_ecosystem(tree),
        dependencies=tuple(needs),
        test_framework=_framework(names),
    )


def read_vcpkg(path: str, text: str, tree: Tree) -> Found:
    data = mapping(parse_json(text))
    items = data.get("dependencies") if isinstance(data.get("dependencies"), list) else []
    needs = []
    for item in items or []:
        name = string(item) or string(mapping(item).get("name"))
        if name:
            version = string(mapping(item).get("version>="))
            needs.append(dependency(name, f">={version}" if version else "", _kind(name)))
    return Found(
        path=path,
        ecosystem=_ecosystem(tree),
        name=string(data.get("name")),
        description=one_line(string(data.get("description"))),
        dependencies=tuple(needs),
        test_framework=_framework(" ".join(item.name for item in needs)),
    )


_SWIFT_PACKAGE = re.compile(
    r"\.package\s*\((?:\s*name:\s*\"[^\"]*\",)?\s*url:\s*\"([^\"]+)\"\s*,\s*"
    r"(?:(?:from|exact|branch|revision):\s*\"([^\"]*)\"|([^)\n]*))"
)


_SWIFT_TOOL = re.compile(
    r"docc|jazzy|swiftlint|swiftformat|swift-format|swift-testing|quick|nimble|snapshot-testing",
    re.IGNORECASE,
)


def read_swift(path: str, text: str, tree: Tree) -> Found:
    text = re.sub(r"(?m)^[ \t]*//[^\n]*", "", tame(text))
    needs = []
    for url, version, rest in _SWIFT_PACKAGE.findall(text):
        needs.append(
            dependency(
                basename(url).removesuffix(".git"),
                version or field(r"\"([\d.]+)\"", rest),
                "dev" if _SWIFT_TOOL.search(url) else "runtime",
            )
        )
    programs = re.findall(r"\.executableTarget\s*\(\s*name:\s*\"([^\"]+)\"", text)
    programs += re.findall(r"\.executable\s*\(\s*name:\s*\"([^\"]+)\"", text)
    folder = dirname(path)
    mains = [
        beside(folder, f"Sources/{program}/{file}")
        for program in programs
        for file in ("main.swift", f"{program}.swift")
    ]
    return Found(
        path=path,
        ecosystem="swift",
        name=field(r"Package\s*\(\s*name:\s*\"([^\"]+)\"", text),
        dependencies=tuple(needs),
        entry_points=tuple(dict.fromkeys(main for main in mains if main in tree.known)),
        commands=tuple(sorted(set(programs))),
        build_system="swiftpm",
        test_framework="xctest" if ".testTarget" in text else "",
    )
