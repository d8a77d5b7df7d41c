r"""A privacy profile asked at a few epsilons, and a bound on it everywhere between.

As a function of ``x = e^epsilon`` the profile ``delta = E max(0, p - x q)`` is convex, falls from
at most one, and never faster than x grows.  So what is known at a few points bounds it between
them: it lies below each chord, and above the chords next to it, drawn on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.arithmetic.enclosure import Enclosure, exp

__all__ = ["Concave", "ProfilePoints"]

_ZERO, _ONE = Fraction(0), Fraction(1)
_BITS = 128


@dataclass(frozen=True)
class ProfilePoints:
    """A profile that remembers where it was asked.

    Attributes:
        delta: from an epsilon that is not negative to an enclosure of the least delta there.
        deltas: the same for several in rising order, where that is faster than one by one.
    """

    delta: Callable[[Fraction], Enclosure]
    deltas: Callable[[Sequence[Fraction]], Sequence[Enclosure]] | None = None
    _known: dict[Fraction, Enclosure] = field(default_factory=dict)

    def at(self, epsilon: Fraction) -> Enclosure:
        """Enclose delta at an epsilon; the same one is computed once."""
        if epsilon not in self._known:
            self._note(epsilon, self.delta(epsilon))
        return self._known[epsilon]

    def ask(self, epsilons: Iterable[Fraction]) -> None:
        """Enclose delta at several epsilons at once, to be answered by :meth:`at`."""
        new = sorted(set(epsilons) - self._known.keys())
        if self.deltas is not None and new:
            for epsilon, found in zip(new, self.deltas(new), strict=True):
                self._note(epsilon, found)

    def _note(self, epsilon: Fraction, found: Enclosure) -> None:
        self._known[epsilon] = Enclosure(max(found.lower, _ZERO), min(found.upper, _ONE))

    @property
    def epsilons(self) -> list[Fraction]:
        """Where it was asked, rising."""
        return sorted(self._known)


class Concave:
    """A concave function on an interval, enclosed at a few points: the most that it can be.

    Args:
        slopes: the least and the largest slope that it has anywhere.

    A point is a pair of a place and an enclosure of the value there.  Right of a point the function
    lies under the line through it and the point before, and left of it under that through it and
    the next: with the ends of the enclosures that make the line the higher.

    >>> bumpy = Concave((Fraction(-1), Fraction(1)))
    >>> for place in (0, 1, 2):
    ...     bumpy.add(Fraction(place), Enclosure.of(1 - abs(place - 1)))
    >>> float(bumpy.least), float(bumpy.most()[0])
    (1.0, 1.0)
    """

    def __init__(self, slopes: tuple[Fraction, Fraction]) -> None:
        self._slopes = slopes
        self.points: list[tuple[Fraction, Enclosure]] = []

    def add(self, place: Fraction, value: Enclosure) -> None:
        """Note the value at a place."""
        self.points = sorted([*self.points, (place, value)], key=lambda point: point[0])

    @property
    def least(self) -> Fraction:
        """What the largest value is at least."""
        return max(value.lower for _, value in self.points)

    def most(self) -> tuple[Fraction, Fraction]:
        """Return what the function is at most between its points, and where it could be that."""
        cells = (self._cell(i) for i in range(len(self.points) - 1))
        return max(cells, key=lambda cell: cell[0])

    def rising(self) -> Fraction:
        """Return what the slope is at most from the last point on."""
        return self._slope(len(self.points) - 1)

    def _slope(self, index: int) -> Fraction:
        """Return what the slope right of a point is at most."""
        if index == 0:
            return self._slopes[1]
        (a, before), (b, here) = self.points[index - 1], self.points[index]
        return min(self._slopes[1], (here.upper - before.lower) / (b - a))

    def _fall(self, index: int) -> Fraction:
        """Return what the function grows at most from a point to the left."""
        if index == len(self.points) - 1:
            return -self._slopes[0]
        (a, here), (b, after) = self.points[index], self.points[index + 1]
        return min(-self._slopes[0], (here.upper - after.lower) / (b - a))

    def _cell(self, index: int) -> tuple[Fraction, Fraction]:
        (a, left), (b, right) = self.points[index], self.points[index + 1]
        rise, fall = self._slope(index), self._fall(index + 1)
        if rise <= 0:
            return left.upper, a
        if fall <= 0:
            return right.upper, b
        # left.upper + rise (t - a) = right.upper + fall (b - t)
        meeting = (right.upper - left.upper + rise * a + fall * b) / (rise + fall)
        place = min(max(meeting, a), b)
        return min(left.upper + rise * (place - a), right.upper + fall * (b - place)), place


def power_of(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return a number next to ``e^epsilon``, and how far from it at most."""
    found = exp(epsilon, _BITS)
    return found.upper, found.width


def epsilon_near(power: Fraction) -> Fraction:
    """Return a short epsilon about the logarithm of a number that is at least one."""
    near = math.log(power.numerator) - math.log(power.denominator)
    return Fraction(round(near * (1 << 24)), 1 << 24)
