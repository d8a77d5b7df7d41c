"""Privacy losses of many releases together: sums, added up when they are asked about."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number, as_fraction, as_integer, float_down, float_up, show
from tacit.calls import public
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.cells import Floats, Listed, Spread, above, below, on_own_lattice, raised
from tacit.core.losses.contour.ends import Ends, ends_of
from tacit.core.losses.contour.line_integral import enclosed_epsilon, enclosed_log_delta
from tacit.core.losses.own_lattice import Lattice
from tacit.core.losses.tilted_sum import Parts, TiltedSum, moments, tilt_for_delta, tilt_for_epsilon
from tacit.errors import UsageError

__all__ = ["Sum", "Summand"]

_WIDTH = 28.0
"""The width of a sum in standard deviations, with all that matters of it."""
_PLACES = 1 << 20
"""Steps of the lattice across a sum of 10,000 whose summands are on none, or on a finer one.

The variance of each grows by about a sixth of a squared step, so fewer need fewer.
"""
_FEWEST_PLACES = 1 << 18
_ROUGH_PLACES = 1 << 14
_MOST_CELLS = 1 << 18
"""Steps from zero to the largest loss of a summand."""
_FEW = 8
"""Of so many summands the deviation is looked at where it matters."""
"""A sum that needs more places of its summands' own lattice is put on another one."""
_LEAST_LOG = -640.0
"""Masses below e to this are not told from zero in floats."""
_EPSILON_STEPS = 70
_MANY = 96
"""So many different summands are not put on a lattice where there is another way."""
_GRID = 1 << 160
_SLACK = 2.0**-40


@public
class Summand(PrivacyLoss):
    """Losses of one release, in one direction, that can be added up."""

    @abstractmethod
    def lattice(self) -> Lattice | None:
        """Return the lattice that the losses lie on, if there is one."""

    @abstractmethod
    def in_floats(self, dust: float) -> Listed | Spread:
        """Return the losses in floats.

        Args:
            dust: the mass that may be taken for infinite (from above) or left out (from below).
        """

    @abstractmethod
    def spread(self) -> tuple[float, float]:
        """Return the approximate standard deviation of the losses, and their largest size."""

    def noise(self) -> tuple[float, int] | None:
        """Return the rate and the shift of the discrete Laplace noise that it is; else None."""
        return None

    def after(self, first: PrivacyLoss) -> PrivacyLoss:
        """Return the losses of two releases together; these are those of the second."""
        return Sum.of([*_parts(first), *_parts(self)])

    def self_compose(self, times: int) -> PrivacyLoss:
        """Return the losses of ``times`` such releases together."""
        return Sum.of([(self, as_integer(times, "times", minimum=1))])


@dataclass(frozen=True)
class Sum(PrivacyLoss):
    """The losses of independent releases together, or of adaptive ones that they dominate.

    Each answer is an enclosure: the ends are proven, as :mod:`~tacit.core.losses.cells` and
    :mod:`~tacit.core.losses.tilted_sum` say, and near each other where the releases are many or
    their losses stand on one lattice.

    Attributes:
        parts: the losses of single releases, and how often each stands.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> found = dominating_pair(Fraction(1, 100)).self_compose(10_000).epsilon("1e-6")
    >>> float(found.lower), float(found.upper)
    (4.8855155..., 4.8855156...)
    """

    parts: tuple[tuple[Summand, int], ...]

    @classmethod
    def of(cls, parts: Iterable[tuple[Summand, int]]) -> PrivacyLoss:
        """Return a sum, in which equal summands stand once."""
        counts: dict[Summand, list[int]] = {}
        for part, times in parts:  # hashed once each: that of a long fraction takes its time
            counts.setdefault(part, [0])[0] += times
        every = [(part, k) for part, (k,) in counts.items()]
        losing = [(part, k) for part, k in every if part.spread()[1]] or every
        if len(losing) == 1 and (len(every) > 1 or every[0][1] == 1):
            return losing[0][0]
        return cls(tuple(losing))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return the two directions of the whole; see :meth:`PrivacyLoss.directions`."""
        ways = [(part.directions(), k) for part, k in self.parts]
        first, second = (
            reduce(lambda a, b: a.compose(b), (way[i].self_compose(k) for way, k in ways))
            for i in (0, 1)
        )
        return first, second

    def after(self, first: PrivacyLoss) -> PrivacyLoss:
        """Return the losses of two releases together; these are those of the second."""
        return Sum.of([*_parts(first), *self.parts])

    def self_compose(self, times: int) -> PrivacyLoss:
        """Return the losses of ``times`` such releases together."""
        count = as_integer(times, "times", minimum=1)
        return Sum.of([(part, k * count) for part, k in self.parts])

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``."""
        level = as_fraction(epsilon, "epsilon")
        ends = self._ends
        if ends is not None and 0 < level < ends.reach * (1 - _SLACK):
            logs = enclosed_log_delta(ends, float_down(level), float_up(level))
            if logs is not None:
                most = _exp(logs[1], up=True)
                return Enclosure(min(_exp(logs[0], up=False), most), most)
        if level >= self._largest:
            return Enclosure.of(0)
        near, dust = _float(level), 1e-30
        while True:
            sums = self._sums(dust, lambda parts: tilt_for_epsilon(parts, near))
            tilt = tilt_for_epsilon(sums.above, near)
            high = sums.bound(tilt, upper=True).log_delta(float_down(level))
            if dust <= math.exp(max(high - 30, _LEAST_LOG)) * 1.001 or not sums.dusty:
                break
            dust = math.exp(max(high - 31, _LEAST_LOG))
        low = sums.bound(tilt, upper=False).log_delta(float_up(level))
        return Enclosure(min(_exp(low, up=False), _exp(high, up=True)), _exp(high, up=True))

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices."""
        target = as_fraction(delta, "delta")
        if not 0 <= target <= 1:
            raise UsageError(f"delta must be from 0 to 1, not {show(target)}")
        log_target = _log_of(target)
        ends = self._ends
        found = None if ends is None else enclosed_epsilon(ends, log_target)
        if ends is not None and found is not None:
            upper = min(Fraction(found[1]), Fraction(ends.reach * (1 + _SLACK)))
            return Enclosure(min(Fraction(found[0]), upper), upper)
        largest = self._largest
        if target == 0 or largest == 0:
            return largest if isinstance(largest, float) else Enclosure(largest, largest)
        dust = math.exp(max(log_target - 30 - math.log(self._count), _LEAST_LOG))
        sums = self._sums(dust, lambda parts: tilt_for_delta(parts, log_target))
        tilt = tilt_for_delta(sums.above, log_target)
        # a logarithm of two numbers is right to 2^-45, whichever way it is asked about
        high = _least(sums.bound(tilt, upper=True), log_target - 2.0**-40, largest)
        low = _least(sums.bound(tilt, upper=False), log_target + 2.0**-40, largest)
        if high is None:
            return largest if isinstance(largest, float) else Enclosure(_fraction(low), largest)
        upper = min(Fraction(high), Fraction(largest)) if largest != math.inf else Fraction(high)
        return Enclosure(min(_fraction(low), upper), upper)

    @cached_property
    def _count(self) -> int:
        return sum(k for _, k in self.parts)

    @cached_property
    def _ends(self) -> Ends | None:
        """The summands where they are many, and all are discrete Laplace noise."""
        if len(self.parts) < _MANY:
            return None
        known = [(part.noise(), k) for part, k in self.parts]
        rows = [(*noise, k) for noise, k in known if noise is not None]
        return ends_of(rows) if len(rows) == len(known) else None

    @cached_property
    def _largest(self) -> Fraction | float:
        """The sum of the largest losses, rounded up: no epsilon beyond it is needed."""
        exact = len(self.parts) < _MANY
        total, rounded = Fraction(0), 0
        for part, k in self.parts:
            one = part.epsilon(0)
            if not isinstance(one, Enclosure):
                return math.inf
            if exact:
                total += k * one.upper
            else:  # the denominators of many would multiply
                rounded += k * math.ceil(one.upper * _GRID)
        return total if exact else Fraction(rounded, _GRID)

    def _sums(self, dust: float, wanted: Callable[[Parts], float]) -> _Sums:
        """Return the summands on one lattice; ``wanted`` gives the tilt at which they matter."""
        listed = [(part.in_floats(dust / self._count), k) for part, k in self.parts]
        largest = self._largest
        if largest != math.inf:  # lower losses than this no others make up for, above epsilon zero
            floor = -float_up(Fraction(largest))
            listed = [(raised(losses, floor), k) for losses, k in listed]
        own = self._own_step(listed)
        if own is None:
            return _Sums(listed, self._step(listed, wanted), [0.0] * len(listed))
        step, origins = own
        if self._places(step) <= 2 * self._wanted:
            return _Sums(listed, step, origins, own=True)
        if any(_ends_weigh(losses) for losses, _ in listed):
            return _Sums(listed, self._step(listed, wanted), [0.0] * len(listed))
        # as many places to a step as nothing is lost by, and an odd number: each has a middle one
        together = 2 * math.ceil(self._places(step) / self._wanted / 2) + 1
        return _Sums(listed, together * step, origins)

    def _own_step(
        self, listed: list[tuple[Listed | Spread, int]]
    ) -> tuple[float, list[float]] | None:
        """Return the step that all losses stand on, and the origin of each, if there is one."""
        lattices = [part.lattice() for part, _ in self.parts]
        known = [lattice for lattice in lattices if lattice is not None]
        steps = {lattice.step for lattice in known}
        if len(known) < len(lattices) or len(steps) != 1:
            return None
        if any(isinstance(m, Spread) or m.places is None for m, _ in listed):
            return None
        (step,) = steps
        return float(step.value.middle), [float(lattice.origin.value.middle) for lattice in known]

    def _places(self, step: float) -> float:
        """Return about how many steps the sum is wide."""
        return _WIDTH * self._deviation / step

    @property
    def _wanted(self) -> int:
        return max(_FEWEST_PLACES, min(math.ceil(_PLACES * math.sqrt(self._count / 1e4)), _PLACES))

    @property
    def _deviation(self) -> float:
        return math.sqrt(sum(k * part.spread()[0] ** 2 for part, k in self.parts))

    def _step(
        self, listed: list[tuple[Listed | Spread, int]], wanted: Callable[[Parts], float]
    ) -> float:
        """Return a step of a lattice that is fine beside every summand, where it matters."""
        largest = max(float(np.abs(_ends(losses)).max()) for losses, _ in listed) or 1.0
        reach = 2 * math.fsum(k * float(np.abs(_ends(losses)).max()) for losses, k in listed)
        deviation = self._deviation
        if len(listed) <= _FEW:
            rough = [(above(losses, largest / _ROUGH_PLACES), k) for losses, k in listed]
            deviation = math.sqrt(moments(rough, wanted(rough))[2]) or deviation
        places = max(self._wanted // len(self.parts), 1 << 14)
        width = max(min(reach, _WIDTH * deviation), largest * places / _MOST_CELLS) or 1.0
        if len(self.parts) == 1:
            # the ends of what has ends stand on points
            cells = math.ceil(largest * places / width)
            return largest / cells if cells < places else width / places
        return width / places


class _Sums:
    """The summands of a sum on one lattice, from above; and, at a tilt, from below."""

    def __init__(
        self,
        listed: list[tuple[Listed | Spread, int]],
        step: float,
        origins: list[float],
        *,
        own: bool = False,
    ) -> None:
        self._listed, self._step, self._origins, self._own = listed, step, origins, own
        self.above = [
            (on_own_lattice(m, step, o) if own else above(m, step, o), k)
            for (m, k), o in zip(listed, origins, strict=True)
        ]
        self.dusty = any(_losses(masses).infinite[1] > 0 for masses, _ in listed)

    def bound(self, tilt: float, *, upper: bool) -> TiltedSum:
        if upper:
            return TiltedSum(self.above, tilt, upper=True)
        step, own = self._step, self._own
        under = [
            (
                on_own_lattice(m, step, o, upper=False) if own else below(m, step, o, tilt),
                k,
            )
            for (m, k), o in zip(self._listed, self._origins, strict=True)
        ]
        return TiltedSum(under, tilt, upper=False)


def _parts(losses: PrivacyLoss) -> tuple[tuple[Summand, int], ...]:
    """Return the summands of losses in one direction.

    Raises:
        UsageError: losses in both directions: a list of losses is of one.
    """
    if isinstance(losses, Sum):
        return losses.parts
    if isinstance(losses, Summand):
        return ((losses, 1),)
    raise UsageError("losses in both directions are not a single list: use .forward or .backward")


def _losses(masses: Listed | Spread) -> Listed:
    return masses if isinstance(masses, Listed) else masses.alone


def _ends(losses: Listed | Spread) -> Floats:
    """Return the losses that have a mass of their own, and the ends of all others."""
    alone = _losses(losses)
    others = () if isinstance(losses, Listed) else losses.ends
    found: Floats = np.concatenate([alone.low, alone.high, others])
    return found


def _ends_weigh(losses: Listed | Spread) -> bool:
    """Return whether the first or the last of some losses has a mass that matters."""
    masses = _losses(losses).least
    return bool(max(masses[0], masses[-1]) > 1e-6)


def _least(bound: TiltedSum, log_target: float, largest: Fraction | float) -> float | None:
    """Return the least epsilon, not below zero, at which the bound is at most the target.

    From above it is an end of a step where it holds, or None where none is found; from below one
    where it does not hold, or zero.  A bound is sharp about its middle alone, so the search goes
    out from there.
    """

    def holds(epsilon: float) -> bool:
        return bound.log_delta(epsilon) <= log_target

    end = float_up(Fraction(largest)) if largest != math.inf else 2.0**40
    middle = min(max(bound.middle, 0.0), end)
    low = high = middle
    width = 2.0**-20 * (1 + middle)
    while high < end and not holds(high):
        low, high, width = high, min(high + width, end), 4 * width
    if not holds(high):
        return None if bound.upper else high
    width = 2.0**-20 * (1 + middle)
    while low > 0 and holds(low):
        high, low, width = low, max(low - width, 0.0), 4 * width
    if holds(low):
        return 0.0
    for _ in range(_EPSILON_STEPS):
        half = (low + high) / 2
        low, high = (low, half) if holds(half) else (half, high)
    return high if bound.upper else low


def _fraction(low: float | None) -> Fraction:
    return Fraction(low or 0.0)


def _float(level: Fraction) -> float:
    return min(max(float_up(level), -1e300), 1e300)


def _exp(log: float, *, up: bool) -> Fraction:
    """Return e to a number, between 0 and 1, rounded one way."""
    if log == -math.inf:
        return Fraction(0)
    found = exp(Fraction(log), 64)
    return min(found.upper if up else found.lower, Fraction(1))


def _log_of(target: Fraction) -> float:
    if not target:
        return -math.inf
    return math.log(target.numerator) - math.log(target.denominator)
