"""Small hand-written manifests: manifests."""

from __future__ import annotations

from sutler.paths import RelPath
from sutler.scan.classify import classified
from sutler.scan.snapshot import FileEntry, Snapshot
from sutler.survey.manifest import survey_manifest
from sutler.survey.manifests import MAX_MANIFEST_BYTES, reader_of

from .surveying import dependencies, survey


def test_a_broken_manifest_is_its_own_problem() -> None:
    found = survey({"package.json": "{", "pyproject.toml": '[project]\nname = "ok"\n', "a.py": ""})
    assert found.manifest.project_name == "ok"
    assert [(problem.path, problem.kind) for problem in found.problems] == [
        ("package.json", "malformed")
    ]


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


def test_packages_that_a_zig_build_fetches() -> None:
    text = '.{ .name = .oar, .dependencies = .{ .row = .{ .url = "x", .hash = "y" }, // .old = .{\n }, }'
    assert dependencies(survey({"build.zig": "", "build.zig.zon": text})) == [
        ("row", "runtime", "")
    ]


def test_a_chart_has_its_own_description_and_no_roles_among_templates() -> None:
    files = {
        "oar/Chart.yaml": "name: oar\ndescription: Rows boats in a cluster\n",
        "oar/templates/requirements.yaml": "{{- if .Values.row }}\n",
        "README.md": "# Oar\n\nOar is a boat for everyone.\n",
    }
    entries = tuple(FileEntry(RelPath(path), len(text)) for path, text in sorted(files.items()))
    found = survey_manifest(classified(Snapshot(entries, (), ())), files, "oar-helm-chart")
    assert (found.manifest.purpose_guess, found.problems) == ("Rows boats in a cluster", ())


def test_reader_of_knows_patterns() -> None:
    assert reader_of("x/Foo.csproj") is not None
    assert reader_of("requirements/dev.txt") is not None
    assert reader_of("notes/dev.txt") is None
    assert reader_of("deep/requirements-dev.txt") is not None
    assert reader_of("main.py") is None
