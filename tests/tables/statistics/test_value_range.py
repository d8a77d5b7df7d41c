"""The range of a column: its loss, estimate, interval and error, and a whole release."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tables.statistics.released import enough
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.release.release import PlanRunner
from tacit.tables.statistics.part import Noise
from tacit.tables.statistics.value_range import ValueRangePart
from tacit.tables.steps import Answers, BoundContributions, table_space

RUNS = 200
KIND = "value_range"
PART = ValueRangePart("x", Grid.for_bounds(0, 40, bits=8))
STEP = float(PART.grid.step)


def on_grid(values: Any) -> np.ndarray:
    """The positions of values from 0 to 40 on the grid."""
    return np.floor(np.asarray(values, dtype=float) / STEP + 0.5).astype(np.int64)


def chosen(values: Any, spent: Noise, runs: int = RUNS) -> list[Any]:
    """The positions that the part releases on a column, many times over: low ones, high ones."""
    counted = np.unique(on_grid(values), return_counts=True)
    weighted = counted[0], counted[1] * spent.one
    space = table_space({"x": "float"}, "p" if spent.rows > 1 else None)
    chain: Any = space >> BoundContributions(spent.rows, spent.rows)
    return [
        (chain >> costs >> choice)(Answers({costs: [weighted] * runs}))
        for costs, choice in PART.chains(runs, (), spent)
    ]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(("rows", "one"), [(1, 1), (5, 1 << 20)])
def test_two_choices_spend_what_was_granted(kind: Any, rows: int, one: int) -> None:
    spent = Noise(kind, Fraction(3, 10), rows, one)
    space = table_space({"x": "float"}, "p" if rows > 1 else None)
    chain: Any = space >> BoundContributions(rows, rows)
    losses = [(chain >> costs >> choice).map(1) for costs, choice in PART.chains(1, (), spent)]
    assert len(losses) == 2
    assert spent.loss * Fraction(999_999, 1_000_000) <= sum(losses) <= spent.loss


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "values",
    [np.linspace(3, 33, 400), [10] * 150 + [30] * 150, [7] * 200, [0, 40], [20]],
    ids=["even", "two values", "one value", "two rows at the bounds", "one row"],
)
def test_the_interval_covers_the_range(kind: Any, values: Any) -> None:
    for one in (1, 4):
        spent = Noise(kind, Fraction(2), 1, one)
        found = PART.estimates(chosen(values, spent), spent)[KIND]
        true = float(np.ptp(on_grid(values))) * STEP
        held = (found.lower <= true) & (true <= found.upper)
        assert held.sum() >= enough(RUNS)
        assert (found.lower == found.value).all()
        assert (found.upper == 40).all()
        assert np.isnan(found.standard_error).all()


def test_both_points_are_within_the_error_in_rank() -> None:
    spent, rows = Noise("laplace", Fraction(2), 1), 2000
    positions = on_grid(np.linspace(0, 40, rows))
    expected = PART.expected_error(KIND, spent, rows)
    low, high = map(np.asarray, chosen(np.linspace(0, 40, rows), spent))
    # the rows at or beyond each point: how far in rank it is from its end
    below = np.searchsorted(positions, low, "left")
    above = rows - np.searchsorted(positions, high, "right")
    assert (np.maximum(below, above) <= expected).sum() >= enough(RUNS)

    # The bound of McSherry and Talwar for each point: epsilon 1, and a row moves costs by 1.
    choice: Any = PART.chains(1, (), spent)[0][1]
    slack = expected - abs(choice.target)
    missed = 2 * (PART.grid.cells + 1) * math.exp(-slack / 2)
    assert missed <= 0.05 < missed * math.exp(1)


def test_with_many_rows_the_answer_is_near() -> None:
    spent = Noise("laplace", Fraction(4), 1)
    found = PART.estimates(chosen(np.linspace(5, 35, 20_001), spent), spent)[KIND]
    # A point may still be among the candidates outside of the data, within the level.
    assert (np.abs(found.value - 30) < 0.5).sum() >= enough(RUNS)


def test_points_that_crossed_and_groups_without_rows_have_no_range_below_zero() -> None:
    spent = Noise("laplace", Fraction(1), 1)
    found = PART.estimates([[9, 0], [5, PART.grid.cells]], spent)[KIND].coherent()
    assert found.value.tolist() == [0, 40]
    assert found.lower.tolist() == [0, 40]
    empty = PART.estimates(chosen([], spent), spent)[KIND]
    assert empty.value.min() >= 0


def test_what_cannot_be_asked() -> None:
    with pytest.raises(UsageError, match="both bounds"):
        tc.value_range("x", 0)
    with pytest.raises(UsageError, match="one method"):
        tc.value_range("x", 0, 1, method="smooth")
    with pytest.raises(UsageError, match="named by text"):
        tc.value_range(3, 0, 1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"tc\.min and tc\.max"):
        tc.sensitivity(tc.value_range("x", 0, 1), over=tc.Values([0, 1], size=2))


@pytest.mark.parametrize(
    ("budget", "price"),
    [(tc.epsilon(20), {"epsilon": 6}), (tc.rho(20), {"rho": 2})],
    ids=["epsilon", "rho"],
)
def test_by_public_groups_of_people(budget: Any, price: Any) -> None:
    rows = itertools.product(range(1500), range(2))
    table = pd.DataFrame([(p, 20 + p % 61, "abc"[p % 3]) for p, _ in rows])
    table.columns = pd.Index(["person", "age", "site"])
    unit = tc.unit("person", rows=2)
    with tc.Session(table, unit=unit, budget=budget, name="people") as session:
        question = session.group_by("site", keys=["a", "b", "c", "none"]).agg(
            spread=tc.value_range("age", 20, 80)
        )
        assert question.preview(**price).units["spread"] == "rows in rank"
        answer = question.release(**price)
        left = session.remaining
        assert question.release(**price).value("spread", "a") == answer.value("spread", "a")
        assert session.remaining == left
    value: Any = answer.value("spread", "a")
    assert 50 < value <= 60  # below by chance less than e^-40: each year has 16 rows or more
    assert answer.interval("spread", "a") == (value, 60)
    checked = answer.certificate.verify()
    assert checked, str(checked)
    assert "the range of age" in answer.certificate.to_html()


def test_a_target_is_met_without_reading_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("no row is read for a target")

    monkeypatch.setattr(PlanRunner, "collect", refuse)
    with tc.Session(
        pd.DataFrame({"x": [1.5]}), unit=tc.one_row_each, budget=tc.epsilon(100), name="t"
    ) as session:
        question = session.agg(spread=tc.value_range("x", 0, 100))
        price = question.epsilon_for({"spread": 60})
        assert question.preview(price, confidence="0.95").intervals["spread"][0] <= 60
