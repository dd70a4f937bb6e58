from __future__ import annotations

import pytest
from msgspec.structs import replace

from sutler.languages.extract import extract
from sutler.languages.facts import Facts
from sutler.ranking import Index, build, dumps, loads, rank, stale, update, worn
from sutler.ranking.index import (
    KEYS,
    MOST_LATE,
    MOST_SHARDS,
    Reader,
    build_in_order,
    entries,
    tidied,
)

TREE = {
    "shop/cart.py": "class Cart:\n    def total(self):\n        return sum(self.items)\n",
    "shop/api.py": "from shop.cart import Cart\n\ndef serve():\n    return Cart().total()\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\ndef test_total():\n    assert Cart().total() == 0\n",
    "README.md": "A shop with a cart that has a total.\n",
}


def files(tree: dict[str, str]) -> list[tuple[str, str, Facts]]:
    return [(path, str(hash_of(text)), extract(path, text)) for path, text in tree.items()]


def hash_of(text: str) -> int:
    return sum(ord(char) * (i + 1) for i, char in enumerate(text))


def digests(tree: dict[str, str]) -> dict[str, str]:
    return {path: str(hash_of(text)) for path, text in tree.items()}


def changed(index: Index, tree: dict[str, str]) -> Index:
    fresh = {path: tree[path] for path in stale(index, digests(tree))}
    return update(index, digests(tree), files(fresh))


def test_survives_its_own_bytes() -> None:
    index = build(files(TREE))
    assert loads(dumps(index)) == index


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x93\x92\x01\x01\x90\x90", b"nonsense"])
def test_damaged_bytes_are_no_index(data: bytes) -> None:
    assert loads(data) is None


def test_only_the_edited_file_is_stale() -> None:
    index = build(files(TREE))
    assert stale(index, digests(TREE | {"shop/api.py": "x = 1\n"})) == ["shop/api.py"]


EDITS: dict[str, dict[str, str]] = {
    "edit": TREE | {"shop/api.py": "def total():\n    return 'a grand total'\n"},
    "add": TREE | {"shop/total.py": "def total(): ...\n"},
    "delete": {path: text for path, text in TREE.items() if path != "shop/cart.py"},
    "move": {path.replace("shop/", "store/"): text for path, text in TREE.items()},
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_ranking_does_not_depend_on_how_the_index_came_to_be(edit: str) -> None:
    """Document frequencies and averages are counted over the living, so an update equals a
    rebuild.
    """
    tree = EDITS[edit]
    grown = changed(build(files(TREE)), tree)
    assert rank(grown, "Cart total is wrong") == rank(build(files(tree)), "Cart total is wrong")


def test_many_edits_wear_an_index_out() -> None:
    index = build(files(TREE))
    assert not worn(index)
    for i in range(9):
        index = changed(index, TREE | {"shop/api.py": f"x = {i}\n"})
    assert worn(index)


def test_late_segments_are_made_into_one() -> None:
    index = build(files(TREE))
    for i in range(MOST_LATE):
        index = changed(index, TREE | {"shop/api.py": f"x = {i}\n"})
    assert tidied(index, 1) is index
    tree = TREE | {"shop/api.py": "x = 99\n"}
    index = tidied(changed(index, tree), 1)
    assert len(index.segments) == 1
    assert stale(index, digests(tree)) == ["shop/api.py"]
    assert rank(changed(index, tree), "Cart total is wrong") == rank(
        build(files(tree)), "Cart total is wrong"
    )


def test_postings_skip_the_dead() -> None:
    index = changed(build(files(TREE)), EDITS["delete"])
    reader = Reader(index)
    assert {reader.docs[doc].path for doc in reader.postings("=total")[0]} == set()


def test_file_order_does_not_matter() -> None:
    assert build(files(TREE)) == build(reversed(files(TREE)))


def test_files_that_come_in_order_need_not_be_held() -> None:
    assert build_in_order(iter(sorted(files(TREE), key=lambda file: file[0]))) == build(files(TREE))


def keys_of(index: Index) -> dict[bytes, bytes]:
    return {
        key: raw
        for segment in index.segments
        for shard in segment.shards
        for key, raw in entries(shard)
    }


@pytest.mark.parametrize("room", [0, 1_000, 5_000])
def test_postings_that_were_laid_aside_come_back_in_order(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large tree is indexed with a part of its postings in memory at a time: the outcome is the
    same.
    """
    tree = {
        f"shop/{path}{i}.py": f"{text}\ndef only_{i}(): ...\n"
        for i in range(9)
        for path, text in TREE.items()
    }
    whole = build(files(tree))
    monkeypatch.setattr("sutler.ranking.index.ROOM", room)
    parts = build(files(tree))
    assert len(parts.segments[0].shards) > len(whole.segments[0].shards)
    assert keys_of(parts) == keys_of(whole)
    assert len(keys_of(whole)) > 30
    assert rank(parts, "Cart total is wrong in only_3") == rank(
        whole, "Cart total is wrong in only_3"
    )


def test_a_large_index_has_more_shards() -> None:
    words = "\n".join(f"word{i}ish = other{i}" for i in range(2 * KEYS))
    small, large = build(files(TREE)), build(files(TREE | {"words.py": words}))
    assert len(small.segments[0].shards) < len(large.segments[0].shards) <= MOST_SHARDS


def test_no_key_stands_for_another() -> None:
    """Not even one that holds what separates keys."""
    odd = extract("odd.py", "def total(): ...\n")
    odd = replace(odd, terms={"a\0b": 1, "a": 2, "": 3, "b": 4})
    reader = Reader(build([("odd.py", "1", odd)]))
    found = {
        key: list(reader.postings(key)[1]) for key in ("a", "b", "a\0b", "", "c", "a\0", "\0b")
    }
    assert found == {"a": [2], "b": [4], "a\0b": [], "": [3], "c": [], "a\0": [], "\0b": []}
