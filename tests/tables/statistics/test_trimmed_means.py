"""Trimmed and winsorized means of a table: loss, released numbers, coverage, whole releases."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.core import Space
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.statistics.counted_quantiles import CellTables, SumOfCountChanges
from tacit.tables.statistics.part import Noise
from tacit.tables.statistics.trimmed_means import (
    AverageBetweenQuantiles,
    BetweenQuantilesPart,
    sorted_cuts,
)

from .released import enough

GRID = Grid.for_bounds(0, 40, bits=16)
WHOLE = Grid.for_bounds(0, 500, bits=16, whole=True)
TENTH = Fraction(1, 10)
NOISES = {
    "laplace": Noise("laplace", Fraction(1), 1),
    "laplace, people": Noise("laplace", Fraction(1, 2), 3, 4),
    "gaussian": Noise("gaussian", Fraction(1, 2), 1),
}
AMPLE = Noise("laplace", Fraction(4000), 1)


def part(share: Fraction = TENTH, grid: Grid = GRID) -> BetweenQuantilesPart:
    return BetweenQuantilesPart("x", grid, (share, 1 - share), ("percentiles",))


def on_grid(values: Any, grid: Grid = GRID) -> np.ndarray:
    positions = np.floor(np.asarray(values, dtype=float) / float(grid.step) + 0.5)
    return np.clip(positions, 0, grid.cells).astype(np.int64)


def true_means(values: Any, share: Fraction, grid: Grid = GRID) -> dict[str, float]:
    """Both means by the definition, of the values on the grid."""
    x = np.sort(on_grid(values, grid)) * float(grid.step)
    k = int(share * len(x))
    rest = x[k : len(x) - k]
    return {
        "trimmed_mean": float(rest.mean()),
        "winsorized_mean": float(np.clip(x, rest[0], rest[-1]).mean()),
    }


def measured(asked: BetweenQuantilesPart, values: Any, spent: Noise, runs: int) -> Any:
    ((_, last),) = asked.chains(runs, (), spent)
    at, count = np.unique(on_grid(values, asked.grid), return_counts=True)
    space = Space(CellTables(runs, asked.grid.cells), SumOfCountChanges())
    return (space >> last)([(at, count * spent.one)] * runs)


def even(rows: int) -> np.ndarray:
    return (np.arange(rows) + 0.5) / rows * 40


SHAPES = {
    "even": even(800),
    "one value": np.full(60, 20.0),
    "no rows but one": np.array([12.5]),
    "at the bounds": np.array([0.0] * 101 + [40.0] * 100),
    "two far clusters": np.concatenate((even(150) / 1000 + 5, even(151) / 1000 + 30)),
    "a comb": np.repeat(np.arange(0, 40.01, 2.5), 40),
    "a far tail": np.minimum(np.geomspace(1e-3, 400, 3000), 40),
    "outliers": np.concatenate((even(2000) / 40 + 10, np.full(30, 40.0))),
}


@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
def test_the_map_is_the_loss_of_choice_counts_and_sums(spent: Noise) -> None:
    ((_, last),) = part().chains(1, (), spent)
    assert isinstance(last, AverageBetweenQuantiles)
    claimed = (Space(CellTables(1, GRID.cells), SumOfCountChanges()) >> last).map(
        spent.rows * spent.one
    )
    assert claimed == pytest.approx(float(spent.loss), rel=1e-6)
    assert claimed <= spent.loss
    # a row moves both sums by one in all, whatever the cuts are
    rows = spent.rows * spent.one
    assert last.losses[-1] == 1 / Fraction(last.average)
    least = 2 * Fraction(9, 10) if spent.kind == "laplace" else Fraction(9, 10)
    assert last.losses[0] == least / Fraction(last.choice)
    alone = rows * last.losses[-1]
    lost = alone if spent.kind == "laplace" else alone**2 / 2
    assert float(lost) == pytest.approx(float(spent.loss * Fraction(2, 5)), rel=1e-6)


@pytest.mark.parametrize("row", [0, 12.5, 20, 40])
def test_one_row_moves_the_sums_between_given_cuts_by_one_row(row: float) -> None:
    ((_, last),) = part().chains(1, (), AMPLE)
    exact = []
    for values in (even(300), np.append(even(300), row)):
        at, count = np.unique(on_grid(values), return_counts=True)
        strategy = last.strategy
        counts = np.zeros(strategy.cells)
        counts[[5, 10, 20, -3]] = 20, 200, 60, 20  # the same noisy counts, hence cuts
        edges = np.linspace(0, GRID.cells + 1, strategy.cells + 1).astype(np.int64)[None]
        sums = [list(strategy.combined(counts.astype(int)))]
        low, high, *released = last.more([(at, count)], edges, sums)[0]  # type: ignore[arg-type]
        width = high - low
        row_size = -(-(1 << 20) // width) * width
        exact.append(np.array(released, dtype=float) / row_size)
        assert [low, high] == sorted_cuts(edges, np.array([[20, 10]])).tolist()[0]
    moved = np.abs(exact[1] - exact[0])
    assert moved.sum() == pytest.approx(1, abs=0.05)  # the noise of a loss of 4000


def test_with_much_to_lose_the_value_is_that_of_the_rows() -> None:
    for name in ("even", "one value", "two far clusters", "a comb", "outliers"):
        for share in (TENTH, Fraction(1, 4)):
            found = part(share).estimates([measured(part(share), SHAPES[name], AMPLE, 5)], AMPLE)
            for kind, true in true_means(SHAPES[name], share).items():
                assert np.abs(found[kind].value - true).max() < 0.02, (name, kind)
                assert (found[kind].upper - found[kind].lower).max() < 0.2, (name, kind)


def check_coverage(shape: str, spent: Noise, share: Fraction, runs: int) -> None:
    for grid, times in ((GRID, 1.0), (WHOLE, 10.0)):
        asked, values = part(share, grid), SHAPES[shape] * times
        found = asked.estimates([measured(asked, values, spent, runs)], spent)
        for kind, true in true_means(values, share, grid).items():
            held = (found[kind].lower <= true + 1e-9) & (true - 1e-9 <= found[kind].upper)
            assert held.sum() >= enough(runs), (kind, held.mean())


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_on_any_rows_in_short(shape: str) -> None:
    check_coverage(shape, NOISES["laplace"], TENTH, 40)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_intervals_hold_where_a_cut_is_beyond_the_last_cell(kind: Any) -> None:
    """Of few rows beyond a quantile the noise may put the cut where no value is any more."""
    grid, spent = Grid.for_bounds(0, 5, bits=16, whole=True), Noise(kind, Fraction(80), 1)
    share, values = Fraction(1, 1000), np.array([0.0] * 50 + [5.0] * 50)
    asked = part(share, grid)
    numbers = measured(asked, values, spent, 100)
    assert (np.reshape(np.array(numbers, dtype=float), (100, -1))[:, -3] > grid.cells).any()
    found = asked.estimates([numbers], spent)
    for kind_, true in true_means(values, share, grid).items():
        held = (found[kind_].lower <= true + 1e-9) & (true - 1e-9 <= found[kind_].upper)
        assert held.sum() >= enough(100), (kind_, held.mean())


@pytest.mark.slow
@pytest.mark.parametrize("share", [Fraction(1, 50), TENTH, Fraction(2, 5)], ids=str)
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_on_any_rows(shape: str, spent: Noise, share: Fraction) -> None:
    check_coverage(shape, spent, share, 2000)


@pytest.mark.parametrize("price", [{"epsilon": 9}, {"rho": 4}], ids=str)
def test_by_groups_of_people_with_outliers(price: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    rows = 6000
    income = np.where(np.arange(rows) % 50 == 0, 90_000, rng.normal(2000, 300, rows))
    group = np.array(["a", "b"])[(np.arange(rows) // 2) % 2]
    table = pd.DataFrame({"person": np.arange(rows) // 2, "income": income, "g": group})
    grid = Grid.for_bounds(0, 100_000, bits=16)
    budget = tc.rho(30) if "rho" in price else tc.epsilon(30)
    with tc.Session(table, tc.unit("person", rows=2), budget, ledger=tc.in_memory) as session:
        asked = session.group_by("g", keys=["a", "b", "nobody"]).agg(
            t=tc.trimmed_mean("income", "1/10", 0, 100_000),
            w=tc.winsorized_mean("income", "1/10", 0, 100_000),
        )
        assert len(asked.preview(**price).errors["t"]) == 3
        answer = asked.release(**price)
        certificate, ledger = answer.certificate, session.ledger
    assert certificate.verify(ledger), str(certificate.verify(ledger))
    body = certificate.body
    assert len(body["chains"]) == 1  # both means are one answer
    assert "add up all rows between" in certificate.to_html()
    for name in ("a", "b"):
        true = true_means(income[group == name], TENTH, grid)
        for label, kind in (("t", "trimmed_mean"), ("w", "winsorized_mean")):
            low, high = answer.interval(label, name)
            # Their length more on either side: 1e-7 (how often they hold is tested above).
            assert 2 * low - high <= true[kind] <= 2 * high - low
            assert low < high < low + 200
    assert np.isfinite(answer.value("t", "nobody"))  # type: ignore[arg-type]


def test_what_cannot_be_asked_and_what_the_lab_answers() -> None:
    for share in (0, "1/2", "0.7", -1):
        with pytest.raises(UsageError, match=r"between 0 and 1/2|above 0 and below 1/2"):
            tc.trimmed_mean("x", share, 0, 1)
    with pytest.raises(UsageError, match="both bounds"):
        tc.winsorized_mean("x", "1/10", 0)
    with pytest.raises(UsageError, match="one method"):
        tc.trimmed_mean("x", "1/10", 0, 1, method="smooth")
    over = tc.Interval(0, 100, size=50)
    for asked, name in ((tc.trimmed_mean, "trimmed_mean"), (tc.winsorized_mean, "winsorized_mean")):
        by_name = tc.sensitivity(f"{name}(1/4)", over=over, relation="bounded").value
        assert tc.sensitivity(asked(share="1/4"), over=over, relation="bounded").value == by_name
