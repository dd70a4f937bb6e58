from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sutler.errors import UsageError
from sutler.pack.serial import DOCUMENTS, WireFormat, deserialize, schema, serialize
from sutler.survey.wire import FullPack, Manifest, PackMetadata
from sutler.tasks.wire import Constraints, ContextFile, ContextPack, TaskInfo

META = PackMetadata("full", "", "", 0, 0, 0, 0, False)
FULL = FullPack(Manifest("x", "python"), (), (), (), META)
TASK = ContextPack(
    task=TaskInfo("a", "", "g"),
    constraints=Constraints(),
    files=(ContextFile("a.py", "x", "high"),),
    total_chars=3,
)


@pytest.mark.parametrize("format", ["json", "msgpack"])
@pytest.mark.parametrize("document", [FULL, TASK])
def test_both_ways(document: Any, format: WireFormat) -> None:
    assert deserialize(serialize(document, format)) == document
    assert deserialize(serialize(document, format), format) == document


def test_the_wire_has_the_seeds_names() -> None:
    plain = json.loads(serialize(FULL))
    assert list(plain) == [
        "type",
        "manifest",
        "file_index",
        "key_files",
        "contents",
        "metadata",
        "schema_version",
    ]
    assert (plain["type"], plain["schema_version"]) == ("full", 1)
    task = json.loads(serialize(TASK))
    assert "totalChars" in task
    assert "previousState" not in task
    assert task["constraints"] == {"allowedGlobs": [], "forbiddenGlobs": [], "allowNewFiles": True}


def test_unknown_fields_are_tolerated_on_read() -> None:
    plain = {**json.loads(serialize(FULL)), "new": 1}
    plain["manifest"]["newer"] = 2
    assert deserialize(json.dumps(plain)) == FULL


def test_unknown_fields_are_refused_on_write() -> None:
    plain = json.loads(serialize(TASK))
    assert serialize(plain) == serialize(TASK)
    plain["files"][0]["extra"] = 1
    plain["oops"] = 2
    with pytest.raises(UsageError, match=r"ContextPack\.files\[0\]\.extra, ContextPack\.oops"):
        serialize(plain)


def test_version_0_of_a_pack_converts() -> None:
    plain = json.loads(serialize(FULL))
    old = {
        "type": "full",
        "manifest": plain["manifest"],
        "file_index": [],
        "content": {"key_files": [], "contents": []},
        "metadata": plain["metadata"],
    }
    assert deserialize(json.dumps(old)) == FULL


def test_version_0_of_a_task_pack_converts() -> None:
    old = {
        "task": {"id": "a", "title": "", "goal": "g", "acceptance": []},
        "constraints": {"allowed_globs": [], "forbidden_globs": [], "allow_new_files": True},
        "files": [{"path": "a.py", "content": "x", "priority": "high"}],
        "docs": [],
        "total_chars": 3,
        "truncated": False,
    }
    assert deserialize(msgspec.msgpack.encode(old)) == TASK


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{", "not json"),
        (b"\xc1", "not msgpack"),
        (b"[1]", "a mapping is expected"),
        (b"{}", "cannot be seen"),
        (b'{"type": "full", "manifest": 1}', "not a FullPack"),
        (b'{"totalChars": 1, "schemaVersion": 9}', "newer than this program"),
        (b'{"totalChars": 1, "schemaVersion": "x"}', "not a version"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "not json"),
    ],
)
def test_what_is_no_document_is_a_usage_error(data: bytes, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        deserialize(data)


@pytest.mark.parametrize("name", list(DOCUMENTS))
def test_every_document_has_a_schema(name: str) -> None:
    shown = schema(name)
    assert shown["title"] == name
    assert name in shown["$defs"]


def test_a_schema_by_any_spelling() -> None:
    assert schema("full-pack") == schema("FullPack") == schema("full_pack")
    with pytest.raises(UsageError, match="no document"):
        schema("nothing")
