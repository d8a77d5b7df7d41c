"""What is refused of delta and of the share of epsilon, by every step that takes them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tacit.errors import UsageError
from tacit.mechanisms.propose_test_release import (
    BoundSearch,
    ProposeTestRelease,
    read_delta,
    read_split,
)

STEPS = [
    (lambda **given: BoundSearch("mean", **given), "search"),
    (lambda **given: ProposeTestRelease("mean", 1, **given), "test"),
]


def test_what_is_in_range_is_read_exactly() -> None:
    assert read_delta("1e-6") == Fraction(1, 10**6)
    assert read_split("1/4", "test") == Fraction(1, 4)
    assert read_split(None, "test") is None


@pytest.mark.parametrize(("made", "what"), STEPS)
@pytest.mark.parametrize("split", [0, 1, "3/2"])
def test_a_share_is_strictly_between_0_and_1(made: Any, what: str, split: Any) -> None:
    with pytest.raises(UsageError, match=f"share of epsilon for the {what}"):
        made(split=split)


@pytest.mark.parametrize(("made", "what"), STEPS)
@pytest.mark.parametrize("delta", [0, "1/2", 1])
def test_delta_is_below_one_half(made: Any, what: str, delta: Any) -> None:
    with pytest.raises(UsageError, match="delta must be above 0 and below 1/2"):
        made(delta=delta)
