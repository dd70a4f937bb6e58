"""Whatever a manifest holds, reading it ends, and ends in facts or in that file's own problem."""

from __future__ import annotations

import os
import random

from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import FileEntry
from sutler.survey.code import code_facts
from sutler.survey.entries import commands_in, routes_in
from sutler.survey.evidence import tree_of
from sutler.survey.manifest import survey_manifest
from sutler.survey.manifests import read_all
from sutler.survey.readme import first_sentence

LANGUAGES = {
    "py": "python", "ts": "typescript", "go": "go", "java": "java", "c": "c", "rb": "ruby",
    "rs": "rust", "php": "php", "kt": "kotlin", "ex": "elixir", "vue": "vue",
}  # fmt: skip

ROUNDS = 60 * int(os.environ.get("SUTLER_FUZZ", "1"))
SEEDS = {
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["a>=1"]\n[tool.poetry.dependencies]\nb = {version="1"}\n',
    "setup.cfg": "[metadata]\nname = x\n[options]\ninstall_requires =\n  a\n",
    "setup.py": 'setup(name="x", install_requires=["a"], extras_require={"t": ["b"]})\n',
    "requirements.txt": "a==1\n-r b\n",
    "Pipfile": '[packages]\na = "*"\n',
    "package.json": '{"name": "x", "workspaces": ["a/*"], "dependencies": {"b": "1"}, "exports": {".": {"import": "./x"}}}',
    "pnpm-workspace.yaml": "packages:\n  - 'a/*'\n",
    "lerna.json": '{"packages": ["a/*"]}',
    "Cargo.toml": '[package]\nname = "x"\n[dependencies]\na = {version = "1"}\n[workspace]\nmembers = ["a"]\n',
    "go.mod": "module x\nrequire (\n\ta.b/c v1.0.0\n)\n",
    "go.work": "use (\n./a\n)\n",
    "pom.xml": "<project><artifactId>x</artifactId><dependencies><dependency/></dependencies></project>",
    "build.gradle": "dependencies { implementation 'a:b:1' }\n",
    "settings.gradle": "include 'a', 'b'\n",
    "libs.versions.toml": '[libraries]\na = "b:c:1"\n',
    "App.csproj": '<Project><ItemGroup><PackageReference Include="a"/></ItemGroup></Project>',
    "App.sln": 'Project("{F}") = "A", "A.csproj", "{G}"\n',
    "Directory.Packages.props": '<Project><PackageVersion Include="a" Version="1"/></Project>',
    "Gemfile": 'gem "a", "1"\ngroup :test do\n gem "b"\nend\n',
    "x.gemspec": 's.name = "x"\ns.add_dependency "a"\n',
    "composer.json": '{"require": {"a/b": "1"}}',
    "mix.exs": 'defp deps do\n[{:a, "1"}]\nend\n',
    "CMakeLists.txt": "project(x)\nfind_package(A 1)\n",
    "meson.build": "project('x', 'c')\ndependency('a')\n",
    "configure.ac": "AC_INIT([x], [1])\nPKG_CHECK_MODULES([A], [b >= 1])\n",
    "conanfile.py": 'requires = "a/1"\n',
    "vcpkg.json": '{"dependencies": ["a"]}',
    "Package.swift": 'Package(name: "x", dependencies: [.package(url: "a", from: "1")])\n',
    "Makefile": "all:\n\t$(CC) x.c\n",
}
PIECES = [
    "[", "]", "{", "}", '"', "'", ",", ":", "=", "\n", "(", ")", "\\", "#", "//", "*", "&a", "*a", "!", "\0", "é", "<",
    ">", "</", "null", "1e999", "true", "-1", " " * 40, "\t", "[" * 90, "${x}", "..", "/", "**",
]  # fmt: skip


def mutate(rng: random.Random, text: str) -> str:
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(text) + 1)
        cut = rng.randrange(0, 6)
        text = text[:at] + rng.choice(PIECES) * rng.choice((1, 1, 1, 30)) + text[at + cut :]
    return text


def test_mutated_manifests_never_raise() -> None:
    """Each manifest, broken in random places: no exception, and only kinds of problem that are
    foreseen.
    """
    rng = random.Random(7)
    for _ in range(ROUNDS):
        files = {path: mutate(rng, text) for path, text in SEEDS.items()}
        entries = [
            (FileEntry(RelPath(path), len(text)), facts_of(path)) for path, text in files.items()
        ]
        surveyed = survey_manifest(entries, files, "x")
        assert {problem.kind for problem in surveyed.problems} <= {"malformed", "loop"}


def test_no_shape_is_unexpected() -> None:
    """The net under the parsers stays empty for these mutations: each shape is handled where it is
    read.
    """
    rng = random.Random(11)
    for _ in range(ROUNDS):
        files = {path: mutate(rng, text) for path, text in SEEDS.items()}
        _, problems = read_all(files, tree_of(files))
        assert not [problem for problem in problems if "unexpected shape" in problem.detail]


def test_long_runs_end_quickly() -> None:
    """Inputs made to make regular expressions crawl: blank runs, open brackets, repeated
    openings.
    """
    hostile = [
        "implementation" + " " * 60_000,
        "group :test" + " " * 60_000,
        "dependency('a' " * 5_000,
        "project(x " * 6_000,
        "Project(" * 6_000,
        "<" * 40_000,
        "requires = " + " " * 60_000,
        "def deps " * 6_000,
        "a." * 40_000,
        "\n" * 60_000,
        "@x.command(" * 6_000,
        "export {" * 6_000,
        "import a " * 6_000,
        "`" * 40_000,
        "[" * 40_000,
        '"""' * 5_000,
        "*_" * 5_000,
    ]
    for text in hostile:
        read_all(dict.fromkeys(SEEDS, text), tree_of(SEEDS))
        first_sentence(text)
        for suffix, language in LANGUAGES.items():
            code_facts(f"a.{suffix}", text)
            routes_in(language, text[:300_000])
            commands_in(language, text[:300_000])
