"""Unit noises for smooth noise in concentrated DP, by quadrature over the whole family."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.errors import UsageError
from tacit.mechanisms.smooth_distributions import (
    ArsinhNormalLaw,
    LaplaceLaw,
    LaplaceLogNormalLaw,
    StudentLaw,
    UniformLogNormalLaw,
    _hazard_peak,
)

FAMILY = [(t, share) for t in (-1, -0.5, 0, 0.5, 1) for share in (0, 0.5, 1)]


def log_densities() -> dict[str, Callable[[Any, float], Any]]:
    y = np.linspace(-26, 26, 1041)  # order 10 looks at shifts of ten deviations
    weights = np.exp(-y * y / 2)
    weights /= weights.sum()

    def laplace(z: Any, sigma: float) -> Any:
        v = np.exp(-sigma * y)
        return np.log((weights * v * np.exp(-np.abs(z)[:, None] * v) / 2).sum(axis=1) + 1e-300)

    def uniform(z: Any, sigma: float) -> Any:
        w = np.log(np.maximum(np.abs(z), 1e-12)) / sigma + sigma
        tail = np.array([math.erfc(x / math.sqrt(2)) / 2 for x in w])
        return np.log(tail + 1e-300) + sigma**2 / 2 - math.log(2)

    def arsinh(z: Any, sigma: float) -> Any:
        inner = np.arcsinh(sigma * z) / sigma
        return -inner * inner / 2 - math.log(2 * math.pi) / 2 - np.log1p((sigma * z) ** 2) / 2

    return {"laplace": laplace, "uniform": uniform, "arsinh": arsinh}


@pytest.mark.full
@pytest.mark.parametrize("kind", ["laplace", "uniform", "arsinh"])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 1.75])
@pytest.mark.parametrize("rho", [0.005, 0.5])
def test_concentrated_noises_keep_rho_at_every_order(kind: str, sigma: float, rho: float) -> None:
    laws = {"laplace": LaplaceLogNormalLaw, "uniform": UniformLogNormalLaw}
    law = laws.get(kind, ArsinhNormalLaw)(Fraction(rho), Fraction(sigma))
    log_density = log_densities()[kind]
    rates = law.rates()
    u = np.linspace(-16, 16, 1201)
    z = np.sinh(u * max(sigma, 0.6)) * 0.02  # dense at 0, wide in the tails
    widths = np.gradient(z)
    p = log_density(z, sigma)
    assert float((np.exp(p) * widths).sum()) == pytest.approx(1, abs=2e-3)
    checked = 0
    for rate in rates[:: len(rates) // 3]:
        s = float(law.shift(rate))
        if not s:
            continue
        for share_t, share in FAMILY:
            t = share_t * float(rate)
            a = share * s * min(1, math.exp(t))
            q = log_density((z - a) * math.exp(-t), sigma) - t
            for order in (1.1, 2, 4, 10):
                terms = order * p + (1 - order) * q
                inside = (p > -200) & (q > -200)
                total = math.log((np.exp(terms[inside]) * widths[inside]).sum())
                total -= order * math.log((np.exp(p) * widths).sum())
                total -= (1 - order) * math.log((np.exp(q) * widths).sum())
                divergence = total / (order - 1)
                assert divergence <= rho * order * 1.02 + 2e-2 * rho + 1e-4
                checked += 1
    assert checked


def test_the_slopes_are_those_of_the_log_densities() -> None:
    for sigma in (0.25, 0.5, 1.0, 2.0):
        z = np.sinh(np.linspace(-9, 9, 40_001)) * 0.2
        for kind, law in (
            ("laplace", LaplaceLogNormalLaw),
            ("uniform", UniformLogNormalLaw),
            ("arsinh", ArsinhNormalLaw),
        ):
            step = 100 if kind == "laplace" else 1
            points = z[::step]
            here = log_densities()[kind](points, sigma)
            near = log_densities()[kind](points + 1e-6, sigma)
            usable = here > -100
            slope = float(np.abs((near - here)[usable]).max()) / 1e-6
            bound = float(law(Fraction(1), Fraction(sigma)).slope())
            assert slope <= bound * (1 + 1e-3)
            assert slope >= bound * (0.8 if kind == "arsinh" else 0.97)


@pytest.mark.full
def test_the_peak_of_the_hazard_is_above_every_value() -> None:
    for sigma in (Fraction(1, 16), Fraction(1, 2), Fraction(3), Fraction(8)):
        peak = float(_hazard_peak(sigma))
        w = np.linspace(-12, 25, 4001)
        values = [mpmath.npdf(x + float(sigma)) / mpmath.ncdf(-x) for x in map(mpmath.mpf, w[::10])]
        assert max(values) <= peak
        assert max(values) >= peak * 0.98


@pytest.mark.few(14)
@pytest.mark.parametrize("sigma", ["1/16", "1/2", "1", "3"])
@pytest.mark.parametrize("z", ["0", "1/1000", "1", "40", "-5"])
def test_the_law_without_a_closed_form_against_quadrature(sigma: str, z: str) -> None:
    point, spread = Fraction(z), Fraction(sigma)
    found = LaplaceLogNormalLaw(Fraction(1), spread).cdf(point)
    with mpmath.workdps(40):
        size = mpmath.mpf(abs(point).numerator) / point.denominator
        s = mpmath.mpf(spread.numerator) / spread.denominator
        mean = mpmath.quad(
            lambda y: mpmath.exp(-size * mpmath.exp(-s * y)) * mpmath.npdf(y),
            [-20, -10, -5, -2, 0, 2, 5, 10, 20],
        )
        truth = mean / 2 if point < 0 else 1 - mean / 2
        low, high = (mpmath.mpf(e.numerator) / e.denominator for e in (found.lower, found.upper))
        slack = mpmath.mpf(10) ** -25
        assert low - slack <= truth <= high + slack
    assert found.width < Fraction(1, 1 << 110)


def test_no_rate_leaves_no_shift() -> None:
    assert LaplaceLaw(Fraction(1), Fraction(1, 10**6)).shift(Fraction(1)) == 0
    assert LaplaceLaw(Fraction(1), Fraction(1, 10**6)).shift(Fraction(1, 5)) == 0
    assert StudentLaw(Fraction(1), 3).shift(Fraction(1, 3)) == 0
    tiny = LaplaceLaw(Fraction(1), Fraction(1, 10**6)).shift(Fraction(1, 10**5))
    assert Fraction(999, 1000) < tiny <= 1
    with pytest.raises(UsageError, match="from 1/16 to 8"):
        ArsinhNormalLaw(Fraction(1), Fraction(9))
