"""Releases of statistics on bins, simulated in bulk: the same draws, floats and law."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import UsageError
from tacit.mechanisms import sample_and_aggregate as bin_simulation
from tacit.mechanisms.aggregators import BinFunction, coordinates
from tacit.mechanisms.local_statistic import read_statistic
from tacit.mechanisms.sample_and_aggregate import AGGREGATES, assignment, sample_and_aggregate
from tacit.statistics import Median

SURE = 10**9


@pytest.mark.parametrize(
    "statistic", ["median", "mean", "var", "std", "percentile(90)", "interquartile_range"]
)
def test_bins_answered_together_are_those_answered_one_by_one(statistic, monkeypatch):
    """The same draws of bins, the same units: bins as rows of one array change no float."""
    records = np.random.default_rng(8).normal(50, 20, 300)
    known = [assignment(300, 40) for _ in range(5)]
    ask = BinFunction(read_statistic(statistic), coordinates((0, 100), 7, Fraction(1, 2**33), 0))
    drawn = iter(known)
    monkeypatch.setattr(bin_simulation, "assignment", lambda n, bins: next(drawn))
    together = [units.tolist() for units in bin_simulation.simulated_units(ask, records, 40, 5)]
    alone = [
        [ask(records[order[a:b]] if b > a else None)[0] for a, b in itertools.pairwise(edges)]
        for order, edges in known
    ]
    assert together == alone


def test_a_statistic_that_fails_on_some_bins_counts_as_the_default():
    class Picky(Median):
        def batch(self, rows):
            if rows.shape[1] < 3 or (rows > 90).any():
                raise ValueError
            return super().batch(rows)

    m = sample_and_aggregate(Picky(), 2, (0, 100), SURE, default=10, grid=1)
    assert m.simulate(np.full(40, 50.0), 3) == pytest.approx([50] * 3, abs=0.01)
    assert m.simulate(np.full(40, 95.0), 3) == pytest.approx([10] * 3, abs=0.01)
    assert m.simulate(np.array([]), 2) == pytest.approx([10] * 2, abs=0.01)


@pytest.mark.few(6)
@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("kind", [np.array, list])
def test_simulated_releases_are_releases(aggregate, kind):
    """The law of one is known by its distribution function: 400 draws, Kolmogorov and Smirnov."""
    records = kind([0.0, 3.0, 3.0])
    m = sample_and_aggregate(Median(), 2, (0, 3), 3, aggregate=aggregate, grid=1)
    law, draws = m.distribution(records), m.simulate(records, 400)
    gap = max(
        abs(float(law.cdf(x)) - sum(d <= x + 1e-9 for d in draws) / 400)
        for x in (0, Fraction(1, 2), 1, Fraction(3, 2), 2, Fraction(5, 2), 3)
    )
    assert gap < 0.14  # a chance below 2 exp(-2 * 400 * 0.14^2) = 4e-7


@pytest.mark.full
@pytest.mark.parametrize(
    "aggregate",
    [pytest.param(a, marks=[pytest.mark.slow] * ("smooth" in str(a))) for a in AGGREGATES],
)
def test_expected_errors_are_those_of_releases(aggregate):
    records = np.random.default_rng(5).normal(30, 10, 400)
    m = sample_and_aggregate(Median(), 40, (0, 100), 4, aggregate=aggregate)
    truth = float(np.median(records))
    errors = np.abs(np.array(m.simulate(records, 1000)) - truth)
    spread = float(errors.std()) / math.sqrt(1000)
    allowed = 5 * spread + 5 * 0.01 * float(errors.mean())
    assert m.expected_error(records) == pytest.approx(errors.mean(), abs=allowed)
    slow = sample_and_aggregate(np.median, 40, (0, 100), 4, aggregate=aggregate)
    assert len(slow.simulate(list(records), 2)) == 2
    with pytest.raises(UsageError, match="one number"):
        sample_and_aggregate(np.median, 4, [(0, 1)] * 2, 1).expected_error(records)


@pytest.mark.parametrize("q", ["0", "1/10", "1/3", "1/2", "3/4", "1"])
def test_quantiles_of_rows_are_those_of_numpy_bit_by_bit(q):
    source = np.random.default_rng(11)
    statistic = read_statistic(f"percentile({float(100 * Fraction(q))!r})")
    for size in (1, 2, 3, 8, 31):
        for rows in (
            source.normal(size=(40, size)),
            source.integers(-5, 9, (40, size)),
            np.where(source.random((40, size)) < 0.1, np.nan, 1e300 * source.random((40, size))),
        ):
            expected = np.quantile(rows, float(statistic.q), axis=1)
            assert np.array_equal(statistic.batch(rows), expected, equal_nan=True)
