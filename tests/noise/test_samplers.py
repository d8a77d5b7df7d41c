"""The comparison of bits with probabilities, and the table that caches it."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import InfeasibleError
from tacit.noise import bits
from tacit.noise.bernoulli_and_uniform import (
    below,
    certified_floor,
    certified_floors,
    cumulative,
    exponential,
    rational,
)
from tacit.noise.samplers import InversionTable


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
