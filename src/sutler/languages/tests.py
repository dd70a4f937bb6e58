"""How test runners name test files: patterns over a name without its last suffix, shared by many
languages."""

from __future__ import annotations

from sutler.languages.base import Tests

AFFIX = r"(?i:tests?(?:[._-].*)?|.*[._-](?:tests?|unittest|cy|suite))"
"""`test_cart`, `tests`, `cart_test`, `cart.test`, `cart-unittest`."""
SPEC = r"(?i:.*[._-]spec)|.*[A-Za-z0-9](?:Specs?|Suite)"
CAMEL = r".*[A-Za-z0-9](?:Tests?|TestCase|Cest)"
PREFIX = r"Test[A-Z0-9].*"
"""`TestCart`, and not `Testament`."""


BY_AFFIX = Tests(stem=f"{AFFIX}|{CAMEL}")
BY_SPEC = Tests(stem=f"{AFFIX}|{SPEC}|{CAMEL}", spec_folder=True)
NO_TESTS = Tests(stem="")
"""Files of this kind are tests only below a folder of tests."""
