"""Which distribution, rate and shift a budget buys, where the caller leaves them open."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.mechanisms.smooth.concentrated_laws import (
    ArsinhNormalLaw,
    ConcentratedLaw,
    LaplaceLogNormalLaw,
    UniformLogNormalLaw,
)
from tacit.mechanisms.smooth.pure_laws import LaplaceLaw, SmoothLaw, StudentLaw
from tacit.statistics.base.at_distance import SMOOTHNESS_SLACK

__all__ = ["CONCENTRATED", "DISTRIBUTIONS", "calibrated"]

CONCENTRATED: dict[str, type[ConcentratedLaw]] = {
    "laplace_log_normal": LaplaceLogNormalLaw,
    "uniform_log_normal": UniformLogNormalLaw,
    "arsinh_normal": ArsinhNormalLaw,
}
DISTRIBUTIONS = ("laplace", "cauchy", "student_t", *CONCENTRATED)
"""The noises by name."""

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
) -> tuple[SmoothLaw, Fraction, Fraction]:
    """Return distribution, rate and s; of those left open, with the largest ``beta s / E|Z|``.

    A budget above 512 gets the noise of 512, which costs less: nothing that matters to a person
    hides behind either, and the numbers stay within floats.

    Raises:
        UsageError: a budget that leaves no noise that is proven enough.
    """
    laws: list[SmoothLaw]
    epsilon, rho = (None if x is None else min(x, _ENOUGH) for x in (epsilon, rho))
    if distribution in CONCENTRATED:
        assert rho is not None
        sigmas = _SIGMAS if sigma is None else [sigma]
        laws = [CONCENTRATED[distribution](rho, s) for s in sigmas]
    else:
        assert epsilon is not None
        if distribution == "laplace":
            assert delta is not None
            laws = [LaplaceLaw(epsilon, delta)]
        else:
            laws = [StudentLaw(epsilon, 1 if distribution == "cauchy" else degrees)]
    found = [
        (float(rate * s) / law.size, law, rate, s)
        for law in laws
        for rate in ([r - SMOOTHNESS_SLACK for r in law.rates()] if beta is None else [beta])
        if 0 < rate <= _STEEPEST and (s := law.shift(rate + SMOOTHNESS_SLACK)) > 0
    ]
    if not found:
        told = f"at beta = {show(beta)}: take a smaller beta" if beta is not None else _TOO_SMALL
        raise UsageError(f"no {distribution} noise is proven to be enough for this budget {told}")
    _, best, rate, s = max(found, key=lambda one: one[0])
    return best, rate, s
