"""Digits of geometric draws: thresholds, ties, carries."""

from fractions import Fraction

import mpmath
import pytest

import tacit.noise as tn
from support.by_hand.high_precision import real
from tacit.noise import laplace
from tacit.noise.samplers import GeometricDigits, geometric_digits, wrapped

SCALES = [Fraction(1, 40), Fraction(1), Fraction(10, 7), Fraction(25), Fraction(96), 10**6, 2**50]


@pytest.mark.parametrize("scale", [*SCALES, Fraction(25 * 2**20, 3), 2**200])
def test_digit_thresholds(scale):
    digits = geometric_digits(Fraction(scale))
    with mpmath.workprec(600):
        odds = [mpmath.exp(-mpmath.mpf(2**j) / real(scale)) for j in range(digits.count + 1)]
        truth = [int(mpmath.floor(q / (1 + q) * 2**64)) for q in odds[:-1]]
        truth.append(int(mpmath.floor(odds[-1] * 2**64)))
    assert digits.thresholds.tolist() == truth
    assert truth[-1] == 0  # the carry is rarer than 2**-64


@pytest.mark.full
@pytest.mark.parametrize("sign", [False, True])
def test_ties_and_carries_of_digits(stream, fits, sign):
    """Thresholds of 4 bits and only the digits up to the scale: both odd paths are common."""
    digits = geometric_digits(Fraction(5), width=4, reach=1)
    assert digits.count == 3
    with stream(13):
        found, large = digits.propose(60_000, sign)
        integers = digits.draw_integers(30_000, sign)
    assert len(large) > 1000
    assert all(found[row] == value for row, value in large.items())
    subject = tn.DiscreteLaplace(5) if sign else tn.Geometric(5)
    for drawn in (found, integers):
        assert fits(drawn, subject.probability, -40 if sign else 0, 40) > 1e-3


def test_wrapping_is_arithmetic_modulo_two_to_the_64():
    for value in (0, -1, 2**63 - 1, -(2**63), 2**63, 2**64 + 5, -(2**70) - 3):
        assert (wrapped(value) - value) % 2**64 == 0
        assert -(2**63) <= wrapped(value) < 2**63


def test_public_caches_hold_thresholds_alone():
    digits = geometric_digits(Fraction(7))
    assert isinstance(digits, GeometricDigits)
    assert geometric_digits(Fraction(7)) is digits
    assert geometric_digits.cache_parameters()["maxsize"] == 256
    assert laplace.block_table.cache_parameters()["maxsize"] == 32
