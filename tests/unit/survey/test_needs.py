from __future__ import annotations

from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import FileEntry
from sutler.survey.needs import MAX_CODE, Needs, survey_needs


def needs(sizes: dict[str, int], code: bool = True) -> Needs:
    entries = [
        (FileEntry(RelPath(path), size), facts_of(path)) for path, size in sorted(sizes.items())
    ]
    return survey_needs(entries, code=code)


def test_manifests_readme_key_files_sources_and_tests() -> None:
    sizes = {
        "package.json": 10,
        "README.md": 10,
        "docs/README.md": 10,
        "src/main.ts": 10,
        "src/util.ts": 10,
        "src/util.test.ts": 300,
        "node_modules/x/package.json": 10,
        "logo.png": 10,
        "data.csv": 10,
    }
    assert needs(sizes).paths == (
        "README.md",
        "package.json",
        "src/main.ts",
        "src/util.test.ts",
        "src/util.ts",
    )
    assert "src/util.ts" not in needs(sizes, code=False).paths


def test_only_the_largest_sources_are_read() -> None:
    found = needs({f"s{n:03}.py": 100 + n for n in range(200)}).paths
    assert len(found) == MAX_CODE
    assert found[0] == "s140.py"


def test_large_files_are_not_read() -> None:
    found = needs({"huge.py": 10**9, "Cargo.toml": 3_000_000})
    assert found.paths == ()
    assert [problem.path for problem in found.problems] == ["Cargo.toml"]
