"""Privacy losses of many releases together: sums, added up when they are asked about."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import (
    Number,
    as_fraction,
    as_integer,
    float_down,
    float_up,
    read_probability,
)
from tacit.calls import public
from tacit.core.losses.base import LossGrid, PrivacyLoss
from tacit.core.losses.contour import enclosed_epsilon, enclosed_log_deltas
from tacit.core.losses.lattice import ListedLosses, SpreadLosses, above, raised
from tacit.core.losses.summands import GaussianSum, Generating, Summands, min_part, renyi_epsilon
from tacit.core.losses.tilted_sum import (
    LatticeSums,
    Parts,
    TiltedSum,
    ends,
    ends_weigh,
    moments,
    tilt_for_delta,
    tilt_for_epsilon,
)
from tacit.errors import UsageError

_WIDTH = 28.0  # the width of a sum in standard deviations, with all that matters of it
# Steps of the lattice across a sum of 10,000 whose summands are on none, or on a finer one.
# The variance of each grows by about a sixth of a squared step, so fewer need fewer.
_PLACES = 1 << 21
_FEWEST_PLACES = 1 << 18
_ROUGH_PLACES = 1 << 14
_FEW_PLACES = 1 << 16  # a sum that is no wider on its own lattice is added up there
_MAX_CELLS = 1 << 19  # steps from zero to the largest loss of a summand
_FEW = 8  # of this many summands the deviation is examined where it matters
_MIN_LOG = -640.0  # masses below e to this are not distinguished from zero in floats
_EPSILON_STEPS = 70
_MANY = 96  # this many different summands are not put on a lattice where there is another way
_GRID = 1 << 160
_SLACK = 2.0**-40
# The relative width at which a closed form is taken without a look at other ways.
_CLOSE = Fraction(1, 1 << 22)
_MIN_DELTA = Fraction(1, 1 << 4096)
_CHERNOFF_MARGIN = 2.0**-8  # more than what sums of generating functions in floats are off by


@public
class Summand(PrivacyLoss):
    """Losses of one release, in one direction, that can be added up."""

    @abstractmethod
    def lattice(self) -> LossGrid | None:
        """Return the lattice that the losses lie on, if there is one."""

    @abstractmethod
    def in_floats(self, dust: float) -> ListedLosses | SpreadLosses:
        """Return the losses in floats.

        Args:
            dust: the mass that may be taken for infinite (from above) or left out (from below).
        """

    @abstractmethod
    def spread(self) -> tuple[float, float]:
        """Return the approximate standard deviation of the losses, and their largest size."""

    def generating(self) -> Generating | None:
        """Return the closed form of the generating function, where there is one."""
        return None

    def gaussian(self) -> tuple[Fraction, int] | None:
        """Return the deviation and the shift of Gaussian noise, in whole units; None for others."""
        return None

    def after(self, first: PrivacyLoss) -> PrivacyLoss:
        return ComposedLosses.of([*_parts(first), *_parts(self)])

    def self_compose(self, times: int) -> PrivacyLoss:
        return ComposedLosses.of([(self, as_integer(times, "times", minimum=1))])


@dataclass(frozen=True)
class ComposedLosses(PrivacyLoss):
    """The losses of independent releases together, or of adaptive ones that they dominate.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> found = dominating_pair(Fraction(1, 100)).self_compose(10_000).epsilon("1e-6")
    >>> float(found.lower), float(found.upper)
    (4.8855155..., 4.8855156...)
    """

    # Each answer is an enclosure: the ends are proven, as :mod:`~tacit.core.losses.lattice` and
    # :mod:`~tacit.core.losses.tilted_sum` say, and near each other where the releases are many or
    # their losses stand on one lattice.

    # the losses of single releases, and how often each stands
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
        return ComposedLosses.of([*_parts(first), *self.parts])

    def self_compose(self, times: int) -> PrivacyLoss:
        count = as_integer(times, "times", minimum=1)
        return ComposedLosses.of([(part, k * count) for part, k in self.parts])

    def delta(self, epsilon: Number) -> Enclosure:
        return self.deltas([as_fraction(epsilon, "epsilon")])[0]

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        ideal, enclosed = self._gaussian, dict[Fraction, Enclosure]()
        if ideal is not None:
            both = [(epsilon, ideal.delta(epsilon)) for epsilon in epsilons]
            enclosed = {
                e: d for e, d in both if d.width <= d.lower * _CLOSE or d.upper < _MIN_DELTA
            }
        known = self._generating if len(enclosed) < len(epsilons) else None
        if known is not None:
            end = known.largest * (1 - _SLACK)
            near = [
                epsilon for epsilon in epsilons if 0 <= epsilon < end and epsilon not in enclosed
            ]
            for epsilon, ends in zip(near, enclosed_log_deltas(known, _both(near)), strict=True):
                if ends is not None:
                    enclosed[epsilon] = _between(*ends)
        rest = [epsilon for epsilon in epsilons if epsilon not in enclosed]
        return [{**enclosed, **self._on_lattice(rest)}[epsilon] for epsilon in epsilons]

    def _on_lattice(self, epsilons: Sequence[Fraction]) -> dict[Fraction, Enclosure]:
        largest = self._largest if epsilons else Fraction(0)
        inside = [epsilon for epsilon in epsilons if epsilon < largest]
        enclosed = {epsilon: Enclosure.of(0) for epsilon in epsilons}
        if not inside:
            return enclosed
        near, dust = _float(inside[len(inside) // 2]), 1e-30
        while True:
            sums = self._sums(dust, lambda parts: tilt_for_epsilon(parts, near))
            logs = sums.log_deltas(_both(inside))
            high = logs[-1][1]
            if dust <= math.exp(max(high - 30, _MIN_LOG)) * 1.001 or not sums.dusty:
                break
            dust = math.exp(max(high - 31, _MIN_LOG))
        pairs = zip(inside, logs, strict=True)
        return enclosed | {epsilon: _between(*ends) for epsilon, ends in pairs}

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices."""
        return self._epsilon(delta, from_below=True)

    def upper_epsilon(self, delta: Number) -> Enclosure | float:
        """Return the same, of which the lower end may be zero: it takes as long as the upper."""
        return self._epsilon(delta, from_below=False)

    def _epsilon(self, delta: Number, *, from_below: bool) -> Enclosure | float:
        target = read_probability(delta, "delta")
        log_target = _log_of(target)
        ideal = None if self._gaussian is None else self._gaussian.epsilon(log_target)
        if ideal is not None and ideal[1] - ideal[0] <= ideal[1] * _CLOSE:
            return Enclosure(Fraction(ideal[0]), Fraction(ideal[1]))
        known = self._generating
        enclosed = None if known is None else enclosed_epsilon(known, log_target)
        if known is not None and enclosed is not None:
            end = min(enclosed[1], known.largest * (1 + _SLACK))
            return Enclosure(Fraction(min(enclosed[0], end)), Fraction(end))
        largest = self._largest
        if target == 0 or largest == 0:
            return largest if isinstance(largest, float) else Enclosure(largest, largest)
        dust = math.exp(max(log_target - 30 - math.log(self._count), _MIN_LOG))
        sums = self._sums(dust, lambda parts: tilt_for_delta(parts, log_target))
        tilt = tilt_for_delta(sums.above, log_target)
        # a logarithm of two numbers is right to 2^-45, whichever way it is asked about
        high = _smallest_epsilon(sums.bound(tilt, upper=True), log_target - 2.0**-40, largest)
        low = 0.0
        if from_below:
            under = sums.bound(tilt, upper=False)
            low = _smallest_epsilon(under, log_target + 2.0**-40, largest) or 0.0
        if high is None or (ideal is not None and ideal[1] < high):
            ends = (high, self._farther(sums, log_target), None if ideal is None else ideal[1])
            high = min(end for end in ends if end is not None)
            if high == math.inf:
                return largest if isinstance(largest, float) else Enclosure(Fraction(low), largest)
        upper = min(Fraction(high), Fraction(largest)) if largest != math.inf else Fraction(high)
        return Enclosure(min(Fraction(low), upper), upper)

    def surely_within(self, epsilon: Fraction, delta: Number) -> bool:
        """Return whether a Chernoff bound shows that delta is enough at an epsilon."""
        known, log_target = self._generating, _log_of(read_probability(delta, "delta"))
        if known is None or not log_target > -700 or known.infinite[1] > math.exp(log_target - 12):
            return False
        level = float_down(epsilon)
        logs = (
            known.log(t) - t * level + min_part(t)
            for t in (math.pow(2.0, k / 2) for k in range(-8, 14))
        )
        return min(logs) < log_target - _CHERNOFF_MARGIN

    def _farther(self, sums: LatticeSums, log_target: float) -> float:
        """Return an epsilon at a delta that is too small for a sum in floats, or for its tilt."""
        steepest = sums.steepest_epsilon(log_target)
        rows = self._gaussian_rows
        return steepest if rows is None else min(steepest, renyi_epsilon(rows, log_target))

    @cached_property
    def _count(self) -> int:
        return sum(k for _, k in self.parts)

    @cached_property
    def _gaussian_rows(self) -> list[tuple[Fraction, int, int]] | None:
        """All deviations, shifts and counts, where all noise is Gaussian."""
        known = [(part.gaussian(), k) for part, k in self.parts]
        rows = [(*one, k) for one, k in known if one is not None]
        return rows if len(rows) == len(known) else None

    @cached_property
    def _gaussian(self) -> GaussianSum | None:
        return GaussianSum.of(self._gaussian_rows or [])

    @cached_property
    def _generating(self) -> Summands | None:
        """The generating functions, where all have closed forms and no lattice is as good."""
        lattices = {part.lattice() for part, _ in self.parts[:_FEW]}
        steps = {None if lattice is None else lattice.step for lattice in lattices}
        if len(steps) == 1 and None not in steps and len(self.parts) <= _FEW:
            (step,) = steps
            assert step is not None
            if self._places(float(step.value.middle)) <= _FEW_PLACES:
                return None
        rows: list[tuple[Generating, int]] = []
        for part, k in self.parts:
            known = part.generating()
            if known is None:
                return None
            rows.append((known, k))
        return Summands.of(rows)

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

    def _sums(self, dust: float, wanted: Callable[[Parts], float]) -> LatticeSums:
        """Return the summands on one lattice; ``wanted`` gives the tilt at which they matter."""
        listed = [(part.in_floats(dust / self._count), k) for part, k in self.parts]
        largest = self._largest
        if largest != math.inf:  # lower losses than this no others make up for, above epsilon zero
            floor = -float_up(Fraction(largest))
            listed = [(raised(losses, floor), k) for losses, k in listed]
        own = self._own_step(listed)
        if own is None:
            return LatticeSums(listed, self._step(listed, wanted), [0.0] * len(listed))
        step, origins = own
        if self._places(step) <= 2 * self._wanted:
            return LatticeSums(listed, step, origins, own=True)
        if any(ends_weigh(losses) for losses, _ in listed):
            return LatticeSums(listed, self._step(listed, wanted), [0.0] * len(listed))
        # as many places to a step as nothing is lost by, and an odd number: each has a middle one
        together = 2 * math.ceil(self._places(step) / self._wanted / 2) + 1
        return LatticeSums(listed, together * step, origins)

    def _own_step(
        self, listed: list[tuple[ListedLosses | SpreadLosses, int]]
    ) -> tuple[float, list[float]] | None:
        """Return the step that all losses stand on, and the origin of each, if there is one."""
        lattices = [part.lattice() for part, _ in self.parts]
        known = [lattice for lattice in lattices if lattice is not None]
        steps = {lattice.step for lattice in known}
        if len(known) < len(lattices) or len(steps) != 1:
            return None
        if any(isinstance(m, SpreadLosses) or m.lattice_indices is None for m, _ in listed):
            return None
        (step,) = steps
        return float(step.value.middle), [float(lattice.origin.value.middle) for lattice in known]

    def _places(self, step: float) -> float:
        """Return about how many steps the sum is wide."""
        return _WIDTH * self._deviation / step

    @property
    def _wanted(self) -> int:
        fewer = math.ceil(_PLACES * math.pow(self._count / 1e4, 0.25))
        return max(_FEWEST_PLACES, min(fewer, _PLACES))

    @property
    def _deviation(self) -> float:
        return math.sqrt(sum(k * part.spread()[0] ** 2 for part, k in self.parts))

    def _step(
        self,
        listed: list[tuple[ListedLosses | SpreadLosses, int]],
        wanted: Callable[[Parts], float],
    ) -> float:
        """Return a step of a lattice that is fine beside every summand, where it matters."""
        largest = max(float(np.abs(ends(losses)).max()) for losses, _ in listed) or 1.0
        radius = 2 * math.fsum(k * float(np.abs(ends(losses)).max()) for losses, k in listed)
        deviation = self._deviation
        if len(listed) <= _FEW:
            rough = [(above(losses, largest / _ROUGH_PLACES), k) for losses, k in listed]
            deviation = math.sqrt(moments(rough, wanted(rough))[2]) or deviation
        places = max(self._wanted // len(self.parts), 1 << 14)
        width = max(min(radius, _WIDTH * deviation), largest * places / _MAX_CELLS) or 1.0
        if len(self.parts) == 1:
            # the ends of what has ends stand on points
            cells = math.ceil(largest * places / width)
            return largest / cells if cells < places else width / places
        return width / places


def _parts(losses: PrivacyLoss) -> tuple[tuple[Summand, int], ...]:
    """Return the summands of losses in one direction."""
    if isinstance(losses, ComposedLosses):
        return losses.parts
    if isinstance(losses, Summand):
        return ((losses, 1),)
    raise UsageError("losses in both directions are not a single list: use .forward or .backward")


def _smallest_epsilon(
    bound: TiltedSum, log_target: float, largest: Fraction | float
) -> float | None:
    """Return the least epsilon, not below zero, at which the bound is at most the target."""
    # From above it is an end of a step where it holds, or None where none is found; from below one
    # where it does not hold, or zero.  A bound is sharp about its middle alone, so the search goes
    # out from there.

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


def _both(levels: Sequence[Fraction]) -> list[tuple[float, float]]:
    return [
        (max(float_down(level), -1e300), min(max(float_up(level), -1e300), 1e300))
        for level in levels
    ]


def _between(low: float, high: float) -> Enclosure:
    """Return what lies between e to two numbers."""
    maximum = _exp(high, up=True)
    return Enclosure(min(_exp(low, up=False), maximum), maximum)


def _float(level: Fraction) -> float:
    return min(max(float_up(level), -1e300), 1e300)


def _exp(log: float, *, up: bool) -> Fraction:
    """Return e to a number, between 0 and 1, rounded one way."""
    if log == -math.inf:
        return Fraction(0)
    enclosed = exp(Fraction(log), 64)
    return min(enclosed.upper if up else enclosed.lower, Fraction(1))


def _log_of(target: Fraction) -> float:
    if not target:
        return -math.inf
    return math.log(target.numerator) - math.log(target.denominator)
