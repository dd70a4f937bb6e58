"""The table of secret formats: a malformed row is refused with its line and column."""

from __future__ import annotations

import re

import pytest

from sutler.secrets.format_table import formats, parse_table, pattern

GOOD = "acme-token\tacmepat\tacmepat{B62}{24}"


def test_a_row_is_a_format() -> None:
    (row,) = parse_table(f"# comment\n\n{GOOD}\n")
    assert row == ("acme-token", ("acmepat",), "acmepat[A-Za-z0-9]{24}")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("acme-token", "line 2, column 2 (words): the row has 1 columns and not 3"),
        ("acme-token\tacmepat", "line 2, column 3 (pattern): the row has 2 columns and not 3"),
        (f"{GOOD}\tx", "line 2, column 3 (pattern): the row has 4 columns and not 3"),
        ("acme-token acmepat x", "line 2, column 2 (words): the row has 1 columns"),
        ("Acme_Token\tacmepat\tx", "line 2, column 1 (id): 'Acme_Token' is not lower case"),
        ("acme-token\t \tx", "line 2, column 2 (words): there is no word"),
        ("acme-token\tacmepat\t", "line 2, column 3 (pattern): the pattern is empty"),
        (
            "acme-token\tacmepat\tacmepat{B65}{24}",
            "line 2, column 3 (pattern): {B65} is none of {B62}",
        ),
        ("first\tacmepat\tx", "line 2, column 1 (id): 'first' is the id of an earlier row"),
    ],
)
def test_a_malformed_row_is_refused_with_its_place(row: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"formats.tsv, {message}")):
        parse_table(f"first\tword\tx\n{row}\n")


@pytest.mark.parametrize("row", formats(), ids=lambda row: row.name)
def test_every_pattern_compiles(row: object) -> None:
    assert pattern(getattr(row, "core", ""))


def test_a_pattern_that_does_not_compile_is_named() -> None:
    with pytest.raises(ValueError, match=r"column 3 \(pattern\): missing \)"):
        pattern("acme(")
