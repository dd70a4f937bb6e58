from __future__ import annotations

from pathlib import Path

import pytest

from sutler.access.door import Door
from sutler.access.policy import PolicyRule, Rules
from sutler.edits.reply import read_reply
from sutler.edits.writer import Writer
from sutler.errors import ConflictError, DeniedError, RefusedError, UsageError
from tests.doors import OpenDoor

FREE = Rules(rules=(PolicyRule("allow", "**", ("write",)),))


@pytest.mark.parametrize(
    "head",
    [
        "```python src/app.py",
        "```python:src/app.py",
        '```python title="src/app.py"',
        "```py filename=src/app.py",
        "```src/app.py",
        "**src/app.py**\n```python",
        "`src/app.py`:\n\n```python",
        "### src/app.py\n```",
        "1. `src/app.py`\n```python",
        "File: src/app.py\n```python",
        "Create file `src/app.py` (new file):\n~~~python",
    ],
)
def test_a_fenced_file_and_its_name(head: str) -> None:
    fence = "~~~" if "~~~" in head else "```"
    found = read_reply(f"Here you are.\n\n{head}\nx = 1\n\ny = 2\n{fence}\nDone.\n")
    assert [(one.path, one.kind, one.text) for one in found.changes] == [
        ("src/app.py", "file", "x = 1\n\ny = 2\n")
    ]


@pytest.mark.parametrize(
    "head", ["```python", "We use json:\n```json", "Run this:\n```sh", "For example:\n```"]
)
def test_a_block_without_a_name_is_left_alone_and_named(head: str) -> None:
    found = read_reply(f"{head}\nx = 1\n```\n\n```text b.txt\nb\n```\n")
    assert [one.path for one in found.changes] == ["b.txt"]
    assert "names no file" in found.notes[0]


def test_a_path_in_the_first_comment_is_a_hint_and_no_name() -> None:
    with pytest.raises(UsageError, match=r"its first line says '# src/app\.py'"):
        read_reply("```python\n# src/app.py\nx = 1\n```\n")


EDIT = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE"


@pytest.mark.parametrize(
    "text",
    [
        f"a.txt\n{EDIT}\n",
        f"**a.txt**\n```\n{EDIT}\n```\n",
        f"```text\na.txt\n{EDIT}\n```\n",
        f"```text a.txt\n{EDIT}\n```\n",
        f"`a.txt`\n\n```diff\n{EDIT}\n```\n",
    ],
)
def test_edit_blocks(text: str) -> None:
    (one,) = read_reply(f"I changed it.\n\n{text}").changes
    assert (one.path, one.kind, one.old, one.text) == ("a.txt", "edit", "old\n", "new\n")


def test_edit_blocks_go_on_with_the_same_file() -> None:
    found = read_reply(f"a.txt\n{EDIT}\nand\n\n{EDIT}\n```\nb.txt\n{EDIT}\n{EDIT}\n```\n")
    assert [one.path for one in found.changes] == ["a.txt", "a.txt", "b.txt", "b.txt"]


DIFF = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n"


@pytest.mark.parametrize(
    "text",
    [
        DIFF,
        f"```diff\n{DIFF}```\n",
        f"Apply this:\n{DIFF}\nThanks.\n",
        "```patch\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** End Patch\n```\n",
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** End Patch\n",
        "`a.txt`\n```diff\n@@ -1 +1 @@\n-one\n+ONE\n```\n",
    ],
)
def test_patches(text: str) -> None:
    (one,) = read_reply(text).changes
    assert (one.path, one.kind) == ("a.txt", "patch")


def test_tagged_files() -> None:
    found = read_reply('<file path="a/b.txt">\n```\nx\n```\n</file>\n')
    assert [(one.path, one.text) for one in found.changes] == [("a/b.txt", "```\nx\n```\n")]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("```text a.txt\nx\n", "never closed"),
        ("```markdown a.md\n```python\nx\n```\nmore\n```\n", "not shorter"),
        ("a.txt\n<<<<<<< SEARCH\nx\n=======\n", "does not end"),
        (f"{EDIT}\n", "without a file"),
        ("```diff\n@@ -1 +1 @@\n-a\n+b\n```\n", "a hunk without a file"),
        ('<file path="a">\nx\n', "without its"),
        ("Just prose.\n", "no change"),
        ("", "no change"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        read_reply(text)


def test_a_longer_fence_holds_a_shorter_one() -> None:
    (one,) = read_reply("````markdown a.md\n```python\nx\n```\n````\n").changes
    assert one.text == "```python\nx\n```\n"


# through the door


@pytest.fixture
def door(open_door: OpenDoor) -> Door:
    return open_door({"a.txt": "one\ntwo\nthree\nfour\nfive\n", "b.txt": "b\n"}, rules=FREE)


def text(door: Door, name: str) -> str:
    return (Path(door.root.host_path) / name).read_text()


REPLY = f"""Three changes.

`new/c.txt`
```text
c
```

{DIFF}
b.txt
<<<<<<< SEARCH
b
=======
B
>>>>>>> REPLACE
"""


def test_a_reply_is_applied_whole(door: Door) -> None:
    done = Writer(door).apply_reply(REPLY, reason="asked")
    assert [one.path for one in done.files] == ["new/c.txt", "a.txt", "b.txt"]
    assert (text(door, "new/c.txt"), text(door, "a.txt")[:4], text(door, "b.txt")) == (
        "c\n",
        "ONE\n",
        "B\n",
    )
    Writer(door).rollback_call(done.call)
    assert (text(door, "a.txt")[:4], text(door, "b.txt")) == ("one\n", "b\n")
    assert not (Path(door.root.host_path) / "new/c.txt").exists()


def test_a_dry_run_shows_and_leaves_all(door: Door) -> None:
    done = Writer(door).apply_reply(REPLY, dry_run=True)
    assert "+ONE" in done.diff
    assert text(door, "b.txt") == "b\n"


def test_nothing_is_applied_when_one_part_does_not_fit_and_all_misfits_are_named(
    door: Door,
) -> None:
    bad = REPLY.replace("-one", "-eins").replace("SEARCH\nb", "SEARCH\nno such")
    with pytest.raises(ConflictError, match=r"2 of 3 files .* a\.txt: .*; b\.txt: "):
        Writer(door).apply_reply(bad)
    assert (text(door, "a.txt")[:4], text(door, "b.txt")) == ("one\n", "b\n")
    assert not (Path(door.root.host_path) / "new").exists()


def test_a_whole_file_replaces_only_what_its_author_saw(door: Door) -> None:
    whole = "```text a.txt\nall new\n```\n"
    with pytest.raises(ConflictError, match="was not read"):
        Writer(door).apply_reply(whole)
    door.read_file("a.txt")
    assert Writer(door).apply_reply(whole).success
    assert text(door, "a.txt") == "all new\n"


def test_what_a_pack_showed_is_the_base(door: Door) -> None:
    from hashlib import sha256

    from sutler.edits.versions import Shown

    old = text(door, "a.txt")
    seen = {"a.txt": Shown(sha256(old.encode()).hexdigest(), old)}
    (Path(door.root.host_path) / "a.txt").write_text(old.replace("five", "FIVE"))
    done = Writer(door).apply_reply(f"```text a.txt\n{old.replace('one', 'ONE')}```\n", seen=seen)
    assert done.merged
    assert text(door, "a.txt") == "ONE\ntwo\nthree\nfour\nFIVE\n"


@pytest.mark.parametrize(
    "line", ["# ... rest of the code ...", "// ... existing code ...", "... (unchanged) ..."]
)
def test_a_file_that_leaves_something_out_is_refused(door: Door, line: str) -> None:
    door.read_file("a.txt")
    with pytest.raises(RefusedError, match="leaves out code on reply line 3"):
        Writer(door).apply_reply(f"```text a.txt\none\n{line}\n```\n")
    assert text(door, "a.txt").startswith("one\ntwo")


def test_edits_of_one_file_come_one_after_the_other(door: Door) -> None:
    two = EDIT.replace("old", "one").replace("new", "uno\ndos")
    three = EDIT.replace("old", "dos\ntwo").replace("new", "dos")
    Writer(door).apply_reply(f"a.txt\n{two}\n{three}\n")
    assert text(door, "a.txt") == "uno\ndos\nthree\nfour\nfive\n"


def test_a_file_given_twice_is_refused(door: Door) -> None:
    with pytest.raises(UsageError, match="occurs several times"):
        Writer(door).apply_reply("```text c.txt\nx\n```\n```text ./c.txt\ny\n```\n")


@pytest.mark.parametrize("path", ["../x.txt", "/etc/x.txt", ".git/config", ".env"])
def test_every_path_of_a_reply_goes_through_the_gate(door: Door, path: str) -> None:
    with pytest.raises((RefusedError, DeniedError)):
        Writer(door).apply_reply(f"```text ok.txt\nx\n```\n```text {path}\nx\n```\n")
    assert not (Path(door.root.host_path) / "ok.txt").exists()


def test_an_empty_search_creates_and_never_overwrites(door: Door) -> None:
    block = "<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n"
    assert Writer(door).apply_reply(f"n.txt\n{block}").success
    assert text(door, "n.txt") == "new\n"
    with pytest.raises(ConflictError, match="exists already"):
        Writer(door).apply_reply(f"n.txt\n{block}")
