"""What no family covers is bounded, and labelled as a bound."""

from __future__ import annotations

import numpy as np

from tacit.statistics import Records, Sample, sensitivity
from tacit.statistics.dispersion_candidates import Contest, Spread, blocks, widen
from tacit.statistics.prefix_moments import Moments


def test_mixed_moves_that_only_a_bound_covers_are_labelled():
    rng = np.random.default_rng(0)
    population = np.sort(rng.integers(0, 1000, 40)).tolist()
    labels = set()
    for size in (2, 3, 4, 6, 20):
        found = sensitivity("std", Records(population, size=size), None, 4, "unbounded")
        labels.add(found.method)
        one_way = [
            sensitivity("std", Records(population, size=size), None, 1, relation)
            for relation in ("add", "remove", "bounded")
            if not (size == 1 and relation == "remove")
        ]
        assert all(float(found) >= float(other) for other in one_way)
        if found.method == "upper bound":
            assert not found.exact
            assert found.witness is None
            assert "only bounded" in " ".join(found.notes)
        else:
            assert found.witness is not None
    assert labels <= {"polynomial", "exhaustive", "upper bound"}


def test_bound_on_uncovered_moves_holds_against_all_blocks():
    """What `widen` cannot prove is never above the bound that it returns or what it offers."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        moments = Moments(Sample(rng.integers(0, 50, 10)))
        if moments.constant:
            continue
        contest = Contest(moments, Spread(0, root=True))
        bound = widen(contest, 3, 1, 2, within=True)
        every = Contest(moments, Spread(0, root=True))
        blocks(every, 3, 1, 2)
        assert every.floor <= max(bound, contest.floor) * (1 + 1e-9)
