from __future__ import annotations

from sutler.pack.diff import diff_packs, pack_digests, verify
from sutler.survey.wire import (
    FileContent,
    FileIndexEntry,
    FullPack,
    KeyFile,
    KeyFileSummary,
    Manifest,
    PackMetadata,
    RepoSummary,
    SummaryPack,
)
from sutler.tasks.wire import Constraints, ContextDoc, ContextFile, ContextPack, TaskInfo

META = PackMetadata("full", "", "", 0, 0, 0, 0, False)


def row(path: str, digest: str, included: bool = True) -> FileIndexEntry:
    if included:
        return FileIndexEntry(path, "text", "source", 1, True, digest=digest)
    return FileIndexEntry(path, "text", "source", 1, False, "size_limit", digest)


def full(rows: list[FileIndexEntry], *contents: FileContent) -> FullPack:
    return FullPack(Manifest("x", "python"), tuple(rows), (), contents, META)


def test_entered_left_and_changed() -> None:
    before = full(
        [
            row("cut", "1"),
            row("gone", "1"),
            row("in", "1", False),
            row("new text", "1"),
            row("out", "1"),
            row("same", "1"),
        ],
        FileContent("cut", "long", False, 9),
        FileContent("gone", "g", False, 1),
        FileContent("new text", "a", False, 1),
        FileContent("out", "o", False, 1),
        FileContent("same", "s", False, 1),
    )
    after = full(
        [
            row("brand", "1"),
            row("cut", "2"),
            row("in", "1"),
            row("new text", "2"),
            row("out", "1", False),
            row("same", "1"),
        ],
        FileContent("brand", "b", False, 1),
        FileContent("cut", "lo", True, 9),
        FileContent("in", "i", False, 1),
        FileContent("new text", "b", False, 1),
        FileContent("same", "s", False, 1),
    )
    found = diff_packs(before, after)
    assert [(item.path, item.why) for item in found.entered] == [
        ("brand", "text; it was not in the project"),
        ("in", "text; it was left out (size_limit)"),
    ]
    assert [(item.path, item.why) for item in found.left] == [
        ("gone", "it is no longer in the project"),
        ("out", "size_limit"),
    ]
    assert [(item.path, item.before, item.after, item.why) for item in found.level_changed] == [
        ("cut", "full", "head_tail", "the file changed")
    ]
    assert [(item.path, item.why) for item in found.content_changed] == [
        ("new text", "the file changed")
    ]


def test_full_against_summary() -> None:
    a = FullPack(
        Manifest("x", "p"),
        (row("k", "1"),),
        (KeyFile("k", "config", "critical", "c", False),),
        (),
        META,
    )
    b = SummaryPack(
        Manifest("x", "p"),
        (row("k", "1"),),
        RepoSummary(),
        (KeyFileSummary("k", "config"),),
        (),
        (),
        META,
    )
    found = diff_packs(a, b)
    assert [(item.before, item.after) for item in found.level_changed] == [("full", "summary")]


def task(*files: ContextFile, docs: tuple[ContextDoc, ...] = ()) -> ContextPack:
    return ContextPack(
        task=TaskInfo("t", "", "g"), constraints=Constraints(), files=files, docs=docs
    )


def test_task_packs() -> None:
    a = task(ContextFile("a", "x", "high", "full", "test issue", "1"))
    b = task(
        ContextFile("a", "y", "high", "head", "test issue", "1"),
        docs=(ContextDoc("d", "z", digest="2"),),
    )
    found = diff_packs(a, b)
    assert [item.path for item in found.entered] == ["d"]
    assert [(item.path, item.why) for item in found.level_changed] == [("a", "test issue")]
    assert pack_digests(b) == {"a": "1", "d": "2"}


def test_a_pack_equals_itself() -> None:
    pack = full([row("a", "1")], FileContent("a", "x", False, 1))
    found = diff_packs(pack, pack)
    assert (found.entered, found.left, found.level_changed, found.content_changed) == (
        (),
        (),
        (),
        (),
    )


def test_verify_says_which_files_moved_on() -> None:
    pack = full([row("a", "1"), row("b", "2"), row("c", "3")])
    moved = verify(pack, {"a": "1", "b": "other"})
    assert [(item.path, item.was, item.now) for item in moved] == [
        ("b", "2", "other"),
        ("c", "3", ""),
    ]
    assert verify(pack, {"a": "1", "b": "2", "c": "3"}) == ()
