"""Manifests of .NET: project files, solutions, Directory.Packages.props."""

from __future__ import annotations

import re

from sutler.paths import basename, dirname
from sutler.scan.structured import parse_xml
from sutler.survey.evidence import Found, Tree, beside, dependency, joined, one_line, tame
from sutler.survey.wire import Dependency, DependencyType

_FRAMEWORKS = (("xunit", "xunit"), ("nunit", "nunit"), ("mstest", "mstest"), ("tunit", "tunit"))
_TEST_ONLY = re.compile(
    r"^(?:xunit|nunit|mstest|tunit|microsoft\.net\.test|microsoft\.testing|moq|nsubstitute"
    r"|fluentassertions|shouldly"
    r"|coverlet|bogus|benchmarkdotnet|verify\.|testcontainers|stylecop|microsoft\.sourcelink"
    r"|reportgenerator)"
)
_LANGUAGES = {"csproj": "csharp", "fsproj": "fsharp", "vbproj": "vb"}


def read_project(path: str, text: str, tree: Tree) -> Found:
    root = parse_xml(text)
    needs: list[Dependency] = []
    fields: dict[str, str] = {}
    for element in root.iter():
        tag = element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else ""
        if tag == "PackageReference" and element.get("Include"):
            name = element.get("Include", "")
            nested = next(
                (child.text or "" for child in element if str(child.tag).endswith("Version")), ""
            )
            needs.append(
                dependency(
                    name,
                    element.get("Version") or nested,
                    _kind(name, element.get("PrivateAssets")),
                )
            )
        elif tag in ("AssemblyName", "Description", "OutputType", "PackageId") and element.text:
            fields.setdefault(tag, element.text.strip())
    if _is_test(needs):
        needs = [dependency(item.name, str(item.version or ""), "dev") for item in needs]
    folder, stem = dirname(path), basename(path).rsplit(".", 1)[0]
    runs = (
        fields.get("OutputType", "").lower() in ("exe", "winexe")
        or re.search(r"Sdk\.(?:Web|Worker)|Aspire\.AppHost", text[:2_000]) is not None
    )
    entry = tree.first(
        beside(folder, name)
        for name in ("Program.cs", "Program.fs", "AppHost.cs", "Startup.cs", "App.xaml.cs")
    )
    return Found(
        path=path,
        ecosystem=_LANGUAGES.get(path.rsplit(".", 1)[-1].lower(), "csharp"),
        name=fields.get("PackageId") or fields.get("AssemblyName") or stem,
        description=one_line(fields.get("Description", "")),
        dependencies=tuple(needs),
        entry_points=entry if runs and not _is_test(needs) else (),
        build_system="dotnet",
        test_framework=framework([item.name for item in needs]),
    )


def read_shared(path: str, text: str, tree: Tree) -> Found:
    """Read Directory.Build.props: packages of every project below it, which serve the build or
    tests."""
    shared = read_project(path, text, tree)
    needs = [dependency(item.name, str(item.version or ""), "dev") for item in shared.dependencies]
    return Found(
        path=path,
        ecosystem="",
        dependencies=tuple(needs),
        test_framework=shared.test_framework,
    )


def _is_test(needs: list[Dependency]) -> bool:
    """Return whether a project is for tests: such a program starts only in its runner."""
    return any(item.name.lower() == "microsoft.net.test.sdk" for item in needs)


def _kind(name: str, private: str | None) -> DependencyType:
    return (
        "dev" if (private or "").lower() == "all" or _TEST_ONLY.match(name.lower()) else "runtime"
    )


def framework(names: list[str]) -> str:
    lowered = " ".join(names).lower()
    return joined(name for mark, name in _FRAMEWORKS if mark in lowered)


def read_packages(path: str, text: str, tree: Tree) -> Found:
    """Read the versions by name of central package management."""
    root = parse_xml(text)
    items = [
        item
        for item in root.iter()
        if str(item.tag).endswith(("PackageVersion", "GlobalPackageReference"))
        and item.get("Include")
    ]
    everywhere = [
        dependency(item.get("Include", ""), item.get("Version", ""), "dev")
        for item in items
        if str(item.tag).endswith("GlobalPackageReference")
    ]
    versions = {
        item.get("Include", ""): item.get("Version", "") for item in items if item.get("Version")
    }
    return Found(path=path, ecosystem="", versions=versions, dependencies=tuple(everywhere))


def read_solution(path: str, text: str, tree: Tree) -> Found:
    projects = re.findall(
        r"^Project\([^)]{0,200}\)\s*=\s*\"[^\"]*\",\s*\"([^\"]+\.\w+proj)\"",
        tame(text),
        re.MULTILINE,
    )
    projects += re.findall(r"<Project\s+Path=\"([^\"]+\.\w+proj)\"", tame(text))
    members = sorted({beside(dirname(path), project) for project in projects})
    return Found(
        path=path,
        ecosystem="csharp",
        name=basename(path).rsplit(".", 1)[0],
        build_system="dotnet",
        members=tuple(member for member in members if member in tree.known),
        workspace=bool(members),
    )
