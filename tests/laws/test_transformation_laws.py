"""Every transformation keeps its stability map, held against the definition on drawn pairs."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit.mechanisms
import tacit.mechanisms.keys
import tacit.tables.quantile
import tacit.tables.steps  # noqa: F401  (steps make themselves known when their room is opened)
from laws.laws import holds_stability, neighbours_of
from tacit.core import (
    ChangeOneDistance,
    HammingDistance,
    InsertDeleteDistance,
    Space,
    SymmetricDistance,
    Transformation,
    Vector,
)
from tacit.core.step import _REGISTERED
from tacit.transformations import Clamp, Count, Impute, Mean, Sum

METRICS = [SymmetricDistance(), InsertDeleteDistance(), ChangeOneDistance(), HammingDistance()]
FREE = [Vector(float), Vector(float, bounds=(-3, 9)), Vector(int, bounds=(-2, 5))]
SIZED = [Vector(float, bounds=(-3, 9), size=4), Vector(int, bounds=(2, 5), size=3)]

CASES = [
    *((d, m, Clamp(0, 4)) for d, m in itertools.product(FREE, METRICS)),
    *((d, m, Impute(1)) for d, m in itertools.product(FREE[:2], METRICS)),
    *((d, m, Count()) for d, m in itertools.product([*FREE, *SIZED], METRICS)),
    *((d, m, Sum()) for d, m in itertools.product([*FREE[1:], *SIZED], METRICS)),
    *((d, m, Sum(grid=2)) for d, m in itertools.product(FREE[1:], METRICS)),
    *((d, m, Mean()) for d, m in itertools.product(SIZED, METRICS)),
]
HELD_ELSEWHERE = {
    # on tables, against the engine
    "filter",
    "derive",
    "bound_contributions",
    "count_rows",
    "count_people",
    "histogram",
    "moments",
    "sum_by_group",
    "quantile_costs",
    # measurements, against their exact distributions
    "laplace",
    "geometric",
    "gaussian",
    "exponential",
    "choose_quantile",
    "release_keys",
}


@pytest.mark.parametrize(("domain", "metric", "step"), CASES, ids=str)
@given(seed=st.integers(0, 2**32))
def test_distances_grow_no_more_than_the_map_says(domain, metric, step, seed):
    space = Space(domain, metric)
    t = space >> step
    u, v = neighbours_of(space, seed)
    assert holds_stability(t, u, v)


@pytest.mark.parametrize(("domain", "metric", "step"), CASES, ids=str)
def test_maps_are_monotone_from_zero(domain, metric, step):
    t = Space(domain, metric) >> step
    distances = [t.map(d) for d in range(6)]
    assert distances[0] == 0
    assert distances == sorted(distances)


def test_every_registered_step_is_held():
    here = {step.name for _, _, step in CASES}
    assert here | HELD_ELSEWHERE == set(_REGISTERED)


@pytest.mark.parametrize("step", [Sum(), Count()])
def test_a_halved_map_is_caught(step):
    """The laws themselves must fail where a constant is wrong."""
    space = Space(Vector(float, bounds=(-3, 9)), SymmetricDistance())
    right = space >> step
    wrong = Transformation(
        right.input, right.output, right.function, lambda d: right.map(d) * Fraction(1, 2)
    )
    pairs = [neighbours_of(space, seed) for seed in range(300)]
    assert all(holds_stability(right, u, v) for u, v in pairs)
    assert not all(holds_stability(wrong, u, v) for u, v in pairs)


@pytest.mark.parametrize(
    ("metric", "u", "v"),
    [
        (SymmetricDistance(), [9.0], []),
        (ChangeOneDistance(), [9.0], [-3.0]),
        (HammingDistance(), [9.0, 1.0], [-3.0, 1.0]),
    ],
)
def test_the_map_of_the_sum_is_attained(metric, u, v):
    t = Space(Vector(float, bounds=(-3, 9)), metric) >> Sum()
    assert t.output.metric.distance(t(u), t(v)) == t.map(metric.distance(u, v))
