"""Quantiles of a column: how they are asked, where they lie, and the interval beside them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.answers.base import Noise
from tacit.tables.answers.quantiles import QuantilePart

DATA = list(range(101)) * 10


def released(aggregate: Any, data: Any = None, epsilon: Any = 10**4) -> tuple[Any, Any, Any]:
    session = tc.Session(
        pd.DataFrame({"x": DATA if data is None else data}, dtype="int64"),
        unit=tc.one_row_each,
        budget=tc.epsilon(epsilon),
    )
    answer = session.agg(q=aggregate).release(epsilon=epsilon)
    return answer.value("q"), *answer.interval("q")


@pytest.mark.parametrize(
    ("aggregate", "truth"),
    [
        (tc.median("x", 0, 100), 50),
        (tc.percentile("x", 25, 0, 100), 25),
        (tc.percentile("x", "99.9", 0, 100), 100),
        (tc.min("x", 0, 100), 0),
        (tc.max("x", 0, 100), 100),
    ],
    ids=str,
)
def test_with_much_budget_a_quantile_is_the_columns(aggregate: Any, truth: int) -> None:
    value, low, high = released(aggregate)
    assert value == pytest.approx(truth, abs=1.01)
    assert 0 <= low <= value <= high <= 100


@pytest.mark.parametrize("data", [[], [None] * 3, [-500, 900]])
def test_any_data_have_a_quantile_within_the_bounds(data: Any) -> None:
    session = tc.Session(
        pd.DataFrame({"x": pd.array(data, dtype="Int64")}),
        unit=tc.one_row_each,
        budget=tc.epsilon(1),
    )
    answer = session.agg(q=tc.median("x", 0, 100)).release(epsilon=1)
    low, high = answer.interval("q")
    assert 0 <= low <= answer.value("q") <= high <= 100
    assert answer.column("q")["standard_error"] == [None]


@pytest.mark.parametrize(("q", "meant"), [(0.5, "the median, 50"), ("0.95", "95")])
def test_a_percentile_that_looks_like_a_share_warns_and_is_what_it_says(q: Any, meant: str) -> None:
    with pytest.warns(UserWarning, match=f"from 0 to 1; did you mean {meant}?"):
        asked = tc.percentile("x", q, 0, 100)
    assert asked.q == Fraction(str(q))
    plain = tc.percentile("x", Fraction(str(q)), 0, 100)
    assert plain == asked
    assert tc.percentile(q).q == asked.q


def part(q: Any, kind: str = "percentile") -> QuantilePart:
    return QuantilePart("x", Grid.for_bounds(0, 100, whole=True), kind, Fraction(q))


def test_the_point_takes_half_of_the_loss_and_each_end_a_quarter() -> None:
    chains = part("1/2").chains(1, (), Noise("laplace", Fraction(1), rows=1))
    rates = [1 / Fraction(choice.scale) for _, choice in chains]  # type: ignore[attr-defined]
    assert [rate / sum(rates) for rate in rates] == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]


@pytest.mark.parametrize(("q", "side"), [(0, 0), (1, 100)])
def test_an_extreme_is_one_choice_whose_other_end_is_the_bound(q: int, side: int) -> None:
    noise = Noise("laplace", Fraction(1), rows=1)
    extreme = part(q, "min" if q == 0 else "max")
    assert len(extreme.chains(1, (), noise)) == 1
    found = extreme.estimates([[40]], noise)["median"]
    ends = (float(found.lower[0]), float(found.upper[0]))
    assert ends[0 if q == 0 else 1] == side


def test_more_loss_means_less_error_in_rows() -> None:
    errors = [
        part("1/2").expected_error("median", Noise("laplace", Fraction(e), rows=1), 1000)
        for e in (1, 2, 8)
    ]
    assert errors == sorted(errors, reverse=True)
    noise = Noise("laplace", Fraction(1), rows=1)
    assert part("1/2").half_width("median", noise, 1000, 0.99) > errors[0] > 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda: tc.percentile("x", 101, 0, 9),
        lambda: tc.percentile("x", -1, 0, 9),
        lambda: tc.percentile("x", "much", 0, 9),
        lambda: tc.median("x", 9, 0),
        lambda: tc.min("x", 0, 9, method="smooth"),
        lambda: tc.median("x", 0, 9, method="smoth"),
    ],
)
def test_what_is_no_quantile_is_refused(ask: Any) -> None:
    with pytest.raises((UsageError, TypeError)):
        ask()


def test_a_share_is_written_as_people_write_it() -> None:
    for q, ratio in ((0.9, "9/10"), (1 / 3, "1/3"), (0.123456789, "123456789/1000000000")):
        with pytest.warns(UserWarning, match=f"of a percent write '{ratio}'"):
            tc.percentile("x", q)
        assert float(tc.percentile("x", ratio).q) == q
