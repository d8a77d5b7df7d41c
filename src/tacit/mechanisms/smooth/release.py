"""The measurement of smooth noise: its releases, its exact distribution, its expected error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.square_root import Root
from tacit.core import Measure, Measurement, Space, Step
from tacit.core.chain.measurement import TwoParts
from tacit.errors import UsageError
from tacit.mechanisms.shared.local_statistic import LocalStatistic, Reading, nearest_unit
from tacit.mechanisms.shared.output_distribution import FiniteDistribution
from tacit.mechanisms.shared.public_sample import listed, resized
from tacit.mechanisms.smooth.expected_error import mean_distance
from tacit.mechanisms.smooth.pure_laws import SmoothLaw
from tacit.statistics.base.at_distance import SMOOTHNESS_SLACK

__all__ = ["SmoothRelease"]

_MOST_CELLS = 200_000
_STRIDE = 4
_LARGE = Fraction(1 << 2000)


class SmoothRelease(Measurement):
    """What smooth noise builds: it can be asked beforehand, too.

    Attributes:
        beta: the rate of the smooth sensitivity.
        shift: s: the noise is ``S / s`` times unit noise.
        grid: of the release.
        clip: the ends to which releases are clipped, or None.
        local: the statistic, with its smooth sensitivity.
        unit: the distribution of unit noise.
    """

    def __init__(
        self,
        space: Space,
        local: LocalStatistic,
        law: SmoothLaw,
        beta: Fraction,
        shift: Fraction,
        loss: tuple[Measure, Callable[[Fraction], Any]],
        step: Step,
        *,
        grid: Fraction | None = None,
        clip: Any = True,
    ) -> None:
        self.beta, self.shift = beta, shift
        self.local, self.unit = local, law
        self.grid = Fraction(grid) if grid is not None else _fine(local.full)
        self.clip = _ends(clip, local)
        self._units = self.clip and tuple(nearest_unit(end, self.grid) for end in self.clip)
        measure, privacy = loss
        super().__init__(
            space,
            measure,
            TwoParts(self._prepared),
            privacy,
            distribution=None if self._units is None else self._law_on,
            step=step,
            name=step.name,
        )

    def _prepared(self, records: Any) -> Callable[[], float]:
        return partial(self._drawn, *self._placed(self.local.read(records)))

    def _placed(self, reading: Reading) -> tuple[Callable[[int], Enclosure], Fraction]:
        """Return where the noise is centred and how wide it is, in units of the grid."""
        scale = self.local.smooth(reading, self.beta) / self.shift / self.grid
        return _enclosed(self.local.value(reading), self.grid), scale

    def _drawn(self, centre: Callable[[int], Enclosure], scale: Fraction) -> float:
        return float(self._clipped(self.unit.draw().nearest(centre, scale)) * self.grid)

    def simulate(self, like: Iterable[object], times: int) -> list[float]:
        """Return what so many releases say of records that are public or synthetic.

        Draws of this very mechanism, with the records read but once.

        Args:
            like: records; each of the releases depends on them.
            times: how many.

        >>> from tacit.mechanisms.smooth.smooth_noise import smooth_noise
        >>> m = smooth_noise("median", bounds=(0, 9), epsilon=1, distribution="cauchy")
        >>> len(m.simulate([1, 2, 5], times=3))
        3
        """
        count = as_integer(times, "times", minimum=0)
        draw: Any = self.draws(listed(like))
        return [draw() for _ in range(count)]

    def _clipped(self, unit: int) -> int:
        return unit if self._units is None else min(max(unit, self._units[0]), self._units[1])

    def _law_on(self, records: Any) -> FiniteDistribution:
        """List every multiple of the grid within the clip, by the distribution function of Z."""
        assert self._units is not None
        low, high = self._units
        if high - low >= _MOST_CELLS:
            raise UsageError(
                f"{high - low + 1} outputs are too many to list: give a coarser grid to list them: "
                "the proof is the same"
            )
        around, scale = self._placed(self.local.read(records))
        centre = around(256)
        below = [self._cdf((unit + Fraction(1, 2) - centre) / scale) for unit in range(low, high)]
        edges = [Enclosure.of(0), *below, Enclosure.of(1)]
        cells = [(b - a).maximum(0) for a, b in itertools.pairwise(edges)]
        return FiniteDistribution({(low + i) * self.grid: p for i, p in enumerate(cells)})

    def _cdf(self, z: Enclosure) -> Enclosure:
        low = self.unit.cdf(z.lower)
        return low if z.lower == z.upper else Enclosure(low.lower, self.unit.cdf(z.upper).upper)

    def expected_error(self, like: Iterable[object], n: int | None = None) -> float:
        """Predict the mean absolute error on data such as ``like``, in the statistic's units.

        Computed from the statistic and the smooth sensitivity of ``like``, so ``like`` must be
        public or synthetic: the answer is as private as it is.  ``math.inf`` where the noise has no
        mean and nothing is clipped.

        Args:
            like: records.
            n: how many records to imagine, of the same spread; as many as ``like`` has by default.
        """
        return self.error_on(self.local.read(self.input.domain.read(resized(like, n))))

    def best_rate(self, like: Iterable[object]) -> Fraction:
        """Return the rate with the least noise on public records: of a ladder, near the best rung.

        The distribution of the unit noise is the same at every rate, so less noise is a smaller ``S
        / s``.
        """
        reading = self.local.read(self.input.domain.read(resized(like, None)))
        rates = [r - SMOOTHNESS_SLACK for r in self.unit.rates() if r > 2 * SMOOTHNESS_SLACK]
        known: dict[int, Fraction] = {}

        def noise(rung: int) -> Fraction:
            if rung not in known:
                shift = self.unit.shift(rates[rung] + SMOOTHNESS_SLACK)
                known[rung] = self.local.smooth(reading, rates[rung]) / shift if shift else _LARGE
            return known[rung]

        coarse = min(range(0, len(rates), _STRIDE), key=noise, default=None)
        if coarse is None:
            return self.beta
        near = range(max(0, coarse - _STRIDE + 1), min(len(rates), coarse + _STRIDE))
        best = min(near, key=noise)
        own = self.local.smooth(reading, self.beta) / self.shift
        return rates[best] if noise(best) < own else self.beta

    def error_on(self, reading: Reading, truth: float | None = None) -> float:
        """Return the mean absolute distance of what is released from a truth.

        Args:
            reading: what the statistic read.
            truth: the statistic itself if left out.
        """
        if self.clip is None and not self.unit.has_mean:
            return math.inf
        centre, scale = self._placed(reading)
        middle = centre(256).middle
        near = math.floor(middle + Fraction(1, 2))
        off = float(middle - near)
        target = off if truth is None else float(Fraction(truth) / self.grid - near)
        ends = (-math.inf, math.inf)
        if self._units is not None:
            ends = float(self._units[0] - near), float(self._units[1] - near)
        return mean_distance(self.unit, float(scale), off, target, *ends) * float(self.grid)


def _enclosed(value: Fraction | Root, grid: Fraction) -> Callable[[int], Enclosure]:
    if isinstance(value, Fraction):
        point = Enclosure.of(value / grid)
        return lambda bits: point
    return lambda bits: Enclosure(*value.enclose(bits)) / grid


def _fine(full: Fraction) -> Fraction:
    """Return the power of two that is 2^-40 to 2^-41 of ``full``, or so."""
    power = full.numerator.bit_length() - full.denominator.bit_length() - 41
    return Fraction(2) ** power


def _ends(clip: Any, local: LocalStatistic) -> tuple[Fraction, Fraction] | None:
    if isinstance(clip, bool) or clip is None:
        return local.range if clip else None
    return clip  # type: ignore[no-any-return]
