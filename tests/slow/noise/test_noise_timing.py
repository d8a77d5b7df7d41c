"""The time of a draw says nothing about its value.

Rank correlation of CPU time and size over n calls has a standard deviation of 1/sqrt(n) when there
is none; the bound is five of them.  A sampler by repeated trials shows that the test can fail.
"""

import gc
from time import perf_counter_ns, thread_time_ns

import numpy as np
import pytest
from scipy.stats import rankdata

import tacit.noise as tn
from tacit.noise.bits import word

pytestmark = pytest.mark.slow


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
def test_scalars(draw, scale):
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


def test_bernoulli():
    n = 20_000
    found = correlation(lambda: tn.bernoulli("1/3"), int, n)
    assert abs(found) < 5 / n**0.5
