"""Rows of what a path says; each row is a convention of a real ecosystem."""

from __future__ import annotations

import pytest

from sutler.languages import LANGUAGES, language_of_shebang
from sutler.paths import RelPath
from sutler.scan.classify import classified, extractable, facts_of
from sutler.scan.snapshot import FileEntry, Snapshot

TESTS = frozenset(
    """
tests/test_app.py pkg/foo_test.py conftest.py app/tests.py src/x_test.go web/button.test.tsx
web/button.spec.ts cypress/login.cy.ts api/app.e2e-spec.ts models/user_spec.rb test/user_test.rb
src/test/java/com/x/Helper.java src/main/java/com/x/FooTest.java FooTests.java FooIT.java TestFoo.java
src/FooSpec.scala src/FooSuite.scala app/FooTest.kt app/src/androidTest/Foo.kt My.App.Tests/Foo.cs
FooTests.cs src/FooTest.php src/FooCest.php tests/integration.rs src/parser/tests.rs lib/parser_test.cc
base/string_unittest.cc FooTest.cpp MyAppTests/FooTests.swift test/foo_test.exs src/foo_SUITE.erl
FooSpec.hs lib/foo_test.dart foo_test.clj foo_spec.lua t/basic.t tests/testthat/test-foo.R
test/runtests.jl scripts/run.bats features/login.feature Foo.Tests.ps1 __tests__/a.js
src/__snapshots__/a.js.snap spec/models/user.rb integration_tests/run.py test_parser.ml
""".split()
)

NOT_TESTS = frozenset(
    """
contest.py latest/app.py src/latest.ts attestation.go protest.rb greatest.java spec.py pod_spec.go
openapi_spec.py testing.py flask/testing.py pytest_plugin.py specs/design.md spec/api.yaml Contest.java
Latest.cs fastest.cpp manifest.json inspector.js special.ts test_utils.go Testament.java rest.py
contests/view.py testimony/main.py aspect.kt suite.py respect.scala detest/x.c
""".split()
)


@pytest.mark.parametrize("path", sorted(TESTS))
def test_conventions_of_test_files(path: str) -> None:
    facts = facts_of(path)
    assert (facts.category, facts.tag, facts.importance) == ("test", "test", None)


@pytest.mark.parametrize("path", sorted(NOT_TESTS))
def test_names_that_only_look_like_tests(path: str) -> None:
    facts = facts_of(path)
    assert facts.category != "test"
    assert facts.tag != "test"


@pytest.mark.parametrize(
    ("path", "type_", "category", "tag", "language", "importance"),
    [
        ("package.json", "text", "config", "config", "json", "critical"),
        ("tsconfig.json", "text", "config", "config", "json", "critical"),
        ("pyproject.toml", "text", "config", "config", "toml", "critical"),
        ("packages/a/Cargo.toml", "text", "config", "config", "toml", "critical"),
        ("App/App.csproj", "text", "config", "config", "xml", "critical"),
        ("Makefile", "text", "config", "config", "makefile", "critical"),
        ("Dockerfile.dev", "text", "config", "config", "dockerfile", None),
        (".github/workflows/ci.yml", "text", "config", "config", "yaml", None),
        ("requirements-dev.txt", "text", "config", "config", "text", None),
        ("src/main.rs", "text", "entrypoint", "code", "rust", "critical"),
        ("web/index.js", "text", "entrypoint", "code", "javascript", "critical"),
        ("app.py", "text", "entrypoint", "code", "python", "critical"),
        ("cmd/server.go", "text", "entrypoint", "code", "go", "critical"),
        ("pkg/__main__.py", "text", "entrypoint", "code", "python", "critical"),
        ("docs/index.md", "text", "documentation", "doc", "markdown", None),
        ("main.css", "text", "source", "code", "css", None),
        ("index.d.ts", "text", "source", "code", "typescript", None),
        ("src/auth.ts", "text", "auth", "code", "typescript", "high"),
        ("src/oauth2_client.py", "text", "auth", "code", "python", "high"),
        ("LoginController.java", "text", "auth", "code", "java", "high"),
        ("src/jwt.go", "text", "auth", "code", "go", "high"),
        ("sessions.py", "text", "auth", "code", "python", "high"),
        ("permissions.py", "text", "auth", "code", "python", "high"),
        ("net/acl.c", "text", "auth", "code", "c", "high"),
        ("routes.rb", "text", "api", "code", "ruby", "high"),
        ("UserController.php", "text", "api", "code", "php", "high"),
        ("event_handler.cpp", "text", "api", "code", "cpp", "high"),
        ("rest_api.py", "text", "api", "code", "python", "high"),
        ("openapi.yaml", "text", "api", "config", "yaml", "high"),
        ("models.py", "text", "database", "code", "python", "high"),
        ("schema.prisma", "text", "database", "code", "prisma", "high"),
        ("db/migrations/0001_initial.py", "text", "database", "code", "python", "medium"),
        ("src/routes/users.ts", "text", "api", "code", "typescript", "medium"),
        ("src/authors.py", "text", "source", "code", "python", None),
        ("AuthorList.java", "text", "source", "code", "java", None),
        ("rapid.c", "text", "source", "code", "c", None),
        ("oracle.py", "text", "source", "code", "python", None),
        ("AUTHORS", "text", "documentation", "doc", "text", None),
        ("authentication.md", "text", "documentation", "doc", "markdown", None),
        ("README.md", "text", "documentation", "doc", "markdown", None),
        ("LICENSE", "text", "documentation", "doc", "text", None),
        ("notes.txt", "text", "other", "doc", "text", None),
        ("docs/notes.txt", "text", "documentation", "doc", "text", None),
        ("node_modules/x/index.js", "text", "dependency", "code", "javascript", None),
        ("dist/main.js", "text", "build", "code", "javascript", None),
        ("logo.png", "image", "other", "config", "", None),
        ("icon.svg", "image", "other", "config", "xml", None),
        ("a.exe", "binary", "other", "config", "", None),
        ("rows.csv", "data", "other", "config", "csv", None),
        ("app.sqlite3", "data", "other", "config", "", None),
        ("mystery", "unknown", "other", "doc", "", None),
        ("kernel/sched/core.c", "text", "source", "code", "c", None),
    ],
)
def test_facts(
    path: str, type_: str, category: str, tag: str, language: str, importance: str | None
) -> None:
    facts = facts_of(path)
    shown = (facts.type, facts.category, facts.tag, facts.language, facts.importance)
    assert shown == (type_, category, tag, language, importance)


@pytest.mark.parametrize(
    "path",
    sorted(
        (
            "package-lock.json sub/yarn.lock poetry.lock uv.lock Cargo.lock go.sum Gemfile.lock "
            "composer.lock mix.lock pnpm-lock.yaml Package.resolved Pipfile.lock flake.lock"
        ).split()
    ),
)
def test_lock_files(path: str) -> None:
    facts = facts_of(path)
    assert (facts.lock, facts.importance, facts.category) == (True, None, "dependency")


@pytest.mark.parametrize(
    "path",
    sorted(
        (
            "a.min.js a.min.css x_pb2.py x_pb2_grpc.py x.pb.go x.pb.cc x.g.dart "
            "Foo.Designer.cs api.generated.ts zz_generated.deepcopy.go app.js.map parser.tab.c "
            "generated/models.py main.gen.go"
        ).split()
    ),
)
def test_generated_files_have_no_importance(path: str) -> None:
    facts = facts_of(path)
    assert (facts.generated, facts.importance) == (True, None)


@pytest.mark.parametrize(
    "path", ["generate.py", "admin.js", "generator.go", "genome.c", "mapper.js"]
)
def test_not_generated(path: str) -> None:
    assert not facts_of(path).generated


def test_at_least_eighty_languages() -> None:
    assert len({language.name for language in LANGUAGES}) >= 80


@pytest.mark.parametrize(
    ("head", "language"),
    [
        ("#!/bin/sh\n", "shell"),
        ("#!/usr/bin/env python3.12\nimport x", "python"),
        ("#!/usr/bin/env -S node --x\n", "javascript"),
        ("#! /usr/bin/perl -w\n", "perl"),
        ("#!/usr/bin/env FOO=1 ruby\n", "ruby"),
        ("#!/opt/strange\n", ""),
        ("no shebang", ""),
        ("#!", ""),
    ],
)
def test_shebang(head: str, language: str) -> None:
    spoken = language_of_shebang(head)
    assert (spoken.name if spoken else "") == language


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("src/benchmark/mod.rs", "source"),
        ("src/benchmark/examples/a.rs", "example"),
        ("benchmark/mod.rs", "bench"),
        ("src/benchmarks/a.ts", "bench"),
        ("tools/src/benchmark/a.c", "bench"),
    ],
)
def test_a_program_that_measures_others_has_code_of_its_own(path: str, role: str) -> None:
    """A folder `benchmark` among the sources is no folder of benchmarks."""
    assert facts_of(path).role == role


@pytest.mark.parametrize(
    ("path", "shown"), [("a.py", True), ("a.csv", True), ("a.db", False), ("a.png", False)]
)
def test_extractable(path: str, shown: bool) -> None:
    assert extractable(facts_of(path)) is shown


@pytest.mark.parametrize(
    ("path", "mode", "script"),
    [
        ("libexec/oar-row", 0o100755, True),
        ("libexec/oar-row", 0o100644, False),
        ("test/oar", 0o100755, False),
        ("LICENSE", 0o100755, False),
        ("data.bin", 0o100755, False),
    ],
)
def test_executable_files_without_an_ending_are_scripts(path: str, mode: int, script: bool) -> None:
    """Nothing else tells a script from data before it is read."""
    entry = FileEntry(RelPath(path), 10, mode=mode)
    ((_, facts),) = classified(Snapshot((entry,), (), ()))
    assert (facts.language == "shell") is script
