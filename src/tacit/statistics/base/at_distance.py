"""Local sensitivity at a distance, smooth sensitivity and distance to instability, in general.

``A(t)`` is the largest local sensitivity (distance 1) of any data set within distance ``t`` of the
data.  It never falls in ``t``.  Three things follow from being able to evaluate it:

* the smooth sensitivity ``max_t exp(-beta t) A(t)`` (Nissim, Raskhodnikova and Smith 2007,
  *Smooth sensitivity and sampling in private data analysis*, STOC);
* the distance to instability ``min {t : A(t) > b}`` (Dwork and Lei 2009, *Differential privacy and
  robust statistics*, STOC), by bisection;
* where ``A`` stops growing, so that no ``t`` is left out of the maximum: :attr:`AtDistance.last`.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from tacit.arithmetic import enclosure
from tacit.arithmetic.bisection import least_integer_until
from tacit.arithmetic.exact import float_up

__all__ = ["SMOOTHNESS_SLACK", "AtDistance", "decayed", "rounded_up"]

SMOOTHNESS_SLACK = Fraction(1, 10**6)
"""Between neighbours the logarithm of the computed smooth sensitivity moves by at most ``beta`` and
this: the search stops, and floats round, within a relative 1e-6.  A mechanism counts both."""
_SLACK = 1 + 2.0**-22


class AtDistance(ABC):
    """``A(t)`` of one statistic at one data set, under one relation.

    Attributes:
        last: ``A(t) = A(last)`` for every ``t >= last``.
        exact: whether ``at`` gives ``A(t)`` itself; if not, a proven upper bound.
    """

    last: int
    exact: bool = True

    @abstractmethod
    def at(self, distance: int) -> Fraction | float:
        """``A(distance)``: a fraction, or a float that is not below the truth."""

    def instability(self, bound: Fraction) -> int | None:
        """The least ``t`` with ``A(t) > bound``, or None where there is none."""
        return least_integer_until(lambda t: self.exceeds(t, bound), self.last)

    def instabilities(self, bounds: Sequence[Fraction]) -> list[int | None]:
        """:meth:`instability` for each of several bounds, which ascend.

        The distance never falls as the bound rises.  So the middle bound is looked for first, and
        the others on their own side of where it was found.
        """
        found: list[int | None] = [None] * len(bounds)
        stretches = [(0, len(bounds), 0, self.last)]
        while stretches:  # the bounds start .. stop - 1 are broken at least .. last, or never
            start, stop, least, last = stretches.pop()
            if start == stop:
                continue
            middle = (start + stop) // 2
            at = self._broken(bounds[middle], last, least)
            found[middle] = at
            stretches.append((start, middle, least, last if at is None else at))
            if at is not None:  # else none of the larger bounds is broken
                stretches.append((middle + 1, stop, at, last))
        return found

    def _broken(self, bound: Fraction, last: int, least: int) -> int | None:
        return least_integer_until(lambda t: self.exceeds(t, bound), last, least)

    def exceeds(self, distance: int, bound: Fraction) -> bool:
        """Whether ``A(distance) > bound``, decided exactly.

        ``A`` of a data set at ``t`` is at most ``A`` of its neighbour at ``t + 1``.  The distance
        to instability moves by at most one between neighbours if no rounding disturbs that.
        """
        return self.at(distance) > bound

    def smooth(self, beta: Fraction) -> float:
        """``max_t exp(-beta t) A(t)``: never below the truth, at most 1e-6 above, relatively.

        ``A`` never falls and the exponential never rises, so on ``a < t < b`` the product is at
        most ``exp(-beta (a + 1)) A(b - 1)``.  Stretches whose bound does not beat the best value
        found by more than the slack are done with, and the bound is kept; the others are halved.
        Distances beyond ``last`` only shrink the product, and those before the first positive
        ``A(t)`` give 0, so the weights are taken from that distance on and cannot underflow.
        """
        start = least_integer_until(lambda t: self._float_at(t) > 0, self.last)
        if start is None:
            return 0.0
        rate = rounded_up(-beta)  # a float just above -beta: weights are never too small
        if self.last <= 1:
            nearer, farther = Fraction(self.at(0)), Fraction(self.at(1))
            return float_up(max(nearer, enclosure.exp(-beta).upper * farther))
        known = {start: self._float_at(start)}
        best = safe = known[start]
        waiting: list[tuple[float, int, int]] = []

        def bound(a: int, b: int) -> float:
            return _weight(rate, a + 1 - start) * known[b]

        def learn(t: int) -> None:
            nonlocal best
            known[t] = self._float_at(t)
            best = max(best, _weight(rate, t - start) * known[t])

        a = start
        while a < self.last:
            b = min(self.last, start + max(1, 2 * (a - start)))
            learn(b)
            heapq.heappush(waiting, (-bound(a, b), a, b))
            if _weight(rate, b - start) * self._ceiling <= best:
                break  # whatever comes later is smaller
            a = b
        while waiting:
            upper, a, b = heapq.heappop(waiting)
            if b - a < 2:
                continue
            if -upper <= best * _SLACK:
                safe = max(safe, -upper)
                break  # the largest bound is settled, so all are
            middle = (a + b) // 2
            learn(middle)
            heapq.heappush(waiting, (-bound(a, middle), a, middle))
            heapq.heappush(waiting, (-bound(middle, b), middle, b))
        return decayed(max(best, safe), beta, start)

    @property
    def _ceiling(self) -> float:
        """No less than every ``A(t)``."""
        return self._float_at(self.last)

    def _float_at(self, distance: int) -> float:
        """``A(distance)`` rounded up, perhaps from floats: at most 2.4e-7 above, relatively."""
        return rounded_up(self.at(distance))


def rounded_up(value: Fraction | float) -> float:
    """The value as a float that is not below it."""
    return value if isinstance(value, float) else float_up(value)


def _weight(rate: float, steps: int) -> float:
    """``exp(rate * steps)``, below the truth by no more than 2**-42 of it, and never 0."""
    return max(math.exp(rate * steps), 1e-300)


def decayed(value: float, beta: Fraction, start: int) -> float:
    """``exp(-beta start) value`` rounded up, after adding 2**-40 of it for roundings so far.

    The floats before this were rounded a few times each and went through one exponential, whose
    argument is at most 745 before the result vanishes: together less than 2**-42, relatively.  A
    result too small for a float becomes the least positive float, never 0.

    >>> decayed(1.0, Fraction(1), 10**6)
    5e-324
    """
    exponent = beta * start
    if exponent > 4000:  # the truth is below every positive float
        return math.nextafter(0.0, 1.0) if value > 0 else 0.0
    return float_up(Fraction(value) * (1 + Fraction(1, 2**40)) * enclosure.exp(-exponent).upper)
