"""Several percentiles: the map, the draws and the counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.core import Space, SymmetricDistance, Vector, step_from
from tacit.errors import MismatchError, UsageError
from tacit.tables.answers.percentiles import (
    PIECES,
    CellTables,
    ChoiceTask,
    ChoosePercentiles,
    CountedCells,
    CountedGroup,
    SumOfCountChanges,
    costs_of_cells,
)
from tacit.tables.steps import Answers, BoundContributions, table_space

CELLS = 9
TOP = (CELLS + 1) * PIECES


def counted(values: list[int]) -> tuple[Any, Any]:
    return np.unique(np.array(values, dtype=np.int64), return_counts=True)


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


def released(values: list[int], step: ChoosePercentiles, runs: int) -> np.ndarray[Any, Any]:
    width = 9 * len(step.qs) + 1
    end = CountedCells("x", "0", "9", CELLS, size=width * runs, width=width)
    chain = table_space({"x": "float"}, None) >> BoundContributions(1, 1) >> end >> step
    return np.array(chain(Answers({end: [counted(values)] * runs}))).reshape(runs, width)


def test_points_rise_and_counts_are_of_the_rows_between() -> None:
    tiny = {each: Fraction(1, 1000) for each in ("points", "pieces", "ends", "counts")}
    values = [0] * 4 + [1] * 2 + [5] * 60 + [7] * 10 + [9] * 4
    found = released(values, choice(3, **tiny), 20)
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
    points = released(values, choice(5), 200)[:, :5]
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
    drawn = np.bincount(released(values, step, runs)[:, 0], minlength=CELLS + 1)
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
