"""Noisy sums of products of columns, and what they say of numbers computed from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.tables.noise import (
    Array,
    Band,
    GridNoise,
    half_widths,
)
from tacit.tables.steps import Basis

Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class NoisySums:
    """The released coordinates of each group, and what the noise can have done to them."""

    noisy: Array  # shape (groups, coordinates)
    basis: Basis
    distribution: GridNoise

    def band(self, chance: float) -> tuple[Array, Array]:
        """Return the sums of the monomials, shape (groups, monomials), and how far each is off."""
        # With a probability of at least ``1 - chance`` all are within that (the union bound).
        decoding = self.basis.decoding
        level = 1 - chance / len(decoding)
        return self.noisy @ decoding.T, half_widths(self.distribution, decoding, level)

    def quantile(self, weights: Array, spread: Array, chance: float) -> Array:
        """Return how far a weighted sum of the noises of the monomials is off, but for a chance."""
        # A quantile rises with the absolute value of every weight, so the largest are taken.
        decoding = self.basis.decoding
        most = np.abs(weights @ decoding) + spread @ np.abs(decoding)
        return half_widths(self.distribution, most, 1 - chance)

    @property
    def values(self) -> Array:
        """The noisy sums of the monomials, shape (groups, monomials)."""
        return np.asarray(self.noisy @ self.basis.decoding.T)

    @cached_property
    def _directions(self) -> Array:
        """The decoding in orthonormal directions: shape (monomials, directions)."""
        # The sums of products of different columns are orthogonal in the coordinates, which are
        # corners or these sums themselves; a square is half of the rows and a coordinate more.
        decoding, basis = self.basis.decoding, self.basis
        plain = [len(set(f)) == len(f) for f in basis.monomials]
        norms = np.sqrt((decoding[plain] ** 2).sum(axis=1, keepdims=True))
        own = np.eye(basis.width)[basis.width - len(basis.squares) :]
        return np.asarray(decoding @ np.vstack((decoding[plain] / norms, own)).T)

    def bound(self, weights: Array, spread: Array, chance: float) -> Array:
        """Return a norm of the weights that bounds :meth:`quantile`, nearly as short for many."""
        # One multiple of the deviation is enough for every sum; and in orthogonal directions what
        # the weights can be off by hardly adds to their norm.
        tail = self.distribution.norm_bound(1 - chance)
        own = np.abs(weights @ self._directions) + spread @ np.abs(self._directions)
        steps = (np.abs(weights) + spread) @ np.abs(self.basis.decoding).sum(axis=1)
        size = np.sqrt((own**2).sum(axis=-1))
        return np.asarray(tail * size + self.distribution.grid * steps)

    def shorter(self, weights: Array, spread: Array, chance: float) -> Array:
        """Return the lesser of both bounds."""
        bound = self.bound(weights, spread, chance)
        if self.distribution.kind == "gaussian":  # the norm is that of the quantile
            return bound
        return np.minimum(bound, self.quantile(weights, spread, chance))

    def ratio(self, top: Array, under: Array, chance: float) -> Ratio:
        """Return where the ratio of two true sums is, but for a chance."""
        # For the true ratio x, of plain estimate x^ = T / S, the noise on ``top - x under`` is
        # ``(x^ - x) S``.  Its bound is a norm, so at most ``|top - x^ under| + |x^ - x| |under|``;
        # hence ``|x^ - x| <= |top - x^ under| / (S - |under|)``.
        sizes = self.values @ under
        none = np.zeros_like(self.values)
        least = self.bound(none + under, none, chance)
        known = sizes > least
        safe = np.where(known, sizes, 2 * least)
        x = (self.values @ top) / safe
        weights = top - x[:, None] * under
        off = self.bound(weights, none, chance) / (safe - least)
        noise = self.shorter(weights, off[:, None] * np.abs(under), chance)
        return Ratio(Band(x, noise / safe), noise, safe, known)

    def deviation(self, weights: Array) -> Array:
        """Return the standard deviation of a weighted sum of the noises of the monomials."""
        each = weights @ self.basis.decoding
        return np.asarray(np.sqrt((each**2).sum(axis=-1) * self.distribution.variance))


class Ratio(NamedTuple):
    """The ratio of two true sums, and the noise on the upper less the ratio times the lower."""

    band: Band
    noise: Array  # at most so much, in absolute value
    under: Array  # the noisy lower sum
    known: Flags  # whether the lower sum is surely not zero; else the rest has no meaning


@dataclass(frozen=True, eq=False)
class Line:
    """Which numbers x a noisy sum does not contradict, whose noise alone is ``top - x under``.

    The noise has the weights ``at + x by``, each known up to a spread that grows with ``|x|``, and
    there is a second order that grows so.
    """

    # **Interval.**  A number x is possible if ``|top - x under| <= q(x)``, where q is the quantile
    # of the noise plus the second order; so the truth is, but for the chance of the quantile.  With
    # the norm of :meth:`NoisySums.bound` in place of the quantile q is convex in x, as is each of
    # its parts.  Above the plain estimate ``top / under`` then ``under x - top - q(x)`` is concave,
    # and not positive at the estimate; where ``under`` is more than the slope of q at infinity it
    # rises without end, and so changes its sign once.  Bisection finds the place, below likewise.
    # Where ``under`` is less, no interval is known (Fieller 1954).
    #
    # From both ends inwards cells of numbers are then compared with the quantile itself at the
    # largest weights of the cell: an end comes nearer past each cell that holds no possible number.

    sums: NoisySums
    top: Array
    under: Array
    at: Band  # shape (groups, monomials), as ``by``
    by: Band
    second: tuple[Array, Array]
    chance: float

    def q(self, centre: Array, radius: Array, *, exact: bool) -> Array:
        """Return the largest q of cells of numbers: shape (groups, cells)."""
        most, spread = (np.abs(centre) + radius)[..., None], radius[..., None]
        at, by = self.at, self.by
        weights = at.centre[:, None] + centre[..., None] * by.centre[:, None]
        spread = spread * np.abs(by.centre[:, None]) + at.radius[:, None]
        spread = spread + most * by.radius[:, None]
        bound = self.sums.shorter if exact else self.sums.bound
        first, more = (each[:, None] for each in self.second)
        return bound(weights, spread, self.chance) + first + most[..., 0] * more

    def interval(self, *, exact: bool = True) -> tuple[Array, Array, Flags]:
        """Return both ends, by the quantile or only the norm, and whether there is an interval."""
        none = np.zeros_like(self.top)[:, None]
        slope = self.sums.bound(self.by.centre, self.by.radius, self.chance) + self.second[1]
        known = self.under > slope * (1 + 1e-9)
        under = np.where(known, self.under, 2 * slope + 1.0)
        start = self.top / under
        far = (np.abs(self.top) + self.q(none, none, exact=False)[:, 0]) / (under - slope)

        def possible(near: Array, beyond: Array, exact: bool) -> Flags:
            off = np.abs(self.top[:, None] - near * under[:, None])
            return off <= self.q((near + beyond) / 2, np.abs(beyond - near) / 2, exact=exact)

        ends = []
        for sign in (-1, 1):
            no, yes = np.maximum(far, np.abs(start)) * sign, start
            for _ in range(_HALVINGS):
                middle = (no + yes) / 2
                holds = possible(middle[:, None], middle[:, None], False)[:, 0]
                no, yes = np.where(holds, no, middle), np.where(holds, middle, yes)
            ends.append(nearer(start, no, lambda a, b: possible(a, b, True)) if exact else no)
        return np.asarray(ends[0]), np.asarray(ends[1]), known


_HALVINGS = 50

# Of an end that is found with a norm, the part that the quantile of the noise may take off.
_LAST, _CELLS = 0.12, 6


def last_possible(
    start: Array, end: Array, cells: int, possible: Callable[[Array, Array], Flags]
) -> tuple[Array, Array]:
    """Return the edges of the last cell between a start and an end that holds a possible number."""
    # possible: of the near and the far edges of cells, whether one holds a possible number.
    edges = start[:, None] + (end - start)[:, None] * np.linspace(0.0, 1.0, cells + 1)
    return last_of(edges, possible)


def last_of(edges: Array, possible: Callable[[Array, Array], Flags]) -> tuple[Array, Array]:
    """Return the edges of the last of some cells that holds a possible number."""
    holds, rows = possible(edges[:, :-1], edges[:, 1:]), np.arange(len(edges))
    last = np.where(holds.any(axis=1), holds.shape[1] - holds[:, ::-1].argmax(axis=1), 0)
    return edges[rows, np.maximum(last - 1, 0)], edges[rows, last]


def nearer(start: Array, end: Array, possible: Callable[[Array, Array], Flags]) -> Array:
    """Return an end of an interval moved towards its start, past cells without possible numbers."""
    return last_possible(end + (start - end) * _LAST, end, _CELLS, possible)[1]
