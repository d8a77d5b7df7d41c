"""Statistics by name, with a number; answers for every column; what is too large says so."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit as tc
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.ask.registry import lookup
from tacit.statistics.means.trimmed_mean import TrimmedMean
from tacit.statistics.quantiles.interquartile_range import InterquartileRange
from tacit.statistics.variances.standard_deviation import StandardDeviation
from tacit.statistics.variances.variance import Variance

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


def test_ddof_one_is_the_unbiased_variance() -> None:
    found = tc.sensitivity(tc.var(ddof=1), over=tc.Records([0, 1, 5], size=2), relation="bounded")
    x, y = (np.array(side, dtype=float) for side in found.witness)
    assert float(found) == abs(x.var(ddof=1) - y.var(ddof=1)) == 12


def test_a_table_of_several_columns_is_a_dict() -> None:
    over = tc.Records({"a": [1, 2], "b": [3, 7]}, size=1)
    tables = tc.sensitivity_table("mean", over=over, relation="bounded")
    assert {name: table.value for name, table in tables.items()} == {
        "a": Fraction(1),
        "b": Fraction(4),
    }
    with pytest.raises(UsageError, match="over must be Records"):
        tc.sensitivity_table("mean", over=[1, 2])


@pytest.mark.parametrize("domain", [tc.Records(range(300), 150), tc.Values(range(300), 150)])
def test_a_hopeless_search_says_how_large_in_few_words(domain: Any) -> None:
    with pytest.raises(InfeasibleError, match=r"more than 10\^\d+ evaluations") as caught:
        tc.sensitivity(np.ptp, over=domain)
    assert "lower_bound" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_function_with_a_number_beyond_floats_is_named() -> None:
    def huge(x: Any) -> int:
        return 10**400

    with pytest.raises(UsageError, match="huge returned a number too large"):
        tc.sensitivity(huge, over=RECORDS)


@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
def test_histogram_within_bounds_agrees_with_a_search_over_values(relation: Any) -> None:
    for edges in ([0, 4, 8], [0, 2, 4, 6, 8], [0, 8], [-9, -5, 20]):
        histogram = tc.histogram(edges=edges)
        for distance in (0, 1):
            truth = tc.local_sensitivity_at(
                histogram, [1, 5], distance=distance, relation=relation, values=[0, 1, 3, 5, 8]
            )
            found = tc.local_sensitivity_at(histogram, [1, 5], (0, 8), distance, relation)
            assert found == truth
