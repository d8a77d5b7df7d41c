"""Local sensitivity at a distance, smooth sensitivity, distance to instability."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive, show
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError, shown_value
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.question import RELATIONS, Relation, unknown_relation
from tacit.statistics.samples import ClampedRecords, Sample, on_common_unit
from tacit.statistics.search import CountBox, Function, Indices, Ranks, evaluate, spread
from tacit.statistics.statistic import AtDistance, Exact, Statistic, distance_between

# The function is evaluated once on every multiset that can be met (:mod:`tacit.statistics.search`).
# The local sensitivity of each follows from its neighbours, one step along the axes.  ``A(t)`` is
# then the largest of these within ``t`` more steps: the table of local sensitivities, dilated ``t``
# times.  What is dilated are ranks, so nothing is rounded.
#
# Under ``bounded`` and ``remove`` there are finitely many releases, and ``A`` is known for every
# ``t``. Under ``unbounded`` and ``add`` it is known up to a chosen ``farthest``; beyond it, only a
# public bound on the global sensitivity can speak.

_MAX_STATES = 1 << 22
_NEVER = np.iinfo(np.int32).max


class LatticeAtDistance(AtDistance):
    """``A(t)`` of any statistic or function of records out of a small value set.

    >>> import tacit.statistics as ts
    >>> a = LatticeAtDistance(ts.lookup("median"), Sample([1, 2, 9]), Sample([1, 2, 9]), "bounded")
    >>> [str(a.at(t)) for t in range(3)]
    ['7', '8', '8']
    """

    # statistic: what is computed; a function is called once for each distinct release.
    # largest: under ``unbounded`` and ``add``, a proven bound on the global sensitivity, which is
    #   what ``A(t)`` is taken to be beyond ``farthest``.

    def __init__(
        self,
        statistic: Statistic,
        data: Sample,
        values: Sample,
        relation: Relation,
        farthest: int = 2,
        largest: Fraction | None = None,
    ) -> None:
        self.statistic, self.relation, self.largest = statistic, relation, largest
        self._values, _ = values.distinct()
        self._data = _counted(data, self._values)
        n = len(data)
        self._fewest = statistic.min_size
        self.farthest = {"bounded": n, "remove": max(n - 1 - self._fewest, 0)}.get(
            relation, farthest
        )
        self._grows = relation in ("unbounded", "add")
        self.last = self.farthest + self._grows
        self.exact = not self._grows
        room = n + farthest + 1 if self._grows else n
        limits = self._data if relation == "remove" else [room] * len(self._data)
        states = math.prod(limit + 1 for limit in limits)
        if states > _MAX_STATES:
            raise InfeasibleError(
                f"{len(self._data)} values, each up to {max(limits)} times, make {states:,} "
                f"counts, and at most {_MAX_STATES:,} can be searched; take fewer values, fewer "
                "records or a smaller farthest"
            )
        self._box = CountBox(limits)

    def at(self, distance: int) -> Fraction | float:
        """``A(distance)``, exact up to ``farthest``."""
        if distance <= self.farthest or not self._grows:
            return self._profile[min(distance, len(self._profile) - 1)]
        if self.largest is None:
            raise InfeasibleError(
                f"A(t) was searched up to t = {self.farthest}; give a larger farthest, or "
                "largest: a proven bound on the global sensitivity, used beyond it"
            )
        return self.largest

    @cached_property
    def _profile(self) -> list[Fraction | float]:
        local, gaps = self._local
        home = self._box.index(self._data)
        distances = []
        for _ in range(self.farthest + 1):
            reached = int(local.ravel()[home])
            distances.append(gaps[reached] if reached >= 0 else Fraction(0))
            local = self._dilated(local)
        return distances

    @cached_property
    def _local(self) -> tuple[Ranks, list[Fraction | float]]:
        """The rank of every release's local sensitivity, and what the ranks stand for."""
        used, values = self._evaluated()
        ladder = sorted(set(values))
        step = {value: k for k, value in enumerate(ladder)}
        own = np.array([step[value] for value in values], dtype=np.int32)
        high, low = (self._nearby(used, own, b, w).ravel()[used] for b, w in _EXTREMES)
        high, low = np.maximum(high, own), np.minimum(low, own)
        pairs = {(a, b): Fraction(0) for a, b in zip(own.tolist(), own.tolist(), strict=True)}
        moves = [*zip(high.tolist(), own.tolist(), strict=True)]
        falls = [*zip(low.tolist(), own.tolist(), strict=True)]
        gap = {p: distance_between(ladder[p[0]], ladder[p[1]]) for p in {*pairs, *moves, *falls}}
        largest = [max(gap[m], gap[f]) for m, f in zip(moves, falls, strict=True)]
        gaps = sorted(set(largest))
        rank = {g: k for k, g in enumerate(gaps)}
        return self._placed(used, np.array([rank[g] for g in largest], dtype=np.int32), -1), gaps

    def _evaluated(self) -> tuple[Indices, list[Exact]]:
        n = sum(self._data)
        first, last = {
            "bounded": (n, n),
            "remove": (self._fewest, n),
            "add": (n, n + self.farthest + 1),
            "unbounded": (max(self._fewest, n - self.farthest - 1), n + self.farthest + 1),
        }[self.relation]
        blocks = [self._box.at_level(size) for size in range(first, last + 1)]
        used = np.concatenate(blocks)
        if isinstance(self.statistic, Function):
            evaluated = evaluate(self.statistic, self._values.floats, blocks, self._box.counts)
            return used, [Fraction(v) for v in np.concatenate(evaluated).tolist()]
        values = self._values.fractions()
        return used, [
            self.statistic.exact([v for v, c in zip(values, row, strict=True) for _ in range(c)])
            for row in self._box.counts(used).tolist()
        ]

    def _nearby(self, used: Indices, own: Ranks, better: np.ufunc, worst: int) -> Ranks:
        ranks = self._placed(used, own, worst)
        if self.relation == "bounded":
            return spread(
                spread(ranks, 1, better, up=True, stay=False), 1, better, down=True, stay=False
            )
        up, down = self.relation != "remove", self.relation != "add"
        return spread(ranks, 1, better, up=up, down=down, stay=False)

    def _dilated(self, local: Ranks) -> Ranks:
        if self.relation == "bounded":
            shared = spread(local, 1, np.maximum, up=True, stay=False)
            return spread(shared, 1, np.maximum, down=True, stay=False)
        up, down = self.relation != "remove", self.relation != "add"
        return spread(local, 1, np.maximum, up=up, down=down)

    def _placed(self, used: Indices, ranks: Ranks, elsewhere: int) -> Ranks:
        box = np.full(self._box.states, elsewhere, dtype=np.int32)
        box[used] = ranks
        return box.reshape(self._box.shape)


_EXTREMES: tuple[tuple[np.ufunc, int], ...] = ((np.maximum, -1), (np.minimum, _NEVER))


def _counted(data: Sample, values: Sample) -> list[int]:
    """Return the number of occurrences of each value in the data."""
    records, known = on_common_unit(data, values)
    at = np.searchsorted(known.raw, records.raw)
    inside = at < len(known)
    inside[inside] = known.raw[at[inside]] == records.raw[inside]
    if not inside.all():
        outside = show(data[int(np.flatnonzero(~inside)[0])])
        raise UsageError(
            f"data contains {outside}, which is not one of the values; list it, or bin"
        )
    return [int(c) for c in np.bincount(at, minlength=len(known))]


def at_distance(
    statistic: Any,
    data: Iterable[Any] | Sample,
    bounds: tuple[Number, Number] | None = None,
    relation: Relation = "unbounded",
    *,
    values: Iterable[Any] | None = None,
    farthest: int = 2,
    largest: Number | None = None,
) -> AtDistance:
    """``A(t)`` as an object: ``.at(t)``, ``.smooth(beta)``, ``.instability(bound)``, ``.exact``.

    >>> a = at_distance("median", [1, 2, 4, 7, 9], bounds=(0, 10), relation="bounded")
    >>> a.at(0), a.exact, a.last
    (Fraction(3, 1), True, 5)
    """
    # ``A(t)`` is the largest local sensitivity of a data set within ``t`` steps of ``data``: the
    # largest change of the statistic from that data set to one of its neighbours.  Under ``add``
    # and ``remove`` every step, the last one too, goes that way.  A data set is empty only where
    # the statistic has a value on no records.
    #
    # data: the records, at least one.  Records outside the bounds count as the nearer bound.
    # values: instead of bounds, the public values that a record may have: few enough to search.
    # largest: with ``values``, under ``unbounded`` and ``add``: a proven bound on the global
    #   sensitivity, for ``t`` beyond ``farthest``.
    named = lookup(statistic)
    if relation not in RELATIONS:
        raise unknown_relation(relation)
    if bounds is None and values is None:
        raise UsageError(
            "give bounds=(lower, upper), public numbers, or values=[...], the public values that a "
            "record may have"
        )
    sample = data if isinstance(data, Sample) else Sample(data, "data")
    if relation == "remove" and len(sample) < 2 and named.min_size:
        raise InfeasibleError("one record cannot be removed from one record: nothing would remain")
    if values is not None:
        largest_value = None if largest is None else as_fraction(largest, "largest")
        farthest_step = as_integer(farthest, "farthest", minimum=0)
        return LatticeAtDistance(
            named, sample, Sample(values), relation, farthest_step, largest_value
        )
    return _in_bounds(named, ClampedRecords(sample, *_pair(bounds)), relation)


@public
def local_sensitivity_at(
    statistic: object,
    data: Iterable[object] | Sample,
    bounds: tuple[Number, Number] | None = None,
    distance: int = 0,
    relation: Relation = "unbounded",
    *,
    values: Iterable[object] | None = None,
) -> Fraction | float:
    """Return ``A(distance)``: the largest local sensitivity within ``distance`` steps of the data.

    Exact (a ``Fraction``) for counts, sums, means and quantiles under every relation, for the
    variance under ``bounded``, and for any function over ``values``.  A proven upper bound for the
    interquartile range (a ``Fraction``, at most the span of the bounds), for the variance where
    records join or leave, and for the standard deviation (floats).  ``at_distance(...).exact`` says
    which.  The empty data set counts where the statistic has a value on it (counts, sums,
    histograms, and functions that declare one), and is left out elsewhere.

    Args:
        statistic: a name such as ``"median"``, a statistic, or (with ``values``) any function.
        data: the records, at least one; those outside the bounds count as the nearer bound.
        bounds: the public bounds ``(lower, upper)`` of a record.
        distance: ``t``, how many records of the data may change first; from 0 (the default) on.
        relation: ``"unbounded"`` (the default), ``"add"``, ``"remove"`` or ``"bounded"``.
        values: instead of bounds, the public values that a record may have: few enough to search.

    Raises:
        UsageError: a negative distance, or what :func:`at_distance` refuses.

    >>> local_sensitivity_at("mean", [2, 4], bounds=(0, 8), distance=1, relation="bounded")
    Fraction(4, 1)
    """
    steps = as_integer(distance, "distance", minimum=0)
    at_steps = at_distance(statistic, data, bounds, relation, values=values, farthest=steps)
    return at_steps.at(steps)


@public
def smooth_sensitivity(
    statistic: object,
    data: Iterable[object] | Sample,
    bounds: tuple[Number, Number] | None = None,
    beta: Number | None = None,
    relation: Relation = "unbounded",
    *,
    values: Iterable[object] | None = None,
    farthest: int = 2,
    largest: Number | None = None,
) -> float:
    """Return the smooth sensitivity: ``max_t exp(-beta t) A(t)`` over every distance ``t``.

    It is the smallest function above the local sensitivity whose logarithm moves by at most
    ``beta`` between neighbours (Nissim, Raskhodnikova and Smith 2007).  Never below the truth, and
    at most a relative 1e-6 above it wherever ``A`` is exact: a mechanism counts ``beta`` and 1e-6.
    The maximum runs over all distances: stopping early (at 200, say) is wrong for a small ``beta``.

    ``beta`` is above 0.  With ``values``, under ``unbounded`` and ``add``, ``farthest`` is the
    largest ``t`` to search, and ``largest`` a proven bound on the global sensitivity beyond it.
    The other arguments are those of :func:`local_sensitivity_at`.

    Raises:
        UsageError: ``beta`` missing, zero or negative, or what :func:`at_distance` refuses.

    >>> smooth_sensitivity("median", [1, 2, 4, 7, 9], bounds=(0, 10), beta=1, relation="bounded")
    3.00000000000...
    """
    if beta is None:
        raise UsageError("give beta, above zero: how fast the sensitivity may move, as a logarithm")
    rate = positive(beta, "beta")
    at_steps = at_distance(
        statistic, data, bounds, relation, values=values, farthest=farthest, largest=largest
    )
    return at_steps.smooth(rate)


@public
def distance_to_instability(
    statistic: object,
    data: Iterable[object] | Sample,
    bounds: tuple[Number, Number] | None = None,
    bound: Number | None = None,
    relation: Relation = "unbounded",
    *,
    values: Iterable[object] | None = None,
    farthest: int = 2,
    largest: Number | None = None,
) -> float:
    """Return ``min {t : A(t) > bound}``: how many records must change to exceed a bound.

    An integer, or ``math.inf`` where no data set has a larger local sensitivity.  One record
    moves it by at most one, so that it can be tested with little noise (Dwork and Lei 2009).  Where
    ``A`` is only bounded from above, so is the distance from below, and it still moves by one.

    ``bound``, above 0, is in the unit of the statistic; the other arguments are those of
    :func:`smooth_sensitivity`.

    Raises:
        UsageError: ``bound`` missing, zero or negative, or what :func:`at_distance` refuses.

    >>> distance_to_instability("median", [1, 2, 4, 7, 9], (0, 10), bound=5, relation="bounded")
    2
    >>> distance_to_instability("median", [1, 2, 4, 7, 9], (0, 10), bound=10, relation="bounded")
    inf
    """
    if bound is None:
        raise UsageError("give bound, above zero: the local sensitivity to stay within")
    limit = positive(bound, "bound")
    at_steps = at_distance(
        statistic, data, bounds, relation, values=values, farthest=farthest, largest=largest
    ).instability(limit)
    return math.inf if at_steps is None else at_steps


def _pair(bounds: Any) -> tuple[Number, Number]:
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise UsageError(
            f"bounds must be a pair (lower, upper), not {shown_value(bounds)}"
        ) from None
    return lower, upper


def _in_bounds(statistic: Statistic, data: ClampedRecords, relation: Relation) -> AtDistance:
    at_steps = statistic.at_distance(data, relation)
    if at_steps is None:
        raise UsageError(
            f"no algorithm is known for {statistic.name} over an interval; give values=[...], "
            "a small set of public values, and it is searched exhaustively"
        )
    return at_steps
