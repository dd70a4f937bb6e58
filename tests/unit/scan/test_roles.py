from __future__ import annotations

import pytest

from sutler.scan.classify import facts_of


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/shop/cart.py", "source"),
        ("tests/test_cart.py", "test"),
        ("shop/cart_test.go", "test"),
        ("src/cart.test.ts", "test"),
        ("src/Cart.spec.tsx", "test"),
        ("src/test/java/org/shop/CartTest.java", "test"),
        ("src/main/java/org/shop/Cart.java", "source"),
        ("spec/cart_spec.rb", "test"),
        ("django/test/client.py", "source"),
        ("test/cart.c", "test"),
        ("testing/cart.py", "test"),
        ("shop/testing/tools.py", "source"),
        ("conftest.py", "test"),
        ("shop/contest.py", "source"),
        ("shop/latest.py", "source"),
        ("docs/index.rst", "doc"),
        ("README.md", "doc"),
        ("examples/run.py", "example"),
        ("benchmarks/speed.py", "bench"),
        ("setup.py", "build"),
        ("package.json", "build"),
        ("config/app.yaml", "data"),
        ("shoprc", "data"),
        ("static/jquery-3.5.1.js", "vendor"),
        ("vendor/lib/x.go", "vendor"),
        ("api/shop_pb2.py", "generated"),
        ("static/app.min.js", "generated"),
        (".github/workflows/ci.yml", "ci"),
        ("crates/shop/src/lib.rs", "source"),
    ],
)
def test_class_of(path: str, kind: str) -> None:
    assert facts_of(path).role == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("packages/router/test/index.js", "test"),
        ("core/src/test/java/shop/CartTest.java", "test"),
        ("lib/net/test/server.c", "test"),
        ("pkg/cart/cart_test.go", "test"),
        ("crates/cart/tests/total.rs", "test"),
        ("spec/models/cart_spec.rb", "test"),
        ("tests/Unit/CartTest.php", "test"),
        ("src/cart.spec.ts", "test"),
        ("t/t0001-init.sh", "test"),
        ("django/test/client.py", "source"),
        ("django/core/management/commands/test.py", "source"),
        ("src/latest/cart.go", "source"),
        ("dist/cart.js", "generated"),
        ("src/dist/mod.rs", "source"),
    ],
)
def test_conventions_of_many_languages(path: str, kind: str) -> None:
    assert facts_of(path).role == kind
