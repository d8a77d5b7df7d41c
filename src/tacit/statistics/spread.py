"""Range, median absolute deviation, Gini coefficient and mode, and their sensitivities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.statistics.domains import Interval, Records
from tacit.statistics.quantiles import Quantile, SumAtDistance, quantile_at_distance
from tacit.statistics.question import Question, Relation
from tacit.statistics.result import Sensitivity
from tacit.statistics.samples import Array, ClampedRecords, Sample
from tacit.statistics.statistic import AtDistance, PublicRange, Statistic

# Global sensitivities where values repeat without limit.
#
# Each is at most the width of the statistic's range on the sizes in question, and for each a pair
# of neighbours is given that attains it: so it is exact.  Over a known population, and from a given
# release, the search answers.


def _is_endless(question: Question) -> bool:
    """Return whether a question is global, of values that repeat without limit."""
    return question.at is None and not isinstance(question.domain, Records)


def _some_size(question: Question) -> int:
    """Return the size of the release: where every size is in question, one that can make a move."""
    return question.size or question.distance + 2


def _attained(
    statistic: Statistic,
    question: Question,
    value: Fraction,
    x: Sequence[Fraction],
    y: Sequence[Fraction],
) -> Sensitivity:
    return Sensitivity(
        value,
        "closed form",
        statistic=statistic,
        question=question,
        witness=lambda: (Sample(x), Sample(y)),
    )


def _stays(statistic: Statistic, question: Question, size: int) -> Sensitivity:
    """Return the answer where no neighbour has another value."""
    same = [question.domain.lower] * size
    return _attained(statistic, question, Fraction(0), same, same)


@dataclass(frozen=True)
class Range(Statistic):
    """The largest record less the smallest.

    **Over values from L to U.**  The range is between 0 and ``U - L``.  Equal records at L have
    none, and one more at U makes it ``U - L``: so that is the sensitivity, for any move between
    releases of which the larger has two records.

    >>> Range()([1, 2, 4, 8])
    7.0
    """

    @property
    def name(self) -> str:
        """``"range"``."""
        return "range"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """Between 0 and the span, and 0 for no records."""
        return PublicRange(upper - lower, (Fraction(0), upper - lower), Fraction(0))

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance:
        """``A(t)`` is at most the sum of those of the minimum and the maximum, and the span."""
        # The argument is that of :class:`~tacit.statistics.quantiles.InterquartileRange`.
        low, high = data.bounds
        parts = [quantile_at_distance(Fraction(q), data, relation) for q in (0, 1)]
        return SumAtDistance(parts, high - low)

    def answer(self, question: Question) -> Sensitivity | None:
        """The exact sensitivity, over values that repeat without limit."""
        if isinstance(question.domain, Records):
            return None
        if question.at is not None:
            return self._local(question, list(question.at.fractions()))
        low, high, n = question.domain.lower, question.domain.upper, _some_size(question)
        for removed, added in question.moves(n):
            if n > 1 and removed:
                x, y = [low] * (n - 1) + [high], [low] * (n - removed + added)
            elif added and n - removed + added > 1:
                x, y = [low] * n, [low] * (n - removed + added - 1) + [high]
            else:
                continue
            return _attained(self, question, high - low, x, y)
        return _stays(self, question, n)

    def _local(self, question: Question, x: list[Fraction]) -> Sensitivity:
        """The largest change from a release."""
        # Of r records removed and a added, c = n - r stay.  The range grows most by two new records
        # at the ends, or by one at the end that is farther from the record that stays at the other.
        # It shrinks most where neighbours in rank stay, and what comes is equal to one of them.
        low, high, n, best, least = question.domain.lower, question.domain.upper, len(x), x, x
        most = least_range = x[-1] - x[0]
        for removed, added in question.moves(n):
            stay = n - removed
            near = [x[i : i + stay] for i in range(removed + 1)] if stay else [x[:1]]
            tried = [each + each[:1] * (n - removed + added - len(each)) for each in near]
            if added > 1:
                tried.append(x[:stay] + [low, high] + [low] * (added - 2))
            elif added and stay:
                tried += [[*x[:stay], high], [low, *x[removed:]]]
            for y in tried:
                size = max(y) - min(y)
                if size > most:
                    best, most = y, size
                if size < least_range:
                    least, least_range = y, size
        here = x[-1] - x[0]
        y = best if most - here >= here - least_range else least
        return _attained(self, question, max(most - here, here - least_range), x, y)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The range of every row."""
        return np.asarray(rows.max(axis=1) - rows.min(axis=1), dtype=np.float64)

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The exact range of ascending values."""
        return values[-1] - values[0]


@dataclass(frozen=True)
class MedianAbsoluteDeviation(Statistic):
    """The median of the distances from the median, not scaled.

    **Over an interval from L to U** it is between 0 and ``(U - L) / 2``: let M be the median of n
    records.  At least ``floor(n/2) + 1`` records are no farther from M than L is.  Those at most M
    are; where n is even and they are ``n/2``, the next record is as far above M as the last of them
    is below.  Likewise from U.  So the median distance is at most the lesser of ``M - L`` and
    ``U - M``.  As many records at L as at U (and one in the middle, if n is odd) have that; more
    than half of the records at one value have none.  Moves of every kind lead from one to the
    other, from two records on.

    >>> MedianAbsoluteDeviation()([1, 2, 4, 100])
    1.5
    """

    @property
    def name(self) -> str:
        """``"mad"``."""
        return "mad"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """Between 0 and half the span, and 0 for no records."""
        half = (upper - lower) / 2
        return PublicRange(half, (Fraction(0), half), Fraction(0))

    def answer(self, question: Question) -> Sensitivity | None:
        """Half the span, over an interval."""
        if not _is_endless(question) or not isinstance(question.domain, Interval):
            return None
        low, high, n = question.domain.lower, question.domain.upper, _some_size(question)
        moves = [m for m in question.moves(n) if m[0] == m[1] or 0 in m]
        if not moves or max(n + added for _, added in moves) < 2 or (n == 1 and moves[0][0]):
            return _stays(self, question, n)
        removed, added = moves[0]

        def balanced(size: int) -> list[Fraction]:
            return [low] * (size // 2) + [(low + high) / 2] * (size % 2) + [high] * (size // 2)

        if removed == added:
            x = balanced(n)
            # keep those at L, and gain others there; or gain more than half at another value
            kept = (x[: n // 2] + x[::-1])[: n - removed]
            new = low if removed <= (n + 1) // 2 else low + (high - low) / 4
            return _attained(self, question, (high - low) / 2, x, kept + [new] * added)
        small, large = n - removed, n + added
        if small % 2:
            x, y = [low] * (small // 2 + 1) + [high] * (small // 2), balanced(large)
        else:
            x = balanced(small)
            y = x + [low] * (large - small)
        pair = (y, x) if removed else (x, y)
        return _attained(self, question, (high - low) / 2, *pair)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The median absolute deviation of every row."""
        median = Quantile(Fraction(1, 2))
        return median.batch(np.abs(rows - median.batch(rows)[:, None]))

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The exact median absolute deviation of ascending values."""
        median = Quantile(Fraction(1, 2))
        middle = median.exact(values)
        return median.exact(sorted(abs(value - middle) for value in values))


@dataclass(frozen=True)
class Gini(Statistic):
    """The Gini coefficient: half of the mean difference of two records, over the mean.

    ``sum (2 i - n - 1) x_i / (n sum x)`` over the ascending ``x_1 .. x_n``; 0 where all are 0.  A
    negative value counts as 0.

    **Over values from 0 (or below) to U.**  Of n records it is between 0 and ``1 - 1/n``: the
    weight of ``x_i`` is at most ``(n - 1)/n``.  Records of 0 have 0, and with one of them at U the
    largest that there is.  So the sensitivity is ``1 - 1/m``, m the size of the larger neighbour.

    >>> round(Gini()([0, 1, 2, 5]), 4)
    0.5
    """

    @property
    def name(self) -> str:
        """``"gini"``."""
        return "gini"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """Between 0 and 1, and 0 for no records."""
        return PublicRange(Fraction(1), (Fraction(0), Fraction(1)), Fraction(0))

    def answer(self, question: Question) -> Sensitivity | None:
        """``1 - 1/m`` over values from 0 on; None of every size, where nothing attains 1."""
        low, high = question.domain.lower, question.domain.upper
        if not _is_endless(question) or question.size is None or low > 0:
            return None
        n = question.size
        moves = list(question.moves(n))
        if high <= 0 or not moves:
            return _stays(self, question, n)
        removed, added = max(moves, key=lambda move: max(n, n - move[0] + move[1]))
        after = n - removed + added
        if max(n, after) < 2:
            return _stays(self, question, n)
        few, many = [low] * min(n, after), [low] * (max(n, after) - 1) + [high]
        x, y = (few, many) if after > n else (many, few)
        return _attained(self, question, 1 - Fraction(1, max(n, after)), x, y)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The coefficient of every row."""
        ordered = np.sort(np.maximum(rows, 0), axis=1).astype(np.float64)
        n = ordered.shape[1]
        total = ordered.sum(axis=1)
        weighted = ordered @ (2 * np.arange(1, n + 1) - n - 1)
        return np.asarray(np.where(total > 0, weighted / np.where(total > 0, n * total, 1), 0.0))

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The exact coefficient of ascending values."""
        n, positive = len(values), [max(value, Fraction(0)) for value in values]
        total = sum(positive, Fraction(0))
        if not total:
            return Fraction(0)
        weighted = sum(((2 * i - n + 1) * v for i, v in enumerate(positive)), Fraction(0))
        return weighted / (n * total)


@dataclass(frozen=True)
class Mode(Statistic):
    """The most frequent value; the smallest of those that are equally frequent.

    **Over an interval from L to U** the sensitivity is ``U - L``, the width of its range.  Of
    records that all differ, of which one is at L and one at U, the mode is L; another at U makes it
    U.  One record can be substituted by any other.

    >>> Mode()([3, 1, 3, 2])
    3.0
    """

    @property
    def name(self) -> str:
        """``"mode"``."""
        return "mode"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """Within the bounds, the middle for no records."""
        return PublicRange(upper - lower, (lower, upper), (lower + upper) / 2)

    def answer(self, question: Question) -> Sensitivity | None:
        """The span, over an interval."""
        if not _is_endless(question) or not isinstance(question.domain, Interval):
            return None
        low, high, n = question.domain.lower, question.domain.upper, _some_size(question)
        moves = [m for m in question.moves(n) if m[0] == m[1] or 0 in m]
        if not moves:
            return _stays(self, question, n)

        def apart(size: int) -> list[Fraction]:
            """Records that differ: L, U, and others in between; one record is at U alone."""
            between = [low + (high - low) * Fraction(i, size) for i in range(1, size - 1)]
            return [high] if size == 1 else [low, high, *between]

        removed, added = moves[0]
        if removed == added:
            # at least as many at L as at U before, and fewer after
            x = [low] * ((n + 1) // 2) + [high] * (n // 2)
            y = sorted(x)[removed:] + [high] * added
        else:
            small = n - removed
            less = apart(small)
            more = less + [low if small == 1 else high] * (n + added - small)
            x, y = (more, less) if removed else (less, more)
        return _attained(self, question, high - low, x, y)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The mode of every row."""
        return np.array([float(self.exact(row)) for row in np.sort(rows, axis=1).tolist()])

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The exact mode of ascending values."""
        (most, *_) = Counter(values).most_common(1)  # the first of those that are equally frequent
        return most[0]
