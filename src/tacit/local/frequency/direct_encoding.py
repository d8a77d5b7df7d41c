"""Direct encoding, Warner's randomized response, and subset selection."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.frequency.bit_vectors import packed
from tacit.local.hashing import columns_to_rows, full_column, nested_sets, single_bits
from tacit.local.items import Items
from tacit.local.oracle import Layout, PureOracle, one_of, refuse_large
from tacit.local.random_bits import (
    coins,
    count_bits,
    count_ones,
    count_values,
    dyadic_down,
    exp_at_most,
    finer,
    probability,
    refuse_blind,
    truth_probability,
    uniform_below,
)


@public
@dataclass(frozen=True, init=False)
class DirectEncoding(PureOracle):
    """Report the true item with probability p, else one of the k - 1 others at random.

    **Privacy.** A report has probability p under its own item and q = (1 - p)/(k - 1) under every
    other, so the ratio is p/q or q/p, whichever is above 1, attained by every pair of items.
    **Estimate.** p* = p, q* = q.  At a share near 0 the variance is (k - 2 + E)/(E - 1)**2 per
    report, E = e**epsilon: best for small k.

    Source: P. Kairouz, S. Oh, P. Viswanath, *Extremal mechanisms for local differential privacy*
    (2014).

    Args:
        domain: the items, see :class:`~tacit.local.Items`.
        epsilon: the greatest loss allowed; the loss of the thresholds is at most 2**-19 below it.
        p: or the probability of the truth (to 24 bits where it is not a binary fraction).

    Raises:
        UsageError: both or neither of epsilon and p; an epsilon not in 2**-20..24; p = 1/k, which
            would make the report independent of the answer.

    Example:
        >>> grr = DirectEncoding(["a", "b", "c"], p="1/2")
        >>> grr.ratio, grr.variance(900), grr.report_bits
        (Fraction(2, 1), Fraction(2700, 1), 2)
        >>> estimate = grr.estimate(grr.perturb_many(["a"] * 1000))
        >>> estimate.n, len(estimate.counts)
        (1000, 3)
    """

    domain: Items
    p: Fraction

    def __init__(
        self,
        domain: int | Iterable[object] | Items,
        epsilon: Number | None = None,
        p: Number | None = None,
    ) -> None:
        one_of(epsilon, p)
        items = Items.of(domain)
        truth = truth_probability(p, epsilon, len(items) - 1)
        refuse_blind(truth, len(items))
        self._set(domain=items, p=truth)

    @property
    def q(self) -> Fraction:
        """The probability of each item other than the true one."""
        return (1 - self.p) / (len(self.domain) - 1)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The pair (p, q)."""
        return self.p, self.q

    @property
    def ratio(self) -> Fraction:
        """p/q or q/p, whichever is greater."""
        return max(self.p / self.q, self.q / self.p)

    @property
    def layout(self) -> Layout:
        """The place of an item."""
        return Layout("integer", 1, len(self.domain))

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Move on by 1 + a uniform step below k - 1, except where the truth is kept."""
        k, n = len(self.domain), len(indices)
        truthful = coins(self.p, n)
        if k > 1 << 31:
            moved = (indices + 1 + uniform_below(k - 1, n).astype(np.int64)) % k
            return np.where(truthful, indices, moved).astype(self.layout.dtype)
        step = uniform_below(k - 1, n)
        step += np.uint32(1)
        step *= (~truthful).view(np.uint8)
        step += indices.astype(np.uint32)
        np.minimum(step, step - np.uint32(k), out=step)  # below k the difference wraps to more
        return step.astype(self.layout.dtype, copy=False)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return count_values(reports, len(self.domain))

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        mine = self.domain.index(value)
        return {i: self.p if i == mine else self.q for i in range(len(self.domain))}


GRR = DirectEncoding
"""Generalised randomized response: another name of :class:`DirectEncoding`."""


@public
class RandomizedResponse(DirectEncoding):
    """Report the true one of two answers with probability p, else the other one.

    With two coins (heads: the truth; tails: whatever a second coin says) the truth is reported
    with probability 3/4: that is ``RandomizedResponse(p="3/4")``.

    **Privacy.** The ratio is p/(1 - p), or its inverse: ln 3 for two coins.
    **Estimate.** With Y reports of "yes" the count is ``(Y - n (1 - p)) / (2p - 1)`` and its
    variance ``n p (1 - p) / (2p - 1)**2``, whatever the truth.

    Source: S. Warner, *Randomized response: a survey technique for eliminating evasive answer
    bias*, JASA 60 (1965).

    Args:
        domain: the two answers, by default ``(False, True)``.
        epsilon: the greatest loss allowed; or
        p: the probability of the truth, not 1/2.

    Raises:
        UsageError: not two answers, both or neither of epsilon and p, p = 1/2.

    Example:
        >>> coins = RandomizedResponse(p="3/4")
        >>> coins.ratio, coins.variance(32_561), coins.report_bits
        (Fraction(3, 1), Fraction(97683, 4), 1)
        >>> round(coins.estimate([1] * 40 + [0] * 60)[True])
        30
    """

    def __init__(
        self,
        domain: Iterable[object] | Items = (False, True),
        epsilon: Number | None = None,
        p: Number | None = None,
    ) -> None:
        super().__init__(domain, epsilon, p)
        if len(self.domain) != 2:
            raise UsageError(
                f"randomized response is for two answers, not {len(self.domain)}; "
                "use DirectEncoding for more"
            )


LARGEST = 1 << 14


@public
@dataclass(frozen=True, init=False)
class SubsetSelection(PureOracle):
    """Report a set of exactly w items, as a row of bits: no order, so nothing of how it was made.

    The true item is in it with probability p; the rest is a uniform choice from the others.
    **Privacy.** A set has probability p / C(k-1, w-1) under the items that it holds and
    (1 - p) / C(k-1, w) under the others, so the ratio is ``p (k - w) / ((1 - p) w)``.
    **Estimate.** p* = p; another item is in it with
    ``q* = p (w - 1)/(k - 1) + (1 - p) w/(k - 1)``.  With w near k/(E + 1) the variance is the least
    that any mechanism can have for one item, up to a constant near 1.

    **Draw.** Of k - 1 items, all but the last, w - 1 are drawn as a uniform set, and one more that
    is uniform among the rest (:mod:`tacit.local.hashing`); then the last item takes
    the position of the true one, a renaming, so that both are of the items that are not true.  The
    report is the set with the true item or, with probability 1 - p, with the one more: uniform
    among the sets of w that hold the true item, or among those that do not.  The bits that are
    asked for, and all work, are the same whatever the answer and the coin; their number is
    independent of the set, so report and time together have the ratio of the report.

    Source: M. Ye, A. Barg, *Optimal schemes for discrete distribution estimation under locally
    differential privacy* (2018); S. Wang et al., *Mutual information optimally local private
    discrete distribution estimation* (2016).

    Args:
        domain: at most 16,384 items.
        epsilon: the greatest loss allowed; or
        p: the probability that the true item is in the set.
        size: w, from 1 to k - 1; by default the one of least variance for epsilon.

    Raises:
        UsageError: both or neither of epsilon and p, p without size, p = w/k.

    Example:
        >>> subset = SubsetSelection(5, p="3/4", size=2)
        >>> subset.ratio, subset.support
        (Fraction(9, 2), (Fraction(3, 4), Fraction(5, 16)))
        >>> int(np.bitwise_count(subset.perturb(3)).sum())
        2
    """

    domain: Items
    p: Fraction
    size: int

    def __init__(
        self,
        domain: int | Iterable[object] | Items,
        epsilon: Number | None = None,
        p: Number | None = None,
        size: int | None = None,
    ) -> None:
        one_of(epsilon, p)
        items = Items.of(domain)
        refuse_large(items, LARGEST, "subset selection", "OptimizedLocalHashing")
        k = len(items)
        if size is not None:
            w = as_integer(size, "size", minimum=1)
            if w >= k:
                raise UsageError(f"a set of {w} of {k} items hides nothing or all: choose less")
        elif epsilon is None:
            raise UsageError("with p, say the size of the sets; with epsilon it is computed")
        else:
            w = _best_size(k, exp_at_most(epsilon))
        if p is not None:
            inside = probability(p, "p")
        else:
            share = _inside(k, w, exp_at_most(epsilon))  # type: ignore[arg-type]
            inside = dyadic_down(share, finer(share, epsilon))  # type: ignore[arg-type]
        refuse_blind(inside, k, w)
        self._set(domain=items, p=inside, size=w)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The pair (p, q*)."""
        others = len(self.domain) - 1
        return self.p, (self.size - self.p) / others

    @property
    def ratio(self) -> Fraction:
        """The ratio p (k - w) / ((1 - p) w) or its inverse, whichever is above 1."""
        odds = self.p * (len(self.domain) - self.size) / ((1 - self.p) * self.size)
        return max(odds, 1 / odds)

    @property
    def layout(self) -> Layout:
        """One bit for each item, w of them set."""
        return Layout("bits", len(self.domain), 2)

    def valid(self, reports: object) -> NDArray[np.bool_]:
        """See :meth:`~tacit.local.Oracle.valid`: a set has exactly w members."""
        array = self.layout.check(reports)
        valid = self.layout.valid(array)
        valid &= count_ones(array.astype(np.uint8, copy=False)) == self.size
        return valid

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        k, n = len(self.domain), len(indices)
        others = full_column(k)
        others[-1] ^= _bit(k - 1)
        rows, other = nested_sets(np.repeat(others[:, None], n, axis=1), self.size)
        own = single_bits(indices, k)
        for columns in (rows, other):
            hit = columns & own
            columns ^= hit
            columns[-1] |= hit.any(axis=0) * _bit(k - 1)
        inside = np.negative(coins(self.p, n).astype(np.uint64))
        rows |= (own & inside) | (other & ~inside)
        return columns_to_rows(rows, k)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return count_bits(reports, len(self.domain))

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        refuse_large(self.domain, 20, "the whole distribution of sets", "fewer items")
        k, w, mine = len(self.domain), self.size, self.domain.index(value)
        with_mine, without = self.p / comb(k - 1, w - 1), (1 - self.p) / comb(k - 1, w)
        return {
            packed([i in chosen for i in range(k)]): with_mine if mine in chosen else without
            for chosen in map(set, combinations(range(k), w))
        }


def _bit(index: int) -> np.uint64:
    """Return the bit of a place within its word."""
    return np.uint64(1 << index % 64)


def _inside(k: int, w: int, e: Fraction) -> Fraction:
    return w * e / (w * e + k - w)


def _best_size(k: int, e: Fraction) -> int:
    """Return the w of least variance near share 0, beside the real optimum k/(E + 1)."""
    near = int(k / (e + 1))
    return min((w for w in (near, near + 1) if 1 <= w < k), key=lambda w: _variance(k, w, e))


def _variance(k: int, w: int, e: Fraction) -> Fraction:
    own = _inside(k, w, e)
    other = (w - own) / (k - 1)
    return other * (1 - other) / (own - other) ** 2
