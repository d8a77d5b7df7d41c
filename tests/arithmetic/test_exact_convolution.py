"""Convolutions of whole numbers, against their definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.arithmetic import exact_convolution
from tacit.arithmetic.exact_convolution import convolution

NUMBERS = st.one_of(st.integers(-9, 9), st.integers(-(2**80), 2**80))


@given(st.lists(NUMBERS, min_size=33, max_size=50), st.lists(NUMBERS, min_size=1, max_size=40))
def test_it_is_the_sum_of_products(left: list[int], right: list[int]) -> None:
    expected = [0] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            expected[i + j] += a * b
    assert convolution(left, right).tolist() == expected


def test_sums_as_large_as_the_primes_allow_are_exact() -> None:
    for size in (64, 100):
        ends = np.full(size, 2**85, dtype=object)
        found = convolution(ends, -ends)
        assert found[size - 1] == -size * 2**170
        assert found[0] == -(2**170)


def test_the_primes_have_roots_of_unity_of_the_longest_order() -> None:
    for prime, generator in exact_convolution.__dict__["_PRIMES"]:
        assert (prime - 1) % exact_convolution.__dict__["_LONGEST"] == 0
        rest, factors, k = prime - 1, set(), 2
        while rest > 1:
            while rest % k == 0:
                factors.add(k)
                rest //= k
            k += 1
        assert all(prime % n for n in range(2, 46_341))
        assert all(pow(generator, (prime - 1) // factor, prime) != 1 for factor in factors)
