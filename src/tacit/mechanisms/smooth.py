"""Noise scaled to a smooth sensitivity."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive, show
from tacit.arithmetic.roots_and_bisection import Root
from tacit.calls import public
from tacit.core import (
    ApproximateDP,
    Measure,
    Measurement,
    PureDP,
    Space,
    Step,
    ZeroConcentratedDP,
    register,
)
from tacit.core.measurement import TwoParts
from tacit.errors import UsageError, did_you_mean
from tacit.mechanisms.local_statistic import (
    LocalStatistic,
    StatisticReading,
    column_space,
    nearest_unit,
)
from tacit.mechanisms.output_distribution import (
    FiniteDistribution,
    approximate_loss,
    listed,
    resized,
)
from tacit.mechanisms.smooth_distributions import (
    ArsinhNormal,
    ConcentratedDistribution,
    LaplaceDistribution,
    LaplaceLogNormal,
    SmoothDistribution,
    StudentDistribution,
    UniformLogNormal,
    mean_distance,
)
from tacit.statistics.statistic import SMOOTHNESS_SLACK

# The measurement of smooth noise: its releases, its exact distribution, its expected error.


_MAX_CELLS = 200_000
_STRIDE = 4
_LARGE = Fraction(1 << 2000)


class SmoothRelease(Measurement):
    """Measurement that adds smooth noise, with its expected error.

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
        distribution: SmoothDistribution,
        beta: Fraction,
        shift: Fraction,
        loss: tuple[Measure, Callable[[Fraction], Any]],
        step: Step,
        *,
        grid: Fraction | None = None,
        clip: Any = True,
    ) -> None:
        self.beta, self.shift = beta, shift
        self.local, self.unit = local, distribution
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

    def _placed(self, reading: StatisticReading) -> tuple[Callable[[int], Enclosure], Fraction]:
        """Return where the noise is centred and how wide it is, in units of the grid."""
        scale = self.local.smooth(reading, self.beta) / self.shift / self.grid
        return _enclosed(self.local.value(reading), self.grid), scale

    def _drawn(self, centre: Callable[[int], Enclosure], scale: Fraction) -> float:
        return float(self._clipped(self.unit.draw().nearest(centre, scale)) * self.grid)

    def simulate(self, like: Iterable[object], times: int) -> list[float]:
        """Return what this many releases say of records that are public or synthetic.

        Draws of this very mechanism, with the records read but once.

        Args:
            like: records; each of the releases depends on them.
            times: how many.

        >>> from tacit.mechanisms.smooth import smooth_noise
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
        if high - low >= _MAX_CELLS:
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
        """Return the rate of a ladder, near the best, with the smallest noise on public records.

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

    def error_on(self, reading: StatisticReading, truth: float | None = None) -> float:
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


# Which distribution, rate and shift a budget buys, where the caller leaves them open.


CONCENTRATED: dict[str, type[ConcentratedDistribution]] = {
    "laplace_log_normal": LaplaceLogNormal,
    "uniform_log_normal": UniformLogNormal,
    "arsinh_normal": ArsinhNormal,
}
DISTRIBUTIONS = ("laplace", "cauchy", "student_t", *CONCENTRATED)  # the noises by name

_ENOUGH = Fraction(512)
_STEEPEST = 64
_TOO_SMALL = (
    "at any rate: the computation of the smooth sensitivity takes up 1e-6 of it; give more epsilon "
    "(1e-3 is enough for delta above 1e-300), or add noise for the global sensitivity"
)
_SIGMAS = [Fraction(k, 8) for k in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)]


@lru_cache(maxsize=256)
def calibrated(
    distribution: str,
    epsilon: Fraction | None,
    delta: Fraction | None,
    rho: Fraction | None,
    degrees: int,
    beta: Fraction | None,
    sigma: Fraction | None,
) -> tuple[SmoothDistribution, Fraction, Fraction]:
    """Return distribution, rate and s; of those left open, with the largest ``beta s / E|Z|``."""
    # A budget above 512 gets the noise of 512, which costs less: nothing that matters to a person
    # hides behind either, and the numbers stay within floats.
    distributions: list[SmoothDistribution]
    epsilon, rho = (None if x is None else min(x, _ENOUGH) for x in (epsilon, rho))
    if distribution in CONCENTRATED:
        assert rho is not None
        sigmas = _SIGMAS if sigma is None else [sigma]
        distributions = [CONCENTRATED[distribution](rho, s) for s in sigmas]
    else:
        assert epsilon is not None
        if distribution == "laplace":
            assert delta is not None
            distributions = [LaplaceDistribution(epsilon, delta)]
        else:
            distributions = [
                StudentDistribution(epsilon, 1 if distribution == "cauchy" else degrees)
            ]
    scales = [
        (float(rate * s) / noise_law.size, noise_law, rate, s)
        for noise_law in distributions
        for rate in ([r - SMOOTHNESS_SLACK for r in noise_law.rates()] if beta is None else [beta])
        if 0 < rate <= _STEEPEST and (s := noise_law.shift(rate + SMOOTHNESS_SLACK)) > 0
    ]
    if not scales:
        advice = f"at beta = {show(beta)}: take a smaller beta" if beta is not None else _TOO_SMALL
        raise UsageError(f"no {distribution} noise is proven to be enough for this budget {advice}")
    _, best, rate, s = max(scales, key=lambda one: one[0])
    return best, rate, s


@register
@dataclass(frozen=True)
class SmoothNoise(Step):
    """Release a statistic with noise scaled to its smooth sensitivity on the data at hand.

    **What is released.**  ``f + (S / s) Z``, rounded to the nearest multiple of a public grid and
    clipped to the statistic's public range: f the exact statistic, S its smooth sensitivity at the
    rate ``beta`` (:mod:`tacit.statistics`), Z unit noise and s what its proof allows.

    **Map.**  At distance one epsilon for ``"cauchy"`` and ``"student_t"``, ``(epsilon, delta)`` for
    ``"laplace"``, rho for the other three; the proofs stand with the distributions
    (:mod:`tacit.mechanisms.smooth_distributions`, :mod:`tacit.mechanisms.smooth_distributions`).
    They need that S bounds the local sensitivity and that its logarithm moves by at most some b
    between neighbours.  The S that is computed is never below the smooth sensitivity and at most a
    relative 1e-6 above, so ``b = beta + 1e-6``; the empty data set and its neighbours are seen to
    in :mod:`tacit.mechanisms.local_statistic`.  At distance k: ``k epsilon``, ``k^2 rho``,
    and ``(k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))``.

    **Finite precision.**  The proofs speak of real numbers, and what is released is a function of
    one: rounding and clipping are post-processing.  That function is evaluated without error.  f
    and S are fractions (a standard deviation, a root, is enclosed); Z is made of uniform reals of
    which as many binary digits are drawn as it takes to decide which multiple of the grid is
    nearest (:mod:`tacit.mechanisms.smooth_distributions`).  So the grid costs nothing and can be as
    fine as one likes.

    S is as private as the data.  It is not kept, shown or raised; nor is f.

    Args:
        statistic: a name (``"median"``, ``"percentile(90)"``, ``"trimmed_mean(0.1)"``,
            ``"interquartile_range"``), a statistic, or, on a column of known values, any function
            of one release.
        epsilon: for Laplace, Cauchy and Student noise.
        delta: for Laplace noise.
        rho: for the three others.
        distribution: the noise, one of ``DISTRIBUTIONS``.
        degrees: of freedom of Student's t.
        beta: the rate; by default the one with the largest ``beta s / E|Z|``.
        sigma: of the normal inside the last three; the best of a few by default.
        grid: of the release; by default about 2^-40 of the largest change.
        clip: whether to clip to the public range (sums and counts have none), or ``(low, high)``.
        bounds: of a function's results; for functions only.

    Raises:
        UsageError: parameters that are missing, superfluous or out of range, or leave no noise
            that is proven enough.

    Example:
        >>> from tacit.core import Number as NumberDomain, SymmetricDistance, Vector
        >>> ages = Space(Vector(NumberDomain("float", 0, 100)), SymmetricDistance())
        >>> m = ages >> SmoothNoise("median", epsilon=1, distribution="student_t")
        >>> m.map(1), 0 <= m([30, 35, 41, 60]) <= 100
        (Fraction(1, 1), True)
    """

    statistic: Any
    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    distribution: str = "laplace"
    degrees: int = 3
    beta: Number | None = None
    sigma: Number | None = None
    grid: Number | None = None
    clip: Any = True
    bounds: Any = None

    name: ClassVar[str] = "smooth_noise"

    def __post_init__(self) -> None:
        if self.distribution not in DISTRIBUTIONS:
            raise UsageError(
                f"distribution {self.distribution!r} is unknown; "
                f"{did_you_mean(str(self.distribution), DISTRIBUTIONS)}"
            )
        for field in ("epsilon", "delta", "rho", "beta", "sigma", "grid"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, positive(getattr(self, field), field))
        object.__setattr__(self, "degrees", as_integer(self.degrees, "degrees", minimum=1))
        for field in ("clip", "bounds"):
            pair = getattr(self, field)
            if not isinstance(pair, bool) and pair is not None:
                object.__setattr__(self, field, _pair(pair, field))
        self._check_budget()

    def _check_budget(self) -> None:
        wanted = {"laplace": ("epsilon", "delta")}.get(self.distribution, ("epsilon",))
        if self.distribution in CONCENTRATED:
            wanted = ("rho", "sigma") if self.sigma is not None else ("rho",)
        for field in ("epsilon", "delta", "rho", "sigma"):
            given = getattr(self, field) is not None
            if given != (field in wanted):
                raise UsageError(
                    f"{self.distribution} noise takes {' and '.join(wanted)}: "
                    f"{'leave out' if given else 'give'} {field}"
                )
        if self.delta is not None and as_fraction(self.delta) >= 1:
            raise UsageError(f"delta must be below 1, not {show(as_fraction(self.delta))}")

    @property
    def _law(self) -> tuple[SmoothDistribution, Fraction, Fraction]:
        fields = (self.distribution, self.epsilon, self.delta, self.rho, self.degrees)
        return calibrated(*fields, self.beta, self.sigma)

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a column of bounded numbers or known values."""
        local = LocalStatistic(self.statistic, space, self.bounds)
        loss = self.measure()
        grid = None if self.grid is None else Fraction(self.grid)
        return SmoothRelease(space, local, *self._law, loss, self, grid=grid, clip=self.clip)

    def measure(self) -> tuple[Measure, Callable[[Fraction], Any]]:
        """Return the measure and the privacy map."""
        if self.rho is not None:
            rho = Fraction(self.rho)
            return ZeroConcentratedDP(), lambda d: d * d * rho
        epsilon = Fraction(self.epsilon or 0)
        if self.delta is None:
            return PureDP(), lambda d: d * epsilon
        delta = Fraction(self.delta)
        return ApproximateDP(), lambda d: approximate_loss(epsilon, delta, d)


@public
def smooth_noise(
    statistic: object,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    distribution: str = "laplace",
    relation: str = "unbounded",
    *,
    values: Sequence[object] | None = None,
    degrees: int = 3,
    beta: Number | None = None,
    sigma: Number | None = None,
    grid: Number | None = None,
    clip: object = True,
    like: Iterable[object] | None = None,
) -> SmoothRelease:
    """Return a release of a statistic with noise scaled to its smooth sensitivity.

    The noise follows the data at hand, with no bound to guess: a median of many records near each
    other gets little.  See :class:`SmoothNoise` for what is released, the proof, and why finite
    precision changes nothing.

    Args:
        statistic: ``"median"``, ``"percentile(90)"``, ``"min"``, ``"max"``, ``"mean"``, ``"sum"``,
            ``"var"``, ``"std"``, ``"interquartile_range"``, ``"trimmed_mean(0.1)"`` (bounded
            neighbours only), a statistic, or any function of one release over ``values``.
        bounds: the public bounds of a record; of a function's results where ``values`` are given.
            Records outside count as the nearer bound, missing ones as the number nearest to zero.
        epsilon: the loss at distance one, for Laplace, Cauchy and Student noise.
        delta: for Laplace noise.
        rho: the loss at distance one for the three others.
        distribution: ``"laplace"``, ``"cauchy"``, ``"student_t"``, ``"laplace_log_normal"``,
            ``"uniform_log_normal"`` or ``"arsinh_normal"``.
        relation: ``"unbounded"`` or ``"bounded"``.
        values: instead of bounds, the few public values that a record may have.
        degrees: of freedom of Student's t.
        beta: the rate of the smooth sensitivity; by default a good one for any data.
        sigma: of the normal inside the last three noises; by default a good one.
        grid: of the release; very fine by default, at no cost.
        clip: whether to clip to the statistic's public range, or the ends.
        like: public or synthetic records; the rate is then one with nearly the smallest noise on
            them.

    Raises:
        UsageError: what is missing, superfluous or out of range, with what to do.

    Example:
        >>> m = smooth_noise("median", bounds=(0, 100), epsilon=1, delta="1e-6")
        >>> m.map(1), m.map(2)[0]
        ((Fraction(1, 1), Fraction(1, 1000000)), Fraction(2, 1))
        >>> m.expected_error(range(20, 71), n=10_000) < 0.5
        True
        >>> 20 <= m([40] * 1000) <= 60
        True
    """
    function = values is not None and callable(statistic)
    space = column_space(None if values is not None else bounds, relation, values)
    given = (epsilon, delta, rho, distribution, degrees)
    rest = (grid, clip, bounds if function else None)
    step = SmoothNoise(statistic, *given, beta, sigma, *rest)
    built: Any = space >> step
    if like is None or beta is not None:
        return built  # type: ignore[no-any-return]
    rate = built.best_rate(like)
    chosen = built.unit.sigma if isinstance(built.unit, ConcentratedDistribution) else None
    best: Any = space >> SmoothNoise(statistic, *given, rate, chosen, *rest)
    return best  # type: ignore[no-any-return]


def _pair(pair: Any, name: str) -> tuple[Fraction, Fraction]:
    try:
        low, high = (as_fraction(end, name) for end in pair)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} must be a pair (low, high), not {pair!r}") from error
    if low >= high:
        raise UsageError(f"{name} must be (low, high) with low below high, not {pair!r}")
    return low, high
