"""Means, trimmed and winsorized means."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import as_fraction, float_up, show
from tacit.errors import UsageError
from tacit.statistics.domains import ExtremeRecords, Ranked, Records, pool_of
from tacit.statistics.question import Question, Relation
from tacit.statistics.rank_pairs import Indices, RankStaircase
from tacit.statistics.result import Sensitivity
from tacit.statistics.samples import Array, ClampedRecords, Ranks, Sample, Sums
from tacit.statistics.statistic import AtDistance, Monotone, PublicRange, Statistic, decayed

# Local sensitivity of the mean at a distance, exact.
#
# Below, ``L = 0`` (shift the data), ``P_k`` is the sum of the ``k`` smallest records (0 for ``k <=
# 0``), and only rises of the mean are spelled out: the mirror image serves the falls.
#
# **Substitution.**  The sum's, over ``n``.
#
# **Add or remove.**  A record ``e`` that joins a set ``S`` of ``s`` records moves the mean by ``(e
# - mean(S)) / (s + 1)``.  ``S`` is ``x`` without ``d`` records and with ``a`` others: a rise is
# largest if the ``d`` largest left and the others are ``0``, with ``k = n - d`` and ``s = k + a``:
#
#     ``rise = (e s - P_k) / (s (s + 1))``.
#
# Either ``e = U`` joins ``S``, which is at distance ``d + a``; or ``e`` is a record of ``x``, the
# largest, and leaves ``S + e``, which is at distance ``d + a - 1`` and has ``d >= 1`` (any other
# record gives a smaller rise).  Within ``r`` steps ``d + a = n + s - 2 k <= r``, and ``P`` never
# falls in ``k``: for a given ``s`` the smallest ``k`` is best, ``(s + n - r) / 2`` rounded up, and
# ``s`` runs from ``n - r`` to ``n + r - 2 d``, ``d`` being the fewest that may have left.
#
# Among the ``s`` of one parity ``k`` is linear in ``s``, and ``P`` is convex, because records
# ascend: ``e s - P_k`` is concave, and never negative.  So wherever it is at least ``c s (s + 1)``,
# for a ``c >= 0``, is one stretch of ``s``: the rise has one top, towards which it never falls.
# (Two neighbours that are level are the top, or both 0 behind it: a concave function meets a
# strictly convex one twice.)  Hence halving finds it, and ``A(t)`` takes the logarithm of ``n``
# looks at running sums.  It ends at half the range, for ``s = 1``, at ``t = n + 1``.
#
# **Add.**  ``d = 0`` and ``e = U``.  **Remove.**  ``a = 0``, ``e`` is the largest record, and ``t =
# d
# - 1``.  Here ``k`` is ``n`` or ``s``, and the same argument holds.


class MeanAtDistance(AtDistance):
    """``A(t)`` of the mean under any relation.

    >>> a = MeanAtDistance(ClampedRecords([2, 4], 0, 8), "unbounded")
    >>> [str(a.at(t)) for t in range(4)]
    ['5/3', '3', '3', '4']
    """

    def __init__(self, data: ClampedRecords, relation: Relation) -> None:
        n = len(data)
        self.relation = relation
        self.last = {"bounded": 1, "unbounded": n + 1, "add": n, "remove": max(n - 2, 0)}[relation]
        self.data = data
        self._sides = _Rises(data), _Rises(data.mirrored())

    def at(self, distance: int) -> Fraction:
        """``A(distance)``, exact."""
        t = min(distance, self.last)
        if self.relation == "bounded":
            low, high = self.data.bounds
            near = max(high - self.data.minimum, self.data.maximum - low)
            return (high - low if t else near) / len(self.data)
        return max(s.best(t, self.relation) for s in self._sides) * self.data.grain


class _Rises:
    """Return the largest rise of the mean, in units of the grid."""

    def __init__(self, data: ClampedRecords) -> None:
        self.data = data
        self.n = len(data)
        self.span = data.upper - data.lower

    @cached_property
    def largest(self) -> int:
        return int(self.data.runs[0][-1]) - self.data.lower

    @cached_property
    def sums(self) -> Sums:
        values, ends = self.data.runs
        return Sums(values - self.data.lower, ends)

    def best(self, t: int, relation: Relation) -> Fraction:
        return max((line.top() for line in self._lines(t, relation)), default=Fraction(0))

    def _lines(self, t: int, relation: Relation) -> Iterator[_Line]:
        """The sets that can be reached, by the record that joins or leaves them."""
        n = self.n
        if relation == "add":
            yield _Line(self.sums, self.span, n, n + t, 1, lambda s: n)
        elif relation == "remove":
            yield _Line(self.sums, self.largest, max(1, n - t - 1), n - 1, 1, lambda s: s)
        else:
            yield from self._freely(self.span, 0, t)
            yield from self._freely(self.largest, 1, t + 1)

    def _freely(self, e: int, fewest: int, steps: int) -> Iterator[_Line]:
        less = self.n - steps
        first, last = max(1, less), self.n + steps - 2 * fewest
        for start in (first, first + 1):
            yield _Line(self.sums, e, start, last, 2, lambda s: max(0, (s + less + 1) // 2))


@dataclass(frozen=True)
class _Line:
    """The sizes ``first, first + stride, .. last`` of ``S``, and how many records it keeps."""

    sums: Sums
    e: int
    first: int
    last: int
    stride: int
    retained: Callable[[int], int]

    def top(self) -> Fraction:
        """The largest ``(e s - P) / (s (s + 1))``, which rises to one top and falls behind it."""
        maximum = (self.last - self.first) // self.stride
        if maximum < 0:
            return Fraction(0)
        return Fraction(*self._rise(bisect_left(range(maximum), True, key=self._falls)))

    def _falls(self, position: int) -> bool:
        (a, below), (b, above) = self._rise(position), self._rise(position + 1)
        return a * above >= b * below

    def _rise(self, position: int) -> tuple[int, int]:
        s = self.first + position * self.stride
        return self.e * s - self.sums(self.retained(s)), s * (s + 1)


@dataclass(frozen=True)
class Mean(Monotone, proven=True):
    """The arithmetic mean.

    The argument of :mod:`tacit.statistics.statistic` applies: at a fixed size every
    rank weighs ``1/n``, and dropping the smallest record leaves records whose mean is not smaller.
    In ``g(T)`` the ranks below both weigh ``-1/low``, those above both ``1/high``, and those in
    between ``1/high - 1/low``, so the negative weights do stand below the positive ones.  Hence

    * known population, ``k`` added to ``n`` (``m = n + k``, ``s = n``) or removed from it (``m =
      n``, ``s = n - k``): ``(k/m) (mean of the top k - mean of the bottom s)`` or its mirror
      image; ``k`` substituted: ``(sum of the top k - sum of the bottom k) / n``;
    * values from ``L`` to ``U`` in any number: ``(k/m) (U - L)``, and ``k (U - L) / n``;
    * of any size, ``k`` added: ``f(S) - f(T) = (k/m) (mean of S - mean of the others)``, where both
      factors are largest at one record in ``S``.

    >>> from tacit.statistics import Interval, sensitivity
    >>> sensitivity("mean", over=Interval(0, 100, size=50), relation="bounded").value
    Fraction(2, 1)
    """

    name = "mean"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """Within the bounds, the middle for no records.

        A record that comes to n others moves it by ``|v - mean| / (n + 1)``, at most half the span;
        the first one moves it from the middle, by no more.  A change moves it by ``span / n``.
        """
        span = upper - lower
        maximum = span if relation == "bounded" else span / 2
        return PublicRange(maximum, (lower, upper), (lower + upper) / 2)

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance:
        return MeanAtDistance(data, relation)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        return np.asarray(np.mean(rows, axis=1), dtype=np.float64)

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        return Fraction(sum(values)) / len(values)

    def of(self, sample: Sample) -> Fraction:
        return sample.total() / len(sample)

    def split(self, low: int, high: int, total: int) -> int:
        """The ranks that only the lower release holds, and the shared ones if they weigh less."""
        return total - high if high <= low else low

    def on(self, data: Ranked, start: int, size: int) -> Fraction:
        return data.sum(start, start + size) / size

    def gap(self, union: ExtremeRecords, low: int, high: int) -> Fraction:
        total = len(union)
        below = union.sum(0, total - high)
        above = union.sum(low, total)
        shared = union.sum(total - high, low) if low != high else Fraction(0)
        return (shared + above) / high - (below + shared) / low

    def rough_gap(self, union: ExtremeRecords, low: int, high: int) -> float:
        total = len(union)
        below = union.rough_sum(0, total - high)
        above = union.rough_sum(low, total)
        shared = union.rough_sum(total - high, low) if low != high else 0.0
        return above / high - below / low + shared * ((low - high) / (low * high))


# Local sensitivity of the trimmed mean at a distance, by substitution: exact.
#
# With ``m`` records left out at either end, ``w = n - 2 m`` remain.  Replacing ``b`` by ``e``
# next to ``C`` (of ``n - 1`` records) is worst with ``b`` low and ``e`` high, and then the records
# retained are ``c_m .. c_(n-1-m)`` before and ``c_(m+1) .. c_(n-m)`` after: the mean rises by
# ``(c_(n-m) - c_m) / w``.  Of the records between these two, ``w - 1`` belong to ``C``, and at most
# ``t`` more records of ``x`` are lacking (the argument of
# :mod:`tacit.statistics.quantiles`), so both lie in some ``[x_i, x_(i+w+t)]``,
# and
#
#     ``A(t) = max (x_(i+w+t) - x_i) / w`` over ``m + 1 - (t + 1) <= i <= m + 1``,
#
# with ``x_i = L`` below and ``U`` above (Bun and Steinke 2019, *Average-case averages*, NeurIPS).


class TrimmedAtDistance(AtDistance):
    """``A(t)`` of the trimmed mean under ``bounded``.

    >>> a = TrimmedAtDistance(ClampedRecords([1, 2, 4, 7, 9], 0, 10), 1)
    >>> [str(a.at(t)) for t in range(3)]
    ['7/3', '8/3', '3']
    """

    def __init__(self, data: ClampedRecords, left_out: int) -> None:
        self.data, self.left_out = data, left_out
        self.last = len(data)
        self.retained = len(data) - 2 * left_out

    def at(self, distance: int) -> Fraction:
        """``A(distance)``, exact."""
        t = min(distance, self.last)
        return int(self._search(exact=True).within(t)) * self.data.grain / self.retained

    def instability(self, bound: Fraction) -> int | None:
        """The least ``t`` with ``A(t) > bound``: the cheapest pair of ranks with such a value."""
        return self._search(exact=True).nearest(int(bound * self.retained / self.data.grain))

    def instabilities(self, bounds: Sequence[Fraction]) -> list[int | None]:
        """:meth:`instability` of each bound: it is found at once, and needs no search."""
        return [self.instability(bound) for bound in bounds]

    def smooth(self, beta: Fraction) -> float:
        """``max_t exp(-beta t) A(t)``, over all pairs of ranks at once."""
        search = self._search(exact=False)
        start = search.nearest(0)
        if start is None:
            return 0.0
        bound = Fraction(search.decayed(beta, start)) * self.data.quick[1] / self.retained
        return decayed(float_up(bound), beta, start)

    def _search(self, *, exact: bool) -> RankStaircase:
        return self._exact if exact else self._quick

    @cached_property
    def _exact(self) -> RankStaircase:
        return self._pairs(self.data.padded)

    @cached_property
    def _quick(self) -> RankStaircase:
        return self._pairs(self.data.quick[0])

    def _pairs(self, ranks: Array | Ranks) -> RankStaircase:
        """The pair ``(i, r)`` stands for ``x_(r-1) - x_i``; indices are ranks plus one."""
        one, none = np.array([1]), np.array([0])
        m, n = self.left_out, len(self.data)
        steps = _Wider(self.retained)
        return RankStaircase(ranks, one, none, steps, (0, m + 2), (n - m + 2, n + 3))


class _Wider:
    """``t`` more records than the ``w - 1`` between ``i`` and ``r - 1``."""

    def __init__(self, retained: int) -> None:
        self.retained = retained

    def exact(self, kind: Indices, low: Indices, high: Indices) -> Indices:
        return np.asarray(np.maximum(high - low - 1 - self.retained, 0))

    def lower_bound(
        self, kind: Indices, i1: Indices, i2: Indices, r1: Indices, r2: Indices
    ) -> Indices:
        return np.asarray(np.maximum(r1 - i2 - 1 - self.retained, 0))


# Means of ranks: their global sensitivity over values that repeat without limit.
#
# Let f be, at each size, a weighted sum of the ranks with weights that are not negative and add up
# to 1.  Take neighbours that differ by r records on one side and a on the other, and let T be their
# union.  As in :mod:`tacit.statistics.statistic`, the ``low`` smallest and the ``high`` largest
# records of T are neighbours by the same move, and no nearer in value.  What is left to maximise,
#
#     g(T) = f(the ``high`` largest of T) - f(the ``low`` smallest of T),
#
# is linear in the ranks ``t_1 <= .. <= t_m`` of T in ``[L, U]``.  The vertices of these are the T
# of c records at L and the others at U, and at one of them g is largest: there f of a set is L and
# ``U - L`` times the weight of its ranks at U.  So the sensitivity is the largest of ``m + 1``
# numbers for each move; all moves are looked at, as nothing is assumed from one size to the next.


@dataclass(frozen=True)
class _MeanOfRanks(Statistic):
    """A weighted mean of the ranks, in which a share of them at either end is treated apart."""

    # the share to leave out or to move at either end, from 0 (the mean) to below a half
    share: Fraction = Fraction(1, 10)

    marks = "line"

    def __post_init__(self) -> None:
        number = as_fraction(self.share, "share")
        if not 0 <= number < Fraction(1, 2):
            raise UsageError(f"share must be from 0 to below 1/2, not {show(number)}")
        object.__setattr__(self, "share", number)

    def left_out(self, size: int) -> int:
        """Number of records at either end that are left out or moved."""
        return int(self.share * size)

    @abstractmethod
    def above(self, size: int, ranks: Indices) -> tuple[Indices, int]:
        """The weight of the ranks from each given one on (0 is the smallest), over a divisor."""

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """A mean of records: within the bounds, the middle for no records."""
        return PublicRange(upper - lower, (lower, upper), (lower + upper) / 2)

    def answer(self, question: Question) -> Sensitivity | None:
        """The exact sensitivity of one size, over values that repeat without limit."""
        if question.at is not None or question.size is None:
            return None
        if isinstance(question.domain, Records):
            return None
        n, gain, evaluations, starts_low = question.size, Fraction(0), 0, True
        best = 0, n, n, n  # how many of the union are at L, its size, and those of x and y
        for removed, added in question.moves(n):
            other, total = n - removed + added, n + added
            at_low = np.arange(total + 1)
            for x_is_low in (True, False):
                low, high = (n, other) if x_is_low else (other, n)
                top, over = self.above(high, at_low - (total - high))
                bottom, under = self.above(low, at_low)
                gained = top.astype(object) * under - bottom.astype(object) * over
                c, evaluations = int(gained.argmax()), evaluations + total + 1
                if Fraction(int(gained[c]), over * under) > gain:
                    gain = Fraction(int(gained[c]), over * under)
                    best = c, total, low, high
                    starts_low = x_is_low
        pool = pool_of(question.domain)

        def witness() -> tuple[Sample, Sample]:
            c, total, low, high = best
            union = ExtremeRecords(pool, c, total)
            pair = union.sample(0, low), union.sample(total - high, total)
            return pair if starts_low else (pair[1], pair[0])

        return Sensitivity(
            gain * (question.domain.upper - question.domain.lower),
            "closed form",
            statistic=self,
            question=question,
            witness=witness,
            evaluations=max(evaluations, 1),
        )


# The trimmed mean: the mean of what is left without a share of the records at either end, and the
# winsorized mean, in which these count as the nearest that is left.


@dataclass(frozen=True)
class TrimmedMean(_MeanOfRanks, proven=True):
    """The mean of the sorted records without the ``floor(share n)`` smallest and as many largest.

    The ranks that are left weigh the same, so the argument for means of ranks applies.

    >>> TrimmedMean("1/4")([1, 2, 4, 100])
    3.0
    """

    @property
    def name(self) -> str:
        return f"trimmed_mean({float(self.share):.12g})"

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance | None:
        """``A(t)`` by substitution, exact; none where records join or leave."""
        if relation != "bounded":
            return None  # the number left out jumps with the size
        return TrimmedAtDistance(data, self.left_out(len(data)))

    def above(self, size: int, ranks: Indices) -> tuple[Indices, int]:
        """The ranks that are left weigh the same."""
        cut = self.left_out(size)
        return np.clip(size - cut - ranks, 0, size - 2 * cut), size - 2 * cut

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        size = rows.shape[1]
        cut = self.left_out(size)
        return np.asarray(np.sort(rows, axis=1)[:, cut : size - cut].mean(axis=1), dtype=np.float64)

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        cut = self.left_out(len(values))
        retained = values[cut : len(values) - cut]
        return sum(retained, Fraction(0)) / len(retained)


@dataclass(frozen=True)
class WinsorizedMean(_MeanOfRanks, proven=True):
    """The mean with the ``floor(share n)`` smallest records, and as many largest, moved inwards.

    Each counts as the nearest record that is not among them, whose rank weighs for it: the argument
    for means of ranks applies.  Substituting one of n records moves
    it by up to ``(floor(share n) + 1) / n`` of the span, where a mean moves by ``1 / n``.

    >>> WinsorizedMean("1/4")([1, 2, 4, 100])
    3.0
    """

    @property
    def name(self) -> str:
        return f"winsorized_mean({float(self.share):.12g})"

    def above(self, size: int, ranks: Indices) -> tuple[Indices, int]:
        """The outermost ranks that are left weigh for those beyond, too."""
        cut = self.left_out(size)
        inside = np.where(ranks <= cut, size, size - ranks)
        return np.where(ranks > size - 1 - cut, 0, inside), size

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        size = rows.shape[1]
        cut = self.left_out(size)
        ordered = np.sort(rows, axis=1)
        ends = ordered[:, [cut]], ordered[:, [size - 1 - cut]]
        return np.asarray(np.clip(ordered, *ends).mean(axis=1), dtype=np.float64)

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The exact winsorized mean of ascending values."""
        size = len(values)
        cut = self.left_out(size)
        kept = values[cut : size - cut]
        return (sum(kept, Fraction(0)) + cut * (kept[0] + kept[-1])) / size
