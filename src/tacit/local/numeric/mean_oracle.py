"""The mean of a number in [L, U]: what its mechanisms share, on exact grids.

An answer is clamped to [L, U], read as a whole number of 2**-32 of the range, and rounded *at
random* to the mechanism's coarser grid of m steps, up with exactly the probability of the
remainder: so the rounding costs no bias.  A mechanism is private on the rounded answers; rounding
first is then a mixture of their distributions, which no ratio exceeds.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.mean_estimate import MeanEstimate
from tacit.local.base.oracle import Oracle, State
from tacit.local.base.parameters import read_answer, read_bounds, read_size
from tacit.local.base.raw_answers import is_missing, numbers_of, values_of
from tacit.noise.bits import words32

__all__ = ["LinearMean", "MeanOracle", "NumberOracle"]

FINE = 32


@public
class NumberOracle(Oracle):
    """A mechanism that is asked for a number between public bounds.

    A missing answer (None, NaN) is read as ``missing`` if that number is declared, and else
    refused on the device; other numbers are clamped to the bounds.

    Attributes:
        lower, upper: the bounds of an answer, public.
        missing: the number that stands for a missing answer, or None.
    """

    lower: Fraction
    upper: Fraction
    missing: Fraction | None

    def _set_bounds(self, lower: Number, upper: Number, missing: Number | None) -> None:
        low, high = read_bounds(lower, upper)
        standing = None if missing is None else as_fraction(missing, "missing")
        for name, value in (("lower", low), ("upper", high), ("missing", standing)):
            object.__setattr__(self, name, value)

    def _place(self, value: Any) -> Fraction:
        """Return where an answer, or what stands in for a missing one, lies from 0 to 1."""
        if is_missing(value):
            if self.missing is None:
                raise UsageError(
                    "an answer is missing; say missing=<number> for the value to use in its place"
                )
            value = self.missing
        return read_answer(value, self.lower, self.upper)

    def _domain_description(self) -> Any:
        bounds = (self.lower, self.upper, self.missing)
        return [None if b is None else str(b) for b in bounds]

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        lower, upper, missing = description["domain"]
        parameters = {name: description[name] for name in cls._parameters}
        return cls(lower, upper, missing=missing, **parameters)  # type: ignore[call-arg]


@public
class MeanOracle(NumberOracle):
    """A mechanism whose reports estimate the mean of a number."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """m: a rounded answer is one of 0 .. m."""

    @abstractmethod
    def _report(self, rounded: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw the reports of rounded answers."""

    @abstractmethod
    def _law(self, rounded: int) -> Mapping[int, Any]:
        """Return the distribution of the report of one rounded answer."""

    @abstractmethod
    def _variance_at(self, rounded: int) -> Fraction:
        """Return the variance of one report's unbiased answer on 0..1."""

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return each answer in units of 2**-32 of the range, from 0 to 2**32.

        Args:
            values: the answers of many people, in the unit of the range.
        """
        answers = values_of(values)
        numbers = numbers_of(answers)
        if numbers is not None and self._fits_floats:
            return self._read_floats(numbers.astype(np.float64))
        return np.fromiter((self._read(v) for v in answers), np.int64)

    @property
    def _fits_floats(self) -> bool:
        """Whether bounds and range keep more than 32 bits as floats."""
        return (self.upper - self.lower) * (1 << 16) > max(abs(self.lower), abs(self.upper))

    def _read_floats(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Read many floats at once: the same, but for the last of the 32 bits."""
        lost = np.isnan(values)
        if lost.any():
            values = np.where(lost, self._stand_in(), values)
        low, high = float(self.lower), float(self.upper)
        shares = (np.clip(values, low, high) - low) / (high - low)
        return np.rint(np.clip(shares, 0, 1) * (1 << FINE)).astype(np.int64)

    def _stand_in(self) -> float:
        return self._read(None) / (1 << FINE) * float(self.upper - self.lower) + float(self.lower)

    def _read(self, value: Any) -> int:
        return round(self._place(value) * (1 << FINE))

    def _draw(self, places: NDArray[np.int64]) -> NDArray[Any]:
        scaled = places * self.steps
        rounded = (scaled + words32(len(places)).astype(np.int64)) >> FINE
        return self._report(rounded).astype(self.layout.dtype)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        """See :meth:`~tacit.local.Oracle.distribution`.

        Args:
            value: one answer, as :meth:`perturb` takes it.
        """
        below, rest = divmod(self._read(value) * self.steps, 1 << FINE)
        up = Fraction(rest, 1 << FINE)
        law: dict[Hashable, Any] = {y: p * (1 - up) for y, p in self._law(below).items()}
        if rest:
            for y, p in self._law(below + 1).items():
                law[y] = law.get(y, 0) + p * up
        return law

    def variance(self, n: int, value: Number | None = None) -> Fraction:
        """Return the variance of the estimated mean when each of ``n`` answers is ``value``.

        Without a value: at least the greatest over all values, and hardly above it.

        Args:
            n: how many reports there are.
            value: the answer of every person, in the unit of the range.
        """
        size = read_size(n)
        if size == 0:
            raise UsageError("zero answers have no mean: n must be at least 1")
        found: Fraction
        if value is None:
            found = self._greatest_variance()
        else:
            below, rest = divmod(self._read(value) * self.steps, 1 << FINE)
            up = Fraction(rest, 1 << FINE)
            found = self._variance_at(below) * (1 - up) + up * (1 - up) / self.steps**2
            if rest:
                found += self._variance_at(below + 1) * up
        return found * (self.upper - self.lower) ** 2 / size

    def _greatest_variance(self) -> Fraction:
        """Return a bound: variances are quadratic and symmetric, so greatest at an end or middle.

        Rounding an answer between two steps adds at most a quarter of a squared step.
        """
        found = max(self._variance_at(i) for i in (0, self.steps // 2, self.steps))
        return found + Fraction(1, 4 * self.steps**2)

    def exact_mean(self, state: State) -> Fraction:
        """Return the unbiased estimate of the mean as an exact fraction.

        Args:
            state: what :meth:`aggregate` returned.

        Raises:
            UsageError: there are no reports.
        """
        if not self._state(state).n:
            raise UsageError("zero reports have no mean")
        return self.lower + self._total(state) / state.n * (self.upper - self.lower)

    @abstractmethod
    def _total(self, state: State) -> Fraction:
        """Return the summed unbiased answers on 0..1."""

    @abstractmethod
    def _extremes(self) -> tuple[Fraction, Fraction]:
        """Return the least and the greatest unbiased answer on 0..1 that a report stands for."""

    @property
    def influence(self) -> Fraction:
        """The most that a poisoned report instead of an honest one moves the sum of all answers."""
        least, greatest = self._extremes()
        return max(greatest, 1 - least) * (self.upper - self.lower)

    def estimate(self, reports: object) -> MeanEstimate:
        """Estimate the mean, without bias, from a state or a batch of reports.

        Args:
            reports: a state, or a batch of reports.

        Raises:
            UsageError: reports that this mechanism cannot have made, or none.
        """
        state = self._state(reports)
        mean = float(self.exact_mean(state))
        return MeanEstimate(mean, state.n, math.sqrt(self.variance(state.n)))


@public
class LinearMean(MeanOracle):
    """A mechanism whose report is, after a linear map, an unbiased answer."""

    @abstractmethod
    def score(self) -> tuple[Fraction, Fraction]:
        """Return (a, b) such that ``a report + b`` is the unbiased answer on 0..1."""

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return np.array([int(reports.sum(dtype=np.int64))], np.int64)

    def _extremes(self) -> tuple[Fraction, Fraction]:
        a, b = self.score()
        return b, a * (self.layout.limit - 1) + b

    def _total(self, state: State) -> Fraction:
        a, b = self.score()
        return a * int(state.sums[0]) + b * state.n
