"""Convolutions of whole numbers, exact for every size."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A convolution is computed modulo several primes, by transforms over each field in place of the
# complex numbers, and put together by the Chinese remainder theorem.  All arithmetic is on whole
# numbers below 2^62, so the result is exact where the product of the primes is more than twice
# the largest value that can occur: (the sum of the sizes of one sequence) times (the largest size
# of the other).

# (p, g): a prime p = c 2^k + 1 below 2^31 with k >= 20, and a generator of its group.
_PRIMES = (
    (2_013_265_921, 31),
    (998_244_353, 3),
    (469_762_049, 3),
    (167_772_161, 3),
    (2_113_929_217, 5),
    (1_811_939_329, 13),
)
_LONGEST = 1 << 20
_FEW = 32  # so short a sequence is multiplied term by term

Residues = NDArray[np.int64]


def convolution(left: Any, right: Any) -> Any:
    """Return the convolution of two sequences of whole numbers, as Python's integers.

    >>> convolution([1, 2, 3], [10, -1]).tolist()
    [10, 19, 28, -3]
    """
    first, second = (np.asarray(each, dtype=object) for each in (left, right))
    length = len(first) + len(second) - 1
    if min(len(first), len(second)) <= _FEW:
        return np.convolve(first, second)
    largest = sum(abs(int(v)) for v in first) * max(abs(int(v)) for v in second)
    used, modulus = 0, 1
    while modulus <= 2 * largest and used < len(_PRIMES):
        modulus *= _PRIMES[used][0]
        used += 1
    wide = 1 << (length - 1).bit_length()
    if modulus <= 2 * largest or wide > _LONGEST:
        return np.convolve(first, second)  # slow, and exact for every size
    whole = np.zeros(length, dtype=object)
    for prime, generator in _PRIMES[:used]:
        one, two = (
            _transform(_residues(each, prime, wide), prime, generator) for each in (first, second)
        )
        product = _inverse(one * two % prime, prime, generator)[:length]
        rest = modulus // prime
        whole += product.astype(object) * (rest * pow(rest, -1, prime))
    whole %= modulus
    return np.where(whole > modulus // 2, whole - modulus, whole)


def _residues(values: Any, prime: int, wide: int) -> Residues:
    residues = np.zeros(wide, dtype=np.int64)
    residues[: len(values)] = (values % prime).astype(np.int64)
    return residues


@lru_cache(maxsize=64)
def _powers(length: int, prime: int, generator: int) -> Residues:
    """Return the powers of a root of unity of an order, up to half of it."""
    root = pow(generator, (prime - 1) // length, prime)
    powers = np.ones(max(length // 2, 1), dtype=np.int64)
    done, step = 1, root
    while done < len(powers):
        powers[done : 2 * done] = powers[:done] * step % prime
        done, step = 2 * done, step * step % prime
    return powers


def _transform(values: Residues, prime: int, generator: int) -> Residues:
    """Return the transform, its places in reversed bits."""
    length = len(values)
    while length > 1:
        pairs = values.reshape(-1, 2, length // 2)
        difference = (pairs[:, 0] - pairs[:, 1]) % prime
        pairs[:, 0] = (pairs[:, 0] + pairs[:, 1]) % prime
        pairs[:, 1] = difference * _powers(length, prime, generator) % prime
        length //= 2
    return values


def _inverse(values: Residues, prime: int, generator: int) -> Residues:
    """Return the values whose transform, its places in reversed bits, is given."""
    length = 2
    while length <= len(values):
        pairs = values.reshape(-1, 2, length // 2)
        powers = _powers(length, prime, generator)
        backwards = np.concatenate([powers[:1], (prime - powers[:0:-1]) % prime])
        odd = pairs[:, 1] * backwards % prime
        pairs[:, 0], pairs[:, 1] = (pairs[:, 0] + odd) % prime, (pairs[:, 0] - odd) % prime
        length *= 2
    return np.asarray(values * pow(len(values), -1, prime) % prime)
