"""Seed 004, section by section: snapshots, full and summary packs, selection, key files,
truncation, wire.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

import sutler
from sutler.formats.document import CleanText
from sutler.pack.serial import deserialize, serialize
from sutler.paths import RelPath, normalize_path
from sutler.scan.classify import classified, facts_of
from sutler.scan.snapshot import Excluded, FileEntry, Rule, Snapshot
from sutler.scan.structured import MAX_YAML_CHARS
from sutler.survey.keys import KeyLimits, key_files
from sutler.survey.manifest import survey_manifest
from sutler.survey.needs import survey_needs
from sutler.survey.packs import (
    Material,
    build_full,
    build_summary,
    select_pack,
    truncate,
)
from sutler.survey.project_snapshot import project_snapshot
from sutler.survey.wire import PackConstraints, TruncationConfig

FILES = {
    "package.json": '{"name": "shop", "description": "Sells.", "main": "index.js", '
    '"dependencies": {"express": "4"}, "devDependencies": {"jest": "29"}}',
    "index.js": "const app = require('express')();\napp.get('/api/items', list);\n",
    "lib/auth.js": "exports.login = () => {};\n",
    "lib/models/item.js": "module.exports = class Item {};\n",
    "README.md": "# Shop\n\nA shop for everyone. More.\n",
    "test/app.test.js": "test('x', () => {});\n",
}
EXCLUDED = (
    Excluded(".env", "credentials", Rule("default", "**/.env*")),
    Excluded("big.sql", "size_limit", Rule("limit", "10 MB")),
    Excluded("logo.png", "binary", Rule("default", "**/*.png")),
    Excluded("node_modules/", "dependency_dir", Rule("default", "**/node_modules/**"), 900),
)


def snap(files: dict[str, str]) -> Snapshot:
    entries = tuple(
        FileEntry(RelPath(path), len(text.encode())) for path, text in sorted(files.items())
    )
    return Snapshot(entries, EXCLUDED, ())


def material(files: dict[str, str]) -> Material:
    return Material(
        snapshot=snap(files),
        texts={path: CleanText(text) for path, text in files.items()},
        root="/p/shop",
    )


def keys(document: object) -> set[str]:
    return set(json.loads(msgspec.json.encode(document)))


def test_project_snapshot_has_the_seeds_fields() -> None:
    """Location, structure, metadata, exclusions and their statistics, by the seed's names."""
    shown = project_snapshot(snap(FILES), "/p/shop", "2026-01-01T00:00:00Z")
    assert keys(shown) == {
        "root_path",
        "scan_timestamp",
        "directory_tree",
        "total_files",
        "total_directories",
        "total_size_bytes",
        "files",
        "excluded_files",
        "exclusion_stats",
        "schema_version",
    }
    assert keys(shown.files[0]) == {
        "path",
        "relative_path",
        "name",
        "extension",
        "size_bytes",
        "type",
        "category",
        "is_key_file",
        "content_extractable",
    }
    assert keys(shown.directory_tree) == {"name", "path", "children"}
    assert {"path", "reason"} <= keys(shown.excluded_files[0])
    assert json.loads(msgspec.json.encode(shown.exclusion_stats)) == {
        "by_pattern": 900,
        "by_size": 1,
        "by_binary": 1,
        "by_credentials": 1,
    }


def test_full_pack_has_the_seeds_fields() -> None:
    """Type, manifest, file index, key files, contents, metadata."""
    pack = build_full(material(FILES))
    plain = json.loads(serialize(pack))
    assert set(plain) == {
        "type",
        "manifest",
        "file_index",
        "key_files",
        "contents",
        "metadata",
        "schema_version",
    }
    assert plain["type"] == "full"
    assert set(plain["manifest"]) == {
        "project_name",
        "project_type",
        "purpose_guess",
        "structure_summary",
        "dependencies",
        "entry_points",
        "build_system",
        "test_framework",
    }
    assert set(plain["key_files"][0]) == {"path", "category", "importance", "content", "truncated"}
    assert set(plain["contents"][0]) == {"path", "content", "truncated", "original_size_bytes"}
    assert {
        "pack_type",
        "created_at",
        "source_root",
        "total_files_scanned",
        "files_included",
        "files_excluded",
        "total_content_bytes",
        "truncation_applied",
    } <= set(plain["metadata"])


def test_manifest_is_read_from_the_projects_own_files() -> None:
    """Name, type, purpose, dependencies with version and kind, entry points, build system, test
    framework.
    """
    manifest = build_full(material(FILES)).manifest
    assert (manifest.project_name, manifest.project_type, manifest.purpose_guess) == (
        "shop",
        "node",
        "Sells.",
    )
    assert [(item.name, item.type, item.version) for item in manifest.dependencies] == [
        ("express", "runtime", "4"),
        ("jest", "dev", "29"),
    ]
    assert manifest.entry_points == ("index.js",)
    assert (manifest.build_system, manifest.test_framework) == ("npm", "jest")


def test_purpose_comes_from_the_readme_when_no_manifest_says() -> None:
    """The README's first sentence, and no invented one."""
    files = {"README.md": FILES["README.md"], "a.js": ""}
    assert build_full(material(files)).manifest.purpose_guess == "A shop for everyone."
    assert build_full(material({"a.js": ""})).manifest.purpose_guess == ""


def test_summary_pack_has_the_seeds_fields() -> None:
    """Manifest and index as in full; repository, key files, entry points and hotspots in
    summary.
    """
    plain = json.loads(serialize(build_summary(material(FILES))))
    assert set(plain) == {
        "type",
        "manifest",
        "file_index",
        "repo_summary",
        "key_files_summary",
        "entrypoints",
        "risk_hotspots",
        "metadata",
        "files",  # beyond the seed: outlines of the most used files
        "schema_version",
    }
    assert set(plain["repo_summary"]) == {
        "description",
        "architecture_pattern",
        "key_technologies",
        "notable_patterns",
        "potential_concerns",
    }
    assert set(plain["key_files_summary"][0]) == {
        "path",
        "category",
        "summary",
        "exports",
        "dependencies",
        "notable_code",
    }
    assert plain["entrypoints"] == [
        {
            "path": "index.js",
            "type": "api",
            "description": "",
            "routes_or_commands": ["GET /api/items"],
        }
    ]


def test_summary_and_full_share_manifest_and_index_paths() -> None:
    """ "Same as Full" holds for both."""
    full, summary = build_full(material(FILES)), build_summary(material(FILES))
    assert full.manifest == summary.manifest
    assert [row.path for row in full.file_index] == [row.path for row in summary.file_index]


def test_pack_constraints_defaults() -> None:
    """500 KB, 200 files."""
    assert (PackConstraints().max_content_bytes, PackConstraints().max_files) == (500_000, 200)


@pytest.mark.parametrize(
    ("files", "constraints", "chosen"),
    [
        (3, PackConstraints(prefer_summary=True), "summary"),
        (3, PackConstraints(max_content_bytes=299), "summary"),
        (3, PackConstraints(max_content_bytes=300), "full"),
        (201, PackConstraints(), "summary"),
        (200, PackConstraints(), "full"),
        (3, PackConstraints(provider_limits={"small": 299, "large": 10**9}), "summary"),
        (3, PackConstraints(provider_limits={"large": 10**9}), "full"),
    ],
)
def test_selection_logic(files: int, constraints: PackConstraints, chosen: str) -> None:
    """prefer_summary, then the size estimate against every limit, then the file count, else
    full.
    """
    shown = snap({f"f{n}.py": "x" * 100 for n in range(files)})
    assert select_pack(shown, constraints)[0] == chosen


def test_key_file_detection_criteria() -> None:
    """Config and entry points are critical; auth, API, database and security are high."""
    expected = {
        "package.json": "critical",
        "tsconfig.json": "critical",
        "pyproject.toml": "critical",
        "src/main.go": "critical",
        "index.ts": "critical",
        "app.rb": "critical",
        "server.js": "critical",
        "user_auth.py": "high",
        "login.ts": "high",
        "session_store.go": "high",
        "jwt.py": "high",
        "routes.js": "high",
        "user_controller.rb": "high",
        "handler.go": "high",
        "api.py": "high",
        "user_model.py": "high",
        "schema.graphql": "high",
        "migration_1.sql": "high",
        "permissions.py": "high",
        "rbac.go": "high",
        "acl.ts": "high",
    }
    assert {path: facts_of(path).importance for path in expected} == expected


def test_key_file_limits() -> None:
    """Five a category, twenty-five in all, 50,000 bytes each; of files that matter alike the
    smaller, then the shallower.
    """
    assert KeyLimits() == KeyLimits(
        max_per_category=5, max_total=25, max_content_per_file_bytes=50_000
    )
    files = {f"d{n}/main.py": "x" * (10 + n) for n in range(9)} | {
        "main.py": "x" * 10,
        "auth.py": "y",
    }
    found = [entry.path for entry, _ in key_files(classified(snap(files)), dict.fromkeys(files, 1))]
    assert found == ["auth.py", "main.py", "d0/main.py", "d1/main.py", "d2/main.py", "d3/main.py"]


def test_truncation_defaults_and_strategy() -> None:
    """50 KB a file, 500 KB in all, 100 head lines, marker, 50 tail lines, `truncated: true`."""
    cut = TruncationConfig()
    assert (
        cut.max_file_bytes,
        cut.max_total_bytes,
        cut.preserve_head_lines,
        cut.preserve_tail_lines,
    ) == (
        50_000,
        500_000,
        100,
        50,
    )
    text = "\n".join(f"l{n:05}" for n in range(20_000))
    shown, was_cut = truncate(text)
    head, tail = shown.split(cut.truncation_marker)
    assert was_cut
    assert (head.count("\n"), tail.count("\n")) == (99, 49)
    pack = build_full(material({"long.py": text}))
    assert pack.contents[0].truncated
    assert pack.metadata.truncation_applied


def test_the_total_limit_holds() -> None:
    """No pack carries more than max_total_bytes of text."""
    pack = build_full(
        material({f"f{n:02}.py": "x" * 49_000 for n in range(30)}),
        PackConstraints(max_content_bytes=10**9),
    )
    assert pack.metadata.total_content_bytes <= 500_000
    assert pack.metadata.total_content_bytes == sum(len(item.content) for item in pack.contents)


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("C:\\proj\\src\\a.ts", "/proj/src/a.ts"),
        ("src\\a.ts", "src/a.ts"),
        ("src/a.ts", "src/a.ts"),
        ("./src//a.ts", "src/a.ts"),
        ("\\\\?\\C:\\x\\y", "/x/y"),
    ],
)
def test_normalize_path(raw: str, plain: str) -> None:
    """Backslashes become slashes, drive letters go, separators are one."""
    assert normalize_path(raw) == plain


def test_windows_and_posix_spellings_of_one_tree_give_the_same_pack() -> None:
    """A snapshot spelled the Windows way packs to the very same bytes."""
    posix = material(FILES)
    spelled = {e.path.replace("/", "\\"): e.size for e in posix.snapshot.entries}
    entries = tuple(
        FileEntry(RelPath(normalize_path(path)), size) for path, size in spelled.items()
    )
    windows = Material(
        snapshot=Snapshot(entries, EXCLUDED, ()),
        texts={normalize_path(path.replace("/", "\\")): text for path, text in posix.texts.items()},
        root="C:\\p\\shop",
    )
    assert serialize(build_full(windows)) == serialize(build_full(posix))
    assert serialize(build_summary(windows)) == serialize(build_summary(posix))


def test_serializer_both_ways() -> None:
    """JSON by default, MessagePack smaller; both come back equal."""
    pack = build_full(material(FILES))
    assert deserialize(serialize(pack)) == pack == deserialize(serialize(pack, "msgpack"))
    assert len(serialize(pack, "msgpack")) < len(serialize(pack))


def test_a_200_mb_manifest_is_not_read() -> None:
    """Its size alone makes it a problem; the survey does not ask for its text."""
    entries = [(FileEntry(RelPath("package.json"), 200_000_000), facts_of("package.json"))]
    needs = survey_needs(entries)
    assert (needs.paths, [(item.path, item.kind) for item in needs.problems]) == (
        (),
        [("package.json", "too_large")],
    )
    assert survey_manifest(entries, {}, "x").manifest.build_system is UNSET


def test_a_yaml_bomb_is_a_recorded_problem() -> None:
    """Aliases that expand to billions of nodes are seen before they expand."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True):
        bomb += f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    assert len(bomb) < MAX_YAML_CHARS
    files = {"pnpm-workspace.yaml": bomb, "package.json": '{"name": "ok"}'}
    entries = [
        (FileEntry(RelPath(path), len(text)), facts_of(path)) for path, text in files.items()
    ]
    surveyed = survey_manifest(entries, files, "x")
    assert surveyed.manifest.project_name == "ok"
    assert [(item.path, item.kind) for item in surveyed.problems] == [
        ("pnpm-workspace.yaml", "malformed")
    ]


def test_the_usage_example_runs_with_the_seeds_names(tmp_path: Path) -> None:
    """Scan, select, build and serialise by the class names of the seed."""
    (tmp_path / "main.py").write_text("print(1)\n")
    snapshot = sutler.SnapshotScanner().scan(tmp_path)
    assert snapshot.total_files == 1
    constraints = sutler.PackConstraints(max_content_bytes=500_000, max_files=200)
    assert sutler.PackSelector().select(snapshot, constraints) == "full"
    for builder in (sutler.FullPackBuilder(), sutler.SummaryPackBuilder()):
        pack = builder.build(snapshot, constraints)
        text = sutler.PackSerializer().serialize(pack)
        assert sutler.PackSerializer().deserialize(text) == pack
