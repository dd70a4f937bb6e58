from __future__ import annotations

from typing import get_args

import pytest

from sutler.scan.snapshot import Reason
from sutler.survey.wire import ExclusionReason, seed_reason


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_reason_is_one_of_the_seeds_seven(reason: Reason) -> None:
    assert seed_reason(reason) in get_args(ExclusionReason)


@pytest.mark.parametrize("reason", get_args(ExclusionReason))
def test_the_seeds_reasons_stay_themselves(reason: Reason) -> None:
    assert seed_reason(reason) == reason
