"""Unit noises for smooth noise in concentrated DP, by quadrature over the whole family."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.arithmetic.enclosure import Enclosure
from tacit.errors import UsageError
from tacit.mechanisms.smooth_distributions import (
    ArsinhNormal,
    LaplaceDistribution,
    LaplaceLogNormal,
    Lazy,
    StudentDistribution,
    Uniform,
    UniformLogNormal,
    _hazard_peak,
    disc,
    exponential,
    normal,
    student,
)
from tacit.noise import bits

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
    laws = {"laplace": LaplaceLogNormal, "uniform": UniformLogNormal}
    law = laws.get(kind, ArsinhNormal)(Fraction(rho), Fraction(sigma))
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
            ("laplace", LaplaceLogNormal),
            ("uniform", UniformLogNormal),
            ("arsinh", ArsinhNormal),
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
    found = LaplaceLogNormal(Fraction(1), spread).cdf(point)
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
    assert LaplaceDistribution(Fraction(1), Fraction(1, 10**6)).shift(Fraction(1)) == 0
    assert LaplaceDistribution(Fraction(1), Fraction(1, 10**6)).shift(Fraction(1, 5)) == 0
    assert StudentDistribution(Fraction(1), 3).shift(Fraction(1, 3)) == 0
    tiny = LaplaceDistribution(Fraction(1), Fraction(1, 10**6)).shift(Fraction(1, 10**5))
    assert Fraction(999, 1000) < tiny <= 1
    with pytest.raises(UsageError, match="from 1/16 to 8"):
        ArsinhNormal(Fraction(1), Fraction(9))


# Real numbers drawn as far as they are needed: enclosures shrink, and nothing is rounded.


def fed(*words: int):
    """Bits that are these words of 64, and zeros from then on."""
    served = itertools.chain((w.to_bytes(8, "little") for w in words), itertools.repeat(bytes(8)))
    return bits.injected(lambda n: next(served))


def test_a_uniform_is_the_digits_drawn_and_what_may_follow():
    with fed(1 << 63, 1):
        u = Uniform()
        assert u.enclose() == Enclosure(Fraction(1, 2), Fraction(1, 2) + Fraction(1, 1 << 64))
        assert u.centred().contains(0)
        u.refine()
    assert u.enclose().width == Fraction(1, 1 << 128)
    assert u.enclose().lower == Fraction(1, 2) + Fraction(1, 1 << 128)


@pytest.mark.parametrize("draw", [normal, lambda: student(1), lambda: student(3), exponential])
def test_more_digits_only_narrow(draw):
    for seed in range(20):
        with bits.injected(np.random.default_rng(seed).bytes):
            z = draw()
            first = z.enclose()
            z.refine()
            second = z.enclose()
        assert first.lower <= second.lower <= second.upper <= first.upper
        assert second.width < first.width


def test_a_question_that_the_digits_leave_open_draws_more():
    """10 U lies across 5 1/2 as far as 64 digits say: the next 64 decide."""
    edge = (11 << 64) // 20
    for more, whole in ((0, 5), ((1 << 64) - 1, 6)):
        with fed(edge, more):
            u = Uniform()
            z = Lazy((u,), lambda bits, u=u: 10 * u.enclose())
            assert z.nearest(lambda bits: Enclosure.of(0), Fraction(1)) == whole
            assert u.width == 128


def test_a_formula_that_needs_more_digits_gets_them():
    """Of a uniform of zeros the logarithm is unbounded until a digit is not zero."""
    with fed(0, 0, 5):
        z = exponential()
        found = z.enclose()
    assert z.uniforms[0].width == 192
    assert found.contains(Fraction(-math.log(5.5 / 2**192))) or found.width < Fraction(1)


def test_points_of_the_disc_are_inside_it():
    corner = (1 << 64) - 1
    with fed(corner, corner, 1 << 63, 1 << 63):  # the first point is thrown away
        x, y = disc()
    assert x.centred().contains(0)
    assert y.centred().contains(0)


def test_nearest_shifts_with_its_centre_and_grows_with_its_scale():
    def unit(centre, scale):
        with bits.injected(np.random.default_rng(8).bytes):
            return normal().nearest(lambda bits: Enclosure.of(centre), Fraction(scale))

    base = unit(0, 1000)
    assert unit(7, 1000) == base + 7
    assert abs(unit(0, 2000) - 2 * base) <= 1
    assert unit(0, 0) == 0


@pytest.mark.parametrize(
    ("draw", "law", "shape"),
    [
        (normal, "norm", ()),
        (lambda: student(1), "cauchy", ()),
        (lambda: student(3), "t", (3,)),
        (exponential, "expon", ()),
    ],
)
def test_draws_have_their_law(draw, law, shape):
    """150 draws of a fixed stream, by the test of Kolmogorov and Smirnov."""
    from scipy import stats

    with bits.injected(np.random.default_rng(1).bytes):
        found = [float(draw().enclose().middle) for _ in range(150)]
    assert stats.kstest(found, law, shape).pvalue > 1e-3


# Unit noises for smooth noise in pure and approximate DP, by quadrature over the whole family.


def student_log_density(z: Any, d: int) -> Any:
    constant = math.lgamma((d + 1) / 2) - math.lgamma(d / 2) - math.log(d * math.pi) / 2
    return constant - (d + 1) / 2 * np.log1p(z * z / d)


@pytest.mark.few(4)
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.8])
@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_student_noise_attains_its_epsilon_and_no_more(epsilon: float, part: float, d: int) -> None:
    law = StudentDistribution(Fraction(epsilon), d)
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
        (StudentDistribution(Fraction(1), 1), lambda z: 0.5 + mpmath.atan(z) / mpmath.pi),
        (StudentDistribution(Fraction(1), 2), None),
        (StudentDistribution(Fraction(1), 3), None),
        (StudentDistribution(Fraction(1), 4), None),
        (StudentDistribution(Fraction(1), 7), None),
        (
            ArsinhNormal(Fraction(1), Fraction(1, 2)),
            lambda z: mpmath.ncdf(mpmath.asinh(z / 2) * 2),
        ),
        (LaplaceDistribution(Fraction(1), Fraction(1, 9)), None),
        (UniformLogNormal(Fraction(1), Fraction(1, 2)), None),
    ],
)
def test_distribution_functions(law: Any, truth: Any) -> None:
    def density(v: Any) -> Any:
        if isinstance(law, LaplaceDistribution):
            return mpmath.exp(-abs(v)) / 2
        if isinstance(law, UniformLogNormal):
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
