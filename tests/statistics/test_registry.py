"""Statistics by name, with a number; a wrong name is told what is right."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.means import TrimmedMean
from tacit.statistics.quantiles import InterquartileRange
from tacit.statistics.variances import StandardDeviation, Variance

RECORDS = tc.Records([1, 2, 2, 5, 9, 40], size=3)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("var(ddof=1)", Variance(1)),
        ("var(0)", Variance(0)),
        ("std:1", StandardDeviation(1)),
        ("std (1)", StandardDeviation(1)),
        ("interquartile_range", InterquartileRange()),
        ("iqr", InterquartileRange()),
        ("trimmed_mean", TrimmedMean()),
        ("trimmed_mean(share=1/4)", TrimmedMean(Fraction(1, 4))),
        ("trimmed_mean:0.2", TrimmedMean(Fraction(1, 5))),
        (tc.var(ddof=1), Variance(1)),
        (tc.std(ddof=1), StandardDeviation(1)),
        (tc.var(), Variance(0)),
    ],
)
def test_a_name_with_a_number_is_a_statistic(asked: Any, meant: Any) -> None:
    assert lookup(asked) == meant


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("var(2)", "ddof must be 0 or 1"),
        ("var(0.5)", "whole number"),
        ("var(x)", "ddof must be a number"),
        ("std(share=1)", "std takes ddof"),
        ("mean(3)", "did you mean 'mean'"),
        ("trimmed_mean(0.5)", "below 1/2"),
        ("histogram", "unknown"),
    ],
)
def test_a_wrong_name_is_refused_with_what_is_right(asked: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        tc.sensitivity(asked, over=RECORDS)
    assert says in str(caught.value)


def test_ddof_is_for_sensitivities_only() -> None:
    with pytest.raises(UsageError, match="divided by n"):
        tc.var("age", 0, 100, ddof=1)
    with pytest.raises(UsageError, match="0 or 1"):
        tc.std(ddof=2)
    with pytest.raises(UsageError, match="question to a table"):
        _ = tc.Space(tc.Vector(float), tc.SymmetricDistance()) >> tc.clamp(0, 1) >> tc.var(ddof=1)
