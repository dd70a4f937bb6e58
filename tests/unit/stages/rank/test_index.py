from __future__ import annotations

import pytest

from sutler.stages.facts import extract
from sutler.stages.rank import Index, build, dumps, loads, rank, stale, update, worn
from sutler.stages.rank.index import MOST_LATE, Reader, build_in_order, tidied
from sutler.values.facts import Facts

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
    """Document frequencies and averages are counted over the living, so an update equals a rebuild."""
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
    assert rank(changed(index, tree), "Cart total is wrong") == rank(build(files(tree)), "Cart total is wrong")


def test_postings_skip_the_dead() -> None:
    index = changed(build(files(TREE)), EDITS["delete"])
    reader = Reader(index)
    assert {reader.docs[doc].path for doc in reader.postings("=total")[0]} == set()


def test_file_order_does_not_matter() -> None:
    assert build(files(TREE)) == build(reversed(files(TREE)))


def test_files_that_come_in_order_need_not_be_held() -> None:
    assert build_in_order(iter(sorted(files(TREE), key=lambda file: file[0]))) == build(files(TREE))
