"""Manifest facts of real projects, checked by hand against their files.

Foreign code is not part of this repository: SUTLER_CORPORA names a folder with checkouts of these
projects.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec import UNSET, Struct

from sutler.formats.document import CleanText
from sutler.paths import RelPath
from sutler.scan.classify import classified
from sutler.scan.snapshot import FileEntry, Snapshot
from sutler.survey.needs import survey_needs
from sutler.survey.packs import Material, build_summary
from sutler.survey.wire import Manifest

CORPORA = os.environ.get("SUTLER_CORPORA", "")


class Expected(Struct, frozen=True):
    """`dependencies` maps a name to its kind; versions move, names and kinds seldom do."""

    name: str
    type: str
    build: str
    tests: str
    entries: tuple[str, ...]
    dependencies: dict[str, str]
    purpose: str


PROJECTS = {
    "flask": Expected(
        "Flask",
        "python",
        "flit",
        "pytest",
        ("src/flask/cli.py", "src/flask/__main__.py"),
        {
            "blinker": "runtime",
            "click": "runtime",
            "itsdangerous": "runtime",
            "jinja2": "runtime",
            "markupsafe": "runtime",
            "werkzeug": "runtime",
            "asgiref": "peer",
            "python-dotenv": "peer",
            "pytest": "dev",
            "sphinx": "dev",
        },
        "A simple framework for building complex web applications.",
    ),
    "django": Expected(
        "Django",
        "python",
        "setuptools",
        "unittest",
        ("django/core/management/__init__.py", "django/__main__.py"),
        {
            "asgiref": "runtime",
            "sqlparse": "runtime",
            "tzdata": "runtime",
            "argon2-cffi": "peer",
            "bcrypt": "peer",
            "grunt": "dev",
            "grunt-cli": "dev",
            "grunt-contrib-qunit": "dev",
            "qunit": "dev",
            "@biomejs/biome": "dev",
        },
        "A high-level Python web framework that encourages rapid development and clean, pragmatic design.",
    ),
    "requests": Expected(
        "requests",
        "python",
        "setuptools",
        "pytest",
        ("src/requests/__init__.py",),
        {
            "certifi": "runtime",
            "charset_normalizer": "runtime",
            "idna": "runtime",
            "urllib3": "runtime",
            "PySocks": "peer",
            "chardet": "peer",
            "pytest": "dev",
            "pytest-cov": "dev",
            "pytest-httpbin": "dev",
            "trustme": "dev",
        },
        "Python HTTP for Humans.",
    ),
    "trpc": Expected(
        "trpc",
        "node",
        "pnpm",
        "vitest",
        (
            "packages/client/src/index.ts",
            "packages/server/src/index.ts",
            "packages/openapi/src/cli.ts",
        ),
        {
            "typescript": "runtime",
            "vitest": "dev",
            "zod": "peer",
            "react": "peer",
            "react-dom": "peer",
            "@tanstack/react-query": "peer",
            "next": "peer",
            "turbo": "dev",
            "prettier": "dev",
            "eslint": "dev",
        },
        "tRPC allows you to easily build & consume fully typesafe APIs without schemas or code generation.",
    ),
    "ripgrep": Expected(
        "ripgrep",
        "rust",
        "cargo",
        "cargo test",
        ("crates/core/main.rs", "crates/ignore/src/lib.rs", "crates/searcher/src/lib.rs"),
        {
            "anyhow": "runtime",
            "bstr": "runtime",
            "lexopt": "runtime",
            "log": "runtime",
            "serde_json": "runtime",
            "termcolor": "runtime",
            "textwrap": "runtime",
            "memchr": "runtime",
            "walkdir": "runtime",
            "pcre2": "runtime",
        },
        "ripgrep is a line-oriented search tool",
    ),
    "caddy": Expected(
        "github.com/caddyserver/caddy/v2",
        "go",
        "go",
        "go test",
        ("cmd/caddy/main.go",),
        {
            "github.com/BurntSushi/toml": "runtime",
            "github.com/caddyserver/certmagic": "runtime",
            "github.com/dustin/go-humanize": "runtime",
            "github.com/go-chi/chi/v5": "runtime",
            "github.com/google/cel-go": "runtime",
            "github.com/google/uuid": "runtime",
            "github.com/klauspost/compress": "runtime",
            "github.com/quic-go/quic-go": "runtime",
            "github.com/spf13/cobra": "runtime",
            "go.uber.org/zap": "runtime",
        },
        "Caddy is an extensible server platform that uses TLS by default.",
    ),
    "gson": Expected(
        "gson-parent",
        "java",
        "maven",
        "junit4",
        (),
        {
            "com.google.errorprone:error_prone_annotations": "runtime",
            "com.google.protobuf:protobuf-java": "runtime",
            "com.fasterxml.jackson.core:jackson-databind": "runtime",
            "com.google.caliper:caliper": "runtime",
            "com.google.guava:guava": "runtime",
            "javax.annotation:jsr250-api": "runtime",
            "com.google.guava:guava-testlib": "dev",
            "com.google.truth:truth": "dev",
            "junit:junit": "dev",
            "com.google.testparameterinjector:test-parameter-injector": "dev",
        },
        "Gson JSON library",
    ),
    "sinatra": Expected(
        "sinatra",
        "ruby",
        "bundler",
        "minitest",
        ("lib/sinatra.rb",),
        {
            "logger": "runtime",
            "mustermann": "runtime",
            "rack": "runtime",
            "rack-protection": "runtime",
            "rack-session": "runtime",
            "tilt": "runtime",
            "asciidoctor": "dev",
            "builder": "dev",
            "haml": "dev",
            "minitest": "dev",
        },
        "Classy web-development dressed in a DSL",
    ),
    "Slim": Expected(
        "slim/slim",
        "php",
        "composer",
        "phpunit",
        (),
        {
            "nikic/fast-route": "runtime",
            "psr/container": "runtime",
            "psr/http-factory": "runtime",
            "psr/http-message": "runtime",
            "psr/http-server-handler": "runtime",
            "psr/http-server-middleware": "runtime",
            "psr/log": "runtime",
            "phpstan/phpstan": "dev",
            "phpunit/phpunit": "dev",
            "slim/psr7": "dev",
        },
        "Slim is a PHP micro framework",
    ),
    "serilog": Expected(
        "Serilog",
        "csharp",
        "dotnet",
        "xunit",
        (),
        {
            "System.Diagnostics.DiagnosticSource": "runtime",
            "System.Threading.Channels": "runtime",
            "System.ValueTuple": "runtime",
            "PolySharp": "dev",
            "BenchmarkDotNet": "dev",
            "Microsoft.NET.Test.Sdk": "dev",
            "Newtonsoft.Json": "dev",
            "PublicApiGenerator": "dev",
            "Shouldly": "dev",
            "xunit": "dev",
        },
        "Serilog is a diagnostic logging library for .NET applications.",
    ),
    "vapor": Expected(
        "vapor",
        "swift",
        "swiftpm",
        "swift-testing",
        (),
        {
            "async-http-client": "runtime",
            "console-kit": "runtime",
            "multipart-kit": "runtime",
            "routing-kit": "runtime",
            "swift-crypto": "runtime",
            "swift-log": "runtime",
            "swift-metrics": "runtime",
            "swift-nio": "runtime",
            "swift-nio-ssl": "runtime",
            "swift-syntax": "runtime",
        },
        "Vapor is an HTTP web framework for Swift.",
    ),
}


def manifest_of(root: Path) -> Manifest:
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    named = {
        path.relative_to(root).as_posix(): path
        for path in files
        if ".git" not in path.relative_to(root).parts
    }
    entries = tuple(
        FileEntry(RelPath(name), path.stat().st_size) for name, path in sorted(named.items())
    )
    snapshot = Snapshot(entries, (), ())
    wanted = survey_needs(classified(snapshot)).paths
    texts = {
        name: CleanText(named[name].read_bytes().decode("utf-8", "replace")) for name in wanted
    }
    return build_summary(Material(snapshot=snapshot, texts=texts, root=root.name)).manifest


@pytest.mark.skipif(not CORPORA, reason="SUTLER_CORPORA names no folder of checkouts")
@pytest.mark.parametrize("project", sorted(PROJECTS))
def test_manifest_of_a_real_project(project: str) -> None:
    """Type, build system, test framework, entry points, purpose and ten dependencies, as read by
    eye.
    """
    root = Path(CORPORA, project)
    if not root.is_dir():
        pytest.skip(f"no checkout of {project}")
    expected, found = PROJECTS[project], manifest_of(root)
    assert (found.project_name, found.project_type) == (expected.name, expected.type)
    assert (found.build_system, found.test_framework) == (expected.build, expected.tests)
    assert found.purpose_guess.startswith(expected.purpose)
    assert set(expected.entries) <= set(found.entry_points)
    kinds = {item.name: item.type for item in found.dependencies}
    assert {name: kinds.get(name) for name in expected.dependencies} == expected.dependencies
    runtime = [
        item for item in found.dependencies if item.type == "runtime" and item.version is not UNSET
    ]
    assert runtime or project == "gson"
