"""Epsilon from a disclosure risk: reference values, brute force over worlds, safety of rounding."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.examples import examples
from tacit.accounting.choose_epsilon import EpsilonChoice, choose_epsilon
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.domains import Records
from tacit.statistics.global_sensitivity import lookup, sensitivity


def posterior(values: list[float], scale: float, epsilon: Any, output: float) -> list[Any]:
    """The posterior of every world after an output, to 40 digits."""
    with mpmath.workdps(40):
        weights = [mpmath.exp(-mpmath.mpf(epsilon) * abs(output - v) / scale) for v in values]
        total = mpmath.fsum(weights)
        return [w / total for w in weights]


@pytest.mark.parametrize(
    ("population", "statistic", "bound", "tight"),
    [
        ([1, 2, 3, 4], "mean", 0.337888, 0.525150),
        ([1, 2, 3, 10], "mean", 0.382939, 0.431720),
        ([1, 2, 3, 4], "median", 0.405465, math.log(2)),
        ([1, 2, 3, 10], "median", 1.621860, 4 * math.log(2)),
    ],
)
def test_reference_values(
    population: list[int], statistic: str, bound: float, tight: float
) -> None:
    choice = choose_epsilon(statistic, population, size=3, risk="1/3")
    assert float(choice.bound) == pytest.approx(bound, abs=5e-7)
    assert float(choice.tight) == pytest.approx(tight, abs=5e-7)
    assert choice.worlds == 4


@pytest.mark.few(3)
@pytest.mark.parametrize("statistic", ["mean", "median", "sum", "std", "max", np.ptp])
@examples(0.2)
@given(
    population=st.lists(st.integers(0, 12), min_size=3, max_size=6),
    size=st.integers(1, 5),
    risk=st.fractions("0.05", "0.9", max_denominator=20),
)
def test_no_output_exceeds_the_risk(
    statistic: Any, population: list[int], size: int, risk: Fraction
) -> None:
    size = min(size, len(population) - 1)
    worlds = list(itertools.combinations(population, size))
    assume(risk * len(worlds) > 1)
    asked = lookup(statistic)
    values = [float(asked.exact([Fraction(v) for v in sorted(w)])) for w in worlds]  # type: ignore[arg-type]
    choice = choose_epsilon(statistic, population, size, risk)
    assert choice.worlds == len(worlds) == sum(count for _, count in choice.values)
    scale = float(sensitivity(statistic, over=Records(population, size)).value)
    if choice.tight == math.inf:
        counts = [values.count(v) for v in values]
        assert min(counts) * risk >= 1
        return
    assert choice.bound <= choice.tight
    outputs = [*values, *np.linspace(min(values) - 1, max(values) + 1, 25)]
    for epsilon in (float(choice.bound), float(choice.tight)):
        worst = max(max(posterior(values, scale, epsilon, o)) for o in outputs)
        assert worst <= float(risk) + 1e-12
    over = float(choice.tight) * (1 + 1e-9)
    assert max(max(posterior(values, scale, over, o)) for o in values) > float(risk)


def test_rounding_is_toward_safety() -> None:
    """``ln 2`` and ``4 ln 2`` are the truth; what is returned is just below."""
    with mpmath.workdps(60):
        for population, times in (([1, 2, 3, 4], 1), ([1, 2, 3, 10], 4)):
            tight = choose_epsilon("median", population, 3, "1/3").tight
            assert isinstance(tight, Fraction)
            truth = times * mpmath.log(2)
            found = mpmath.mpf(tight.numerator) / tight.denominator
            assert truth * (1 - mpmath.mpf("1e-12")) < found <= truth


def test_all_worlds_count_not_only_some() -> None:
    """Over the worlds that leave out one given record each, the median would allow more."""
    choice = choose_epsilon("median", [1, 2, 3, 10, 11], 3, "1/4")
    assert choice.worlds == 10
    assert choice.posterior(choice.tight) == pytest.approx(0.25, rel=1e-9)


def test_equal_values_are_different_people() -> None:
    choice = choose_epsilon("sum", [1, 1, 1, 5], 2, "1/2")
    assert sorted(choice.values) == [(Fraction(2), 3), (Fraction(6), 3)]
    assert choice.tight == math.inf  # three worlds share every value
    assert choice.bound < math.inf
    assert "any" in str(choice)
    assert choose_epsilon("mean", [3, 3, 3], 2, "1/2").bound == math.inf


def test_the_posterior_rises_with_epsilon() -> None:
    choice = choose_epsilon("mean", [1, 4, 6, 9], 2, "1/2")
    found = [choice.posterior(e) for e in ("0.001", "0.1", 1, 5, 1000)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(1 / 6, rel=1e-3)
    assert found[-1] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"risk": 0}, "above 0 and below 1"),
        ({"risk": 1}, "above 0 and below 1"),
        ({"risk": "1/4"}, "above 1/4"),
        ({"risk": 0.1}, "above 1/4"),
        ({"size": 4}, "nothing to hide"),
        ({"size": 5}, "larger than the population"),
        ({"size": 0}, "at least 1"),
        ({"statistic": "mediann"}, "did you mean"),
        ({"population": []}, "empty"),
        ({"population": [1, math.nan]}, "finite"),
    ],
)
def test_bad_questions_say_what_to_do(change: dict[str, Any], message: str) -> None:
    question = {"statistic": "median", "population": [1, 2, 3, 4], "size": 3, "risk": "1/3"}
    with pytest.raises(UsageError, match=message):
        choose_epsilon(**{**question, **change})


def test_too_many_worlds_are_refused_before_they_are_made() -> None:
    with pytest.raises(InfeasibleError, match="fewer records"):
        choose_epsilon("mean", range(40), 20, "1/2")
    choice = choose_epsilon("median", [0] * 500 + [1] * 500, 100, "1/1000")
    assert isinstance(choice, EpsilonChoice)
    assert choice.worlds == math.comb(1000, 100)
