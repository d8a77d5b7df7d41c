"""Ten million draws a law against its probabilities, with the real generator.

There are about 40 tests of fit; each fails by chance once in ten million."""

import gc
from fractions import Fraction
from time import perf_counter_ns, thread_time_ns

import numpy as np
import pytest
from scipy.stats import chi2, norm, rankdata

import tacit.noise as tn
from tacit.noise.bits import word

pytestmark = pytest.mark.slow


DRAWS = 10_000_000
CHANCE = 1e-7


def fits(observed, expected):
    """Pearson's test, with cells expected below 10 joined."""
    expected = np.asarray(expected, float)
    large = expected >= 10
    observed = np.append(observed[large], observed[~large].sum())
    expected = np.append(expected[large], max(expected[~large].sum(), 1e-3))
    if expected[-1] < 10:
        observed, expected = observed[:-1], expected[:-1]
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1)


def fits_cells(draws, scale, cdf):
    """Count draws in some 300 cells over 12 scales either way, and what is beyond."""
    step = max(1, int(scale / 12))
    edges = np.arange(-144, 145) * step
    observed = np.bincount(np.searchsorted(edges, draws, "right"), minlength=len(edges) + 1)
    below = np.array([cdf(int(edge) - 1) for edge in edges])
    expected = np.diff(np.concatenate([[0.0], below, [1.0]])) * len(draws)
    return fits(observed, expected)


def gaussian_cdf(sigma):
    if sigma > 10**4:  # the integer law agrees with the normal one to about sigma**-4
        return lambda k: norm.cdf((k + 0.5) / sigma)
    x = np.arange(-int(20 * sigma) - 20, int(20 * sigma) + 21)
    p = np.exp(-((x / sigma) ** 2) / 2)
    share = np.cumsum(p / p.sum())
    return lambda k: share[np.clip(k - x[0], 0, len(x) - 1)]


LAPLACE = [Fraction(1, 2), 1, Fraction(10, 7), 25, 96, 250, 1000, 10**6, 2**50]


@pytest.mark.parametrize("scale", LAPLACE)
def test_discrete_laplace(scale):
    law = tn.DiscreteLaplace(scale)
    draws = tn.discrete_laplace(scale, size=DRAWS)
    assert fits_cells(draws, scale, lambda k: float(law.cdf(k))) > CHANCE


@pytest.mark.parametrize("scale", LAPLACE)
def test_geometric(scale):
    law = tn.OneSidedGeometric(scale)
    draws = tn.geometric(scale, size=DRAWS)
    assert draws.min() >= 0
    assert fits_cells(draws, scale, lambda k: float(law.cdf(k).upper)) > CHANCE


@pytest.mark.parametrize("sigma", [0.5, 1, 5, 25, 60, 100, 1000, 10**6, 2**50])
def test_discrete_gaussian(sigma):
    draws = tn.discrete_gaussian(sigma, size=DRAWS)
    assert fits_cells(draws, sigma, gaussian_cdf(sigma)) > CHANCE


@pytest.mark.parametrize("scale", [1, 25, 1000, 10**6])
def test_draws_without_a_table(scale):
    two, normal = tn.DiscreteLaplace(scale), tn.DiscreteGaussian(scale)
    n = 2_000_000
    assert fits_cells(two._few(n), scale, lambda k: float(two.cdf(k))) > CHANCE
    assert fits_cells(normal._few(n), scale, gaussian_cdf(scale)) > CHANCE


def test_scalars():
    n = 50_000
    for scale in (1, 25):
        two = tn.DiscreteLaplace(scale)
        draws = np.array([two.draw() for _ in range(n)])
        assert fits_cells(draws, scale, lambda k, law=two: float(law.cdf(k))) > CHANCE
        draws = np.array([tn.discrete_gaussian(scale) for _ in range(n)])
        assert fits_cells(draws, scale, gaussian_cdf(scale)) > CHANCE


@pytest.mark.parametrize("draw", [tn.discrete_laplace, tn.discrete_gaussian])
def test_low_bits_of_large_scales_are_even(draw):
    draws = draw(10**6, size=DRAWS)
    assert fits(np.bincount(draws & 1023, minlength=1024), np.full(1024, DRAWS / 1024)) > CHANCE


@pytest.mark.parametrize("draw", [tn.discrete_laplace, tn.discrete_gaussian])
def test_neighbouring_draws_are_independent(draw):
    signs = (draw(1000, size=DRAWS) >= 0).astype(np.int64)
    sizes = (np.abs(draw(1000, size=DRAWS)) > 700).astype(np.int64)
    for found in (signs, sizes):
        pairs = np.bincount(found[::2] * 2 + found[1::2], minlength=4).reshape(2, 2)
        margin = np.outer(pairs.sum(1), pairs.sum(0)) / pairs.sum()
        assert chi2.sf(((pairs - margin) ** 2 / margin).sum(), 1) > CHANCE


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 1024), Fraction(999, 1000)])
def test_bernoulli(p):
    found = int(tn.bernoulli(p, size=DRAWS).sum())
    expected = DRAWS * np.array([float(p), 1 - float(p)])
    assert fits(np.array([found, DRAWS - found]), expected) > CHANCE


@pytest.mark.parametrize("x", ["1/1000", 1, 5])
def test_bernoulli_exp(x):
    found = int(tn.bernoulli_exp(x, size=DRAWS).sum())
    p = np.exp(-float(Fraction(x)))
    assert fits(np.array([found, DRAWS - found]), DRAWS * np.array([p, 1 - p])) > CHANCE


def test_uniform_and_categorical():
    for n in (3, 1000):
        found = np.bincount(tn.uniform(n, size=DRAWS), minlength=n)
        assert fits(found, np.full(n, DRAWS / n)) > CHANCE
    weights = [Fraction(k * k + 1, 7) for k in range(60)]
    found = np.bincount(tn.categorical(weights, size=DRAWS), minlength=60)
    assert fits(found, [float(w / sum(weights)) * DRAWS for w in weights]) > CHANCE


def test_exponential_choice():
    random = np.random.default_rng(5)
    costs, weights = random.integers(0, 50, 300), random.integers(0, 9, 300)
    draws = tn.ExponentialChoice(costs, Fraction(1, 9), weights).draw_many(3_000_000)
    mass = weights * np.exp(-costs / 9)
    found = np.bincount(draws, minlength=300)
    assert fits(found, mass / mass.sum() * len(draws)) > CHANCE


# The time of a draw says nothing about its value.
#
# Rank correlation of CPU time and size over n calls has a standard deviation of 1/sqrt(n) when
# there is none; the bound is five of them.  A sampler by repeated trials shows that the test can
# fail.


def correlation(draw, size, n, clock=perf_counter_ns):
    times, sizes = np.empty(n), np.empty(n)
    draw()
    gc.disable()
    try:
        for i in range(n):
            start = clock()
            value = draw()
            times[i] = clock() - start
            sizes[i] = size(value)
    finally:
        gc.enable()
    return np.corrcoef(rankdata(times), rankdata(sizes))[0, 1]


def trials():
    """Count heads until the first tail: the law of a geometric draw, by repeated trials."""
    count = 0
    while word(16) < 63_000:
        count += 1
    return count


def test_repeated_trials_leak_their_value():
    assert correlation(trials, abs, 5_000) > 0.5


@pytest.mark.parametrize("scale", [25, 10**6])
@pytest.mark.parametrize("draw", [tn.discrete_laplace, tn.geometric, tn.discrete_gaussian])
def test_timing_scalars(draw, scale):
    n = 20_000
    assert abs(correlation(lambda: draw(scale), abs, n)) < 5 / n**0.5


@pytest.mark.parametrize("draw", [tn.discrete_laplace, tn.geometric, tn.discrete_gaussian])
def test_arrays_of_one_at_scale_one(draw):
    """As arrays: Python itself takes some 20 ns longer to hand out a 0 than another integer."""
    n = 20_000
    assert abs(correlation(lambda: draw(1, size=1), lambda x: abs(x[0]), n)) < 5 / n**0.5


@pytest.mark.parametrize("scale", [25, 1000])
@pytest.mark.parametrize("draw", [tn.discrete_laplace, tn.discrete_gaussian])
def test_bulk(draw, scale):
    n = 1_500
    found = correlation(
        lambda: draw(scale, size=1 << 16), lambda x: np.abs(x).sum(), n, thread_time_ns
    )
    assert abs(found) < 5 / n**0.5


def test_timing_bernoulli():
    n = 20_000
    found = correlation(lambda: tn.bernoulli("1/3"), int, n)
    assert abs(found) < 5 / n**0.5
