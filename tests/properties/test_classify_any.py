"""Any path has facts; nothing raises, and the laws between the fields hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sutler.scan.classify import facts_of
from sutler.scan.snapshot import FileFacts

parts = st.sampled_from(
    ["test", "src", "main", ".min", ".py", "auth", "/", "_", "Test", ".lock", ".", "x", "é", "-"]
)
paths = st.lists(parts, min_size=1, max_size=8).map("".join) | st.text(min_size=1)


def lawful(facts: FileFacts) -> bool:
    key = facts.importance is not None
    silent = facts.generated or facts.lock or facts.category in ("test", "dependency", "build")
    return not (key and silent) and (facts.category != "test" or facts.tag == "test")


@given(paths)
def test_facts_of_any_path(path: str) -> None:
    """A key file is never generated, locked, a test, a dependency or a build output."""
    assert lawful(facts_of(path))
    assert facts_of(path) == facts_of(path)
