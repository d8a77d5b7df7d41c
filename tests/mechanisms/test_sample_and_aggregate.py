"""Sample-and-aggregate: its map by exact enumeration, its bins, and functions that misbehave."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit import noise
from tacit.audit import verify
from tacit.core import InsertDeleteDistance, PureDP, Space, Vector
from tacit.errors import UsageError, VerificationError
from tacit.mechanisms import measurement
from tacit.mechanisms.grid_noise import LatticeDistribution
from tacit.mechanisms.sample_and_aggregate import AGGREGATES, sample_and_aggregate

HIGH, SURE = 500, 10**9
"""Epsilons at which the noise is far below what is compared."""


LISTS = [
    list(data)
    for size in range(4)
    for data in itertools.combinations_with_replacement((0, 1, 3), size)
]


def first_record(content):
    """A function that depends on the order within a bin."""
    return content[0]


@pytest.mark.few(8)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("aggregate", ["mean", "median"])
@pytest.mark.parametrize("function", [max, first_record])
@pytest.mark.parametrize("bins", [1, 2])
def test_no_pair_of_neighbours_exceeds_the_claim(aggregate, relation, function, bins):
    m = sample_and_aggregate(
        function, bins, (0, 3), 1, aggregate=aggregate, relation=relation, grid=1
    )
    assert verify(m, LISTS, d_in=2).or_raise().kind == "exact"


@pytest.mark.full
@pytest.mark.few(2)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_no_pair_exceeds_the_claim_of_the_winsorized_mean(relation):
    m = sample_and_aggregate(
        max, 2, (0, 1), 2, aggregate="winsorized_mean", relation=relation, grid=1
    )
    assert verify(m, [[], [0], [1], [0, 1], [1, 1]]).or_raise()


@pytest.mark.full
@pytest.mark.few(6)
@pytest.mark.parametrize("delta", [None, "1/100"])
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_no_pair_exceeds_the_claim_of_the_smooth_centre(relation, delta):
    m = sample_and_aggregate(
        max, 3, (0, 4), 1, aggregate="smooth", delta=delta, relation=relation, grid=1
    )
    assert verify(m, [[], [0], [4], [0, 4], [4, 4]]).or_raise().kind == "exact"


def test_measure_of_the_smooth_centre():
    m = sample_and_aggregate(np.mean, 50, [(0, 1)] * 2, 1, aggregate="smooth", delta="1e-6")
    assert m.map(1) == (1, Fraction(1, 10**6))
    pure = sample_and_aggregate(np.mean, 50, (0, 1), 1, aggregate="smooth")
    assert (pure.measure, pure.map(3)) == (PureDP(), 3)


def test_exchanging_a_record_attains_the_claim():
    m = sample_and_aggregate(max, 2, (0, 3), 1, relation="bounded", grid=1)
    assert verify(m, [[0], [3]]).tight


def test_a_loss_below_the_map_is_caught():
    """The enumeration must see a mechanism with half the noise."""
    m = sample_and_aggregate(max, 2, (0, 3), 1, relation="bounded", grid=1)
    dear = sample_and_aggregate(max, 2, (0, 3), 2, relation="bounded", grid=1)
    wrong = measurement(m.input, m, m.map, distribution=dear.distribution)
    assert verify(wrong, [[0], [3]]).broken


def by_row_order(data, bins):
    """Stretches of ceil(n / bins) rows, as textbooks cut them."""
    size = math.ceil(len(data) / bins)
    return [data[i : i + size] for i in range(0, len(data), size)] if data else []


def test_stretches_by_row_order_break_and_independent_bins_hold():
    """One deletion moves every boundary: both answers change, and the claim counts one."""
    bins, epsilon = 2, Fraction(1)

    def law(data):
        answers = [int(part[0]) for part in by_row_order(list(data), bins)]
        scale = Fraction(1) / epsilon
        return LatticeDistribution(
            noise.DiscreteLaplace(scale), sum(answers), Fraction(1, max(1, len(answers)))
        )

    u, v = [0, 1, 0, 1], [1, 0, 1]
    assert [part[0] for part in by_row_order(u, bins)] == [0, 0]
    assert [part[0] for part in by_row_order(v, bins)] == [1, 1]
    space = Space(Vector(int, bounds=(0, 1)), InsertDeleteDistance())
    textbook = measurement(
        space, lambda data: 0, lambda d: epsilon * d, measure=PureDP(), distribution=law
    )
    verdict = verify(textbook, pairs=[(u, v)])
    assert verdict.broken
    assert verdict.found == pytest.approx(2, abs=1e-6)
    with pytest.raises(VerificationError):
        verdict.or_raise()
    ours = sample_and_aggregate(first_record, bins, (0, 1), epsilon, grid=1)
    assert verify(ours, pairs=[(u, v), (v, u)]).or_raise()


def test_more_bins_than_records_and_an_empty_data_set_are_answered():
    m = sample_and_aggregate(np.mean, 1000, (0, 10), SURE, default=5)
    assert m([9, 9]) == pytest.approx(5 + 2 * 4 / 1000, abs=0.01)
    assert m([]) == pytest.approx(5, abs=1e-3)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_vectors_share_the_loss(aggregate):
    def fit(rows):
        return rows.mean(axis=0)

    bounds = [(0, 1), (10, 20), (-1, 1)]
    m = sample_and_aggregate(fit, 5, bounds, HIGH, aggregate=aggregate)
    rows = np.tile([0.5, 12.0, 0.25], (2000, 1))
    assert m(rows) == pytest.approx([0.5, 12, 0.25], abs=0.2)
    assert m.map(1) == HIGH
    assert m.map(9) == 5 * HIGH  # no more bins than there are can change


def test_maps_and_measures():
    m = sample_and_aggregate(np.mean, 10, (0, 1), "1/3")
    assert [m.map(d) for d in (0, 1, 2, 50)] == [0, Fraction(1, 3), Fraction(2, 3), Fraction(10, 3)]
    assert m.measure == PureDP()
    assert "bins=10" in m.explain()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"function": 3}, "must be a function"),
        ({"bins": 0}, "at least 1"),
        ({"bins": 2.5}, "whole number"),
        ({"bins": 1 << 30}, "at most"),
        ({"bounds": None}, "give bounds"),
        ({"bounds": (5, 5)}, "must be below"),
        ({"bounds": (5, 1)}, "must be below"),
        ({"bounds": 7}, "bounds are"),
        ({"bounds": [(0, 1), 3]}, "bounds are"),
        ({"bounds": (0, math.inf)}, "finite"),
        ({"epsilon": None}, "give epsilon"),
        ({"epsilon": 0}, "above zero"),
        ({"epsilon": -1}, "above zero"),
        ({"aggregate": "means"}, "did you mean 'mean'"),
        ({"relation": "sideways"}, "relation"),
        ({"delta": "1e-6"}, "takes no delta"),
        ({"delta": 1, "aggregate": "smooth"}, "below 1"),
        ({"delta": 0, "aggregate": "smooth"}, "above zero"),
        ({"default": 11}, "outside the bounds"),
        ({"default": [1, 2]}, "default has 2"),
        ({"grid": 0}, "above zero"),
        ({"grid": 100}, "above the range"),
        ({"grid": "1e-20"}, "coarser grid"),
        ({"timeout": 0}, "above zero"),
        ({"parallel": 0}, "at least 1"),
        ({"parallel": "nonesuch"}, "joblib has no backend"),
        ({"parallel": "thredding"}, "did you mean 'threading'"),
        ({"parallel": "dask", "timeout": 3}, "cannot stop a single bin"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(change, message):
    asked = {"function": np.mean, "bins": 5, "bounds": (0, 10), "epsilon": 1} | change
    with pytest.raises(UsageError, match=message):
        sample_and_aggregate(**asked)


@pytest.mark.parametrize(
    ("bounds", "epsilon", "words"),
    [
        ((0, 10**400), 1, "within 1e120"),
        ((0, "1e-330"), 1, "1e-120 apart"),
        ((10**30, 10**30 + 1), 1, "2.62 units"),
        ((0, 1), "1e-130", "at least 1e-120"),
    ],
)
@pytest.mark.parametrize("aggregate", ["mean", "median", "winsorized_mean"])
def test_what_floats_cannot_carry_is_refused_before_any_record_is_read(
    aggregate, bounds, epsilon, words
):
    with pytest.raises(UsageError, match=words):
        sample_and_aggregate(max, 2, bounds, epsilon, aggregate=aggregate)
