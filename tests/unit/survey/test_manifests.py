"""Small hand-written manifests: manifests."""

from __future__ import annotations

from sutler.survey.manifests import MAX_MANIFEST_BYTES, reader_of

from .surveying import survey


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


def test_reader_of_knows_patterns() -> None:
    assert reader_of("x/Foo.csproj") is not None
    assert reader_of("requirements/dev.txt") is not None
    assert reader_of("notes/dev.txt") is None
    assert reader_of("deep/requirements-dev.txt") is not None
    assert reader_of("main.py") is None
