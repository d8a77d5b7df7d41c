"""Medians, single percentiles, minima and maxima, interquartile ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any, Unpack, overload

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, as_percent, as_share, show
from tacit.calls import public
from tacit.core import Step
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.mechanisms.private_quantile import error_in_cost
from tacit.tables.noise import Array, Estimate
from tacit.tables.statistics.base import (
    QUANTILE_BITS,
    Aggregate,
    Setting,
    TableStatistic,
    bounded,
    only_global,
    register_statistic,
    with_method,
)
from tacit.tables.statistics.counted_quantiles import CountingPart, chosen
from tacit.tables.statistics.method import MethodName, Options
from tacit.tables.statistics.near_quantiles import other_parts
from tacit.tables.statistics.part import LEVEL, Noise, Part
from tacit.tables.statistics.quantile_choice import ChoicePart, ChooseQuantile, error_of_choice

# A quantile, a minimum or a maximum: ``median``, ``percentile``, ``min`` and ``max``.


_KINDS = ("median", "percentile", "min", "max")

_RESOLUTION = 10**4  # quantiles are resolved to a ten-thousandth


@dataclass(frozen=True)
class QuantilePart(ChoicePart):
    """A quantile of a column, with an interval of two further choices."""

    # The point takes half of the loss and each end a quarter.  The ends aim so far below and above
    # the quantile that each is on its side with probability ``1 - (1 - level) / 2``; for
    # the minimum and the maximum the point itself is such an end, and the other end is the bound.

    kind: str
    quantile: Fraction

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"{self.kind} of {self.column}"

    @cached_property
    def share(self) -> Fraction:
        """The quantile to the resolution of the choice."""
        return self.quantile.limit_denominator(_RESOLUTION)

    @property
    def _extreme(self) -> bool:
        return self.share in (0, 1)

    def _choices(self, noise: Noise) -> list[ChooseQuantile]:
        q, beta = self.share, (1 - LEVEL) / 2
        if self._extreme:
            return [self.choice(q, noise, Fraction(1), 1 if q == 0 else -1, beta)]
        return [
            self.choice(q, noise, Fraction(1, 2)),
            self.choice(q, noise, Fraction(1, 4), -1, beta),
            self.choice(q, noise, Fraction(1, 4), 1, beta),
        ]

    def scale(self, noise: Noise) -> Fraction:
        """Return the scale of the choice of the value."""
        return Fraction(self._choices(noise)[0].scale)

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chains: the costs, and a choice, for the point and for each end."""
        costs = self.costs(self.share, size, by, noise.one)
        return [(costs, choice) for choice in self._choices(noise)]

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the quantile; it has an interval and no standard error."""
        first, step = float(self.grid.value(0)), float(self.grid.step)
        point, *ends = self.points(released)
        unknown = np.full_like(point, np.nan)
        bottom = np.full_like(point, first)
        top = np.full_like(point, first + step * self.grid.cells)
        if self._extreme:
            low, high = (bottom, point) if self.share == 0 else (point, top)
        else:
            low, high = np.minimum(ends[0], point), np.maximum(ends[1], point)
        # A median and the 50th percentile of one column are one answer, whatever it is called.
        return dict.fromkeys(_KINDS, Estimate(point, unknown, low, high))

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float:
        """Return how far off in rank the answer is at most, at a level, in *rows*."""
        choice = self._choices(noise)[0]
        slack = error_in_cost(self.grid.cells, Fraction(choice.scale), 1 - level)
        return (slack + abs(choice.target)) / (self.share.denominator * noise.one)

    def interval(self, noise: Noise, level: float) -> float:
        """Return how far in rank an end of the interval is expected to reach, in *rows*."""
        # The end is off its target by x or more with probability about ``exp(-x / scale)`` where
        # the rows are spread evenly.
        end = self._choices(noise)[-1]
        off = math.log(1 / (1 - level)) * float(end.scale)
        return (abs(end.target) + off) / (self.share.denominator * noise.one)


@public
def median(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: MethodName = "global",
    bound: Number | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Aggregate:
    """Return the median of a column clamped to [lower, upper].

    Args:
        column: the name of the column.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        method: ``"global"`` (the default: noise for the worst data there could be, with an
            interval), ``"smooth"`` (noise scaled to the smooth sensitivity), ``"ptr"``
            (propose-test-release: a bound on the local sensitivity is tested, and the answer may be
            refused), ``"sample_and_aggregate"``, or ``"auto"``, the one with the least expected
            error on made-up rows of several shapes.
        bound: for ``"ptr"``, the local sensitivity to propose, or ``"search"``.
        bins: for ``"sample_and_aggregate"``, how many bins of rows.
        distribution: for ``"smooth"``, the distribution of its noise.
        rows: for ``"auto"``, about how many rows a group has.

    Raises:
        UsageError: bounds missing or reversed, an unknown method, an option that does not fit.

    >>> print(median("age", 0, 100), median("age", 0, 100, method="smooth"))
    median(age, 0, 100) median(age, 0, 100, method=smooth)
    """
    made = bounded(MedianOfColumn, column, lower, upper, q=Fraction(50))
    return with_method(made, method, bound, bins, distribution, rows)


# ``percentile(90)`` and ``quantile("0.9")`` are one question, written in percent, and so have one
# ledger key.  Either refuses what was surely meant for the other: a decimal between 0 and 1 is no
# percentile, and a number above 1 no quantile.  A ratio such as ``"1/2"`` of a percent is taken, as
# nobody writes it by mistake, and plan files hold it.


def _percent(q: object) -> Fraction:
    """Return a percentile, refusing what looks like a quantile."""
    if isinstance(q, (list, tuple, np.ndarray)):
        raise UsageError(
            "a percentile is one number: several are tc.percentiles('age', [25, 50], 0, 100)"
        )
    percent = as_percent(q)
    ratio = isinstance(q, Fraction) or (isinstance(q, str) and "/" in q)
    if 0 < percent < 1 and not ratio:
        near = _ratio(percent)
        meant = "50, the median" if near == Fraction(1, 2) else show(100 * near)
        raise UsageError(
            f"a percentile is from 0 to 100, not from 0 to 1 as of quantile(): write {meant}; "
            f"{show(near)} of a percent is '{near}'"
        )
    return percent


def _share(q: object) -> Fraction:
    """Return a quantile, refusing what looks like a percentile."""
    if isinstance(q, (list, tuple, np.ndarray)):
        raise UsageError(
            "q is one number from 0 to 1; several are tc.percentiles(column, [25, 50, 75], lower, "
            "upper), and the scores of candidates in a chain tc.framework.quantile_scores(q, list)"
        )
    share = as_fraction(q, "a quantile")
    if 1 < share <= 100:
        raise UsageError(
            f"a quantile is from 0 to 1, not from 0 to 100 as of percentile(): write "
            f"'{show(_ratio(share) / 100)}'"
        )
    share = as_share(q)
    return share if isinstance(q, (str, Rational)) else _ratio(share)


def _ratio(number: Fraction) -> Fraction:
    """Return a ratio as people write the double that is nearest to it: 9/10 for 0.9."""
    short = number.limit_denominator(10**4)
    return short if float(short) == float(number) else Fraction(repr(float(number)))


def _one_of(column: str | Number | None, q: Number | None, kind: str) -> tuple[str | None, Number]:
    """Return the column, where there is one, and q: the first argument may be either."""
    if q is None:
        column, q = None, column
    if q is None or not (column is None or isinstance(column, str)):
        raise UsageError(f'a {kind} of a column is {kind}("column", q, lower, upper)')
    return column, q


@overload
def percentile(q: Number, /, **options: Unpack[Options]) -> Aggregate: ...


@overload
def percentile(
    column: str,
    q: Number,
    lower: Number | None = None,
    upper: Number | None = None,
    **options: Unpack[Options],
) -> Aggregate: ...


@public
def percentile(
    column: str | Number | None = None,
    q: Number | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: MethodName = "global",
    bound: Number | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Aggregate:
    """Return a percentile: ``percentile("age", 90, 0, 100)`` of a column, or ``percentile(90)``.

    ``q`` is from 0 to 100: 50 is the median.  :func:`quantile` takes it from 0 to 1.  The other
    arguments are those of :func:`median`; without a column it is a statistic of
    :func:`tacit.sensitivity`.

    Raises:
        UsageError: a percentile outside 0..100; a decimal between 0 and 1, which is nearly always a
            quantile (half of a percent is ``"1/2"``).

    >>> print(percentile("age", 90, 0, 100))
    percentile(age, 90, 0, 100)
    """
    column, q = _one_of(column, q, "percentile")
    made = bounded(PercentileOfColumn, column, lower, upper, q=_percent(q))
    return with_method(made, method, bound, bins, distribution, rows)


@overload
def quantile(q: Number, /, **options: Unpack[Options]) -> Aggregate: ...


@overload
def quantile(
    column: str,
    q: Number,
    lower: Number | None = None,
    upper: Number | None = None,
    **options: Unpack[Options],
) -> Aggregate: ...


@public
def quantile(
    column: str | Number | None = None,
    q: Number | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: MethodName = "global",
    bound: Number | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Aggregate:
    """Return a quantile: ``quantile("age", 0.9, 0, 100)`` of a column, or ``quantile(0.9)``.

    ``q`` is from 0 to 1: 0.5 is the median.  A float is read as it is written, 0.9 as 9/10.  It is
    the :func:`percentile` of ``100 q``, with its arguments: the same question, and so the same
    answer for free once either was released.

    Raises:
        UsageError: q outside 0..1; above 1 it is a percentile.

    >>> print(quantile("age", 0.9, 0, 100))
    percentile(age, 90, 0, 100)
    """
    column, q = _one_of(column, q, "quantile")
    made = bounded(PercentileOfColumn, column, lower, upper, q=100 * _share(q))
    return with_method(made, method, bound, bins, distribution, rows)


@public
def min(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return a private minimum of a column: a low value that a handful of rows may be below.

    No differentially private answer can be the exact minimum, which is one person's value.

    Args:
        column: the name of the column; None for a statistic of :func:`tacit.sensitivity`.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        method: ``"global"``, the only one.

    >>> print(min("age", 0, 100))
    min(age, 0, 100)
    """
    only_global("min", method)
    return bounded(Low, column, lower, upper, q=Fraction(0))


@public
def max(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return a private maximum of a column: a high value that a handful of rows may be above.

    Arguments are those of :func:`min`.

    >>> print(max("age", 0, 100))
    max(age, 0, 100)
    """
    only_global("max", method)
    return bounded(High, column, lower, upper, q=Fraction(100))


@dataclass(frozen=True)
class QuantileOfColumn(TableStatistic):
    """A quantile of a column, whatever it is called."""

    q: Fraction | None = None  # in 0..100

    bits = QUANTILE_BITS
    local_bits = QUANTILE_BITS

    def shared(self) -> Any:
        return QuantileOfColumn, self.clamped, self.q

    def _fields_to_json(self) -> dict[str, object]:
        return {"q": str(self.q)}

    def part(self, setting: Setting, before: Part | None) -> Part:
        grid, q = setting.grid(self, self.bits), as_fraction(self.q or 0) / 100
        column, choosing = self.require_column(), setting.choosing
        first = QuantilePart(column, grid, self.kind, q)
        others = other_parts(column, grid, [first.share], choosing, *_KINDS[:2])
        return chosen([first, *others], choosing)

    @property
    def _resolved(self) -> Fraction:
        return (as_fraction(self.q or 0) / 100).limit_denominator(_RESOLUTION)

    def local_statistic(self) -> str:
        percent = 100 * self._resolved
        return "median" if percent == 50 else f"percentile({percent})"

    def error_on(self, grid: Grid, counted: bool, noise: Noise, made: Array) -> float:
        column, q = self.require_column(), self._resolved
        first = QuantilePart(column, grid, self.kind, q)
        answering = chosen([first, *other_parts(column, grid, [q], noise, *_KINDS[:2])], noise)
        if isinstance(answering, CountingPart):
            return answering.error_on(noise, made)
        return error_of_choice(grid, q, made, noise.one, first.scale(noise))


@register_statistic
@dataclass(frozen=True)
class MedianOfColumn(QuantileOfColumn):
    """The statistic ``median``."""

    kind = "median"
    order = 70
    make = staticmethod(median)
    help = "The median."
    noun = "the median of {column}"
    methods = True


@register_statistic
@dataclass(frozen=True)
class PercentileOfColumn(QuantileOfColumn):
    """The statistic ``percentile``."""

    kind = "percentile"
    elsewhere = ("quantile", "percentile_cont")
    order = 80
    make = staticmethod(percentile)
    help = "A percentile, Q in 0..100."
    noun = "the {q}th percentile of {column}"
    fields = ("column", "q", "lower", "upper")
    methods = True

    @property
    def statistic(self) -> Any:
        from tacit.statistics import percentile as statistic

        return statistic(as_fraction(self.q or 0))

    def label(self) -> str:
        return "_".join([self.kind, show(as_fraction(self.q or 0)), self.column or ""]).rstrip("_")

    def _shown(self) -> tuple[list[str], list[str]]:
        return [show(as_fraction(self.q or 0))], []


@register_statistic
@dataclass(frozen=True)
class Low(QuantileOfColumn):
    """The statistic ``min``."""

    kind = "min"
    order = 90
    make = staticmethod(min)
    help = "A low value, near the minimum."
    noun = "a low value of {column} (about its minimum)"


@register_statistic
@dataclass(frozen=True)
class High(QuantileOfColumn):
    """The statistic ``max``."""

    kind = "max"
    order = 100
    make = staticmethod(max)
    help = "A high value, near the maximum."
    noun = "a high value of {column} (about its maximum)"


# How far apart the quartiles of a column are: the kind ``interquartile_range``.
#
# **Mechanism.**  Both quartiles, and an end on each side of each, are points of the grid that the
# exponential mechanism chooses (:mod:`tacit.tables.statistics.quantile_choice`): six choices, of
# which the two quartiles take half of the loss and the four ends the other half.  Their losses
# add up, by sequential composition, in pure DP and in zCDP.  All else is post-processing: the
# answer is the third quartile less the first, held at zero where the choices have crossed.
#
# **Interval.**  Each end is on the wrong side of its quartile with probability at most a quarter of
# ``1 - level``.  So with probability ``level`` or more all four are right (the union bound), and
# then ``low_1 <= Q_1 <= high_1`` and ``low_3 <= Q_3 <= high_3``, whatever quartiles are taken where
# the rows leave a choice, interpolated ones too; hence ``low_3 - high_1 <= Q_3 - Q_1 <= high_3 -
# low_1``. The range is never below zero, so an end of the interval below zero is moved to zero.


_QUARTILES = Fraction(1, 4), Fraction(3, 4)
# The shares of the loss: of each of two quartiles, and of each of four ends.
_POINT, _END = Fraction(1, 4), Fraction(1, 8)


@public
def interquartile_range(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return the interquartile range of a column clamped to [lower, upper].

    Between the first and the third quartile lies the middle half of the rows.  The answer is in the
    unit of the column, and has an interval.  Arguments are those of :func:`min`.

    Raises:
        UsageError: bounds missing or reversed, or another method.

    Source: McSherry and Talwar 2007 for the choice of each quartile.

    >>> print(interquartile_range("age", 0, 100))
    interquartile_range(age, 0, 100)
    """
    only_global("interquartile_range", method)
    return bounded(InterquartileRangeOfColumn, column, lower, upper)


@dataclass(frozen=True)
class InterquartileRangePart(ChoicePart):
    """The interquartile range of a column, with an interval; see the module."""

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"interquartile range of {self.column}"

    def _choices(self, noise: Noise) -> list[tuple[Fraction, ChooseQuantile]]:
        """Return the choices of both quartiles, then of the ends of the first and of the third."""
        beta = (1 - LEVEL) / 4
        points = [(q, self.choice(q, noise, _POINT)) for q in _QUARTILES]
        ends = [
            (q, self.choice(q, noise, _END, side, beta)) for q in _QUARTILES for side in (-1, 1)
        ]
        return points + ends

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chains: the costs of a quartile, and a choice among the candidates."""
        choices = self._choices(noise)
        return [(self.costs(q, size, by, noise.one), choice) for q, choice in choices]

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the range; it has an interval and no standard error."""
        first, third, low_1, high_1, low_3, high_3 = self.points(released)
        value = np.maximum(third - first, 0.0)
        low, high = np.maximum(low_3 - high_1, 0.0), np.maximum(high_3 - low_1, 0.0)
        unknown = np.full_like(value, np.nan)
        return {"interquartile_range": Estimate(value, unknown, low, high)}

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float:
        """Return how far off in rank both quartiles are at most, at a level, in *rows*."""
        _, choice = self._choices(noise)[0]
        slack = error_in_cost(self.grid.cells, Fraction(choice.scale), (1 - level) / 2)
        return slack / (4 * noise.one)

    def interval(self, noise: Noise, level: float) -> float:
        """Return how far in rank an end of either quartile is expected to reach, in *rows*."""
        _, end = self._choices(noise)[-1]
        off = math.log(1 / (1 - level)) * float(end.scale)
        return (abs(end.target) + off) / (4 * noise.one)


@register_statistic
@dataclass(frozen=True)
class InterquartileRangeOfColumn(TableStatistic):
    """The statistic ``interquartile_range``."""

    kind = "interquartile_range"
    order = 105
    make = staticmethod(interquartile_range)
    help = "How far apart the quartiles are."
    noun = "the interquartile range of {column}"
    bits = QUANTILE_BITS

    def part(self, setting: Setting, before: Part | None) -> Part:
        column, grid = self.require_column(), setting.grid(self, self.bits)
        first, choosing = InterquartileRangePart(column, grid), setting.choosing
        return chosen(
            [first, *other_parts(column, grid, _QUARTILES, choosing, self.kind)], choosing
        )
