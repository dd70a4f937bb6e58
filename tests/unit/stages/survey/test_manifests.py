"""Small hand-written manifests, one for each ecosystem and dialect."""

from __future__ import annotations

from msgspec import UNSET

from sutler.stages.classify import facts_of
from sutler.stages.survey.found import Found, tree_of
from sutler.stages.survey.manifests import MAX_MANIFEST_BYTES, read_all, reader_of
from sutler.stages.survey.project import Surveyed, survey_manifest
from sutler.values.paths import RelPath
from sutler.values.snapshot import FileEntry


def survey(files: dict[str, str]) -> Surveyed:
    entries = [(FileEntry(RelPath(path), len(text)), facts_of(path)) for path, text in sorted(files.items())]
    return survey_manifest(entries, files, "folder")


def only(files: dict[str, str]) -> Found:
    found, problems = read_all(files, tree_of(files))
    assert problems == []
    return found[0]


def dependencies(surveyed: Surveyed) -> list[tuple[str, str, str]]:
    rows = surveyed.manifest.dependencies
    return [(row.name, row.type, "" if row.version is UNSET else row.version) for row in rows]


PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "thing"
description = "Does a thing."
dependencies = ["httpx[http2] >= 0.27, <1 ; python_version > '3.8'", "attrs"]
[project.optional-dependencies]
redis = ["redis>=5"]
test = ["pytest>=8"]
[dependency-groups]
dev = ["ruff", {include-group = "x"}]
[project.scripts]
thing = "thing.cli:main"
[tool.pytest.ini_options]
"""


def test_pyproject() -> None:
    found = survey(
        {"pyproject.toml": PYPROJECT, "src/thing/cli.py": "import sys", "src/thing/__init__.py": ""}
    )
    manifest = found.manifest
    assert (manifest.project_name, manifest.project_type, manifest.purpose_guess) == (
        "thing",
        "python",
        "Does a thing.",
    )
    assert (manifest.build_system, manifest.test_framework) == ("hatch", "pytest")
    assert manifest.entry_points == ("src/thing/cli.py",)
    assert dependencies(found) == [
        ("attrs", "runtime", ""),
        ("httpx", "runtime", ">= 0.27, <1"),
        ("redis", "peer", ">=5"),
        ("pytest", "dev", ">=8"),
        ("ruff", "dev", ""),
    ]


def test_poetry() -> None:
    text = """
[tool.poetry]
name = "p"
description = "d"
[tool.poetry.dependencies]
python = "^3.11"
django = "^5.0"
celery = {version = "^5.4", extras = ["redis"]}
[tool.poetry.group.dev.dependencies]
pytest = "*"
[tool.poetry.scripts]
run = "p.main:go"
[build-system]
build-backend = "poetry.core.masonry.api"
"""
    found = survey({"pyproject.toml": text, "p/main.py": "x"})
    assert dependencies(found) == [
        ("celery", "runtime", "^5.4"),
        ("django", "runtime", "^5.0"),
        ("pytest", "dev", "*"),
    ]
    assert (found.manifest.build_system, found.manifest.entry_points) == ("poetry", ("p/main.py",))


def test_setup_cfg() -> None:
    text = """
[metadata]
name = old
description = An old one
[options]
install_requires =
    requests>=2
    # comment
    idna
[options.extras_require]
socks = PySocks
dev = tox
[options.entry_points]
console_scripts =
    old = old.run:main
[tool:pytest]
"""
    found = survey({"setup.cfg": text, "old/run.py": ""})
    assert (found.manifest.project_name, found.manifest.build_system) == ("old", "setuptools")
    assert found.manifest.test_framework == "pytest"
    assert dependencies(found) == [
        ("idna", "runtime", ""),
        ("requests", "runtime", ">=2"),
        ("PySocks", "peer", ""),
        ("tox", "dev", ""),
    ]


def test_setup_py_is_read_and_not_run() -> None:
    text = """
import os
os.system("exit 1")
NAME = "legacy"
requires = ["certifi>=2017", "idna<4"]
setup(name=NAME, description="Old  and\\ngood.", install_requires=requires, version=open("v").read(),
      extras_require={"socks": ["PySocks"]}, entry_points={"console_scripts": ["leg = legacy.cli:run"]})
"""
    found = only({"setup.py": text, "legacy/cli.py": ""})
    assert (found.name, found.description, found.build_system) == ("legacy", "Old and good.", "setuptools")
    assert [item.name for item in found.dependencies] == ["certifi", "idna", "PySocks"]
    assert (found.entry_points, found.commands) == (("legacy/cli.py",), ("leg",))


def test_requirements_and_pipfile() -> None:
    files = {
        "requirements.txt": "flask==3.0  # web\n-r other.txt\n--index-url x\n./local\ngunicorn\n",
        "requirements-dev.txt": "pytest>=8\n",
        "app.py": "",
    }
    found = survey(files)
    assert dependencies(found) == [
        ("flask", "runtime", "==3.0"),
        ("gunicorn", "runtime", ""),
        ("pytest", "dev", ">=8"),
    ]
    assert (found.manifest.build_system, found.manifest.entry_points) == ("pip", ("app.py",))
    pipfile = only({"Pipfile": '[packages]\nflask = "*"\n[dev-packages]\npytest = {version = ">=8"}\n'})
    assert [(item.name, item.type) for item in pipfile.dependencies] == [
        ("flask", "runtime"),
        ("pytest", "dev"),
    ]
    assert (pipfile.build_system, pipfile.test_framework) == ("pipenv", "pytest")


def test_package_json() -> None:
    text = """{"name": "@x/web", "description": "A site.", "main": "dist/index.js", "bin": {"web": "./bin/web.js"},
      "dependencies": {"express": "^4.19.0"}, "devDependencies": {"jest": "^29"}, "peerDependencies": {"react": ">=18"},
      "scripts": {"test": "jest"}}"""
    found = survey({"package.json": text, "src/index.ts": "", "bin/web.js": "", "yarn.lock": ""})
    manifest = found.manifest
    assert (manifest.project_name, manifest.project_type) == ("@x/web", "node")
    assert (manifest.build_system, manifest.test_framework) == ("yarn", "jest")
    assert manifest.entry_points == ("bin/web.js", "src/index.ts")
    assert dependencies(found) == [
        ("express", "runtime", "^4.19.0"),
        ("react", "peer", ">=18"),
        ("jest", "dev", "^29"),
    ]


def test_node_test_runner_from_the_script() -> None:
    assert only({"package.json": '{"scripts": {"test": "node --test"}}'}).test_framework == "node:test"
    assert only({"package.json": '{"scripts": {"test": "mocha spec"}}'}).test_framework == "mocha"


def test_workspaces_of_npm_pnpm_and_lerna() -> None:
    member = '{"name": "@m/a", "dependencies": {"zod": "^3", "@m/b": "workspace:*"}, "exports": {".": {"import": "./src/i.ts"}}}'
    other = '{"name": "@m/b", "dependencies": {"@m/a": "^1", "ky": "1"}}'
    for name, text in {
        "package.json": '{"name": "root", "private": true, "workspaces": ["packages/*", "!packages/skip"]}',
        "pnpm-workspace.yaml": "packages:\n  - 'packages/*'\n  - '!packages/skip'\n",
        "lerna.json": '{"packages": ["packages/*", "!packages/skip"]}',
    }.items():
        files = {
            name: text,
            "packages/a/package.json": member,
            "packages/a/src/i.ts": "",
            "packages/b/package.json": other,
            "packages/skip/package.json": '{"dependencies": {"never": "1"}}',
        }
        found = survey(files)
        assert dependencies(found) == [("ky", "runtime", "1"), ("zod", "runtime", "^3")], name
        assert (found.manifest.project_name, found.manifest.entry_points) == (
            "folder",
            ("packages/a/src/i.ts",),
        )


def test_a_circular_workspace_is_a_recorded_problem() -> None:
    files = {
        "package.json": '{"name": "top", "workspaces": ["a"]}',
        "a/package.json": '{"name": "a", "workspaces": ["../b"], "dependencies": {"left": "1"}}',
        "b/package.json": '{"name": "b", "workspaces": ["../a", ".."], "dependencies": {"right": "1"}}',
    }
    found = survey(files)
    assert [row[0] for row in dependencies(found)] == ["left", "right"]
    assert {problem.kind for problem in found.problems} == {"loop"}
    assert [problem.path for problem in found.problems] == ["b/package.json", "b/package.json"]


def test_cargo_workspace() -> None:
    root = """
[workspace]
members = ["crates/*"]
exclude = ["crates/old"]
[workspace.dependencies]
serde = { version = "1.0.200" }
[package]
name = "tool"
description = "A tool."
[[bin]]
name = "tool"
path = "src/bin/tool.rs"
[dependencies]
anyhow = "1"
core = { path = "crates/core" }
[target.'cfg(unix)'.dependencies]
nix = "0.29"
[dev-dependencies]
tempfile = "3"
"""
    core = '[package]\nname = "core"\n[dependencies]\nserde = { workspace = true }\nrenamed = { package = "real", version = "2" }\n'
    files = {
        "Cargo.toml": root,
        "src/bin/tool.rs": "fn main() {}",
        "crates/core/Cargo.toml": core,
        "crates/core/src/lib.rs": "#[cfg(test)]\nmod tests {}",
        "crates/old/Cargo.toml": '[package]\nname = "old"\n[dependencies]\nnever = "1"\n',
    }
    found = survey(files)
    assert (found.manifest.project_type, found.manifest.build_system) == ("rust", "cargo")
    assert found.manifest.test_framework == "cargo test"
    assert found.manifest.entry_points == ("src/bin/tool.rs", "crates/core/src/lib.rs")
    assert dependencies(found) == [
        ("anyhow", "runtime", "1"),
        ("nix", "runtime", "0.29"),
        ("real", "runtime", "2"),
        ("serde", "runtime", "1.0.200"),
        ("tempfile", "dev", "3"),
    ]


def test_go_mod_and_work() -> None:
    text = """module example.com/svc

go 1.22

require github.com/one/single v1.0.0

require (
	github.com/gin-gonic/gin v1.10.0
	github.com/stretchr/testify v1.9.0 // comment
	golang.org/x/text v0.15.0 // indirect
)
replace github.com/a/b => ../b
"""  # fmt: skip
    files = {
        "go.mod": text,
        "cmd/svc/main.go": "package main\n",
        "main.go": "package svc\n",
        "svc_test.go": "package svc\n",
    }
    found = survey(files)
    assert (found.manifest.project_name, found.manifest.test_framework) == ("example.com/svc", "go test")
    assert found.manifest.entry_points == ("cmd/svc/main.go",)
    assert dependencies(found) == [
        ("github.com/gin-gonic/gin", "runtime", "v1.10.0"),
        ("github.com/one/single", "runtime", "v1.0.0"),
        ("github.com/stretchr/testify", "dev", "v1.9.0"),
    ]
    work = survey(
        {"go.work": "go 1.22\nuse (\n\t./a\n\t./b\n)\n", "a/go.mod": "module a\n", "b/go.mod": "module b\n"}
    )
    assert [found.path for found in work.found] == ["go.work", "a/go.mod", "b/go.mod"]


POM = """<?xml version="1.0"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <groupId>com.x</groupId><artifactId>shop</artifactId><version>1.0</version>
  <description>Sells
     things.</description>
  <properties><jackson>2.17.0</jackson><main>com.x.App</main></properties>
  <modules><module>core</module></modules>
  <dependencyManagement><dependencies>
    <dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.10</version></dependency>
  </dependencies></dependencyManagement>
  <dependencies>
    <!-- a comment -->
    <dependency><groupId>com.fasterxml</groupId><artifactId>jackson</artifactId><version>${jackson}</version></dependency>
    <dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><scope>test</scope></dependency>
    <dependency><groupId>javax</groupId><artifactId>servlet</artifactId><version>4</version><scope>provided</scope></dependency>
    <dependency><groupId>${project.groupId}</groupId><artifactId>core</artifactId></dependency>
  </dependencies>
  <build><plugins><plugin><configuration><mainClass>com.x.App</mainClass></configuration></plugin></plugins></build>
</project>"""


def test_pom() -> None:
    files = {"pom.xml": POM, "src/main/java/com/x/App.java": "class App {}", "core/pom.xml": "<project/>"}
    found = survey(files)
    manifest = found.manifest
    assert (manifest.project_name, manifest.project_type, manifest.build_system) == ("shop", "java", "maven")
    assert (manifest.purpose_guess, manifest.test_framework) == ("Sells things.", "junit5")
    assert manifest.entry_points == ("src/main/java/com/x/App.java",)
    assert dependencies(found) == [
        ("com.fasterxml:jackson", "runtime", "2.17.0"),
        ("javax:servlet", "peer", "4"),
        ("org.junit.jupiter:junit-jupiter", "dev", "5.10"),
    ]


def test_gradle_with_a_version_catalogue() -> None:
    files = {
        "settings.gradle.kts": 'rootProject.name = "app"\ninclude(":core", ":web")\n',
        "build.gradle.kts": 'plugins { kotlin("jvm") version "2.0.0" }\n',
        "core/build.gradle.kts": 'dependencies {\n implementation(libs.ktor.core)\n api("a.b:c:1.2")\n'
        ' compileOnly("x.y:z:3")\n testImplementation(kotlin("test"))\n}\n',
        "web/build.gradle.kts": "dependencies { implementation(project(\":core\"))\n testImplementation 'junit:junit:4.13' }\n",
        "gradle/libs.versions.toml": '[versions]\nktor = "2.3"\n[libraries]\nktor-core = { module = "io.ktor:core", version.ref = "ktor" }\n',
        "core/src/main/kotlin/A.kt": "",
    }
    found = survey(files)
    assert (found.manifest.project_name, found.manifest.project_type) == ("app", "kotlin")
    assert found.manifest.build_system == "gradle"
    assert dependencies(found) == [
        ("a.b:c", "runtime", "1.2"),
        ("io.ktor:core", "runtime", "2.3"),
        ("x.y:z", "peer", "3"),
        ("junit:junit", "dev", "4.13"),
        ("org.jetbrains.kotlin:kotlin-test", "dev", ""),
    ]


def test_csharp_with_central_versions() -> None:
    files = {
        "App.sln": 'Project("{F}") = "App", "src\\App\\App.csproj", "{G}"\nEndProject\n'
        'Project("{F}") = "T", "test\\T\\T.csproj", "{H}"\nEndProject\n',
        "Directory.Packages.props": '<Project><ItemGroup><PackageVersion Include="Serilog" Version="3.1"/></ItemGroup></Project>',
        "src/App/App.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web"><PropertyGroup><Description>Web.</Description></PropertyGroup>'
        '<ItemGroup><PackageReference Include="Serilog"/><PackageReference Include="Dapper" Version="2.1"/></ItemGroup></Project>',
        "src/App/Program.cs": "",
        "test/T/T.csproj": '<Project><ItemGroup><PackageReference Include="xunit" Version="2.9"/></ItemGroup></Project>',
    }
    found = survey(files)
    assert (found.manifest.project_name, found.manifest.project_type) == ("App", "csharp")
    assert found.manifest.entry_points == ("src/App/Program.cs",)
    assert dependencies(found) == [("Dapper", "runtime", "2.1"), ("Serilog", "runtime", "3.1")]


def test_ruby() -> None:
    gemfile = """source "x"
gem "rails", "~> 7.1", ">= 7.1.2"
gem 'pg'
group :development, :test do
  gem "rspec-rails"
end
gem "puma", group: :development
gem "redis", "5"
"""
    spec = 'Gem::Specification.new do |s|\n s.name = "tool"\n s.summary = "A gem."\n s.add_dependency "thor", "~> 1.3"\n s.add_development_dependency("rake")\n s.executables << "tool"\nend'
    found = survey(
        {"Gemfile": gemfile, "config.ru": "", "tool.gemspec": spec, "exe/tool": "", "lib/tool.rb": ""}
    )
    assert (found.manifest.project_name, found.manifest.project_type) == ("tool", "ruby")
    assert (found.manifest.build_system, found.manifest.test_framework) == ("bundler", "rspec")
    assert found.manifest.entry_points == ("config.ru", "exe/tool", "lib/tool.rb")
    assert dependencies(found) == [
        ("pg", "runtime", ""),
        ("rails", "runtime", "~> 7.1, >= 7.1.2"),
        ("redis", "runtime", "5"),
        ("thor", "runtime", "~> 1.3"),
        ("puma", "dev", ""),
        ("rake", "dev", ""),
        ("rspec-rails", "dev", ""),
    ]


def test_php() -> None:
    text = """{"name": "a/b", "description": "Shop.", "require": {"php": ">=8.2", "ext-json": "*", "laravel/framework": "^11"},
      "require-dev": {"phpunit/phpunit": "^11"}, "bin": ["bin/shop"]}"""
    found = survey({"composer.json": text, "bin/shop": "", "public/index.php": "", "artisan": ""})
    assert (found.manifest.project_type, found.manifest.build_system) == ("php", "composer")
    assert found.manifest.test_framework == "phpunit"
    assert found.manifest.entry_points == ("bin/shop", "artisan", "public/index.php")
    assert dependencies(found) == [("laravel/framework", "runtime", "^11"), ("phpunit/phpunit", "dev", "^11")]


def test_cmake_conan_and_vcpkg() -> None:
    cmake = """project(engine VERSION 1.0 DESCRIPTION "An engine" LANGUAGES CXX)
find_package(Boost 1.80 REQUIRED) # find_package(Not)
find_package(GTest REQUIRED)
FetchContent_Declare(fmt GIT_REPOSITORY x GIT_TAG 10.2.1)
add_executable(engine src/main.cpp)
enable_testing()
"""
    found = survey(
        {
            "CMakeLists.txt": cmake,
            "src/main.cpp": "",
            "conanfile.txt": "[requires]\nzlib/1.3.1\n[generators]\nCMakeDeps\n",
            "vcpkg.json": '{"dependencies": ["curl", {"name": "sdl2", "version>=": "2.30"}]}',
        }
    )
    assert (found.manifest.project_name, found.manifest.project_type) == ("engine", "cpp")
    assert (found.manifest.build_system, found.manifest.test_framework) == ("cmake", "googletest")
    assert (found.manifest.purpose_guess, found.manifest.entry_points) == ("An engine", ("src/main.cpp",))
    assert dependencies(found) == [
        ("Boost", "runtime", "1.80"),
        ("curl", "runtime", ""),
        ("fmt", "runtime", "10.2.1"),
        ("sdl2", "runtime", ">=2.30"),
        ("zlib", "runtime", "1.3.1"),
        ("GTest", "dev", ""),
    ]


def test_meson_make_and_autoconf() -> None:
    meson = "project('tool', 'c', version: '1')\nglib = dependency('glib-2.0', version: '>= 2.60')\nexecutable('tool', 'main.c')\ntest('t', x)\n"
    found = survey({"meson.build": meson, "main.c": ""})
    assert (found.manifest.project_type, found.manifest.build_system) == ("c", "meson")
    assert dependencies(found) == [("glib-2.0", "runtime", ">= 2.60")]
    assert found.manifest.test_framework == "meson test"
    make = survey({"Makefile": "all:\n\t$(CC) -o x x.c\n", "x.c": ""})
    assert (make.manifest.project_type, make.manifest.build_system) == ("c", "make")
    autoconf = survey(
        {"configure.ac": "AC_INIT([hello], [1.0])\nPKG_CHECK_MODULES([X], [libxml-2.0 >= 2.9])\n", "h.c": ""}
    )
    assert (autoconf.manifest.project_name, autoconf.manifest.build_system) == ("hello", "autotools")
    assert dependencies(autoconf) == [("libxml-2.0", "runtime", ">= 2.9")]


def test_conanfile_py() -> None:
    text = 'class X(ConanFile):\n    requires = "fmt/10.2.1"\n    def requirements(self):\n        self.requires("spdlog/1.14.0")\n        self.test_requires("gtest/1.14")\n'
    found = only({"conanfile.py": text, "a.cpp": ""})
    assert [(item.name, item.type) for item in found.dependencies] == [
        ("fmt", "runtime"),
        ("spdlog", "runtime"),
        ("gtest", "dev"),
    ]


def test_swift() -> None:
    text = """// swift-tools-version:5.9
let package = Package(name: "Tool", dependencies: [
  .package(url: "https://example.com/apple/swift-nio.git", from: "2.60.0"),
  .package(url: "https://example.com/x/Yams", .upToNextMajor(from: "5.0.1")),
], targets: [ .executableTarget(name: "tool"), .testTarget(name: "ToolTests") ])
"""
    found = survey({"Package.swift": text, "Sources/tool/main.swift": ""})
    assert (found.manifest.project_name, found.manifest.build_system) == ("Tool", "swiftpm")
    assert (found.manifest.test_framework, found.manifest.entry_points) == (
        "xctest",
        ("Sources/tool/main.swift",),
    )
    assert dependencies(found) == [("swift-nio", "runtime", "2.60.0"), ("Yams", "runtime", "5.0.1")]


def test_elixir() -> None:
    text = """defmodule Shop.MixProject do
  def project, do: [app: :shop, description: "A shop.", deps: deps()]
  def application, do: [mod: {Shop.Application, []}]
  defp deps do
    [
      {:phoenix, "~> 1.7"},
      # {:old, "1"},
      {:credo, "~> 1.7", only: [:dev, :test], runtime: false},
      {:sibling, in_umbrella: true}
    ]
  end
end
"""
    found = survey({"mix.exs": text, "lib/shop/application.ex": "", "test/shop_test.exs": ""})
    assert (found.manifest.project_name, found.manifest.purpose_guess) == ("shop", "A shop.")
    assert (found.manifest.build_system, found.manifest.test_framework) == ("mix", "exunit")
    assert found.manifest.entry_points == ("lib/shop/application.ex",)
    assert dependencies(found) == [("phoenix", "runtime", "~> 1.7"), ("credo", "dev", "~> 1.7")]


def test_a_mixed_repository() -> None:
    files = {
        "backend/pyproject.toml": '[project]\nname = "api"\ndependencies = ["fastapi"]\n',
        "backend/api/main.py": "",
        "backend/api/db.py": "",
        "frontend/package.json": '{"name": "ui", "dependencies": {"react": "18"}}',
        "frontend/src/index.tsx": "",
        "frontend/src/app.tsx": "",
    }
    found = survey(files)
    assert found.manifest.project_type == "mixed (python, node)"
    assert (found.manifest.project_name, found.problems) == ("folder", ())
    assert dependencies(found) == [("fastapi", "runtime", ""), ("react", "runtime", "18")]


def test_no_manifest_at_all() -> None:
    manifest = survey({"main.zig": "", "a.go": "package a"}).manifest
    assert (manifest.project_name, manifest.project_type, manifest.build_system) == ("folder", "go", UNSET)
    empty = survey({}).manifest
    assert (empty.project_type, empty.structure_summary, empty.dependencies) == ("unknown", "", ())


def test_a_broken_manifest_is_its_own_problem() -> None:
    found = survey({"package.json": "{", "pyproject.toml": '[project]\nname = "ok"\n', "a.py": ""})
    assert found.manifest.project_name == "ok"
    assert [(problem.path, problem.kind) for problem in found.problems] == [("package.json", "malformed")]


def test_shapes_that_nobody_foresaw_are_problems_or_nothing() -> None:
    files = {
        "package.json": '{"name": 7, "dependencies": ["x"], "bin": 3, "workspaces": {"packages": 1}, "exports": [1]}',
        "pyproject.toml": "project = 1\ntool = []\n",
        "composer.json": "[]",
        "Cargo.toml": 'package = "x"\nbin = 3\n',
    }
    found = survey(files)
    assert found.manifest.dependencies == ()
    assert {problem.kind for problem in found.problems} <= {"malformed"}


def test_a_manifest_over_the_size_limit_is_not_parsed() -> None:
    found = survey({"package.json": "x" * (MAX_MANIFEST_BYTES + 1)})
    assert [problem.kind for problem in found.problems] == ["too_large"]


def test_structure_summary_counts_top_folders() -> None:
    found = survey({"src/a.py": "", "src/b.py": "", "docs/x.md": "", "README": ""})
    assert found.manifest.structure_summary == "src/ 2 files (python); docs/ 1 file (markdown); 1 at the root"


def test_reader_of_knows_patterns() -> None:
    assert reader_of("x/Foo.csproj") is not None
    assert reader_of("requirements/dev.txt") is None
    assert reader_of("deep/requirements-dev.txt") is not None
    assert reader_of("main.py") is None
