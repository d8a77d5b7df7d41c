"""Noise scaled to smooth sensitivity, released exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive, show
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
from tacit.errors import UsageError, did_you_mean
from tacit.mechanisms.shared.group_privacy import approximate_loss
from tacit.mechanisms.shared.local_statistic import LocalStatistic, column_space
from tacit.mechanisms.smooth.calibration import CONCENTRATED, DISTRIBUTIONS, calibrated
from tacit.mechanisms.smooth.concentrated_laws import ConcentratedLaw
from tacit.mechanisms.smooth.pure_laws import SmoothLaw
from tacit.mechanisms.smooth.release import SmoothRelease

__all__ = ["DISTRIBUTIONS", "SmoothNoise", "SmoothRelease", "smooth_noise"]


@register
@dataclass(frozen=True)
class SmoothNoise(Step):
    """Release a statistic with noise scaled to its smooth sensitivity on the data at hand.

    **What is released.**  ``f + (S / s) Z``, rounded to the nearest multiple of a public grid and
    clipped to the statistic's public range: f the exact statistic, S its smooth sensitivity at the
    rate ``beta`` (:mod:`tacit.statistics`), Z unit noise and s what its proof allows.

    **Map.**  At distance one epsilon for ``"cauchy"`` and ``"student_t"``, ``(epsilon, delta)`` for
    ``"laplace"``, rho for the other three; the proofs stand with the distributions
    (:mod:`tacit.mechanisms.smooth.pure_laws`, :mod:`tacit.mechanisms.smooth.concentrated_laws`).
    They need that S bounds the local sensitivity and that its logarithm moves by at most some b
    between neighbours.  The S that is computed is never below the smooth sensitivity and at most a
    relative 1e-6 above, so ``b = beta + 1e-6``; the empty data set and its neighbours are seen to
    in :mod:`tacit.mechanisms.shared.local_statistic`.  At distance k: ``k epsilon``, ``k^2 rho``,
    and ``(k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))``.

    **Finite precision.**  The proofs speak of real numbers, and what is released is a function of
    one: rounding and clipping are post-processing.  That function is evaluated without error.  f
    and S are fractions (a standard deviation, a root, is enclosed); Z is made of uniform reals of
    which as many binary digits are drawn as it takes to decide which multiple of the grid is
    nearest (:mod:`tacit.mechanisms.smooth.lazy_reals`).  So the grid costs nothing and can be as
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
    def _law(self) -> tuple[SmoothLaw, Fraction, Fraction]:
        fields = (self.distribution, self.epsilon, self.delta, self.rho, self.degrees)
        return calibrated(*fields, self.beta, self.sigma)

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a column.

        Raises:
            MismatchError: no column of bounded numbers or known values, or another metric.
        """
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
        like: public or synthetic records; the rate is then one with nearly the least noise on them.

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
    chosen = built.unit.sigma if isinstance(built.unit, ConcentratedLaw) else None
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
