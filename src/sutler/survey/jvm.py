"""Java and Kotlin manifests: pom.xml, Gradle builds, settings and version catalogues."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sutler.paths import dirname
from sutler.scan.structured import mapping, parse_toml, parse_xml, string
from sutler.survey.evidence import Found, Tree, beside, dependency, field, joined, one_line, tame
from sutler.survey.wire import Dependency, DependencyType

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SCOPES: dict[str, DependencyType] = {"test": "dev", "provided": "peer", "system": "peer"}
_FRAMEWORKS = (
    ("junit-jupiter", "junit5"), ("junit.jupiter", "junit5"), ("kotest", "kotest"),
    ("spock", "spock"), ("testng", "testng"), ("scalatest", "scalatest"), ("munit", "munit"),
    ("junit:junit", "junit4"), ("kotlin-test", "kotlin-test"), ("junit", "junit"),
)  # fmt: skip


def _child(element: Element, name: str) -> Element | None:
    return next((child for child in element if _tag(child) == name), None)


def _tag(element: Element) -> str:
    """Return the name without its namespace; empty for comments and instructions."""
    return element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else ""


def _text(element: Element | None, name: str) -> str:
    needs = _child(element, name) if element is not None else None
    return (needs.text or "").strip() if needs is not None else ""


def read_pom(path: str, text: str, tree: Tree) -> Found:
    root = parse_xml(text)
    values = {_tag(item): (item.text or "").strip() for item in _children(root, "properties")}
    values["project.version"] = _text(root, "version") or _text(_child(root, "parent"), "version")
    group = _text(root, "groupId") or _text(_child(root, "parent"), "groupId")
    values["project.groupId"] = group
    managed = _child(root, "dependencyManagement")
    versions = {
        _coordinates(item, values): _fill(_text(item, "version"), values)
        for item in _nested(managed)
    }
    needs = [_maven(item, values, versions) for item in _nested(root)]
    modules = [(item.text or "").strip() for item in _children(root, "modules")]
    members = [beside(dirname(path), f"{name}/pom.xml") for name in modules]
    own = [item for item in needs if not item.name.startswith(f"{group}:") or not group]
    return Found(
        path=path,
        ecosystem="kotlin" if "kotlin-maven-plugin" in text else "java",
        name=_fill(_text(root, "artifactId") or _text(root, "name"), values),
        description=one_line(_fill(_text(root, "description"), values)),
        dependencies=tuple(own),
        entry_points=_main_class(text, dirname(path), tree),
        build_system="maven",
        test_framework=_framework([*(item.name for item in needs), *versions]),
        members=tuple(name for name in members if name in tree.known),
        workspace=bool(modules),
        versions={name: version for name, version in versions.items() if version},
    )


def _children(root: Element, name: str) -> list[Element]:
    parent = _child(root, name)
    return list(parent) if parent is not None else []


def _nested(element: Element | None) -> list[Element]:
    return _children(element, "dependencies") if element is not None else []


def _fill(text: str, values: dict[str, str]) -> str:
    """Replace `${name}` by the properties, twice, since a property may name another."""
    for _ in range(2):
        text = re.sub(
            r"\$\{([^}]{1,200})\}", lambda match: values.get(match.group(1), match.group()), text
        )
    return text


def _coordinates(item: Element, values: dict[str, str]) -> str:
    return _fill(f"{_text(item, 'groupId')}:{_text(item, 'artifactId')}", values)


def _maven(item: Element, values: dict[str, str], versions: dict[str, str]) -> Dependency:
    name = _coordinates(item, values)
    version = _fill(_text(item, "version"), values) or versions.get(name, "")
    kind = _SCOPES.get(_text(item, "scope"), "runtime")
    if kind == "runtime" and _text(item, "optional") == "true":
        kind = "peer"
    return dependency(name, "" if "${" in version else version, kind)


def _framework(names: list[str]) -> str:
    named = [label for mark, label in _FRAMEWORKS if any(mark in name for name in names)]
    return joined(named if named == ["junit"] else [label for label in named if label != "junit"])


_MAIN = re.compile(
    r"<(?:mainClass|start-class)>\s*([\w.$]+)\s*<|mainClass(?:Name)?\s*(?:="
    r"|\.set\()\s*[\"']([\w.$]+)[\"']"
)


def _main_class(text: str, folder: str, tree: Tree) -> tuple[str, ...]:
    paths: list[str] = []
    for match in _MAIN.finditer(text):
        stem = (match.group(1) or match.group(2)).replace(".", "/")
        ends = [f"java/{stem}.java", f"kotlin/{stem}.kt", f"kotlin/{stem.removesuffix('Kt')}.kt"]
        paths += tree.first(beside(folder, f"src/main/{end}") for end in ends)
    return tuple(dict.fromkeys(paths))


_GRADLE = re.compile(
    r"\b(api|implementation|compile|runtimeOnly|runtime|kapt|ksp|annotationProcessor|compileOnly"
    r"|developmentOnly"
    r"|test(?:Implementation|Compile|RuntimeOnly|CompileOnly)|androidTestImplementation"
    r"|debugImplementation)"
    r"\s*\(?\s*(?:platform\(|enforcedPlatform\()?\s*"
    r"(?:[\"']([\w.-]+):([\w.-]+)(?::([^\"'@:]+))?[^\"']*[\"']|(libs\.[\w.]+|Libs\.[A-Z]\w*)"
    r"|kotlin\(\s*[\"']([\w-]+)[\"'])"
)


def read_gradle(path: str, text: str, tree: Tree) -> Found:
    text = tame(text)
    needs: list[Dependency] = []
    in_tests = _test_spans(text)
    for match in _GRADLE.finditer(text):
        word, group, artifact, version, alias, kotlin = match.groups()
        name = alias or (
            f"org.jetbrains.kotlin:kotlin-{kotlin}" if kotlin else f"{group}:{artifact}"
        )
        needs.append(
            dependency(
                name,
                "" if (version or "").startswith("$") else version or "",
                "dev" if _within(match.start(), in_tests) else _gradle_kind(word, path),
            )
        )
    is_kotlin = bool(
        re.search(
            r"kotlin\(\s*\"(?:jvm|android|multiplatform)\"|org\.jetbrains\.kotlin|kotlin-android",
            text,
        )
    )
    platform = "junit5" if "useJUnitPlatform" in text else ""
    spotted = _framework([item.name for item in needs])
    return Found(
        path=path,
        ecosystem="kotlin" if is_kotlin else "java",
        dependencies=tuple(needs),
        entry_points=_main_class(text, dirname(path), tree),
        build_system="gradle",
        test_framework=joined([platform, spotted if spotted != "junit" or not platform else ""]),
    )


_TEST_BLOCK = re.compile(r"(?m)^[^\n{}]*\b\w*(?:[tT]est|jmh|Jmh)\w*\b[^\n{}]*\{")


def _test_spans(text: str) -> list[tuple[int, int]]:
    """Return the brace-to-brace spans of source sets for tests, such as `commonTest { … }`."""
    spans: list[tuple[int, int]] = []
    for match in _TEST_BLOCK.finditer(text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        spans.append((match.end(), end))
    return spans


def _within(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


_BUILD_LOGIC = re.compile(
    r"(?:^|/)(?:buildSrc|build-[\w-]+|gradle|jmh|benchmarks?|[\w-]*-test(?:ing|s)?(?:-[\w-]+)?)/"
)


def _gradle_kind(word: str, path: str) -> DependencyType:
    if _BUILD_LOGIC.search(path):
        return "dev"  # the build's own plugins and its benchmarks
    if "est" in word and word.lower().startswith(("test", "androidtest")):
        return "dev"
    return (
        "peer"
        if word == "compileOnly"
        else "dev"
        if word in ("developmentOnly", "debugImplementation")
        else "runtime"
    )


def read_settings(path: str, text: str, tree: Tree) -> Found:
    text = tame(text)
    calls = re.findall(r"\binclude\s*\(([^)]*)\)", text)
    calls += re.findall(r"\binclude\s+([^)\n]*(?:,\s*\n[^)\n]*)*)", text)
    projects = re.findall(r"[\"']:?([\w.:/-]+)[\"']", " ".join(calls))
    folders = [beside(dirname(path), project.replace(":", "/")) for project in projects]
    files = [
        f"{folder}/{build}" for folder in folders for build in ("build.gradle", "build.gradle.kts")
    ]
    return Found(
        path=path,
        ecosystem="java",
        name=field(r"rootProject\.name\s*=\s*[\"']([^\"']+)[\"']", text),
        build_system="gradle",
        members=tuple(file for file in files if file in tree.known),
        workspace=bool(projects),
    )


def read_catalog(path: str, text: str, tree: Tree) -> Found:
    """Read `libs.versions.toml`: the real coordinates behind `libs.some.alias`."""
    data = parse_toml(text)
    numbers = mapping(data.get("versions"))
    versions = {
        f"libs.{re.sub('[-_]', '.', alias)}": "@".join(_library(spec, numbers))
        for alias, spec in mapping(data.get("libraries")).items()
    }
    return Found(path=path, ecosystem="", versions=versions)


def read_constants(path: str, text: str, tree: Tree) -> Found:
    """Read a Kotlin file of buildSrc: the coordinates behind `Libs.SOME_NAME`."""
    constants = re.findall(
        r"\bval\s+([A-Z]\w*)\s*=\s*\"([\w.-]+:[\w.-]+)(?::[^\"]*)?\"", tame(text)
    )
    return Found(
        path=path,
        ecosystem="",
        versions={f"Libs.{name}": f"{coordinates}@" for name, coordinates in constants},
    )


def _library(spec: Any, numbers: dict[str, Any]) -> tuple[str, str]:
    if isinstance(spec, str):
        group, _, rest = spec.partition(":")
        artifact, _, version = rest.partition(":")
        return f"{group}:{artifact}", version
    table = mapping(spec)
    name = (
        string(table.get("module")) or f"{string(table.get('group'))}:{string(table.get('name'))}"
    )
    keywords = table.get("version")
    version = string(keywords) or string(numbers.get(string(mapping(keywords).get("ref"))))
    return name, version
