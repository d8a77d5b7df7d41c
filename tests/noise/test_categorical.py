"""Draws with given weights."""

import os
import ssl
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit.noise as tn
from support.by_hand.high_precision import brute_force, exactly
from tacit.errors import InfeasibleError, UsageError
from tacit.noise import bits, exponential, gaussian
from tacit.noise.exponential import choices_within


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


# Where bits come from, how they are asked for, and that processes and threads never share them.


@pytest.mark.parametrize("n", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_requests_are_never_above_64_kib(stream, n):
    with stream(1) as source:
        assert len(bits.random_bytes(n)) == n
    assert max(source.requests) <= 1 << 16
    assert sum(source.requests) == n


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (bits.words8, np.uint8),
        (bits.words16, np.uint16),
        (bits.words32, np.uint32),
        (bits.words64, np.uint64),
    ],
)
def test_words(stream, words, kind):
    with stream(2):
        drawn = words(40_000)
    assert drawn.dtype == kind
    assert len(drawn) == 40_000
    middle = drawn.astype(np.float64).mean() / np.iinfo(kind).max
    assert abs(middle - 0.5) < 0.01


def test_word_has_exactly_its_bits():
    with bits.injected(lambda n: b"\xff" * n):
        assert [bits.word(b) for b in (1, 7, 8, 9, 65)] == [2**b - 1 for b in (1, 7, 8, 9, 65)]
    with bits.injected(lambda n: bytes(n)):
        assert bits.word(65) == 0


def test_the_private_door_closes_again():
    before = bits._generator.get()
    with bits.injected(os.urandom):
        assert bits._generator.get() is os.urandom
    with pytest.raises(ZeroDivisionError), bits.injected(lambda n: 1 // 0):
        bits.word(8)
    assert bits._generator.get() is before


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((1, 1, 0, 12, 15), True),
        ((1, 1, 1, 0, 15), False),
        ((1, 1, 1, 3, 15), False),
        ((1, 1, 1, 4, 15), True),
        ((3, 5, 0, 0, 0), True),
    ],
)
def test_openssl_that_repeats_after_fork_is_not_used(version, safe):
    assert bits.fork_safe(version) is safe
    assert bits._choose(None, version) is (ssl.RAND_bytes if safe else os.urandom)
    assert bits._choose("os", version) is os.urandom


def test_operating_system_alone():
    found = subprocess.run(
        [sys.executable, "-c", "from tacit.noise import bits; print(bits._generator.get())"],
        env={**os.environ, "TACIT_RANDOM": "os"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == repr(os.urandom)


def _in_child(draw):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, draw())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forks_draw_different_noise():
    def draw():
        return tn.discrete_laplace(2**60).to_bytes(16, "little", signed=True)

    draw()  # thresholds are cached, and may be; noise must not be
    found = [_in_child(draw) for _ in range(40)] + [draw()]
    assert len(set(found)) == 41

    def bulk():
        return tn.discrete_gaussian(2**40, size=4).tobytes()

    assert len({_in_child(bulk) for _ in range(10)} | {bulk()}) == 11


def test_threads_draw_different_noise():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: tn.discrete_gaussian(2**60), range(400)))
    assert len(set(found)) == 400


def test_nothing_is_kept_between_calls(stream):
    """Each call asks anew: a stream begun again gives the same draw, whatever came before."""
    for draw in (
        lambda: tn.discrete_laplace(25),
        lambda: tn.discrete_gaussian(25, size=7).tolist(),
        lambda: tn.discrete_laplace(5, size=70_000).tolist(),
        lambda: tn.bernoulli("1/3", size=5000).tolist(),
        lambda: tn.uniform(10, size=3).tolist(),
    ):
        with stream(3):
            first = draw()
        draw()
        with stream(3):
            assert draw() == first


def test_there_is_no_seed():
    for draw in (tn.discrete_laplace, tn.discrete_gaussian, tn.geometric, tn.bernoulli, tn.uniform):
        with pytest.raises(TypeError):
            draw(1, seed=1)


@pytest.mark.parametrize("n", [-1, 1.5, "3", None])
def test_bad_number_of_bytes(n):
    with pytest.raises(UsageError):
        bits.random_bytes(n)


# Uniform draws below any bound.


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


# Sums of a discrete Gaussian: smooth ones against those term by term, at any number of bits.


@pytest.mark.few(9)
@pytest.mark.parametrize("square", [400, Fraction(10001, 7), 300**2])
@pytest.mark.parametrize("precision", [30, 64, 150])
def test_smooth_sums_against_term_by_term(square, precision):
    """Euler and Maclaurin's formula agrees with the sum of all terms, to its last bits."""
    subject = tn.DiscreteGaussian(sigma_squared=square)
    with mpmath.workprec(600):
        p, total, _ = brute_force(Fraction(square))
        for k in (-700, -41, -1, 0, 2, 100, 901):
            at_most = [p[abs(x)] for x in range(1 - len(p), min(k + 1, len(p)))]
            exact, slack = exactly(mpmath.fsum(at_most) / total), Fraction(1, 2**280)
            found = subject.cdf(k, precision)
            assert found.lower - slack <= exact <= found.upper + slack
            assert found.width <= Fraction(1, 2 ** (precision - 2))


def test_cumulative_of_huge_sigma_is_normal_to_its_correction():
    subject = tn.DiscreteGaussian(10**12)
    for k in (-3 * 10**12, 10**11, 4 * 10**12):
        with mpmath.workprec(300):
            middle = exactly(mpmath.ncdf((mpmath.mpf(k) + 0.5) / 10**12))
        assert abs(subject.cdf(k).middle - middle) < Fraction(1, 10**19)
    step = subject.cdf(10**12, 160) - subject.cdf(10**12 - 1, 160)
    assert step.lower <= subject.probability(10**12).upper
    assert step.upper >= subject.probability(10**12).lower


def test_many_bits_take_no_long_time_and_too_many_are_refused():
    start = time.process_time()
    fine = gaussian.cumulative(Fraction(400), 60, 1024)
    assert time.process_time() - start < 5  # exponential, were Bernoulli numbers forgotten
    assert fine.width < Fraction(1, 1 << 1000)
    coarse = gaussian.cumulative(Fraction(400), 60, 64)
    assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper
    with pytest.raises(InfeasibleError, match="bits"):
        gaussian.cumulative(Fraction(400), 60, gaussian.MAX_BITS + 1)


# Bernoulli draws: frequencies, certain outcomes, ties, and the bits asked for.


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


# The draw of the exponential mechanism: its law, and that doubles cannot bend it.


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


@pytest.mark.parametrize(("costs", "factor", "weights"), CHOICES)
def test_one_draw_is_the_only_one_of_an_array_of_the_same_bits(stream, costs, factor, weights):
    law = tn.ExponentialChoice(np.array(costs, np.int64), factor, np.array(weights, np.int64))
    for seed in range(30):
        with stream(seed) as alone:
            one = law.draw()
        with stream(seed) as array:
            assert law.draw_many(1).tolist() == [one]
        assert alone.requests == array.requests


def test_groups_prepared_at_once_draw_as_those_prepared_alone_of_the_same_bits(stream):
    """Forty groups, whose edges together go beyond 64 bits."""
    rng = np.random.default_rng(2)
    groups = np.concatenate([[0, 1], np.sort(rng.choice(np.arange(2, 399), 37, replace=False))])
    groups = np.append(groups, 399)  # groups of one candidate at both ends
    for seed in range(30):
        costs, weights = rng.integers(0, 10 ** (seed % 4 + 1), 400), rng.integers(1, 2**40, 400)
        factor = Fraction(1, 7)
        with stream(seed) as together:
            made = list(choices_within(groups, costs, factor, weights))
        with stream(seed) as one_by_one:
            alone = [
                a + tn.ExponentialChoice(costs[a:b], factor, weights[a:b]).draw()
                for a, b in pairwise([*groups.tolist(), 400])
            ]
        assert made == alone
        assert together.requests == one_by_one.requests


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
            sure = float(exponential._surely(law._estimate[i], law._proposals[i]))
            assert mpmath.mpf(sure) * 2**128 <= share
    assert int(law._edges[-1]) < 2**62


def test_every_choice_settled_exactly(stream, fits, monkeypatch):
    law = tn.ExponentialChoice([0, 3, 1, 1], "1/2", [1, 4, 0, 2])
    monkeypatch.setattr(exponential, "_surely", lambda estimates, _: np.zeros_like(estimates))
    with stream(38):
        found = law.draw_many(4000)
    truth = probabilities([0, 3, 1, 1], Fraction(1, 2), [1, 4, 0, 2])
    assert fits(found, lambda k: truth[k], 0, 3) > 1e-3
    costs, weights, first = np.array([0, 3, 1]), np.array([1, 4, 2]), np.zeros(1, np.intp)
    with stream(39):
        grouped = [next(choices_within(first, costs, Fraction(1, 2), weights)) for _ in range(99)]
    with stream(39):
        assert grouped == [tn.ExponentialChoice(costs, "1/2", weights).draw() for _ in range(99)]


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
