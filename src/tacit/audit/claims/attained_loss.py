"""What a pair of output distributions attains, in each measure, between certified ends.

Sums of powers are made in doubles (:mod:`tacit.core.divergences.float_renyi` says how near), and
verdicts allow for that.  Everything else is exact (:mod:`tacit.core.divergences.mass_pairs`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure, log
from tacit.audit.claims.outcome_table import Table
from tacit.core import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Measure,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from tacit.core.divergences.float_renyi import largest_of_chords, log_moments
from tacit.core.divergences.mass_pairs import excess, largest_ratio
from tacit.errors import UsageError

__all__ = ["HIGHEST_ORDER", "Attained", "attained"]

HIGHEST_ORDER = 64
"""The order up to which zCDP is looked at where the max divergence is not finite."""

_ROUNDING = 1e-9
_MOST_OUTCOMES = 1 << 20
_CUT = Fraction(1, 1 << 30)


@dataclass(frozen=True)
class Attained:
    """A divergence between certified ends, and the event that shows it.

    Attributes:
        lower, upper: the ends; ``math.inf`` where an outcome is impossible on one side alone.
        event: outputs that p makes more likely than the claim allows: the event that breaks it.
        note: what was left out, if anything was.
    """

    lower: float | Fraction
    upper: float | Fraction
    event: tuple[Hashable, ...] = ()
    note: str = ""


def attained(measure: Measure, parts: Sequence[Table], claim: Any) -> Attained:
    """Return what a pair attains in one direction: epsilon, rho, or delta at the claimed epsilon.

    Args:
        measure: pure, approximate, zero-concentrated, approximate zero-concentrated or Renyi DP.
        parts: the tables of the independent parts that differ.
        claim: a loss of ``measure``; its epsilon matters for approximate DP, its delta for
            approximate zCDP, of which rho is returned.
    """
    if not parts:
        return Attained(Fraction(0), Fraction(0))
    if isinstance(measure, PureDP):
        return _pure(parts)
    if isinstance(measure, ApproximateDP):
        return _approximate(parts, claim[0])
    if isinstance(measure, RenyiDP):
        return _renyi(parts, measure.alpha)
    if isinstance(measure, ZeroConcentratedDP):
        return _concentrated(parts, claim)
    if isinstance(measure, ApproximateZeroConcentratedDP):
        rho, delta = claim
        return _concentrated_but_for(parts, rho, delta) if delta else _concentrated(parts, rho)
    raise UsageError(f"no verification is known for {measure}")


def _pure(parts: Sequence[Table]) -> Attained:
    """Add the largest log ratio of each part; the outputs that attain them are the event."""
    low = high = Fraction(0)
    best: list[Hashable] = []
    notes = []
    for table in parts:
        ratio, where = _largest_ratio(table)
        if ratio is None:
            return Attained(math.inf, math.inf, (where,))
        low, high = low + ratio.lower, high + ratio.upper
        best.append(where)
        if table.gaussian:
            return Attained(math.inf, math.inf, (where,), "the ratio grows without end")
        if not table.complete:
            notes.append(f"outcomes of probability {float(table.rest_p):.1g} were not listed")
    return Attained(low, high, _event(best), "; ".join(dict.fromkeys(notes)))


def _largest_ratio(table: Table) -> tuple[Enclosure | None, Hashable]:
    found = largest_ratio(zip(table.p, table.q, strict=True))
    if found.impossible is not None:
        return None, table.outcomes[found.impossible]
    # What is unsure belongs to what is not listed, which is stated in a note.
    if found.place is None:
        return Enclosure.of(0), None
    ends = log(found.lower, 80).lower, log(found.upper, 80).upper
    return Enclosure(*ends), table.outcomes[found.place]


def _event(places: Sequence[Hashable]) -> tuple[Hashable, ...]:
    return (places[0],) if len(places) == 1 else (tuple(places),)


def _approximate(parts: Sequence[Table], epsilon: Fraction) -> Attained:
    """Return ``sum of max(0, p - e^epsilon q)``, over the product of the parts."""
    joint = _joint(parts)
    found, certain = excess(zip(joint.p, joint.q, strict=True), epsilon, 128)
    event = tuple(joint.outcomes[i] for i in certain)
    return Attained(found.lower, found.upper + joint.rest_p, event)


def _joint(parts: Sequence[Table]) -> Table:
    """List the product of independent parts."""
    if len(parts) == 1:
        return parts[0]
    if math.prod(len(t.outcomes) for t in parts) > _MOST_OUTCOMES:
        raise UsageError("these outputs have too many parts to list together; verify fewer at once")
    names = tuple(itertools.product(*(t.outcomes for t in parts)))
    sides = []
    for side in ("p", "q"):
        products = itertools.product(*(getattr(t, side) for t in parts))
        sides.append(tuple(_product(factors) for factors in products))
    rest_p, rest_q = (
        sum((getattr(t, r) for t in parts), Fraction(0)) for r in ("rest_p", "rest_q")
    )
    return Table(names, sides[0], sides[1], rest_p, rest_q)


def _product(factors: Sequence[Enclosure]) -> Enclosure:
    found = Enclosure.of(1)
    for factor in factors:
        found = (found * factor).rounded(96)
    return found


def _moments(parts: Sequence[Table], orders: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return ``ln of sum p^a q^(1-a)`` for each order a, tails included; None where infinite."""
    total = np.zeros(len(orders))
    for table in parts:
        log_p, log_q = table.logs()
        impossible = np.array([e.upper <= 0 for e in table.q])
        possible = np.array([e.lower > 0 for e in table.p])
        if bool((possible & impossible).any()):
            return None
        # An outcome that only one side lists belongs to the rest, which is stated in a note.
        possible &= np.array([e.lower > 0 for e in table.q])
        log_p, log_q = log_p[possible], log_q[possible]
        total += log_moments(log_p, log_q, orders, tails=table.gaussian)
    return total


def _renyi(parts: Sequence[Table], alpha: Fraction) -> Attained:
    order = float(alpha)
    found = _moments(parts, np.array([order]))
    if found is None:
        return Attained(math.inf, math.inf, _impossible(parts))
    value = float(found[0]) / (order - 1)
    slack = _ROUNDING * (1 + abs(value))
    return Attained(value - slack, value + slack, (), _left_out(parts))


def _concentrated(parts: Sequence[Table], claim: Any) -> Attained:
    """Enclose ``sup over a > 1 of D_a / a``.

    ``g(a) = (a - 1) D_a`` is convex with g(1) = 0, so between two orders it lies below the chord;
    the largest ratio of a chord to ``a (a - 1)`` is found in closed form.  Near 1, D_a is at most
    that of the first order.  Above the highest order A, ``D_a / a`` is at most D_infinity / A.
    """
    top, highest = _order_range(parts, claim)
    above = np.geomspace(2.0**-20, highest - 1, 2500)
    moments = _moments(parts, 1 + above)
    if moments is None:
        return Attained(math.inf, math.inf, _impossible(parts))
    ratios = moments / (above * (1 + above))
    low = float(ratios.max())
    chords = float(largest_of_chords(above, moments).max())
    first = float(moments[0] / above[0])  # D at the first order, over a >= 1
    tail = 0.0 if top is None else top / highest
    high = max(low, first, tail, chords)
    slack = _ROUNDING * (1 + high)
    notes = [_left_out(parts)]
    if top is None:
        notes.append(f"orders up to {highest:.0f}")
    return Attained(low - slack, high + slack, (), "; ".join(n for n in notes if n))


def _concentrated_but_for(parts: Sequence[Table], rho: Fraction, delta: Fraction) -> Attained:
    """Enclose the least rho of P and Q given events of probability ``1 - delta``, the best ones.

    Let P' <= P and Q' <= Q have the total ``1 - delta`` (events, cut by a coin where an outcome is
    partly in them).  ``sum of P'^a Q'^(1-a)`` is jointly convex, so it is least where no mass can
    be moved for gain: where its derivative by P', ``a (P'/Q')^(a-1)``, is the same at all outcomes
    that are cut and at most that elsewhere, ``P' = min(P, c Q')``; likewise ``Q' = min(Q, c' P')``.
    With c and c' at least one this is ``P' = min(P, c Q)`` and ``Q' = min(Q, c' P)``.  The best cut
    is the same for each order above one and in both directions, so it is the best for their
    supremum; where c would be below one, ``min(P, Q)`` serves both sides, and rho is zero.

    Outcomes that are not listed are cut first: what is left is reached, and no lower end is known.
    Nothing is known where the probabilities are less certain than a relative 2^-30 of delta.
    """
    table = _joint(parts)
    listed = table.complete
    note = "" if listed else "outcomes that were not listed are cut first"
    unsure = max(sum((e.width for e in side), Fraction(0)) for side in (table.p, table.q))
    if unsure > delta * _CUT:
        return Attained(0.0, math.inf, (), "probabilities are not known to a part of delta")
    one = _cut(table.p, table.q, delta - table.rest_p)
    two = _cut(table.q, table.p, delta - table.rest_q)
    if delta == 1 or (one is not None and one == two):
        return Attained(Fraction(0), Fraction(0), (), note)
    if one is None or two is None:
        return Attained(math.inf if listed else 0.0, math.inf, (), note)
    found = _concentrated([Table(table.outcomes, one, two)], rho)
    return Attained(found.lower if listed else 0.0, found.upper, (), note)


def _cut(
    p: Sequence[Enclosure], q: Sequence[Enclosure], delta: Fraction
) -> tuple[Enclosure, ...] | None:
    """Return ``min(p, c q)`` as probabilities, c at least 1 and such that delta is cut, if any is.

    None where q misses more than delta (up to a relative 2^-30) of p.
    """
    pairs = [(a.middle, b.middle) for a, b in zip(p, q, strict=True)]
    cut_p = sum((a for a, b in pairs if not b), Fraction(0))
    cut_q = Fraction(0)
    if cut_p > delta * (1 + _CUT):
        return None
    ordered = sorted(((a / b, a, b) for a, b in pairs if b), reverse=True)
    c = ordered[0][0] if ordered else Fraction(1)
    for ratio, a, b in ordered:
        if cut_p - ratio * cut_q >= delta or ratio <= 1:
            break  # what is cut grows as c falls: it reaches delta above this ratio, or never
        cut_p, cut_q = cut_p + a, cut_q + b
        c = ratio
    if cut_q:
        c = max(Fraction(1), (cut_p - delta) / cut_q)
    least = [min(a, c * b) for a, b in pairs]
    total = sum(least, Fraction(0))
    return tuple(Enclosure.of(a / total) for a in least) if total else None


def _order_range(parts: Sequence[Table], claim: Any) -> tuple[float | None, float]:
    """Return D_infinity (None where it is not finite) and the highest order to look at."""
    pure = _pure(parts)
    if not isinstance(pure.upper, Fraction) or pure.note:
        return None, float(HIGHEST_ORDER)
    top = float(pure.upper)
    wanted = float(claim)
    enough = 1.01 * top / wanted + 1 if wanted > 0 else HIGHEST_ORDER
    return top, min(max(4.0, enough), 1e6)


def _impossible(parts: Sequence[Table]) -> tuple[Hashable, ...]:
    """Return the outcomes that q cannot give and p can."""
    return tuple(
        name
        for table in parts
        for name, p, q in zip(table.outcomes, table.p, table.q, strict=True)
        if p.lower > 0 and q.upper <= 0
    )


def _left_out(parts: Sequence[Table]) -> str:
    rest = max(float(t.rest_p) for t in parts)
    unknown = any(not t.complete and not t.gaussian for t in parts)
    return f"outcomes of probability {rest:.1g} were not listed" if unknown else ""
