"""Users of a function, and tests of a file, by names."""

from __future__ import annotations

import pytest

from sutler.ranking.companions import MOST_HOLDERS, own_tests, users_of
from sutler.ranking.index import bag_of, build
from sutler.ranking.reader import Reader
from sutler.ranking.resolution import Links
from tests.facts import extracted

TREE = {
    "src/pay/ledger.py": "def refund_order(order):\n    return order\n",
    "src/pay/desk.py": "from pay.ledger import refund_order\n\n\n"
    "def take_back(order):\n    return refund_order(order)\n",
    "src/other/far.py": "def refund_order_later():\n    pass\n\n\n"
    "def far_away(x):\n    return x.refund_order()\n",
    "tests/pay/test_ledger.py": "from pay.ledger import refund_order\n\n\n"
    "def test_refund():\n    assert refund_order(1)\n",
    "tests/other/test_ledger.py": "def test_nothing():\n    pass\n",
    "docs/guide.md": "call refund_order\n",
}


def read(tree: dict[str, str]) -> tuple[Reader, Links, dict[str, int]]:
    files = [(path, path, bag_of(path, text)) for path, text in tree.items()]
    reader = Reader(build(files), extracted(tree))
    return reader, Links(reader), {doc.path: number for number, doc in reader.docs.items()}


def test_users_are_regions_and_tests_come_last() -> None:
    reader, links, numbers = read(TREE)
    users = users_of("refund_order", numbers["src/pay/ledger.py"], reader, links)
    assert users is not None
    assert [(user.path, user.start, user.name, user.test) for user in users] == [
        ("src/pay/desk.py", 4, "take_back", False),
        ("tests/pay/test_ledger.py", 4, "test_refund", True),
    ]


def test_without_an_import_every_holder_may_be_a_user() -> None:
    tree = {path: text for path, text in TREE.items() if path.endswith(("ledger.py", "far.py"))}
    reader, links, numbers = read({**tree, "tests/pay/test_ledger.py": ""})
    users = users_of("refund_order", numbers["src/pay/ledger.py"], reader, links)
    assert users is not None
    assert [user.name for user in users] == ["far_away"]


@pytest.mark.parametrize("name", ["new", "ab", "print", ""])
def test_a_name_that_says_nothing_has_no_users(name: str) -> None:
    reader, links, numbers = read(TREE)
    assert users_of(name, numbers["src/pay/ledger.py"], reader, links) is None


def test_a_common_name_has_no_users() -> None:
    common = {f"a{i}.py": "def run_it():\n    run_all()\n" for i in range(MOST_HOLDERS + 1)}
    reader, links, numbers = read({**TREE, **common})
    assert users_of("run_all", numbers["src/pay/ledger.py"], reader, links) is None


def test_the_nearest_test_of_a_name_is_first() -> None:
    reader, links, numbers = read(TREE)
    tests = own_tests(numbers["src/pay/ledger.py"], reader, links)
    assert [reader.docs[number].path for number in tests] == [
        "tests/pay/test_ledger.py",
        "tests/other/test_ledger.py",
    ]
    assert own_tests(numbers["docs/guide.md"], reader, links) == []
