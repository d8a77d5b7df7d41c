"""Every metric is a metric: identity, symmetry and the triangle, on drawn members."""

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core import (
    AbsoluteDistance,
    Category,
    ChangeOneDistance,
    DiscreteDistance,
    Frame,
    HammingDistance,
    InsertDeleteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Metric,
    Number,
    SparseDistance,
    SymmetricDistance,
    Vector,
)
from tacit.core.metrics import Parts, PartsDistance
from tacit.statistics import Records, Values
from tacit.tables.statistics.counted_quantiles import SumOfCountChanges
from tacit.tables.statistics.data_dependent_steps import ChangedBins, ChangedRecords
from tacit.tables.statistics.quantile_choice import SumOfLargestChanges
from tacit.tables.steps import UnitDistance
from tacit.transformations.from_function import ReleaseDistance, ReleaseDomain

COLUMN = Vector(Number("int", 0, 2))
FIXED = Vector(Number("int", 0, 3), size=3)
TABLE = Frame({"person": Number("int", 0, 2), "x": Number("int", 0, 1)})
CASES = [
    (SymmetricDistance(), COLUMN),
    (SymmetricDistance(), TABLE),
    (ChangeOneDistance(), FIXED),
    (HammingDistance(), FIXED),
    (InsertDeleteDistance(), COLUMN),
    (AbsoluteDistance(), Number("int", -5, 5)),
    (L1Distance(), FIXED),
    (L2Distance(), FIXED),
    (LInfinityDistance(), FIXED),
    (SparseDistance(1), FIXED),
    (SparseDistance(2), FIXED),
    (DiscreteDistance(), Category(("a", "b", "c"))),
    (ReleaseDistance(), ReleaseDomain(Values([0, 1, 4]))),
    (ReleaseDistance(empty=True), ReleaseDomain(Values([0, 1, 4]), empty=True)),
    (ReleaseDistance("bounded", 3), ReleaseDomain(Records([0, 1, 1, 4, 5], size=3))),
    (PartsDistance(SymmetricDistance()), Parts(("a", "b"), COLUMN)),
    (PartsDistance(HammingDistance()), Parts((1, 2, 3), FIXED)),
    (UnitDistance("person"), TABLE),
    (UnitDistance(None), TABLE),
]
COUNTED = [ChangedRecords(), ChangedBins()]
"""Metrics of counted histograms, one a group, which have no domain to draw from."""


def subclasses(kind):
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


def test_every_metric_is_held():
    public = {
        kind
        for kind in subclasses(Metric)
        if not kind.__name__.startswith("_") and kind.__module__.startswith("tacit.")
    }
    counted = {type(metric) for metric in COUNTED}
    assert public == {type(metric) for metric, _ in CASES} | counted | {
        SumOfLargestChanges,
        SumOfCountChanges,
    }


@pytest.mark.parametrize(("metric", "domain"), CASES, ids=str)
@given(seed=st.integers(0, 2**32))
def test_identity_symmetry_triangle(metric, domain, seed):
    source = random.Random(seed)
    u, v, w = (domain.sample(source) for _ in range(3))
    assert metric.distance(u, u) == 0
    assert metric.distance(u, v) == metric.distance(v, u) >= 0
    # the Euclidean distance is rounded up, by at most 2^-64 each
    slack = Fraction(1, 2**60) if isinstance(metric, L2Distance) else 0
    assert metric.distance(u, w) <= metric.distance(u, v) + metric.distance(v, w) + slack


histograms = st.dictionaries(st.integers(0, 3), st.integers(1, 3), max_size=3).map(
    lambda counts: (
        np.array(sorted(counts), dtype=int),
        np.array([counts[c] for c in sorted(counts)]),
    )
)
groups = st.lists(histograms, min_size=2, max_size=2)


@pytest.mark.parametrize("metric", COUNTED, ids=str)
@given(groups, groups, groups)
def test_counted_groups_have_a_metric(metric, u, v, w):
    assert metric.distance(u, u) == 0
    same = all(
        np.array_equal(a, b) for x, y in zip(u, v, strict=True) for a, b in zip(x, y, strict=True)
    )
    assert (metric.distance(u, v) == 0) == same
    assert metric.distance(u, v) == metric.distance(v, u) >= 0
    assert metric.distance(u, w) <= metric.distance(u, v) + metric.distance(v, w)
