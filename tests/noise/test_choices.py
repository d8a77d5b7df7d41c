"""Bernoulli, uniform, categorical draws and the draw of the exponential mechanism."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit.noise as tn
from tacit.errors import UsageError
from tacit.noise import bits


def z_score(draws, p):
    n = len(draws)
    return (np.sum(draws) - n * float(p)) / (n * float(p) * (1 - float(p))) ** 0.5


@pytest.mark.parametrize("p", ["1/3", 0.5, "0.9999", Fraction(1, 1024), Fraction(3, 7)])
@pytest.mark.parametrize("n", [900, 300_000])
def test_bernoulli_frequency(stream, p, n):
    with stream(31):
        found = tn.bernoulli(p, size=n)
    assert found.dtype == bool
    assert abs(z_score(found, Fraction(p))) < 4


@pytest.mark.parametrize("x", ["1/1000", 1, "7/3", 5])
def test_bernoulli_exp_frequency(stream, x):
    with stream(32):
        found = tn.bernoulli_exp(x, size=(100, 3000))
    assert found.shape == (100, 3000)
    assert abs(z_score(found.ravel(), mpmath.exp(-mpmath.mpf(float(Fraction(x)))))) < 4


def test_certain_outcomes():
    for size in (None, 5, 5000):
        assert np.all(tn.bernoulli(1, size=size))
        assert not np.any(tn.bernoulli(0, size=size))
        assert np.all(tn.bernoulli_exp(0, size=size))
        assert not np.any(tn.bernoulli_exp(10**9, size=size))
    assert type(tn.bernoulli("1/2")) is bool


@given(st.fractions(0, 1), st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_bernoulli_is_the_comparison_with_p(p, word):
    """A word w and zeros after it are the uniform w / 2**64."""
    feed = iter([word.to_bytes(8, "little")])
    with bits.injected(lambda n: next(feed, bytes(n))):
        assert tn.bernoulli(p) == (Fraction(word, 1 << 64) < p)


def test_byte_ties(stream):
    """With every byte at the threshold, the frequency is that of the words that follow."""
    p = Fraction(1, 3)
    with stream(33) as source:
        feed = lambda n: b"\x55" * n if n == 50_000 else source(n)  # noqa: E731
        with bits.injected(feed):
            found = tn.bernoulli(p, size=50_000)
    assert abs(z_score(found, p * 256 - 85)) < 4


def test_bulk_bernoulli_asks_for_the_same_bits(stream):
    asked = set()
    for seed in range(6):
        with stream(seed) as source:
            tn.bernoulli("0.3", size=100_000)
        asked.add(sum(source.requests))
    assert len(asked) == 1


@pytest.mark.parametrize("p", [-0.1, 1.0001, float("nan"), "x", None])
def test_bad_probability(p):
    with pytest.raises(UsageError, match="p must"):
        tn.bernoulli(p)


@pytest.mark.parametrize("x", [-1, float("nan"), float("inf"), "x"])
def test_bad_exponent(x):
    with pytest.raises(UsageError, match="x must"):
        tn.bernoulli_exp(x)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 1000])
def test_uniform_frequency(stream, fits, n):
    with stream(34):
        found = tn.uniform(n, size=100_000)
    assert found.dtype == np.int64
    assert found.min() >= 0
    assert found.max() < n
    if n > 1:
        assert fits(found, lambda _: Fraction(1, n), 0, n - 1) > 1e-3


@pytest.mark.parametrize("n", [2**63, 2**63 - 1, 2**62 + 1, 2**64, 2**100 + 1])
def test_uniform_of_large_bounds(stream, n):
    with stream(35):
        found = tn.uniform(n, size=2000)
        one = tn.uniform(n)
    assert found.dtype == (np.int64 if n <= 2**63 else object)
    assert all(0 <= int(x) < n for x in [one, *found])
    assert abs(sum(int(x) for x in found) / 2000 / n - 0.5) < 0.03


def test_uniform_refuses_the_words_that_do_not_fit():
    feed = iter([b"\x07", b"\x06", b"\x05"])
    with bits.injected(lambda n: bytes([next(feed)[0] << 5])):
        assert tn.uniform(6) == 5


@pytest.mark.parametrize("n", [0, -3, 1.5, "6", None])
def test_bad_bound(n):
    with pytest.raises(UsageError, match="n must"):
        tn.uniform(n)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "weights", [[1, 0, 2, 7], ["1/3", "1/7", 0], [0.1] * 30, [5, 0, 0], [0, 9]]
)
def test_categorical_frequency(stream, fits, weights):
    exact = [Fraction(w) for w in weights]
    total = sum(exact)
    with stream(36):
        many = tn.categorical(weights, size=(100, 500))
        single = [tn.categorical(weights) for _ in range(2000)]
    assert many.shape == (100, 500)
    for found in (many.ravel(), np.array(single)):
        assert all(exact[i] > 0 for i in set(found.tolist()))
        if sum(w > 0 for w in exact) > 1:
            assert fits(found, lambda k: exact[k] / total, 0, len(exact) - 1) > 1e-3


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [float("nan")], ["x"], [1, float("inf")]])
def test_bad_weights(weights):
    with pytest.raises(UsageError, match="weight"):
        tn.categorical(weights)


def probabilities(costs, factor, weights):
    with mpmath.workprec(200):
        least = min(c for c, w in zip(costs, weights, strict=True) if w)
        masses = [
            w * mpmath.exp(-(c - least) * mpmath.mpf(factor.numerator) / factor.denominator)
            for c, w in zip(costs, weights, strict=True)
        ]
        total = mpmath.fsum(masses)
        return [m / total for m in masses]


CHOICES = [
    ([0, 1, 2, 3, 4], Fraction(1, 2), [1, 1, 1, 1, 1]),
    ([7, 7, 7], Fraction(3), [1, 2, 3]),
    ([0, 100, 0], Fraction(1, 3), [1, 0, 10]),
    ([10, 0], Fraction(1), [2**62, 3]),
    ([-5, -3, 2**62], Fraction(1, 4), [4, 5, 6]),
    ([-(2**63), 2**63 - 1], Fraction(1, 2**64), [1, 1]),
    ([30, 0, 31], Fraction(1), [2**45, 1, 2**46]),
    ([0, 5], Fraction(0), [1, 2]),
    ([0, 1], Fraction(10**400), [1, 1]),
    ([0, 1], Fraction(1, 10**400), [1, 1]),
]


@pytest.mark.parametrize(("costs", "factor", "weights"), CHOICES)
def test_exponential_choice_frequency(stream, fits, costs, factor, weights):
    law = tn.ExponentialChoice(np.array(costs, np.int64), factor, np.array(weights, np.int64))
    truth = probabilities(costs, factor, weights)
    with stream(37):
        found = law.draw_many(50_000)
    if sum(p > 1e-4 for p in truth) > 1:
        assert fits(found, lambda k: truth[k], 0, len(costs) - 1) > 1e-3
    else:
        assert truth[int(found[0])] > 0.99
    for i, p in enumerate(truth):
        enclosed = law.probability(i)
        assert float(enclosed.lower) <= float(p) * (1 + 1e-12) + 1e-18
        assert float(enclosed.upper) >= float(p) * (1 - 1e-12)
        assert enclosed.width < Fraction(1, 2**50)


def test_acceptance_times_proposal_is_the_weight():
    """v_i A_i = S w_i exp(-g_i) exactly, and A_i <= 1: so the doubles cannot bend the law."""
    rng = np.random.default_rng(1)
    costs, weights = rng.integers(0, 3000, 400), rng.integers(0, 2**62, 400)
    law = tn.ExponentialChoice(costs, "1/7", weights)
    with mpmath.workprec(300):
        scale = mpmath.mpf(2) ** law._shift
        for i in range(400):
            if not weights[i]:
                assert law._proposals[i] == 0
                continue
            low, high = law._acceptance(i)(128)
            truth = scale * int(weights[i]) * mpmath.exp(-mpmath.mpf(int(law._exponent(i) * 7)) / 7)
            share = truth / int(law._proposals[i]) * 2**128
            assert low <= share <= high <= low + 4
            assert share <= mpmath.mpf(2) ** 128
            sure = law._surely(np.array([i]))[0]
            assert mpmath.mpf(sure) * 2**128 <= share
    assert int(law._edges[-1]) < 2**62


def test_every_choice_settled_exactly(stream, fits, monkeypatch):
    law = tn.ExponentialChoice([0, 3, 1, 1], "1/2", [1, 4, 0, 2])
    monkeypatch.setattr(law, "_surely", lambda found: np.zeros(len(found)))
    with stream(38):
        found = law.draw_many(4000)
    truth = probabilities([0, 3, 1, 1], Fraction(1, 2), [1, 4, 0, 2])
    assert fits(found, lambda k: truth[k], 0, 3) > 1e-3


def test_many_candidates_are_quick_and_right(stream):
    n = 200_000
    costs = np.abs(np.arange(n) - 70_000)
    with stream(39):
        found = tn.ExponentialChoice(costs, "1/100").draw_many(2000)
    assert abs(float(np.mean(found)) - 70_000) < 20
    assert 120 < np.std(found) < 165  # sqrt(2) * 100


def test_choice_types():
    assert type(tn.exponential_choice([1, 2], 1)) is int
    assert tn.exponential_choice([1, 2], 1, size=(2, 2)).shape == (2, 2)
    assert tn.exponential_choice((3,), 0.5) == 0


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([], 1), "candidate"),
        (([1.5, 2], 1), "costs"),
        (([[1, 2]], 1), "costs"),
        (([2**64], 1), "costs"),
        (([1, 2], -1), "factor"),
        (([1, 2], float("nan")), "factor"),
        (([1, 2], 1, [1]), "one weight a candidate"),
        (([1, 2], 1, [0, 0]), "above zero"),
        (([1, 2], 1, [1, -1]), "weights"),
        (([1, 2], 1, [1, 2**62 + 1]), "weights"),
        (([1, 2], 1, [0.5, 1]), "weights"),
    ],
)
def test_bad_choices(arguments, match):
    with pytest.raises(UsageError, match=match):
        tn.exponential_choice(*arguments)
