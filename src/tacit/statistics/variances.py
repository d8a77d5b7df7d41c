"""Variance and standard deviation."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import float_up
from tacit.arithmetic.roots_and_bisection import Root, gap
from tacit.errors import InfeasibleError
from tacit.statistics.dispersion import Dispersion
from tacit.statistics.dispersion_candidates import SpreadMeasure
from tacit.statistics.question import Relation
from tacit.statistics.samples import Array, ClampedRecords
from tacit.statistics.statistic import AtDistance

# Local sensitivity of the variance at a distance, where records join or leave.
#
# ``T = S + e``, ``s = |S|``, with mean ``m`` and sum of squared deviations ``D`` of ``S``:
#
#     ``V(T) - V(S) = alpha (e - m)**2 - gamma D``,
#
# ``alpha = s / (s+1)**2, gamma = 1 / (s (s+1))`` for ``ddof = 0``, and ``alpha = 1 / (s+1), gamma =
# 1 / (s (s-1))`` for ``ddof = 1``.
#
# **Rises** (exact up to the rounding of floats).  The record ``e`` is ``U`` and joins ``S``, or is
# the largest of ``x`` and leaves ``T`` (or the mirror image): the rise is convex in ``e``.  As ``D
# = Q - s m**2`` with ``Q`` the sum of squares, the rise is a convex function of the mean of ``S``
# minus ``gamma Q``.  A convex function is the supremum of its tangents, so the best ``S`` is also
# best for the tangent at its own mean, that is for ``-gamma sum (v - z)**2`` with one ``z``: the
# records kept are those nearest to ``z``, consecutive in ``x``, and all the others are at one
# place in ``[L, U]``.  In that place the rise is a quadratic: its top where it is concave, or a
# bound.
#
# **Falls** (an upper bound).  A fall is at most ``gamma D``, reached by ``e = m``, and ``D`` is at
# most the squared distances from any centre: those of the records of ``x`` without the nearest
# ones, and the largest possible one for each that joined.  The smallest such bound over 33 public
# centres is taken: for each centre it is a maximum over all ``S`` in reach, so a neighbour's bound
# one step further is never smaller, which smooth sensitivity rests on.  Mostly the rise is larger:
# then ``A(t)`` is the truth.
#
# Beyond 128 steps a bound that needs no data but ``n`` serves: ``alpha (U - L)**2`` for the least
# ``s``.  It bounds rises because ``gamma D >= 0``, and falls because ``gamma D <= gamma s (U -
# L)**2 / 4``. It is rational, so it also decides :meth:`VarianceBySize.exceeds`, where no rounding
# is allowed.


Floats = npt.NDArray[np.float64]
_STEPS = 128
_CENTRES = 33
_MAX_RECORDS = 2 * 10**6


class VarianceBySize(AtDistance):
    """A proven upper bound on ``A(t)`` under ``unbounded``, ``add`` or ``remove``."""

    exact = False

    def __init__(self, data: ClampedRecords, relation: Relation, ddof: int) -> None:
        self.n = len(data)
        self.relation, self.ddof = relation, ddof
        self.span = float_up(data.span)
        self._square = data.span**2
        self.last = {"add": _STEPS + 1, "remove": max(self.n - 2 - ddof, 0)}.get(
            relation, self.n + 1
        )
        self._data = data

    @cached_property
    def _sides(self) -> tuple[Floats, Floats]:
        """The records, and those of the mirror image, in floats above the lower bound."""
        return self._shifted(self._data), self._shifted(self._data.mirrored())

    @staticmethod
    def _shifted(data: ClampedRecords) -> Floats:
        ranks, unit = data.quick
        return np.asarray((ranks[2:-2] - ranks[0]).astype(np.float64) * float(unit))

    def at(self, distance: int) -> float:
        """An upper bound on ``A(distance)``, in floats, rounded up."""
        t = min(distance, self.last)
        far = float_up(self.rational(t))
        tabled = t <= _STEPS and self.n <= _MAX_RECORDS
        return min(far, float(self._table[t])) if tabled else far

    def exceeds(self, distance: int, bound: Fraction) -> bool:
        return self.rational(distance) > bound

    def rational(self, distance: int) -> Fraction:
        """An exact upper bound on ``A(distance)``, from the size alone."""
        t, fewest = min(distance, self.last), 1 + self.ddof
        if self.relation == "remove" and self.n <= fewest:
            return Fraction(0)
        s = self.n if self.relation == "add" else max(fewest, self.n - t - 1)
        return self._square * (Fraction(1, s + 1) if self.ddof else Fraction(s, (s + 1) ** 2))

    def _alpha(self, s: Floats | np.float64) -> Floats:
        return np.asarray(1 / (s + 1) if self.ddof else s / (s + 1) ** 2)

    def _gamma(self, s: Floats | np.float64) -> Floats:
        return np.asarray(1 / (s * (s - 1)) if self.ddof else 1 / (s * (s + 1)))

    @cached_property
    def _table(self) -> Floats:
        """The bound for every distance up to 128, or to the last."""
        # Prefix sums of ``n`` squares err by at most ``2**-52 n`` of ``n span**2``, which enters
        # the result times ``gamma``: the allowance is added.  If ``D`` is small the rise to the
        # farther bound is large, else the fall: under ``unbounded`` their mean is never below
        # ``span**2 / (16 (s + 1))``.  So the allowance stays below a relative 1e-6 up to two
        # million records; above, the bound from the size serves.
        steps = min(_STEPS, self.last)
        table = np.zeros(steps + 2)
        for records in self._sides:
            self._rises(records, steps, table)
            self._falls(records, steps, table)
        s = np.maximum(1.0 + self.ddof, self.n - np.arange(steps + 2) - 1.0)
        error = 2.0**-48 * (self.n + steps) * self.span**2 * (self._alpha(s) + self._gamma(s) * s)
        return np.asarray(np.maximum.accumulate(table) + error)

    def _rises(self, records: Floats, steps: int, table: Floats) -> None:
        sums = np.concatenate(([0.0], np.cumsum(records)))
        squares = np.concatenate(([0.0], np.cumsum(records**2)))
        for e, fewest in ((self.span, 0), (float(records[-1]), 1)):
            if fewest == (1 if self.relation == "add" else 2):
                continue
            if self.relation == "remove" and not fewest:
                continue
            for taken in range(fewest, min(self.n, steps + fewest) + 1):
                if self.relation == "add" and taken:
                    break
                first = np.arange(taken - fewest + 1)[:, None]
                last = first + self.n - taken
                others = np.arange(1 if self.relation == "remove" else steps + fewest - taken + 1)
                total, square = sums[last] - sums[first], squares[last] - squares[first]
                rise = self._rise(e, total, square, others, self.n - taken)
                at = taken + others - fewest
                np.maximum.at(table, at, rise.max(axis=0, initial=0.0))

    def _rise(
        self, e: float, p: Floats, q: Floats, others: npt.NDArray[np.int64], retained: int
    ) -> Floats:
        """The best rise for windows (rows) and numbers of other records (columns)."""
        a = others.astype(np.float64)
        s = np.where(retained + a > self.ddof, retained + a, np.nan)
        alpha, gamma = self._alpha(s), self._gamma(s)
        square = a * (alpha * a / s**2 - gamma + gamma * a / s)
        slope = -2 * alpha * a * (e - p / s) / s + 2 * gamma * p * a / s
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(square < 0, -slope / (2 * square), 0.0)
        best = np.zeros(np.broadcast_shapes(p.shape, a.shape))
        for z in (np.zeros_like(top), np.clip(top, 0, self.span), np.full_like(top, self.span)):
            total = p + a * z
            spread = q + a * z**2 - total**2 / s
            best = np.fmax(best, alpha * (e - total / s) ** 2 - gamma * spread)
        return best

    def _falls(self, records: Floats, steps: int, table: Floats) -> None:
        """For every public centre the worst ``S``; of these bounds, the least."""
        count = min(steps + 1, self.n)
        taken = np.arange(1 if self.relation == "add" else count + 1)[:, None]
        others = np.arange(1 if self.relation == "remove" else steps + 2)[None, :]
        at = taken + others - (taken > 0)  # one of those that left may be the one that leaves
        s = (self.n - taken + others).astype(np.float64)
        reached = (at <= steps) & (s > self.ddof)
        gamma = self._gamma(np.where(reached, s, np.nan))
        minimum = np.full(steps + 2, np.inf)
        for centre in np.linspace(0, self.span, _CENTRES).tolist():
            spread = self._around(records, centre, count)[taken]
            fall = gamma * (spread + others * max(centre, self.span - centre) ** 2)
            worst = np.zeros(steps + 2)
            np.maximum.at(worst, at[reached], fall[reached])
            minimum = np.minimum(minimum, np.maximum.accumulate(worst))
        np.maximum(table, minimum, out=table)

    def _around(self, records: Floats, centre: float, count: int) -> Floats:
        """The squared distances from a centre, without the 0, 1, ..., ``count`` nearest records."""
        middle = int(np.searchsorted(records, centre))
        near = records[max(0, middle - count) : middle + count]
        squares = np.sort((near - centre) ** 2)[:count]
        total = float(((records - centre) ** 2).sum())
        return np.maximum(total - np.concatenate(([0.0], np.cumsum(squares))), 0.0)


# Local sensitivity of the variance at a distance, by substitution: exact.
#
# Replacing ``b`` by ``e`` next to ``C`` (``n - 1`` records with sum ``S``) changes ``n`` squared
# times the variance by
#
#     ``J = (e - b) ((n - 1)(e + b) - 2 S)``,
#
# because the squares inside ``C`` cancel.  Say ``e > b`` and ``J > 0`` (the mirror image serves the
# rest): ``S`` should be as small as it can, and ``J`` is convex in ``e``, so ``e`` is as large as
# it can be. One of the two data sets ``C + b`` and ``C + e`` is at distance ``t`` from ``x``:
#
# 1. ``b`` is a record of ``x``, ``e = U``: ``C`` is ``x`` without ``b`` and its ``t`` largest, with
#    ``t`` times ``L``.  With ``Y = S + b`` fixed, ``J`` is concave in ``b`` with its top at ``(U +
#    Y) / (n + 1)``: one of the two kept records around it.  (A ``b`` among the ``t`` largest leaves
#    the same ``C`` as ``b = x_(n-t)``, which is nearer to the top ``S / (n - 1)`` for that ``C``, a
#    mean of smaller records.)
# 2. ``b`` is new, ``e = U``: ``C`` is ``x`` without its ``t`` largest, with ``t - 1`` times ``L``,
#    and ``b`` at the top ``S / (n - 1)`` of a concave function.
# 3. ``e`` is a record of ``x``, so the largest, and ``b`` is new: ``C`` is ``x`` without its ``t +
#    1`` largest, with ``t`` times ``L``.
#
# One more step never hurts: ``S`` does not rise, and a ``b`` or ``e`` that would have to be given
# up is covered by case 2, where both are free.  At ``t = n`` all is at ``L``: ``A(n) = (n - 1)(U -
# L)**2 / n**2``. With ``ddof = 1`` everything is larger by ``n / (n - 1)``.


def variance_at_distance(
    data: ClampedRecords, relation: Relation, ddof: int = 0
) -> VarianceAtDistance | VarianceBySize:
    """``A(t)`` of the variance: exact by substitution, else a proven upper bound.

    >>> a = variance_at_distance(ClampedRecords([1, 2, 4], 0, 10), "bounded")
    >>> str(a.at(0)), str(a.at(3))
    ('44/3', '200/9')
    """
    if len(data) <= ddof:
        raise InfeasibleError(f"a variance with ddof={ddof} needs at least {ddof + 1} records")
    if relation == "bounded":
        return VarianceAtDistance(data, ddof)
    return VarianceBySize(data, relation, ddof)


class VarianceAtDistance(AtDistance):
    """``A(t)`` of the variance under ``bounded``."""

    def __init__(self, data: ClampedRecords, ddof: int) -> None:
        n = self.last = len(data)
        self._unit = data.grain**2 / (n * (n - ddof))
        self._sides = _Rise(data), _Rise(data.mirrored())

    def at(self, distance: int) -> Fraction:
        """``A(distance)``, exact."""
        t = min(distance, self.last)
        return max(side.best(t) for side in self._sides) * self._unit

    rational = at


class _Rise:
    """The largest ``J``, in units of the squared grid."""

    def __init__(self, data: ClampedRecords) -> None:
        self.n = len(data)
        self.data = data

    @cached_property
    def sums(self) -> Array:
        records = self.data.records
        largest = max(abs(self.data.lower), abs(self.data.upper))
        if largest * self.n >= 2**62:
            records = records.astype(object)
        return np.cumsum(records)

    def best(self, t: int) -> Fraction:
        return max((self._change(s, b, e) for s, b, e in self._cases(t)), default=Fraction(0))

    def _cases(self, t: int) -> Iterator[tuple[int, Fraction | int, int]]:
        n, low, high = self.n, self.data.lower, self.data.upper
        records = self.data.records
        if t < n:
            total = self._sum(n - t) + t * low
            top = Fraction(high + total, n + 1)
            at = int(np.searchsorted(records[: n - t], -(-top.numerator // top.denominator)))
            for b in {int(records[k]) for k in (at - 1, at) if 0 <= k < n - t}:
                yield total - b, b, high
            rest = self._sum(n - t - 1) + t * low
            yield rest, self._top(rest), int(records[-1])
        if t >= 1:
            rest = self._sum(n - t) + (t - 1) * low
            yield rest, self._top(rest), high

    def _sum(self, count: int) -> int:
        return int(self.sums[count - 1]) if count else 0

    def _top(self, rest: int) -> Fraction:
        """The best ``b``: the mean of ``C``, inside the bounds (any, for an empty ``C``)."""
        return Fraction(rest, self.n - 1) if self.n > 1 else Fraction(self.data.lower)

    def _change(self, rest: int, b: Fraction | int, e: int) -> Fraction:
        return Fraction((e - b) * ((self.n - 1) * (e + b) - 2 * rest))


@dataclass(frozen=True)
class Variance(Dispersion, proven=True):
    """The mean squared deviation from the mean: ``sum (v - mean)**2 / (n - ddof)``.

    >>> from tacit.statistics import Interval, Records, sensitivity
    >>> s = sensitivity("var", over=Records([1, 2, 2, 2, 5, 5, 7, 8, 9, 9], size=6))
    >>> s.value, s.witness
    (Fraction(1723, 300), ((1, 2, 2, 2, 5, 9), (1, 2, 2, 2, 5)))
    >>> sensitivity(Variance(ddof=1), over=Interval(0, 100, size=50), relation="bounded").value
    Fraction(200, 1)
    """

    # The worst neighbours are found, with proofs, in :mod:`~tacit.statistics.dispersion_candidates`
    # (a known population), :mod:`~tacit.statistics.dispersion` (values without limit)
    # and :mod:`~tacit.statistics.dispersion` (one release).
    #
    # ddof: 0 (numpy's default) or 1 (the unbiased variance, undefined for a single record).

    kind = "var"

    @property
    def spread(self) -> SpreadMeasure:
        """The variance itself."""
        return SpreadMeasure(self.ddof, root=False)

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance:
        # See :mod:`tacit.statistics.variances`.
        return variance_at_distance(data, relation, self.ddof)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        return self.rows(rows)


# Local sensitivity of the standard deviation at a distance: a proven upper bound.
#
# If two neighbours have variances ``v <= w`` with ``w - v <= A`` and ``v >= v0``, their deviations
# differ by
#
#     ``sqrt(w) - sqrt(v) <= sqrt(v + A) - sqrt(v) <= sqrt(v0 + A) - sqrt(v0)``,
#
# because the middle falls in ``v``.  ``A`` is the variance's own local sensitivity at distance
# ``t``, and ``v0`` the smallest variance within ``t + 1`` steps.  Of any data set there, at least
# ``n - t - 1`` records are records of ``x``; their squared deviations from its mean are at least
# those from their own mean, and the least of these belongs to consecutive records: the window in
# ``x`` with the smallest squared deviations.
#
# By substitution also: ``sqrt(n) std`` is the length of the centred data, and moving one coordinate
# by ``d`` moves the centred data by ``d sqrt((n-1)/n)``; hence never more than ``(U - L)
# sqrt((n-1)/(n (n - ddof)))``, and at ``t = 0`` with ``max(U - x_1, x_n - L)`` for ``U - L``.  At
# ``t >= n`` that is the truth.


Runs = tuple[npt.NDArray[np.int64], Array, Array, Array]


class DeviationAtDistance(AtDistance):
    """A proven upper bound on ``A(t)`` of the standard deviation.

    >>> a = DeviationAtDistance(ClampedRecords([1, 2, 4], 0, 10), "bounded", 0)
    >>> round(a.at(3), 6)
    4.714045
    """

    exact = False

    def __init__(self, data: ClampedRecords, relation: Relation, ddof: int) -> None:
        self.data, self.ddof = data, ddof
        self.relation = relation
        self.n = len(data)
        self._known: list[tuple[int, Fraction]] = []  # steps and the smallest variance, in order
        self._variance = variance_at_distance(data, relation, ddof)
        self.last = max(self._variance.last, self.n + 1)
        if relation == "remove":
            self.last = self._variance.last

    def at(self, distance: int) -> float:
        """An upper bound on ``A(distance)``, rounded up."""
        t = min(distance, self.last)
        minimum = self._min_variance(t + 1)
        wide = minimum + Fraction(self._variance.at(t))
        value = float(gap(Root(wide), Root(minimum)))
        return min(value, float(self._by_length(t))) if self.relation == "bounded" else value

    def exceeds(self, distance: int, bound: Fraction) -> bool:
        # ``sqrt(v0 + A) - sqrt(v0) > b`` says ``A - b**2 > 2 b sqrt(v0)``.
        t = min(distance, self.last)
        if self.relation == "bounded" and not self._by_length(t) > bound:
            return False
        room = self._variance.rational(t) - bound**2
        if room <= 0 or bound == 0:
            return room > 0
        return self._min_variance_is_below(t + 1, (room / (2 * bound)) ** 2)

    def _min_variance_is_below(self, steps: int, limit: Fraction) -> bool:
        """True if :meth:`_min_variance` is below a limit, from what is known if possible."""
        # It falls as the steps grow: fewer records are kept, and more are divided by.
        at = bisect.bisect_left(self._known, steps, key=itemgetter(0))
        if at and self._known[at - 1][1] < limit:
            return True
        if at < len(self._known) and self._known[at][1] >= limit:
            return False
        minimum = self._min_variance(steps)
        self._known.insert(at, (steps, minimum))
        return minimum < limit

    def _by_length(self, t: int) -> Root:
        low, high = self.data.records[0], self.data.records[-1]
        span = self.data.upper - self.data.lower
        move = span if t else max(self.data.upper - int(low), int(high) - self.data.lower)
        square = (move * self.data.grain) ** 2 * (self.n - 1)
        return Root(square / (self.n * (self.n - self.ddof)))

    def _min_variance(self, steps: int) -> Fraction:
        """No more than the least variance of a data set within so many steps, exact."""
        # While both ends of the window move within runs of equal records, its sum and its sum of
        # squares change by the same at every step, so that the squared deviations are concave: the
        # least are where an end of the window meets the edge of a run.
        retained = self.n - steps
        if retained < 2:
            return Fraction(0)
        edges = self._runs[0]
        first = np.concatenate((edges, edges - retained, [0, steps]))
        first = self._likely(first[(first >= 0) & (first <= steps)], retained)
        runs = self._runs
        (low, low_squares), (high, high_squares) = (
            _up_to(runs, first),
            _up_to(runs, first + retained),
        )
        p, q = high - low, high_squares - low_squares
        most_records = self.n if self.relation in ("bounded", "remove") else self.n + steps
        minimum = int((retained * q - p * p).min())
        return Fraction(minimum, retained * (most_records - self.ddof)) * self.data.grain**2

    def _likely(self, first: npt.NDArray[np.int64], retained: int) -> npt.NDArray[np.int64]:
        """Those of the windows whose ``retained q - p**2`` can be the least, judged in floats."""
        # With S and Q the sum and the sum of squares of all records and u = 2**-53, the floats give
        # p within 8 u S and q within 8 u Q, so that ``retained q - p**2`` is within 32 u n Q, as
        # ``S**2 <= n Q`` by Cauchy and Schwarz.  The smallest is among those that come within twice
        # that of the smallest float.
        (low, low_squares), (high, high_squares) = (
            _up_to(self._floats, count) for count in (first, first + retained)
        )
        rough = retained * (high_squares - low_squares) - (high - low) ** 2
        near = 2.0**-47 * self.n * self._floats[3][-1]
        return first[rough <= rough.min() + near]  # type: ignore[no-any-return]

    @cached_property
    def _runs(self) -> Runs:
        """Where runs of equal records begin, their values, and sums and squares before them."""
        # In integers above the lower bound; and the end of all records, as a run of zeros.
        values, ends = self.data.runs
        if ends is None:
            ends = np.append(np.flatnonzero(values[1:] != values[:-1]) + 1, self.n)
            values = values[ends - 1]
        edges = np.concatenate(([0], ends))
        small = (self.n * (self.data.upper - self.data.lower)) ** 2 < 2**62
        above = np.append(values.astype(np.int64 if small else object) - self.data.lower, 0)
        counts = np.diff(edges).astype(above.dtype)
        sums, squares = np.zeros_like(above), np.zeros_like(above)
        np.cumsum(above[:-1] * counts, out=sums[1:])
        np.cumsum(above[:-1] ** 2 * counts, out=squares[1:])
        return edges, above, sums, squares

    @cached_property
    def _floats(self) -> Runs:
        edges, *exact = self._runs
        values, sums, squares = (each.astype(np.float64) for each in exact)
        return edges, values, sums, squares


def _up_to(runs: Runs, count: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """The sums and the sums of squares of so many of the smallest records."""
    edges, values, sums, squares = runs
    run = edges.searchsorted(count, "right") - 1
    more = (count - edges[run]).astype(values.dtype) * values[run]
    return sums[run] + more, squares[run] + more * values[run]


@dataclass(frozen=True)
class StandardDeviation(Dispersion, proven=True):
    """The square root of the variance over ``n - ddof``.

    >>> from tacit.statistics import Interval, Records, sensitivity
    >>> s = sensitivity("std", over=Records([1, 2, 2, 2, 5, 5, 7, 8, 9, 9], size=6))
    >>> round(s.value, 6), s.witness
    (1.397319, ((1, 2, 2, 2, 5, 9), (1, 2, 2, 2, 5)))
    >>> sensitivity("std", over=Interval(0, 100, size=2), relation="bounded").value
    Fraction(50, 1)
    """

    # A sensitivity is a ``Fraction`` where both standard deviations of the worst pair are rational,
    # and else the float just above the truth.  The worst neighbours are found, with proofs, where
    # those of :class:`~tacit.statistics.variances.Variance` are.

    kind = "std"

    @property
    def spread(self) -> SpreadMeasure:
        """The root of the variance."""
        return SpreadMeasure(self.ddof, root=True)

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance:
        # See :mod:`tacit.statistics.variances`.
        return DeviationAtDistance(data, relation, self.ddof)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        return np.asarray(np.sqrt(self.rows(rows)), dtype=np.float64)
