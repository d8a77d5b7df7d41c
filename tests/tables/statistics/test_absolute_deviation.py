"""The median absolute deviation of a table: loss, folding, coverage, a whole release."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.core import Space
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.statistics.absolute_deviation import (
    AbsoluteDeviationPart,
    CountNearDeviation,
    _folded,
)
from tacit.tables.statistics.counted_quantiles import CellTables, SumOfCountChanges
from tacit.tables.statistics.part import Noise

from .released import enough

GRID = Grid.for_bounds(0, 40, bits=16)
WHOLE = Grid.for_bounds(0, 400, bits=16, whole=True)
NOISES = {
    "laplace": Noise("laplace", Fraction(1), 1),
    "laplace, people": Noise("laplace", Fraction(1, 2), 3, 4),
    "gaussian": Noise("gaussian", Fraction(1, 2), 1),
}


def part(grid: Grid = GRID) -> AbsoluteDeviationPart:
    return AbsoluteDeviationPart("x", grid, (Fraction(1, 2),), ("mad",))


def on_grid(values: Any, grid: Grid = GRID) -> np.ndarray:
    positions = np.floor(np.asarray(values, dtype=float) / float(grid.step) + 0.5)
    return np.clip(positions, 0, grid.cells).astype(np.int64)


def released(values: Any, spent: Noise, runs: int, grid: Grid = GRID) -> Any:
    ((_, last),) = part(grid).chains(runs, (), spent)
    at, count = np.unique(on_grid(values, grid), return_counts=True)
    space = Space(CellTables(runs, grid.cells), SumOfCountChanges())
    found = (space >> last)([(at, count * spent.one)] * runs)
    return part(grid).estimates([found], spent)["mad"]


def even(rows: int) -> np.ndarray:
    return (np.arange(rows) + 0.5) / rows * 40


SHAPES = {
    "even": even(401),
    "one value": np.full(60, 20.0),
    "nearly no rows": np.array([12.5, 13.0]),
    "at the bounds": np.array([0.0] * 101 + [40.0] * 100),
    "half at each bound": np.array([0.0] * 100 + [40.0] * 100),
    "two far clusters": np.concatenate((even(150) / 1000 + 5, even(151) / 1000 + 30)),
    "a comb": np.repeat(np.arange(0, 40.01, 2.5), 20),
    "a far tail": np.minimum(np.geomspace(1e-3, 40, 1000), 40),
}


@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
def test_the_map_is_the_loss_of_two_choices_and_of_the_sums(spent: Noise) -> None:
    ((_, last),) = part().chains(1, (), spent)
    assert isinstance(last, CountNearDeviation)
    space = Space(CellTables(1, GRID.cells), SumOfCountChanges())
    rows = spent.rows * spent.one
    claimed = (space >> last).map(rows)
    assert claimed == pytest.approx(float(spent.loss), rel=1e-6)
    assert claimed <= spent.loss
    weight = rows / (2 * float(last.choice))
    sums = rows * float(last.strategy.sensitivity) / float(last.scale)
    pure = spent.kind == "laplace"
    loss = 4 * weight + sums if pure else 2 * weight**2 / 2 + sums**2 / 2
    assert float(claimed) == pytest.approx(loss, rel=1e-6)


def test_folding_moves_rows_one_for_one() -> None:
    source = random.Random(5)
    for _ in range(200):
        tables = []
        for _ in range(2):
            at = np.array(sorted(source.sample(range(20), 6)))
            tables.append((at, np.array([source.randint(0, 4) for _ in at])))
        twice, metric = source.randint(0, 40), SumOfCountChanges()
        folded = [_folded(*each, twice) for each in tables]
        for (_, count), (distances, rows) in zip(tables, folded, strict=True):
            assert (np.diff(distances) > 0).all()
            assert rows.sum() == count.sum()
        moved = metric.distance(*([each] for each in folded))
        assert moved <= metric.distance(*([each] for each in tables))


def check_coverage(shape: str, spent: Noise, runs: int) -> None:
    lab = tc.sensitivity(tc.mad(), over=tc.Values([0, 1], size=2)).statistic
    for grid, times in ((GRID, 1.0), (WHOLE, 10.0)):
        points = np.sort(on_grid(SHAPES[shape] * times, grid)) * float(grid.step)
        true = float(np.median(np.abs(points - np.median(points))))
        assert true == pytest.approx(lab(points.tolist()))
        found = released(SHAPES[shape] * times, spent, runs, grid)
        held = (found.lower <= true + 1e-9) & (true - 1e-9 <= found.upper)
        assert held.sum() >= enough(runs), held.mean()
        assert ((found.lower <= found.value) & (found.value <= found.upper)).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_on_any_rows_in_short(shape: str) -> None:
    check_coverage(shape, NOISES["laplace"], 30)


@pytest.mark.slow
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_on_any_rows(shape: str, spent: Noise) -> None:
    check_coverage(shape, spent, 2000)


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("missed", ["median", "distance"])
def test_where_cells_miss_their_median_the_interval_stays_short(missed: str, side: int) -> None:
    # nothing is drawn here: the rows are counted about given cells, on 5,000 rows, 5 cells each
    points, spent, asked = 5000 + 5 * np.arange(5000), NOISES["laplace"], part()
    reach, strategy = 5 * math.ceil(asked.reach(spent)), asked.strategy(spent.norm)
    centre, widths = (5000 + 25_000 // 2), []
    for off in (0, side * reach):
        m, twice = centre + off * (missed == "median"), 12_500 + off * (missed == "distance")
        cells = [m - reach, m + reach, twice - reach, twice + reach]
        starts, stops = asked.borders(np.array([cells], dtype=float))
        counts = ((points >= starts.T) & (points <= stops.T)).sum(axis=1)
        assert counts.sum() == len(points)  # each row in one group
        (found,) = asked.estimates([[*cells, *strategy.combined(counts)]], spent).values()
        widths.append(float((found.upper - found.lower)[0]))
    assert widths[1] <= 3 * widths[0]


def test_with_much_to_lose_the_value_is_that_of_the_rows() -> None:
    ample = Noise("laplace", Fraction(4000), 1)
    for name in ("even", "one value", "a comb", "a far tail"):  # one row decides in the others
        points = on_grid(SHAPES[name]) * float(GRID.step)
        true = np.median(np.abs(points - np.median(points)))
        found = released(SHAPES[name], ample, 10)
        assert np.abs(found.value - true).max() < 0.1, name
        assert (found.upper - found.lower).max() < 0.4, name
    assert (released([], NOISES["laplace"], 10).upper <= 20).all()


@pytest.mark.parametrize("price", [{"epsilon": 9}, {"rho": 4}], ids=str)
def test_by_groups_of_people(price: dict[str, Any]) -> None:
    rows = np.arange(4000)
    table = pd.DataFrame(
        {"p": rows // 2, "x": rows * 7 % 101, "g": np.where(rows < 2000, "a", "b")}
    )
    budget = tc.rho(30) if "rho" in price else tc.epsilon(30)
    widths = []
    for _ in range(7):
        with tc.Session(table, tc.unit("p", rows=2), budget, ledger=tc.in_memory) as session:
            asked = session.group_by("g", keys=["a", "b", "nobody"]).agg(m=tc.mad("x", 0, 300))
            assert asked.preview(**price).units["m"] == "rows in rank"
            answer = asked.release(**price)
            certificate, ledger = answer.certificate, session.ledger
        for name in ("a", "b"):
            low, high = answer.interval("m", name)
            # Its length more on either side (how often they hold is tested above).
            assert 2 * low - high <= 25 <= 2 * high - low
            widths.append(high - low)
    assert certificate.verify(ledger), str(certificate.verify(ledger))
    assert "median distance from it" in certificate.to_html()
    # Where cells miss the median an interval is a few times as wide (above).
    assert 0 <= min(widths) <= np.median(widths) < 8


def test_what_cannot_be_asked() -> None:
    with pytest.raises(UsageError, match="both bounds"):
        tc.mad("x", 0)
    with pytest.raises(UsageError, match="one method"):
        tc.mad("x", 0, 1, method="smooth")
    over = tc.Interval(0, 100, size=50)
    assert tc.sensitivity(tc.mad(), over=over).value == tc.sensitivity("mad", over=over).value
