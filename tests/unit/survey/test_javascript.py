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
