from __future__ import annotations

import pytest

from sutler.ranking.query import analyse
from sutler.ranking.resolution import Mention

ISSUE = """Cart.total is wrong for empty carts
<!-- please fill the templat -->
Calling `cart.total()` fails in prose.

```python
from shop.cart import Cart
Cart().total()
```

```
Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/shop/api.py", line 3, in call
    x()
  File "/usr/lib/python3/site-packages/shop/cart.py", line 12, in total
    return sum(self.items)
TypeError: cannot sum nothing
```

### Versions
numpy 1.2.3
"""


def test_title_words_weigh_more_than_prose() -> None:
    terms = analyse(ISSUE).terms
    assert terms["wrong"] > terms["pros"]


def test_hidden_comments_do_not_count() -> None:
    assert "templat" not in analyse(ISSUE).terms


def test_setup_words_hardly_count() -> None:
    terms = analyse(ISSUE).terms
    assert terms.get("numpy", 0.0) < terms["pros"]


def test_frames_are_mentions_and_the_innermost_is_strongest() -> None:
    frames = {m.path.rpartition("/")[2]: m for m in analyse(ISSUE).mentions if m.frame}
    assert frames["cart.py"].line == 12
    assert frames["cart.py"].strength > frames["api.py"].strength


def test_back_ticked_words_are_known_as_such() -> None:
    assert "total" in analyse(ISSUE).ticked


def test_names_keep_their_spelling() -> None:
    assert "Cart" in analyse(ISSUE).names


@pytest.mark.parametrize(
    ("sentence", "name"),
    [("It stops in listen() again.", "listen"), ("`x`\n\nAcceptor::accept fails.", "accept")],
)
def test_what_a_sentence_calls_is_a_name(sentence: str, name: str) -> None:
    """`listen()` in prose names code, which the same word alone does not."""
    assert name in analyse(f"It hangs\n\n{sentence}").names


def test_a_plural_in_brackets_is_no_call() -> None:
    assert "file" not in analyse("It hangs\n\nAfter reading the file(s) twice.").names


def test_dotted_names_are_found() -> None:
    assert {"Cart.total", "shop.cart"} <= set(analyse(ISSUE).dotted)


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("see src/shop/cart.py for it", "src/shop/cart.py", 0),
        ("see src/shop/cart.go:42 for it", "src/shop/cart.go", 42),
        ("see src/shop/cart.go#L42-L50 for it", "src/shop/cart.go", 42),
        ("see src/shop/cart.go, line 42", "src/shop/cart.go", 42),
        ("see `src/shop/cart.go` (lines 42-50)", "src/shop/cart.go", 42),
        ("see src/shop/cart.go(42) for it", "src/shop/cart.go", 42),
        ("https://github.com/o/n/blob/main/lib/cart.rb#L7", "lib/cart.rb", 7),
        ("    at Cart.total (/app/src/cart.js:10:5)", "app/src/cart.js", 10),
        ("\tat org.shop.Cart.total(Cart.java:33)", "org/shop/Cart.java", 33),
        ("C:\\code\\shop\\cart.cs is wrong", "C:/code/shop/cart.cs", 0),
    ],
)
def test_paths_in_many_spellings(text: str, path: str, line: int) -> None:
    found = [(mention.path, mention.line) for mention in analyse(f"title\n{text}\n").mentions]
    assert (path, line) in found


@pytest.mark.parametrize(
    ("title", "about"),
    [
        ("Fix a typo in the docs", "doc"),
        ("Flaky unit tests", "test"),
        ("Example does not run", "example"),
    ],
)
def test_what_a_title_is_about(title: str, about: str) -> None:
    assert about in analyse(title).about


PIECES = [
    "\n",
    " ",
    "\t",
    "-",
    ".",
    "/",
    "`",
    "~~~\n",
    "```\n",
    "a.",
    "a-",
    "-a",
    "at ",
    "at a ",
    "1.",
    "<!--",
    "![",
    "\0",
]
PIECES += [
    "a",
    "a_",
    "[](",
    'File "',
    "\udcff",
    "a::",
    "#",
    "**",
    "data:a",
    "://",
    "/blob/",
    " \n",
    "\n\t",
    "x 1.2",
    "E ",
]


@pytest.mark.parametrize("piece", PIECES)
def test_any_text_is_a_query_and_none_takes_long(piece: str) -> None:
    """Quadratic patterns would take minutes here."""
    analyse("title\n" + piece * (60_000 // len(piece)))


def test_mentions_are_values() -> None:
    assert Mention("a", 1, True, 1.0) == Mention("a", 1, True, 1.0)


def test_functions_of_stack_frames_are_names_of_the_task() -> None:
    task = 'Crash\n\nTraceback (most recent call last):\n  File "shop/cart.py", line 3, in total\n    x()\n'
    assert analyse(task).names["total"] > 1.0


def test_the_headings_of_an_issue_form_do_not_count() -> None:
    terms = analyse(
        "Cart\n\n### Steps to reproduce\n\nbuy\n\n## Expected behavior\n\n### Reproduce the cart\n"
    ).terms
    assert terms.keys() == {"cart", "buy", "reproduc"}


def test_a_heading_of_a_form_ends_the_list_of_versions() -> None:
    terms = analyse("Cart\n\n### Environment\n\nlinux\n\n**What happened?**\n\nlinux breaks").terms
    assert terms["linux"] > 0.5


@pytest.mark.parametrize(
    "trace",
    [
        'Traceback (most recent call last):\n  File "/app/a/b.py", line 3, in run\n    go()\n'
        '  File "/app/a/c.py", line 9, in go\n    raise ValueError\nValueError: no wheel',
        'Exception in thread "main" java.lang.IllegalStateException: no wheel\n'
        "\tat org.acme.Cart.roll(Cart.java:12)\n\tat org.acme.App.main(App.java:3)",
        "panic: no wheel\n\ngoroutine 1 [running]:\nmain.roll(0x1)\n\t/app/cart.go:12 +0x1\n"
        "main.main()\n\t/app/main.go:3 +0x2",
        "TypeError: no wheel\n    at roll (/app/cart.js:12:3)\n    at main (/app/main.js:3:1)",
        "==1==ERROR: AddressSanitizer: no wheel\n    #0 0x55d1 in roll cart.c:12\n"
        "    #1 0x55d2 in main main.c:3",
    ],
)
def test_a_bare_trace_has_no_title(trace: str) -> None:
    """The weight of a title would drown the frames in the words of the message."""
    query = analyse(trace)
    assert query.title == {}
    assert any(mention.frame for mention in query.mentions)
    assert analyse(f"The cart stands\n\n{trace}").title != {}


def test_an_issue_whose_title_is_an_error_keeps_it() -> None:
    assert analyse("TypeError: no wheel\n\nIt happens when the cart rolls.").title != {}
