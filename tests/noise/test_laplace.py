"""Discrete Laplace and geometric: thresholds, fit, ties, carries, tails, and the law as numbers."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import tacit.noise as tn
from support.by_hand.high_precision import brute_force, exactly, real
from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.noise import bits, gaussian, laplace
from tacit.noise import samplers as law
from tacit.noise.bernoulli_and_uniform import (
    below,
    certified_floor,
    certified_floors,
    cumulative,
    exponential,
    rational,
)
from tacit.noise.samplers import (
    BlockTable,
    GeometricDigits,
    InversionTable,
    gaussian_exponent,
    geometric_digits,
    laplace_exponent,
    wrapped,
)


def test_thresholds_from_one_exponential_are_those_of_each():
    """Squares give the floor of every digit's odds, or none where they are in doubt."""
    rng = np.random.default_rng(3)
    small = [Fraction(n, d) for n, d in rng.integers(1, 2000, (60, 2)).tolist()]
    large = [Fraction(3 * n + 1, 7) ** 9 for n in range(12)]
    for scale in [*small, *large, Fraction(1, 10**9)]:
        for width, radius in ((64, 45), (5, 2)):
            digits = geometric_digits(scale, width, radius)
            alone = [certified_floor(odds, width) for odds in digits.odds]
            assert digits.thresholds.tolist() == alone


@pytest.mark.few(4)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10, 7), 25, 200])
@pytest.mark.parametrize("path", ["few", "integers", "bulk"])
def test_fit(stream, fits, scale, path):
    subject = tn.DiscreteLaplace(scale)
    one_sided = tn.OneSidedGeometric(scale)
    n = 300_000 if path != "integers" else 30_000
    draw = {"few": "_few", "integers": "_integers", "bulk": "_bulk"}[path]
    with stream(16):
        both, single = getattr(subject, draw)(n), getattr(one_sided, draw)(n)
    radius = int(7 * scale) + 2
    assert fits(both, subject.probability, -radius, radius) > 1e-3
    assert fits(single, one_sided.probability, 0, radius) > 1e-3


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
    two, one = tn.DiscreteLaplace(scale), tn.OneSidedGeometric(scale)
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


def consistent_widths(subject):
    """Check that probabilities, sums and supports agree; return the widths of the supports."""
    for low, high in pairwise(range(-20, 20)):
        step = subject.cdf(high, 100) - subject.cdf(low, 100)
        assert step.lower <= subject.probability(high, 100).upper
        assert step.upper >= subject.probability(high, 100).lower
    widths = []
    for mass in (0, "1/2", 0.99, 1 - Fraction(1, 10**12)):
        low, high = subject.support(mass)
        covered = subject.cdf(high, 200) - subject.cdf(low - 1, 200)
        assert covered.lower >= Fraction(mass)
        widths.append(high - low)
    return widths


@pytest.mark.parametrize("subject", [tn.DiscreteLaplace("10/7"), tn.OneSidedGeometric("10/7")])
def test_law_is_consistent(subject):
    assert max(consistent_widths(subject)) < 100
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


# Digits of geometric draws: thresholds, ties, carries.


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
    digits = geometric_digits(Fraction(5), width=4, radius=1)
    assert digits.count == 3
    with stream(13):
        found, large = digits.propose(60_000, sign)
        integers = digits.draw_integers(30_000, sign)
    assert len(large) > 1000
    assert all(found[row] == value for row, value in large.items())
    subject = tn.DiscreteLaplace(5) if sign else tn.OneSidedGeometric(5)
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


# Discrete Gaussian: thresholds, fit on every path, ties and tails, and the law as numbers.


SQUARES = [Fraction(1, 50), Fraction(1), Fraction(2, 3), 25, 25**2, 60**2, 100**2, 10**6, 10**12]


@pytest.mark.few(9)
@pytest.mark.parametrize("square", [*SQUARES, 2**100])
def test_table_thresholds(square):
    """Every cumulative weight against 600 bits: zero mismatches."""
    table = BlockTable(gaussian_exponent(Fraction(square)))
    length, kinds = table.length, 2 if table.shift == 0 else 4
    with mpmath.workprec(600):
        p = lambda m: mpmath.exp(-(mpmath.mpf(m) ** 2) / (2 * real(square)))  # noqa: E731
        weights = []
        for h in range(table.blocks):
            start, end = p(h * length), p(h * length + length - 1)
            second, following = p(h * length + 1), p((h + 1) * length)
            weights += [end, following, start - end, second - following][:kinds]
        last = table.blocks * length
        weights.append(2 * p(last) / (1 - p(last + 1) / p(last)) / length)
        total, so_far, wrong = mpmath.fsum(weights), mpmath.mpf(0), 0
        for weight, threshold in zip(weights, table.table.thresholds.tolist(), strict=False):
            so_far += weight
            wrong += int(mpmath.floor(so_far / total * 2**64)) != threshold
    assert len(table.table.thresholds) == len(weights) - 1
    assert wrong == 0


@pytest.mark.few(8)
@pytest.mark.parametrize("square", [Fraction(1, 50), Fraction(1, 2), 9, 150**2])
@pytest.mark.parametrize("path", ["_few", "_integers", "_bulk"])
def test_gaussian_fit(stream, fits, square, path):
    subject = tn.DiscreteGaussian(sigma_squared=square)
    n = 4_000 if path == "_integers" else 200_000
    with stream(21):
        found = getattr(subject, path)(n)
    radius = int(4 * float(square) ** 0.5) + 2
    assert fits(found, subject.probability, -radius, radius) > 1e-3


@pytest.mark.full
@pytest.mark.parametrize("path", ["_few", "_bulk"])
def test_large_sigma_fits_in_quantiles_and_low_bits(stream, fits, path):
    sigma = 2**45
    with stream(22):
        found = getattr(tn.DiscreteGaussian(sigma), path)(300_000)
    # at this sigma the integer law and the normal law differ by less than 2**-45
    mass = special.ndtr(np.arange(-22, 22) / 4)
    assert fits(found // (sigma // 4), lambda c: mass[c + 23] - mass[c + 22], -20, 20) > 1e-3
    assert fits(found & 1023, lambda _: Fraction(1, 1024), 0, 1023) > 1e-3


@pytest.mark.few(2)
@pytest.mark.parametrize("path", ["_few", "_integers"])
def test_every_acceptance_decided_exactly(stream, fits, monkeypatch, path):
    monkeypatch.setattr(gaussian, "MARGIN", 2.0)
    subject = tn.DiscreteGaussian("5/2")
    with stream(23):
        found = getattr(subject, path)(8_000 if path == "_few" else 150)
    assert fits(found, subject.probability, -9, 9) > 1e-3


@pytest.mark.full
def test_proposals_with_a_carry_are_decided_exactly(stream, fits, monkeypatch):
    few_digits = gaussian.geometric_digits(Fraction(4), radius=1)
    assert few_digits.count == 3
    monkeypatch.setattr(gaussian, "geometric_digits", lambda scale: few_digits)
    subject = tn.DiscreteGaussian(3)
    with stream(24):
        found = subject._few(40_000)
    assert (np.abs(found) >= 8).sum() > 200
    assert fits(found, subject.probability, -12, 12) > 1e-3


@pytest.mark.few(2)
@pytest.mark.parametrize("sigma", [5, 100])
def test_ties_and_tails_of_tables(stream, fits, sigma):
    """Words of 12 bits, blocks that stop at sigma, every acceptance decided exactly."""
    usual = gaussian_exponent(Fraction(sigma * sigma))
    short = replace(usual, radius=sigma, per_scale=4)
    table = BlockTable(short, first=8, width=12, margin=2.0)
    with stream(25):
        found = table.draw(8_000)
    subject = tn.DiscreteGaussian(sigma)
    assert (np.abs(found) > sigma).mean() > 0.25
    assert fits(found, subject.probability, -4 * sigma, 4 * sigma) > 1e-3


def test_block_acceptance_ends():
    """The first place of a residual block is always kept, the last one never."""
    table = BlockTable(gaussian_exponent(Fraction(1000**2)))
    with bits.injected(lambda n: b"\xff" * n):
        assert table._accepted_exactly(640, 0, 2**64 - 1)
    assert not table._accepted_exactly(640, table.length - 1, 0)


def test_scalar_work_is_one_batch_whatever_the_value(stream):
    asked, values = [], []
    for seed in range(200):
        with stream(seed) as source:
            values.append(tn.discrete_gaussian(25))
        asked.append(tuple(source.requests))
    assert len(set(asked)) == 1
    assert max(values) - min(values) > 80


def test_types_shapes_and_astronomic_sigma(stream):
    assert type(tn.discrete_gaussian("0.5")) is int
    assert tn.discrete_gaussian(3, size=(2, 3)).dtype == np.int64
    assert tn.discrete_gaussian(3, size=0).shape == (0,)
    assert tn.discrete_gaussian(2**51, size=4).dtype == np.int64
    with stream(26):
        found = tn.discrete_gaussian(sigma_squared=Fraction(10**81, 3), size=300)
        one = tn.discrete_gaussian(10**40)
    assert found.dtype == object
    assert all(type(x) is int for x in [one, *found])
    ratio = sum((x / 10**40) ** 2 for x in found) / len(found) / (10 / 3)
    assert 0.7 < ratio < 1.4


def test_vanishing_sigma_gives_zero():
    assert not tn.discrete_gaussian(Fraction(1, 10**200), size=100).any()


@pytest.mark.parametrize("sigma", [0, -1, float("nan"), float("inf"), "no", True, [1]])
def test_bad_sigma(sigma):
    with pytest.raises(UsageError, match="sigma"):
        tn.discrete_gaussian(sigma)
    with pytest.raises(UsageError, match="sigma_squared"):
        tn.discrete_gaussian(sigma_squared=sigma)


def test_sigma_is_given_once():
    for arguments in ({}, {"sigma": 1, "sigma_squared": 1}):
        with pytest.raises(UsageError, match="either"):
            tn.DiscreteGaussian(**arguments)
    with pytest.raises(UsageError, match="size"):
        tn.discrete_gaussian(1, size=-1)


@pytest.mark.parametrize("square", [Fraction(1, 50), Fraction(99, 100), 1, Fraction(7, 3), 900])
def test_gaussian_law_against_high_precision(square):
    subject = tn.DiscreteGaussian(sigma_squared=square)
    with mpmath.workprec(500):
        p, total, second = brute_force(Fraction(square))
        pairs = [(subject.variance(), second / total)]
        pairs += [(subject.probability(k), p[abs(k)] / total) for k in (-3, 0, 1, 5)]
        for k in (-60, -2, -1, 0, 1, 4, 70):
            at_most = [p[abs(x)] for x in range(1 - len(p), min(k + 1, len(p)))]
            pairs.append((subject.cdf(k), mpmath.fsum(at_most) / total))
        for found, truth in pairs:
            exact, slack = exactly(truth), Fraction(1, 2**280)
            assert found.lower - slack <= exact <= found.upper + slack
            assert found.width <= max(exact, 1) * Fraction(1, 2**60)


def test_variance_is_just_below_sigma_squared():
    for square in (Fraction(1, 4), Fraction(1), Fraction(3)):
        assert tn.DiscreteGaussian(sigma_squared=square).variance(200).below(square)


@pytest.mark.parametrize("square", [Fraction(1, 3), 40])
def test_gaussian_law_is_consistent(square):
    subject = tn.DiscreteGaussian(sigma_squared=square)
    consistent_widths(subject)


# The comparison of bits with probabilities, and the table that caches it.


def table_of(weights, **sizes):
    total, edges = sum(weights), np.cumsum(weights).tolist()
    return InversionTable(lambda width: [(e << width) // total for e in edges[:-1]], **sizes)


@given(st.fractions(0, 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_below_is_the_comparison_of_reals(p, first, second):
    """Whatever bits follow, the answer is that of U < p with U = first, second, 0, 0, ..."""
    feed = iter([second.to_bytes(8, "little"), *[bytes(8)] * 20])
    with bits.injected(lambda n: next(feed)):
        answer = below(rational(p), first, 64)
    assert answer == (Fraction(first << 64 | second, 1 << 128) < p)


def test_below_at_the_very_threshold():
    """U = p is not below p, even where it takes all bits to see it."""
    third = rational(Fraction(1, 3))
    ones = int("01" * 32, 2)
    feed = iter([ones.to_bytes(8, "little")] * 3 + [(ones + 1).to_bytes(8, "little")])
    with bits.injected(lambda n: next(feed)):
        assert below(third, ones, 64) is False
    with bits.injected(lambda n: bytes(n)):
        assert below(rational(Fraction(1, 2)), 1 << 63, 64) is False
        assert below(third, ones, 64) is True


@pytest.mark.parametrize("width", [8, 64, 128, 500])
def test_certified_floors_of_exponentials(width):
    points = [Fraction(n, d) for n in (1, 7, 1000) for d in (1, 3, 10**6)]
    with mpmath.workprec(3000):
        truth = [
            int(mpmath.floor(mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * 2**width))
            for x in points
        ]
    assert [certified_floor(exponential(x), width) for x in points] == truth


def test_a_floor_in_doubt_raises_the_precision():
    asked = []

    def close_to_one_half(precision):
        asked.append(precision)
        half, doubt = 1 << precision - 1, 1 << max(0, precision - 400)
        return half - doubt, half + doubt if precision < 500 else half - 1

    with pytest.raises(InfeasibleError, match="binary fraction"):
        certified_floor(lambda b: ((1 << b - 1) - 1, (1 << b - 1) + 1), 64)
    assert certified_floor(close_to_one_half, 64) == (1 << 63) - 1
    assert len(asked) > 2


@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=12).filter(lambda w: w[-1] > 0),
    st.integers(1, 90),
)
def test_cumulative_encloses(weights, precision):
    total, partial = sum(weights), 0
    for weight, (low, high) in zip(
        weights, cumulative([(w, w) for w in weights], precision), strict=False
    ):
        partial += weight
        truth = Fraction(partial << precision, total)
        assert low <= truth < high + 1
        assert high <= min(low + 1, (1 << precision) - 1)


def test_a_cumulative_probability_next_to_one_is_below_one():
    """What is left is far below one unit, at whatever precision is asked."""
    weights = lambda bits: [(1 << bits, 1 << bits), (0, 1)]  # noqa: E731
    floors = certified_floors(lambda bits: cumulative(weights(bits), bits), 64)
    assert floors == [2**64 - 1]


@given(
    st.lists(st.integers(0, 1000), min_size=2, max_size=40).filter(any),
    st.sampled_from([(4, 8), (8, 8), (8, 64), (16, 64)]),
)
@examples(0.6)
def test_cells_say_what_the_comparison_says(weights, sizes):
    table = table_of(weights, first=sizes[0], width=sizes[1])
    cell = 1 << sizes[1] - sizes[0]
    thresholds = [int(t) for t in table.thresholds]
    for j in range(0, 1 << sizes[0], max(1, (1 << sizes[0]) // 64)):
        inside = [t for t in thresholds if j * cell <= t < (j + 1) * cell]
        lower = sum(t < j * cell for t in thresholds)
        assert table.certain[j] == (-1 if inside else lower)


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=9), st.integers(0, 2**128 - 1))
@settings(deadline=None)
def test_a_draw_is_the_inverse_of_the_distribution_function(weights, drawn):
    """With all 128 bits given, the state is the number of cumulative weights at or below U."""
    table = table_of(weights, first=4, width=64)
    feed = iter([(drawn >> 64).to_bytes(8, "little"), (drawn % 2**64).to_bytes(8, "little")])
    with bits.injected(lambda n: next(feed, bytes(n))):
        state = int(table.draw(1)[0])
    edges = np.cumsum(weights).tolist()
    uniform = Fraction(drawn, 1 << 128)
    assert state == sum(Fraction(e, edges[-1]) <= uniform for e in edges[:-1])


def test_words_near_2_to_53_and_above_are_told_apart():
    """Mixed with signed integers numpy compares in doubles; then these differ by nothing."""
    table = InversionTable(lambda width: [(2**53 + 1) << width - 64, (2**63 + 1) << width - 64])
    assert table.thresholds.dtype == np.uint64
    for word, state in ((2**53, 0), (2**53 + 2, 1), (2**63, 1), (2**63 + 2, 2), (2**64 - 1, 2)):
        with bits.injected(lambda n, w=word: w.to_bytes(8, "little")):
            assert table.draw(1)[0] == state
    signed = np.searchsorted(table.thresholds, np.array([2**53], np.int64), "right")
    assert signed[0] != np.searchsorted(table.thresholds, np.array([2**53], np.uint64), "right")[0]


@pytest.mark.parametrize(("first", "width"), [(4, 4), (4, 6), (8, 8)])
def test_ties_are_settled_exactly(stream, fits, first, width):
    """Words so short that most draws are ties."""
    weights = [1, 5, 0, 3, 2]
    table = table_of(weights, first=first, width=width)
    with stream(5) as source:
        found = table.draw(40_000)
    assert len(source.requests) > 300
    assert fits(found, lambda k: Fraction(weights[k], 11), 0, 4) > 1e-3


# Tables of blocks: thresholds, certified cheaply, and the same work whatever is drawn.


@pytest.mark.few(9)
@pytest.mark.parametrize("scale", [*SCALES, 1000])
def test_block_sampler_table_thresholds(scale):
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


@pytest.mark.few(2)
@pytest.mark.parametrize("scale", [5, 100])
def test_block_sampler_ties_and_tails_of_tables(stream, fits, scale):
    """Words of 12 bits, blocks that stop at the scale, every acceptance decided exactly."""
    usual = laplace_exponent(Fraction(scale))
    short = replace(usual, radius=scale, per_scale=4)
    table = BlockTable(short, first=8, width=12, margin=1.0)
    with stream(14):
        found = table.draw(8_000)
    subject = tn.DiscreteLaplace(scale)
    assert (np.abs(found) > scale).mean() > 0.3
    assert fits(found, subject.probability, -6 * scale, 6 * scale) > 1e-3


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
