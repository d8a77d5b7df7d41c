"""The sum and its sensitivities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.domain import Records
from tacit.statistics.base.extreme_pair import extreme_pair
from tacit.statistics.base.extreme_records import Pool, Population, pool_of
from tacit.statistics.base.question import Question, Relation
from tacit.statistics.base.result import Sensitivity
from tacit.statistics.base.statistic import PublicRange, Statistic
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array, Sample
from tacit.statistics.sums.sum_at_distance import sum_at_distance

__all__ = ["Sum"]


class _Move(NamedTuple):
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

    @property
    def name(self) -> str:
        """``"sum"``."""
        return "sum"

    @property
    def least(self) -> int:
        """None: it is 0 of no records."""
        return 0

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """One record adds, or takes, at most the bound farther from zero; a change, the span."""
        most = upper - lower if relation == "bounded" else max(abs(lower), abs(upper))
        return PublicRange(most, None, Fraction(0))

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance:
        """``A(t)`` within bounds, with its proof: :mod:`tacit.statistics.sums.sum_at_distance`."""
        return sum_at_distance(data, relation)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The sum of every row."""
        return np.asarray(np.sum(rows, axis=1), dtype=np.float64)

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The exact sum."""
        return Fraction(sum(values))

    def of(self, sample: Sample) -> Fraction:
        """The exact sum of a sample, in bulk."""
        return sample.total()

    def answer(self, question: Question) -> Sensitivity:
        """The largest rise or fall over the feasible moves."""
        pool = pool_of(question.domain)
        leaving: Pool = pool
        if question.at is not None:
            leaving = Population(question.at)
            if isinstance(question.domain, Records):
                pool = Population(question.rest)
        moves = [m for up in (True, False) for m in _moves(question, pool, leaving, up)]
        stay = _Move(Fraction(0), question.size or 1, 0, 0, up=True)
        best = max(moves, key=lambda move: move.gain, default=stay)
        return Sensitivity(
            best.gain,
            "closed form",
            statistic=self,
            question=question,
            witness=lambda: extreme_pair(question, best.size, best.removed, best.added, up=best.up),
            evaluations=max(len(moves), 1),
        )


def _moves(question: Question, coming: Pool, leaving: Pool, up: bool) -> Iterator[_Move]:
    """For every number of removals, the number of additions that moves the sum most."""
    spans = list(_spans(question))
    gain = _running(coming, max((s[3] for s in spans), default=0), from_top=up, up=up)
    loss = _running(leaving, max((s[1] for s in spans), default=0), from_top=not up, up=up)
    best = max(range(len(gain)), key=gain.__getitem__)  # concave: clipping it stays best
    for size, removed, least, most in spans:
        added = min(max(best, least), most)
        if size is None:
            size = removed
        yield _Move(gain[added] - loss[removed], size, removed, added, up)


def _running(pool: Pool, count: int, *, from_top: bool, up: bool) -> list[Fraction]:
    """Sums of the first ``0, 1, ..., count`` records from one end, signed so that up is good."""
    if isinstance(pool, Population):
        ranks = pool.top(count).fractions()[::-1] if from_top else pool.bottom(count).fractions()
    else:
        ranks = [pool.high(0) if from_top else pool.low(0)] * count
    return list(accumulate((v if up else -v for v in ranks), initial=Fraction(0)))


def _spans(question: Question) -> Iterator[tuple[int | None, int, int, int]]:
    """The feasible moves as ``(size, removed, least added, most added)``."""
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
            room = question.most_added(size)
        else:
            room = k if population is None else population - removed
        least = 0 if removed else 1
        most = int(min(k - removed, room))
        if least <= most:
            yield size, removed, least, most


def _sizes_that_matter(question: Question) -> list[int]:
    """Sizes at which each relation can make every move that it can make at any size."""
    k, population = question.distance, question.population
    if question.relation == "bounded":  # half of the population has most to swap
        return [k if population is None else max(1, min(k, population // 2))]
    return [0, k if population is None else min(k, population)]
