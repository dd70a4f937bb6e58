from __future__ import annotations

import os
import subprocess
import sys

import pytest
from msgspec.structs import replace

from sutler.ranking import WEIGHTS, Past, Reader, build, rank, summarise
from sutler.ranking.index import bag_of
from sutler.ranking.score import Ranked
from sutler.scan.commits import Commit
from tests.facts import extracted
from tests.limits import LIMIT

TREE = {
    "shop/cart.py": 'class Cart:\n    def total(self):\n        raise ValueError("cannot sum an empty cart")\n',
    "shop/api.py": "from shop.cart import Cart\n\ndef serve(request):\n    return Cart().total()\n",
    "shop/render.py": "def render(page):\n    return page\n",
    "shop/text/wrap.py": "def wrap_lines(text):\n    return text\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\ndef test_total():\n    assert Cart().total() == 0\n"
    * 3,
    "docs/cart.md": "The cart has a total. The cart is a cart. Cart total, cart total.\n" * 5,
    "examples/cart_demo.py": "from shop.cart import Cart\nprint(Cart().total())\n",
}


def reader_over(tree: dict[str, str]) -> Reader:
    index = build((path, path, bag_of(path, text)) for path, text in tree.items())
    return Reader(index, extracted(tree))


def order(task: str, past: Past | None = None, tree: dict[str, str] = TREE) -> list[str]:
    return [item.path for item in ranked(task, past, tree)]


def ranked(task: str, past: Past | None = None, tree: dict[str, str] = TREE) -> tuple[Ranked, ...]:
    return rank(reader_over(tree), task, past)


def test_sources_come_before_tests_and_documents() -> None:
    assert order("Cart total is wrong")[0] == "shop/cart.py"


@pytest.mark.parametrize("path", TREE)
def test_a_named_path_beats_everything(path: str) -> None:
    assert order(f"Something is wrong in `{path}`\n\nThe cart has no total.")[0] == path


TRACE = """It fails
```
Traceback (most recent call last):
  File "/x/shop/api.py", line 4, in serve
  File "/x/shop/render.py", line 2, in render
KeyError: 1
```
"""


def test_frames_count_and_the_innermost_most() -> None:
    shares = {item.path: {s.name: s.value for s in item.signals} for item in ranked(TRACE)}
    assert shares["shop/render.py"]["frame"] > shares["shop/api.py"]["frame"] > 0


BARE = """Traceback (most recent call last):
  File "/x/shop/api.py", line 4, in serve
    return pay(order)
  File "/x/shop/pay.py", line 3, in pay
    raise PaymentError(reason)
shop.errors.PaymentError: the payment of the shop was refused
"""


def test_a_bare_trace_leads_to_the_frame_that_raises() -> None:
    """Not to the module that defines the exception, whatever it shares with the message."""
    errors = "class PaymentError(Exception):\n    'The payment of the shop was refused.'\n"
    pay = "from shop.errors import PaymentError\ndef pay(order):\n    raise PaymentError(reason)\n"
    tree = {**TREE, "shop/errors.py": errors, "shop/pay.py": pay}
    assert order(BARE, tree=tree)[0] == "shop/pay.py"


def test_a_quoted_message_leads_to_where_it_is_made() -> None:
    assert order("I get: cannot sum an empty cart")[0] == "shop/cart.py"


def test_a_defined_name_leads_to_its_definition() -> None:
    assert order("`wrap_lines` drops a line")[0] == "shop/text/wrap.py"


def test_a_title_about_documents_lifts_them() -> None:
    plain = order("The cart total section").index("docs/cart.md")
    assert order("Fix the documentation of the cart total").index("docs/cart.md") < plain


def test_declarations_stand_behind_what_they_declare() -> None:
    code = "export function refundCustomer(id) {\\n  return id;\\n}\\n"
    types = "export function refundCustomer(id: string): string;\\n" * 3
    found = order("refundCustomer fails", tree={"src/a.d.ts": types, "src/b.js": code})
    assert found == ["src/b.js", "src/a.d.ts"]


def test_history_speaks_for_files_that_similar_commits_touched() -> None:
    past = summarise([Commit("1", "Fix page layout glitch", ("shop/render.py",))])
    assert order("layout glitch", past)[0] == "shop/render.py"


def test_files_beside_the_best_gain_by_it() -> None:
    tree = {
        "shop/a/best.py": "def refund_customer():\n    pass\n",
        "shop/a/near.py": "def stock():\n    return 1\n",
        "shop/b/far.py": "def stock():\n    return 1\n",
        **{f"zoo/{i}/x{i}.py": f"def x{i}():\n    return {i}\n" for i in range(9)},
    }
    found = order("refund_customer fails when `refund_customer` has no stock", tree=tree)
    assert found.index("shop/a/near.py") < found.index("shop/b/far.py")
    shares = {
        item.path: {s.name for s in item.signals}
        for item in ranked("refund_customer and stock", tree=tree)
    }
    assert "beside" in shares["shop/a/near.py"]
    assert not any("beside" in names for path, names in shares.items() if path.startswith("zoo/"))


def test_what_the_best_file_imports_follows_it_and_passes_neither_it_nor_the_second() -> None:
    tree = {
        "shop/refunds.py": "from lib.money import exact\n\ndef refund_customer():\n    return exact(1)\n",
        "shop/other.py": "def refund():\n    return 1\n",
        "lib/money.py": "def exact(value):\n    return value\n",
        "lib/stock.py": "def count(value):\n    return value\n",
        **{f"zoo/{i}/x{i}.py": f"def x{i}():\n    return {i}\n" for i in range(9)},
    }
    found = ranked("refund_customer: the refund is wrong by one value", tree=tree)
    places = [item.path for item in found]
    assert places[:3] == ["shop/refunds.py", "shop/other.py", "lib/money.py"]
    assert "the best match imports it" in found[2].reasons
    assert found[2].score < found[1].score
    shares = {item.path: {signal.name for signal in item.signals} for item in found}
    assert "needed" not in shares["lib/stock.py"]


def test_an_import_of_a_whole_folder_lifts_nothing() -> None:
    code = 'package shop\n\nimport "example.com/m/lib/money"\n\nfunc RefundCustomer() int { return money.Exact(1) }\n'
    files = {
        f"lib/money/m{i}.go": f"package money\n\nfunc F{i}(value int) int {{ return value }}\n"
        for i in range(5)
    }
    found = ranked("RefundCustomer: a wrong value", tree={"shop/refunds.go": code, **files})
    assert found[0].path == "shop/refunds.go"
    assert not any(signal.name == "needed" for item in found for signal in item.signals)


def test_lines_of_the_trace_are_kept() -> None:
    found = {
        item.path: item.lines for item in ranked('Fails\n  File "shop/cart.py", line 3, in total\n')
    }
    assert found["shop/cart.py"] == (3,)


def test_every_file_has_reasons_and_shares_that_sum_to_its_score() -> None:
    for item in ranked("Cart total is wrong in shop/api.py"):
        assert item.reasons
        assert sum(signal.share for signal in item.signals) == pytest.approx(item.score, abs=1e-2)


def test_total_order_by_score_then_path() -> None:
    found = ranked("cart total render wrap")
    assert list(found) == sorted(found, key=lambda item: (-item.score, item.path))


@pytest.mark.parametrize("task", ["", "\n", "zzz qqq", "```\n```", "a" * 9_999])
def test_any_task_is_ranked(task: str) -> None:
    ranked(task)


def test_an_empty_project_has_no_ranking() -> None:
    assert ranked("Cart total", tree={}) == ()


def test_a_signal_without_weight_is_silent() -> None:
    task = "Cart total\n\nsee shop/render.py"
    scores = [
        next(
            item.score
            for item in rank(reader_over(TREE), task, weights=weights)
            if item.path == "shop/render.py"
        )
        for weights in (WEIGHTS, replace(WEIGHTS, mention=0.0))
    ]
    assert scores[0] > scores[1]


SCRIPT = """
import tests.unit.ranking.test_score as t, msgspec, hashlib
print(hashlib.sha256(msgspec.json.encode(t.ranked("Cart total is wrong in shop/api.py, `wrap_lines`"))).hexdigest())
"""


def test_the_hash_seed_changes_nothing() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            timeout=LIMIT,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
