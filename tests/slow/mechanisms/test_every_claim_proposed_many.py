"""The search for a bound as it is called: 32 rungs, 1024 units a bound, more records."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.by_hand.noise_by_hand import WholeLaplace, too_far
from support.by_hand.proposal_by_hand import HIGH, LOW, Case, Ladder, Proposal
from tacit.mechanisms.propose_test_release import propose_test_release

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("name", ["median", "mean", "var", "max"])
def test_the_search_as_it_is_called_by_hand(name: str, relation: str) -> None:
    """Values by their place on the grid of each rung; rungs that are drawn have the law by hand."""
    case = Case(name, relation, most=2)
    ours = Ladder(case, 4.0, 0.2, rungs=32, ratio=Fraction(3, 2))
    m: Any = propose_test_release(name, (LOW, HIGH), "search", 4, "1/5", relation)
    threshold = ours.threshold(ours.delta / ours.rungs)
    assert (m.threshold, m.ladder) == (threshold, ours.bounds)
    noise = WholeLaplace(1024 / 2.0)
    k = np.arange(-16_000, 16_001)
    rungs = {data: ours.rung_law(data, threshold) for data in case.listed}
    for one, other in case.pairs():
        total = 0.0
        for bound, p, q in zip(ours.bounds, rungs[one], rungs[other], strict=True):
            here, there = (
                math.floor(Fraction(case.value(data)) / (bound / 1024) + Fraction(1, 2))
                for data in (one, other)
            )
            moved = noise.at(np.minimum(np.abs(k - (there - here)), 1 << 20))
            total += float(np.maximum(p * noise.at(k) - math.exp(4.0) * q * moved, 0).sum())
        assert total <= 0.2 * (1 + 1e-9)
    seen = Counter(m([4.0, 4.0]).bound for _ in range(400))
    law = dict(zip(ours.bounds, ours.rung_law((Fraction(4),) * 2, threshold), strict=True))
    assert too_far(seen, law) > 1e-9


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize(
    "name", ["median", "percentile(30)", "mean", "var", "std", "interquartile_range"]
)
def test_no_pair_exceeds_the_claim_with_up_to_five_records(name: str, relation: str) -> None:
    for bound in (Fraction(1), Fraction(5, 2)):
        case = Case(name, relation, most=5, bound=bound)
        for apart in (1, 2, 3):
            assert Proposal(case).worst(apart) <= 1 + 1e-9
