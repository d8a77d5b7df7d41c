"""Local hashing: each person draws a hash function and reports the noisy hash of the answer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.hashing import bucket, bucket_shares, count_matches
from tacit.local.items import Items
from tacit.local.oracle import Layout, PureOracle, one_of, refuse_large
from tacit.local.random_bits import (
    coins,
    exp_at_most,
    refuse_blind,
    truth_probability,
    uniform_below,
)
from tacit.noise.bits import words32

MAX_BUCKETS = 1 << 12
LARGEST = 1 << 24


@public
@dataclass(frozen=True, init=False)
class LocalHashing(PureOracle):
    """Draw a public random seed, hash the answer into g buckets, report seed and noisy bucket.

    The bucket of the answer is stored with probability p, else one of the g - 1 others is sent.
    **Privacy.** The seed is independent of the answer; given the seed a bucket has probability p
    or (1 - p)/(g - 1), so the ratio is that of direct encoding over g buckets, for every pair of
    answers that the seed distinguishes.  It does not depend on how good the hash is.
    **Estimate.** A report supports the items whose bucket under its seed is the one sent: p* = p,
    and for a pairwise independent hash whose buckets have the shares s_y,
    ``q* = p S + (1 - p)(1 - S)/(g - 1)``, S the sum of their squares: 1/g where g is a power of
    two, else nearly.  Ours (:mod:`tacit.local.hashing`) has those shares exactly, and
    is independent for the two items of a pair; for others that is tested, not proven.

    Source: T. Wang, J. Blocki, N. Li, S. Jha (2017); R. Bassily, A. Smith (2015) for g = 2.

    Args:
        domain: at most 2**24 items.
        epsilon: the greatest loss allowed; or
        p: the probability of the true bucket.
        buckets: g, from 2 to 4,096.
        seed_bits: the size of the seed; fewer than 32 only to list whole distributions.

    Raises:
        UsageError: both or neither of epsilon and p, p = 1/g, sizes out of range.

    Example:
        >>> hashed = LocalHashing(1000, p="1/2", buckets=4)
        >>> hashed.ratio, hashed.report_bits, hashed.support
        (Fraction(3, 1), 34, (Fraction(1, 2), Fraction(1, 4)))
    """

    domain: Items
    p: Fraction
    buckets: int
    seed_bits: int

    def __init__(
        self,
        domain: int | Iterable[object] | Items,
        epsilon: Number | None = None,
        p: Number | None = None,
        buckets: int = 2,
        seed_bits: int = 32,
    ) -> None:
        one_of(epsilon, p)
        items = Items.of(domain)
        refuse_large(items, LARGEST, "local hashing", "CountMeanSketch or PrefixExtending")
        g = as_integer(buckets, "buckets", minimum=2)
        seeds = as_integer(seed_bits, "seed_bits", minimum=1)
        if g > MAX_BUCKETS or seeds > 32:
            raise UsageError("there are at most 4,096 buckets and 32 bits of seed")
        truth = truth_probability(p, epsilon, g - 1)
        refuse_blind(truth, g)
        self._set(domain=items, p=truth, buckets=g, seed_bits=seeds)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The pair (p, q*), where q* is very nearly 1/g."""
        g = self.buckets
        square = sum((share**2 for share in bucket_shares(g)), Fraction(0))
        return self.p, self.p * square + (1 - self.p) * (1 - square) / (g - 1)

    @property
    def ratio(self) -> Fraction:
        """The ratio p (g - 1) / (1 - p) or its inverse, whichever is above 1."""
        odds = self.p * (self.buckets - 1) / (1 - self.p)
        return max(odds, 1 / odds)

    @property
    def layout(self) -> Layout:
        """``seed * buckets + bucket`` in one integer."""
        return Layout("integer", 1, self.buckets << self.seed_bits)

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        n, g = len(indices), self.buckets
        seeds = words32(n) >> np.uint32(32 - self.seed_bits)
        move = np.zeros(n, np.uint32) if g == 2 else uniform_below(g - 1, n)
        move += np.uint32(1)
        move *= (~coins(self.p, n)).view(np.uint8)
        move += bucket(seeds, indices.astype(np.uint32), g)
        np.minimum(move, move - np.uint32(g), out=move)  # below g the difference wraps to more
        reports = seeds.astype(self.layout.dtype)
        reports *= reports.dtype.type(g)
        reports += move.astype(reports.dtype, copy=False)
        return reports

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        seeds, sent = np.divmod(reports, reports.dtype.type(self.buckets))
        return count_matches(
            seeds.astype(np.uint32), sent.astype(np.uint32), self.buckets, len(self.domain)
        )

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        """See :meth:`~tacit.local.Oracle.distribution`: for seeds of at most 16 bits."""
        if self.seed_bits > 16:
            raise UsageError(
                "a distribution over 2**32 seeds is too long to list; ask an oracle made with "
                "seed_bits=8, whose distribution given a seed is the same"
            )
        g, n = self.buckets, 1 << self.seed_bits
        mine = np.full(n, self.domain.index(value), np.uint32)
        own = bucket(np.arange(n, dtype=np.uint32), mine, g).tolist()
        other = (1 - self.p) / (g - 1)
        return {
            seed * g + y: (self.p if y == own[seed] else other) / n
            for seed in range(n)
            for y in range(g)
        }


@public
class OptimizedLocalHashing(LocalHashing):
    """Local hashing into g = round(e**epsilon) + 1 buckets, which has nearly the smallest variance.

    The variance is that of optimised unary encoding, 4E/(E - 1)**2 per report, from 32 + log2(g)
    bits whatever the domain.

    Example:
        >>> hashed = OptimizedLocalHashing(1024, epsilon=1)
        >>> hashed.buckets, hashed.report_bits, round(float(hashed.variance(1)), 3)
        (4, 34, 3.692)
    """

    def __init__(
        self,
        domain: int | Iterable[object] | Items,
        epsilon: Number | None = None,
        p: Number | None = None,
        buckets: int | None = None,
        seed_bits: int = 32,
    ) -> None:
        one_of(epsilon, p)
        if buckets is None:
            if epsilon is None:
                raise UsageError(
                    "with p, say how many buckets; with epsilon the number is computed"
                )
            buckets = min(max(2, round(exp_at_most(epsilon)) + 1), MAX_BUCKETS)
        super().__init__(domain, epsilon, p, buckets, seed_bits)


@public
class BinaryLocalHashing(LocalHashing):
    """Local hashing into two buckets: one random bit of the answer, sent by randomized response.

    Example:
        >>> BinaryLocalHashing(1024, p="3/4").variance(1)
        Fraction(4, 1)
    """

    def __init__(
        self,
        domain: int | Iterable[object] | Items,
        epsilon: Number | None = None,
        p: Number | None = None,
        buckets: int = 2,
        seed_bits: int = 32,
    ) -> None:
        if buckets != 2:
            raise UsageError("binary local hashing has two buckets; use LocalHashing for more")
        super().__init__(domain, epsilon, p, 2, seed_bits)
