"""What is too large to search says how large it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit as tc
import tacit.statistics as ts
from tacit.errors import InfeasibleError


@pytest.mark.parametrize("domain", [tc.Records(range(300), 150), tc.Values(range(300), 150)])
def test_a_hopeless_search_says_how_large_in_few_words(domain: Any) -> None:
    with pytest.raises(InfeasibleError, match=r"more than 10\^\d+ evaluations") as caught:
        tc.sensitivity(np.ptp, over=domain)
    assert "lower_bound" in str(caught.value)
    assert len(str(caught.value)) < 400


def spread_of(x: Any) -> float:
    return float(x[-1] - x[0])


def test_the_cost_is_told_beforehand() -> None:
    over = ts.Records([0, 1, 1, 4, 9, 9, 16], size=4)
    for relation in ("unbounded", "add", "remove", "bounded"):
        cost = ts.search_cost(over, 2, relation)
        assert ts.sensitivity(spread_of, over, None, 2, relation).evaluations == cost.evaluations
        assert cost.feasible
        assert cost.states == 2 * 3 * 2 * 3 * 2
    assert not ts.search_cost(ts.Records(range(60), size=30)).feasible
