"""Distributions of losses on a lattice."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# The privacy losses of one release in floats, put on a lattice from above and from below.
#
# Only the distribution of the loss L under P matters here: ``delta(epsilon) = E max(0, 1 -
# e^(epsilon - L))``, also of a sum of independent losses.  A summand of that sum may be replaced by
# another one, and the sum moves the same way, wherever
#
# - a loss is raised (from above) or lowered (from below), or a mass is;
# - a loss is spread with the mean of ``e^-L`` kept (from above) or gathered into one with that mean
#   (from below): for the function ``z -> max(0, 1 - e^epsilon z)`` is convex, and the other
#   summands only multiply z.
#
# **From above**, what lies between lattice points ``a < b`` is spread over the two: of its mass p
# the share ``(1 - e^a q / p) / (1 - e^(a - b))`` goes to b, where q is the mean of ``e^-L`` there,
# that is the mass of Q.  **From below**, what lies within half a step of a lattice point is
# gathered into the one loss ``-ln(q / p)``, which lies next to that point by a part of the step in
# the second order; a little of what lies beyond the point is gathered with it, so that it stands on
# the point (:func:`_mixed`).  Where the neighbours are too thin for that, losses are gathered over
# more steps; what is left is lowered to its point, or the lattice is moved down for it.  So both
# errors are of the second order in the step, except for losses that stand far from all others, on
# no lattice point.
#
# **Floats.**  Each mass is made by a handful of operations on numbers of at most 2^10, each right
# to a relative 2^-53, an exponential to 2^-50 (numpy's are right to 2^-52; a test looks); so it is
# right to 2^-40, which is added and taken away.
#
# Sources: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots", PETS 2022 (from above);
# Koskela, Jälkö, Honkela, "Computing tight differential privacy guarantees using FFT", AISTATS
# 2020.


Floats: TypeAlias = NDArray[np.float64]

SLACK = 2.0**-40  # the relative error of a mass
_FINE = 1 << 12
_FINEST = 1 << 14
_MAX_TAKEN_SHARE = 0.45  # the part of a neighbour's mass that is taken on one of its sides
_MIXINGS = 6
_NEAR = 1.0  # neighbours that are farther away, times the tilt, are not worth it
# This many steps about what is lowered otherwise are gathered into one loss, in turn.
_BLOCKS = (2, 4, 8, 16)
_MIN_MASS = 1e-300  # smaller ones are not right to a relative error
_GUARD = 1e-13  # more than the error of a loss that is computed from two masses


@dataclass(frozen=True)
class Side:
    """A bound on the losses from one side: masses at ``origin + (first + i) step``."""

    step: float
    origin: float
    first: int
    masses: Floats
    infinite: float = 0.0  # the mass of an infinite loss
    blur: float = 0.0  # how far the losses may lie on the wrong side of where they stand


@dataclass(frozen=True)
class ListedLosses:
    """Losses one by one, each between two floats, as its mass is.

    Attributes:
        low, high: the ends of each loss.
        min_mass, max_mass: the ends of its mass under P.
        infinite: the ends of the mass of an infinite loss; from above, what lies beyond the list
            counts there.
        lattice_indices: the index of each on a lattice of their own, in steps from its origin;
            empty where they are on none.
    """

    low: Floats
    high: Floats
    min_mass: Floats
    max_mass: Floats
    infinite: tuple[float, float] = (0.0, 0.0)
    lattice_indices: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class SpreadLosses:
    """Losses too many to list.

    Attributes:
        ends: where those of ``masses`` lie.
        masses: rising losses to the masses of P and of Q between each two neighbours; what is on
            one is on either side of it.
        alone: those next to them that have a mass of their own.
        slack: the relative error of the masses.
    """

    ends: tuple[float, float]
    masses: Callable[[Floats], tuple[Floats, Floats]]
    alone: ListedLosses
    slack: float = SLACK


def on_own_lattice(
    losses: ListedLosses | SpreadLosses, step: float, origin: float, *, upper: bool = True
) -> Side:
    """Return one side of losses that stand on a lattice of their own: nothing is moved."""
    assert isinstance(losses, ListedLosses)
    assert losses.lattice_indices is not None
    first = int(losses.lattice_indices.min())
    size = int(losses.lattice_indices.max()) - first + 1
    masses = summed(
        losses.lattice_indices - first, losses.max_mass if upper else losses.min_mass, size
    )
    return Side(step, origin, first, masses, losses.infinite[upper], _blur(losses))


def raised(losses: ListedLosses | SpreadLosses, floor: float) -> ListedLosses | SpreadLosses:
    """Return losses of which those below a floor stand there, which no other ones make up for."""
    # From below they have no mass.
    alone = losses if isinstance(losses, ListedLosses) else losses.alone
    under = alone.low < floor
    low, high = np.maximum(alone.low, floor), np.maximum(alone.high, floor)
    minimum, maximum = np.where(under, 0.0, alone.min_mass), alone.max_mass
    if isinstance(losses, ListedLosses):
        return ListedLosses(low, high, minimum, maximum, alone.infinite) if under.any() else losses
    if floor <= losses.ends[0]:
        return losses
    gone, _ = losses.masses(np.linspace(losses.ends[0], floor, _FINE))
    mass = float(gone.sum()) * (1 + 2 * losses.slack)
    listed = ListedLosses(
        np.append(low, floor),
        np.append(high, floor),
        np.append(minimum, 0.0),
        np.append(maximum, mass),
        alone.infinite,
    )
    ends = (floor, max(losses.ends[1], floor))
    return SpreadLosses(ends, losses.masses, listed, losses.slack)


def above(losses: ListedLosses | SpreadLosses, step: float, origin: float = 0.0) -> Side:
    """Put losses on the multiples of a step behind an origin, from above."""
    alone = losses if isinstance(losses, ListedLosses) else losses.alone
    cell, rest = _cell_of(alone.high - origin, step)
    share = np.where(rest > 0, -np.expm1(-rest) / -math.expm1(-step) + 1e-12, 0.0)
    pieces = [_shared(cell, alone.max_mass, share)]
    blur = _blur(losses)
    if isinstance(losses, SpreadLosses):
        cells, p, q = _halves(losses, step, origin)
        cells //= 2
        # a mass of Q that floats do not hold goes to the upper end whole
        held = q > _MIN_MASS
        remaining = np.zeros(len(p))
        ratio = q[held] / p[held] * (1 - 4 * losses.slack)
        remaining[held] = np.exp(cells[held] * step + origin) * ratio
        share = (1 - remaining) / -math.expm1(-step)
        pieces.append(_shared(cells, p * (1 + losses.slack), share))
    points = np.concatenate([points for points, _ in pieces])
    masses = np.concatenate([masses for _, masses in pieces])
    return _grouped(step, origin, points, masses, alone.infinite[1], blur)


def below(losses: ListedLosses | SpreadLosses, step: float, origin: float, tilt: float) -> Side:
    """Put losses on a lattice of a step, from below; near an origin, to be moved from it."""
    # They matter as their mass times ``e^(tilt loss)`` here, but any tilt gives a bound.
    alone = losses if isinstance(losses, ListedLosses) else losses.alone
    nearest = np.rint((alone.low - origin) / step).astype(np.int64)
    p, q = alone.min_mass, alone.min_mass * np.exp(origin - alone.low)
    blur, unsure = _blur(losses), _GUARD
    if isinstance(losses, SpreadLosses):
        halves, p_spread, q_spread = _halves(losses, step, origin)
        held = q_spread > _MIN_MASS
        halves, p_spread, q_spread = halves[held], p_spread[held], q_spread[held]
        nearest = np.concatenate([nearest, (halves + 1) // 2])
        p = np.concatenate([p, p_spread * (1 - losses.slack)])
        q = np.concatenate([q, q_spread * ((1 - losses.slack) * math.exp(origin))])
        unsure += 4 * losses.slack
    first = int(nearest.min())
    p, q = summed(nearest - first, p), summed(nearest - first, q)
    there = np.flatnonzero(p > 0)
    if not len(there):
        return Side(step, 0.0, 0, np.zeros(1), alone.infinite[0])
    points: NDArray[np.int64] = there + first
    p, q = p[there], q[there]
    candidates: list[tuple[float, float, NDArray[np.int64], Floats]] = []
    maximum = step * points[-1]
    for block in _BLOCKS:
        at: Floats = -np.log(q / p) - unsure
        weight = p * np.exp(tilt * (at - at[-1]))
        indices, _, left = _mixed(at, p, step, tilt)
        down = _lowering(np.where(left, (indices + 1) * step - at, 0.0), weight, step)
        if down:
            down += 2.0**-46 * float(np.abs(at).max())  # so that what it is for is on its point
        indices, mixed_masses, left_over = _mixed(at + down, p, step, tilt)
        exponents = max(tilt, 1.0) * (step * indices - down - maximum)
        worth = float(mixed_masses @ np.exp(np.minimum(exponents, 600.0)))
        candidates.append((worth, down, indices, mixed_masses))
        if not left.any():
            break
        p, q = (_together(points, left_over | left, block, masses) for masses in (p, q))
        points = np.asarray(np.floor(-np.log(q / p) / step), dtype=np.int64)
    _, down, indices, mixed_masses = max(candidates, key=lambda one: one[0])
    return _grouped(step, origin - down, indices, mixed_masses, alone.infinite[0], blur)


def spread_of(losses: ListedLosses | SpreadLosses) -> tuple[float, float]:
    """Return about the standard deviation of losses, and the largest size that matters."""
    alone = losses if isinstance(losses, ListedLosses) else losses.alone
    ends = () if isinstance(losses, ListedLosses) else losses.ends
    radius = float(max(np.abs(alone.high).max(initial=0.0), *map(abs, ends), 1e-300))
    side = above(losses, radius / _FINEST)
    indices = side.step * (side.first + np.arange(len(side.masses)))
    mean = float(side.masses @ indices)
    return math.sqrt(float(side.masses @ np.square(indices - mean))), radius


def _together(
    points: NDArray[np.int64], wanted: NDArray[np.bool_], block: int, masses: Floats
) -> Floats:
    """Add up masses over blocks of places that hold a wanted one; others stay as they are."""
    blocks = points // block
    within = np.isin(blocks, blocks[wanted])
    first = np.append(True, (blocks[1:] != blocks[:-1]) | ~within[1:])
    return summed(np.cumsum(first) - 1, masses)


def _mixed(
    losses: Floats, p: Floats, step: float, tilt: float
) -> tuple[NDArray[np.int64], Floats, NDArray[np.bool_]]:
    """Bring masses onto points, each with a little of a neighbour's that is beyond the point."""
    # A part of the mass of a neighbour, on the other side of the point, is gathered with what
    # is next to it, so that the mean of e^-loss of both is that of the point.  The parts r that
    # stay solve ``r + A r = p``, where A says how much of a neighbour each takes; ``p - A p``, and
    # every second one of the sums that begin so, is not above them, and leaves something over,
    # which is lost.  The point above or below is taken, whichever takes the smaller part of the
    # neighbour.
    #
    # Returns: the positions of the points, the masses there, and which were lowered to their point:
    # the neighbours are too thin, or too far.
    size = len(p)
    points = np.floor(losses / step)
    pieces = []
    for side in (-1, 1):
        adjacent = np.clip(np.arange(size) + side, 0, size - 1)
        point = (points + (side + 1) // 2) * step
        # how far the means of e^-loss lie from that of the point, in parts of it
        own, far = np.expm1(point - losses) * side, np.expm1(point - losses[adjacent]) * -side
        near = (far > own) & (np.abs(losses[adjacent] - losses) * (tilt + 1) < _NEAR)
        share = np.where(near, np.maximum(own, 0.0) / np.where(near, far, 1.0), 1.0)
        pieces.append(
            (share * (1 + 2.0**-44), np.where(near, share * p / p[adjacent], 1.0), adjacent)
        )
    (down, taken_down, lower), (up, taken_up, upper) = pieces
    rise = taken_up < taken_down
    adjacent, share = np.where(rise, upper, lower), np.where(rise, up, down)
    left = np.minimum(taken_up, taken_down) > _MAX_TAKEN_SHARE
    share[left] = 0.0

    def taken(r: Floats) -> Floats:
        return summed(adjacent, share * r, size)

    remaining = p
    for _ in range(_MIXINGS):
        remaining = p - taken(p - taken(remaining))
    remaining = np.maximum(p - taken(remaining), 0.0) * (1 - 2.0**-44) * (1 + share)
    return (points + (rise & ~left)).astype(np.int64), remaining, left


def _blur(losses: ListedLosses | SpreadLosses) -> float:
    """Return more than the rounding errors of what is added to the largest of some losses."""
    # An outcome that is too fine for floats to tell its ends apart is moved by less.
    alone = losses if isinstance(losses, ListedLosses) else losses.alone
    largest = float(max(np.abs(alone.low).max(), np.abs(alone.high).max()))
    if isinstance(losses, SpreadLosses):
        largest = max(largest, *map(abs, losses.ends))
    return 2.0**-49 * largest


def summed(indices: NDArray[np.int64], masses: Floats, size: int = 0) -> Floats:
    """Add up masses by place, from 0 on."""
    sums: Any = np.bincount(indices, masses, size)
    return np.asarray(sums, dtype=np.float64)


def _cell_of(losses: Floats, step: float) -> tuple[NDArray[np.int64], Floats]:
    """Return the lattice point at or below each loss, and what is left above it."""
    nearest = np.rint(losses / step)
    rest = losses - nearest * step
    on = np.abs(rest) <= 2.0**-50 * np.maximum(np.abs(losses), step)  # the blur allows for it
    point = np.where(on, nearest, np.floor(losses / step))
    rest = np.where(on, 0.0, losses - point * step)
    return point.astype(np.int64), rest


def _halves(
    losses: SpreadLosses, step: float, origin: float
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return the half steps that hold losses, with their masses of P and Q."""
    low, high = losses.ends
    first, last = math.floor(2 * (low - origin) / step), math.ceil(2 * (high - origin) / step)
    halves = np.arange(first, last, dtype=np.int64)
    ends = np.clip(np.arange(first, last + 1) * (step / 2) + origin, low, high)
    p, q = losses.masses(ends)
    return halves[p > 0], p[p > 0], q[p > 0]


def _shared(
    cells: NDArray[np.int64], masses: Floats, share: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """Spread each mass over the two ends of its cell; the sum is no less than before."""
    high = np.clip(share, 0.0, 1.0)
    spread = np.concatenate([masses * (1 - high), masses * high]) * (1 + 2.0**-50)
    return np.concatenate([cells, cells + 1]), spread


def _lowering(missing: Floats, weight: Floats, step: float) -> float:
    """Return how far to move the lattice: what it costs all, against a step for who misses it."""
    order = np.argsort(missing)
    sorted_missing = np.maximum(missing[order], 0.0)
    later = np.cumsum(weight[order][::-1])[::-1]
    after = np.append(later[1:], 0.0) / later[0]
    return float(sorted_missing[np.argmin(sorted_missing + step * after)])


def _grouped(
    step: float,
    origin: float,
    points: NDArray[np.int64],
    masses: Floats,
    infinite: float,
    blur: float,
) -> Side:
    first = int(points.min())
    sums = summed(points - first, masses)
    blur += 2.0**-50 * step * float(np.abs(points).max())
    return Side(step, origin, first, sums, infinite, blur)


# The privacy losses of discrete Laplace and Gaussian noise in floats.
#
# Where the outcomes are few they are listed, and stand on a lattice.  Else they are added up: where
# masses between losses are asked for, each end is moved to the middle between two outcomes, so that
# an outcome counts as a whole and where its loss is.
#
# **Laplace**, ``P(x)`` proportional to ``r^|x|`` with ``r = e^(-1/scale)``, shifted by s: the
# losses are ``(2 x + s) / scale`` for x from -s to 0, of which the ends have the masses ``P(X <=
# -s) = r^s / (1 + r)`` and ``P(X >= 0) = 1 / (1 + r)``.  Between them the masses of n outcomes up
# to ``j - 1`` come to ``e^((j - 1) / scale) (1 - e^(-n / scale)) / (1 + r)``.
#
# **Gaussian**, shifted by s: the loss is ``s (2 x + s) / (2 sigma^2)``.  The sum of ``f(x) =
# e^(-x^2 / (2 sigma^2))`` over whole numbers a..b-1 is the integral of ``f - f'' / 24`` from ``a -
# 1/2`` to ``b - 1/2``, up to ``7 f'''' / 5760`` a number (Euler and Maclaurin): relatively, at most
# ``u^4 / (800 sigma^4)`` at u > 2 standard deviations, which is below 2^-44 for all u up to 37 and
# sigma above 2^14; smaller ones are listed.  Integrals are by Gauss and Legendre with five points,
# on pieces of at most h = 1/50 of a standard deviation: an error of ``(5!)^4 h^11 f^(10) / (11
# (10!)^3)``, relatively below ``4 (u h)^10 10^-13 e^(u h)``, which is below 2^-44 for u up to 37.
# Where an integral starts is right to ``2^-52 u``, so the density there to ``2^-52 u^2``, below
# 2^-41; its width is a number of outcomes over sigma, right to 2^-52 whatever the width.  An end of
# losses that rounding moves takes the same whole outcomes into both masses: they are moved by less
# than :func:`_blur`.  Masses below 10^-300 may have lost digits, and are not used as numbers: of P
# they are not above what is left out, and with one of Q the loss counts as the end of its cell.


_MAX_LISTED = 1 << 18
_MIN_SIGMA = 1 << 14  # in whole units: the outcomes of smaller ones are listed
_PIECES = 50  # in a standard deviation
_NODES = [math.sqrt(5 + sign * 2 * math.sqrt(10 / 7)) / 3 for sign in (-1, 1)]
_WEIGHTS = [128 / 225, *((322 - sign * 13 * math.sqrt(70)) / 900 for sign in (-1, 1))]


def laplace_losses(scale: Fraction, shift: int) -> ListedLosses | SpreadLosses:
    """Return the losses of discrete Laplace noise against itself, shifted."""
    rate, largest = float(1 / scale), float(shift / scale)
    both = 1 + math.exp(-rate)
    if shift <= _MAX_LISTED:
        indices = np.arange(-shift, 1, dtype=np.int64)
        masses = np.asarray(np.exp(indices * rate)) * (-math.expm1(-rate) / both)
        masses[0], masses[-1] = math.exp(-largest) / both, 1 / both
        return _listed(largest + 2 * rate * indices, masses, indices)
    ends = np.array([-largest, largest])
    alone = _listed(ends, np.array([math.exp(-largest), 1.0]) / both, None)

    def masses_between(losses: Floats) -> tuple[Floats, Floats]:
        # the outcomes from one end up to the one before the next
        first = np.ceil((losses / rate - shift) / 2)
        width = -np.expm1(-rate * np.diff(first)) / both
        return np.exp(rate * (first[1:] - 1)) * width, np.exp(-rate * (first[:-1] + shift)) * width

    return SpreadLosses((-largest + rate, largest - rate), masses_between, alone, 2 * SLACK)


def gaussian_losses(sigma: Fraction, shift: int, dust: float) -> ListedLosses | SpreadLosses:
    """Return the losses of discrete Gaussian noise against itself, shifted."""
    # dust: the mass that may be left out at each end; it is below ``e^(-u^2 / 2)`` beyond u
    #   standard deviations.
    deviations = math.sqrt(-2 * math.log(dust)) + 2.0**-20
    radius = math.ceil(deviations * sigma)
    ratio, square = float(shift / sigma), float(sigma**2)
    middle, infinite = ratio**2 / 2, (0.0, dust)
    if 2 * radius + 1 <= _MAX_LISTED or sigma <= _MIN_SIGMA:
        indices = np.arange(-radius, radius + 1, dtype=np.int64)
        masses: Floats = np.exp(-np.square(indices.astype(np.float64)) / (2 * square))
        masses /= masses.sum()
        listed = _listed(middle + float(shift / sigma**2) * indices, masses, indices, infinite)
        listed.max_mass[0] += dust
        return listed

    density = _gaussian_density(square)

    def masses_between(losses: Floats) -> tuple[Floats, Floats]:
        # Whole outcomes, and how many: a difference of two ends would have lost its last digits.
        first = np.ceil((losses - middle) / gap)
        widths, starts = np.diff(first) / deviation, (first[:-1] - 0.5) / deviation
        return (
            _integrals_about(density, widths, starts),
            _integrals_about(density, widths, starts + ratio),
        )

    deviation = float(sigma)
    gap = float(shift / sigma**2)
    ends = (middle - ratio * deviations, middle + ratio * deviations)
    below = np.array([ends[0]])
    alone = ListedLosses(below, below, np.zeros(1), np.full(1, dust), infinite)
    return SpreadLosses(ends, masses_between, alone, 2 * SLACK)


def _gaussian_density(square: float) -> Callable[[Floats], Floats]:
    """Return the density, over standard deviations, whose integrals are sums of outcomes."""

    def density(u: Floats) -> Floats:
        thin: Floats = np.exp(-np.square(u) / 2) * (1 - (np.square(u) - 1) / (24 * square))
        return thin / math.sqrt(2 * math.pi)

    return density


def gaussian_masses(sigma: Fraction, cuts: Floats, centre: int) -> Floats:
    """Return the masses of discrete Gaussian noise from each whole number up to the next.

    >>> cuts = np.array([-3.0, 0.0, 1.0])
    >>> gaussian_masses(Fraction(1), cuts, 0).round(4).tolist()
    [0.3004, 0.3989]
    """
    # Of wide noise these are integrals; widths are differences of whole numbers, and so sharp.
    deviation = float(sigma)
    if sigma > _MIN_SIGMA:
        starts = (cuts[:-1] - float(centre) - 0.5) / deviation
        return _integrals_about(_gaussian_density(deviation**2), np.diff(cuts) / deviation, starts)
    radius = 40 * math.ceil(sigma)
    one = np.exp(-np.square(np.arange(-radius, radius + 1) / deviation) / 2)
    first, last = int(cuts[0]) - centre, int(cuts[-1]) - centre
    outcomes = np.exp(-np.square(np.arange(first, last) / deviation) / 2) / one.sum()
    return np.add.reduceat(outcomes, (cuts[:-1] - cuts[0]).astype(np.int64))


def laplace_masses(scale: Fraction, cuts: Floats, centre: int) -> Floats:
    """Return the masses of discrete Laplace noise from each whole number up to the next.

    >>> laplace_masses(Fraction(1), np.array([-1.0, 0.0, 2.0]), 0).round(4).tolist()
    [0.17, 0.6321]
    """
    rate = float(1 / scale)
    both = 1 + math.exp(-rate)
    at = cuts - float(centre)
    low, high = np.minimum(at, 0.0), np.maximum(at, 0.0)
    under = np.exp(rate * (low[1:] - 1)) * -np.expm1(-rate * np.diff(low))
    over = np.exp(-rate * high[:-1]) * -np.expm1(-rate * np.diff(high))
    return (under + over) / both  # type: ignore[no-any-return]


def _listed(
    losses: Any,
    masses: Any,
    indices: NDArray[np.int64] | None,
    infinite: tuple[float, float] = (0.0, 0.0),
) -> ListedLosses:
    return ListedLosses(
        losses, losses, masses * (1 - SLACK), masses * (1 + SLACK), infinite, indices
    )


def _integrals_about(density: Callable[[Floats], Floats], widths: Floats, starts: Floats) -> Floats:
    """Integrate from each start on, in pieces where that is far."""
    pieces = max(1, math.ceil(_PIECES * float(widths.max(initial=0.0))))
    half = widths[:, None] / (2 * pieces)
    middle = starts[:, None] + half * (2 * np.arange(pieces) + 1)
    integrals = _WEIGHTS[0] * density(middle)
    for node, weight in zip(_NODES, _WEIGHTS[1:], strict=True):
        integrals += weight * (density(middle - node * half) + density(middle + node * half))
    return (half * integrals).sum(axis=1)  # type: ignore[no-any-return]
