"""Two output distributions side by side: the outcomes listed, and what is certain of the rest.

A pair of distributions becomes a list of :class:`Table`, one for each independent part of the
output that differs between the two (parts that are the same on both inputs cannot tell them apart,
and drop out of every divergence).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.mechanisms.additive.staircase import DiscreteStaircase
from tacit.mechanisms.additive.truncated_geometric import ClampedDistribution
from tacit.mechanisms.shared.grid_noise import LatticeDistribution
from tacit.mechanisms.shared.output_distribution import FiniteDistribution, Mixture, Product
from tacit.noise import DiscreteGaussian, DiscreteLaplace, Enclosure

__all__ = ["Table", "Tail", "listed", "tables"]

_NONE = Enclosure(Fraction(0), Fraction(0))
_TAIL = Fraction(1, 1 << 90)
_MOST_OUTCOMES = 200_000


@dataclass(frozen=True)
class Tail:
    """All outcomes from ``start`` on, outwards, in steps of ``step``.

    >>> print(Tail(Fraction(3), Fraction(-1)), Tail(Fraction(3), Fraction(2)))
    3 and below 3, 5, 7, ...
    """

    start: Fraction
    step: Fraction
    unit: Fraction = Fraction(1)

    def __str__(self) -> str:
        if abs(self.step) == self.unit:
            return f"{show(self.start)} and {'above' if self.step > 0 else 'below'}"
        shown = ", ".join(show(self.start + i * self.step) for i in range(3))
        return f"{shown}, ..."


@dataclass(frozen=True)
class Table:
    """Outcomes with their probability under p and under q.

    Attributes:
        outcomes: what is listed; a :class:`Tail` stands for all outcomes beyond a point.
        p, q: enclosures, one an outcome.
        rest_p, rest_q: upper bounds of the probability of what is not listed.
        gaussian: whether the rest is the two tails of discrete Gaussian noise, along which the
            terms ``p^a q^(1-a)`` fall ever faster and the ratios p / q move without end.
    """

    outcomes: tuple[Hashable, ...]
    p: tuple[Enclosure, ...]
    q: tuple[Enclosure, ...]
    rest_p: Fraction = Fraction(0)
    rest_q: Fraction = Fraction(0)
    gaussian: bool = False

    def turned(self) -> Table:
        """Return the table with p and q exchanged."""
        return Table(self.outcomes, self.q, self.p, self.rest_q, self.rest_p, self.gaussian)

    @property
    def complete(self) -> bool:
        """Whether every outcome is listed."""
        return not (self.rest_p or self.rest_q)

    def logs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ln p and ln q in doubles, each within ``2^-50 (1 + |ln|)``."""
        return np.array([_ln(e.middle) for e in self.p]), np.array([_ln(e.middle) for e in self.q])


def tables(p: Any, q: Any, orders: Fraction = Fraction(1)) -> list[Table]:
    """Return the tables of two distributions, one for each independent part that differs.

    Args:
        p: the distribution of a mechanism on one input, or a mapping of outcomes to numbers.
        q: that on another input.
        orders: the largest Renyi order that will be asked for; the window of Gaussian noise reaches
            as far as the terms of that order do.

    Raises:
        UsageError: what is no distribution; distributions that cannot be listed side by side.
    """
    if isinstance(p, Product) and isinstance(q, Product) and len(p.parts) == len(q.parts):
        pairs = zip(p.parts, q.parts, strict=True)
        return [t for a, b in pairs if a != b for t in tables(a, b, orders)]
    if p == q:
        _check_kind(p)
        return []
    return [_side_by_side(_read(p), _read(q), orders)]


def _read(p: Any) -> Any:
    return FiniteDistribution.of(p) if isinstance(p, Mapping) else p


def _side_by_side(p: Any, q: Any, orders: Fraction) -> Table:
    laws = [*_laws(p), *_laws(q)]
    if laws[0] is not None and all(law == laws[0] for law in laws):
        return _windows(p, q, orders)
    left, right = listed(p), listed(q)
    outcomes = tuple(dict.fromkeys([*left.table, *right.table]))
    # What one side does not list may still be in its rest.
    absent = [Enclosure(Fraction(0), side.rest) for side in (left, right)]
    return Table(
        outcomes,
        tuple(left.table.get(x, absent[0]) for x in outcomes),
        tuple(right.table.get(x, absent[1]) for x in outcomes),
        left.rest,
        right.rest,
    )


def _laws(p: Any) -> list[tuple[Any, Fraction] | None]:
    """Return the noise of a distribution on a lattice, by coordinate; [None] where it is none."""
    if isinstance(p, LatticeDistribution):
        return [(p.law, p.grid)]
    if isinstance(p, Mixture):
        return [law for _, part in p.parts for law in _laws(part)]
    return [None]


def _centres(p: Any) -> list[int]:
    if isinstance(p, LatticeDistribution):
        return [p.centre]
    return [c for _, part in p.parts for c in _centres(part)]


def _windows(p: Any, q: Any, orders: Fraction) -> Table:
    first = _laws(p)[0]
    if first is None:
        raise UsageError("only noise on a lattice has a window of outcomes")
    law, grid = first
    if isinstance(law, DiscreteGaussian):
        return _gaussian_window(p, q, law, grid, orders)
    if isinstance(law, DiscreteLaplace):
        return _folded(p, q, law, grid, 1, exp(-1 / law.scale, 128))
    if isinstance(law, DiscreteStaircase):
        return _folded(p, q, law, grid, law.period, exp(-law.epsilon, 128))
    raise UsageError(f"the tails of {type(law).__name__} are not known")


def _folded(p: Any, q: Any, law: Any, grid: Fraction, period: int, decay: Enclosure) -> Table:
    """List what lies between the centres, and fold each tail into ``period`` outcomes.

    Beyond all centres ``P(x + period) = decay P(x)`` under p and q alike, so outcomes a period
    apart have the same ratio of probabilities, and joining them loses nothing: the folded table has
    exactly the divergences of the distributions, and nothing is left out of it.
    """
    centres = [*_centres(p), *_centres(q)]
    lowest, highest = min(centres), max(centres)
    if highest - lowest + 2 * period > _MOST_OUTCOMES:
        raise UsageError("these inputs are too far apart, in grid units, to list what lies between")
    units = range(lowest - period + 1, highest + period)
    known = {k: law.probability(k, 96) for k in range(-len(units), len(units) + 1)}
    whole = (1 / (1 - decay)).rounded(128)
    names: list[Hashable] = []
    sides: list[list[Enclosure]] = [[], []]
    for unit in units:
        above, below = unit >= highest, unit <= lowest
        name: Hashable = unit * grid
        if above or below:
            name = Tail(unit * grid, (1 if above else -1) * period * grid, grid)
        names.append(name)
        for side, distribution in zip(sides, (p, q), strict=True):
            here = _mixed(distribution, unit, known)
            side.append((here * whole).rounded(96) if above or below else here)
    return Table(tuple(names), tuple(sides[0]), tuple(sides[1]))


def _gaussian_window(p: Any, q: Any, law: Any, grid: Fraction, orders: Fraction) -> Table:
    """List a window that leaves 2^-90 of either, and reaches as far as the highest order does."""
    centres = [*_centres(p), *_centres(q)]
    low, high = law.support(1 - _TAIL)
    shift = math.ceil((orders + 1) * (max(centres) - min(centres)))
    units = range(min(centres) + low - shift, max(centres) + high + shift + 1)
    if len(units) > _MOST_OUTCOMES:
        raise UsageError(
            f"this noise spreads over {len(units)} grid units, more than can be listed; verify it "
            "at a smaller scale, which has the same proof"
        )
    reach = max(abs(units[0] - max(centres)), abs(units[-1] - min(centres)))
    half = [law.probability(k) for k in range(reach + 1)]
    known = {k: half[abs(k)] for k in range(-reach, reach + 1)}
    single = isinstance(p, LatticeDistribution) and isinstance(q, LatticeDistribution)
    sides = [tuple(_mixed(d, u, known) for u in units) for d in (p, q)]
    names = tuple(u * grid for u in units)
    return Table(names, sides[0], sides[1], _TAIL, _TAIL, gaussian=single)


def _mixed(p: Any, unit: int, known: Mapping[int, Enclosure]) -> Enclosure:
    if isinstance(p, LatticeDistribution):
        return known[unit - p.centre]
    total = _NONE
    for weight, part in p.parts:
        total = total + weight * _mixed(part, unit, known)
    return total.rounded(96)


def _check_kind(p: Any) -> None:
    """Refuse what is no distribution, such as the None of a function that returns nothing."""
    known = (
        Mapping,
        Product,
        Mixture,
        FiniteDistribution,
        ClampedDistribution,
        LatticeDistribution,
    )
    if isinstance(p, known) or (hasattr(p, "probability") and hasattr(p, "support")):
        return
    raise UsageError(
        "a distribution is a mapping of outcomes to probabilities, or answers probability(value) "
        "and support(mass)"
    )


def listed(p: Any) -> FiniteDistribution:
    """List a distribution that stands alone; its tails become the rest."""
    if isinstance(p, FiniteDistribution):
        return p
    if isinstance(p, ClampedDistribution):
        units = range(p.lowest, p.highest + 1)
        if len(units) > _MOST_OUTCOMES:
            raise UsageError("these bounds are too wide to list every outcome; verify closer ones")
        return FiniteDistribution({u * p.grid: p.of_unit(u) for u in units})
    if isinstance(p, LatticeDistribution):
        low, high = p.law.support(1 - _TAIL)
        units = range(p.centre + low, p.centre + high + 1)
        table: dict[Hashable, Enclosure] = {
            u * p.grid: p.law.probability(u - p.centre) for u in units
        }
        return FiniteDistribution(table, _TAIL)
    if isinstance(p, Mixture):
        return _listed_mixture(p)
    _check_kind(p)
    return _asked(p)


def _listed_mixture(p: Mixture) -> FiniteDistribution:
    table: dict[Hashable, Enclosure] = {}
    rest = Fraction(0)
    for weight, part in p.parts:
        law = listed(part)
        rest += weight.upper * law.rest
        for value, share in law.table.items():
            table[value] = (table.get(value, _NONE) + weight * share).rounded(128)
    return FiniteDistribution(table, rest)


def _asked(p: Any) -> FiniteDistribution:
    """Ask a distribution of the caller's own for the whole numbers of its support."""
    mass = 1 - Fraction(1, 1 << 60)
    ends = p.support(mass)
    whole = len(ends) == 2 and all(float(e) == int(e) for e in ends)
    outcomes: Iterable[Any] = range(int(ends[0]), int(ends[1]) + 1) if whole else ends
    table = {x: Enclosure.of(p.probability(x)) for x in outcomes}
    missing = 1 - sum((e.lower for e in table.values()), Fraction(0))
    return FiniteDistribution.of(table, max(Fraction(0), missing))


def _ln(value: Fraction) -> float:
    """Return the natural logarithm of a fraction, of any size, in doubles."""
    if value <= 0:
        return -math.inf
    top, bottom = value.numerator, value.denominator
    shift = top.bit_length() - bottom.bit_length()
    scaled = Fraction(top, bottom << shift) if shift >= 0 else Fraction(top << -shift, bottom)
    return math.log(float(scaled)) + shift * math.log(2)
