"""Statistics: functions of a data set that know their own sensitivities."""

from __future__ import annotations

import heapq
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.arithmetic import enclosure
from tacit.arithmetic.exact import float_up
from tacit.arithmetic.roots_and_bisection import Root, gap, smallest_integer_until
from tacit.statistics.domains import (
    ExtremeRecords,
    Joined,
    Pool,
    Population,
    Ranked,
    Records,
    pool_of,
)
from tacit.statistics.question import Question, Relation
from tacit.statistics.result import Method, Sensitivity
from tacit.statistics.samples import Array, ClampedRecords, Sample

# Local sensitivity at a distance, smooth sensitivity and distance to instability, in general.
#
# ``A(t)`` is the largest local sensitivity (distance 1) of any data set within distance ``t`` of
# the data.  It never falls in ``t``.  Three things follow from being able to evaluate it:
#
# * the smooth sensitivity ``max_t exp(-beta t) A(t)`` (Nissim, Raskhodnikova and Smith 2007,
#   *Smooth sensitivity and sampling in private data analysis*, STOC);
# * the distance to instability ``min {t : A(t) > b}`` (Dwork and Lei 2009, *Differential privacy
#   and robust statistics*, STOC), by bisection;
# * where ``A`` stops growing, so that no ``t`` is left out of the maximum: :attr:`AtDistance.last`.


# Between neighbours the logarithm of the computed smooth sensitivity moves by at most ``beta`` and
# this: the search stops, and floats round, within a relative 1e-6.  A mechanism counts both.
SMOOTHNESS_SLACK = Fraction(1, 10**6)
_SLACK = 1 + 2.0**-22


class AtDistance(ABC):
    """``A(t)`` of one statistic at one data set, under one relation.

    Attributes:
        last: ``A(t) = A(last)`` for every ``t >= last``.
        exact: whether ``at`` gives ``A(t)`` itself; if not, a proven upper bound.
    """

    last: int
    exact: bool = True

    @abstractmethod
    def at(self, distance: int) -> Fraction | float:
        """``A(distance)``: a fraction, or a float that is not below the truth."""

    def instability(self, bound: Fraction) -> int | None:
        """The least ``t`` with ``A(t) > bound``, or None where there is none."""
        return smallest_integer_until(lambda t: self.exceeds(t, bound), self.last)

    def instabilities(self, bounds: Sequence[Fraction]) -> list[int | None]:
        """:meth:`instability` for each of several bounds, which ascend.

        The distance never falls as the bound rises.  So the middle bound is looked for first, and
        the others on their own side of where it was found.
        """
        instabilities: list[int | None] = [None] * len(bounds)
        intervals = [(0, len(bounds), 0, self.last)]
        while intervals:  # the bounds start .. stop - 1 are broken at least .. last, or never
            start, stop, minimum, last = intervals.pop()
            if start == stop:
                continue
            middle = (start + stop) // 2
            at = self._broken(bounds[middle], last, minimum)
            instabilities[middle] = at
            intervals.append((start, middle, minimum, last if at is None else at))
            if at is not None:  # else none of the larger bounds is broken
                intervals.append((middle + 1, stop, at, last))
        return instabilities

    def _broken(self, bound: Fraction, last: int, minimum: int) -> int | None:
        return smallest_integer_until(lambda t: self.exceeds(t, bound), last, minimum)

    def exceeds(self, distance: int, bound: Fraction) -> bool:
        """True if ``A(distance) > bound``, decided exactly.

        ``A`` of a data set at ``t`` is at most ``A`` of its neighbour at ``t + 1``.  The distance
        to instability moves by at most one between neighbours if no rounding disturbs that.
        """
        return self.at(distance) > bound

    def smooth(self, beta: Fraction) -> float:
        """``max_t exp(-beta t) A(t)``: never below the truth, at most 1e-6 above, relatively.

        ``A`` never falls and the exponential never rises, so on ``a < t < b`` the product is at
        most ``exp(-beta (a + 1)) A(b - 1)``.  Stretches whose bound does not beat the best value
        found by more than the slack are done with, and the bound is kept; the others are halved.
        Distances beyond ``last`` only shrink the product, and those before the first positive
        ``A(t)`` give 0, so the weights are taken from that distance on and cannot underflow.
        """
        start = smallest_integer_until(lambda t: self._float_at(t) > 0, self.last)
        if start is None:
            return 0.0
        rate = rounded_up(-beta)  # a float just above -beta: weights are never too small
        if self.last <= 1:
            nearer, farther = Fraction(self.at(0)), Fraction(self.at(1))
            return float_up(max(nearer, enclosure.exp(-beta).upper * farther))
        known = {start: self._float_at(start)}
        best = safe = known[start]
        waiting: list[tuple[float, int, int]] = []

        def bound(a: int, b: int) -> float:
            return _weight(rate, a + 1 - start) * known[b]

        def learn(t: int) -> None:
            nonlocal best
            known[t] = self._float_at(t)
            best = max(best, _weight(rate, t - start) * known[t])

        a = start
        while a < self.last:
            b = min(self.last, start + max(1, 2 * (a - start)))
            learn(b)
            heapq.heappush(waiting, (-bound(a, b), a, b))
            if _weight(rate, b - start) * self._ceiling <= best:
                break  # whatever comes later is smaller
            a = b
        while waiting:
            upper, a, b = heapq.heappop(waiting)
            if b - a < 2:
                continue
            if -upper <= best * _SLACK:
                safe = max(safe, -upper)
                break  # the largest bound is settled, so all are
            middle = (a + b) // 2
            learn(middle)
            heapq.heappush(waiting, (-bound(a, middle), a, middle))
            heapq.heappush(waiting, (-bound(middle, b), middle, b))
        return decayed(max(best, safe), beta, start)

    @property
    def _ceiling(self) -> float:
        """No less than every ``A(t)``."""
        return self._float_at(self.last)

    def _float_at(self, distance: int) -> float:
        """``A(distance)`` rounded up, perhaps from floats: at most 2.4e-7 above, relatively."""
        return rounded_up(self.at(distance))


def rounded_up(value: Fraction | float) -> float:
    """The value as a float that is not below it."""
    return value if isinstance(value, float) else float_up(value)


def _weight(rate: float, steps: int) -> float:
    """``exp(rate * steps)``, below the truth by no more than 2**-42 of it, and never 0."""
    return max(math.exp(rate * steps), 1e-300)


def decayed(value: float, beta: Fraction, start: int) -> float:
    """``exp(-beta start) value`` rounded up, after adding 2**-40 of it for roundings so far.

    >>> decayed(1.0, Fraction(1), 10**6)
    5e-324
    """
    # The floats before this were rounded a few times each and went through one exponential, whose
    # argument is at most 745 before the result vanishes: together less than 2**-42, relatively.  A
    # result too small for a float becomes the smallest positive float, never 0.
    exponent = beta * start
    if exponent > 4000:  # the truth is below every positive float
        return math.nextafter(0.0, 1.0) if value > 0 else 0.0
    return float_up(Fraction(value) * (1 + Fraction(1, 2**40)) * enclosure.exp(-exponent).upper)


class PointsAtDistance(AtDistance):
    """``A(t)``, the largest of the values that are reached within ``t`` steps.

    >>> a = PointsAtDistance(np.array([2, 0, 1]), np.array([7, 3, 1]), Fraction(1, 2))
    >>> [str(a.at(t)) for t in range(4)]
    ['3/2', '3/2', '7/2', '7/2']
    """

    # exact: whether the values are attained, or only bound what is.

    def __init__(
        self, steps: npt.NDArray[np.int64], values: Array, unit: Fraction, exact: bool = True
    ) -> None:
        order = np.argsort(steps, kind="stable")
        self._steps = steps[order]
        self._values = np.maximum.accumulate(values[order])
        self._unit = unit
        self.exact = exact
        self.last = self._last()

    def _last(self) -> int:
        if not len(self._steps):
            return 0
        first = int(np.argmax(self._values == self._values[-1]))
        return int(self._steps[first])

    def at(self, distance: int) -> Fraction:
        """``A(distance)``, exact; 0 where no value is reached."""
        reached = int(np.searchsorted(self._steps, distance, side="right"))
        return int(self._values[reached - 1]) * self._unit if reached else Fraction(0)


# What a statistic is: it evaluates on data, and knows its own sensitivities.
#
# A room such as ``mean.py`` gives one :class:`Statistic`: its value (as numpy defines it), its
# value in exact numbers, its exact sensitivities over each domain, and what smooth sensitivity and
# propose-test-release need.  Whatever a room does not answer (``None``) is answered by exhaustive
# search where the domain is small enough.


# An exact value: rational, a square root of a rational, or the counts of a histogram.
Exact: TypeAlias = Fraction | Root | tuple[int, ...]


class PublicRange(NamedTuple):
    """Properties of a statistic on every data set within bounds, the empty one included.

    Attributes:
        most: a bound on how far the value moves between any two neighbours.
        ends: bounds on the value; None where it grows with the number of records.
        empty: the public value that represents a data set without records.
    """

    most: Fraction
    ends: tuple[Fraction, Fraction] | None
    empty: Fraction


_PROOFS = ("answer", "at_distance", "public_range")
_APART = ("name", "marks", *_PROOFS)  # of a class that is replaced without another value


class Statistic(ABC):
    """A function of a multiset of numbers that knows its own sensitivities.

    Subclasses are frozen dataclasses, so that equal statistics are equal and hashable.

    **Proofs are not inherited by another function.**  What ``answer``, ``at_distance`` and
    ``public_range`` say was proven of the class that they are in.  A subclass that replaces
    anything else of that class (except for the name) is another function, and inherits none of
    them: they answer "nothing known", until it brings its own.
        ``class Mean(Monotone, proven=True)``
    vouches that the argument of the base class covers the new one, and says so in its docstring.
    """

    marks: ClassVar[Literal["line", "bins", "apart"]] = "apart"
    """Where a picture marks the value: on the line of the records, in bins (there are ``edges``),
    or on a line of its own."""

    def __init_subclass__(cls, *, proven: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        for proof in () if proven else _PROOFS:
            attribute = inspect.getattr_static(cls, proof)
            parents = [
                b for b in cls.__bases__ if inspect.getattr_static(b, proof, None) is attribute
            ]
            if proof not in vars(cls) and any(replaced(cls, parent, _APART) for parent in parents):
                setattr(cls, proof, vars(Statistic)[proof])

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that people use, such as ``"percentile(25)"``."""

    @abstractmethod
    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The values of many releases at once: shape (releases, records) to (releases,)."""

    @abstractmethod
    def exact(self, values: Sequence[Fraction]) -> Exact:
        """The value in exact numbers; ``values`` ascend, and are ``min_size`` or more."""

    @property
    def min_size(self) -> int:
        """The fewest records of which there is a value: one, unless a room says otherwise.

        Where it is 0 the empty release is a neighbour of those of few records.
        """
        return 1

    def of(self, sample: Sample) -> Exact:
        """The exact value of a sample; rooms override it where bulk arithmetic is faster."""
        return self.exact(sample.fractions())

    def __call__(self, data: npt.ArrayLike) -> float | npt.NDArray[np.float64]:
        """The value on a non-empty 1-D array, as numpy computes it."""
        return float(self.batch(np.asarray(data)[None, :])[0])

    def answer(self, question: Question) -> Sensitivity | None:
        """The exact sensitivity, or None where only a search can find it."""
        return None

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance | None:
        """``A(t)``, the largest local sensitivity within ``t`` steps of data in bounds.

        None where no algorithm is known over an interval.
        """
        return None

    def public_range(
        self, lower: Fraction, upper: Fraction, relation: Relation
    ) -> PublicRange | None:
        """The value's range over all data sets of records in ``[lower, upper]``; None if unknown.

        Smooth noise and propose-test-release rest on it: its author vouches for it.
        """
        return None

    def __str__(self) -> str:
        return self.name


def replaced(cls: type, parent: type, apart_from: Iterable[str]) -> bool:
    """Return whether a class has something else in place of what its parent has."""
    unchanged = {n for n in dir(parent) if not n.startswith(("__", "_abc_"))} - {*apart_from}
    return any(
        inspect.getattr_static(cls, n) is not inspect.getattr_static(parent, n) for n in unchanged
    )


def distance_between(a: Exact, b: Exact) -> Fraction | float:
    """Return the distance of two values of a statistic (histograms: the L1 distance).

    >>> distance_between(Fraction(1, 2), Fraction(2))
    Fraction(3, 2)
    >>> distance_between((1, 2), (0, 4))
    Fraction(3, 1)
    """
    if isinstance(a, tuple) or isinstance(b, tuple):
        assert isinstance(a, tuple)
        assert isinstance(b, tuple)
        return Fraction(sum(abs(p - q) for p, q in zip(a, b, strict=True)))
    return gap(a, b)


# The exact sensitivity of means and order statistics, by one argument for both.
#
# Let ``f`` be a statistic such that, with releases written in ascending order,
#
# 1. at a fixed size, ``f`` is a weighted sum of the ranks with non-negative weights (so that
#    raising a record never lowers ``f``); the weights add up to 1;
# 2. dropping the smallest record never lowers ``f`` and dropping the largest never raises it.
#
# The mean and every linearly interpolated quantile are of this kind (their rooms show 2).
#
# **Global.**  Take neighbours ``x`` and ``y`` that differ by ``r`` records on the one side and
# ``a`` on the other, let ``low`` be the size of the one with the smaller value and ``high`` the
# size of the other, and let ``T`` be their union, of ``m`` records.  For that same ``T``, the
# ``low`` smallest of ``T`` have a value no larger than ``x`` and the ``high`` largest one no
# smaller than ``y`` (by 1, rank by rank), and these two are again neighbours by the same move: they
# miss ``m - low`` and ``m - high`` different records of ``T``, because ``(m - low) + (m - high) <=
# m``.  So only
#
#     g(T) = f(the ``high`` largest of T) - f(the ``low`` smallest of T)
#
# is left to maximise over ``T``.  It is a fixed weighted sum of the ranks of ``T`` in which every
# negative weight stands below every positive one (shown in the rooms).  Let the first ``c`` ranks
# hold the negative weights and the rest the positive ones: ``g`` is then largest when the first
# ``c`` are as small as they can be and the others as large as they can be, so ``T`` is the ``c``
# smallest and the ``m - c`` largest records that there are.  Each move costs the evaluation of two
# values of ``f``; :meth:`~tacit.statistics.question.Question.frontier` says why few moves are
# enough.  Over values without limit, or an interval, the smallest records are copies of the least
# value and the largest are copies of the greatest.
#
# **Local.**  The neighbour of ``x`` by a move ``(r, a)`` with the largest value drops the ``r``
# smallest of ``x`` and gains the ``a`` largest of what is left over (by 1), the one with the
# smallest value the mirror image.  Dropping more of the smallest never hurts (by 2), so again the
# frontier is enough.
#
# **Any size.**  Without a size, ``k >= 2`` under ``unbounded``, and every ``k`` under ``bounded``,
# join ``{u_1}`` with ``{u_N}`` and the sensitivity is the whole range, as each value of ``f`` lies
# between the extremes.  Exactly ``k`` substituted is worst among releases of ``k`` records, where
# nothing is shared: more records only bring further ranks into both.  Otherwise the two are nested,
# ``S`` in ``T`` with ``|T| - |S| = k``, and a single record in ``S`` is worst: say ``f(S) > f(T)``;
# then ``f(S) <= u_N``, and by 1 and 2 ``f(T)`` is not below the value of ``f`` that the nested pair
# of a single record has (see the rooms).


class _Extreme(NamedTuple):
    """Two neighbours that stand out: ``low`` and ``high`` records of ``ends``; ``x`` is which."""

    ends: ExtremeRecords
    low: int
    high: int
    x_is_low: bool


class Monotone(Statistic):
    """A statistic that the argument of this module covers."""

    marks = "line"

    @abstractmethod
    def split(self, low: int, high: int, total: int) -> int:
        """Number of ranks of the union ``T`` with a negative weight in ``g(T)``."""

    @abstractmethod
    def on(self, data: Ranked, start: int, size: int) -> Fraction:
        """The exact value on the ``size`` ranks from ``start`` on."""

    def gap(self, union: ExtremeRecords, low: int, high: int) -> Fraction:
        """``g(T)``: the value of the ``high`` largest less that of the ``low`` smallest."""
        return self.on(union, len(union) - high, high) - self.on(union, 0, low)

    def rough_gap(self, union: ExtremeRecords, low: int, high: int) -> float | None:
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
                ends = ExtremeRecords(pool, self.split(low, high, union), union)
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
        minimum = max(known, default=0.0) - 2 * error
        return [c for c, v in zip(candidates, rough, strict=True) if v is None or v >= minimum]

    def _any_size(self, question: Question) -> Sensitivity:
        size, at_size = 1, question
        if question.relation == "bounded":
            size = 1 if question.within else question.distance
        elif question.relation == "unbounded" and question.within and question.distance >= 2:
            at_size = replace(question, distance=2)
        else:
            at_size = replace(question, relation="add")
        answer = self._global(at_size, size)
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
