from __future__ import annotations

import pytest

from sutler.ranking.index import bag_of, build
from sutler.ranking.reader import Reader
from sutler.ranking.resolution import Links, is_trace, mentions_of
from tests.facts import extracted


def links_over(files: dict[str, str]) -> tuple[Links, dict[str, int]]:
    index = build((path, path, bag_of(path, text)) for path, text in files.items())
    reader = Reader(index, extracted(files))
    return Links(reader), {doc.path: number for number, doc in reader.docs.items()}


@pytest.mark.parametrize(
    ("importer", "text", "target"),
    [
        ("pkg/a.py", "from .b import c\n", "pkg/b.py"),
        ("pkg/a.py", "from pkg.sub import thing\n", "pkg/sub/__init__.py"),
        ("pkg/sub/a.py", "from ..b import x\n", "pkg/b.py"),
        ("src/a.js", "import x from './lib/b.js';\n", "src/lib/b.js"),
        ("src/a.ts", "import { x } from '../lib/c';\n", "lib/c.ts"),
        ("src/a.ts", "import x from './widgets';\n", "src/widgets/index.ts"),
        ("cmd/main.go", 'package main\n\nimport "example.com/m/pkg/store"\n', "pkg/store/store.go"),
        (
            "src/main/java/o/s/A.java",
            "package o.s;\nimport o.s.util.Tool;\n",
            "src/main/java/o/s/util/Tool.java",
        ),
        ("src/a.c", '#include "list.h"\n', "include/list.h"),
        ("lib/a.rb", 'require_relative "shop/cart"\n', "lib/shop/cart.rb"),
        ("src/main.rs", "use crate::store::disk;\n", "src/store/disk.rs"),
        ("src/A.php", "<?php\nuse Shop\\Base\\Box;\n", "src/Shop/Base/Box.php"),
    ],
)
def test_imports_lead_to_files(importer: str, text: str, target: str) -> None:
    links, numbers = links_over({importer: text, target: "", "other/unrelated.txt": ""})
    assert links.imported(numbers[importer]) == [numbers[target]]


def test_an_import_of_a_folder_tells_less_of_each_of_its_files() -> None:
    files = {f"pkg/store/s{i}.go": "package store\n" for i in range(4)}
    main = 'package main\n\nimport "example.com/m/pkg/store"\nimport "example.com/m/pkg/one"\n'
    links, numbers = links_over({"cmd/main.go": main, "pkg/one/one.go": "package one\n", **files})
    found = links.needed(numbers["cmd/main.go"])
    assert found == {numbers["pkg/one/one.go"]: 1.0, **{numbers[path]: 0.25 for path in files}}


@pytest.mark.parametrize(
    ("mention", "path"),
    [
        ("shop/cart.py", "src/shop/cart.py"),
        ("/usr/lib/site-packages/shop/cart.py", "src/shop/cart.py"),
        ("cart.py", "src/shop/cart.py"),
    ],
)
def test_mentioned_paths(mention: str, path: str) -> None:
    links, numbers = links_over({"src/shop/cart.py": "", "src/shop/api.py": ""})
    assert [number for number, _ in links.mentioned(mention)] == [numbers[path]]


def test_a_foreign_frame_of_the_same_name_is_not_ours() -> None:
    links, _ = links_over({"src/shop/core.py": ""})
    assert links.mentioned("usr/lib/numpy/lib/core.py") == []


GO = """goroutine 1 [running]:
shop/cart.(*Cart).Total(0xc000010000)
\t/home/u/shop/cart/cart.go:42 +0x1d
main.main()
\t/home/u/shop/main.go:9 +0x2a
"""
RUST = """thread 'main' panicked at 'out of bounds'
   3: shop::cart::total::Cart::sum
             at ./src/cart/total.rs:42:13
   4: shop::main
             at ./src/main.rs:7:5
"""
GDB = """#0  0x00005555 in cart_total (c=0x0) at src/cart.c:42
#1  0x00005566 in main () at main.c:9
"""
ASAN = """    #0 0x4f in cart_total /home/u/shop/src/cart.c:42:7
    #1 0x50 in main /home/u/shop/src/main.c:9:3
"""
JAVA = """\tat com.shop.cart.Cart.total(Cart.java:42)
\tat com.shop.Main.main(Main.java:7)
"""
JAVASCRIPT = """    at Cart.total (/srv/app/lib/cart.js:42:13)
    at async /srv/app/lib/main.js:9:3
"""
RUBY = """/app/lib/shop/cart.rb:42:in `total': undefined method
\tfrom /app/lib/shop/main.rb:7:in `<main>'
"""
PHP = """#0 /app/src/Cart.php(42): Shop\\Cart->total()
#1 /app/src/Main.php(7): main()
"""
PYTHON = """Traceback (most recent call last):
  File "/x/shop/main.py", line 7, in <module>
  File "/x/shop/cart.py", line 42, in total
"""


@pytest.mark.parametrize(
    ("trace", "path", "function"),
    [
        (GO, "home/u/shop/cart/cart.go", "Total"),
        (RUST, "src/cart/total.rs", "sum"),
        (GDB, "src/cart.c", "cart_total"),
        (ASAN, "home/u/shop/src/cart.c", "cart_total"),
        (JAVA, "com/shop/cart/Cart.java", "total"),
        (JAVASCRIPT, "srv/app/lib/cart.js", "total"),
        (RUBY, "app/lib/shop/cart.rb", "total"),
        (PHP, "app/src/Cart.php", "total"),
        (PYTHON, "x/shop/cart.py", "total"),
    ],
    ids="go rust gdb asan java javascript ruby php python".split(),
)
def test_the_innermost_frame_of_a_trace_is_the_strongest(
    trace: str, path: str, function: str
) -> None:
    frames = [mention for mention in mentions_of(f"It crashes\n\n{trace}") if mention.frame]
    best = max(frames, key=lambda mention: mention.strength)
    assert (best.path, best.line, best.function) == (path, 42, function)
    assert len(frames) == 2
    assert is_trace(trace)


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("FAILED tests/test_cart.py::test_total - assert 1 == 2", "tests/test_cart.py", 0),
        ("shop/cart.py:42: AssertionError", "shop/cart.py", 42),
        ("--- FAIL: TestTotal (0.00s)\n    cart_test.go:17: got 1", "cart_test.go", 17),
        (
            "FAIL src/cart.test.ts\n  at Object.<anonymous> (src/cart.test.ts:12:20)",
            "src/cart.test.ts",
            12,
        ),
    ],
    ids=["pytest", "pytest line", "go test", "jest"],
)
def test_a_failing_test_names_its_place(text: str, path: str, line: int) -> None:
    assert (path, line) in {(one.path, one.line) for one in mentions_of(f"It fails\n{text}\n")}


def test_a_hunk_of_a_diff_points_at_its_lines() -> None:
    hunk = (
        "--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -40,6 +50,7 @@ def total(self):\n     x = 1\n"
    )
    (mention,) = mentions_of(f"Off by one here\n\n{hunk}")
    assert (mention.path, mention.line, mention.titled) == ("shop/cart.py", 53, False)


def test_prose_is_no_trace() -> None:
    assert not is_trace("It fails at home.\nLook at the cart in shop/cart.py: it is wrong.\n")
