"""Two tenants in one database, with one login for each person."""

from __future__ import annotations

import pytest

from bench.fleet.isolation import run
from tests.stores import FUZZ


@pytest.mark.parametrize("seed", range(2))
def test_no_row_name_or_byte_of_another_tenant(postgres_admin: str, seed: int) -> None:
    """Random methods and statements of all roles; `python -m bench.fleet.isolation` is the long run."""
    counts = run(postgres_admin, int(250 * FUZZ), seed)
    assert counts["method answered"] > 80 * FUZZ
    assert counts["statement refused"] > 10 * FUZZ
