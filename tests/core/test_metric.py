"""Metrics: multiplicity and missing values count, and no kind of a metric measures otherwise."""

from fractions import Fraction

import pandas as pd
import polars as pl
import pytest

from tacit.core import (
    AbsoluteDistance,
    ChangeOneDistance,
    DiscreteDistance,
    HammingDistance,
    InsertDeleteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Metric,
    Number,
    Space,
    SparseDistance,
    SymmetricDistance,
    Vector,
)
from tacit.core.metrics import PartsDistance, records_of
from tacit.errors import UsageError
from tacit.mechanisms import Laplace
from tacit.tables.steps import UnitDistance
from tacit.transformations import Count
from tacit.transformations.from_function import ReleaseDistance

COLUMN = Vector(Number("int", 0, 2))
KINDS = [
    SymmetricDistance,
    ChangeOneDistance,
    HammingDistance,
    InsertDeleteDistance,
    AbsoluteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    DiscreteDistance,
    SparseDistance,
    ReleaseDistance,
    PartsDistance,
    UnitDistance,
]


def test_distances_respect_multiplicity_and_missing_values():
    nan = float("nan")
    assert SymmetricDistance().distance([12, 10, 8, 7], [10, 10, 8, 7]) == 2
    assert SymmetricDistance().distance([nan, nan], [nan]) == 1
    assert ChangeOneDistance().distance([1, 2], [1]) == float("inf")
    assert InsertDeleteDistance().distance([1, 2, 3], [3, 1, 2]) == 2


def twice(self, u, v):
    return 2 * SymmetricDistance().distance(u, v)


@pytest.mark.parametrize("parent", KINDS)
def test_what_measures_otherwise_is_no_kind_of_a_metric(parent):
    """A map is proven for a distance: a subclass with another one would get the map all the same.

    Half a distance made ``Count() >> Laplace(1)`` claim 1 where 2 is lost.
    """
    with pytest.raises(UsageError, match="derive it from Metric itself"):
        type("Mine", (parent,), {"distance": twice})
    beside = type("Beside", (), {"distance": twice})
    with pytest.raises(UsageError, match="changes the distance of"):
        type("Mixed", (beside, parent), {})
    assert type("Named", (parent,), {"sentence": "mine"}).distance is parent.distance


def test_parts_of_a_distance_are_not_replaced():
    with pytest.raises(UsageError, match="changes the distance of L2Distance"):
        type("Mine", (L2Distance,), {"squared": lambda self, u, v: Fraction(0)})
    with pytest.raises(UsageError, match="changes the distance of SymmetricDistance"):
        type("Mine", (SymmetricDistance,), {"counts_records": False})


def test_a_metric_of_ones_own_gets_no_map_of_another():
    own = type("Mine", (Metric,), {"distance": twice, "carries": (Vector,)})
    with pytest.raises(UsageError):
        Space(COLUMN, own()) >> Count() >> Laplace(scale=1)


def test_only_metrics_of_records_count_them():
    assert [kind.__name__ for kind in KINDS[:9] if kind().counts_records] == [
        "SymmetricDistance",
        "ChangeOneDistance",
        "HammingDistance",
        "InsertDeleteDistance",
    ]


def test_what_has_another_size_is_infinitely_far_where_the_size_is_public():
    for kind in (ChangeOneDistance, HammingDistance, L1Distance, L2Distance, LInfinityDistance):
        assert kind().distance([1, 2], [1]) == float("inf")
    assert SymmetricDistance().distance([1, 2], [1]) == 1
    assert LInfinityDistance().distance([], []) == L2Distance().distance([], []) == 0


def test_a_table_is_its_rows_whoever_holds_it():
    columns = {"a": [1, 2, 2], "b": ["x", "y", "y"]}
    for table in (columns, pd.DataFrame(columns), pl.DataFrame(columns)):
        assert records_of(table) == [(1, "x"), (2, "y"), (2, "y")]
        assert DiscreteDistance().distance(table, columns) == 0
        assert SymmetricDistance().distance(table, {"a": [2], "b": ["y"]}) == 2
    assert records_of([float("nan"), [1, float("nan")]])[0] == records_of([float("nan")])[0]


@pytest.mark.parametrize("data", ["text", b"bytes", 5, None])
def test_what_is_no_data_set_has_no_records(data):
    with pytest.raises(UsageError, match="sequence of records"):
        records_of(data)
    with pytest.raises(UsageError, match="hashable"):
        records_of([{"a": 1}])


def test_a_vector_metric_needs_numbers():
    assert L1Distance().supports(Vector(Number("int")))
    assert not L1Distance().supports(Vector(str))
    assert not L1Distance().supports(Number("int"))
    with pytest.raises(UsageError, match="two vectors of numbers"):
        L1Distance().distance(3, [3])
