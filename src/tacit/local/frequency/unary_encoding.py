"""Unary encoding: one bit for each item, every bit flipped on its own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.items import Items
from tacit.local.base.oracle import PureOracle
from tacit.local.base.parameters import refuse_large
from tacit.local.base.report_layout import Layout
from tacit.local.kernels.bit_counting import count_bits
from tacit.local.kernels.dyadic_probability import (
    coins,
    dyadic_up,
    exp_at_most,
    fineness,
    least_exp,
    probability,
)
from tacit.local.kernels.random_bits import blend_own_bit, random_rows

__all__ = ["UnaryEncoding"]

SLACK_BITS = 13
"""Each bit of q costs a random bit for each item; 13 significant bits lose 2**-12 of epsilon."""

LARGEST = 1 << 20


@public
@dataclass(frozen=True, init=False)
class UnaryEncoding(PureOracle):
    """Send one bit for each item: 1 with probability p for the true item, q for each other one.

    **Privacy.** Two answers differ in two bits, so the greatest ratio is that of the report with
    the one bit set and the other clear: ``p (1 - q) / ((1 - p) q)``, or its inverse when p < q;
    every pair of answers attains it.  **Estimate.** p* = p, q* = q.  The *optimised* form has p =
    1/2, q = 1/(E + 1), E = e**epsilon, and the variance 4E/(E - 1)**2 per report near share 0, the
    least of all p and q; the *symmetric* form has q = 1 - p = 1/(e**(epsilon/2) + 1), and is what
    basic RAPPOR sends.

    Source: T. Wang, J. Blocki, N. Li, S. Jha (2017); U. Erlingsson, V. Pihur, A. Korolova (2014).

    Args:
        domain: at most 2**20 items.
        epsilon: the greatest loss allowed; that of the thresholds is at most 2**-11 below it.
        p, q: or both probabilities; any above 0 and below 1, not equal.
        symmetric: with epsilon, take the symmetric form instead of the optimised one.

    Raises:
        UsageError: neither epsilon nor both p and q, p = q, or too many items.

    Example:
        >>> unary = UnaryEncoding(["a", "b", "c"], p="3/4", q="1/4")
        >>> unary.ratio, unary.variance(100, "1/2"), unary.report_bits
        (Fraction(9, 1), Fraction(75, 1), 3)
        >>> unary.perturb("b").shape
        (1,)
    """

    domain: Items
    p: Fraction
    q: Fraction

    _parameters: ClassVar[tuple[str, ...]] = ("p", "q")

    def __init__(
        self,
        domain: int | Iterable[object] | Items,
        epsilon: Number | None = None,
        p: Number | None = None,
        q: Number | None = None,
        *,
        symmetric: bool = False,
    ) -> None:
        items = Items.of(domain)
        refuse_large(items, LARGEST, "unary encoding", "OptimizedLocalHashing or HadamardResponse")
        if (epsilon is None) == (p is None) or (p is None) != (q is None):
            raise UsageError("give either epsilon or both p and q")
        if epsilon is not None:
            yes, no = _best(epsilon, symmetric)
        else:
            yes, no = probability(p, "p"), probability(q, "q")  # type: ignore[arg-type]
        if yes == no:
            raise UsageError(
                "p = q gives every answer the same distribution of reports: choose different ones"
            )
        for name, value in (("domain", items), ("p", yes), ("q", no)):
            object.__setattr__(self, name, value)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The pair (p, q)."""
        return self.p, self.q

    @property
    def ratio(self) -> Fraction:
        """The ratio p (1 - q) / ((1 - p) q) or its inverse, whichever is above 1."""
        odds = self.p * (1 - self.q) / ((1 - self.p) * self.q)
        return max(odds, 1 / odds)

    @property
    def layout(self) -> Layout:
        """One bit for each item."""
        return Layout("bits", len(self.domain), 2)

    def _draw(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        rows = random_rows(self.q, len(places), len(self.domain))
        blend_own_bit(rows, places, coins(self.p, len(places)))
        return rows

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return count_bits(reports, len(self.domain))

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        """See :meth:`~tacit.local.Oracle.distribution`.

        Args:
            value: one answer, as :meth:`perturb` takes it.
        """
        k, mine = len(self.domain), self.domain.index(value)
        refuse_large(self.domain, 20, "the whole distribution of unary reports", "fewer items")
        set_with = [self.p if i == mine else self.q for i in range(k)]
        return {
            packed(bits): prod(
                (s if b else 1 - s for s, b in zip(set_with, bits, strict=True)), start=Fraction(1)
            )
            for bits in product((0, 1), repeat=k)
        }


def packed(bits: Any) -> tuple[int, ...]:
    """Return the bytes of a row of bits, least significant first.

    >>> packed([1, 1, 0, 0, 0, 0, 0, 0, 1])
    (3, 1)
    """
    row: list[int] = np.packbits(np.array(bits, np.uint8), bitorder="little").tolist()
    return tuple(row)


def _best(epsilon: Number, symmetric: bool) -> tuple[Fraction, Fraction]:
    """Return p and q: q rounded up, which brings them together, in bits enough for epsilon."""
    exp_at_most(epsilon)
    loss = as_fraction(epsilon)
    share = 1 / (least_exp(loss / 2 if symmetric else loss) + 1)
    slack = SLACK_BITS + int(1 / loss).bit_length()
    no = dyadic_up(share, fineness(share, slack))
    return (1 - no if symmetric else Fraction(1, 2)), no
