from __future__ import annotations

import pytest

from sutler.ranking import Reader, build
from sutler.ranking.index import bag_of
from sutler.ranking.query import analyse
from sutler.ranking.resolution import Links
from sutler.ranking.signals import qualified
from tests.facts import extracted

TREE = {
    "tide/src/sync/mpsc/bounded.rs": "pub struct Sender {}\n\nimpl Sender {\n    fn go(&self) {}\n}\n",
    "tide/src/sync/watch.rs": "pub struct Sender {}\n",
    "src/Http/Client/Pool.php": "<?php\nnamespace App\\Http\\Client;\nclass Pool { function send() {} }\n",
    "src/Cache/Pool.php": "<?php\nnamespace App\\Cache;\nclass Pool { function send() {} }\n",
    "lib/shop/line_item.rb": "module Shop\n  class LineItem\n    def total; end\n  end\nend\n",
    "lib/bank/line_item.rb": "module Bank\n  class LineItem\n    def total; end\n  end\nend\n",
    "shop/cart.py": "class Cart:\n    def total(self):\n        return 1\n",
    "bank/cart.py": "class Cart:\n    def total(self):\n        return 2\n",
}
READER = Reader(
    build((path, path, bag_of(path, text)) for path, text in TREE.items()), extracted(TREE)
)
READER.parse(READER.docs)


@pytest.mark.parametrize(
    ("task", "path"),
    [
        ("`tide::sync::mpsc::Sender` blocks", "tide/src/sync/mpsc/bounded.rs"),
        ("`tide::sync::watch::Sender` blocks", "tide/src/sync/watch.rs"),
        ("`App\\Http\\Client\\Pool` leaks", "src/Http/Client/Pool.php"),
        ("`App\\Cache\\Pool` leaks", "src/Cache/Pool.php"),
        ("`Shop::LineItem#total` is wrong", "lib/shop/line_item.rb"),
        ("`bank.cart.Cart.total` is wrong", "bank/cart.py"),
    ],
)
def test_a_qualified_name_leads_to_its_file(task: str, path: str) -> None:
    scores = qualified(analyse(task), Links(READER), READER)
    assert READER.docs[max(scores, key=lambda number: scores[number])].path == path


def test_a_qualified_name_of_another_project_leads_nowhere() -> None:
    assert qualified(analyse("`numpy.linalg.solve` is slow"), Links(READER), READER) == {}
