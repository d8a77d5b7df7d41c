"""Discrete Laplace and geometric: thresholds, fit, ties, carries, tails, and the law as numbers."""

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import tacit.noise as tn
from support.by_hand.high_precision import exactly, real
from tacit.errors import UsageError
from tacit.noise import samplers as law
from tacit.noise.bernoulli_and_uniform import certified_floor
from tacit.noise.samplers import geometric_digits


def test_thresholds_from_one_exponential_are_those_of_each():
    """Squares give the floor of every digit's odds, or none where they are in doubt."""
    rng = np.random.default_rng(3)
    small = [Fraction(n, d) for n, d in rng.integers(1, 2000, (60, 2)).tolist()]
    large = [Fraction(3 * n + 1, 7) ** 9 for n in range(12)]
    for scale in [*small, *large, Fraction(1, 10**9)]:
        for width, reach in ((64, 45), (5, 2)):
            digits = geometric_digits(scale, width, reach)
            alone = [certified_floor(odds, width) for odds in digits.odds]
            assert digits.thresholds.tolist() == alone


@pytest.mark.few(4)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10, 7), 25, 200])
@pytest.mark.parametrize("path", ["few", "integers", "bulk"])
def test_fit(stream, fits, scale, path):
    subject = tn.DiscreteLaplace(scale)
    one_sided = tn.Geometric(scale)
    n = 300_000 if path != "integers" else 30_000
    draw = {"few": "_few", "integers": "_integers", "bulk": "_bulk"}[path]
    with stream(16):
        both, single = getattr(subject, draw)(n), getattr(one_sided, draw)(n)
    reach = int(7 * scale) + 2
    assert fits(both, subject.probability, -reach, reach) > 1e-3
    assert fits(single, one_sided.probability, 0, reach) > 1e-3


def test_large_scale_fits_in_quantiles_and_low_bits(stream, fits):
    scale = 2**40
    subject = tn.DiscreteLaplace(scale)
    with stream(12):
        draws = {"few": subject._few(100_000), "bulk": subject._bulk(300_000)}
    for found in draws.values():
        cells = found // (scale // 4)
        mass = lambda c: subject.cdf((c + 1) * scale // 4 - 1) - subject.cdf(c * scale // 4 - 1)  # noqa: E731
        assert fits(cells, lambda c, m=mass: m(c).middle, -30, 30) > 1e-3
        assert fits(found & 1023, lambda _: Fraction(1, 1024), 0, 1023) > 1e-3


def test_draws_of_astronomic_scale(stream):
    scale = 10**40
    with stream(15):
        found = tn.discrete_laplace(scale, size=(50, 40))
        one = tn.discrete_laplace(scale)
    assert found.shape == (50, 40)
    assert found.dtype == object
    assert all(type(x) is int for x in [one, *found.ravel()])
    mean = sum(abs(x) for x in found.ravel()) / found.size / scale
    assert 0.9 < mean < 1.1


def test_types_and_shapes(monkeypatch):
    assert type(tn.discrete_laplace("0.5")) is int
    assert type(tn.geometric(0.5)) is int
    for size, shape in ((0, (0,)), (3, (3,)), ((2, 0), (2, 0)), (np.int64(4), (4,))):
        for draw in (tn.discrete_laplace, tn.geometric):
            found = draw(2**52, size=size)
            assert found.shape == shape
            assert found.dtype == np.int64
    assert tn.discrete_laplace(2**53, size=1).dtype == object
    monkeypatch.setattr(law, "BULK", 10)
    assert tn.discrete_laplace(3, size=(5, 4)).shape == (5, 4)


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "no", None, True, [1]])
@pytest.mark.parametrize("draw", [tn.discrete_laplace, tn.geometric])
def test_bad_scale(draw, scale):
    with pytest.raises(UsageError, match="scale"):
        draw(scale)


@pytest.mark.parametrize("size", [-1, 1.5, "3", (2, -1), (1, 2.5), [3], True])
def test_bad_size(size):
    with pytest.raises(UsageError, match="size"):
        tn.discrete_laplace(1, size=size)


def test_a_scalar_costs_the_same_whatever_its_value(stream):
    """The same requests of bits, and a full comparison, for every outcome."""
    asked, values = set(), []
    for seed in range(300):
        with stream(seed) as source:
            values.append(tn.discrete_laplace(25))
        asked.add(tuple(source.requests))
    assert len(asked) == 1
    assert max(values) - min(values) > 100


def test_bulk_asks_for_the_same_bits_whatever_the_values(stream):
    """Without residual draws, all of the work is padded to one size."""
    asked, spread = set(), set()
    for seed in range(8):
        with stream(seed) as source:
            found = tn.DiscreteLaplace(25)._bulk(70_000)
        asked.add(sum(source.requests))
        spread.add(int(np.abs(found).sum()))
    assert len(asked) == 1
    assert len(spread) == 8


@pytest.mark.parametrize("scale", [Fraction(1, 40), Fraction(10, 7), 25, 10**6])
def test_law_against_high_precision(scale):
    two, one = tn.DiscreteLaplace(scale), tn.Geometric(scale)
    with mpmath.workprec(300):
        q = mpmath.exp(-1 / real(scale))
        close = mpmath.mpf(2) ** -60
        truths = [(two.variance(), 2 * q / (1 - q) ** 2), (one.variance(), q / (1 - q) ** 2)]
        for k in (-50, -1, 0, 1, 3, 100):
            below = q**-k / (1 + q) if k < 0 else 1 - q ** (k + 1) / (1 + q)
            truths.append((two.probability(k), (1 - q) / (1 + q) * q ** abs(k)))
            truths.append((two.cdf(k), below))
            if k >= 0:
                truths.append((one.probability(k), (1 - q) * q**k))
                truths.append((one.cdf(k), 1 - q ** (k + 1)))
        for found, truth in truths:
            exact = exactly(truth)
            slack = abs(exact) / 2**250
            assert found.lower - slack <= exact <= found.upper + slack
            assert found.width <= exact * exactly(close) * 4 or found.width <= Fraction(1, 2**60)
    assert one.probability(-1).upper == one.cdf(-1).upper == 0


@pytest.mark.parametrize("subject", [tn.DiscreteLaplace("10/7"), tn.Geometric("10/7")])
def test_law_is_consistent(subject):
    for low, high in pairwise(range(-20, 20)):
        step = subject.cdf(high, 100) - subject.cdf(low, 100)
        assert step.lower <= subject.probability(high, 100).upper
        assert step.upper >= subject.probability(high, 100).lower
    for mass in (0, "1/2", 0.99, 1 - Fraction(1, 10**12)):
        low, high = subject.support(mass)
        covered = subject.cdf(high, 200) - subject.cdf(low - 1, 200)
        assert covered.lower >= Fraction(mass)
        assert high - low < 100
    assert repr(subject).endswith("(scale=Fraction(10, 7))")
    assert subject == type(subject)(Fraction(10, 7))


@pytest.mark.parametrize("mass", [1, 2, -0.1, float("nan"), "x"])
def test_bad_mass(mass):
    with pytest.raises(UsageError, match="mass"):
        tn.DiscreteLaplace(1).support(mass)


@pytest.mark.parametrize("size", [None, 100, 70_000])
@pytest.mark.parametrize("draw", [tn.discrete_laplace, tn.geometric, tn.discrete_gaussian])
def test_vanishing_scale_gives_zero(draw, size):
    assert not np.any(draw(Fraction(1, 10**400), size=size))


def test_arrays_are_fresh_and_writable():
    for size in (10, 70_000):
        first, second = tn.discrete_laplace(2**40, size=size), tn.discrete_laplace(2**40, size=size)
        assert (first != second).any()
        first += second
        assert tn.bernoulli("1/2", size=size).flags.writeable
