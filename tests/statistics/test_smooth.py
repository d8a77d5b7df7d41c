"""Smooth sensitivity and distance to instability against the plain definition."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.question import RELATIONS
from tacit.statistics.smooth import (
    at_distance,
    distance_to_instability,
    local_sensitivity_at,
    smooth_sensitivity,
)

NAMES = ["count", "sum", "mean", "median", "percentile(30)", "percentile(75)", "min", "max"]
NAMES += ["var", "std"]


def maximum(found: Any, beta: Fraction) -> mpmath.mpf:
    """``max_t exp(-beta t) A(t)`` over every t, to 50 digits."""
    with mpmath.workdps(50):
        rate = mpmath.mpf(beta.numerator) / beta.denominator
        best = mpmath.mpf(0)
        for t in range(found.last + 1):
            value = Fraction(found.at(t))
            best = max(best, mpmath.exp(-rate * t) * value.numerator / value.denominator)
        return best


def assert_safe(found: float, truth: mpmath.mpf) -> None:
    assert found >= truth
    assert found <= truth * (1 + mpmath.mpf("1e-6"))


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NAMES)
@examples(0.15)
@given(
    data=st.lists(st.integers(0, 60), min_size=2, max_size=30),
    beta=st.fractions(Fraction(1, 500), 3, max_denominator=500).filter(bool),
)
def test_the_maximum_over_every_distance(
    name: str, relation: Any, data: list[int], beta: Fraction
) -> None:
    found = at_distance(name, data, (0, 60), relation)
    assert_safe(smooth_sensitivity(name, data, (0, 60), beta, relation), maximum(found, beta))


@pytest.mark.few(30)
@pytest.mark.parametrize("relation", ["bounded", "unbounded"])
@pytest.mark.parametrize("kind", ["lognormal", "ties", "two values", "far away", "tiny"])
@pytest.mark.parametrize("q", [50, 90, pytest.param(37, marks=pytest.mark.slow)])
def test_quantiles_of_many_records(q: int, kind: str, relation: Any) -> None:
    rng = np.random.default_rng(7)
    data, bounds = {
        "lognormal": (rng.lognormal(size=81), (0.0, 100.0)),
        "ties": (rng.integers(0, 8, size=80), (0, 20)),
        "two values": (rng.integers(0, 2, size=80), (0, 1)),
        "far away": (1e9 + rng.random(80), (1e9, 1e9 + 2)),
        "tiny": (rng.random(80) * 1e-200, (0.0, 1e-199)),
    }[kind]
    found = at_distance(f"percentile({q})", data, bounds, relation)
    for beta in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)):
        assert_safe(found.smooth(beta), maximum(found, beta))


@pytest.mark.few(2)
@pytest.mark.parametrize("relation", ["unbounded", "add", "remove"])
def test_means_are_safe(relation: Any) -> None:
    rng = np.random.default_rng(0)
    for round_ in range(60):
        size = int(rng.integers(2, 40))
        data = rng.integers(0, 20, size=size) if round_ % 2 else 20 * rng.random(size)
        found = at_distance("mean", data, (0, int(rng.choice([20, 25, 100]))), relation)
        for beta in (Fraction(1, 2), Fraction(1, 50)):
            assert_safe(found.smooth(beta), maximum(found, beta))


@pytest.mark.full
def test_a_maximum_cut_at_200_is_too_small() -> None:
    data = np.linspace(0, 1, 10_001)
    beta = Fraction(1, 1000)
    found = at_distance("median", data, (0, 1), "bounded")
    cut = max(math.exp(-float(beta) * t) * float(found.at(t)) for t in range(201))
    smooth = found.smooth(beta)
    assert cut < smooth / 2
    truth = max(math.exp(-float(beta) * t) * float(found.at(t)) for t in range(0, 3000, 10))
    assert smooth >= truth


MOVED = np.random.default_rng(3).integers(0, 40, size=60)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ["mean", "median", "percentile(25)", "max", "var", "std"])
def test_it_moves_by_no_more_than_beta_between_neighbours(name: str) -> None:
    beta = Fraction(1, 10)
    grows = math.exp(float(beta) + 1e-6)

    def exchanged(move: int) -> Any:
        other = MOVED.copy()
        other[move] = 50 - 5 * move
        return other

    neighbours: dict[Any, Any] = {
        "unbounded": [np.append(MOVED, 5 * move) for move in range(10)],
        "bounded": [exchanged(move) for move in range(10)],
    }
    for relation, others in neighbours.items():
        here = smooth_sensitivity(name, MOVED, (0, 50), beta, relation)
        for other in others:
            there = smooth_sensitivity(name, other, (0, 50), beta, relation)
            assert max(here, there) <= min(here, there) * grows


@pytest.mark.parametrize("relation", RELATIONS)
def test_it_is_above_zero_under_every_relation(relation: Any) -> None:
    assert smooth_sensitivity("median", MOVED, (0, 50), Fraction(1, 10), relation) > 0


def test_it_is_never_zero_where_the_truth_is_not() -> None:
    """All records equal: the median moves only after half of them did, at exp(-100,000)."""
    found = smooth_sensitivity("median", np.full(20_001, 3), (0, 10), 10, "bounded")
    assert found == math.nextafter(0.0, 1.0)
    assert smooth_sensitivity("count", [1, 2], (0, 9), 1, "bounded") == 0


def test_the_scale_of_the_data_is_the_scale_of_the_answer() -> None:
    rng = np.random.default_rng(11)
    data = rng.lognormal(size=1000)
    for relation in ("bounded", "unbounded"):
        one = smooth_sensitivity("median", data, (0, 64), "0.01", relation)  # type: ignore[arg-type]
        big = smooth_sensitivity("median", data * 2**40, (0, 64 * 2**40), "0.01", relation)  # type: ignore[arg-type]
        assert big == pytest.approx(one * 2**40, rel=1e-12)


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NAMES)
@examples(0.15)
@given(
    data=st.lists(st.integers(0, 30), min_size=2, max_size=25),
    bound=st.fractions(Fraction(1, 10), 30, max_denominator=10),
)
def test_distance_to_instability_is_the_first_step_above(
    name: str, relation: Any, data: list[int], bound: Fraction
) -> None:
    found = at_distance(name, data, (0, 30), relation)
    first = next((t for t in range(found.last + 1) if found.exceeds(t, bound)), math.inf)
    assert distance_to_instability(name, data, (0, 30), bound, relation) == first
    if found.exact:
        assert first == next((t for t in range(found.last + 1) if found.at(t) > bound), math.inf)


def test_distance_to_instability_at_the_very_bound() -> None:
    """A(t) equal to the bound is within it."""
    assert local_sensitivity_at("median", [0, 2, 5], (0, 5), 0, "bounded") == 3
    assert distance_to_instability("median", [0, 2, 5], (0, 5), 3, "bounded") == 1
    assert (
        distance_to_instability("median", [0, 2, 5], (0, 5), "2.999999999999999999", "bounded") == 0
    )


def test_functions_over_small_value_sets() -> None:
    def second(records: Any) -> float:
        return float(np.sort(records)[min(1, len(records) - 1)])

    data, values = [1, 1, 4, 4, 9], [1, 4, 9]
    found = at_distance(second, data, None, "bounded", values=values)
    beta = Fraction(1, 3)
    smooth = smooth_sensitivity(second, data, None, beta, "bounded", values=values)
    assert_safe(smooth, maximum(found, beta))
    with pytest.raises(InfeasibleError, match="largest"):
        smooth_sensitivity(second, data, None, beta, values=values)
    known = smooth_sensitivity(second, data, None, beta, values=values, farthest=3, largest=8)
    assert_safe(
        known, maximum(at_distance(second, data, None, values=values, farthest=3, largest=8), beta)
    )


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: smooth_sensitivity("median", [1], (0, 1)), "give beta"),
        (lambda: smooth_sensitivity("median", [1], (0, 1), 0), "beta must be above zero"),
        (lambda: smooth_sensitivity("median", [1], (0, 1), -1), "beta must be above zero"),
        (lambda: smooth_sensitivity("median", [1], (0, 1), math.nan), "finite"),
        (lambda: smooth_sensitivity("median", [1], None, 1), "give bounds"),
        (lambda: distance_to_instability("median", [1], (0, 1)), "give bound"),
        (lambda: distance_to_instability("median", [1], (0, 1), 0), "bound must be above zero"),
        (lambda: distance_to_instability("median", [], (0, 1), 1), "empty"),
        (lambda: distance_to_instability("median", [1], (1, 0), 1), "lower below upper"),
    ],
)
def test_bad_questions_say_what_to_do(ask: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ask()
