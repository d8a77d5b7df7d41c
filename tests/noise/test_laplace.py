"""Discrete Laplace and geometric: thresholds, fit, ties, carries, tails, and the law as numbers."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import tacit.noise as tn
from tacit.errors import UsageError
from tacit.noise import discrete_law as law
from tacit.noise import laplace
from tacit.noise.block_sampler import BlockTable, laplace_exponent
from tacit.noise.digit_sampler import GeometricDigits, geometric_digits, wrapped

SCALES = [Fraction(1, 40), Fraction(1), Fraction(10, 7), Fraction(25), Fraction(96), 10**6, 2**50]


def real(x):
    return mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator


def exactly(value):
    """Turn a high-precision number into a fraction."""
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * int(mantissa) * Fraction(2) ** exponent


@pytest.mark.parametrize("scale", [*SCALES, Fraction(25 * 2**20, 3), 2**200])
def test_digit_thresholds(scale):
    digits = geometric_digits(Fraction(scale))
    with mpmath.workprec(600):
        odds = [mpmath.exp(-mpmath.mpf(2**j) / real(scale)) for j in range(digits.count + 1)]
        truth = [int(mpmath.floor(q / (1 + q) * 2**64)) for q in odds[:-1]]
        truth.append(int(mpmath.floor(odds[-1] * 2**64)))
    assert digits.thresholds.tolist() == truth
    assert truth[-1] == 0  # the carry is rarer than 2**-64


@pytest.mark.few(9)
@pytest.mark.parametrize("scale", [*SCALES, 1000])
def test_table_thresholds(scale):
    """Every cumulative weight against 400 bits: zero mismatches."""
    table = BlockTable(laplace_exponent(Fraction(scale)))
    length, blocks, kinds = table.length, table.blocks, 2 if table.shift == 0 else 4
    with mpmath.workprec(400):
        p = lambda m: mpmath.exp(-m / real(scale))  # noqa: E731
        weights = []
        for h in range(blocks):
            start, end = p(h * length), p(h * length + length - 1)
            second, following = p(h * length + 1), p((h + 1) * length)
            weights += [end, following, start - end, second - following][:kinds]
        last = blocks * length
        weights.append(2 * p(last) / (1 - p(1)) / length)
        total, so_far, wrong = mpmath.fsum(weights), mpmath.mpf(0), 0
        for weight, threshold in zip(weights, table.table.thresholds.tolist(), strict=False):
            so_far += weight
            wrong += int(mpmath.floor(so_far / total * 2**64)) != threshold
    assert len(table.table.thresholds) == len(weights) - 1
    assert wrong == 0


def test_certification_near_one_stays_cheap():
    """The last cumulative probabilities are within 2**-40 of 1; 128 more bits are enough."""
    table = BlockTable(laplace_exponent(Fraction(25)))
    asked = []
    weights = table.weights
    table.weights = lambda bits: (asked.append(bits), weights(bits))[1]
    assert table._floors(64) == table.table.thresholds.tolist()
    assert max(asked) <= 64 + 128


def test_table_values_agree_with_states():
    table = BlockTable(laplace_exponent(Fraction(1000)))
    certain = table.table.certain
    for cell in range(0, 1 << 16, 7):
        state = certain[cell]
        if state < 0 or table.residual[state] or state == table.tail:
            assert table.values[cell] == table.open
        else:
            first = int(table.block[state]) * table.length
            assert table.values[cell] == (-1 - first if table.sign[state] else first)
    assert table.share == pytest.approx((table.values == table.open).mean())
    assert table.share < 0.05


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


@pytest.mark.few(2)
@pytest.mark.parametrize("scale", [5, 100])
def test_ties_and_tails_of_tables(stream, fits, scale):
    """Words of 12 bits, blocks that stop at the scale, every acceptance decided exactly."""
    usual = laplace_exponent(Fraction(scale))
    short = replace(usual, reach=scale, per_scale=4)
    table = BlockTable(short, first=8, width=12, margin=1.0)
    with stream(14):
        found = table.draw(8_000)
    subject = tn.DiscreteLaplace(scale)
    assert (np.abs(found) > scale).mean() > 0.3
    assert fits(found, subject.probability, -6 * scale, 6 * scale) > 1e-3


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


def test_wrapping_is_arithmetic_modulo_two_to_the_64():
    for value in (0, -1, 2**63 - 1, -(2**63), 2**63, 2**64 + 5, -(2**70) - 3):
        assert (wrapped(value) - value) % 2**64 == 0
        assert -(2**63) <= wrapped(value) < 2**63


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


def test_first_second_looks_are_padded(stream, monkeypatch):
    """With residual draws too, the first trial looks again at a fixed number of draws."""
    table = BlockTable(laplace_exponent(Fraction(1000)))
    sizes = []
    complete = table.table.complete
    monkeypatch.setattr(
        table.table,
        "complete",
        lambda prefixes, have: (sizes.append((len(prefixes), have)), complete(prefixes, have))[1],
    )
    for seed in range(5):
        with stream(seed):
            table.draw(40_000)
    assert len({n for n, have in sizes if have}) == 1


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


def test_public_caches_hold_thresholds_alone():
    digits = geometric_digits(Fraction(7))
    assert isinstance(digits, GeometricDigits)
    assert geometric_digits(Fraction(7)) is digits
    assert geometric_digits.cache_parameters()["maxsize"] == 256
    assert laplace.block_table.cache_parameters()["maxsize"] == 32


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
