"""Subset selection: report a set of items that more likely than not holds the true one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import UsageError
from tacit.exact import Number, as_integer
from tacit.local.checks import one_of, refuse_large
from tacit.local.counting import count_bits
from tacit.local.dyadic import coins, dyadic_down, exp_at_most, finer, probability
from tacit.local.items import Items
from tacit.local.layout import Layout
from tacit.local.oracle import PureOracle
from tacit.local.unary import packed
from tacit.noise.bits import words16

__all__ = ["SubsetSelection"]

LARGEST = 1 << 14


@dataclass(frozen=True, init=False)
class SubsetSelection(PureOracle):
    """Report a set of exactly w items, as a row of bits: no order, so nothing of how it was made.

    The true item is in it with probability p; the rest is a uniform choice from the others.
    **Privacy.** A set has probability p / C(k-1, w-1) under the items that it holds and
    (1 - p) / C(k-1, w) under the others, so the ratio is ``p (k - w) / ((1 - p) w)``.
    **Estimate.** p* = p; another item is in it with
    ``q* = p (w - 1)/(k - 1) + (1 - p) w/(k - 1)``.  With w near k/(E + 1) the variance is the least
    that any mechanism can have for one item, up to a constant near 1.

    **Draw.** Every other item gets 16 random bits, the true one the least or the greatest word, and
    the w least words make the set.  If two words tie at the edge the set has not w members and the
    words are drawn anew; otherwise it is uniform, for the words are exchangeable.

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

    _parameters: ClassVar[tuple[str, ...]] = ("p", "size")

    def __init__(
        self,
        domain: Any,
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
            raise UsageError("with p, say the size of the sets; with epsilon it follows")
        else:
            w = _best_size(k, exp_at_most(epsilon))
        if p is not None:
            inside = probability(p, "p")
        else:
            share = _inside(k, w, exp_at_most(epsilon))  # type: ignore[arg-type]
            inside = dyadic_down(share, finer(share, epsilon))  # type: ignore[arg-type]
        if inside * k == w:
            raise UsageError(f"p = {w}/{k} makes every answer alike: choose another p")
        for name, value in (("domain", items), ("p", inside), ("size", w)):
            object.__setattr__(self, name, value)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The pair (p, q*)."""
        others = len(self.domain) - 1
        return self.p, (self.size - self.p) / others

    @property
    def ratio(self) -> Fraction:
        """P (k - w) / ((1 - p) w) or its inverse, whichever is above 1."""
        odds = self.p * (len(self.domain) - self.size) / ((1 - self.p) * self.size)
        return max(odds, 1 / odds)

    @property
    def layout(self) -> Layout:
        """One bit for each item, w of them set."""
        return Layout("bits", len(self.domain), 2)

    def valid(self, reports: Any) -> NDArray[np.bool_]:
        """See :meth:`~tacit.local.Oracle.valid`: a set has exactly w members."""
        array = self.layout.check(reports)
        valid = self.layout.valid(array)
        valid &= _weight(array.astype(np.uint8)) == self.size
        return valid

    def _draw(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        inside = coins(self.p, len(places))
        rows = self.layout.empty(len(places))
        todo = np.arange(len(places))
        while len(todo):
            drawn = self._try(places[todo], inside[todo])
            right = _weight(drawn) == self.size
            rows[todo[right]] = drawn[right]
            todo = todo[~right]
        return rows

    def _try(self, places: NDArray[np.int64], inside: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Choose the w least of random words, where each own word is the least or the greatest."""
        n, k = len(places), len(self.domain)
        rows = self.layout.empty(n)
        columns = np.arange(k, dtype=np.uint16)
        step = max(1, (1 << 15) // k)
        for start in range(0, n, step):
            part = slice(start, start + step)
            own = columns == places[part, None].astype(np.uint16)
            words = words16(own.size).reshape(own.shape) | own * np.uint16(0xFFFF)
            words &= ~(own * (inside[part, None] * np.uint16(0xFFFF)))
            edge = np.sort(words, axis=1)[:, self.size - 1 : self.size]
            rows[part] = np.packbits(words <= edge, axis=1, bitorder="little")
        return rows

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return count_bits(reports, len(self.domain))

    def distribution(self, value: Any) -> dict[Any, Fraction]:
        """See :meth:`~tacit.local.Oracle.distribution`."""
        refuse_large(self.domain, 20, "the whole distribution of sets", "fewer items")
        k, w, mine = len(self.domain), self.size, self.domain.index(value)
        with_mine, without = self.p / comb(k - 1, w - 1), (1 - self.p) / comb(k - 1, w)
        return {
            packed([i in chosen for i in range(k)]): with_mine if mine in chosen else without
            for chosen in map(set, combinations(range(k), w))
        }


def _weight(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return how many bits of each row are set: by whole words where the width allows."""
    whole = rows.shape[1] % 8 == 0 and rows.flags.c_contiguous
    words = rows.view(np.uint64) if whole else rows
    weight: NDArray[np.int64] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return weight


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
