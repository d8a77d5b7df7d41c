"""Discrete Gaussian: thresholds, fit on every path, ties and tails, and the law as numbers."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

import tacit.noise as tn
from support.by_hand.gaussian_sums import brute_force
from support.by_hand.high_precision import exactly, real
from tacit.errors import UsageError
from tacit.noise import bits, gaussian
from tacit.noise.samplers import BlockTable, gaussian_exponent

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
def test_fit(stream, fits, square, path):
    subject = tn.DiscreteGaussian(sigma_squared=square)
    n = 4_000 if path == "_integers" else 200_000
    with stream(21):
        found = getattr(subject, path)(n)
    reach = int(4 * float(square) ** 0.5) + 2
    assert fits(found, subject.probability, -reach, reach) > 1e-3


@pytest.mark.full
@pytest.mark.parametrize("path", ["_few", "_bulk"])
def test_large_sigma_fits_in_quantiles_and_low_bits(stream, fits, path):
    sigma = 2**45
    with stream(22):
        found = getattr(tn.DiscreteGaussian(sigma), path)(300_000)
    # at this sigma the integer law and the normal law differ by less than 2**-45
    mass = norm.cdf(np.arange(-22, 22) / 4)
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
    few_digits = gaussian.geometric_digits(Fraction(4), reach=1)
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
    short = replace(usual, reach=sigma, per_scale=4)
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
        assert table._kept_exactly(640, 0, 2**64 - 1)
    assert not table._kept_exactly(640, table.length - 1, 0)


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
def test_law_against_high_precision(square):
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
def test_law_is_consistent(square):
    subject = tn.DiscreteGaussian(sigma_squared=square)
    for low, high in pairwise(range(-20, 20)):
        step = subject.cdf(high, 100) - subject.cdf(low, 100)
        assert step.lower <= subject.probability(high, 100).upper
        assert step.upper >= subject.probability(high, 100).lower
    for mass in (0, "1/2", 0.99, 1 - Fraction(1, 10**12)):
        low, high = subject.support(mass)
        covered = subject.cdf(high, 200) - subject.cdf(low - 1, 200)
        assert covered.lower >= Fraction(mass)
