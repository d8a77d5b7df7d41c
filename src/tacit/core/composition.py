"""Several releases of one data set: sequential, and parallel over disjoint parts."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from tacit.calls import public
from tacit.core.conversions import LossMap, composed_losses
from tacit.core.divergences import Product
from tacit.core.domains import Vector
from tacit.core.losses.base import Dominating, PrivacyLoss
from tacit.core.measurement import Measurement
from tacit.core.measures import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Loss,
    Measure,
    PureDP,
    ZeroConcentratedDP,
)
from tacit.core.metrics import ChangeOneDistance, Parts, PartsDistance, SymmetricDistance, Witness
from tacit.core.renyi import RenyiCurve, RenyiDP, renyi_of_all
from tacit.core.space import Space
from tacit.errors import MismatchError, UsageError

_NO_KEY = object()
_CONCENTRATED = (ZeroConcentratedDP, ApproximateDP, ApproximateZeroConcentratedDP)


@public
def compose(measurements: Sequence[Measurement]) -> Measurement:
    """Sequential composition: release several measurements of one data set, as a tuple.

    The losses add up, in any of the measures here, also when each is chosen after seeing the
    answers before it (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, lemma 2.3): the
    privacy-loss variable of the whole is the sum of the parts', conditioned on the past.
    Pure measurements alongside others are converted.  Measurements in zCDP alongside others in
    approximate DP are stated together in approximate zCDP
    (:class:`~tacit.core.ApproximateZeroConcentratedDP`).  Next to Renyi DP all are stated in that,
    at the orders up to the highest that every one has (:class:`~tacit.core.RenyiCurve`).  What
    ``m.epsilon(delta=)`` says rests on the privacy losses themselves wherever all are known; of
    exponential mechanisms and permute-and-flip it is that of a list fixed beforehand
    (:mod:`tacit.core.losses.ranges`), and :func:`~tacit.framework.adaptive` counts those that are
    chosen as one goes.

    Args:
        measurements: all of one input space.

    Raises:
        UsageError: an empty list.
        MismatchError: different input spaces, or measures that no conversion joins.

    Example:
        >>> from tacit.core import Space, SymmetricDistance, Vector
        >>> from tacit.transformations import Count
        >>> from tacit.mechanisms import Laplace
        >>> m = Space(Vector(float), SymmetricDistance()) >> Count() >> Laplace(scale=2)
        >>> compose([m, m]).map(1)
        Fraction(1, 1)
    """
    parts = list(measurements)
    if not parts:
        raise UsageError("compose needs at least one measurement")
    space = parts[0].input
    for part in parts:
        if part.input != space:
            raise MismatchError(
                f"measurements compose on one input space; got ({space}) and ({part.input})",
                space,
                part.input,
            )
    measure = _common_measure([part.measure for part in parts])
    # Many parts are often one object, whose map may take long: it is computed once.
    converted = {id(part): convert(part, measure) for part in parts}
    same = [converted[id(part)] for part in parts]

    def privacy(d: Fraction) -> Any:
        prices = {key: part.privacy(d) for key, part in converted.items()}
        return measure.compose(prices[id(part)] for part in parts)

    return Measurement(
        space,
        measure,
        lambda data: tuple(part.function(data) for part in same),
        privacy,
        distribution=_product(dict(enumerate(same)), lambda data, _: data),
        losses=composed_losses(
            [(part.losses, part.measure, part.privacy) for part in parts],
            lambda: [part.witness for part in parts],
        ),
        witness=lambda: reduce(and_, [part.witness for part in parts]),
        name=f"compose of {len(same)}",
    )


@public
def convert(measurement: Measurement, measure: Measure) -> Measurement:
    """State a measurement's guarantee in another measure.

    Args:
        measurement: in pure DP; in zCDP, for Renyi DP and approximate zCDP; in approximate DP,
            for approximate zCDP; or in Renyi DP, for orders up to its highest.
        measure: the measure to state it in.

    Raises:
        MismatchError: no such conversion (an epsilon at a delta: ``m.epsilon(delta=)``).

    Example:
        >>> from tacit.core import Space, SymmetricDistance, Vector, ZeroConcentratedDP
        >>> from tacit.mechanisms import Laplace
        >>> from tacit.transformations import Count
        >>> m = Space(Vector(float), SymmetricDistance()) >> Count() >> Laplace(scale=2)
        >>> float(convert(m, ZeroConcentratedDP()).map(1))
        0.122459331201854...
    """
    if measurement.measure == measure:
        return measurement
    privacy, own = measurement.privacy, measurement.measure
    measure.from_other(own, own.compose([]))  # refused now, and not when it is asked
    rests_on_losses = type(measure).from_losses is not Measure.from_losses
    losses = measurement.losses if rests_on_losses else None

    def stated(d: Fraction) -> Loss:
        known = None if losses is None else losses(d)
        loss = measure.from_other(own, privacy(d))
        return loss if known is None else measure.from_losses(known, loss)

    converted = Measurement(
        measurement.input,
        measure,
        measurement.function,
        stated,
        distribution=measurement.law,
        losses=measurement.losses,
        witness=lambda: measurement.witness,
    )
    converted.links = measurement.links
    return converted


@public
def parallel(
    measurements: Mapping[Hashable, Measurement], by: Callable[..., Hashable] | None = None
) -> Measurement:
    """Parallel composition: release one measurement on each of several disjoint parts of the data.

    Args:
        measurements: key to measurement; all on one space.
        by: a record to its key, under the symmetric distance; records of other keys, and those on
            which it fails, are in no part.  It sees values (0.5), not the whole units of a grid in
            which they are held.  None where the data comes in parts: a mapping of each
            key to the records of its part (an absent part is empty, other keys are in no part).

    The answer is a dict with every key of ``measurements``, also for empty parts.

    **Map.** Inputs at distance d split it over the parts, d = d_1 + ... + d_k: a record is in one
    part only, and where the data comes in parts distances are added over them.  So the loss is at
    most the largest sum of ``map_i(d_i)`` over all splits, which is computed.  It is
    ``max_i map_i(d)`` wherever the maps are convex (Laplace: linear; Gaussian: quadratic).

    **Sizes.**  A split by the records' own values makes the size of each part private, also where
    that of the whole is public: a part of n records has a neighbour of n + 1.  A map that rests on
    a public size (a count that costs nothing, a sum whose records only trade places) says nothing
    about that pair, so measurements on a space of a public size are refused here; a part may be
    brought to a public size by ``resize`` *within* its own chain.  Where the data comes in parts,
    their sizes may be public: no record changes its part.

    Example:
        >>> from tacit.core import Space, Vector
        >>> from tacit.mechanisms import Laplace
        >>> from tacit.transformations import Count
        >>> m = Space(Vector(int), SymmetricDistance()) >> Count() >> Laplace(scale=2)
        >>> parallel({0: m, 1: m}, by=lambda number: number % 2).map(1)
        Fraction(1, 2)
        >>> regions = parallel({"north": m, "south": m})
        >>> regions.map(1), sorted(regions({"north": [3, 5], "south": [8]}))
        (Fraction(1, 2), ['north', 'south'])

    Raises:
        UsageError: no mapping of measurements, or an empty one.
        MismatchError: the measurements do not share a space and measure, or distances in it do not
            count records; with ``by``, a space that is not a vector under the symmetric distance,
            or one with a public size.
    """
    if not isinstance(measurements, Mapping) or not measurements:
        raise UsageError("parallel needs a mapping of keys to measurements, at least one")
    parts = dict(measurements)
    first = next(iter(parts.values()))
    space, measure = first.input, first.measure
    for part in parts.values():
        if part.input != space or part.measure != measure:
            raise MismatchError(
                "parallel measurements share one input space and one measure", first, part
            )
    if by is None:
        return _on_parts(parts, space, measure)
    if not isinstance(space.domain, Vector):
        raise MismatchError(
            f"parallel splits the records of a vector, not {space.domain}; select a column first",
            space,
        )
    if not isinstance(space.metric, SymmetricDistance):
        hint = ChangeOneDistance.__name__
        raise MismatchError(
            f"parallel works under the symmetric distance (a {hint} of k is a symmetric distance "
            f"of 2k), not under {space.metric}",
            space.metric,
            SymmetricDistance(),
        )

    if space.domain.size is not None:
        raise MismatchError(
            f"parallel by a function of the records needs a space without a public size, not "
            f"({space}): how many records fall in each part is private. Build the measurements on "
            "a space without size=, and resize within the chain of each part",
            space,
        )
    element, split = space.domain.element, by

    def divided(data: Any) -> dict[Hashable, Any]:
        keys = [_key(split, element.present(record), parts) for record in _listed(data)]
        return _divided(data, keys, parts)

    return _together(parts, space, measure, divided)


def _on_parts(parts: Mapping[Hashable, Measurement], space: Space, measure: Measure) -> Measurement:
    if not space.metric.counts_records:
        raise MismatchError(
            f"parallel splits a distance that counts records, not {space.metric}", space.metric
        )
    space_of_parts = Space(Parts(tuple(parts), space.domain), PartsDistance(space.metric))
    return _together(parts, space_of_parts, measure, _as_it_is)


def _as_it_is(data: Any) -> Any:
    return data


def _of_one_part(parts: Sequence[Measurement], *, known: bool) -> LossMap | None:
    """Return the losses at a distance of one record, which is in one part, if all have the same."""
    # Where the parts are made by a function of the records, that some record is in a part is not
    # known: the losses are a bound alone.
    maps = [part.losses for part in parts]

    def losses(d: Fraction) -> PrivacyLoss | None:
        if d > 1:
            return None
        at_distance = [None if one is None else one(d) for one in maps]
        if at_distance[0] is None or any(other != at_distance[0] for other in at_distance):
            return None
        return at_distance[0] if known else Dominating(at_distance[0])

    return losses if None not in maps else None


def _in_one_part(parts: Mapping[Hashable, Measurement]) -> Witness:
    """Return the pairs that differ in the first part alone."""
    key, first = next(iter(parts.items()))
    return Witness.of((key, name) for name in first.witness.names or ())


def _together(
    parts: Mapping[Hashable, Measurement],
    space: Space,
    measure: Measure,
    divided: Callable[[Any], Mapping[Hashable, Any]],
) -> Measurement:
    """Release each measurement on its part of what ``divided`` makes of the data."""

    def release(data: Any) -> dict[Hashable, Any]:
        chosen = divided(data)
        return {key: part.function(chosen[key]) for key, part in parts.items()}

    return Measurement(
        space,
        measure,
        release,
        lambda d: _worst_split(measure, [part.privacy for part in parts.values()], int(d)),
        distribution=_product(parts, lambda data, key: divided(data)[key], named=True),
        losses=_of_one_part(list(parts.values()), known=divided is _as_it_is),
        witness=None if divided is not _as_it_is else _in_one_part(parts),
        name=f"parallel over {len(parts)}",
    )


def _product(
    parts: Mapping[Hashable, Measurement],
    data_of: Callable[[Any, Hashable], Any],
    *,
    named: bool = False,
) -> Callable[[Any], Product] | None:
    """Return the distribution of independent releases, where that of each is explicit."""
    distributions = {key: part.law for key, part in parts.items()}
    if None in distributions.values():
        return None
    names = tuple(parts) if named else None
    return lambda data: Product(
        tuple(
            distribution(data_of(data, key))
            for key, distribution in distributions.items()
            if distribution is not None
        ),
        names,
    )


def _listed(data: Any) -> list[Any]:
    return data.tolist() if isinstance(data, np.ndarray) else list(data)


def _divided(data: Any, keys: Sequence[Hashable], parts: Iterable[Hashable]) -> dict[Hashable, Any]:
    """Return the records of each part, in the form that the data has."""
    rows: dict[Hashable, list[int]] = {key: [] for key in parts}
    for index, key in enumerate(keys):
        if key is not _NO_KEY:
            rows[key].append(index)
    if isinstance(data, np.ndarray):
        return {key: data[indices] for key, indices in rows.items()}
    return {key: [data[i] for i in indices] for key, indices in rows.items()}


def _key(by: Callable[[Any], Hashable], record: Any, parts: Container[Hashable]) -> Hashable:
    """Return the key of a record; where ``by`` fails, or gives none of the parts, no key."""
    try:
        key = by(record)
        return key if key in parts else _NO_KEY
    except Exception:  # no record may stop a release
        return _NO_KEY


def _common_measure(measures: Sequence[Measure]) -> Measure:
    others = list(dict.fromkeys(m for m in measures if not isinstance(m, PureDP)))
    if len(others) > 1:
        if all(isinstance(m, _CONCENTRATED) for m in others):
            return ApproximateZeroConcentratedDP()
        orders = [m for m in others if isinstance(m, (RenyiDP, RenyiCurve))]
        if all(m in orders or isinstance(m, ZeroConcentratedDP) for m in others):
            return renyi_of_all(orders)
        raise MismatchError(
            f"no conversion joins {others[0]} and {others[1]}", others[0], others[1]
        )
    return others[0] if others else PureDP()


def _worst_split(
    measure: Measure, maps: Sequence[Callable[[Fraction], Loss]], distance: int
) -> Loss:
    """Return the largest composed loss over all splits of a whole distance, by max-plus steps."""
    # Pairs (epsilon, delta) are bounded part by part, which covers every split.
    tables = [[m(Fraction(d)) for d in range(distance + 1)] for m in maps]

    def join(left: list[Loss], right: list[Loss]) -> list[Loss]:
        return [
            reduce(_upper, (measure.compose([left[i], right[d - i]]) for i in range(d + 1)))
            for d in range(distance + 1)
        ]

    return reduce(join, tables)[distance]


def _upper(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(max(x, y) for x, y in zip(a, b, strict=True))
    return max(a, b)
