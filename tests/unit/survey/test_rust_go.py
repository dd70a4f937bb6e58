"""Small hand-written manifests: rust and go."""

from __future__ import annotations

from .surveying import dependencies, survey


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
    core = '[package]\nname = "core"\ndescription = "Its core."\n[dependencies]\nserde = { workspace = true }\nrenamed = { package = "real", version = "2" }\n'
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
    assert (found.manifest.project_name, found.manifest.test_framework) == (
        "example.com/svc",
        "go test",
    )
    assert found.manifest.entry_points == ("cmd/svc/main.go",)
    assert dependencies(found) == [
        ("github.com/gin-gonic/gin", "runtime", "v1.10.0"),
        ("github.com/one/single", "runtime", "v1.0.0"),
        ("github.com/stretchr/testify", "dev", "v1.9.0"),
    ]
    work = survey(
        {
            "go.work": "go 1.22\nuse (\n\t./a\n\t./b\n)\n",
            "a/go.mod": "module a\n",
            "b/go.mod": "module b\n",
        }
    )
    assert [found.path for found in work.found] == ["go.work", "a/go.mod", "b/go.mod"]
