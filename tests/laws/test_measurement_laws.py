"""Every measurement keeps its privacy map: exact output distributions on neighbouring inputs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit import noise
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    InsertDeleteDistance,
    L1Distance,
    LInfinityDistance,
    Number,
    PureDP,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
    compose,
    convert,
    parallel,
)
from tacit.mechanisms import Exponential, Gaussian, Geometric, Laplace
from tacit.mechanisms.keys import ReleaseKeys, least_threshold, tail
from tacit.noise.enclosure import Enclosure, exp, log
from tacit.tables.quantile import ChooseQuantile, CostTables, SumOfLargestChanges, quantile_costs
from tacit.transformations import Clamp, Count, Sum

WHOLE = Space(Number("int", grid=Fraction(1)), AbsoluteDistance())
SCALES = [Fraction(1, 2), Fraction(1), Fraction(10, 7), Fraction(6)]


def log_ratio(p: Enclosure, q: Enclosure) -> Enclosure:
    return Enclosure(log(p.lower / q.upper, 80).lower, log(p.upper / q.lower, 80).upper)


@pytest.mark.parametrize("step", [Laplace, Geometric])
@pytest.mark.parametrize("scale", SCALES)
def test_laplace_keeps_its_map_and_attains_it(step, scale):
    m = WHOLE >> step(scale)
    for u, v in itertools.product(range(-2, 3), repeat=2):
        p, q = m.distribution(u), m.distribution(v)
        claim = m.map(abs(u - v))
        ratios = [log_ratio(p.probability(z), q.probability(z)) for z in range(-12, 13)]
        assert all(abs(r).lower <= claim for r in ratios)
        # Beyond the two centres the ratio is constant, so the window holds every ratio there is.
        assert ratios[0].contains(ratios[1].middle) or ratios[0].width < Fraction(1, 2**40)
        assert max(abs(r).upper for r in ratios) >= claim - Fraction(1, 2**40)


def test_a_wrong_scale_is_caught():
    """The law must fail where the sampler's scale is not the one that the map was proven for."""
    m, narrow = WHOLE >> Laplace(2), WHOLE >> Laplace(1)
    p, q = narrow.distribution(0), narrow.distribution(1)
    worst = max(abs(log_ratio(p.probability(z), q.probability(z))).lower for z in range(-5, 6))
    assert worst > m.map(1)


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("alpha", [Fraction(11, 10), Fraction(2), Fraction(7)])
def test_gaussian_keeps_its_map_at_every_order(sigma, alpha):
    m = WHOLE >> Gaussian(sigma)
    reach = 12 + 12 * math.ceil(sigma)
    for shift in (1, 2, 3):
        p, q = m.distribution(shift), m.distribution(0)
        order = float(alpha)
        logs = [
            order * _log(p.probability(z)) + (1 - order) * _log(q.probability(z))
            for z in range(-reach, reach + 1)
        ]
        total = max(logs) + math.log(math.fsum(math.exp(x - max(logs)) for x in logs))
        divergence = total / (order - 1)
        assert divergence <= float(alpha * m.map(shift)) * (1 + 1e-9)


def _log(probability):
    return float(log(probability.middle, 80).middle)


def test_gaussian_map_is_attained_where_the_order_lands_on_the_grid():
    """``sum w(x - alpha s)`` is the whole sum where alpha s is an integer, so the map is tight."""
    m = WHOLE >> Gaussian(2)
    p, q = m.distribution(1), m.distribution(0)
    total = math.fsum(
        float(p.probability(z)) ** 2 / float(q.probability(z)) for z in range(-30, 31)
    )
    assert math.log(total) == pytest.approx(float(2 * m.map(1)), rel=1e-9)


@pytest.mark.parametrize("monotone", [False, True])
def test_exponential_keeps_its_map(monotone):
    space = Space(Vector(int, size=3), LInfinityDistance())
    m = space >> Exponential(scale=2, monotone=monotone)
    steps = [0, 1] if monotone else [-1, 0, 1]
    worst = Fraction(0)
    for change in itertools.product(steps, repeat=3):
        u, v = [0, 1, 1], [a + b for a, b in zip([0, 1, 1], change, strict=True)]
        weights = [[exp(Fraction(s, 2), 80) for s in scores] for scores in (u, v)]
        totals = [w[0] + w[1] + w[2] for w in weights]
        for i in range(3):
            ratio = log_ratio(weights[0][i] / totals[0], weights[1][i] / totals[1])
            assert abs(ratio).lower <= m.map(1)
            worst = max(worst, abs(ratio).upper)
    assert worst > m.map(1) / 2


def test_the_choice_is_drawn_with_the_stated_weights():
    space = Space(Vector(int, size=2), LInfinityDistance())
    m = space >> Exponential(scale=1)
    share = sum(m([0, 2]) == 1 for _ in range(4000)) / 4000
    assert share == pytest.approx(math.e**2 / (1 + math.e**2), abs=0.03)


CELLS = 4


def choice_distribution(histogram, q, target, rate):
    starts, lengths, cost = quantile_costs(histogram, CELLS, q, target)
    weight = {}
    for start, length, c in zip(starts, lengths, cost, strict=True):
        for cell in range(int(start), int(start + length)):
            weight[cell] = exp(-rate * int(c), 96)
    total = sum((w for w in weight.values()), Enclosure.of(0))
    return {cell: w / total for cell, w in weight.items()}


def histograms(counts):
    at = [i for i, c in enumerate(counts) if c]
    return np.array(at, dtype=np.int64), np.array([counts[i] for i in at], dtype=np.int64)


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10), Fraction(0), Fraction(1)])
@pytest.mark.parametrize("target", [0, -3, 3])
def test_private_quantiles_keep_their_map_on_every_neighbour(q, target):
    space = Space(CostTables(1, CELLS), SumOfLargestChanges())
    m = space >> ChooseQuantile(scale=4, target=target, q=str(q))
    one_row = max(q.numerator, q.denominator - q.numerator)
    claim = m.map(one_row)
    for counts in itertools.product(range(3), repeat=CELLS + 1):
        if sum(counts) > 3:
            continue
        p = choice_distribution(histograms(counts), q, target, Fraction(1, 4))
        for cell in range(CELLS + 1):
            more = [c + (i == cell) for i, c in enumerate(counts)]
            other = choice_distribution(histograms(more), q, target, Fraction(1, 4))
            for z in p:
                assert abs(log_ratio(p[z], other[z])).lower <= claim


def test_private_quantiles_have_cost_zero_exactly_at_quantiles():
    values = [0, 0, 1, 3, 3, 3]
    starts, lengths, cost = quantile_costs(histograms([2, 1, 0, 3, 0]), CELLS, Fraction(1, 2), 0)
    zero = {
        int(c)
        for start, n, k in zip(starts, lengths, cost, strict=True)
        for c in range(start, start + n)
        if k == 0
    }
    right = {
        c
        for c in range(CELLS + 1)
        if sum(v < c for v in values) <= 3 and sum(v > c for v in values) <= 3
    }
    assert zero == right


def test_released_keys_keep_epsilon_and_delta():
    """All outputs of two keys, exactly: the hockey stick of every pair of neighbours."""
    scale, groups = Fraction(1), 1
    threshold = least_threshold(scale, groups, Fraction(1, 20))
    space = Space(Vector(Number("int", grid=Fraction(1))), L1Distance())
    m = space >> ReleaseKeys(scale, threshold, groups)
    law = noise.DiscreteLaplace(scale)

    def outputs(count):
        if count == 0:
            return {None: Fraction(1)}
        found = {z: law.probability(z - count).middle for z in range(threshold, threshold + 40)}
        found[None] = 1 - sum(found.values())
        return found

    attained = Fraction(0)
    for a, b in itertools.product(range(3), repeat=2):
        for other in ((a + 1, b), (a, b + 1)):
            p, q = (
                {
                    pair: x * y
                    for (pair, x, y) in (
                        ((i, j), x, y)
                        for (i, x), (j, y) in itertools.product(
                            outputs(c).items(), outputs(d).items()
                        )
                    )
                }
                for c, d in ((a, b), other)
            )
            epsilon, delta = m.map(1)
            measured = ApproximateDP().divergence(_closed(p), _closed(q))(epsilon)
            assert measured.lower <= delta
            attained = max(attained, measured.upper)
    assert attained >= delta * Fraction(9, 10)  # the threshold is not wasteful either
    assert delta <= Fraction(1, 20) < groups * tail(scale, threshold - 2)


def _closed(p):
    """Make truncated probabilities sum to one exactly."""
    rest = 1 - sum(p.values())
    first = next(iter(p))
    return {**p, first: p[first] + rest}


def test_key_threshold_at_the_wrong_tail_is_caught():
    """A tail that begins at the threshold instead of one below it underestimates delta."""
    scale = Fraction(1)
    threshold = least_threshold(scale, 1, Fraction(1, 100))
    truth = noise.DiscreteLaplace(scale)
    passes = 1 - truth.cdf(threshold - 2).upper  # a key that one person has: 1 + X >= threshold
    assert tail(scale, threshold) < passes <= tail(scale, threshold - 1) <= Fraction(1, 100)


def test_sequential_composition_adds_and_post_processing_is_free():
    m = WHOLE >> Laplace(2)
    g = WHOLE >> Gaussian(2)
    assert compose([m, m, m]).map(1) == Fraction(3, 2)
    both = compose([m, g])
    assert both.measure == ZeroConcentratedDP()
    assert both.map(1) == Fraction(1, 8) + Fraction(1, 8)
    assert convert(m, ApproximateDP()).map(2) == (1, 0)
    assert (m >> abs).map(3) == m.map(3)
    assert isinstance((m >> abs)(0), int)


def test_parallel_composition_costs_its_worst_part():
    column = Space(Vector(int), SymmetricDistance())
    cheap, dear = column >> Count() >> Laplace(4), column >> Count() >> Laplace(1)
    m = parallel({"even": cheap, "odd": dear}, by=lambda x: "odd" if x % 2 else "even")
    assert [m.map(d) for d in range(4)] == [0, 1, 2, 3]
    assert set(m([1, 2, 3])) == {"even", "odd"}


def test_the_textbook_chain():
    column = Space(Vector(float), SymmetricDistance())
    m = column >> Clamp(0, 12) >> Sum() >> Laplace(scale=25)
    assert m.map(1) == Fraction(12, 25)
    assert m.check(1, "12/25")
    assert not m.check(2, "12/25")
    law = m.distribution([12, 10, 8, 7])
    mass = law.interval(-1000, 1000)
    assert 0.999 < float(mass) <= 1.0000001
    ordered = Space(Vector(float), InsertDeleteDistance())
    assert (ordered >> Clamp(0, 12) >> Sum() >> Laplace(scale=25)).map(1) == Fraction(12, 25)
    assert m.measure == PureDP()
