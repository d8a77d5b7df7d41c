"""Several percentiles of a column: the loss, the answers, the coverage, and whole releases."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from tables.statistics.released import enough
from tacit.cli import run
from tacit.core import Space, SymmetricDistance, Vector, step_from
from tacit.errors import MismatchError, UsageError
from tacit.expressions.grid import Grid
from tacit.tables.statistics.counted_quantiles import CellTables, CountedCells, SumOfCountChanges
from tacit.tables.statistics.part import Noise, Part
from tacit.tables.statistics.percentiles import (
    PIECES,
    ChoiceTask,
    ChoosePercentiles,
    CountedGroup,
    PercentilesPart,
    costs_of_cells,
    costs_of_pieces,
    halves,
    levels,
)
from tacit.tables.statistics.quantiles import QuantilePart
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


# The costs of several percentiles by their definition, and what a row moves in all parts.


CELLS = 9
TOP = (CELLS + 1) * PIECES

rows = st.lists(st.integers(0, CELLS), max_size=12)
places = st.integers(0, TOP)
shares = st.fractions(0, 1, max_denominator=12)
targets = st.integers(-4, 4).map(lambda t: t * PIECES)


def counted(values: list[int]) -> tuple[Any, Any]:
    return np.unique(np.array(values, dtype=np.int64), return_counts=True)


def group(values: list[int]) -> CountedGroup:
    return CountedGroup.of(*counted(values), CELLS)


def pieces(values: list[int], first: int, last: int) -> dict[int, int]:
    """How many pieces of rows each cell has in a part, by definition."""
    found = dict.fromkeys(range(CELLS + 1), 0)
    for value in values:
        inside = min((value + 1) * PIECES, last) - max(value * PIECES, first)
        found[value] += max(inside, 0)
    return found


def stretch(q: Fraction) -> int:
    return max(q.numerator, q.denominator - q.numerator)


def spread(task: ChoiceTask) -> dict[int, int]:
    runs = costs_of_cells(task)
    return {
        c: int(cost)
        for start, n, cost in zip(*runs, strict=True)
        for c in range(int(start), int(start + n))
    }


@given(rows, places, places, shares, targets)
@examples(3)
def test_costs_of_cells_are_those_of_the_definition(
    values: list[int], one: int, other: int, q: Fraction, target: int
) -> None:
    first, last = sorted((one, other))
    found = spread(ChoiceTask(group(values), first, last, q, target))
    held, (a, b) = pieces(values, first, last), (q.numerator, q.denominator)
    lowest = min(first // PIECES, CELLS)
    assert list(found) == list(range(lowest, max(lowest, (last - 1) // PIECES) + 1))
    for c, cost in found.items():
        below = sum(n for v, n in held.items() if v < c)
        above = sum(n for v, n in held.items() if v > c)
        low = (b - a) * below - a * (sum(held.values()) - below)
        high = (b - a) * (sum(held.values()) - above) - a * above
        far = [low - target, target - high]
        if target > 0 and c == max(found):
            far = far[:1]
        if target < 0 and c == lowest:
            far = far[1:]
        assert cost == max(0, *far)


@given(rows, st.integers(0, CELLS), st.lists(places, max_size=5), shares, targets)
@examples(3)
def test_a_row_moves_the_costs_of_all_parts_together_by_its_pieces(
    values: list[int], row: int, inner: list[int], q: Fraction, target: int
) -> None:
    """The map of a level: what a row moves in the parts adds up to what it moves in one choice."""
    moved = {"cells": Fraction(0), "pieces": Fraction(0)}
    for first, last in pairwise([0, *sorted(inner), TOP]):
        tasks = [ChoiceTask(group(v), first, last, q, target) for v in (values, [*values, row])]
        one, two = map(spread, tasks)
        assert list(one) == list(two)
        far = max(abs(one[c] - two[c]) for c in one)
        moved["cells"] += Fraction(far, stretch(q))
        within = []
        for cell in one:
            left, right = (costs_of_pieces(task, cell) for task in tasks)
            assert (left.starts == right.starts).all()
            assert ((left.starts >= first) & (left.starts <= last)).all()
            within.append(int(np.abs(left.costs - right.costs).max()))
        moved["pieces"] += Fraction(max(within), stretch(q))
    assert max(moved.values()) <= PIECES


@given(rows.filter(bool), shares)
@examples(1)
def test_a_border_of_cost_zero_divides_the_rows_in_that_share(
    values: list[int], q: Fraction
) -> None:
    task = ChoiceTask(group(values), 0, TOP, q)
    for cell in range(CELLS + 1):
        runs = costs_of_pieces(task, cell)
        for border, cost in zip(runs.starts.tolist(), runs.costs.tolist(), strict=True):
            left = sum(min(max(border - v * PIECES, 0), PIECES) for v in values)
            assert cost == abs(left * q.denominator - q.numerator * len(values) * PIECES)


@pytest.mark.parametrize("m", range(1, 40))
def test_the_parts_of_a_level_share_no_rows_and_all_are_chosen(m: int) -> None:
    made = list(halves(0, m + 1))
    assert len(made) == levels(m) <= np.ceil(np.log2(m + 1))
    assert sorted(mid for level in made for _, mid, _ in level) == list(range(1, m + 1))
    for level in made:
        parts = sorted((low, high) for low, _, high in level)
        assert all(a[1] <= b[0] for a, b in pairwise(parts))


def test_counts_beyond_64_bits_stay_exact() -> None:
    at, many = np.array([2, 7]), np.array([1 << 58, 1 << 58])
    wide = CountedGroup.of(at, many, CELLS)
    task = ChoiceTask(wide, 0, TOP, Fraction(3333, 10_000))
    cost = spread(task)
    assert min(cost, key=lambda c: cost[c]) == 2
    assert min(cost.values()) == 0
    half = costs_of_pieces(ChoiceTask(wide, 0, TOP, Fraction(1, 4)), 2)
    assert int(half.starts[int(np.argmin(half.costs))]) == 2 * PIECES + PIECES // 2


# Several percentiles: the map, the draws and the counts.


def choice(several: int = 3, measure: str = "PureDP", **scales: Any) -> ChoosePercentiles:
    qs = tuple(str(Fraction(i, several + 1)) for i in range(1, several + 1))
    given_ = {"points": 8, "pieces": 40, "ends": 16, "counts": 5} | scales
    return ChoosePercentiles(qs, **given_, reach=2, measure=measure)


def test_the_map_adds_up_every_choice_and_the_counts() -> None:
    space = Space(CellTables(2, CELLS), SumOfCountChanges())
    pure = (space >> choice()).map(1)
    assert pure == 2 * 2 * (Fraction(1, 8) + Fraction(1, 40)) + 2 * 2 * Fraction(1, 16) + Fraction(
        1, 5
    )
    one = (space >> choice(1)).map(3)
    assert one == 3 * (
        2 * (Fraction(1, 8) + Fraction(1, 40)) + 2 * Fraction(1, 16) + Fraction(1, 5)
    )
    rho = (space >> choice(7, "ZeroConcentratedDP")).map(1)
    squares = 3 * (Fraction(1, 64) + Fraction(1, 1600)) + 2 * Fraction(1, 256) + Fraction(1, 25)
    assert rho == squares / 2


def test_the_map_of_the_counts_is_attained() -> None:
    chain = table_space({"x": "float", "p": "integer"}, "p") >> BoundContributions(3, 3)
    end = CountedCells("x", "0", "9", CELLS, size=28, width=28, one=8)
    assert (chain >> end).map(1) == 24
    one, two = [counted([1, 1, 2])], [counted([])]
    eight = [(at, 8 * n) for at, n in one]
    assert SumOfCountChanges().distance(eight, two) == 24
    for step in (end, choice()):
        assert step_from(step.describe()).describe() == step.describe()


def percentile_choice_released(
    values: list[int], step: ChoosePercentiles, runs: int
) -> np.ndarray[Any, Any]:
    width = 9 * len(step.qs) + 1
    end = CountedCells("x", "0", "9", CELLS, size=width * runs, width=width)
    chain = table_space({"x": "float"}, None) >> BoundContributions(1, 1) >> end >> step
    return np.array(chain(Answers({end: [counted(values)] * runs}))).reshape(runs, width)


def test_points_rise_and_counts_are_of_the_rows_between() -> None:
    tiny = {each: Fraction(1, 1000) for each in ("points", "pieces", "ends", "counts")}
    values = [0] * 4 + [1] * 2 + [5] * 60 + [7] * 10 + [9] * 4
    found = percentile_choice_released(values, choice(3, **tiny), 20)
    assert (found[:, :3] == 5).all()  # all quartiles are of one value
    for row in found:
        cells, counts = np.sort(row[:9]), row[9:]
        assert counts.sum() == len(values)
        for i, c in enumerate(cells):
            first = int(np.searchsorted(cells, c))
            assert counts[: 2 * first + 1].sum() == sum(v < c for v in values)
            assert counts[: 2 * i + 2].sum() == sum(v <= c for v in values)


@pytest.mark.parametrize("values", [[], [3], [9] * 5])
def test_any_rows_have_rising_points_on_the_grid(values: list[int]) -> None:
    points = percentile_choice_released(values, choice(5), 40)[:, :5]
    assert (np.diff(points) >= 0).all()
    assert points.min() >= 0
    assert points.max() <= CELLS


@pytest.mark.full
def test_the_first_choice_has_the_law_of_the_exponential_mechanism() -> None:
    values, runs = [1, 1, 2, 6, 8], 6000
    step = choice(1, points=4)
    held = CountedGroup.of(*counted(values), CELLS)
    runs_of = costs_of_cells(ChoiceTask(held, 0, TOP, Fraction(1, 2)))
    weights = np.exp(-np.repeat(runs_of.costs, runs_of.lengths) / (4 * PIECES))
    drawn = np.bincount(percentile_choice_released(values, step, runs)[:, 0], minlength=CELLS + 1)
    expected = runs * weights / weights.sum()
    assert ((drawn - expected) ** 2 / expected).sum() < 52  # chi-square, 9 degrees: p < 1e-7


def test_bad_input_is_refused_when_the_chain_is_built() -> None:
    scales = {"points": 1, "pieces": 1, "ends": 1, "counts": 1, "reach": 1}
    for qs in ((), ("1/2", "1/4"), ("0",), ("1",), ("1/2", "1/2")):
        with pytest.raises(UsageError, match="rise strictly"):
            ChoosePercentiles(qs, **scales)
    for scale in ("points", "pieces", "ends", "counts"):
        with pytest.raises(UsageError, match="above zero"):
            ChoosePercentiles(("1/2",), **{**scales, scale: 0})
    with pytest.raises(MismatchError, match="counts of cells"):
        table_space({"x": "float"}, None) >> choice()
    with pytest.raises(MismatchError):
        Space(Vector(float), SymmetricDistance()) >> CountedCells("x", "0", "1", 8, size=1)
