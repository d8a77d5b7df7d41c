"""Sensitivity sampling (Rubinstein and Alda 2017): random differential privacy for any function.

Neighbouring releases are drawn from a public distribution of records, and an order statistic of
their differences serves as the sensitivity.  What follows is *random* differential privacy with
confidence ``gamma``: over the draw of the neighbours and of the sample, the promise of ``epsilon``
holds except with probability ``gamma``.  It is not differential privacy, and the answer says so.

Let ``G_1 <= ... <= G_m`` be the sampled differences.  By the inequality of Dvoretzky, Kiefer and
Wolfowitz in Massart's one-sided form, a new difference exceeds ``G_k`` with probability at most
``1 - k/m + sqrt(ln(1/rho) / (2m))``, except with probability ``rho <= 1/2``.  Both failures
together stay below ``gamma`` when

    k >= m (1 - gamma + rho + sqrt(ln(1/rho) / (2m))).

Any ``rho`` serves.  Given ``m``, taking ``k = m`` gives the least ``gamma`` at ``8 m L exp(-2L) =
1``; given ``gamma``, the least ``m`` has ``gamma = rho (1 + 2L)``, with ``L = ln(1/rho)``.  Both
roots are found by bisection; as any ``rho`` is valid, its rounding costs no confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.bisection import narrowed
from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.statistics.ask.registry import lookup
from tacit.statistics.ask.sensitivity import Asked

__all__ = ["SampledSensitivity", "sampled_sensitivity", "samples_needed"]

_SLACK = 1e-9  # far above the rounding of the few operations below


@dataclass(frozen=True)
class SampledSensitivity:
    """A sensitivity that holds for neighbours drawn from a distribution, but for ``gamma``.

    Attributes:
        value: the ``rank``-th smallest of the sampled differences.
        gamma: the probability with which the promise may fail (rounded up).
        samples: how many pairs of neighbours were drawn.
        rank: which order statistic ``value`` is.
    """

    value: float
    gamma: float
    samples: int
    rank: int
    method: str = "sampled"

    @property
    def is_guarantee(self) -> bool:
        """False: random differential privacy is weaker than differential privacy."""
        return False

    @property
    def why_no_guarantee(self) -> str:
        """What is missing."""
        return (
            "it holds for neighbours drawn at random, but for a probability of gamma: random "
            "differential privacy only"
        )

    def __float__(self) -> float:
        return self.value


@public
def sampled_sensitivity(
    statistic: Asked,
    draw: Callable[[int], npt.ArrayLike],
    size: int,
    *,
    gamma: Number | None = None,
    samples: int | None = None,
) -> SampledSensitivity:
    """Sample the sensitivity of a statistic under substitution of one record.

    Args:
        statistic: any statistic or function.
        draw: ``draw(count)`` returns ``count`` records, drawn independently from a *public*
            distribution (never the private data).
        size: the size of a release.
        gamma: the confidence asked for; the number of samples follows.
        samples: the number of samples; the confidence follows.

    Raises:
        UsageError: neither or both of ``gamma`` and ``samples``, a gamma outside (0, 1).

    >>> uniform = np.random.default_rng(1).random
    >>> s = sampled_sensitivity("mean", uniform, 100, gamma="1/10")
    >>> s.samples, s.rank, s.value < 1 / 100
    (285, 285, True)
    """
    n = as_integer(size, "size", minimum=1)
    if (gamma is None) == (samples is None):
        raise UsageError("give either gamma or samples, not both and not neither")
    if gamma is not None:
        confidence = float(as_fraction(gamma, "gamma"))
        count, rank = samples_needed(confidence)
    else:
        count = rank = as_integer(samples, "samples", minimum=1)
        confidence = _confidence_of(count)
    asked = lookup(statistic)
    gaps = np.sort([_difference(asked, draw, n) for _ in range(count)])
    return SampledSensitivity(float(gaps[rank - 1]), confidence, count, rank)


def samples_needed(gamma: float) -> tuple[int, int]:
    """The least number of samples for a confidence, and the rank to take.

    >>> samples_needed(0.05)
    (1305, 1305)
    """
    if not 0 < gamma < 1:
        raise UsageError(f"gamma must be between 0 and 1, not {gamma!r}")
    # rho (1 + 2L) rises with rho up to exp(-1/2), and is above gamma there.
    length, _ = narrowed(lambda at: math.exp(-at) * (1 + 2 * at) - gamma > 0, 0.5, 745.0, 200)
    rho = min(math.exp(-length), 0.5)
    length = -math.log(rho)
    if gamma <= rho:
        raise UsageError(f"gamma={gamma!r} is too large to be of use; give one below 1/2")
    count = math.ceil(length / (2 * (gamma - rho) ** 2) * (1 + _SLACK))
    slack = rho + math.sqrt(length / (2 * count))
    rank = math.ceil(count * (1 - gamma + slack) * (1 + _SLACK / count))
    return count, min(rank, count)


def _confidence_of(count: int) -> float:
    length, _ = narrowed(lambda at: 8 * count * at * math.exp(-2 * at) - 1 > 0, 0.5, 745.0, 200)
    rho = min(math.exp(-length), 0.5)
    return (rho + math.sqrt(-math.log(rho) / (2 * count))) * (1 + _SLACK)


def _difference(statistic: Any, draw: Callable[[int], npt.ArrayLike], size: int) -> float:
    records = np.asarray(draw(size + 1), dtype=np.float64)
    if records.shape != (size + 1,):
        raise UsageError(f"draw({size + 1}) must return that many records, not {records.shape}")
    first = np.sort(records[:size])
    second = np.sort(records[1:])
    return abs(float(statistic(first)) - float(statistic(second)))
