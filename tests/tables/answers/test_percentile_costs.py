"""The costs of several percentiles by their definition, and what a row moves in all parts."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.tables.answers.percentiles import (
    PIECES,
    ChoiceTask,
    CountedGroup,
    costs_of_cells,
    costs_of_pieces,
    halves,
    levels,
)

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
            left = sum(pieces(values, 0, border).values())
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
