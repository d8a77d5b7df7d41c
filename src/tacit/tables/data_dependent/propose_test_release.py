"""The part of a release that answers a statistic by propose-test-release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core import Step
from tacit.errors import UsageError
from tacit.mechanisms.propose_test_release.bound_search import BoundSearch
from tacit.mechanisms.propose_test_release.mechanism import ProposeTestRelease
from tacit.report.text.vocabulary import say_step
from tacit.tables.chain.estimate import Array, Estimate
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import LEVEL, Noise
from tacit.tables.data_dependent.base import LocalPart, delta_of_one, epsilon_of_one
from tacit.tables.data_dependent.synthetic_rows import made_rows

__all__ = ["ProposalPart"]

_UNITS = 1024
"""Grid units in a bound, as both mechanisms have them."""


@dataclass(frozen=True)
class ProposalPart(LocalPart):
    """Noise for a bound on the local sensitivity, which a private test finds safe or refuses.

    A group whose test refuses has no answer, and nothing says why; it costs the same.  With
    ``bound="search"`` there is always an answer, and the bound that was found is published with it.
    The bound is public either way, and so are the standard error and the interval.
    """

    needs_delta = True

    def mechanism(self, noise: Noise) -> Step:
        """Return the test and the noise."""
        if noise.kind != "laplace" or not noise.delta:
            raise UsageError(
                "propose-test-release needs a delta, the probability that the test is wrong: use a "
                "budget such as tc.epsilon_delta(1, '1e-6') and release(epsilon=..., delta=...); "
                "or another method, such as 'smooth'"
            )
        epsilon, delta = epsilon_of_one(noise, noise.rows), delta_of_one(noise)
        if self.method.searches:
            return BoundSearch(self.statistic, epsilon, delta)
        return ProposeTestRelease(self.statistic, Fraction(self.method.bound or 0), epsilon, delta)

    def read(self, released: Sequence[Any], noise: Noise) -> Estimate:
        """Return the values with their errors; what the test refused is not a number."""
        if self.method.searches:
            pairs = [tuple(pair) for pair in released]
        else:
            bound = float(Fraction(self.method.bound or 0))
            pairs = [(math.nan if answer is None else answer, bound) for answer in released]
        value, bounds = np.array(pairs, dtype=np.float64).reshape(-1, 2).T  # perhaps of no group
        # Half of epsilon is for the noise: in units of the bound, one scale serves all.
        law = NoiseLaw("laplace", float(2 / epsilon_of_one(noise, noise.rows)), 1 / _UNITS)
        error = np.where(np.isnan(value), np.nan, bounds * math.sqrt(law.variance))
        half = bounds * law.half_width((1.0,), LEVEL)
        point, low, high = np.clip([value, value - half, value + half], *self.range)
        # noise this large is seen in one answer of twenty: no end of the range is certain then
        missed = (value + half < self.range[0]) | (value - half > self.range[1])
        low, high = np.where(missed, np.array(self.range)[:, None], [low, high])
        return Estimate(point, error, low, high)

    def error_on(self, made: Array, noise: Noise) -> float:
        """Return the mean absolute error of an answer on made-up rows, held within the range."""
        return float(self.on_column(noise).expected_error(made, ends=self.range))

    def refusal(self, noise: Noise, rows: float) -> float:
        """Return the probability that the test refuses on evenly spread rows."""
        return self.refusal_on(made_rows(self.grid, max(1, round(rows))), noise)

    def refusal_on(self, made: Array, noise: Noise) -> float:
        """Return the probability that the test refuses on made-up rows."""
        if self.method.searches:
            return 0.0
        return 1 - float(self.on_column(noise).answer_probability(made))

    def record(self, noise: Noise) -> dict[str, Any]:
        """Return the bound that was proposed."""
        return {"used": "ptr", "bound": str(self.method.bound)}


def _proposed(inner: Mapping[str, Any]) -> str:
    return (
        f"test, with noise, whether the local sensitivity of the {inner['statistic']} stays at "
        f"most {inner['bound']} on all data near these; then add noise for that bound, or refuse "
        "to answer"
    )


def _searched(inner: Mapping[str, Any]) -> str:
    return (
        f"search, with noise, for a bound on the local sensitivity of the {inner['statistic']}, "
        "and add noise for that bound"
    )


say_step("propose_test_release", _proposed)
say_step("bound_search", _searched)
