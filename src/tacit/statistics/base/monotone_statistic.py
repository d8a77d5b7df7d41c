"""The exact sensitivity of means and order statistics, by one argument for both.

Let ``f`` be a statistic such that, with releases written in ascending order,

1. at a fixed size, ``f`` is a weighted sum of the ranks with non-negative weights (so that raising
   a record never lowers ``f``); the weights add up to 1;
2. dropping the smallest record never lowers ``f`` and dropping the largest never raises it.

The mean and every linearly interpolated quantile are of this kind (their rooms show 2).

**Global.**  Take neighbours ``x`` and ``y`` that differ by ``r`` records on the one side and ``a``
on the other, let ``low`` be the size of the one with the smaller value and ``high`` the size of
the other, and let ``T`` be their union, of ``m`` records.  For that same ``T``, the ``low``
smallest of ``T`` have a value no larger than ``x`` and the ``high`` largest one no smaller than
``y`` (by 1, rank by rank), and these two are again neighbours by the same move: they miss ``m -
low`` and ``m - high`` different records of ``T``, because ``(m - low) + (m - high) <= m``.  So
only

    g(T) = f(the ``high`` largest of T) - f(the ``low`` smallest of T)

is left to maximise over ``T``.  It is a fixed weighted sum of the ranks of ``T`` in which every
negative weight stands below every positive one (shown in the rooms).  Let the first ``c`` ranks
hold the negative weights and the rest the positive ones: ``g`` is then largest when the first
``c`` are as small as they can be and the others as large as they can be, so ``T`` is the ``c``
smallest and the ``m - c`` largest records that there are.  Each move costs the evaluation of two
values of ``f``; :meth:`~tacit.statistics.base.question.Question.frontier` says why few moves are
enough.  Over values without limit, or an interval, the smallest records are copies of the least
value and the largest are copies of the greatest.

**Local.**  The neighbour of ``x`` by a move ``(r, a)`` with the largest value drops the ``r``
smallest of ``x`` and gains the ``a`` largest of what is left over (by 1), the one with the
smallest value the mirror image.  Dropping more of the smallest never hurts (by 2), so again the
frontier is enough.

**Any size.**  Without a size, ``k >= 2`` under ``unbounded``, and every ``k`` under ``bounded``,
join ``{u_1}`` with ``{u_N}`` and the sensitivity is the whole range, as each value of ``f`` lies
between the extremes.  Exactly ``k`` substituted is worst among releases of ``k`` records, where
nothing is shared: more records only bring further ranks into both.  Otherwise the two are nested,
``S`` in ``T`` with ``|T| - |S| = k``, and a single record in ``S`` is worst: say ``f(S) > f(T)``;
then ``f(S) <= u_N``, and by 1 and 2 ``f(T)`` is not below the value of ``f`` that the nested pair
of a single record has (see the rooms).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from tacit.statistics.base.domain import Records
from tacit.statistics.base.extreme_records import Ends, Joined, Pool, Population, Ranked, pool_of
from tacit.statistics.base.question import Question
from tacit.statistics.base.result import Method, Sensitivity
from tacit.statistics.base.statistic import Statistic
from tacit.statistics.samples.sample import Sample

__all__ = ["Monotone"]


class _Extreme(NamedTuple):
    """Two neighbours that stand out: ``low`` and ``high`` records of ``ends``; ``x`` is which."""

    ends: Ends
    low: int
    high: int
    x_is_low: bool


class Monotone(Statistic):
    """A statistic that the argument of this module covers."""

    marks = "line"

    @abstractmethod
    def split(self, low: int, high: int, total: int) -> int:
        """How many ranks of the union ``T`` carry a negative weight in ``g(T)``."""

    @abstractmethod
    def on(self, data: Ranked, start: int, size: int) -> Fraction:
        """The exact value on the ``size`` ranks from ``start`` on."""

    def gap(self, union: Ends, low: int, high: int) -> Fraction:
        """``g(T)``: the value of the ``high`` largest less that of the ``low`` smallest."""
        return self.on(union, len(union) - high, high) - self.on(union, 0, low)

    def rough_gap(self, union: Ends, low: int, high: int) -> float | None:
        """``g(T)`` in floats, to sort out candidates; None where exact is as quick.

        The error must stay below ``(2048 + m / 1024) * 2**-51`` times the largest magnitude.
        """
        return None

    def answer(self, question: Question) -> Sensitivity:
        """The exact sensitivity: see the module's argument."""
        if question.at is not None:
            return self._local(question)
        if question.size is None:
            return self._any_size(question)
        return self._global(question, question.size)

    def _global(self, question: Question, size: int) -> Sensitivity:
        pool = pool_of(question.domain)
        candidates = list(self._extremes(question, pool, size))
        if not candidates:
            return self._no_neighbour(question, pool.bottom(size))
        value, best = self._best(candidates)

        def witness() -> tuple[Sample, Sample]:
            low = best.ends.sample(0, best.low)
            high = best.ends.sample(best.ends.size - best.high, best.ends.size)
            return (low, high) if best.x_is_low else (high, low)

        return Sensitivity(
            value,
            _method(question),
            statistic=self,
            question=question,
            witness=witness,
            evaluations=2 * len(candidates),
        )

    def _extremes(self, question: Question, pool: Pool, size: int) -> Iterator[_Extreme]:
        for removed, added in question.frontier(size):
            other, union = size - removed + added, size + added
            for low, high in ((size, other), (other, size)):
                ends = Ends(pool, self.split(low, high, union), union)
                yield _Extreme(ends, low, high, x_is_low=low == size)
                if size == other:
                    break  # the mirror image is the same pair

    def _best(self, candidates: list[_Extreme]) -> tuple[Fraction, _Extreme]:
        """The candidate with the largest difference; floats first, exact where they are close."""
        if len(candidates) > 1:
            candidates = self._close(candidates)
        exact = [self.gap(c.ends, c.low, c.high) for c in candidates]
        best = max(range(len(exact)), key=exact.__getitem__)
        return exact[best], candidates[best]

    def _close(self, candidates: list[_Extreme]) -> list[_Extreme]:
        """The candidates that may be the best, given the error of their estimates."""
        pool = candidates[0].ends.pool
        magnitude = max(abs(float(pool.low(0))), abs(float(pool.high(0))))
        error = (2048 + max(c.ends.size for c in candidates) / 1024) * 2.0**-51 * magnitude
        rough = [self.rough_gap(c.ends, c.low, c.high) for c in candidates]
        known = [value for value in rough if value is not None]
        least = max(known, default=0.0) - 2 * error
        return [c for c, v in zip(candidates, rough, strict=True) if v is None or v >= least]

    def _any_size(self, question: Question) -> Sensitivity:
        size, asked = 1, question
        if question.relation == "bounded":
            size = 1 if question.within else question.distance
        elif question.relation == "unbounded" and question.within and question.distance >= 2:
            asked = replace(question, distance=2)
        else:
            asked = replace(question, relation="add")
        answer = self._global(asked, size)
        answer.question = question
        answer.notes = (*answer.notes, "the worst over releases of every size")
        return answer

    def _local(self, question: Question) -> Sensitivity:
        x = question.at
        assert x is not None
        n = len(x)
        rest = question.rest if isinstance(question.domain, Records) else None
        pool = pool_of(question.domain, rest)
        leaving = Population(x)
        here = self.on(Joined.alone(x), 0, n)
        best, value, count = None, Fraction(0), 0
        for move in question.frontier(n):
            for up in (True, False):
                data = Joined.exchange(leaving, pool, move, up)
                count += 1
                moved = abs(self.on(data, 0, len(data)) - here)
                if best is None or moved > value:
                    best, value = data, moved
        if best is None:
            return self._no_neighbour(question, x)
        neighbour = best
        return Sensitivity(
            value,
            _method(question),
            statistic=self,
            question=question,
            witness=lambda: (x, neighbour.sample()),
            evaluations=count + 1,
        )

    def _no_neighbour(self, question: Question, x: Sample) -> Sensitivity:
        return Sensitivity(
            Fraction(0),
            "closed form",
            statistic=self,
            question=question,
            witness=lambda: (x, x),
            notes=("no record can be exchanged, so a release has no neighbour but itself",),
        )


def _method(question: Question) -> Method:
    return "polynomial" if isinstance(question.domain, Records) else "closed form"
