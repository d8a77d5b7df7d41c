"""The probability of an event the user picks, with relative precision however far in the tails."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import as_fraction
from tacit.errors import InfeasibleError, UsageError
from tacit.noise import DiscreteLaplace

__all__ = ["interval_mass", "mass_of"]

_MOST_BITS = 1 << 9
_MOST_BITS_CLOSED = 1 << 17
_MOST_TERMS = 1 << 13
_MOST_OUTCOMES = 1 << 16
_ZERO = Fraction(0)


def mass_of(distribution: Any, event: Any) -> Enclosure:
    """Enclose the probability of an event.

    Args:
        distribution: what ``m.distribution(data)`` returned, or a mapping of outcomes.
        event: ``(lower, upper)``, an interval with both ends in it (None or an infinity for no
            end); a set or list of outcomes; or a function of an outcome.

    Raises:
        UsageError: an event of another kind, or reversed ends.
        InfeasibleError: a probability too small to distinguish from zero, a function asked of too
            many outcomes.
    """
    if callable(event):
        return _where(distribution, event)
    if isinstance(event, tuple):
        lower, upper = _ends(event)
        if hasattr(distribution, "law"):
            return _lattice_interval(distribution, lower, upper)
        low, high = (-math.inf if lower is None else lower), (math.inf if upper is None else upper)
        return _where(distribution, lambda x: low <= x <= high)
    if isinstance(event, (str, bytes)) or not isinstance(event, Iterable):
        raise UsageError(
            "an event is a pair (lower, upper), a set of outcomes, or a function of an outcome"
        )
    listed = event.items() if isinstance(event, Mapping) else event
    table = _table(distribution)
    if table is not None:
        return sum((_read(table.get(x, 0)) for x in set(listed)), Enclosure.of(0))
    return sum((distribution.probability(x) for x in set(listed)), Enclosure.of(0))


def _ends(event: tuple[Any, ...]) -> tuple[Fraction | None, Fraction | None]:
    if len(event) != 2:
        raise UsageError("an interval is a pair (lower, upper); put outcomes in a set")
    lower, upper = (None if _open(end) else as_fraction(end, "an end") for end in event)
    if lower is not None and upper is not None and lower > upper:
        raise UsageError("the ends of the event are reversed; swap them")
    return lower, upper


def _open(end: Any) -> bool:
    return end is None or (isinstance(end, float) and math.isinf(end))


def _table(distribution: Any) -> Mapping[Any, Any] | None:
    table = getattr(distribution, "table", distribution)
    return table if isinstance(table, Mapping) else None


def _read(probability: Any) -> Enclosure:
    if isinstance(probability, Enclosure):
        return probability
    return Enclosure.of(as_fraction(probability, "a probability"))


def _where(distribution: Any, holds: Callable[[Any], Any]) -> Enclosure:
    table = _table(distribution)
    rest = getattr(distribution, "rest", _ZERO)
    if table is None:
        share = 1 - Fraction(1, 1 << 100)
        low, high = (int(end) for end in distribution.law.support(share))
        if high - low > _MOST_OUTCOMES:
            raise InfeasibleError(
                f"a function would be called for {high - low:,} outcomes; give an interval"
            )
        units = range(distribution.centre + low, distribution.centre + high + 1)
        values = [unit * distribution.grid for unit in units]
        table = {x: distribution.probability(x) for x in values}
        rest = 1 - share
    total = sum((_read(p) for x, p in table.items() if holds(x)), Enclosure.of(0))
    return Enclosure(total.lower, min(total.upper + rest, Fraction(1)))


def _lattice_interval(
    distribution: Any, lower: Fraction | None, upper: Fraction | None
) -> Enclosure:
    centre, grid = distribution.centre, distribution.grid
    first = None if lower is None else math.ceil(lower / grid) - centre
    last = None if upper is None else math.floor(upper / grid) - centre
    return interval_mass(distribution.law, first, last)


def interval_mass(law: Any, first: int | None, last: int | None, right: int = 40) -> Enclosure:
    """Enclose ``P(first <= X <= last)`` for a symmetric distribution on the integers.

    The interval is mirrored to the lower side, where the distribution function is small itself, and
    enclosed with more and more bits until ``right`` of them are right.  Where a Gaussian is far
    out, the terms from the nearer end on are added instead; those of a log-concave distribution
    fall at least geometrically, which bounds the rest.

    >>> from tacit.noise import DiscreteGaussian
    >>> float(interval_mass(DiscreteGaussian(1), 36, 40))
    1.5069...e-282

    Raises:
        InfeasibleError: a probability too small to be distinguished from zero.
    """
    if first is not None and last is not None and last < first:
        return Enclosure.of(0)
    if first is not None and first > 0:
        return interval_mass(law, None if last is None else -last, -first, right)
    if first is None and last is None:
        return Enclosure.of(1)
    closed = isinstance(law, DiscreteLaplace)
    bits = right + 56
    while bits <= (_MOST_BITS_CLOSED if closed else _MOST_BITS):
        high = Enclosure.of(1) if last is None else law.cdf(last, bits)
        low = Enclosure.of(0) if first is None else law.cdf(first - 1, bits)
        found: Enclosure = high - low
        if found.width <= found.lower / (1 << right):
            return found
        bits *= 2
    return _by_terms(law, first, last, right)


def _by_terms(law: Any, first: int | None, last: int | None, right: int) -> Enclosure:
    assert last is not None  # the interval lies on the lower side, far out
    nearest = -last
    total = here = law.probability(nearest, right + 24)
    for x in range(nearest + 1, nearest + _MOST_TERMS):
        if first is not None and x > -first:
            return Enclosure(total.lower, total.upper)
        there = law.probability(x, right + 24)
        if there.lower <= 0 or here.lower <= 0:
            break
        ratio = there.upper / here.lower
        if ratio < 1 and there.upper / (1 - ratio) <= total.lower / (1 << right):
            whole = Enclosure(total.lower, total.upper + there.upper / (1 - ratio))
            return whole.rounded(right + 24)
        total, here = (total + there).rounded(right + 24), there
    raise InfeasibleError("the event is too unlikely to distinguish its probability from zero")
