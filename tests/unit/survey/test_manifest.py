"""Small hand-written manifests: project."""

from __future__ import annotations

from msgspec import UNSET

from .surveying import dependencies, survey


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
    assert (manifest.project_name, manifest.project_type, manifest.build_system) == (
        "folder",
        "go",
        UNSET,
    )
    empty = survey({}).manifest
    assert (empty.project_type, empty.structure_summary, empty.dependencies) == ("unknown", "", ())


def test_structure_summary_counts_top_folders() -> None:
    found = survey({"src/a.py": "", "src/b.py": "", "docs/x.md": "", "README": ""})
    assert (
        found.manifest.structure_summary
        == "src/ 2 files (python); docs/ 1 file (markdown); 1 at the root"
    )
