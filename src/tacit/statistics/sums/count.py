"""The count and its sensitivities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.extreme_pair import extreme_pair
from tacit.statistics.base.question import Question, Relation
from tacit.statistics.base.result import Sensitivity
from tacit.statistics.base.statistic import PublicRange, Statistic
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array, Sample
from tacit.statistics.sums.sum_at_distance import count_at_distance

__all__ = ["Count"]


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

    @property
    def name(self) -> str:
        """``"count"``."""
        return "count"

    @property
    def least(self) -> int:
        """None: it is 0 of no records."""
        return 0

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """It moves by at most 1 (by none where the size is public), and is 0 of no records."""
        return PublicRange(Fraction(1), None, Fraction(0))

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance:
        """``A(t)`` within bounds, with its proof: :mod:`tacit.statistics.sums.sum_at_distance`."""
        return count_at_distance(data, relation)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The number of records of every row."""
        return np.full(len(rows), float(rows.shape[1]))

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The number of values."""
        return Fraction(len(values))

    def of(self, sample: Sample) -> Fraction:
        """The number of values."""
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
        found = []
        if question.relation != "bounded":
            small = question.size or 0
            large = question.size or (k if population is None else min(k, population))
            gain, loss = min(k, question.most_added(small)), min(k, large)
            if question.relation != "remove" and (question.within or gain == k):
                found.append((small, 0, int(gain)))
            if question.relation != "add" and (question.within or loss == k):
                found.append((large, loss, 0))
        return found or [(question.size or 1, 0, 0)]
