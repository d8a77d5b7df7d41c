"""Sums of a discrete Gaussian: smooth ones against those term by term, at any number of bits."""

import time
from fractions import Fraction

import mpmath
import pytest

import tacit.noise as tn
from support.by_hand.gaussian_sums import brute_force
from support.by_hand.high_precision import exactly
from tacit.errors import InfeasibleError
from tacit.noise import theta


@pytest.mark.few(4)
@pytest.mark.parametrize("square", [400, Fraction(10001, 7), 300**2])
@pytest.mark.parametrize("precision", [30, 64, 150])
def test_smooth_sums_against_term_by_term(square, precision):
    """Euler and Maclaurin's formula agrees with the sum of all terms, to its last bits."""
    subject = tn.DiscreteGaussian(sigma_squared=square)
    with mpmath.workprec(600):
        p, total, _ = brute_force(Fraction(square))
        for k in (-700, -41, -1, 0, 1, 2, 20, 100, 901):
            at_most = [p[abs(x)] for x in range(1 - len(p), min(k + 1, len(p)))]
            exact, slack = exactly(mpmath.fsum(at_most) / total), Fraction(1, 2**280)
            found = subject.cdf(k, precision)
            assert found.lower - slack <= exact <= found.upper + slack
            assert found.width <= Fraction(1, 2 ** (precision - 2))


def test_cumulative_of_huge_sigma_is_normal_to_its_correction():
    subject = tn.DiscreteGaussian(10**12)
    for k in (-3 * 10**12, 10**11, 4 * 10**12):
        with mpmath.workprec(300):
            middle = exactly(mpmath.ncdf((mpmath.mpf(k) + 0.5) / 10**12))
        assert abs(subject.cdf(k).middle - middle) < Fraction(1, 10**19)
    step = subject.cdf(10**12, 160) - subject.cdf(10**12 - 1, 160)
    assert step.lower <= subject.probability(10**12).upper
    assert step.upper >= subject.probability(10**12).lower


def test_many_bits_take_no_long_time_and_too_many_are_refused():
    start = time.process_time()
    fine = theta.cumulative(Fraction(400), 60, 1024)
    assert time.process_time() - start < 5  # exponential, were Bernoulli numbers forgotten
    assert fine.width < Fraction(1, 1 << 1000)
    coarse = theta.cumulative(Fraction(400), 60, 64)
    assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper
    with pytest.raises(InfeasibleError, match="bits"):
        theta.cumulative(Fraction(400), 60, theta.MOST_BITS + 1)
