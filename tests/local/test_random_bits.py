"""Probabilities of whole multiples of 2^-b: rounded to the safe side, and drawn exactly."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.arithmetic.enclosure import exp
from tacit.errors import UsageError
from tacit.local.random_bits import (
    coins,
    dyadic_down,
    dyadic_near,
    dyadic_up,
    exp_at_most,
    fineness,
    least_exp,
    most_exp,
    probability,
    read_loss,
    truth_probability,
    uniform_below,
)
from tacit.noise import bits

SHARES = st.fractions(Fraction(1, 10**9), 1 - Fraction(1, 10**9))


@given(SHARES)
def test_a_probability_is_rounded_to_either_side_by_less_than_a_millionth_of_it(p):
    low, near, high = dyadic_down(p), dyadic_near(p), dyadic_up(p)
    assert 0 < low <= p <= high < 1
    assert low <= near <= high
    assert high - low <= min(p, 1 - p) / 2**19
    for found in (low, near, high):
        assert found.denominator & (found.denominator - 1) == 0
        assert dyadic_down(found) == dyadic_up(found) == found  # one that is dyadic is kept


def test_no_probability_becomes_certain():
    for p in (Fraction(1, 10**40), 1 - Fraction(1, 10**40)):
        for found in (dyadic_down(p), dyadic_near(p), dyadic_up(p)):
            assert 0 < found < 1
    assert fineness(Fraction(1, 10**40)) == 62


@given(st.fractions(Fraction(1, 2**20), 24))
def test_exponentials_are_on_the_safe_side_and_near(loss):
    low, high, truth = least_exp(loss), most_exp(loss), exp(loss, 200)
    assert low <= truth.lower
    assert truth.upper <= high
    assert high - low <= low / 2**80
    assert exp_at_most(loss) == low


@pytest.mark.parametrize("epsilon", [0, -1, "nan", 25, Fraction(1, 2**21), "x", None])
def test_a_loss_that_no_report_has_is_refused(epsilon):
    with pytest.raises(UsageError, match="epsilon"):
        read_loss(epsilon)
    with pytest.raises(UsageError, match="above 0 and below 1"):
        probability(1, "p")


@given(st.fractions(Fraction(1, 1000), 20), st.integers(1, 1000))
def test_the_truth_is_no_likelier_than_epsilon_allows_and_hardly_less(epsilon, others):
    p = truth_probability(None, epsilon, others)
    odds = p * others / (1 - p)
    assert odds <= most_exp(epsilon)
    assert odds >= 1 + (least_exp(epsilon) - 1) * Fraction(999, 1000)


def every_word(width):
    """Serve each word of so many bits once, and then words of ones for ever."""
    words = np.arange(1 << width, dtype=f"<u{width // 8}").tobytes()
    served = [0]

    def feed(n):
        given = words[served[0] : served[0] + n]
        served[0] += n
        return given + bytes([255]) * (n - len(given))

    return bits.injected(feed)


@pytest.mark.parametrize(
    ("p", "width"), [(Fraction(3, 4), 8), (Fraction(77, 256), 8), (Fraction(1, 2**12), 16)]
)
def test_coins_come_up_exactly_as_often_as_they_say(p, width):
    """Fed every word once, a coin is True as often as its numerator says."""
    with every_word(width):
        assert int(coins(p, 1 << width).sum()) == p * (1 << width)


@pytest.mark.parametrize(
    ("k", "width"), [(1, 8), (2, 8), (256, 8), (3, 16), (1000, 16), (4096, 16)]
)
def test_each_number_is_that_of_as_many_words_as_the_others(k, width):
    """Of all words each number has the same share; what is left over is drawn again, as ones."""
    with every_word(width):
        found = uniform_below(k, 1 << width)
    counts = Counter(found.tolist())
    assert set(counts) == set(range(k))
    share, again = divmod(1 << width, k)
    counts[k - 1] -= again
    assert set(counts.values()) == {share}


@pytest.mark.parametrize("k", [5, 1 << 20, (1 << 32) - 5, 1 << 32, (1 << 40) + 1])
def test_uniform_numbers_stay_below_their_bound(k):
    found = uniform_below(k, 2000)
    assert found.dtype in (np.uint32, np.uint64)
    assert int(found.max()) < k
    assert abs(float(found.astype(float).mean()) / k - 0.4999) < 0.05 + 1 / k
