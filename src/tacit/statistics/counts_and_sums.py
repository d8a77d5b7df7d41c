"""Counts, sums and histograms."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.statistics.domains import Interval, Pool, Population, Records, pool_of
from tacit.statistics.question import Question, Relation
from tacit.statistics.result import Sensitivity, extreme_pair
from tacit.statistics.samples import Array, ClampedRecords, Sample, merge
from tacit.statistics.statistic import AtDistance, PointsAtDistance, PublicRange, Statistic

# Local sensitivity of counts, histograms and sums at a distance, exact.
#
# **Count.**  One record more or less is one; a substitution changes nothing.
#
# **Histogram**, in the L1 norm.  A record that joins or leaves changes one count by one.  One that
# is substituted moves from its bin to any other: two counts change by one, if the bounds reach two
# bins.
#
# **Sum, substitution.**  The record ``v`` that moves changes the sum by at most ``max(U - v, v -
# L)``, and the smallest or the largest record is worst.  After one substitution there can be a
# record at ``L``, which can then go to ``U``: ``A(t) = U - L`` for ``t >= 1``.
#
# **Sum, add or remove.**  A record that joins or leaves changes the sum on its own: at most
# ``max(|L|,
# |U|)``, attained by one that joins.  Where records only leave, by the largest magnitude in the
# data:
# other records leaving first add nothing.  The last record may leave: all three have a value on no
# records.


def _from(values: list[Fraction]) -> PointsAtDistance:
    unit = Fraction(1, math.lcm(*(v.denominator for v in values)))
    integers = np.array([int(v / unit) for v in values], dtype=object)
    return PointsAtDistance(np.arange(len(values)), integers, unit)


@dataclass(frozen=True)
class Count(Statistic):
    """The number of records.

    A move ``(r, a)`` changes it by ``a - r``: the sensitivity is the largest ``|a - r|`` among the
    moves that the domain can make, which a move in one direction attains, and 0 under ``bounded``,
    where the size is public.

    >>> from tacit.statistics import Records, sensitivity
    >>> sensitivity("count", over=Records([1, 2, 3, 10, 11], size=3), distance=2).value
    Fraction(2, 1)
    """

    name = "count"
    min_size = 0

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """It moves by at most 1 (by none where the size is public), and is 0 of no records."""
        return PublicRange(Fraction(1), None, Fraction(0))

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance:
        return _from([Fraction(relation != "bounded")])

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        return np.full(len(rows), float(rows.shape[1]))

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        return Fraction(len(values))

    def of(self, sample: Sample) -> Fraction:
        return Fraction(len(sample))

    def answer(self, question: Question) -> Sensitivity:
        """``max |a - r|`` over the feasible moves."""
        size, removed, added = max(
            self._candidates(question), key=lambda move: abs(move[2] - move[1])
        )
        return Sensitivity(
            Fraction(abs(added - removed)),
            "closed form",
            statistic=self,
            question=question,
            witness=lambda: extreme_pair(question, size, removed, added),
        )

    @staticmethod
    def _candidates(question: Question) -> list[tuple[int, int, int]]:
        """Moves in one direction, as far as they go, as ``(size, removed, added)``."""
        k, population = question.distance, question.population
        candidates = []
        if question.relation != "bounded":
            small = question.size or 0
            large = question.size or (k if population is None else min(k, population))
            gain, loss = min(k, question.max_added(small)), min(k, large)
            if question.relation != "remove" and (question.within or gain == k):
                candidates.append((small, 0, int(gain)))
            if question.relation != "add" and (question.within or loss == k):
                candidates.append((large, loss, 0))
        return candidates or [(question.size or 1, 0, 0)]


class _SumMove(NamedTuple):
    gain: Fraction
    size: int
    removed: int
    added: int
    up: bool


@dataclass(frozen=True)
class Sum(Statistic):
    """The sum of the records.

    A move ``(r, a)`` raises the sum by the sum of what is added less the sum of what is removed.
    What is added is best the ``a`` largest records there are, what is removed the ``r`` smallest:
    the two groups are disjoint because ``r + a`` records exist outside each other (``r <= n``, ``a
    <= N - n``). So the largest rise is ``top(a) - bottom(r)``, the largest fall ``top(r) -
    bottom(a)``.

    Both ``top`` and ``-bottom`` are concave in how many are taken, so for each ``r`` the best
    ``a`` within its limits is the number of positive records on top, clipped to the limits:
    ``O(k)`` moves in all.  Exactly ``k`` in one direction comes down to ``max(|top(k)|,
    |bottom(k)|)``, ``k`` substituted to ``top(k) - bottom(k)``; values from ``L`` to ``U`` in any
    number to ``k max(|L|, |U|)`` and ``k (U - L)``.

    >>> from tacit.statistics import Interval, Records, sensitivity
    >>> sensitivity("sum", over=Records([-9, 1, 2, 5], size=2), distance=2).value
    Fraction(14, 1)
    >>> sensitivity("sum", over=Interval(-3, 2), distance=4).value
    Fraction(12, 1)
    """

    name = "sum"
    min_size = 0

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """One record adds, or takes, at most the bound farther from zero; a change, the span."""
        maximum = upper - lower if relation == "bounded" else max(abs(lower), abs(upper))
        return PublicRange(maximum, None, Fraction(0))

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance:
        low, high = data.bounds
        if relation == "bounded":
            return _from([max(high - data.minimum, data.maximum - low), high - low])
        if relation == "remove":
            return _from([max(abs(data.minimum), abs(data.maximum))])
        return _from([max(-low, high)])

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        return np.asarray(np.sum(rows, axis=1), dtype=np.float64)

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        return Fraction(sum(values))

    def of(self, sample: Sample) -> Fraction:
        return sample.total()

    def answer(self, question: Question) -> Sensitivity:
        pool = pool_of(question.domain)
        leaving: Pool = pool
        if question.at is not None:
            leaving = Population(question.at)
            if isinstance(question.domain, Records):
                pool = Population(question.rest)
        moves = [m for up in (True, False) for m in _moves(question, pool, leaving, up)]
        stay = _SumMove(Fraction(0), question.size or 1, 0, 0, up=True)
        best = max(moves, key=lambda move: move.gain, default=stay)
        return Sensitivity(
            best.gain,
            "closed form",
            statistic=self,
            question=question,
            witness=lambda: extreme_pair(question, best.size, best.removed, best.added, up=best.up),
            evaluations=max(len(moves), 1),
        )


def _moves(question: Question, coming: Pool, leaving: Pool, up: bool) -> Iterator[_SumMove]:
    """For every number of removals, the number of additions that moves the sum most."""
    spans = list(_spans(question))
    gain = _running(coming, max((s[3] for s in spans), default=0), from_top=up, up=up)
    loss = _running(leaving, max((s[1] for s in spans), default=0), from_top=not up, up=up)
    best = max(range(len(gain)), key=gain.__getitem__)  # concave: clipping it stays best
    for size, removed, minimum, maximum in spans:
        added = min(max(best, minimum), maximum)
        if size is None:
            size = removed
        yield _SumMove(gain[added] - loss[removed], size, removed, added, up)


def _running(pool: Pool, count: int, *, from_top: bool, up: bool) -> list[Fraction]:
    """Sums of the first ``0, 1, ..., count`` records from one end, signed so that up is good."""
    if isinstance(pool, Population):
        ranks = pool.top(count).fractions()[::-1] if from_top else pool.bottom(count).fractions()
    else:
        ranks = [pool.high(0) if from_top else pool.low(0)] * count
    return list(accumulate((v if up else -v for v in ranks), initial=Fraction(0)))


def _spans(question: Question) -> Iterator[tuple[int | None, int, int, int]]:
    """The feasible moves as ``(size, removed, minimum added, maximum added)``."""
    size, k = question.size, question.distance
    if question.relation != "unbounded" or not question.within:
        sizes = [size] if size else _sizes_that_matter(question)
        for n in sizes:
            yield from ((n, r, a, a) for r, a in question.moves(n))
        return
    population = question.population
    everyone = size if size is not None else k if population is None else population
    for removed in range(min(k, everyone) + 1):
        if size is not None:
            room = question.max_added(size)
        else:
            room = k if population is None else population - removed
        minimum = 0 if removed else 1
        maximum = int(min(k - removed, room))
        if minimum <= maximum:
            yield size, removed, minimum, maximum


def _sizes_that_matter(question: Question) -> list[int]:
    """Sizes at which each relation can make every move that it can make at any size."""
    k, population = question.distance, question.population
    if question.relation == "bounded":  # half of the population has most to swap
        return [k if population is None else max(1, min(k, population // 2))]
    return [0, k if population is None else min(k, population)]


# The histogram and its L1 sensitivities.


_MANY = 1 << 40  # more records than anyone has


class _Plan(NamedTuple):
    """Which bins lose (the others gain), and how many records go and come."""

    gap: int
    size: int
    removed: int
    added: int
    losing: tuple[int, ...]


@dataclass(frozen=True)
class Histogram(Statistic):
    """The counts of records between edges; its sensitivity is in the L1 norm.

    The outer bins are open to their side, so that every record is counted in exactly one bin.

    Let bin ``b`` be able to lose ``l_b`` and to gain ``g_b`` records: for a local question those
    in the release and those left over, for a global one all ``N_b`` of the population.  A move
    takes the counts by ``e_b = gained - lost``; a record that only replaces one of its own bin
    changes nothing, so the best moves split the bins into a losing set ``P`` and a gaining set
    ``Q``.

    * Only removing or only adding ``k`` records changes the counts by ``k``, the most possible.
    * ``unbounded``, where neither reaches ``k``: the most of ``r + a`` with ``r <= l(P)``, ``a <=
      g(Q)``.
    * ``bounded`` within ``k``: ``2 min(k, n, N - n, max_P min(l(P), g(Q)))``.  Exactly ``k``,
      local: ``P`` must lose ``min(k, l(P))`` and may have to gain the ``k - g(Q)`` for which ``Q``
      has no room, so ``2 max_P (min(k, l(P)) - max(0, k - g(Q)))``; global, there is always room
      (``2k <= N``).

    The best ``P`` comes from a table over the bins: for each total loss, the largest gain of the
    others (``O(bins * records)``).  Values without limit: ``k``, and ``2 min(k, n)`` if two bins
    can be reached (local: at most all but the records of the emptiest bin move).

    Args:
        edges: at least two ascending numbers; ``b + 1`` edges make ``b`` bins.

    >>> from tacit.statistics import Records, sensitivity
    >>> h = Histogram([0, 5, 10, 15])
    >>> h.exact([Fraction(1), Fraction(7), Fraction(8)])
    (1, 2, 0)
    >>> sensitivity(h, over=Records([1, 2, 7, 12], size=2), relation="bounded").value
    Fraction(2, 1)
    """

    edges: Any

    marks = "bins"

    def __post_init__(self) -> None:
        read = tuple(as_fraction(e, "edges") for e in self.edges)
        if len(read) < 2 or any(a >= b for a, b in pairwise(read)):
            raise UsageError("edges must be at least two numbers in ascending order")
        object.__setattr__(self, "edges", read)

    name = "histogram"
    min_size = 0

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1

    def bin_of(self, sample: Sample) -> npt.NDArray[np.int64]:
        """The bin of every record of a sample."""
        values = sample.fractions()
        starts = [bisect_left(values, edge) for edge in self.edges[1:-1]]
        return np.searchsorted(np.array(starts, dtype=np.int64), np.arange(len(values)), "right")

    def counts(self, sample: Sample) -> npt.NDArray[np.int64]:
        """The count of every bin."""
        return np.bincount(self.bin_of(sample), minlength=self.bins)

    def exact(self, values: Sequence[Fraction]) -> tuple[int, ...]:
        return self.of(Sample(values, allow_empty=True))

    def of(self, sample: Sample) -> tuple[int, ...]:
        return tuple(self.counts(sample).tolist())

    def __call__(self, data: npt.ArrayLike) -> Any:
        """The count of every bin, as an integer array."""
        return self.counts(Sample(np.asarray(data), "data"))

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """Refused: a histogram has no single value."""
        raise UsageError("a histogram is a vector of counts; it has no single value")

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance:
        low, high = data.bounds
        reached = 1 + sum(low < edge <= high for edge in self.edges[1:-1])
        if relation == "bounded":
            return _from([Fraction(2 if reached > 1 else 0)])
        return _from([Fraction(1)])

    def answer(self, question: Question) -> Sensitivity:
        room = _SpaceLeft(self, question)
        stay = _Plan(0, question.size or 1, 0, 0, ())
        best = max(room.plans(), key=lambda plan: plan.gap, default=stay)
        return Sensitivity(
            Fraction(best.gap),
            "polynomial" if question.population else "closed form",
            statistic=self,
            question=question,
            witness=lambda: room.pair(best),
            notes=("in the L1 norm",),
        )


class _SpaceLeft:
    """Space that every bin has to lose and gain records."""

    def __init__(self, histogram: Histogram, question: Question) -> None:
        self.histogram, self.question = histogram, question
        domain, at = question.domain, question.at
        self.leaving = domain.sample if at is None else at
        if isinstance(domain, Records):
            self.coming = domain.sample if at is None else question.rest
            self.gain = histogram.counts(self.coming)
        else:
            self.coming = _representatives(histogram, question)
            self.gain = histogram.counts(self.coming) * _MANY
        self.limited = isinstance(domain, Records)
        if at is None and not self.limited:
            self.leaving, self.loss = self.coming, self.gain
        else:
            self.loss = histogram.counts(self.leaving)

    def plans(self) -> Iterator[_Plan]:
        """Plans among which the best is."""
        question = self.question
        k = question.distance
        everything = tuple(range(self.histogram.bins))
        for n in self._sizes():
            room = int(min(question.max_added(n), _MANY))
            if question.relation == "bounded":
                yield from self._swaps(n, min(k, n, room))
                continue
            lost, gained = min(k, n), min(k, room)
            if question.relation != "add" and lost > 0 and (question.within or lost == k):
                yield _Plan(lost, n, lost, 0, everything)
            if question.relation != "remove" and gained > 0 and (question.within or gained == k):
                yield _Plan(gained, n, 0, gained, ())
            if question.relation == "unbounded" and question.within and max(lost, gained) < k:
                yield from self._mixed(n, k, room)

    def _sizes(self) -> list[int]:
        question = self.question
        if question.size is not None:
            return [question.size]
        k, population = question.distance, question.population
        if population is None:
            return [0, k]
        # Half of the population has most to swap; one bin alone has a stranger in the others.
        return sorted({0, min(k, population), population // 2, *self.loss.tolist()})

    def _swaps(self, n: int, maximum: int) -> Iterator[_Plan]:
        within, k = self.question.within, self.question.distance
        if maximum < 1 or (not within and maximum < k):
            return
        local = self.question.at is not None and self.limited
        for losing, loss, gain in self._splits(n):
            forced = max(0, k - gain) if local and not within else 0
            moved = min(maximum, loss) - forced if forced else min(maximum, loss, gain)
            if moved > 0:
                swapped = k if not within and self.limited else moved
                yield _Plan(2 * moved, n, swapped, swapped, losing)

    def _mixed(self, n: int, k: int, room: int) -> Iterator[_Plan]:
        for losing, loss, gain in self._splits(n):
            added = min(gain, room, k)
            removed = min(loss, n, k - added)
            if removed or added:
                yield _Plan(removed + added, n, removed, added, losing)

    def _splits(self, n: int) -> Iterator[tuple[tuple[int, ...], int, int]]:
        """Ways to split the bins: which lose, what they can lose, what the others can gain."""
        if not self.limited:
            losses = self.loss if self.question.at is not None else np.zeros_like(self.gain)
            reachable = np.flatnonzero(self.gain)
            target = int(reachable[np.argmin(losses[reachable])])
            losing = tuple(b for b in range(self.histogram.bins) if b != target)
            yield losing, int(min(self.loss[list(losing)].sum(), n)), _MANY
            return
        total = int(self.loss.sum())
        best = np.full(total + 1, -1, dtype=np.int64)  # the largest gain for each total loss
        best[0] = 0
        choices = []
        for loss, gain in zip(self.loss.tolist(), self.gain.tolist(), strict=True):
            gaining = np.where(best >= 0, best + gain, -1)
            losing_here = np.full_like(best, -1)
            losing_here[loss:] = best[: total + 1 - loss]
            choices.append(losing_here > gaining)
            best = np.maximum(gaining, losing_here)
        for loss in np.flatnonzero(best >= 0).tolist():
            yield self._trace(choices, loss), loss, int(best[loss])

    def _trace(self, choices: list[npt.NDArray[np.bool_]], loss: int) -> tuple[int, ...]:
        losing = []
        for b in range(len(choices) - 1, -1, -1):
            if choices[b][loss]:
                losing.append(b)
                loss -= int(self.loss[b])
        return tuple(losing)

    def pair(self, plan: _Plan) -> tuple[Sample, Sample]:
        """Releases that carry a plan out."""
        if not self.limited:
            return self._free_pair(plan)
        gone = self._preferred(self.leaving, plan.losing, plan.removed)
        if self.question.at is not None:
            come = self._preferred(self.coming, self._others(plan.losing), plan.added)
            x, remaining = self.leaving, np.delete(np.arange(len(self.leaving)), gone)
            return x, merge(x.take(remaining), self.coming.take(np.sort(come)))
        everyone = np.arange(len(self.leaving))
        left = np.delete(everyone, gone)
        come = left[self._preferred(self.leaving.take(left), self._others(plan.losing), plan.added)]
        shared = np.setdiff1d(left, come)[: plan.size - plan.removed]
        return (
            self.leaving.take(np.union1d(shared, gone)),
            self.leaving.take(np.union1d(shared, come)),
        )

    def _free_pair(self, plan: _Plan) -> tuple[Sample, Sample]:
        bins = self.histogram.bin_of(self.coming)
        gaining = np.flatnonzero(~np.isin(bins, plan.losing))
        gained = self.coming.take(np.full(plan.added, gaining[0] if len(gaining) else 0))
        if self.question.at is not None:
            x = self.question.at
        else:
            start = np.flatnonzero(np.isin(bins, plan.losing))
            x = self.coming.take(np.full(plan.size, start[0] if len(start) else 0))
        gone = self._preferred(x, plan.losing, plan.removed)
        return x, merge(x.take(np.delete(np.arange(len(x)), gone)), gained)

    def _others(self, losing: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(b for b in range(self.histogram.bins) if b not in losing)

    def _preferred(
        self, sample: Sample, bins: tuple[int, ...], count: int
    ) -> npt.NDArray[np.int64]:
        """The ranks of ``count`` records, those of the given bins first."""
        inside = np.isin(self.histogram.bin_of(sample), bins)
        return np.argsort(~inside, kind="stable")[:count]


def _representatives(histogram: Histogram, question: Question) -> Sample:
    """One value of the domain for every bin that it reaches."""
    domain = question.domain
    if not isinstance(domain, Interval):
        indices = histogram.bin_of(domain.sample)
        return domain.sample.take(np.unique(indices, return_index=True)[1])
    inner = histogram.edges[1:-1]
    return Sample([domain.lower, *(e for e in inner if domain.lower < e <= domain.upper)])
