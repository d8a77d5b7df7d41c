"""Unit noises for smooth noise in pure and approximate DP, by quadrature over the whole family."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.mechanisms.smooth_distributions import (
    ArsinhNormalLaw,
    LaplaceLaw,
    StudentLaw,
    UniformLogNormalLaw,
)

FAMILY = [(t, share) for t in (-1, -0.5, 0, 0.5, 1) for share in (0, 0.5, 1)]


def student_log_density(z: Any, d: int) -> Any:
    constant = math.lgamma((d + 1) / 2) - math.lgamma(d / 2) - math.log(d * math.pi) / 2
    return constant - (d + 1) / 2 * np.log1p(z * z / d)


@pytest.mark.few(4)
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.8])
@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_student_noise_attains_its_epsilon_and_no_more(epsilon: float, part: float, d: int) -> None:
    law = StudentLaw(Fraction(epsilon), d)
    b = part * epsilon / d
    s = float(law.shift(Fraction(b)))
    z = np.concatenate((-np.logspace(6, -6, 20_000), np.logspace(-6, 6, 20_000)))
    worst = 0.0
    for share_t, share in FAMILY:
        t = share_t * b
        a = share * s * min(1, math.exp(t))
        moved = student_log_density((z - a) * math.exp(-t), d) - t
        worst = max(worst, float(np.abs(student_log_density(z, d) - moved).max()))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= epsilon * (1 - 1e-5)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("law", "truth"),
    [
        (StudentLaw(Fraction(1), 1), lambda z: 0.5 + mpmath.atan(z) / mpmath.pi),
        (StudentLaw(Fraction(1), 2), None),
        (StudentLaw(Fraction(1), 3), None),
        (StudentLaw(Fraction(1), 4), None),
        (StudentLaw(Fraction(1), 7), None),
        (
            ArsinhNormalLaw(Fraction(1), Fraction(1, 2)),
            lambda z: mpmath.ncdf(mpmath.asinh(z / 2) * 2),
        ),
        (LaplaceLaw(Fraction(1), Fraction(1, 9)), None),
        (UniformLogNormalLaw(Fraction(1), Fraction(1, 2)), None),
    ],
)
def test_distribution_functions(law: Any, truth: Any) -> None:
    def density(v: Any) -> Any:
        if isinstance(law, LaplaceLaw):
            return mpmath.exp(-abs(v)) / 2
        if isinstance(law, UniformLogNormalLaw):
            return mpmath.exp(mpmath.mpf(1) / 8) / 2 * mpmath.ncdf(-mpmath.log(v) * 2 - 0.5)
        d = law.degrees
        shape = (1 + v * v / mpmath.mpf(d)) ** (-(d + 1) / mpmath.mpf(2))
        return (
            shape
            * mpmath.gamma((d + 1) / mpmath.mpf(2))
            / (mpmath.sqrt(d * mpmath.pi) * mpmath.gamma(d / mpmath.mpf(2)))
        )

    for z in (Fraction(1, 4), Fraction(2), Fraction(9)):
        real = mpmath.mpf(z.numerator) / z.denominator
        expected = truth(real) if truth else 0.5 + mpmath.quad(density, [0, real / 8, real])
        found = law.cdf(z)
        assert found is not None
        assert abs(float(found.middle) - float(expected)) < 1e-9
        assert found.width < Fraction(1, 1 << 100)
        mirrored = law.cdf(-z)
        assert (mirrored + found).contains(1) or abs(float(mirrored + found) - 1) < 1e-30
