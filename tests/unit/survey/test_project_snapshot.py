from __future__ import annotations

from msgspec import UNSET

from sutler.paths import RelPath
from sutler.scan.snapshot import Excluded, FileEntry, Rule, Snapshot
from sutler.survey.project_snapshot import project_snapshot


def snap(*paths: str) -> Snapshot:
    entries = tuple(FileEntry(RelPath(path), 10) for path in paths)
    excluded = (
        Excluded("k.pem", "credentials", Rule("default", "**/*.pem")),
        Excluded("x.png", "binary", Rule("default", "**/*.png")),
        Excluded("big.txt", "size_limit", Rule("limit", "1 MB")),
        Excluded("dist/", "build_output", Rule("default", "**/dist/**"), 7),
        Excluded("b.tmp", "ignored", Rule(".gitignore", "*.tmp", 3)),
    )
    return Snapshot(entries, excluded, ())


def test_snapshot_fields() -> None:
    shown = project_snapshot(
        snap("a/b/main.py", "README.md"), "C:\\srv\\demo\\", "2026-01-01T00:00:00Z"
    )
    assert (shown.root_path, shown.scan_timestamp) == ("/srv/demo", "2026-01-01T00:00:00Z")
    assert (shown.total_files, shown.total_directories, shown.total_size_bytes) == (2, 2, 20)
    stats = shown.exclusion_stats
    assert (stats.by_pattern, stats.by_size, stats.by_binary, stats.by_credentials) == (8, 1, 1, 1)
    main = shown.files[0]
    assert (main.path, main.relative_path, main.name, main.extension) == (
        "/srv/demo/a/b/main.py",
        "a/b/main.py",
        "main.py",
        "py",
    )
    assert (main.is_key_file, main.content_extractable, main.category) == (True, True, "entrypoint")


def test_excluded_files_have_the_seeds_reason_and_our_detail() -> None:
    shown = project_snapshot(snap(), "demo").excluded_files[-1]
    assert (shown.reason, shown.detail, shown.rule) == (
        "pattern_match",
        "ignored",
        ".gitignore:3: *.tmp",
    )


def test_the_tree_nests_and_sorts() -> None:
    tree = project_snapshot(snap("b.py", "a/z.py", "a/b/c.py"), "demo").directory_tree
    assert tree.name == "demo"
    assert tree.children is not UNSET
    assert [(node.name, node.path) for node in tree.children] == [("a", "a"), ("b.py", "b.py")]
    folder = tree.children[0]
    assert folder.children is not UNSET
    assert [node.name for node in folder.children] == ["b", "z.py"]
    assert (tree.children[1].size_bytes, tree.children[1].type, tree.children[1].children) == (
        10,
        "text",
        UNSET,
    )
