"""Seed 004, row by row, through the public API and the front door: every type, category, reason,
exclusion pattern, limit, default and record.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

import sutler as api
from sutler.config import layer_from_table, resolve
from sutler.pack.documents import constraints_of
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import FileCategory, FileType, Importance
from sutler.survey.wire import (
    EntrypointType,
    ExclusionReason,
    FullPack,
    PackConstraints,
    RiskType,
    TruncationConfig,
)
from tests.conftest import Plant, Sutler

EXCLUDED = {
    "credentials": "a/x.pem x.key x.crt x.p12 a/.env.local .env credentials.json a/secrets.yml"
    " my_secret.txt my_token.txt x.keystore",
    "dependency_dir": "node_modules/a/i.js a/vendor/x.go .venv/x.py venv/x.py env/x.py"
    " __pypackages__/x.py packages/a/node_modules/x.js",
    "build_output": "dist/x.js build/x.js out/x.js target/x.rs .next/x.js .nuxt/x.js"
    " coverage/x.html",
    "cache": ".cache/x __pycache__/x.py a.pyc .pytest_cache/x .eslintcache .tsbuildinfo",
    "pattern_match": "dump.sql x.db x.sqlite3 x.log logs/x.txt .git/x .svn/x .hg/x",
    "binary": "x.exe x.dll x.so x.dylib x.wasm x.png x.jpg x.jpeg x.gif x.ico x.svg x.mp4 x.mp3"
    " x.pdf x.zip x.tar x.tar.bz2 x.gz",
}
PATTERN_ROWS = [(reason, path) for reason, paths in EXCLUDED.items() for path in paths.split()]


@pytest.mark.parametrize(("reason", "path"), PATTERN_ROWS, ids=[path for _, path in PATTERN_ROWS])
def test_each_default_exclusion_pattern(plant: Plant, reason: str, path: str) -> None:
    """A file of each row is left out, with the seed's reason; a pruned folder stands for what it
    holds.
    """
    snapshot = api.Project(plant({path: "text\n", "main.py": "x = 1\n"})).snapshot()
    reasons = {row.path: row.reason for row in snapshot.excluded_files}
    hits = [name for name in reasons if name == path or path.startswith(name.rstrip("/") + "/")]
    assert [reasons[name] for name in hits] == [reason]
    assert [row.relative_path for row in snapshot.files] == ["main.py"]


def test_size_limit_is_an_exclusion_reason(plant: Plant) -> None:
    """A file over the size rule is out by size_limit, and counted so."""
    settings = resolve([layer_from_table({"skip_over": 1_000}, "test")])
    folder = plant({"big.py": "x = 1\n" * 1_000, "main.py": "x\n"})
    snapshot = api.Project(folder, settings=settings).snapshot()
    assert [(row.path, row.reason) for row in snapshot.excluded_files] == [("big.py", "size_limit")]
    assert snapshot.exclusion_stats.by_size == 1


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (FileType, "text binary image data unknown"),
        (
            FileCategory,
            "config entrypoint auth api database test documentation build dependency source other",
        ),
        (
            ExclusionReason,
            "credentials binary size_limit pattern_match dependency_dir build_output cache",
        ),
        (Importance, "critical high medium"),
        (EntrypointType, "cli web api library script"),
        (RiskType, "security performance complexity coupling"),
    ],
    ids=["FileType", "FileCategory", "ExclusionReason", "Importance", "Entrypoint", "Risk"],
)
def test_each_union_has_the_seeds_words(shape: Any, words: str) -> None:
    """No word of the seed is missing; a word beyond it is one that is documented."""
    assert set(words.split()) <= set(get_args(shape))
    assert set(get_args(shape)) - set(words.split()) <= {"not_selected"}


@pytest.mark.parametrize(
    ("path", "kind", "category"),
    [
        ("package.json", "text", "config"),
        ("tsconfig.json", "text", "config"),
        ("src/main.ts", "text", "entrypoint"),
        ("index.js", "text", "entrypoint"),
        ("app.py", "text", "entrypoint"),
        ("src/auth.ts", "text", "auth"),
        ("login.js", "text", "auth"),
        ("routes.js", "text", "api"),
        ("user_controller.rb", "text", "api"),
        ("handlers.go", "text", "api"),
        ("models.py", "text", "database"),
        ("migrations/0001_initial.py", "text", "database"),
        ("queries.py", "text", "database"),
        ("tests/test_a.py", "text", "test"),
        ("README.md", "text", "documentation"),
        ("docs/guide.md", "text", "documentation"),
        ("dist/app.js", "text", "build"),
        ("node_modules/a/index.js", "text", "dependency"),
        ("lib/text.rb", "text", "source"),
        ("logo.png", "image", "other"),
        ("a.zip", "binary", "other"),
        ("x.sqlite3", "data", "other"),
    ],
)
def test_each_file_type_and_category(path: str, kind: str, category: str) -> None:
    """The examples beside each word of the seed."""
    facts = facts_of(path)
    assert (facts.type, facts.category) == (kind, category)


@pytest.mark.parametrize(
    ("shape", "defaults"),
    [
        (PackConstraints(), {"max_content_bytes": 500_000, "max_files": 200}),
        (PackConstraints(), {"prefer_summary": False, "provider_limits": {}}),
        (TruncationConfig(), {"max_file_bytes": 50_000, "max_total_bytes": 500_000}),
        (TruncationConfig(), {"preserve_head_lines": 100, "preserve_tail_lines": 50}),
        (TruncationConfig(), {"truncation_marker": "\n... [truncated] ...\n"}),
    ],
)
def test_each_default(shape: object, defaults: dict[str, Any]) -> None:
    """Limits and truncation as the seed writes them."""
    assert {name: getattr(shape, name) for name in defaults} == defaults


TREE = {
    "package.json": '{"name": "shop", "main": "index.js"}\n',
    "index.js": "const a = require('./lib/auth');\n",
    "lib/auth.js": "exports.login = (password) => password;\n",
    "README.md": "# Shop\n\nA shop for everyone.\n",
}


def texts_of(pack: FullPack) -> list[str]:
    """The texts that count for the total."""
    return [item.content for item in pack.contents] + [key.content for key in pack.key_files]


def test_contents_hold_all_extractable_text_and_key_files_repeat(plant: Plant) -> None:
    """Every text is in `contents`; what `key_files` repeats is the same text, and both count."""
    pack = api.Project(plant(TREE)).full_pack()
    texts = {item.path: item.content for item in pack.contents}
    assert texts == TREE
    assert {key.path for key in pack.key_files} >= {"package.json", "index.js"}
    assert all(key.content == texts[key.path] for key in pack.key_files)
    sizes = [len(text) for text in texts_of(pack)]
    assert pack.metadata.total_content_bytes == sum(sizes)
    assert pack.metadata.files_included == len(TREE)


@pytest.mark.parametrize("room", [10, 60, 100, 150, 200, 1_000])
def test_copies_of_key_files_stay_within_the_total(plant: Plant, room: int) -> None:
    """No total is exceeded; no key file is missing in `contents`; with room for all texts once, all
    are there.
    """
    pack = api.Project(plant(TREE)).full_pack(PackConstraints(max_content_bytes=room))
    sizes = [len(text) for text in texts_of(pack)]
    paths = {item.path for item in pack.contents}
    assert pack.metadata.total_content_bytes == sum(sizes) <= room
    assert {key.path for key in pack.key_files} <= paths
    assert room < sum(map(len, TREE.values())) or paths == set(TREE)


@pytest.mark.parametrize("kind", ["full", "summary"])
@pytest.mark.parametrize("format", ["json", "msgpack"])
def test_receipt_and_pack_agree(
    plant: Plant, sutler: Sutler, tmp_path: Path, kind: str, format: str
) -> None:
    """`context_pack_info` states the figures of the pack's own metadata."""
    folder = plant({**TREE, ".env": "A=1\n", "logo.png": b"\x89PNG\r\n\x1a\n\0"})
    receipt, out = tmp_path / "receipt.json", tmp_path / "pack"
    words = ["--type", kind, "-f", format, "-o", str(out), "--receipt", str(receipt)]
    assert sutler("pack", *words, cwd=folder).code == 0
    info = json.loads(receipt.read_bytes())["context_pack_info"]
    metadata = api.deserialize(out.read_bytes()).metadata
    assert info["type"] == metadata.pack_type == kind
    assert info["content_bytes"] == metadata.total_content_bytes
    assert info["files_scanned"] == metadata.total_files_scanned
    assert info["files_included"] == metadata.files_included
    assert info["files_excluded"] == metadata.files_excluded
    assert info["exclusions_by_reason"]["credentials"] == 1
    assert set(info) == {
        "type",
        "selection_reason",
        "files_scanned",
        "files_included",
        "files_excluded",
        "exclusions_by_reason",
        "content_bytes",
        "truncated_files",
    }


@pytest.mark.parametrize("format", ["json", "msgpack"])
def test_a_full_document_can_be_unpacked(
    plant: Plant, sutler: Sutler, tmp_path: Path, format: str
) -> None:
    """Both wire formats give the files back; a summary is refused with the reason."""
    folder = plant(TREE)
    out = tmp_path / "pack"
    sutler("pack", "--type", "full", "-f", format, "-o", str(out), cwd=folder)
    assert sutler("unpack", str(out), "-d", "back").code == 0
    back = {path: (tmp_path / "back" / path).read_text() for path in TREE}
    assert back == TREE
    sutler("pack", "--type", "summary", "-f", format, "-o", str(out), cwd=folder)
    ran = sutler("unpack", str(out), "-d", "again")
    assert (ran.code, "a summary cannot be unpacked" in ran.err) == (2, True)


def test_selection_measures_what_would_be_packed(plant: Plant) -> None:
    """A file of which 150 lines are shown counts with these; one that is no text counts nothing."""
    long, blob = "x = 1\n" * 20_000, b"\0\1" * 40_000
    folder = plant({"long.py": long, "data.dat": blob, "noise.txt": blob})
    kind, reason = api.Project(folder).select_pack(PackConstraints(max_content_bytes=2_000))
    assert (kind, "an estimated 914" in reason) == ("full", True)
    assert api.Project(folder).select_pack(PackConstraints(max_content_bytes=800))[0] == "summary"


@pytest.mark.parametrize(
    ("data", "text", "issues"),
    [
        ("gr\u00fcn\n".encode(), "gr\u00fcn\n", 0),
        ("gr\u00fcn\n".encode("utf-16"), "gr\u00fcn\n", 0),
        ("gr\u00fcn\n".encode("latin-1"), "gr\u00fcn\n", 1),
        ("gr\u00fcn ".encode() + b"\xff\xfe \x81\n", None, 1),
    ],
    ids=["utf-8", "utf-16", "latin-1", "broken"],
)
def test_each_encoding_row(plant: Plant, data: bytes, text: str | None, issues: int) -> None:
    """UTF-8 first, then the fallbacks; a guess and what cannot be decoded are logged."""
    pack = api.Project(plant({"a.txt": data})).full_pack()
    assert len(pack.metadata.encoding_issues) == issues
    if text is not None:
        assert pack.contents[0].content == text


def test_undecodable_files_can_be_skipped(plant: Plant) -> None:
    """`on_decode_error: skip` leaves the file out."""
    settings = resolve([layer_from_table({"on_decode_error": "skip"}, "test")])
    folder = plant({"a.txt": "gr\u00fcn ".encode() + b"\xff\xfe \x81\n", "b.txt": "b\n"})
    pack = api.Project(folder, settings=settings).full_pack()
    assert [item.path for item in pack.contents] == ["b.txt"]


def test_provider_limits_bind(plant: Plant) -> None:
    """A provider's limit is a limit on a full pack as well as a reason for a summary."""
    project = api.Project(plant(TREE))
    small = PackConstraints(provider_limits={"small": 90})
    assert project.select_pack(small) == (
        "summary",
        "estimated 139 bytes exceed the limit for provider small of 90",
    )
    assert project.full_pack(small).metadata.total_content_bytes <= 90
    settings = resolve([layer_from_table({"provider_limits": ["small=90"]}, "test")])
    assert constraints_of(settings).provider_limits == {"small": 90}


def test_building_steps_of_a_summary(plant: Plant) -> None:
    """Manifest and index as in full; overview, key files, entry points, hotspots, metadata."""
    tree = {**TREE, "lib/run.js": "exports.run = (text) => {\n  return eval(text);\n};\n"}
    project = api.Project(plant(tree))
    full, summary = project.full_pack(), project.summary_pack()
    assert summary.manifest == full.manifest
    assert [row.path for row in summary.file_index] == [row.path for row in full.file_index]
    assert "A shop for everyone." in summary.repo_summary.description
    assert "lib/auth.js" in [item.path for item in summary.key_files_summary]
    assert [item.path for item in summary.entrypoints] == ["index.js"]
    assert [(item.path, item.risk_type) for item in summary.risk_hotspots] == [
        ("lib/run.js", "security")
    ]
    assert summary.metadata.pack_type == "summary"


def test_a_snapshot_states_totals_and_relative_roots(plant: Plant) -> None:
    """Counts (folders with the root), sizes and the tree agree; no path of the machine is in it."""
    folder = plant(TREE)
    snapshot = api.Project(folder).snapshot()
    assert (snapshot.total_files, snapshot.total_directories) == (4, 2)
    assert snapshot.total_size_bytes == sum(map(len, TREE.values()))
    assert [node.name for node in snapshot.directory_tree.children or ()] == [
        "README.md",
        "index.js",
        "lib",
        "package.json",
    ]
    assert str(folder.parent) not in api.serialize(snapshot).decode()
