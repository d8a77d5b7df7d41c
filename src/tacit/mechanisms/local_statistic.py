"""Statistics with local sensitivities, as mechanisms use them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import as_fraction, show
from tacit.arithmetic.roots_and_bisection import Root
from tacit.core import Category, ChangeOneDistance, Number, Space, SymmetricDistance, Vector
from tacit.errors import MismatchError, UsageError, shown_value
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.means import TrimmedMean
from tacit.statistics.question import Relation
from tacit.statistics.samples import Sample
from tacit.statistics.search import Function
from tacit.statistics.smooth import at_distance
from tacit.statistics.statistic import AtDistance, PublicRange, Statistic, rounded_up


def total(function: Function, lower: float, upper: float) -> Function:
    """Return a function that gives the middle of the bounds where the given one gives no number.

    >>> f = total(Function(lambda row: 1 / row[0]), 0.0, 3.0)
    >>> f(np.array([0.0])), f(np.array([0.25])), f(np.array([1.0]))
    (1.5, 3.0, 1.0)
    """
    # What lies outside the bounds counts as the nearer one.
    one = _one_of(function.function) if function.many else function.function
    return Function(_Total(one, lower, upper, (lower + upper) / 2))


@dataclass(frozen=True)
class _Total:
    """A function that always gives one number within bounds: the middle where it gives none."""

    function: Callable[..., Any]
    lower: float
    upper: float
    default: float

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", "function"))

    def __call__(self, row: Any) -> float:
        try:
            result = float(self.function(np.array(row)))
        except Exception:  # whatever the data makes a function raise must not be seen
            return self.default
        return min(max(result, self.lower), self.upper) if result == result else self.default


def _one_of(rows: Callable[..., Any]) -> Callable[..., Any]:
    return lambda row: rows(np.asarray(row)[None, :])[0]


# A statistic put to work: total on every data set, with its local sensitivity at a distance.
#
# What smooth noise and propose-test-release share: they read a statistic, its public bounds and the
# relation of neighbours once, and then ask about data without being able to fail on it.
#
# **Few records.**  The algorithms of :mod:`tacit.statistics` speak of data sets that are not empty.
# Where records join and leave, the empty one has neighbours too.  It gets a public value, and
#
#     ``A+(t) = A(t)`` while ``t < n - 1``, and ``full`` from there on,
#
# with ``full`` a public bound on how far the statistic can ever move, the empty data set included.
# Then ``A+`` bounds the local sensitivity at ``t = 0`` (data sets of no or one record have
# ``full``), and ``A+`` of a data set at ``t`` is at most ``A+`` of its neighbour at ``t + 1``: for
# sizes ``n`` and ``n + 1`` the limits ``t < n - 1`` and ``t + 1 < n`` say the same, and so do, the
# other way round, ``t < n`` and ``t + 1 < n - 1`` or else ``full``.
#
# **Many records of a function.**  A function over a small value set is searched exhaustively, which
# ends at some size ``N``.  Where ``n + t + 1 > N``, ``A+`` is ``full`` as well; the limit reads the
# same for ``(n, t)`` and ``(n + 1, t - 1)`` and only ever raises it, so that both properties stay.


# Releases of a function that are evaluated at most, where the number of records is private.
_STATES = 1 << 14
_STATES_OF_ONE_SIZE = 1 << 20
_WIDEST = Fraction(10**120)


def read_statistic(statistic: Any) -> Statistic:
    """Return the statistic of a name, ``"trimmed_mean(0.1)"`` and ``"trimmed_mean"`` among them.

    >>> read_statistic("trimmed_mean(1/4)").name, read_statistic("interquartile_range").name
    ('trimmed_mean(0.25)', 'interquartile_range')
    """
    if isinstance(statistic, str) and statistic.startswith("trimmed_mean"):
        share = statistic.removeprefix("trimmed_mean").strip("()_: ")
        return TrimmedMean(as_fraction(share, "the share to trim")) if share else TrimmedMean()
    return lookup(statistic)


def column_space(bounds: Any, relation: str, values: Sequence[Any] | None) -> Space:
    """Return the space of columns within bounds, or of a few values, under a relation.

    >>> print(column_space((0, 9), "bounded", None))
    vector of float in [0, 9], change-one distance (records changed, size public)
    """
    metrics = {"unbounded": SymmetricDistance(), "bounded": ChangeOneDistance()}
    if relation not in metrics:
        raise UsageError(
            f"relation must be 'unbounded' or 'bounded', not {relation!r}: privacy protects "
            "both of two neighbours, so it cannot rest on a relation of one direction"
        )
    if values is not None:
        return Space(Vector(Category(tuple(values))), metrics[relation])
    if bounds is None:
        raise UsageError(
            "give bounds=(lower, upper), public numbers that do not come from the data, or "
            "values=[...], the few public values that a record may have"
        )
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise UsageError(f"bounds must be a pair (lower, upper), not {shown_value(bounds)}")
    lower, upper = as_fraction(bounds[0], "lower bound"), as_fraction(bounds[1], "upper bound")
    return Space(Vector(Number("float", lower, upper)), metrics[relation])


def nearest_unit(value: Fraction | Root, grid: Fraction) -> int:
    """Return ``floor(value / grid + 1/2)``, exactly.

    >>> nearest_unit(Fraction(5, 2), Fraction(1)), nearest_unit(Root(Fraction(2)), Fraction(1, 2))
    (3, 3)
    """
    # It moves by at most ``k`` where the value moves by at most ``k grid``, for whole ``k``: it
    # never falls, and a shift of the value by ``k grid`` shifts it by ``k``.
    if isinstance(value, Fraction):
        return int((value / grid + Fraction(1, 2)).__floor__())
    bits = 80
    while True:  # an irrational root is never on an edge between two units
        low, high = (nearest_unit(end, grid) for end in value.enclose(bits))
        if low == high:
            return low
        bits *= 2


class StatisticReading:
    """A data set as a statistic reads it; what is known of it lives as long as it does."""

    def __init__(self, sample: Sample | None) -> None:
        self.sample = sample
        self.steps: AtDistance | None = None

    def __len__(self) -> int:
        return 0 if self.sample is None else len(self.sample)

    def __repr__(self) -> str:
        return "<Reading of private records>"


class LocalStatistic:
    """A statistic on a column, total: value and ``A+`` of every data set, even of none.

    >>> s = LocalStatistic("median", column_space((0, 10), "unbounded", None))
    >>> s.value(s.read([1, 2, 9])), s.value(s.read([])), s.full
    (Fraction(2, 1), Fraction(5, 1), Fraction(10, 1))
    """

    # space: columns of bounded numbers that are never missing, or of a few known numbers, under the
    #   symmetric or the change-one distance.
    # bounds: of a function's results; what lies outside counts as the nearer bound, and the middle
    #   represents an exception, NaN or anything that is not a number.

    def __init__(self, statistic: Any, space: Space, bounds: Any = None) -> None:
        self.space, self.given = space, statistic
        self.relation: Relation = _relation(space)
        self.values = _values(space)
        self.statistic = read_statistic(statistic)
        if self.values is None:
            self.bounds = _bounds(space)
            if bounds is not None and tuple(map(as_fraction, bounds)) != self.bounds:
                raise UsageError("the bounds are those of the column; do not give others")
        else:
            self.bounds = min(self.values), max(self.values)
        _refuse_extremes(*self.bounds)
        if isinstance(self.statistic, Function):
            self._prepare_function(bounds)
        elif self.values is None and self._probe() is None:
            raise UsageError(
                f"no algorithm is known for {self.statistic.name} over an interval under "
                f"{self.relation!r} neighbours; "
                + (
                    "take relation='bounded', or give values=[...]"
                    if isinstance(self.statistic, TrimmedMean)
                    else "give values=[...], a few public values, and bounds= of the result"
                )
            )
        self.full, self.range, self.default = self._public()

    @property
    def name(self) -> str:
        """Name of the statistic."""
        return self.statistic.name

    def _prepare_function(self, bounds: Any) -> None:
        if self.values is None:
            raise UsageError(
                "a function needs values=[...]: the few public values that a record may have"
            )
        if bounds is None:
            raise UsageError(
                "give bounds=(lower, upper) of the function's results: what lies outside is clipped"
            )
        assert isinstance(self.statistic, Function)
        low, high = (as_fraction(b, "bounds") for b in bounds)
        if low >= high:
            raise UsageError(f"bounds are reversed: {show(low)} is not below {show(high)}")
        # a public trial: a function that never works is refused now, by its own message
        self.statistic(np.array([float(v) for v in self.values]))
        self.result_bounds = Fraction(float(low)), Fraction(float(high))
        self.statistic = total(self.statistic, *map(float, self.result_bounds))

    def _probe(self) -> AtDistance | None:
        try:
            return at_distance(self.statistic, [*self.bounds], self.bounds, self.relation)
        except UsageError:
            return None

    def _public(self) -> PublicRange:
        """Bounds that hold for every data set, with the value of the empty one."""
        # They are those of the statistic's type: a name says nothing about what a function does.
        if isinstance(self.statistic, Function):
            low, high = self.result_bounds
            return PublicRange(high - low, (low, high), (low + high) / 2)
        public_range = self.statistic.public_range(*self.bounds, self.relation)
        if public_range is None:
            raise UsageError(
                f"no public range is known for {self.name}; give it as a function, with bounds="
            )
        return public_range

    def read(self, records: Any) -> StatisticReading:
        """Return the records of an internal member, to ask about."""
        # A table hands in a sample, which is counted and not written out.
        # A label that is none of the values counts as the first of them.
        if isinstance(records, Sample):
            return StatisticReading(records if len(records) else None)
        if self.values is None:
            listed: Any = np.asarray(records, dtype=np.float64)
        else:
            known = self.values[0]
            listed = [known if r is None else as_fraction(r) for r in records]
        return StatisticReading(Sample(listed) if len(listed) else None)

    def value(self, reading: StatisticReading) -> Fraction | Root:
        """Return the exact value; that of no records is the public default."""
        if reading.sample is None:
            return self.default
        value: Any = self.statistic.of(reading.sample)
        return value if isinstance(value, Root) else Fraction(value)

    def limit(self, size: int) -> int | None:
        """Return the first distance from which ``A+`` is ``full``, or None if there is none."""
        steps = [size - 1] if self.relation == "unbounded" else []
        if self.values is not None:
            steps.append(self._largest_size - size if self.relation == "unbounded" else 1 << 60)
            if self.relation == "bounded" and not self._can_search(size):
                steps.append(0)
        return max(0, min(steps)) if steps else None

    @cached_property
    def _largest_size(self) -> int:
        assert self.values is not None
        size = 1
        while (size + 3) ** len(self.values) <= _STATES:
            size += 1
        return size

    def _can_search(self, size: int) -> bool:
        assert self.values is not None
        return bool((size + 1) ** len(self.values) <= _STATES_OF_ONE_SIZE)

    def _at(self, reading: StatisticReading, limit: int | None) -> AtDistance:
        """Return ``A(t)`` of records that are there."""
        if reading.steps is None:
            assert reading.sample is not None
            if self.values is None:
                reading.steps = at_distance(
                    self.statistic, reading.sample, self.bounds, self.relation
                )
            else:
                reading.steps = at_distance(
                    self.statistic,
                    reading.sample,
                    None,
                    self.relation,
                    values=self.values,
                    farthest=max(0, (limit or 1) - 1),
                    largest=self.full,
                )
        return reading.steps

    def smooth(self, reading: StatisticReading, beta: Fraction) -> Fraction:
        """Return ``max_t exp(-beta t) A+(t)``, never below the truth; smooth as its parts are."""
        # Where the logarithms of two functions move by at most so much between neighbours, so does
        # that of their maximum.  A floor of ``full 2**-400`` keeps clear of the smallest floats.
        limit = self.limit(len(reading))
        floor = self.full * Fraction(1, 2**400)
        if not len(reading):
            return self.full if limit is not None else floor
        if limit == 0:
            return self.full
        own = min(self.full, Fraction(rounded_up(self._at(reading, limit).smooth(beta))))
        if limit is None:
            return max(own, floor)
        return max(own, exp(-beta * limit).upper * self.full, floor)

    def distance(self, reading: StatisticReading, bound: Fraction) -> int | None:
        """Return ``min {t : A+(t) > bound}``, or None where there is none."""
        return self.distances(reading, [bound])[0]

    def distances(self, reading: StatisticReading, bounds: Sequence[Fraction]) -> list[int | None]:
        """Return :meth:`distance` for each of several bounds, which ascend."""
        limit = self.limit(len(reading))
        distances: list[int | None] = [None] * len(bounds)
        if len(reading) and limit != 0:
            distances = self._at(reading, limit).instabilities(bounds)

        def smaller(distance: int | None, bound: Fraction) -> int | None:
            if self.full <= bound:
                return None
            known = [d for d in (distance, limit) if d is not None]
            return min(known) if known else None

        return [smaller(d, b) for d, b in zip(distances, bounds, strict=True)]


def _refuse_extremes(low: Fraction, high: Fraction) -> None:
    """Raise if the squares or the distance of bounds overflow a float: errors are floats."""
    if max(abs(low), abs(high)) > _WIDEST or high - low < 1 / _WIDEST:
        raise UsageError(
            "the bounds must be within 1e120 of zero and at least 1e-120 apart: give others, or "
            "count in another unit"
        )


def _relation(space: Space) -> Relation:
    if isinstance(space.metric, SymmetricDistance):
        return "unbounded"
    if isinstance(space.metric, ChangeOneDistance):
        return "bounded"
    raise MismatchError(
        "local sensitivity is known under the symmetric and the change-one distance, not under "
        f"{space.metric}",
        space,
    )


def _values(space: Space) -> tuple[Fraction, ...] | None:
    domain = space.domain
    element = domain.element if isinstance(domain, Vector) else None
    if isinstance(element, Category) and element.categories is not None:
        values = sorted(as_fraction(v, "values") for v in element.categories)
        if len(values) < 2:
            raise UsageError("give at least two values; a single one cannot change")
        return tuple(values)
    if isinstance(element, Number) and element.bounds is not None and not element.nullable:
        return None
    raise MismatchError(
        f"this works on a column of bounded numbers that are never missing, or of a few known "
        f"values, not on ({space}); chain impute and clamp before it",
        space,
    )


def _bounds(space: Space) -> tuple[Fraction, Fraction]:
    low, high = space.domain.element.bounds  # type: ignore[attr-defined]
    if low >= high:
        raise UsageError(f"bounds must be (lower, upper) with lower below upper, not {show(low)}")
    return low, high


# The mean absolute error of discrete Laplace noise around an offset, and within public ends.
#
# In units of the grid, with ``q = e^(-1/s)`` and an integer ``m >= 0``
#
#     ``E max(X - m, 0) = P(X >= m + 1) + P(X >= m + 2) + ... = q^(m+1) / (1 - q^2)``,
#
# and between integers it is linear; ``E max(X + a, 0) = a + E max(X - a, 0)`` by symmetry.
# Where the sum is clipped at ``high``, ``max(X - t, 0)`` becomes ``max(X - t, 0) - max(X - high,
# 0)`` for every ``t <= high``.


def laplace_distance(
    offset: Any, scale: Any, low: float = -math.inf, high: float = math.inf
) -> NDArray[np.float64]:
    """Return ``E|clip(offset + X) - 0|``, X discrete Laplace, all in units of the grid.

    >>> laplace_distance(np.array([0, 3.5]), np.array([1e6, 1e-3])).round(3).tolist()
    [1000000.0, 3.5]
    """
    at = np.asarray(offset, dtype=np.float64)
    above = _excess(-at, scale) - _excess(high - at, scale)
    return above + _excess(at, scale) - _excess(at - low, scale)


def distance_on_grid(
    value: Fraction | Root, grid: Fraction, scale: Any, ends: tuple[float, float] | None
) -> float:
    """Return the mean distance from a value of its nearest multiple of a grid plus noise.

    >>> distance_on_grid(Fraction(7, 2), Fraction(1), 1e-3, None)
    0.5
    """
    exact = value if isinstance(value, Fraction) else sum(value.enclose(128)) / 2
    offset = nearest_unit(value, grid) - exact / grid
    low, high = (-math.inf, math.inf)
    if ends is not None:
        low, high = (float((Fraction(end) - exact) / grid) for end in ends)
    return float(laplace_distance(float(offset), float(scale), low, high)) * float(grid)


def _excess(y: NDArray[np.float64], scale: Any) -> NDArray[np.float64]:
    """Return ``E max(X - y, 0)``."""
    size = np.where(np.isinf(y), 0.0, np.abs(y))
    floor = np.floor(size)
    part = size - floor
    ratio = np.exp(-1 / np.asarray(scale, dtype=np.float64))
    tail = np.exp(-(floor + 1) / scale) / -np.expm1(-2 / np.asarray(scale, dtype=np.float64))
    excess = tail * (1 - part + part * ratio) + np.maximum(-y, 0)
    return np.where(np.isinf(y), 0.0, excess)
