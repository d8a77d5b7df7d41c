"""Local sensitivity at a distance, smooth sensitivity, distance to instability."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError, shown_value
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.question import RELATIONS, Relation, unknown_relation
from tacit.statistics.samples import ClampedRecords, Sample
from tacit.statistics.statistic import AtDistance, Statistic


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
        from tacit.statistics.function_at_distance import LatticeAtDistance

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

    Args:
        statistic: a name such as ``"median"``, a statistic, or (with ``values``) any function.
        data: the records, at least one; those outside the bounds count as the nearer bound.
        bounds: the public bounds ``(lower, upper)`` of a record.
        beta: how much the logarithm may move between neighbours; above 0.
        relation: ``"unbounded"`` (the default), ``"add"``, ``"remove"`` or ``"bounded"``.
        values: instead of bounds, the public values that a record may have: few enough to search.
        farthest: with ``values``, under ``unbounded`` and ``add``: the largest ``t`` to search.
        largest: with ``values``, under ``unbounded`` and ``add``: a proven bound on the global
            sensitivity, for ``t`` beyond ``farthest``.

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

    Args:
        statistic: a name such as ``"median"``, a statistic, or (with ``values``) any function.
        data: the records, at least one; those outside the bounds count as the nearer bound.
        bounds: the public bounds ``(lower, upper)`` of a record.
        bound: on the local sensitivity, in the unit of the statistic; above 0.
        relation: ``"unbounded"`` (the default), ``"add"``, ``"remove"`` or ``"bounded"``.
        values: instead of bounds, the public values that a record may have: few enough to search.
        farthest: with ``values``, under ``unbounded`` and ``add``: the largest ``t`` to search.
        largest: with ``values``, under ``unbounded`` and ``add``: a proven bound on the global
            sensitivity, for ``t`` beyond ``farthest``.

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
