from __future__ import annotations

import pytest

from sutler.languages.terms import split, words
from sutler.ranking import Index, Reader, build, dumps, loads, rank, stale, update, worn
from sutler.ranking.index import (
    MOST_LATE,
    Bag,
    bag_of,
    build_in_order,
    indexed_part,
    role_of,
    tidied,
)
from sutler.ranking.score import Ranked
from tests.facts import extracted

TREE = {
    "shop/cart.py": "class Cart:\n    def total(self):\n        return sum(self.items)\n",
    "shop/api.py": "from shop.cart import Cart\n\ndef serve():\n    return Cart().total()\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\ndef test_total():\n    assert Cart().total() == 0\n",
    "README.md": "A shop with a cart that has a total.\n",
}
TASK = "Cart total is wrong"


def files(tree: dict[str, str]) -> list[tuple[str, str, Bag]]:
    return [(path, str(hash_of(text)), bag_of(path, text)) for path, text in tree.items()]


def hash_of(text: str) -> int:
    return sum(ord(char) * (i + 1) for i, char in enumerate(text))


def digests(tree: dict[str, str]) -> dict[str, str]:
    return {path: str(hash_of(text)) for path, text in tree.items()}


def changed(index: Index, tree: dict[str, str]) -> Index:
    fresh = {path: tree[path] for path in stale(index, digests(tree))}
    return update(index, digests(tree), files(fresh))


def answer(index: Index, tree: dict[str, str], task: str = TASK) -> tuple[Ranked, ...]:
    return rank(Reader(index, extracted(tree)), task)


def counts(tree: dict[str, str], term: str) -> dict[str, int]:
    reader = Reader(build(files(tree)), extracted(tree))
    return {reader.docs[doc].path: count for doc, count in reader.postings(term).items()}


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
def test_a_ranking_does_not_depend_on_the_history_of_an_index(edit: str) -> None:
    """Document frequencies and averages are counted over the living, so an update equals a
    rebuild.
    """
    tree = EDITS[edit]
    grown = changed(build(files(TREE)), tree)
    assert answer(grown, tree) == answer(build(files(tree)), tree)


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
    assert answer(changed(index, tree), tree) == answer(build(files(tree)), tree)


def test_postings_skip_the_dead() -> None:
    tree = EDITS["delete"]
    reader = Reader(changed(build(files(TREE)), tree), extracted(tree))
    assert "shop/cart.py" not in {reader.docs[doc].path for doc in reader.postings("total")}


def test_file_order_does_not_matter() -> None:
    assert build(files(TREE)) == build(reversed(files(TREE)))


def test_files_that_arrive_in_order_need_not_be_held() -> None:
    assert build_in_order(iter(sorted(files(TREE)))) == build(files(TREE))


@pytest.mark.parametrize("most", [1, 20, 60])
def test_a_large_tree_is_indexed_in_segments(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the words of one segment are in memory; the answer is the same."""
    tree = {
        f"shop/{i}/{path}": f"{text}only_{i}\n" for i in range(9) for path, text in TREE.items()
    }
    task = "Cart total is wrong in only_3"
    whole = answer(build(files(tree)), tree, task)
    monkeypatch.setattr("sutler.ranking.index.SEGMENT_WORDS", most)
    parts = build(files(tree))
    assert len(parts.segments) > 3
    assert answer(parts, tree, task) == whole


TEXTS = [
    "def parseURLParts(self): return parse_url_parts or 3dModel * 17 _private",
    "größere Übersicht über naïve Straßen, „Zitat“ … é",
    "日本語のテキスト 検索",
    "a b \x00 c\td_e\udc80f",
]


@pytest.mark.parametrize("text", TEXTS)
def test_an_index_has_the_terms_of_the_text_and_their_counts(text: str) -> None:
    """Words are taken apart as bytes here, and by a regular expression in tasks: the same terms."""
    terms = [term for word in words(text) for term in split(word)]
    for term in dict.fromkeys(terms):
        assert counts({"a.txt": text}, term) == {"a.txt": terms.count(term)}, term


def test_words_of_paths_are_apart() -> None:
    assert counts(TREE, "/cart") == {"shop/cart.py": 2, "tests/test_cart.py": 2}
    assert counts(TREE, "/shop") == {"shop/cart.py": 1, "shop/api.py": 1}


def test_of_data_the_head_is_indexed() -> None:
    text = "".join(f"name{i}: value\n" for i in range(1_000))
    assert len(indexed_part("a.yaml", text).split("\n")) < 200
    assert indexed_part("a.py", text) == text


def test_a_count_is_capped() -> None:
    assert counts({"a.py": "total " * 999}, "total") == {"a.py": 255}


@pytest.mark.parametrize(
    ("path", "text", "role"),
    [
        ("api/types.go", "// Code generated by protoc. DO NOT EDIT.\npackage api\n", "generated"),
        ("src/a.js", "/* @generated */\nvar a = 1;\n", "generated"),
        ("src/lib.js", "var a=1;" * 900, "generated"),
        ("src/jquery.js", "/*! jQuery v3.6.0 | (c) OpenJS Foundation */\nvar a = 1;\n", "vendor"),
        ("src/cart.js", "/* The cart, generated by hand: edit it. */\nvar a = 1;\n", "source"),
        ("src/all.c", "/*\n** This file is an amalgamation of many files\n*/\n", "generated"),
        ("types.d.ts", "/*\n * This file was automatically generated.\n */\n", "generated"),
        ("src/lex.py", '"""A report generated by the lexer."""\n', "source"),
        ("share/cart.1.in", '.\\" A comment\n.TH "cart" "1"\n', "doc"),
        ("tests/test_a.py", "# @generated\n", "test"),
    ],
    ids=[
        *("go", "mark", "minified", "library", "written", "amalgamation", "declarations", "prose"),
        *("manual", "test"),
    ],
)
def test_a_role_follows_from_the_text_too(path: str, text: str, role: str) -> None:
    assert role_of(path, text) == role
