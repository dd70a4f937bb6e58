"""Table of manifest names and their readers. Each file is read alone, so a broken one affects no
other."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sutler.paths import basename, dirname
from sutler.scan.snapshot import Problem
from sutler.scan.structured import DocumentError
from sutler.survey import (
    dotnet,
    infrastructure,
    javascript,
    jvm,
    native,
    other_languages,
    python,
    rust_go,
    scripting,
)
from sutler.survey.evidence import Found, Tree

MAX_MANIFEST_BYTES = 2_000_000
"""A larger manifest is not read; it is recorded as a problem."""

Reader = Callable[[str, str, Tree], Found]

_EXACT: dict[str, Reader] = {
    "pyproject.toml": python.read_pyproject,
    "setup.cfg": python.read_setup_cfg,
    "setup.py": python.read_setup_py,
    "pipfile": python.read_pipfile,
    "package.json": javascript.read_package,
    "pnpm-workspace.yaml": javascript.read_pnpm_workspace,
    "lerna.json": javascript.read_lerna,
    "angular.json": javascript.read_angular,
    "cargo.toml": rust_go.read_cargo,
    "go.mod": rust_go.read_go_mod,
    "go.work": rust_go.read_go_work,
    "pom.xml": jvm.read_pom,
    "build.gradle": jvm.read_gradle,
    "build.gradle.kts": jvm.read_gradle,
    "settings.gradle": jvm.read_settings,
    "settings.gradle.kts": jvm.read_settings,
    "libs.versions.toml": jvm.read_catalog,
    "directory.packages.props": dotnet.read_packages,
    "gemfile": scripting.read_gemfile,
    "composer.json": scripting.read_composer,
    "mix.exs": scripting.read_mix,
    "cmakelists.txt": native.read_cmake,
    "meson.build": native.read_meson,
    "makefile": native.read_make,
    "gnumakefile": native.read_make,
    "configure.ac": native.read_autoconf,
    "conanfile.txt": native.read_conan,
    "conanfile.py": native.read_conan,
    "vcpkg.json": native.read_vcpkg,
    "package.swift": native.read_swift,
    "build.sbt": other_languages.read_sbt,
    "build.mill": other_languages.read_mill,
    "build.sc": other_languages.read_mill,
    "pubspec.yaml": other_languages.read_pubspec,
    "project.clj": other_languages.read_clojure,
    "deps.edn": other_languages.read_clojure,
    "rebar.config": other_languages.read_rebar,
    "description": other_languages.read_description,
    "project.toml": other_languages.read_julia,
    "build.zig": other_languages.read_zig,
    "build.zig.zon": other_languages.read_zon,
    "chart.yaml": infrastructure.read_chart,
    "galaxy.yml": infrastructure.read_collection,
    "ansible.cfg": infrastructure.read_ansible_config,
    "versions.tf": infrastructure.read_terraform,
    "main.tf": infrastructure.read_terraform,
    "terraform.tf": infrastructure.read_terraform,
    "providers.tf": infrastructure.read_terraform,
}
_RANK = {name: rank for rank, name in enumerate(_EXACT)}
_UNRANKED: dict[str, Reader] = {
    "directory.build.props": dotnet.read_shared,
    "directory.build.targets": dotnet.read_shared,
    "requirements.yml": infrastructure.read_galaxy_requirements,
    "requirements.yaml": infrastructure.read_galaxy_requirements,
}
_BY_ENDING: dict[str, Reader] = {
    ".csproj": dotnet.read_project,
    ".fsproj": dotnet.read_project,
    ".vbproj": dotnet.read_project,
    ".sln": dotnet.read_solution,
    ".slnx": dotnet.read_solution,
    ".gemspec": scripting.read_gemspec,
    ".podspec": scripting.read_podspec,
    ".rockspec": other_languages.read_rockspec,
    ".cabal": other_languages.read_cabal,
}
_REQUIREMENTS = re.compile(r"requirements[\w.-]*\.(?:txt|in)$")


def reader_of(path: str) -> Reader | None:
    name = basename(path).lower()
    if name in ("main.yml", "main.yaml"):
        return infrastructure.read_role if path.split("/")[-2:-1] == ["meta"] else None
    if name.endswith((".txt", ".in")) and (
        basename(dirname(path)).lower() == "requirements" or _REQUIREMENTS.match(name)
    ):
        return python.read_requirements
    if path.startswith("buildSrc/") and name.endswith(".kt"):
        return jvm.read_constants
    if "templates/" in path and name == "requirements.yaml":
        return None  # a template of a chart
    return _EXACT.get(name) or _UNRANKED.get(name) or _BY_ENDING.get(name[name.rfind(".") :])


def rank_of(path: str) -> tuple[int, int, str]:
    """Return the order of a manifest: shallow ones first, then by the table: pyproject.toml before
    setup.py."""
    return path.count("/"), _RANK.get(basename(path).lower(), len(_RANK)), path


def read_all(texts: Mapping[str, str], tree: Tree) -> tuple[list[Found], list[Problem]]:
    """Read every manifest among `texts`. A malformed one becomes a problem."""
    found: list[Found] = []
    problems: list[Problem] = []
    for path in sorted(texts, key=rank_of):
        reader = reader_of(path)
        if reader is None:
            continue
        if len(texts[path]) > MAX_MANIFEST_BYTES:
            problems.append(too_large(path, len(texts[path])))
            continue
        try:
            found.append(reader(path, texts[path], tree))
        except DocumentError as error:
            problems.append(Problem(path, "malformed", str(error)))
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            # A manifest of an unforeseen wrong shape is a problem of its own and of no other.
            problems.append(
                Problem(path, "malformed", f"unexpected shape ({type(error).__name__})")
            )
    return found, problems


def too_large(path: str, size: int) -> Problem:
    return Problem(
        path, "too_large", f"{size:,} bytes exceed the manifest limit of {MAX_MANIFEST_BYTES:,}"
    )
