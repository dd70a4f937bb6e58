"""Any pack comes back equal from both formats, and its JSON obeys its published schema."""

from __future__ import annotations

import json
import os
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from sutler.pack.serial import deserialize, schema, serialize
from sutler.survey import wire
from sutler.tasks import wire as tasks

settings.register_profile(
    "packs", max_examples=60 * int(os.environ.get("SUTLER_FUZZ", "1")), deadline=None
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
count = st.integers(0, 2**53)
maybe_text = st.just(UNSET) | text
maybe_count = st.just(UNSET) | count
flag = st.booleans()
types = st.sampled_from(["text", "binary", "image", "data", "unknown"])
categories = st.sampled_from(["config", "entrypoint", "auth", "test", "other"])
reasons = st.sampled_from(["credentials", "binary", "size_limit", "pattern_match", "cache"])


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=3).map(tuple)


dependency = st.builds(
    wire.Dependency, text, type=st.sampled_from(["runtime", "dev", "peer"]), version=maybe_text
)
manifest = st.builds(
    wire.Manifest, text, text, text, text, some(dependency), some(text), maybe_text, maybe_text
)
index = st.builds(
    wire.FileIndexEntry, text, types, categories, count, flag, st.just(UNSET) | reasons, maybe_text
)
metadata = st.builds(
    wire.PackMetadata,
    st.sampled_from(["full", "summary"]),
    text,
    text,
    count,
    count,
    count,
    count,
    flag,
    some(text),
)
importance = st.sampled_from(["critical", "high", "medium"])
full = st.builds(
    wire.FullPack,
    manifest,
    some(index),
    some(st.builds(wire.KeyFile, text, categories, importance, text, flag)),
    some(st.builds(wire.FileContent, text, text, flag, count)),
    metadata,
)
entry_types = st.sampled_from(["cli", "web", "api", "library", "script"])
risk_types = st.sampled_from(["security", "performance", "complexity", "coupling"])
summary = st.builds(
    wire.SummaryPack,
    manifest,
    some(index),
    st.builds(wire.RepoSummary, text, text, some(text), some(text), some(text)),
    some(
        st.builds(wire.KeyFileSummary, text, categories, text, some(text), some(text), some(text))
    ),
    some(st.builds(wire.EntrypointSummary, text, entry_types, text, st.just(UNSET) | some(text))),
    some(st.builds(wire.RiskHotspot, text, risk_types, text, some(text))),
    metadata,
)
levels = st.sampled_from(["full", "excerpt", "head"])
issue = st.builds(
    tasks.Issue,
    text,
    text,
    text,
    st.sampled_from(["error", "warning"]),
    maybe_text,
    maybe_count,
    maybe_text,
    maybe_text,
)
ticket = st.builds(tasks.RepairTicket, text, text, text, maybe_text, maybe_count, maybe_text)
evidence = st.just(UNSET) | st.builds(tasks.Evidence, some(text))
acceptance = st.builds(
    tasks.AcceptanceCriteria, text, text, st.sampled_from(["behavior", "evidence"]), evidence
)
state = st.builds(tasks.PreviousState, count, text, some(issue))
context = st.builds(
    tasks.ContextPack,
    task=st.builds(tasks.TaskInfo, text, text, text, some(acceptance)),
    constraints=st.builds(tasks.Constraints, some(text), some(text), flag),
    previous_state=st.just(UNSET) | state,
    files=some(
        st.builds(
            tasks.ContextFile,
            text,
            text,
            st.sampled_from(["high", "medium", "low"]),
            levels,
            text,
            maybe_text,
        )
    ),
    docs=some(st.builds(tasks.ContextDoc, text, text, levels, maybe_text)),
    repair_tickets=st.just(UNSET) | some(ticket),
    error_output=st.just(UNSET) | some(text),
    total_chars=count,
    truncated=flag,
    max_chars=count,
    not_shown=some(text),
    not_shown_more=count,
)
node = st.recursive(
    st.builds(wire.TreeNode, text, text, size_bytes=count, type=types),
    lambda inner: st.builds(wire.TreeNode, text, text, some(inner)),
    max_leaves=8,
)
snapshot = st.builds(
    wire.ProjectSnapshot,
    text,
    text,
    node,
    count,
    count,
    count,
    some(
        st.builds(wire.FileMetadata, text, text, text, text, count, types, categories, flag, flag)
    ),
    some(st.builds(wire.ExcludedFile, text, reasons, st.just(UNSET) | reasons, maybe_text)),
    st.builds(wire.ExclusionStats, count, count, count, count),
)

VALIDATORS = {
    name: jsonschema.Draft202012Validator(schema(name))
    for name in ("FullPack", "SummaryPack", "ContextPack", "ProjectSnapshot")
}


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("FullPack", full),
        ("SummaryPack", summary),
        ("ContextPack", context),
        ("ProjectSnapshot", snapshot),
    ],
)
def test_deserialize_of_serialize_is_the_pack(name: str, strategy: st.SearchStrategy[Any]) -> None:
    """`deserialize(serialize(p)) == p` in JSON and MessagePack; the JSON validates; the same bytes
    twice.
    """

    @settings(settings.get_profile("packs"))
    @given(strategy)
    def law(pack: Any) -> None:
        raw = serialize(pack)
        assert deserialize(raw) == pack
        assert deserialize(serialize(pack, "msgpack"), "msgpack") == pack
        assert serialize(deserialize(raw)) == raw
        plain = json.loads(raw)
        assert serialize(plain, name=name) == raw
        VALIDATORS[name].validate(plain)

    law()
