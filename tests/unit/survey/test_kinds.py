"""Kinds of projects without a common manifest, entry points by language, and key files."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import FileEntry
from sutler.survey.evidence import tree_of
from sutler.survey.keys import KeyLimits, Named, key_files
from sutler.survey.other_languages import read_cabal

from .surveying import dependencies, survey

TERRAFORM = {
    "main.tf": 'module "x" {\n  source = "./modules/x"\n}\n',
    "versions.tf": 'terraform {\n  required_providers {\n    aws = {\n      source  = "hashicorp/aws"\n'
    '      version = ">= 5.0"\n    }\n  }\n}\n',
    "tests/a.tftest.hcl": "",
}
ROLE = {
    "meta/main.yml": "galaxy_info:\n  description: Installs it.\ndependencies:\n  - role: base\n",
    "tasks/main.yml": "- debug: {}\n",
    "molecule/default/molecule.yml": "",
}
CHART = {
    "Chart.yaml": "name: web\ndescription: A chart.\ndependencies:\n  - name: redis\n    version: 1.2.3\n",
    "values.yaml": "",
    "templates/a.yaml": "",
}
SCALA = {
    "build.sbt": 'name := "lib"\nlibraryDependencies += "org.typelevel" %% "cats-core" % "2.1"\n'
    'libraryDependencies += "org.scalameta" %% "munit" % "1.0" % Test\n',
    "src/main/scala/A.scala": "class A",
}


@pytest.mark.parametrize(
    ("files", "kind", "build", "test", "needs"),
    [
        (TERRAFORM, "terraform", "terraform", "terraform test", [("hashicorp/aws", "runtime", ">= 5.0")]),
        (ROLE, "ansible", "ansible-galaxy", "molecule", [("base", "runtime", "")]),
        (CHART, "helm", "helm", UNSET, [("redis", "runtime", "1.2.3")]),
        (SCALA, "scala", "sbt", "munit", [("org.typelevel:cats-core", "runtime", "2.1"), ("org.scalameta:munit", "dev", "1.0")]),
    ],
)  # fmt: skip
def test_kinds(
    files: dict[str, str], kind: str, build: str, test: object, needs: list[tuple[str, str, str]]
) -> None:
    found = survey(files)
    assert found.manifest.project_type == kind
    assert found.manifest.build_system == build
    assert found.manifest.test_framework == test
    assert dependencies(found) == needs


@pytest.mark.parametrize(
    ("files", "starts"),
    [
        ({"pom.xml": "<project/>", "src/main/java/org/samples/A.java": "public static void main(String[] a)"},
         ("src/main/java/org/samples/A.java",)),
        ({"pom.xml": "<project/>", "src/main/java/A.java": "// public static void main(String[] a)"}, ()),
        ({"pom.xml": "<project/>", "src/test/java/A.java": "public static void main(String[] a)"}, ()),
        ({"go.mod": "module m", "cmd/x/x.go": "package main\nfunc main() {}\n", "gen/a/b/c.go": "package main\nfunc main() {}\n"},
         ("cmd/x/x.go",)),
        ({"Makefile": "all:\n\t$(CC)", "src/a.c": "int main(int c) {}\n", "b.c": "#ifdef TEST_MAIN\nint main(void) {}\n#endif\n"},
         ("src/a.c",)),
        ({"Cargo.toml": '[package]\nname = "x"\n', "src/bin/a/main.rs": "", "src/bin/a/util.rs": "", "src/bin/b.rs": ""},
         ("src/bin/a/main.rs", "src/bin/b.rs")),
        ({"package.json": '{"bin": "./dist/cli.js"}', "src/cli.ts": ""}, ("src/cli.ts",)),
        ({"x.gemspec": 's.name = "x"\ns.bindir = "exe"\ns.executables = Dir["exe/*"]\n', "exe/x": "", "lib/x.rb": ""},
         ("exe/x", "lib/x.rb")),
        ({"package.json": "{}", "index.html": '<script type="module" src="/src/main.tsx"></script>', "src/main.tsx": ""},
         ("src/main.tsx",)),
        ({"Cargo.toml": '[workspace]\nmembers = ["a", "b"]', "a/Cargo.toml": '[package]\nname = "a"\npublish = false', "a/src/main.rs": "",
          "b/Cargo.toml": '[package]\nname = "b"', "b/src/lib.rs": ""}, ("a/src/main.rs",)),
        ({"ansible.cfg": "", "_config.yml": "", "mkdocs.yml": "", "scale.yml": "", "reset.yml": ""}, ("reset.yml", "scale.yml")),
        ({"build.gradle.kts": "", "app/src/main/java/a/MyApp.kt": "class MyApp : Application() {}"}, ("app/src/main/java/a/MyApp.kt",)),
        ({"build.sbt": 'name := "x"', "src/main/scala/A.scala": "trait A {\n  def main(args: Array[String]): Unit\n}"}, ()),
        ({"build.sbt": 'name := "x"', "src/main/scala/B.scala": "object B extends IOApp.Simple {}\nobject C extends IOApp {}"},
         ("src/main/scala/B.scala",)),
        ({"CMakeLists.txt": "project(x CXX)", "tools/helper.cpp": "int main(int c) {}"}, ()),
        ({"setup.py": "setup()", "setup.cfg": "[metadata]\nname=x\n[options.entry_points]\nconsole_scripts =\n  x = x.cli:main\n",
          "x/__init__.py": "", "x/cli.py": ""}, ("x/cli.py",)),
        ({"composer.json": '{"name": "a/b"}', "src/App.php": "<?php class App {}"}, ()),
        ({"docs/index.html": "<p>", "x.py": "a = 1\n"}, ()),
        ({"Cargo.toml": '[package]\nname = "x"\n', "src/main.rs": "", "bin/release.sh": "#!/bin/sh\n"}, ("src/main.rs",)),
        ({"go.mod": "module m", "main.go": "package main\nfunc main() {}\n", "bin/preview.sh": "#!/bin/sh\n",
          "cmd/gen/main.go": "package main\nfunc main() {}\n"}, ("main.go", "bin/preview.sh")),
        ({"Makefile": "all:\n\t$(CC)", "src/a.c": "#ifdef _WIN32\nint wmain() {}\n#else\nint main(void) {}\n#endif\n",
          "b.c": "#ifdef MAKE_TABLE\n#  if WIDE\n#  endif\nint main(void) {}\n#endif\n"}, ("src/a.c",)),
        ({"pom.xml": "<project/>", "src/main/java/org/x/X.java": "class X {}",
          "src/main/java/org/x/examples/A.java": "public static void main(String[] a)"}, ()),
        ({"pom.xml": "<project/>", "src/main/java/org/samples/app/A.java": "public static void main(String[] a)",
          "src/main/rules.pro": "keep", "src/main/java/org/other/B.java": "class B {}"}, ("src/main/java/org/samples/app/A.java",)),
        ({"Cargo.toml": '[package]\nname = "x"\ndescription = "It."\n[workspace]\nmembers = ["tool"]', "src/main.rs": "",
          "tool/Cargo.toml": '[package]\nname = "tool"\npublish = false', "tool/src/main.rs": ""}, ("src/main.rs",)),
        ({"x.gemspec": 's.name = "x"', "lib/x.rb": "", "myapp/config.ru": "run App", "myapp/app.rb": ""}, ("lib/x.rb",)),
        ({"bin/oar": "#!/bin/sh\n", "libexec/folder": "#!/bin/sh\n", "libexec/oar-row": "#!/bin/sh\n", "release": "#!/bin/sh\n"},
         ("bin/oar", "libexec/folder")),
        ({"x.cabal": "name: x\nexecutable x\n  main-is: Main.hs\n", "Main.hs": "main :: IO ()\n", "ci.hs": "main :: IO ()\n"},
         ("Main.hs",)),
        ({"build.zig": 'b.addExecutable(.{ .name = "x" })', "src/main.zig": "pub fn main() void {}\n",
          "src/tool.zig": "pub fn main() void {}\n"}, ("src/main.zig",)),
        ({"settings.gradle": "", "cli/src/main/java/A.java": "public static void main(String[] a)",
          "oar-generator/src/main/java/B.java": "public static void main(String[] a)"}, ("cli/src/main/java/A.java",)),
    ],
)  # fmt: skip
def test_entry_points(files: dict[str, str], starts: tuple[str, ...]) -> None:
    assert survey(files).manifest.entry_points == starts


def keys(files: dict[str, str], central: dict[str, int], named: Named) -> list[tuple[str, str]]:
    pairs = [(FileEntry(RelPath(path), 10), facts_of(path)) for path in sorted(files)]
    chosen = key_files(pairs, central, named, files)
    return [(entry.path, facts.category) for entry, facts in chosen]


def test_key_files_hold_five_in_a_category_and_twenty_five_in_all() -> None:
    names = ["main.py", "package.json", "auth.py", "routes.py", "models.py"]
    files = {f"{folder}/{name}": "" for folder in "abcdefgh" for name in names}
    chosen = [path for path, _ in keys(files, dict.fromkeys(files, 1), Named())]
    assert len(chosen) == 25
    assert len([path for path in chosen if path.endswith("main.py")]) == 5
    pairs = [(FileEntry(RelPath(path), 10), facts_of(path)) for path in files]
    assert len(key_files(pairs, {}, limits=KeyLimits(max_total=3))) == 3


def test_an_empty_file_is_no_key_file() -> None:
    assert (
        key_files([(FileEntry(RelPath("main.py"), 0), facts_of("main.py"))], {"main.py": 9}) == ()
    )


def test_key_files_are_manifests_starts_and_what_is_used_most() -> None:
    files = {
        "pyproject.toml": "",
        "app/cli.py": "",
        "app/session.py": "class Session: records mock calls",
        "app/auth.py": "def login(password): ...",
        "app/core.py": "",
        "app/schema.ts": 'import { z } from "zod"; z.table(column, sql)',
        "app/unused.py": "",
        "app/migrations/0001_auth.py": "permission password login",
        "tests/test_core.py": "",
        "examples/main.py": "",
        "docs/model_index.html": "",
    }
    central = {"app/core.py": 900, "app/session.py": 500, "tests/test_core.py": 5000}
    central["app/schema.ts"] = 5
    assert keys(files, central, Named(("app/cli.py",), ("pyproject.toml",))) == [
        ("pyproject.toml", "config"),
        ("app/cli.py", "entrypoint"),
        ("app/core.py", "source"),
        ("app/session.py", "source"),
        ("app/schema.ts", "source"),
        ("app/auth.py", "auth"),
    ]


def test_projects_without_code_have_key_files_of_their_own_kind() -> None:
    """Roles, charts and notebooks count where they outnumber the code; resource definitions and
    tests do not."""
    roles = {"roles/x/tasks/main.yml": "", "roles/x/defaults/main.yml": "", "scripts/a.py": ""}
    assert [path for path, _ in keys(roles, {}, Named())] == [
        "roles/x/tasks/main.yml",
        "roles/x/defaults/main.yml",
    ]
    chart = {"c/templates/a.yaml": "", "c/templates/crds/b.yaml": "", "c/Chart.yaml": ""}
    assert [path for path, _ in keys(chart, {}, Named())] == ["c/Chart.yaml", "c/templates/a.yaml"]
    books = {"02_b.ipynb": "", "01_a.ipynb": "", "docs/c.ipynb": ""}
    assert [path for path, _ in keys(books, {}, Named())] == ["01_a.ipynb", "02_b.ipynb"]


def test_key_files_keep_the_seeds_limits() -> None:
    files = {f"m{n}.py": "" for n in range(30)}
    assert len(keys(files, dict.fromkeys(files, 1), Named())) == 5


CABAL = """\
cabal-version: 2.4
name:          tool
synopsis:      Convert things

common shared
  build-depends:    base >= 4, text >= 1
                    -- a comment
library
  import:        shared
  build-depends: aeson                 >= 2.0.1.0  && < 2.4,
                 bytestring            >= 0.9

executable tool
  main-is:          Main.hs
  hs-source-dirs:   app
  build-depends:    tool

test-suite all
  build-depends:  tool,
                  tasty                 >= 0.11
"""


def test_a_cabal_package_with_aligned_fields() -> None:
    """Continuation lines, common stanzas, programs and both build tools are read."""
    tree = tree_of(["tool.cabal", "stack.yaml", "app/Main.hs"])
    package = read_cabal("tool.cabal", CABAL, tree)
    kinds = {item.name: item.type for item in package.dependencies}
    assert kinds == {"text": "runtime", "aeson": "runtime", "bytestring": "runtime", "tasty": "dev"}
    assert (package.entry_points, package.commands) == (("app/Main.hs",), ("tool",))
    assert (package.build_system, package.test_framework) == ("cabal, stack", "tasty")
