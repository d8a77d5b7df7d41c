"""The pair of order statistics that moves most."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacit.statistics.samples import Array, Ranks

# The best pair of ranks: where the local sensitivity of an order statistic comes from.
#
# The padded records ``X_(-1) <= X_0 <= X_1 <= ...`` hold the lower bound at the ranks -1 and 0 and
# the upper bound after the last record; in the arrays, rank ``i`` is at index ``i + 1``, and
# this module uses indices.  Every candidate is a pair of ranks ``i + 2 <= r`` and a kind
# ``g``, with value
#
#     ``c1 (mid - X_i) + c3 (X_r - mid)``,  ``mid = X_(r-1)`` if ``c1 >= c3``, else ``X_(i+1)``,
#
# which never falls in ``r`` and never rises in ``i``, and a number of steps that it takes to bring
# the two ranks together.  A square of ranks ``i1..i2`` by ``r1..r2`` therefore holds no value above
# that of its corner ``(i1, r2)``, and costs at least ``steps.lower_bound`` of it.  Squares that
# cannot beat the best pair seen so far are dropped, the others are cut in four, all of one size at
# a time, until single pairs remain: branch and bound, with numpy doing a whole generation at once.


Indices = npt.NDArray[np.int64]
UNREACHABLE = 2**60  # the steps of a pair that cannot be reached
_DONE = 1 + 2.0**-22
_SMALL, _MIN_BATCH = 1 << 12, 16
_FEW = 1 << 10


class Steps(Protocol):
    """Number of records to change until a pair of ranks becomes the two sides of a gap."""

    def exact(self, kind: Indices, low: Indices, high: Indices) -> Indices:
        """The least steps of each pair, ``UNREACHABLE`` where there are none."""

    def lower_bound(
        self, kind: Indices, i1: Indices, i2: Indices, r1: Indices, r2: Indices
    ) -> Indices:
        """No more than the steps of any pair in each square."""


def between(ranks: Array | Ranks, c1: Indices, c3: Indices, low: Indices, high: Indices) -> Array:
    """The value of pairs of ranks: ``c1 (mid - X_low) + c3 (X_high - mid)``.

    >>> between(np.array([0, 1, 4, 9]), np.array([1]), np.array([2]), np.array([0]), np.array([3]))
    array([17])
    """
    mid = ranks[np.where(c1 >= c3, high - 1, low + 1)]
    return c1 * (mid - ranks[low]) + c3 * (ranks[high] - mid)  # type: ignore[no-any-return]


@dataclass
class _Squares:
    """Squares of pairs: kind, lower ranks ``i1..i2`` and upper ranks ``r1..r2``, all inclusive."""

    kind: Indices
    i1: Indices
    i2: Indices
    r1: Indices
    r2: Indices

    def chosen(self, keep: npt.NDArray[np.bool_]) -> _Squares:
        return _Squares(self.kind[keep], self.i1[keep], self.i2[keep], self.r1[keep], self.r2[keep])

    def single(self) -> npt.NDArray[np.bool_]:
        return np.asarray((self.i1 == self.i2) & (self.r1 == self.r2))

    def quartered(self, edges: _Edges | None) -> _Squares:
        i, r = (self.i1 + self.i2) // 2, (self.r1 + self.r2) // 2
        if edges is not None:
            i = _nearest(edges.lows, i, self.i1, self.i2)
            r = _nearest(edges.highs, r, self.r1, self.r2)
        parts = (
            (self.i1, i, self.r1, r),
            (self.i1, i, r + 1, self.r2),
            (i + 1, self.i2, self.r1, r),
            (i + 1, self.i2, r + 1, self.r2),
        )
        four = _Squares(
            np.tile(self.kind, 4), *(np.concatenate([p[k] for p in parts]) for k in range(4))
        )
        return four.chosen((four.i1 <= four.i2) & (four.r1 <= four.r2))


@dataclass(frozen=True)
class _Edges:
    """Where the value of pairs can change, of ranks that tie: best places to cut squares."""

    # last, first: the last and the first index of every run of equal records
    last: Indices
    first: Indices
    # lows, highs: lower and upper ranks after which the value may be another
    lows: Indices
    highs: Indices

    @classmethod
    def of(cls, ends: Indices) -> _Edges:
        """``mid`` stands next to the upper rank or to the lower one, so cuts come in twos."""
        last, first = ends - 1, np.concatenate(([0], ends[:-1]))
        return cls(
            last, first, np.unique((last - 1, last)), np.unique((first - 1, first, first + 1))
        )


def _nearest(cuts: Indices, middle: Indices, start: Indices, end: Indices) -> Indices:
    """The cut next to the middle, before the end; the middle where there is none."""
    below = cuts[np.maximum(cuts.searchsorted(middle, "right") - 1, 0)]
    above = cuts[np.minimum(cuts.searchsorted(middle), len(cuts) - 1)]
    nearest = np.where(middle - below <= above - middle, below, above)
    nearest = np.where(
        (nearest < start) | (nearest >= end), np.where(nearest == below, above, below), nearest
    )
    return np.where((nearest < start) | (nearest >= end), middle, nearest)


@dataclass(frozen=True)
class RankStaircase:
    """The search over all pairs of ranks."""

    # the padded records, ascending: integers for exact answers, or floats
    ranks: Array | Ranks
    c1: Indices  # the weight below ``mid`` of every kind, integers
    c3: Indices  # the weight above ``mid`` of every kind, integers
    steps: Steps  # what a pair costs
    lows: tuple[int, int]  # the first and last lower rank
    highs: tuple[int, int]  # the first and last upper rank
    kinds: Indices = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", np.flatnonzero(self.c1 + self.c3))

    def value(self, kind: Indices, low: Indices, high: Indices) -> Array:
        """The value of each pair, in units of the ranks."""
        return between(self.ranks, self.c1[kind], self.c3[kind], low, high)

    def within(self, distance: int) -> Any:
        """The largest value of a pair that costs at most ``distance`` steps; 0 if there is none."""
        # In the ranks' own kind of number: exact if those are integers.
        best: Any = 0

        def settle(squares: _Squares) -> _Squares:
            nonlocal best
            squares = squares.chosen(self._lower_bound(squares) <= distance)
            for low, high in self._corners(squares):
                reached = self.steps.exact(squares.kind, low, high) <= distance
                if reached.any():
                    k = squares.kind[reached]
                    best = max(best, self.value(k, low[reached], high[reached]).max())
            return squares.chosen((self._most(squares) > best) & ~squares.single())

        self._search(settle)
        return best

    def nearest(self, bound: int) -> int | None:
        """The least steps of a pair with a value above ``bound``, or None."""
        best = UNREACHABLE

        def settle(squares: _Squares) -> _Squares:
            nonlocal best
            squares = squares.chosen(self._most(squares) > bound)
            for low, high in self._corners(squares):
                above = self.value(squares.kind, low, high) > bound
                if above.any():
                    k = squares.kind[above]
                    best = min(best, int(self.steps.exact(k, low[above], high[above]).min()))
            return squares.chosen((self._lower_bound(squares) < best) & ~squares.single())

        self._search(settle)
        return best if best < UNREACHABLE else None

    def decayed(self, beta: Fraction, start: int, best: float = 0.0) -> float:
        """``max exp(-beta (steps - start)) value``, at most 2.4e-7 above the truth, relatively."""
        # The floats here are good to 2**-43, which the caller adds; ``best`` is a value that is
        # reached elsewhere already.
        rate = float(beta)
        safe = best

        def weighed(value: Array, steps: Indices) -> npt.NDArray[np.float64]:
            late = np.minimum((steps - start) * rate, 690.0)
            return np.asarray(value.astype(np.float64) * np.exp(-late))

        def settle(squares: _Squares) -> _Squares:
            nonlocal best, safe
            minimum = self._lower_bound(squares)
            ceiling = weighed(self._most(squares), np.maximum(minimum, start)) * (
                minimum < UNREACHABLE
            )
            squares, ceiling = squares.chosen(ceiling > best), ceiling[ceiling > best]
            for low, high in self._corners(squares):
                steps = self.steps.exact(squares.kind, low, high)
                value = np.where(steps < UNREACHABLE, self.value(squares.kind, low, high), 0)
                if len(value):
                    best = max(best, float(weighed(value, np.maximum(steps, start)).max()))
            finished = (ceiling <= best * _DONE) | squares.single()
            met = ceiling[finished & ~squares.single()]
            safe = max(safe, float(met.max(initial=0.0)))
            return squares.chosen(~finished)

        self._search(settle)
        return max(best, safe)

    def _search(self, settle: Callable[[_Squares], _Squares]) -> None:
        kinds = self.kinds.astype(np.int64)
        sizes = (last - first + 1 for first, last in (self.lows, self.highs))
        if len(kinds) * math.prod(sizes) <= _FEW:
            settle(self._each_pair(kinds))
            return
        ends = (np.full(len(kinds), end, dtype=np.int64) for end in (*self.lows, *self.highs))
        squares = _Squares(kinds, *ends)
        while len(squares.kind):
            squares = settle(squares)
            squares = squares.quartered(self._edges)
            squares = squares.chosen(squares.r2 - squares.i1 >= 2)

    def _each_pair(self, kinds: Indices) -> _Squares:
        """Squares of one pair each: of few pairs all are looked at once."""
        ranks = (np.arange(first, last + 1) for first, last in (self.lows, self.highs))
        kind, low, high = (axis.ravel() for axis in np.meshgrid(kinds, *ranks, indexing="ij"))
        return _Squares(kind, low, low, high, high).chosen(high - low >= 2)

    def _most(self, s: _Squares) -> Array:
        """The value at the corner with the widest gap: none in the square is larger."""
        return self.value(s.kind, s.i1, s.r2)

    def _lower_bound(self, s: _Squares) -> Indices:
        return self.steps.lower_bound(s.kind, s.i1, s.i2, s.r1, s.r2)

    def _corners(self, s: _Squares) -> list[tuple[Indices, Indices]]:
        """Pairs of each square that stand a chance: the nearest, the widest, and between."""
        # Where records tie, also the widest pair brought as near as its values allow.
        if s.single().all():
            return [(s.i1, s.r2)]
        nearest = np.maximum(s.r1, s.i2 + 2)
        low = np.minimum(s.i2, s.r2 - 2)
        corners = [
            (low, np.minimum(np.maximum(nearest, low + 2), s.r2)),
            (s.i1, s.r2),
            ((s.i1 + low) // 2, np.maximum((s.r1 + s.r2) // 2, (s.i1 + low) // 2 + 2)),
        ]
        edges = self._edges
        if edges is not None:
            inner = np.minimum(edges.last[edges.last.searchsorted(s.i1)], low)
            outer = edges.first[edges.first.searchsorted(s.r2, "right") - 1]
            corners.append((inner, np.maximum(np.maximum(outer, s.r1), inner + 2)))
        return corners

    @cached_property
    def _edges(self) -> _Edges | None:
        """Where runs of equal records end; None where too few tie for it to pay."""
        if isinstance(self.ranks, Ranks):
            ends = self.ranks.ends
        else:
            new = self.ranks[1:] != self.ranks[:-1]
            ends = np.append(np.flatnonzero(new) + 1, len(self.ranks))
        tie = len(ends) < len(self.ranks) - 2
        few = len(self.ranks) < _SMALL or len(ends) * _MIN_BATCH < len(self.ranks)
        return _Edges.of(ends) if tie and few else None


# How much of each rank enters the move of a quantile when a record joins or leaves.
#
# The notation is that of :mod:`tacit.statistics.quantiles`.


def weights(q: Fraction, period: int) -> tuple[Indices, Indices, Fraction]:
    """``c1`` and ``c3`` of every remainder of ``m``, for a low record that joins or leaves."""
    # As integers, with the unit that one of them represents.
    below, above = [], []
    for remainder in range(period):
        m = remainder if remainder >= 2 else remainder + 2 * period
        mine, other = q * (m - 1), q * (m - 2)
        moved = int(mine) > int(other)
        below.append(other % 1 - mine % 1 if moved else 1 - mine % 1)
        above.append(Fraction(0) if moved else other % 1)
    return whole(below, above)


def whole(c1: list[Fraction], c3: list[Fraction]) -> tuple[Indices, Indices, Fraction]:
    """Write weights as whole numbers with no common factor, and their unit."""
    both = [*c1, *c3]
    denominator = math.lcm(*(w.denominator for w in both))
    tops = [w.numerator * (denominator // w.denominator) for w in both]
    common = max(math.gcd(*tops), 1)
    kind = np.int64 if max(tops) // common < 2**62 else object
    made = np.array([top // common for top in tops], dtype=kind)
    return made[: len(c1)], made[len(c1) :], Fraction(common, denominator)
