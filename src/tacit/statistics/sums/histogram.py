"""The histogram and its L1 sensitivities."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.domain import Interval, Records
from tacit.statistics.base.question import Question, Relation
from tacit.statistics.base.result import Sensitivity
from tacit.statistics.base.statistic import Statistic
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array, Sample, merge
from tacit.statistics.sums.sum_at_distance import histogram_at_distance

__all__ = ["Histogram"]

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

    @property
    def name(self) -> str:
        """``"histogram"``."""
        return "histogram"

    @property
    def least(self) -> int:
        """None: every bin holds 0 of no records."""
        return 0

    @property
    def bins(self) -> int:
        """How many bins there are."""
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
        """The count of every bin."""
        return self.of(Sample(values, allow_empty=True))

    def of(self, sample: Sample) -> tuple[int, ...]:
        """The count of every bin."""
        return tuple(self.counts(sample).tolist())

    def __call__(self, data: npt.ArrayLike) -> Any:
        """The count of every bin, as an integer array."""
        return self.counts(Sample(np.asarray(data), "data"))

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """Refused: a histogram has no single value."""
        raise UsageError("a histogram is a vector of counts; it has no single value")

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance:
        """``A(t)`` within bounds, with its proof: :mod:`tacit.statistics.sums.sum_at_distance`."""
        low, high = data.bounds
        reached = 1 + sum(low < edge <= high for edge in self.edges[1:-1])
        return histogram_at_distance(data, relation, reached)

    def answer(self, question: Question) -> Sensitivity:
        """The largest L1 difference over the feasible moves."""
        room = _Room(self, question)
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


class _Room:
    """What every bin can lose and gain."""

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
            room = int(min(question.most_added(n), _MANY))
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

    def _swaps(self, n: int, most: int) -> Iterator[_Plan]:
        within, k = self.question.within, self.question.distance
        if most < 1 or (not within and most < k):
            return
        local = self.question.at is not None and self.limited
        for losing, loss, gain in self._splits(n):
            forced = max(0, k - gain) if local and not within else 0
            moved = min(most, loss) - forced if forced else min(most, loss, gain)
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
            held = self.loss if self.question.at is not None else np.zeros_like(self.gain)
            reachable = np.flatnonzero(self.gain)
            target = int(reachable[np.argmin(held[reachable])])
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
            x, kept = self.leaving, np.delete(np.arange(len(self.leaving)), gone)
            return x, merge(x.take(kept), self.coming.take(np.sort(come)))
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
        places = histogram.bin_of(domain.sample)
        return domain.sample.take(np.unique(places, return_index=True)[1])
    inner = histogram.edges[1:-1]
    return Sample([domain.lower, *(e for e in inner if domain.lower < e <= domain.upper)])
