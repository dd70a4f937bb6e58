from __future__ import annotations

from sutler.languages.extract import extract
from sutler.stages.rank import build, summarise
from sutler.stages.rank.related import related
from sutler.values.facts import Commit, History

TREE = {
    "shop/cart.py": "from shop.money import add\n\nclass Cart: ...\n",
    "shop/money.py": "def add(a, b):\n    return a + b\n",
    "shop/api.py": "from shop.cart import Cart\n",
    "shop/far.py": "x = 1\n",
    "web/cart.css": "a {}\n",
    "tests/test_cart.py": "from shop.cart import Cart\n",
}
INDEX = build((path, path, extract(path, text)) for path, text in TREE.items())


def reasons(*changed: str) -> dict[str, tuple[str, ...]]:
    past = summarise(History((Commit("1", "both", ("shop/cart.py", "web/cart.css")),)))
    return {item.path: item.reasons for item in related(INDEX, changed, past)}


def test_callers_tests_imports_and_companions_of_a_change() -> None:
    found = reasons("shop/cart.py")
    assert "it imports a changed file" in found["shop/api.py"]
    assert "it is a test of a changed file" in found["tests/test_cart.py"]
    assert "a changed file imports it" in found["shop/money.py"]
    assert "it often changes together with a changed file" in found["web/cart.css"]


def test_the_change_itself_and_strangers_are_left_out() -> None:
    assert not {"shop/cart.py", "shop/far.py"} & set(reasons("shop/cart.py"))


def test_an_unknown_path_has_no_relations() -> None:
    assert reasons("no/such.py") == {}
