"""The part of a release that answers a statistic by noise scaled to its smooth sensitivity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.core import Step
from tacit.errors import UsageError
from tacit.mechanisms.smooth.calibration import CONCENTRATED
from tacit.mechanisms.smooth.smooth_noise import SmoothNoise
from tacit.report.text.vocabulary import say_step
from tacit.tables.chain.estimate import Array, Estimate
from tacit.tables.chain.part import Noise
from tacit.tables.data_dependent.base import (
    LocalPart,
    delta_of_one,
    epsilon_of_one,
    rho_of_one,
    unknown,
)

__all__ = ["SmoothPart"]


@dataclass(frozen=True)
class SmoothPart(LocalPart):
    """Noise that follows the data; how much of it was added is as private as the data.

    So an answer has no standard error and no interval: either would reveal the smooth sensitivity.
    """

    needs_delta = True

    def mechanism(self, noise: Noise) -> Step:
        """Return the noise, the kind with the least expected error where none is named."""
        return self._noise(_distribution(self, noise), noise)

    def _noise(self, distribution: str, noise: Noise) -> Step:
        if distribution in CONCENTRATED:
            if noise.kind != "gaussian":
                raise UsageError(
                    f"{distribution} noise is paid in rho, and this release in epsilon: use "
                    "'student_t', or 'laplace' with a delta; or a budget tc.rho('1/10')"
                )
            return SmoothNoise(self.statistic, rho=rho_of_one(noise), distribution=distribution)
        epsilon = epsilon_of_one(noise, noise.rows)
        if distribution != "laplace":
            return SmoothNoise(self.statistic, epsilon, distribution=distribution)
        if not noise.delta:
            raise UsageError(
                "smooth noise from the laplace distribution needs a delta: use a budget such as "
                "tc.epsilon_delta(1, '1e-6') and release(epsilon=..., delta=...), or "
                "distribution='student_t'"
            )
        return SmoothNoise(self.statistic, epsilon, delta_of_one(noise))

    def read(self, released: Sequence[Any], noise: Noise) -> Estimate:
        """Return the values alone."""
        value = np.asarray(released, dtype=np.float64)
        return Estimate(value, unknown(value), unknown(value), unknown(value))

    def error_on(self, made: Array, noise: Noise) -> float:
        """Return the mean absolute error on made-up rows."""
        return float(self.on_column(noise).expected_error(made))

    def record(self, noise: Noise) -> dict[str, Any]:
        """Return the noise that was used."""
        return {"used": "smooth", "distribution": _distribution(self, noise)}


@lru_cache(maxsize=64)
def _distribution(part: SmoothPart, noise: Noise) -> str:
    """Return the noise that is asked for, or the best that the budget pays for."""
    if part.method.distribution is not None:
        return part.method.distribution
    if noise.kind == "gaussian":
        open_to: tuple[str, ...] = tuple(CONCENTRATED)
    else:
        open_to = ("laplace", "student_t", "cauchy") if noise.delta else ("student_t", "cauchy")

    def error(distribution: str) -> float:
        """Return the error of a distribution, without end where the budget cannot pay for it."""
        named = SmoothPart(
            part.column,
            part.grid,
            part.kind,
            part.statistic,
            type(part.method)(part.method.name, distribution=distribution),
        )
        try:
            return named.expected_error(part.kind, noise, part.method.planned)
        except UsageError:
            return math.inf

    return min(open_to, key=error)


def _step_words(inner: Mapping[str, Any]) -> str:
    noise = str(inner.get("distribution", "laplace")).replace("_", " ")
    return (
        f"add {noise} noise to the {inner['statistic']}, scaled to its smooth sensitivity on these "
        "data; the scale is as private as the data"
    )


say_step("smooth_noise", _step_words)
