"""Several percentiles of a column: the loss, the answers, the coverage, and whole releases."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tables.answers.released import enough
from tacit.cli import run
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.answers.base import Noise, Part
from tacit.tables.answers.percentiles import PercentilesPart
from tacit.tables.answers.quantiles import QuantilePart
from tacit.tables.steps import Answers, BoundContributions, table_space

RUNS = 200
GRID = Grid.for_bounds(0, 40, bits=8)


def part(several: int = 3) -> PercentilesPart:
    shares = tuple(Fraction(i, several + 1) for i in range(1, several + 1))
    return PercentilesPart("x", GRID, shares)


def on_grid(values: Any) -> Any:
    return np.floor(np.asarray(values, dtype=float) / float(GRID.step) + 0.5).astype(np.int64)


def released(asked: Part, values: Any, spent: Noise) -> Any:
    """What a part releases on a column, many times over."""
    chain = table_space({"x": "float"}, None) >> BoundContributions(1, 1)
    cells = np.unique(on_grid(values), return_counts=True)
    found = [
        (chain >> end >> noise)(Answers({end: [cells] * RUNS}))
        for end, noise in asked.chains(RUNS, (), spent)
    ]
    return next(iter(asked.estimates(found, spent).values()))


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("several", [1, 2, 3, 9, pytest.param(99, marks=pytest.mark.full)])
def test_they_spend_what_was_granted(kind: Any, several: int) -> None:
    for rows, one in ((1, 1), (5, 1 << 20)):
        spent = Noise(kind, Fraction(3, 10), rows, one)
        chain = table_space({"x": "float"}, "p" if rows > 1 else None)
        chain = chain >> BoundContributions(rows, rows)
        losses = [(chain >> a >> b).map(1) for a, b in part(several).chains(1, (), spent)]
        assert spent.loss * Fraction(999_999, 1_000_000) <= sum(losses) <= spent.loss


SHAPES = {
    "even": np.linspace(3, 33, 400),
    "two values": [10] * 150 + [30] * 151,
    "one value": [7] * 200,
    "four rows": [0, 12, 13, 40],
    "skewed": np.random.default_rng(7).gamma(1, 4, 900).clip(0, 40),
    "no rows": [],
}


@pytest.mark.full
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("several", [1, 3, 7])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_interval_holds_as_often_as_it_says(kind: Any, several: int, shape: str) -> None:
    asked, values = part(several), SHAPES[shape]
    found = released(asked, values, Noise(kind, Fraction(2), 1))
    assert (np.diff(found.value) >= 0).all()
    points = np.sort(on_grid(values)) * float(GRID.step)
    for j, share in enumerate(map(float, asked.shares)):
        true = np.quantile(points, share) if len(points) else 0.0
        held = (found.lower[:, j] <= true) & (true <= found.upper[:, j])
        if len(points):
            assert held.sum() >= enough(RUNS), (share, held.mean())
    wide = found.coherent()
    assert (wide.lower >= 0).all()
    assert (wide.upper <= 40).all()
    assert np.isnan(found.standard_error).all()


@pytest.mark.full
def test_together_they_are_nearer_than_one_by_one() -> None:
    values, spent = np.random.default_rng(3).uniform(0, 40, 2000), Noise("laplace", Fraction(1), 1)
    points = np.sort(on_grid(values))
    asked = part(9)
    together = released(asked, values, spent)
    alone = []
    for share in asked.shares:
        one = QuantilePart("x", GRID, "percentile", share)
        alone.append(released(one, values, spent.split(Fraction(1, 9))))

    def off(value: Any, share: Fraction) -> float:
        rank = np.searchsorted(points * float(GRID.step), value)
        return float(np.abs(rank - float(share) * len(points)).mean())

    shared = np.mean([off(together.value[:, j], q) for j, q in enumerate(asked.shares)])
    apart = np.mean([off(each.value, q) for each, q in zip(alone, asked.shares, strict=True)])
    assert shared < 0.8 * apart
    width = np.mean([np.mean(each.upper - each.lower) for each in alone])
    assert np.mean(together.upper - together.lower) < 0.8 * width


def test_with_much_budget_they_are_the_columns() -> None:
    values = list(range(101)) * 10
    with session(values, 10**6) as opened:
        answer = opened.agg(q=tc.percentiles("x", [1, 25, 50, "99.9"], 0, 100)).release(
            epsilon=10**5
        )
    column = answer.column("q")
    assert column["bins"] == ["1", "25", "50", "99.9"]
    assert np.abs(np.array(column["value"][0]) - [1, 25, 50, 100]).max() <= 1.01


def session(values: Any, epsilon: Any) -> tc.Session:
    table = pd.DataFrame({"x": pd.array(values, dtype="Int64")})
    return tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(epsilon), ledger=tc.in_memory)


@pytest.mark.parametrize("values", [[], [None] * 3, [-500, 900]])
def test_any_data_have_percentiles_within_the_bounds(values: Any) -> None:
    with session(values, 1) as opened:
        answer = opened.agg(q=tc.percentiles("x", [10, 90], 0, 100)).release(epsilon=1)
    column = answer.column("q")
    for side in ("value", "low", "high"):
        assert all(0 <= each <= 100 for each in column[side][0])


def test_more_loss_means_shorter_intervals() -> None:
    widths = [
        part().half_width("percentiles", Noise("laplace", Fraction(e), 1), 1000, 0.95)
        for e in (1, 2, 8)
    ]
    assert widths == sorted(widths, reverse=True)
    assert part().half_width("percentiles", Noise("laplace", Fraction(1), 1), 9, 0.99) > widths[0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: tc.percentiles("x", [75, 25], 0, 9),
        lambda: tc.percentiles("x", [], 0, 9),
        lambda: tc.percentiles("x", [0, 50], 0, 9),
        lambda: tc.percentiles("x", [50, 100], 0, 9),
        lambda: tc.percentiles("x", [50, 50], 0, 9),
        lambda: tc.percentiles("x", "50", 0, 9),
        lambda: tc.percentiles("x", 50, 0, 9),
        lambda: tc.percentiles(3, [50], 0, 9),
        lambda: tc.percentiles("x", [50], 9, 0),
        lambda: tc.percentiles("x", [50], 0, 9, method="smooth"),
    ],
)
def test_what_is_no_list_of_percentiles_is_refused(ask: Any) -> None:
    with pytest.raises((UsageError, TypeError)):
        ask()


def test_shares_in_place_of_percentages_warn() -> None:
    with pytest.warns(UserWarning, match="did you mean 25, 50, 75"):
        tc.percentiles("x", ["0.25", "0.5", "0.75"], 0, 9)


@pytest.mark.full
@pytest.mark.parametrize(
    ("budget", "price"),
    [(tc.epsilon(20), {"epsilon": 6}), (tc.rho(20), {"rho": 2})],
    ids=["epsilon", "rho"],
)
def test_by_groups_of_people_on_the_command_line_and_in_a_plan(
    tmp_path: Any, capsys: Any, budget: Any, price: Any
) -> None:
    table = str(tmp_path / "people.csv")
    rows = [f"{i // 2},{i % 80},{'abc'[i % 3]}" for i in range(3000)]
    with open(table, "w", encoding="utf-8") as out:
        out.write("person,age,site\n" + "\n".join(rows) + "\n")
    ledger = str(tmp_path / "a.ledger")
    asked = tc.percentiles("age", [25, 50, 75], 0, 100)
    protects = tc.unit("person", rows=2)
    with tc.Session(table, unit=protects, budget=budget, ledger=ledger) as opened:
        question = opened.group_by("site", keys=["a", "b", "nobody"]).agg(
            percentiles_age=asked, n=tc.count()
        )
        assert question.preview(**price).units["percentiles_age"] == "rows in rank"
        answer = question.release(**price)
        left = opened.remaining
        assert question.release(**price).replayed
        assert opened.remaining == left
    values = answer.column("percentiles_age")["value"][0]
    assert np.abs(np.array(values) - [20, 40, 60]).max() < 10
    checked = answer.certificate.verify()
    assert checked, str(checked)
    assert "the percentiles 25, 50, 75 of age" in answer.certificate.to_html()
    body = answer.certificate.body
    first, *others = body["answer"]["columns"]
    forged = {**first, "value": [[*first["value"][0][:2], 99.0], *first["value"][1:]]}
    changed = {**body, "answer": {**body["answer"], "columns": [forged, *others]}}
    assert not tc.Certificate(changed).verify()
    plan = tmp_path / "plan.toml"
    loss = "\n".join(f"{name} = {value}" for name, value in price.items())
    plan.write_text(
        f"""
        source = {{ path = "{table}" }}
        budget = {{ ledger = "{ledger}" }}
        [[question]]
        by = ["site"]
        keys = ["a", "b", "nobody"]
        {loss}
        [question.answers.percentiles_age]
        statistic = "percentiles"
        column = "age"
        percentages = [25, 50, 75]
        lower = 0
        upper = 100
        [question.answers.n]
        statistic = "count"
        """,
        encoding="utf-8",
    )
    status = run(["release", "--plan", str(plan), "--json"])
    shown = capsys.readouterr()
    assert status == 0, shown.err
    assert json.loads(shown.out)["releases"][0]["replayed"]
