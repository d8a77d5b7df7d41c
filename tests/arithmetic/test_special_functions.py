"""Functions of probability laws, certified, against mpmath."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.special_functions import arctangent, mills_ratio, normal_cdf


@pytest.mark.parametrize("x", [0, "1/3", -2, 7, "-35/2", 23])
def test_certified_functions_against_mpmath(x: Any) -> None:
    point = Fraction(x)
    with mpmath.workdps(60):
        real = mpmath.mpf(point.numerator) / point.denominator
        for found, truth in (
            (arctangent(Enclosure.of(point), 160), mpmath.atan(real)),
            (normal_cdf(Enclosure.of(point), 160), mpmath.ncdf(real)),
        ):
            assert found.width < Fraction(1, 1 << 120)
            low, high = (
                mpmath.mpf(e.numerator) / e.denominator for e in (found.lower, found.upper)
            )
            assert low - mpmath.mpf(10) ** -58 <= truth <= high + mpmath.mpf(10) ** -58


@pytest.mark.parametrize("x", [1, "3/2", 7, 40, 10**6, 10**15])
def test_the_ratio_of_mills_is_right_in_all_its_bits(x: Any) -> None:
    with mpmath.workdps(80):
        point = Fraction(x)
        real = mpmath.mpf(point.numerator) / point.denominator
        tail = mpmath.erfc(real / mpmath.sqrt(2)) / 2
        truth = tail / (mpmath.exp(-real * real / 2) / mpmath.sqrt(2 * mpmath.pi))
        if real > 1e4:  # no exponent holds the tail: three terms of its series say enough
            truth = (1 - real**-2 + 3 * real**-4) / real
        found = mills_ratio(Enclosure.of(point), 128)
        slack = truth * (mpmath.mpf(10) ** -50 if real < 1e4 else 20 * real**-6)
        low, high = (mpmath.mpf(e.numerator) / e.denominator for e in (found.lower, found.upper))
        assert low - slack <= truth <= high + slack
        assert high - low < truth * mpmath.mpf(2) ** -126
    both = mills_ratio(Enclosure(point, 2 * point), 128)
    assert both.lower < found.lower
    assert both.upper >= found.upper
