from __future__ import annotations

import pytest
from msgspec import UNSET

from sutler.formats.document import CleanText
from sutler.paths import RelPath
from sutler.scan.snapshot import Excluded, FileEntry, Problem, Rule, Snapshot
from sutler.survey.packs import (
    Material,
    build_full,
    build_summary,
    select_pack,
    truncate,
)
from sutler.survey.wire import PackConstraints, TruncationConfig

FILES = {
    "pyproject.toml": '[project]\nname = "demo"\ndescription = "A demo."\ndependencies = ["flask>=3"]\n',
    "app.py": "from flask import Flask\napp = Flask(__name__)\n\n@app.route('/users')\ndef users():\n"
    "    return eval('1')\n",
    "shop/auth.py": '"""Checks who you are."""\n\ndef login(name):\n    return name\n',
    "shop/util.py": "def helper():\n    pass\n",
    "tests/test_app.py": "import pytest\n",
    "README.md": "# Demo\n\nDemo shows how.\n",
}
EXCLUDED = (
    Excluded(".env", "credentials", Rule("default", "**/.env*")),
    Excluded("logo.png", "binary", Rule("default", "**/*.png")),
    Excluded("node_modules/", "dependency_dir", Rule("default", "**/node_modules/**"), 12),
)


def snapshot(files: dict[str, str]) -> Snapshot:
    entries = tuple(
        FileEntry(RelPath(path), len(text.encode())) for path, text in sorted(files.items())
    )
    return Snapshot(entries, EXCLUDED, ())


def material(files: dict[str, str], order: tuple[str, ...] = ()) -> Material:
    texts = {path: CleanText(text) for path, text in files.items()}
    return Material(
        snapshot=snapshot(files),
        texts=texts,
        root="/home/me/demo",
        created_at="2026-01-01T00:00:00Z",
        digests={path: f"sha-{path}" for path in files},
        order=order,
        problems=(Problem("x.txt", "undecodable", "latin-1 assumed"),),
    )


def test_full_pack_shows_every_text_and_repeats_key_files() -> None:
    pack = build_full(material(FILES))
    assert [item.path for item in pack.contents] == sorted(FILES)
    assert [(key.path, key.importance) for key in pack.key_files] == [
        ("pyproject.toml", "critical"),
        ("app.py", "critical"),
        ("shop/auth.py", "high"),
    ]
    assert pack.metadata.files_included == 6
    repeated = sum(len(FILES[key.path]) for key in pack.key_files)
    assert pack.metadata.total_content_bytes == repeated + sum(map(len, FILES.values()))
    assert pack.metadata.encoding_issues == ("x.txt: latin-1 assumed",)
    assert not pack.metadata.truncation_applied


def test_full_pack_index_names_what_is_left_out() -> None:
    index = {row.path: row for row in build_full(material(FILES)).file_index}
    assert (index["app.py"].included, index["app.py"].exclusion_reason, index["app.py"].digest) == (
        True,
        UNSET,
        "sha-app.py",
    )
    assert (index[".env"].included, index[".env"].exclusion_reason) == (False, "credentials")
    assert "node_modules/" not in index


def test_a_short_budget_keeps_key_files_then_the_given_order() -> None:
    files = {"main.py": "m" * 100, "a.py": "a" * 100, "b.py": "b" * 100, "c.py": "c" * 100}
    pack = build_full(
        material(files, order=("c.py", "b.py")), PackConstraints(max_content_bytes=350)
    )
    assert [key.path for key in pack.key_files] == ["main.py"]
    assert [item.path for item in pack.contents] == ["c.py", "main.py"]
    assert pack.metadata.truncation_applied
    row = next(row for row in pack.file_index if row.path == "a.py")
    assert (row.included, row.exclusion_reason) == (False, "size_limit")


def test_lock_and_generated_files_come_last() -> None:
    files = {"Cargo.lock": "l" * 100, "a.min.js": "m" * 100, "z.py": "z" * 100}
    pack = build_full(material(files), PackConstraints(max_content_bytes=150))
    assert [item.path for item in pack.contents] == ["z.py"]


def test_files_that_were_not_read_are_not_included() -> None:
    stuff = material(FILES)
    part = Material(snapshot=stuff.snapshot, texts={"app.py": stuff.texts["app.py"]})
    assert build_full(part).metadata.files_included == 1


def test_summary_pack_holds_facts() -> None:
    pack = build_summary(material(FILES))
    assert pack.manifest.project_name == "demo"
    assert [(item.path, item.type, item.routes_or_commands) for item in pack.entrypoints] == [
        ("app.py", "api", ("/users",))
    ]
    assert pack.risk_hotspots[0].indicators == ("eval of a string in users (line 6)",)
    auth = next(item for item in pack.key_files_summary if item.path == "shop/auth.py")
    assert (auth.summary, auth.exports) == ("Checks who you are. (1 function, 4 lines)", ("login",))
    assert "A demo." in pack.repo_summary.description
    assert pack.metadata.pack_type == "summary"
    assert "return name" not in repr(pack)


@pytest.mark.parametrize(
    ("constraints", "chosen", "says"),
    [
        (PackConstraints(), "full", "within every limit"),
        (PackConstraints(prefer_summary=True), "summary", "prefer_summary"),
        (PackConstraints(max_content_bytes=100), "summary", "exceed max_content_bytes of 100"),
        (PackConstraints(max_files=5), "summary", "6 files exceed max_files of 5"),
        (
            PackConstraints(provider_limits={"a": 10**6, "tiny": 50}),
            "summary",
            "provider tiny of 50",
        ),
    ],
)
def test_selection(constraints: PackConstraints, chosen: str, says: str) -> None:
    kind, reason = select_pack(snapshot(FILES), constraints)
    assert kind == chosen
    assert says in reason


def test_truncate_keeps_head_and_tail_lines() -> None:
    text = "\n".join(f"line {n}" for n in range(1, 10_001))
    shown, cut = truncate(text)
    lines = shown.split("\n")
    assert cut
    assert (lines[0], lines[99], lines[100], lines[101], lines[-1]) == (
        "line 1",
        "line 100",
        "... [truncated] ...",
        "line 9951",
        "line 10000",
    )


@pytest.mark.parametrize(
    "text", ["x" * 200_000, "é" * 100_000, "\n" * 100_000, "a\n" * 60 + "😀" * 40_000]
)
@pytest.mark.parametrize("limit", [0, 1, 10, 30, 1_000, 50_000])
def test_truncate_never_exceeds_the_byte_limit(text: str, limit: int) -> None:
    shown, cut = truncate(text, TruncationConfig(max_file_bytes=limit))
    assert cut
    assert len(shown.encode()) <= limit


def test_truncate_with_no_tail() -> None:
    shown, _ = truncate(
        "a\n" * 100,
        TruncationConfig(max_file_bytes=50, preserve_head_lines=2, preserve_tail_lines=0),
    )
    assert shown == "a\na\n... [truncated] ...\n"


def test_a_path_that_is_not_utf8_is_quoted_on_the_wire() -> None:
    pack = build_full(material({"caf\udce9.py": "x"}))
    assert pack.contents[0].path == '"caf\\351.py"'
