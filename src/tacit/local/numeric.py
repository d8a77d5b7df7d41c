"""Means and distributions of numeric answers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number, as_fraction, as_integer, float_down
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.estimate import Estimate, MeanEstimate, expectation_maximization, tail_loss
from tacit.local.items import is_missing, numbers_of, values_of
from tacit.local.oracle import (
    Layout,
    Oracle,
    State,
    read_answer,
    read_bounds,
    read_size,
    refuse_wide,
)
from tacit.local.random_bits import (
    ExactLoss,
    coins,
    count_values,
    dyadic_down,
    dyadic_near,
    exp_at_most,
    probability,
    read_loss,
    truth_probability,
    uniform_below,
)
from tacit.noise.bits import words32

# The mean of a number in [L, U]: what its mechanisms share, on exact grids.
#
# An answer is clamped to [L, U], read as a whole number of 2**-32 of the range, and rounded *at
# random* to the mechanism's coarser grid of m steps, up with exactly the probability of the
# remainder: so the rounding costs no bias.  A mechanism is private on the rounded answers; rounding
# first is then a mixture of their distributions, which no ratio exceeds.


FINE = 32


@public
@dataclass(frozen=True, init=False)
class NumberOracle(Oracle):
    """A mechanism that is asked for a number between public bounds.

    A missing answer (None, NaN) is read as ``missing`` if that number is declared, and else
    refused on the device; other numbers are clamped to the bounds.

    Attributes:
        lower, upper: the bounds of an answer, public.
        missing: the number that represents a missing answer, or None.
    """

    lower: Fraction
    upper: Fraction
    missing: Fraction | None

    _domain_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "missing")

    def _set_bounds(self, lower: Number, upper: Number, missing: Number | None) -> None:
        low, high = read_bounds(lower, upper)
        existing = None if missing is None else as_fraction(missing, "missing")
        self._set(lower=low, upper=high, missing=existing)

    def _unit_position(self, value: Any) -> Fraction:
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
        parameters = {name: description[name] for name in cls._parameters()}
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
    def _distribution(self, rounded: int) -> Mapping[int, Any]:
        """Return the distribution of the report of one rounded answer."""

    @abstractmethod
    def _variance_at(self, rounded: int) -> Fraction:
        """Return the variance of one report's unbiased answer on 0..1."""

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return each answer in units of 2**-32 of the range, from 0 to 2**32."""
        answers = values_of(values)
        numbers = numbers_of(answers)
        if numbers is not None and self._fits_floats:
            return self._read_floats(numbers.astype(np.float64))
        return np.fromiter((self._read(v) for v in answers), np.int64)

    @property
    def _fits_floats(self) -> bool:
        """True if bounds and range have more than 32 bits as floats."""
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
        return round(self._unit_position(value) * (1 << FINE))

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        scaled = indices * self.steps
        rounded = (scaled + words32(len(indices)).astype(np.int64)) >> FINE
        return self._report(rounded).astype(self.layout.dtype)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        below, rest = divmod(self._read(value) * self.steps, 1 << FINE)
        up = Fraction(rest, 1 << FINE)
        distribution: dict[Hashable, Any] = {
            y: p * (1 - up) for y, p in self._distribution(below).items()
        }
        if rest:
            for y, p in self._distribution(below + 1).items():
                distribution[y] = distribution.get(y, 0) + p * up
        return distribution

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
        variance: Fraction
        if value is None:
            variance = self._greatest_variance()
        else:
            below, rest = divmod(self._read(value) * self.steps, 1 << FINE)
            up = Fraction(rest, 1 << FINE)
            variance = self._variance_at(below) * (1 - up) + up * (1 - up) / self.steps**2
            if rest:
                variance += self._variance_at(below + 1) * up
        return variance * (self.upper - self.lower) ** 2 / size

    def _greatest_variance(self) -> Fraction:
        """A bound: variances are quadratic and symmetric, so greatest at an end or middle."""
        # Rounding an answer between two steps adds at most a quarter of a squared step.
        greatest = max(self._variance_at(i) for i in (0, self.steps // 2, self.steps))
        return greatest + Fraction(1, 4 * self.steps**2)

    def exact_mean(self, state: State) -> Fraction:
        """Return the unbiased estimate of the mean as an exact fraction.

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
        minimum, greatest = self._extremes()
        return max(greatest, 1 - minimum) * (self.upper - self.lower)

    def estimate(self, reports: object) -> MeanEstimate:
        """Estimate the mean, without bias, from a state or a batch of reports.

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


@public
@dataclass(frozen=True, init=False)
class Duchi(LinearMean):
    """Round the answer at random to one of the bounds, and send that bit by randomized response.

    With t the answer on -1..1 the variance of one report is ``((E + 1)/(E - 1))**2 - t**2``.
    Source: J. Duchi, M. Jordan, M. Wainwright, *Minimax optimal procedures for locally private
    estimation*, JASA 2018.

    Args:
        lower, upper: the bounds.
        epsilon: the greatest loss allowed; or
        p: the probability that the bit is kept, above 1/2.
        missing: the number that represents a missing answer.

    Example:
        >>> duchi = Duchi(-1, 1, p="3/4")
        >>> duchi.ratio, duchi.variance(1, value=0), duchi.report_bits
        (Fraction(3, 1), Fraction(4, 1), 1)
    """

    p: Fraction

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        p: Number | None = None,
        *,
        missing: Number | None = None,
    ) -> None:
        self._set_bounds(lower, upper, missing)
        if (epsilon is None) == (p is None):
            raise UsageError("give either epsilon or p")
        truthful = truth_probability(p, epsilon, 1)
        if truthful <= Fraction(1, 2):
            raise UsageError("p must be above 1/2")
        self._set(p=truthful)

    @property
    def ratio(self) -> Fraction:
        """The ratio p / (1 - p)."""
        return self.p / (1 - self.p)

    @property
    def steps(self) -> int:
        """1: an answer is rounded to a bound."""
        return 1

    @property
    def layout(self) -> Layout:
        """One bit."""
        return Layout("integer", 1, 2)

    def _report(self, rounded: NDArray[np.int64]) -> NDArray[np.int64]:
        return rounded ^ ~coins(self.p, len(rounded))

    def _distribution(self, rounded: int) -> Mapping[int, Any]:
        return {rounded: self.p, 1 - rounded: 1 - self.p}

    def score(self) -> tuple[Fraction, Fraction]:
        gap = 2 * self.p - 1
        return 1 / gap, (self.p - 1) / gap

    def _variance_at(self, rounded: int) -> Fraction:
        return self.p * (1 - self.p) / (2 * self.p - 1) ** 2

    def _greatest_variance(self) -> Fraction:
        """Half way between the bounds the rounding adds 1/4."""
        return self._variance_at(0) + Fraction(1, 4)


# A window that slides with the answer: the draw of piecewise and square-wave mechanisms.
#
# The report is one of N numbers.  An answer a, 0 <= a <= N - w, has the window a .. a + w - 1: with
# probability ``keep`` the report is uniform on it, else uniform on all N.  So a number in the
# window has probability ``keep/w + (1 - keep)/N``, another one ``(1 - keep)/N``, and their ratio is
#
#     1 + keep N / (w (1 - keep)),
#
# attained by two answers whose windows differ.


@dataclass(frozen=True)
class Window:
    """The draw of a report around an answer; see the module.

    >>> Window(8, 4, Fraction(1, 2)).ratio
    Fraction(3, 1)
    """

    total: int
    width: int  # w, below N
    keep: Fraction  # the dyadic probability of a report drawn from the window

    @classmethod
    def for_ratio(cls, total: int, width: int, ratio: Fraction) -> Window:
        """Return the window whose ratio is at most ``ratio``, and nearly it."""
        excess = (ratio - 1) * width
        return cls(total, width, dyadic_down(excess / (excess + total)))

    @property
    def ratio(self) -> Fraction:
        """The greatest ratio of the probabilities of one report."""
        return 1 + self.keep * self.total / (self.width * (1 - self.keep))

    def draw(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw the report of each answer."""
        n = len(starts)
        anywhere = uniform_below(self.total, n).astype(np.int64)
        inside = starts + uniform_below(self.width, n)
        return np.where(coins(self.keep, n), inside, anywhere)

    def law(self, start: int) -> list[Fraction]:
        """Return the probability of each report."""
        base = (1 - self.keep) / self.total
        more = base + self.keep / self.width
        end = start + self.width
        return [more if start <= y < end else base for y in range(self.total)]

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities in doubles: a row for each answer, a column for each report."""
        answers = self.total - self.width + 1
        base = float((1 - self.keep) / self.total)
        offset = np.arange(self.total) - np.arange(answers)[:, None]
        inside: NDArray[Any] = (offset >= 0) & (offset < self.width)
        return base + inside * float(self.keep / self.width)

    def moments(self, start: int) -> tuple[Fraction, Fraction]:
        """Return mean and mean square of the report."""
        inside = _uniform_moments(start, self.width)
        anywhere = _uniform_moments(0, self.total)
        mean, square = (
            self.keep * a + (1 - self.keep) * b for a, b in zip(inside, anywhere, strict=True)
        )
        return mean, square


def _uniform_moments(start: int, width: int) -> tuple[Fraction, Fraction]:
    """Return mean and mean square of a uniform number of start .. start + width - 1."""
    mean = start + Fraction(width - 1, 2)
    return mean, mean * mean + Fraction(width * width - 1, 12)


class Windowed:
    """A mechanism whose report is drawn around the answer."""

    window: Window

    @property
    def keep(self) -> Fraction:
        """The probability of a report drawn from the window."""
        return self.window.keep

    @property
    def ratio(self) -> Fraction:
        """The greatest ratio of the probabilities of one report."""
        return self.window.ratio


@public
@dataclass(frozen=True, init=False)
class Piecewise(Windowed, LinearMean):
    """Report a number near the answer: uniform on a window that slides with it, or anywhere.

    The window's middle moves linearly with the answer, so the report's mean does, and is unbiased
    after a linear map.  With s = e**(epsilon/2) the window is 1/(s + 1) of all; on -1..1 the
    variance of one report is ``t**2/(s - 1) + (s + 3)/(3 (s - 1)**2)``, up to the grid.  Source: N.
    Wang et al., *Collecting and analyzing multidimensional data with local differential privacy*,
    ICDE 2019.

    Args:
        lower, upper: the bounds.
        epsilon: the greatest loss allowed; or
        keep: the probability of drawing from the window.
        total, width: how many numbers there are, and in the window; by default 4,096 and the best.
        missing: the number that represents a missing answer.

    Example:
        >>> piecewise = Piecewise(0, 100, epsilon=2)
        >>> piecewise.report_bits, 0 <= int(piecewise.perturb(30)) < 4096
        (12, True)
    """

    window: Window

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        keep: Number | None = None,
        total: int = 4096,
        width: int | None = None,
        *,
        missing: Number | None = None,
    ) -> None:
        self._set_bounds(lower, upper, missing)
        self._set(window=_window(epsilon, keep, total, width))

    @property
    def total(self) -> int:
        """Number of outputs."""
        return self.window.total

    @property
    def width(self) -> int:
        """Number of outputs in the window."""
        return self.window.width

    @classmethod
    def _parameters(cls) -> list[str]:
        return ["keep", "total", "width"]

    @property
    def steps(self) -> int:
        """Number of positions that the window can slide."""
        return self.total - self.width

    @property
    def layout(self) -> Layout:
        """A number below ``total``."""
        return Layout("integer", 1, self.total)

    def _report(self, rounded: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.window.draw(rounded)

    def _distribution(self, rounded: int) -> Mapping[int, Any]:
        return dict(enumerate(self.window.law(rounded)))

    def score(self) -> tuple[Fraction, Fraction]:
        a = 1 / (self.keep * self.steps)
        return a, -a * self.window.moments(0)[0]

    def _variance_at(self, rounded: int) -> Fraction:
        mean, square = self.window.moments(rounded)
        return (square - mean * mean) / (self.keep * self.steps) ** 2


def _window(epsilon: Any, keep: Any, total: Any, width: Any) -> Window:
    numbers = as_integer(total, "total", minimum=2)
    if numbers > 1 << 16:
        raise UsageError("total is at most 65,536")
    if (epsilon is None) == (keep is None):
        raise UsageError("give either epsilon or keep")
    if width is None:
        if epsilon is None:
            raise UsageError("with keep, say the width of the window")
        exp_at_most(epsilon)
        s = exp(as_fraction(epsilon) / 2, 64).middle
        width = min(max(1, round(numbers / (s + 1))), numbers - 1)
    wide = as_integer(width, "width", minimum=1)
    if wide >= numbers:
        raise UsageError("the window must be narrower than all numbers")
    if epsilon is None:
        return Window(numbers, wide, probability(keep, "keep"))
    return Window.for_ratio(numbers, wide, exp_at_most(epsilon))


@public
@dataclass(frozen=True, init=False)
class HybridMean(MeanOracle):
    """Send a piecewise report with probability alpha, else a bit of Duchi's: the best of both.

    A report says which it is; each kind is unbiased, and the choice does not depend on the answer,
    so the ratio is the greater of the two and the mean of all is unbiased.  With s =
    e**(epsilon/2), alpha is 1 - 1/s above epsilon = 0.61, and 0 (Duchi alone) below.
    Source: N. Wang et al. (2019).

    Args:
        lower, upper: the bounds.
        epsilon: the greatest loss allowed.
        total: how many numbers a piecewise report is one of.
        missing: the number that represents a missing answer.

    Example:
        >>> from tacit.local import Duchi
        >>> hybrid = HybridMean(-1, 1, epsilon=2)
        >>> hybrid.variance(1) < Duchi(-1, 1, epsilon=2).variance(1)
        True
    """

    asked: Fraction
    total: int

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        *,
        asked: Number | None = None,
        total: int = 4096,
        missing: Number | None = None,
    ) -> None:
        self._set_bounds(lower, upper, missing)
        self._set(asked=read_loss(epsilon, asked), total=as_integer(total, "total", minimum=2))

    @property
    def alpha(self) -> Fraction:
        """The probability of a piecewise report."""
        if self.asked <= Fraction(61, 100):
            return Fraction(0)
        return dyadic_near(1 - exp(-self.asked / 2, 64).middle, 24)

    @cached_property
    def parts(self) -> tuple[Piecewise, Duchi]:
        """The two mechanisms."""
        low, high, loss = self.lower, self.upper, self.asked
        return Piecewise(low, high, loss, total=self.total), Duchi(low, high, loss)

    @property
    def ratio(self) -> Fraction:
        """The greater ratio of the two mechanisms."""
        return max(part.ratio for part in self.parts)

    @property
    def steps(self) -> int:
        """The steps of the piecewise mechanism, from which Duchi's bit is rounded."""
        return self.parts[0].steps

    @property
    def layout(self) -> Layout:
        """A piecewise report, or one of two numbers above them."""
        return Layout("integer", 1, self.total + 2)

    def _report(self, rounded: NDArray[np.int64]) -> NDArray[np.int64]:
        piecewise, duchi = self.parts
        n, m = len(rounded), self.steps
        up = (rounded << FINE) + (words32(n).astype(np.int64) * m) >= m << FINE
        bit = duchi._report(up.astype(np.int64)) + self.total
        return np.where(coins(self.alpha, n), piecewise._report(rounded), bit)

    def _distribution(self, rounded: int) -> Mapping[int, Any]:
        piecewise, duchi = self.parts
        distribution = {y: self.alpha * p for y, p in piecewise._distribution(rounded).items()}
        up = self._rounds_up(rounded)
        one = up * duchi.p + (1 - up) * (1 - duchi.p)
        distribution[self.total] = (1 - self.alpha) * (1 - one)
        distribution[self.total + 1] = (1 - self.alpha) * one
        return {y: p for y, p in distribution.items() if p}

    def _rounds_up(self, rounded: int) -> Fraction:
        """Return the exact probability that i/m rounds up: words u with u m >= (m - i) 2**32."""
        m = self.steps
        return 1 - Fraction(-(-(m - rounded << FINE) // m), 1 << FINE)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        near = reports[reports < self.total]
        ones = int(np.count_nonzero(reports == self.total + 1))
        return np.array([len(near), near.sum(dtype=np.int64), ones], np.int64)

    def _total(self, state: State) -> Fraction:
        near, total, ones = (int(v) for v in state.sums)
        (a, b), (c, d) = (part.score() for part in self.parts)
        return a * total + b * near + c * ones + d * (state.n - near)

    def _extremes(self) -> tuple[Fraction, Fraction]:
        low, high = zip(*(part._extremes() for part in self.parts), strict=True)
        return min(low), max(high)

    def _variance_at(self, rounded: int) -> Fraction:
        piecewise, duchi = self.parts
        up = self._rounds_up(rounded)
        other = duchi._variance_at(0) + up * (1 - up)
        return self.alpha * piecewise._variance_at(rounded) + (1 - self.alpha) * other

    def _greatest_variance(self) -> Fraction:
        """Return a bound: each part at its worst."""
        piecewise, duchi = (part._greatest_variance() for part in self.parts)
        return self.alpha * piecewise + (1 - self.alpha) * duchi


# The mean of a number from answers with Laplace noise.


TAIL_SCALES = (
    45  # noise beyond 45 scales, rarer than e**-45, is cut so that a report has a fixed size
)


@public
@dataclass(frozen=True, init=False)
class LaplaceMean(ExactLoss, LinearMean):
    """Report the answer with discrete Laplace noise of scale (U - L)/epsilon.

    **Privacy.** Two answers are at most m units apart and the noise has scale m/epsilon: epsilon
    exactly.  **Variance** about 2 (U - L)**2/epsilon**2 per report, the largest of the four.

    Args:
        lower, upper: the bounds.
        epsilon: the loss, exactly.
        grid: m, the units from one bound to the other.
        missing: the number that represents a missing answer.

    Example:
        >>> noisy = LaplaceMean(0, 1, epsilon=1)
        >>> noisy.epsilon, round(float(noisy.variance(1)), 3)
        (Fraction(1, 1), 2.0)
    """

    loss: Fraction
    grid: int

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        grid: int = 1024,
        *,
        loss: Number | None = None,
        missing: Number | None = None,
    ) -> None:
        self._set_bounds(lower, upper, missing)
        self._set(loss=read_loss(epsilon, loss), grid=as_integer(grid, "grid", minimum=1))
        refuse_wide(self.layout, "steps of the grid")

    @property
    def steps(self) -> int:
        """The units from one bound to the other."""
        return self.grid

    @property
    def radius(self) -> int:
        """Largest value of the noise, in units."""
        return int(TAIL_SCALES * self.grid / self.loss) + 1

    @property
    def layout(self) -> Layout:
        """The noisy answer, shifted up by the reach of the noise; what is beyond is cut."""
        return Layout("integer", 1, self.grid + 2 * self.radius + 1)

    def _report(self, rounded: NDArray[np.int64]) -> NDArray[np.int64]:
        drawn = noise.discrete_laplace(self.grid / self.loss, size=len(rounded)) + rounded
        return np.clip(drawn + self.radius, 0, self.layout.limit - 1)  # type: ignore[no-any-return]

    def _distribution(self, rounded: int) -> Mapping[int, Any]:
        distribution, radius = noise.DiscreteLaplace(self.grid / self.loss), self.radius
        top = self.layout.limit - 1
        masses: dict[int, Enclosure] = {
            y: distribution.probability(y - radius - rounded, 128) for y in range(1, top)
        }
        masses[0] = distribution.cdf(-radius - rounded, 128)
        masses[top] = 1 - distribution.cdf(top - 1 - radius - rounded, 160)
        return masses

    def score(self) -> tuple[Fraction, Fraction]:
        return Fraction(1, self.grid), Fraction(-self.radius, self.grid)

    def _variance_at(self, rounded: int) -> Fraction:
        distribution = noise.DiscreteLaplace(self.grid / self.loss)
        return distribution.variance().rounded(80).upper / self.grid**2


# Multiples of the steepness that is best where reports are normal, and the largest exponent.
_MULTIPLES, _STEEPEST = (0.75, 1.0, 1.3), 30.0


@public
@dataclass(frozen=True, init=False)
class SquareWave(Windowed, NumberOracle):
    """Report a bin near the one of a number; the histogram is recovered from all reports.

    [L, U] is cut into d equal bins, and there are d + 2b reports: those within b bins of the truth
    are more likely than the others.  **Privacy**: see :mod:`tacit.local.numeric`,
    with a window of 2b + 1. By default b is the one of most mutual information,
    ``d (epsilon E - E + 1) / (2 E (E - 1 - epsilon))``.
    The estimate maximises the likelihood, with or without smoothing; it is not unbiased, says so,
    and has no errors, for none are known.  The linear estimate is unbiased and has errors, but
    distinguishes neighbouring bins with difficulty: ask it for ranges of bins, or for few bins.
    Its intervals hold by a proven bound at every level and for any number of reports.

    Source: Z. Li, T. Wang, M. Lopuhaa-Zwakenberg, N. Li, B. Skoric, *Estimating numerical
    distributions under local differential privacy*, SIGMOD 2020.

    Args:
        lower, upper: the bounds of an answer; others are clamped.
        epsilon: the greatest loss allowed; or
        keep: the probability of a report drawn from the window.
        bins: d, how many bins the range is cut into, from 2 to 16,384.
        reach: b, how many bins the window extends to either side; with epsilon by default the best.
        missing: the number that represents a missing answer; without it one is refused.

    Raises:
        UsageError: bounds reversed, both or neither of epsilon and keep.

    Example:
        >>> wave = SquareWave(0, 100, epsilon=2, bins=32)
        >>> shares = wave.estimate(wave.perturb_many([20.0] * 2000)).frequencies
        >>> len(shares), round(float(shares.sum()), 6)
        (32, 1.0)
    """

    bins: int
    window: Window

    @classmethod
    def _parameters(cls) -> list[str]:
        return ["keep", "bins", "reach"]

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        keep: Number | None = None,
        bins: int = 256,
        reach: int | None = None,
        *,
        missing: Number | None = None,
    ) -> None:
        self._set_bounds(lower, upper, missing)
        d = as_integer(bins, "bins", minimum=2)
        if d > 1 << 14:
            raise UsageError("there are at most 16,384 bins")
        if (epsilon is None) == (keep is None) or (epsilon is None and reach is None):
            raise UsageError("give either epsilon, or both keep and reach")
        b = _best_reach(epsilon, d) if reach is None else as_integer(reach, "reach", minimum=0)
        if epsilon is not None:
            window = Window.for_ratio(d + 2 * b, 2 * b + 1, exp_at_most(epsilon))
        else:
            near: Any = keep
            window = Window(d + 2 * b, 2 * b + 1, probability(near, "keep"))
        self._set(bins=d, window=window)

    @property
    def reach(self) -> int:
        """b: how many bins the window extends to either side."""
        return self.window.width // 2

    @property
    def layout(self) -> Layout:
        """A number below bins + 2 reach."""
        return Layout("integer", 1, self.window.total)

    @property
    def edges(self) -> list[Fraction]:
        """The d + 1 edges of the bins."""
        step = (self.upper - self.lower) / self.bins
        return [self.lower + i * step for i in range(self.bins + 1)]

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the bin of each answer: those on an edge belong to the bin above it."""
        return np.fromiter((self._read(v) for v in values_of(values)), np.int64)

    def _read(self, value: Any) -> int:
        return min(int(self._unit_position(value) * self.bins), self.bins - 1)

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        return self.window.draw(indices).astype(self.layout.dtype)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return count_values(reports, self.window.total)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        return dict(enumerate(self.window.law(self._read(value))))

    def estimate(
        self, reports: object, *, smooth: bool = True, unbiased: bool = False, edges: object = None
    ) -> Estimate:
        """Estimate how many people fall in each bin: by EM, smoothed by default.

        Args:
            reports: a state of this mechanism, or a batch.
            smooth: whether EM averages neighbouring bins.
            unbiased: instead of EM the linear estimate, with standard errors and intervals.
            edges: with ``unbiased``, integers 0 .. bins, increasing: the bins between two of
                them are one.

        Raises:
            UsageError: reports that this mechanism cannot have made, or none; edges of no bins.
        """
        state = self._state(reports)
        if unbiased:
            return self._linear(state, self._groups(edges))
        if edges is not None:
            raise UsageError("edges are for unbiased=True: sums of an EM estimate have no errors")
        shares = expectation_maximization(state.sums, self.window.matrix(), smooth=smooth)
        edges = [float_down(edge) for edge in self.edges]
        labels = tuple(pairwise(edges))
        method = "expectation maximization" + (", smoothed" if smooth else "")
        return Estimate(labels, state.n, shares * state.n, np.nan, method=method)

    def _groups(self, edges: Any) -> list[int]:
        if edges is None:
            return list(range(self.bins + 1))
        cuts = [as_integer(edge, "an edge", minimum=0) for edge in edges]
        if len(cuts) < 2 or sorted(set(cuts)) != cuts or cuts[-1] > self.bins:
            raise UsageError(f"edges are whole numbers of 0..{self.bins}, increasing")
        return cuts

    def _scores(self, cuts: list[int]) -> NDArray[np.float64]:
        """Return, for each group of bins and each report, what the report adds to the group."""
        # The channel's rows are windows of different ends, so they are independent, and its
        # pseudo-inverse is an exact one: the scores' means are 1 in the group and 0 elsewhere.
        inverse = np.linalg.pinv(self.window.matrix()).T
        return np.add.reduceat(inverse[: cuts[-1]], cuts[:-1], axis=0)

    def _linear(self, state: State, cuts: list[int]) -> Estimate:
        """Return unbiased counts; a score's variance is its mean square less 1 in the group."""
        # The mean square is itself estimated, from the reports.
        if not state.n:
            raise UsageError("zero reports have no distribution")
        scores = self._scores(cuts)
        edges = [float_down(self.edges[cut]) for cut in cuts]
        counts, squares = scores @ state.sums, scores**2 @ state.sums
        ends = partial(self._ends, state, cuts)
        return _Linear(tuple(pairwise(edges)), state.n, counts, squares, -1.0, ends=ends)

    def _ends(self, state: State, cuts: list[int], loss: float) -> tuple[Any, Any]:
        """Return ends of each count, each of which fails with probability ``exp(-loss)`` at most.

        For any function f of reports and any answers, c of them in the group,
        ``P(sum f(report) > c A + (n - c) B + loss) <= exp(-loss)``, where A is the largest
        ``log E exp f`` of a bin in the group and B that of another: Chernoff's bound, whatever the
        other answers are.  What satisfies it is an end of c, since it is linear in c.
        """
        # With ``f = a s - k a**2 s**2 / 2`` of the score s the bound of k = 1 depends on the other
        # answers in the third order of a only, because the squares estimate the variance; k = 0 is
        # best where the variance is known.  The choice of a and k reads n, the level and the
        # channel, never the reports: with those the bound would be another one.  The estimate of
        # the variance is small just where counts are small, so that z standard errors to either
        # side would miss 95% intervals of eight bins at once in 17% of 600 reports.
        scores, n, matrix = self._scores(cuts), state.n, self.window.matrix()
        inside = np.zeros((len(scores), self.bins), bool)
        for group, bins in enumerate(pairwise(cuts)):
            inside[group, slice(*bins)] = True
        share, typical = inside.mean(axis=1), matrix.mean(axis=0)  # of answers that are spread out
        variances = np.maximum(n * (scores**2 @ typical - share), np.finfo(np.float64).tiny)
        likely, steepest = np.sqrt(2 * loss / variances), _STEEPEST / np.abs(scores).max(axis=1)
        ends = []
        for sign, end in ((1, 0.0), (-1, float(n))):
            ends.append(np.full(len(scores), end))
            nearest = np.full(len(scores), np.inf)
            for multiple, k in product(_MULTIPLES, (0, 1)):
                moved = np.minimum(multiple * likely, steepest)[:, None] * scores
                f = sign * moved - k * moved**2 / 2
                logs = np.log(np.exp(f) @ matrix.T)
                beyond = np.where(inside, -np.inf, logs).max(axis=1)
                beyond[inside.all(axis=1)] = 0.0
                slope = np.where(inside, logs, -np.inf).max(axis=1) - beyond
                slope = np.where(sign * slope > 0, slope, np.nan)
                around, found = (
                    (total - n * beyond - loss) / slope
                    for total in (n * (f @ typical), f @ state.sums)
                )
                better = np.abs(around - n * share) < nearest  # not where the slope is none
                nearest[better] = np.abs(around - n * share)[better]
                ends[-1][better] = found[better]
        return np.clip(ends[0], 0, n), np.clip(ends[1], 0, n)

    def influence_on(self, edges: object = None) -> NDArray[np.float64]:
        """Return the most that one poisoned report moves each count of an unbiased estimate.

        ``edges`` as in :meth:`estimate`.
        """
        return np.abs(self._scores(self._groups(edges))).max(axis=1)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class _Linear(Estimate):
    """A linear estimate, whose intervals are not read off its standard errors."""

    ends: Callable[[float], tuple[Any, Any]] | None = field(default=None, repr=False)

    def _ends(self, level: object, ways: int) -> tuple[Any, Any]:
        self._refuse_processed()
        assert self.ends is not None
        return self.ends(tail_loss(level, ways))


def _best_reach(epsilon: Any, bins: int) -> int:
    exp_at_most(epsilon)
    loss = as_fraction(epsilon)
    e = exp(loss, 128).middle
    return max(0, int(bins * (loss * e - e + 1) / (2 * e * (e - 1 - loss))))
