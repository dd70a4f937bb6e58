from __future__ import annotations

from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import FileEntry
from sutler.survey.code import code_facts
from sutler.survey.manifest import Surveyed, survey_manifest
from sutler.survey.repository import key_file_summary, repo_summary
from sutler.survey.wire import EntrypointSummary, RepoSummary


def summary(files: dict[str, str], starts: tuple[EntrypointSummary, ...] = ()) -> RepoSummary:
    entries = [
        (FileEntry(RelPath(path), len(text)), facts_of(path))
        for path, text in sorted(files.items())
    ]
    surveyed: Surveyed = survey_manifest(entries, files, "thing")
    return repo_summary(entries, surveyed, starts)


def test_a_repository_in_facts() -> None:
    files = {
        "pyproject.toml": '[project]\nname = "thing"\ndescription = "Does it."\ndependencies = ["flask", "obscure"]\n',
        "src/thing/__init__.py": "",
        "src/thing/py.typed": "",
        "tests/test_a.py": "import pytest",
        ".github/workflows/ci.yml": "",
        "Dockerfile": "",
    }
    found = summary(files)
    assert found.description.split("\n\n")[0] == "thing: Does it."
    assert found.key_technologies == ("python", "pytest", "flask")
    assert found.notable_patterns == (
        "GitHub Actions",
        "container image",
        "ships type information",
        "src layout",
        "1 test files to 1 code files",
    )
    assert found.potential_concerns == ("no README at the root", "no licence file at the root")


def test_architecture_is_named_only_when_the_tree_shows_it() -> None:
    assert summary({"a.py": ""}).architecture_pattern == ""
    mvc = {f"app/{folder}/x.rb": "" for folder in ("models", "views", "controllers")}
    assert summary(mvc).architecture_pattern == "MVC"
    services = {f"svc/{name}/Dockerfile": "" for name in "abc"}
    assert summary(services).architecture_pattern == "services (3 images)"
    both = {"frontend/a.ts": "", "backend/b.py": ""}
    assert summary(both).architecture_pattern == "client and server"
    space = {
        "package.json": '{"workspaces": ["p/*"]}',
        "p/a/package.json": '{"name": "a"}',
        "p/b/package.json": '{"name": "b"}',
    }
    assert summary(space).architecture_pattern == "workspace of 2 packages"
    start = EntrypointSummary("main.py", "web")
    assert (
        summary({"main.py": "", "requirements.txt": "flask"}, (start,)).architecture_pattern
        == "web application"
    )


def test_concerns_name_what_is_missing_or_broken() -> None:
    found = summary(
        {
            "package.json": '{"private": true, "dependencies": {"a": "1"}}',
            "composer.json": "{",
            "big.js": "x" * 200_000,
        }
    )
    assert found.potential_concerns == (
        "no test files",
        "no README at the root",
        "no licence file at the root",
        "dependencies without a lock file",
        "large source file: big.js (200,000 bytes)",
        "composer.json: not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    )


def test_concerns_know_the_usual_variants() -> None:
    found = summary(
        {
            "Cargo.toml": '[package]\nname = "x"\ndescription = "Does it."\n',
            "LICENSE-MIT": "x",
            "README.adoc": "x",
            "tests/a.rs": "",
            "package.json": '{"dependencies": {"a": "1"}}',
        }
    )
    assert found.potential_concerns == ()


def test_a_key_file_without_its_text() -> None:
    text = (
        '"""Serves."""\n@app.get("/x")\ndef x():\n    pass  # TODO\n\ndef long():\n'
        + "    pass\n" * 70
        + 'if __name__ == "__main__":\n    x()\n'
    )
    pair = (FileEntry(RelPath("app.py"), len(text)), facts_of("app.py"))
    found = key_file_summary(pair, text, code_facts("a.py", text))
    assert found.summary == "Serves. (2 functions, 78 lines)"
    assert found.notable_code == (
        "route GET /x",
        "runs as a script",
        "function long (lines 6-76)",
        "1 TODO or FIXME mark",
    )
