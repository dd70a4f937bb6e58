"""Small hand-written manifests: javascript."""

from __future__ import annotations

from .surveying import dependencies, only, survey


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
    assert (
        only({"package.json": '{"scripts": {"test": "node --test"}}'}).test_framework == "node:test"
    )
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


def test_the_start_of_an_angular_application() -> None:
    """pnpm's workspace file beside a single package holds settings; its needs are the program's."""
    files = {
        "ui/package.json": '{"private": true, "dependencies": {"@angular/core": "22"}}',
        "ui/pnpm-workspace.yaml": "minimumReleaseAge: 1\n",
        "ui/angular.json": '{"build": {"options": {"browser": "src/main.ts"}}}',
        "ui/src/main.ts": "bootstrapApplication(App)\n",
        "pyproject.toml": '[project]\nname = "oar"\n',
        "uv.lock": "",
        "oar/a.py": "a = 1\n",
        "oar/b.py": "b = 1\n",
    }
    found = survey(files)
    assert found.manifest.entry_points == ("ui/src/main.ts",)
    assert found.manifest.build_system == "uv, pnpm"
    assert dependencies(found) == [("@angular/core", "runtime", "22")]
