"""Private quantiles: the costs by their definition, the map, the law, the coverage."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tables.answers.released import enough
from tacit import noise
from tacit.core import Space, SymmetricDistance, step_from
from tacit.errors import MismatchError, UsageError
from tacit.expressions.grid import Grid
from tacit.tables.answers.base import Noise
from tacit.tables.answers.quantile_choice import (
    ChooseQuantile,
    QuantileCosts,
    error_in_cost,
    quantile_costs,
)
from tacit.tables.answers.quantiles import QuantilePart
from tacit.tables.steps import Answers, BoundContributions, table_space

CELLS = 12


def histogram(values):
    cells, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    return cells, counts


def defined_cost(values, candidate, q, target):
    """The cost by its definition, candidate by candidate, in rationals."""
    a, b = q.numerator, q.denominator
    below = sum(v < candidate for v in values)
    equal = sum(v == candidate for v in values)
    above = len(values) - below - equal
    low = (b - a) * below - a * (above + equal)
    high = (b - a) * (below + equal) - a * above
    if candidate == 0 and target < 0:
        low = -(10**30)
    if candidate == CELLS and target > 0:
        high = 10**30
    return max(low - target, target - high, 0)


def costs(values, q, target):
    starts, lengths, cost = quantile_costs(histogram(values), CELLS, q, target)
    assert starts[0] == 0
    assert lengths.sum() == CELLS + 1
    assert (lengths > 0).all()
    return np.repeat(cost, lengths).tolist()


data = st.lists(st.integers(0, CELLS), max_size=14)
quantiles = st.fractions(0, 1, max_denominator=20)


@given(data, quantiles, st.integers(-80, 80))
@examples(3)
def test_costs_are_those_of_the_definition(values, q, target):
    assert costs(values, q, target) == [
        defined_cost(values, c, q, target) for c in range(CELLS + 1)
    ]
    assert min(costs(values, q, target)) == 0


@given(data, st.integers(0, CELLS), quantiles, st.integers(-80, 80))
@examples(3)
def test_one_row_moves_no_cost_farther_than_the_stretch(values, row, q, target):
    stretch = max(q.numerator, q.denominator - q.numerator)
    gaps = np.abs(np.subtract(costs(values, q, target), costs([*values, row], q, target)))
    assert gaps.max() <= stretch


@given(data.filter(bool))
@examples(1)
def test_cost_zero_is_a_median(values):
    found = [c for c, cost in enumerate(costs(values, Fraction(1, 2), 0)) if cost == 0]
    for c in found:
        assert sum(v < c for v in values) <= len(values) / 2
        assert sum(v > c for v in values) <= len(values) / 2


def test_weights_beyond_64_bits_stay_exact_and_in_reach():
    counts = np.array([1 << 58, 1 << 58], dtype=np.int64)
    starts, lengths, cost = quantile_costs(
        (np.array([3, 9]), counts), CELLS, Fraction(3333, 10_000), 0
    )
    assert cost.dtype == np.int64
    assert (cost >= 0).all()
    assert min(cost) == 0
    assert int(starts[int(np.argmin(cost))]) == 3
    assert lengths.sum() == CELLS + 1
    # far targets need their open end too
    _, _, far = quantile_costs((np.array([3]), counts[:1]), CELLS, Fraction(1, 10_000), -(1 << 62))
    assert far[0] == 0


def choose_chain(one=1, by=("g",), rows=2):
    space = table_space({"x": "float", "g": "text", "p": "integer"}, "p")
    end = QuantileCosts("x", "0", "12", CELLS, "1/4", size=2, one=one, by=by)
    return space >> BoundContributions(rows, 2) >> end, end


def test_the_maps_of_the_choice():
    chain, _ = choose_chain(one=8)
    assert chain.map(1) == 2 * 3 * 8
    assert (chain >> ChooseQuantile(96, 0, "1/4")).map(1) == 1
    concentrated = chain >> ChooseQuantile(96, 0, "1/4", "ZeroConcentratedDP")
    assert concentrated.map(1) == Fraction(1, 8)
    for step in (ChooseQuantile("7/2", -3, "1/4"), choose_chain()[1]):
        assert step_from(step.describe()).describe() == step.describe()


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_scale_spends_what_was_granted(kind):
    for rows, one in ((1, 1), (5, 1 << 20)):
        spent = Noise(kind, Fraction(3, 10), rows, one)
        part = QuantilePart("x", Grid.for_bounds(0, 10), "percentile", Fraction(9, 10))
        space = table_space({"x": "float"}, "p" if rows > 1 else None)
        chain = space >> BoundContributions(rows, rows)
        losses = [(chain >> costs >> choice).map(1) for costs, choice in part.chains(1, (), spent)]
        assert sum(losses) <= spent.loss
        assert sum(losses) >= spent.loss * Fraction(999_999, 1_000_000)


@pytest.mark.full
def test_the_choice_has_the_law_of_the_exponential_mechanism():
    chain, end = choose_chain(rows=1)
    measurement = chain >> ChooseQuantile(4, 0, "1/4")
    values = [2, 2, 7, 9]
    weights = np.exp(-np.array([defined_cost(values, c, Fraction(1, 4), 0) for c in range(13)]) / 4)
    runs = 4000
    answers = Answers({end: [histogram(values)] * runs})
    drawn = np.bincount(measurement(answers), minlength=13)
    expected = runs * weights / weights.sum()
    assert ((drawn - expected) ** 2 / expected).sum() < 60  # chi-square, 12 degrees: p < 1e-7


@pytest.mark.few(36)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("q", ["0", "1/20", "1/2", "9/10", "1"])
@pytest.mark.parametrize("size", [1, 8, 60, 3000])
def test_intervals_of_quantiles_cover(kind, q, size):
    runs = 400
    source = np.random.default_rng(7)
    values = np.floor(source.gamma(2, 3, size=size).clip(0, 40) * 4).astype(int)
    part = QuantilePart("x", Grid.for_bounds(0, 40, bits=8), "percentile", Fraction(q))
    spent = Noise(kind, Fraction(1), 1)
    cells = np.floor(values / 4 / float(part.grid.step) + 0.5).astype(int)
    chains = part.chains(runs, (), spent)
    space = table_space({"x": "float"}, None) >> BoundContributions(1, 1)
    released = []
    for end, choice in chains:
        measurement = space >> end >> choice
        released.append(measurement(Answers({end: [histogram(cells)] * runs})))
    found = part.estimates(released, spent)["percentile"]
    true = np.quantile(cells * float(part.grid.step), float(Fraction(q)))
    held = (found.lower <= true) & (true <= found.upper)
    assert held.sum() >= enough(runs), held.mean()
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()


def test_an_empty_group_is_answered_within_the_bounds():
    part = QuantilePart("x", Grid.for_bounds(0, 40, bits=8), "median", Fraction(1, 2))
    spent = Noise("laplace", Fraction(1), 1)
    empty = (np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    space = table_space({"x": "float"}, None) >> BoundContributions(1, 1)
    released = [
        (space >> end >> choice)(Answers({end: [empty] * 200}))
        for end, choice in part.chains(200, (), spent)
    ]
    found = part.estimates(released, spent)["median"]
    assert found.value.min() >= 0
    assert found.value.max() <= 40


def test_the_error_in_cost_holds():
    scale, runs = Fraction(5), 4000
    cost = np.arange(CELLS + 1)
    limit = error_in_cost(CELLS, scale, 0.05)
    drawn = noise.exponential_choice(cost * 10, 1 / scale, size=runs)
    assert (cost[drawn] * 10 < limit).sum() >= enough(runs)


def test_bad_input_is_refused_when_the_chain_is_built():
    with pytest.raises(UsageError, match="from 0 to 1"):
        QuantileCosts("x", "0", "1", 8, "3/2", size=1)
    with pytest.raises(UsageError, match="above zero"):
        ChooseQuantile(0, 0, "1/2")
    with pytest.raises(MismatchError, match="costs of a quantile"):
        table_space({"x": "float"}, None) >> ChooseQuantile(1, 0, "1/2")
    from tacit.core import Vector

    with pytest.raises(MismatchError):
        Space(Vector(float), SymmetricDistance()) >> QuantileCosts("x", "0", "1", 8, "1/2", size=1)
