"""Functions of probability laws, certified, against mpmath."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.special_functions import arctangent, normal_cdf


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
