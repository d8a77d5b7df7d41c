r"""Generating functions ``M(z) = E e^(z L)`` of privacy losses L that have closed forms.

Each family holds summands of one kind, a row for each, and how often it stands.

- *Laplace noise* on whole numbers, and randomized response: :mod:`.ends`.
- *Gaussian noise* on whole numbers, of deviation sigma, shifted by s.  The losses are
  ``s (2 x + s) / (2 sigma^2)``, so with ``eta = (s / sigma)^2`` and Poisson's summation

      M(z) = e^(eta z (z + 1) / 2) T(z s) / T(0),  T(c) = sum e^(-2 pi^2 sigma^2 m^2 - 2 pi i m c)

  over all whole m.  At ``z = t + i w`` a term has the size ``e^(eta (t^2 + t) / 2)`` times
  ``e^(-(w s / sigma - 2 pi m sigma)^2 / 2)``: for a sigma of one or more the three m about the
  largest leave out less than ``e^-40`` of M(t).
- *A bounded range*, with the density ``e^(l/2) / (4 sinh(epsilon/2))`` between -epsilon and epsilon
  (:mod:`tacit.core.losses.bounded_range`):

      M(z) = sinh((z + 1/2) epsilon) / ((2 z + 1) sinh(epsilon/2)).

- *A list* of losses with their masses: the sum itself.  What has an infinite loss is not in M.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from tacit.core.losses.cells import Floats

__all__ = ["Family", "Lists", "Normals", "Ranges"]

AnyFamily = TypeVar("AnyFamily", bound="Family")


@dataclass(frozen=True)
class Family(ABC):
    """Summands of one kind: arrays whose first axis is the summand.

    Attributes:
        times: how often each stands.
    """

    times: Floats

    @property
    @abstractmethod
    def reach(self) -> Floats:
        """The size of the largest loss of each that matters."""

    @property
    def terms(self) -> int:
        """How many exponentials a value of M takes, about."""
        return 2

    @abstractmethod
    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each; of a number z, or of several, one per column."""

    def rows(self: AnyFamily, part: slice) -> AnyFamily:
        """Return some of the summands."""
        return type(self)(*(getattr(self, field.name)[part] for field in fields(self)))


def columns(values: Floats, z: Any) -> Floats:
    """Return an array by row, so that what it meets may stand in columns."""
    return values[:, None] if np.ndim(z) else values


@dataclass(frozen=True)
class Normals(Family):
    """Discrete Gaussian noise.

    Attributes:
        sigma: at least one, in whole units.
        shift: above zero, in whole units.

    >>> one = Normals(np.ones(1), np.array([100.0]), np.array([100.0]))
    >>> [round(float(m.real), 12) for m in one.factors(2.0 + 0j)], round(math.exp(3), 12)
    ([20.085536923188], 20.085536923188)
    """

    sigma: Floats
    shift: Floats

    @property
    def reach(self) -> Floats:
        """Sixteen standard deviations from the mean."""
        ratio = self.shift / self.sigma
        return ratio * (ratio / 2 + 16)

    @property
    def terms(self) -> int:
        """Three exponentials, of two parts each."""
        return 4

    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each."""
        sigma, shift = columns(self.sigma, z), columns(self.shift, z)
        t, w = np.real(z), np.imag(z)
        ratio = shift / sigma
        grown = ratio * ratio * (t * t + t) / 2
        nearest = np.rint(w * shift / (2 * math.pi * sigma * sigma))
        found: Any = 0.0
        for m in (nearest - 1, nearest, nearest + 1):
            size = grown - np.square(w * ratio - 2 * math.pi * m * sigma) / 2
            # of whole turns nothing is left: m is whole
            turn = ratio * ratio * w * (2 * t + 1) / 2 - 2 * math.pi * np.fmod(m * shift * t, 1.0)
            found = found + np.exp(size + 1j * turn)
        return found / (1 + 2 * np.exp(-2 * np.square(math.pi * sigma)))


@dataclass(frozen=True)
class Ranges(Family):
    """What dominates releases of a bounded range.

    Attributes:
        range: the length of the interval of log ratios.

    >>> one = Ranges(np.ones(1), np.ones(1))
    >>> [round(float(m), 12) for m in one.factors(0.0)]
    [1.0]
    """

    range: Floats

    @property
    def reach(self) -> Floats:
        """The range itself."""
        return self.range

    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each."""
        reach = columns(self.range, z)
        return np.sinh((z + 0.5) * reach) / ((2 * z + 1) * np.sinh(reach / 2))


@dataclass(frozen=True)
class Lists(Family):
    """Losses one by one, equally many of each summand.

    Attributes:
        losses: by summand and place.
        masses: of each under P; together they may be less than one.

    >>> one = Lists(np.ones(1), np.array([[1.0, -1.0]]), np.array([[0.75, 0.25]]))
    >>> [round(float(m), 6) for m in one.factors(1.0)], round(0.75 * math.e + 0.25 / math.e, 6)
    ([2.130681], 2.130681)
    """

    losses: Floats
    masses: Floats

    @property
    def reach(self) -> Floats:
        """The largest size of a loss."""
        found: Floats = np.abs(self.losses).max(axis=1)
        return found

    @property
    def terms(self) -> int:
        """An exponential for each loss."""
        return int(self.losses.shape[1])

    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each."""
        if not np.ndim(z):
            return (self.masses * np.exp(z * self.losses)).sum(axis=1)
        pairs = zip(self.losses.T, self.masses.T, strict=True)
        return sum(columns(p, z) * np.exp(z * columns(loss, z)) for loss, p in pairs)


def listed(rows: Iterable[tuple[int, Floats, Floats]]) -> list[Lists]:
    """Return lists of losses, those of one length together.

    >>> one, two = np.ones(1), np.ones(2)
    >>> found = listed([(1, one, one), (3, two, two / 2), (2, one, one)])
    >>> [(lists.terms, lists.times.tolist()) for lists in found]
    [(1, [1.0, 2.0]), (2, [3.0])]
    """
    lengths: dict[int, list[tuple[int, Floats, Floats]]] = {}
    for row in rows:
        lengths.setdefault(len(row[1]), []).append(row)
    return [
        Lists(
            np.array([k for k, _, _ in same], dtype=np.float64),
            np.array([losses for _, losses, _ in same]),
            np.array([masses for _, _, masses in same]),
        )
        for same in lengths.values()
    ]
