"""Every metric is a metric: identity, symmetry and the triangle, on drawn members."""

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.arithmetic.square_root import sqrt_up
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
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.core.spaces.partition import Parts, PartsDistance
from tacit.errors import UsageError
from tacit.mechanisms import Laplace
from tacit.statistics import Records, Values
from tacit.tables.answers.quantile_choice import SumOfLargestChanges
from tacit.tables.chain.space import UnitDistance
from tacit.tables.data_dependent.records import ChangedRecords
from tacit.tables.data_dependent.sample_steps import ChangedBins
from tacit.transformations import Count
from tacit.transformations.from_function import ReleaseDistance, Releases

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
    (DiscreteDistance(), Category(("a", "b", "c"))),
    (ReleaseDistance(), Releases(Values([0, 1, 4]))),
    (ReleaseDistance("bounded", 3), Releases(Records([0, 1, 1, 4, 5], size=3))),
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
    assert public == {type(metric) for metric, _ in CASES} | counted | {SumOfLargestChanges}


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


@given(st.integers(0, 10**30), st.integers(1, 10**30))
def test_roots_are_rounded_up(top, bottom):
    value = Fraction(top, bottom)
    root = sqrt_up(value)
    assert root**2 >= value
    assert (root - Fraction(1, 2**63)) ** 2 <= value or root < Fraction(1, 2**63)


def test_distances_respect_multiplicity_and_missing_values():
    nan = float("nan")
    assert SymmetricDistance().distance([12, 10, 8, 7], [10, 10, 8, 7]) == 2
    assert SymmetricDistance().distance([nan, nan], [nan]) == 1
    assert ChangeOneDistance().distance([1, 2], [1]) == float("inf")
    assert InsertDeleteDistance().distance([1, 2, 3], [3, 1, 2]) == 2


def twice(self, u, v):
    return 2 * SymmetricDistance().distance(u, v)


@pytest.mark.parametrize("parent", [type(metric) for metric, _ in CASES], ids=str)
def test_what_measures_otherwise_is_no_kind_of_a_metric(parent):
    """A map is proven for a distance: a subclass with another one would get the map all the same.

    Half a distance made ``Count() >> Laplace(1)`` claim 1 where 2 is lost.
    """
    with pytest.raises(UsageError, match="derive it from Metric itself"):
        type("Mine", (parent,), {"distance": twice})
    beside = type("Beside", (), {"distance": twice})
    with pytest.raises(UsageError, match="measures otherwise"):
        type("Mixed", (beside, parent), {})
    assert type("Named", (parent,), {"sentence": "mine"}).distance is parent.distance


def test_parts_of_a_distance_are_not_replaced():
    with pytest.raises(UsageError, match="measures otherwise than L2Distance"):
        type("Mine", (L2Distance,), {"squared": lambda self, u, v: Fraction(0)})
    with pytest.raises(UsageError, match="measures otherwise than SymmetricDistance"):
        type("Mine", (SymmetricDistance,), {"counts_records": False})


def test_a_metric_of_ones_own_gets_no_map_of_another():
    own = type("Mine", (Metric,), {"distance": twice, "carries": (Vector,)})
    with pytest.raises(UsageError):
        Space(COLUMN, own()) >> Count() >> Laplace(scale=1)
