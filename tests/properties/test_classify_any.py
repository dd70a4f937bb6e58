"""Any path and any first bytes have facts; nothing raises, and the laws between the fields hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sutler.stages.classify import facts_of, refine
from sutler.stages.globs import matcher
from sutler.values.snapshot import FileFacts

parts = st.sampled_from(["test", "src", "main", ".min", ".py", "auth", "/", "_", "Test", ".lock", ".", "x", "é", "-"])
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


@given(paths, st.binary(max_size=200))
def test_refine_with_any_bytes(path: str, head: bytes) -> None:
    """The first bytes can take a key file's importance away, never give it."""
    before, after = facts_of(path), refine(facts_of(path), head)
    assert lawful(after)
    assert after.importance in (before.importance, None)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_glob_on_any_path(pattern: str, path: str) -> None:
    """A glob is never an error; a plain path is a glob that matches itself."""
    matcher(pattern)(path)
    plain = "".join(char for char in path if char not in "*?[]{}\\").strip("/.")
    if plain and "//" not in plain and "/./" not in plain:
        assert matcher(plain)(plain)
