"""Direct encoding and Warner's randomized response."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.items import Items
from tacit.local.oracle import Layout, PureOracle, one_of
from tacit.local.random_bits import coins, count_values, truth_probability, uniform_below


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
        others = len(items) - 1
        truth = truth_probability(p, epsilon, others)
        if truth * (others + 1) == 1:
            raise UsageError(
                f"p = 1/{others + 1} gives every answer the same distribution of reports: choose "
                "another p"
            )
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
