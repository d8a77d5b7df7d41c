"""The truths beside which claims are held, against other ways to compute them."""

from __future__ import annotations

import math

import pytest

import tacit as tc
from tacit.audit.attack_suite.cases.claims import (
    gaussian_epsilon,
    randomized_response_epsilon,
    worst_move,
)


@pytest.mark.parametrize(("sigma", "delta"), [(1, "1e-5"), (4, "1e-7")])
def test_gaussian_noise_against_the_tight_enclosure_of_the_framework(sigma, delta):
    number = tc.Space(tc.Number("float"), tc.AbsoluteDistance())
    exact = (number >> tc.gaussian(sigma, grid="1/1048576")).epsilon(delta=delta)
    assert gaussian_epsilon(1 / sigma, float(delta)) == pytest.approx(float(exact), rel=1e-4)


def test_randomized_responses_against_the_definition():
    """Two answers: the four pairs of bits, by hand."""
    p = math.exp(0.5) / (1 + math.exp(0.5))
    level = randomized_response_epsilon(0.5, 2, 0.05)
    delta = sum(
        max(0.0, a - math.exp(level) * b)
        for a, b in [(p * p, (1 - p) ** 2), (p * (1 - p),) * 2, (p * (1 - p),) * 2]
    )
    assert delta == pytest.approx(0.05)
    assert randomized_response_epsilon(0.5, 2, 0) == pytest.approx(1)


@pytest.mark.parametrize("relation", ["bounded", "unbounded"])
@pytest.mark.parametrize("statistic", ["sum", "mean", "median"])
def test_sensitivities_against_those_of_the_package(statistic, relation):
    values = (0.0, 1.0, 5.0)
    exact = tc.sensitivity(statistic, over=tc.Values(values, size=3), relation=relation)
    assert worst_move(statistic, values, 3, relation) == pytest.approx(float(exact.value))
