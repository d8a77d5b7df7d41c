"""Quantiles of many possible values, from noisy counts of the rows near them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

import tacit as tc
from support.certificates.certificate_changes import changed
from tacit.core import AbsoluteDistance, Number, Space
from tacit.errors import MismatchError, UsageError
from tacit.expressions.grid import Grid
from tacit.mechanisms.private_quantile import choose_together
from tacit.report.issued import planner
from tacit.tables.release.release import Charge
from tacit.tables.statistics.counted_quantiles import CellTables, SumOfCountChanges, chosen
from tacit.tables.statistics.near_quantiles import (
    CountNearQuantiles,
    NearQuantilesPart,
    other_parts,
)
from tacit.tables.statistics.part import Noise
from tacit.tables.statistics.percentiles import PercentilesPart
from tacit.tables.statistics.quantile_choice import error_of_choice
from tacit.tables.statistics.quantiles import InterquartileRangePart, QuantilePart

from .released import enough

HALF = Fraction(1, 2)
QUARTILES = (Fraction(1, 4), HALF, Fraction(3, 4))
GRID = Grid.for_bounds(0, 40, bits=16)
NOISES = {
    "laplace": Noise("laplace", Fraction(1), 1),
    "laplace, people": Noise("laplace", Fraction(1, 2), 3, 4),
    "gaussian": Noise("gaussian", Fraction(1, 8), 1),
}

# One choice of several ends, compared with its definition on grids of few cells.

ENDS: tuple[list[tuple[Fraction, int]], ...] = (
    [(HALF, -2), (HALF, 2)],
    [(Fraction(1, 3), -3), (Fraction(1, 3), 0), (Fraction(3, 4), 8)],
)


def costs(counts: Sequence[int], ends: Sequence[tuple[Fraction, int]]) -> dict[Any, Fraction]:
    """The cost of every list of one cell for each end, in rows, by its definition."""
    each = []
    for q, target in ends:
        a, b, last, found = q.numerator, q.denominator, len(counts) - 1, []
        for cell, equal in enumerate(counts):
            below, above = sum(counts[:cell]), sum(counts[cell + 1 :])
            low: float = (b - a) * below - a * (above + equal)
            high: float = (b - a) * (below + equal) - a * above
            low = -math.inf if target < 0 and cell == 0 else low
            high = math.inf if target > 0 and cell == last else high
            found.append(Fraction(max(low - target, target - high, 0)) / b)
        each.append(found)
    cells = itertools.product(range(len(counts)), repeat=len(ends))
    return {one: max(found[c] for found, c in zip(each, one, strict=True)) for one in cells}


def law(counts: Sequence[int], ends: Any, scale: float) -> dict[Any, float]:
    weights = {one: math.exp(-float(cost) / scale) for one, cost in costs(counts, ends).items()}
    total = sum(weights.values())
    return {one: weight / total for one, weight in weights.items()}


@pytest.mark.parametrize("ends", ENDS, ids=["two", "three"])
def test_one_row_moves_the_largest_cost_by_the_weight_at_most_and_attains_it(ends: Any) -> None:
    most = max(max(q, 1 - q) for q, _ in ends)
    moved, lost, scale = [], [], 2.0
    for counts in itertools.product(range(3), repeat=3):
        for cell in range(3):
            more = [n + (i == cell) for i, n in enumerate(counts)]
            before, after = costs(counts, ends), costs(more, ends)
            moved.append(max(abs(before[one] - after[one]) for one in before))
            p, r = law(counts, ends, scale), law(more, ends, scale)
            lost.append(max(abs(math.log(p[one] / r[one])) for one in p))
    assert max(moved) == most
    assert 0.5 * float(most) / scale < max(lost) <= 2 * float(most) / scale * (1 + 1e-12)


@pytest.mark.parametrize("wide", [False, True], ids=["64 bits", "wider"])
@pytest.mark.parametrize("ends", ENDS, ids=["two", "three"])
@pytest.mark.parametrize("counts", [(0, 3, 0, 1), (0, 0, 0, 0), (9, 0, 0, 9)], ids=str)
def test_ends_are_drawn_together_by_their_definition(
    counts: Sequence[int], ends: Any, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wide:
        monkeypatch.setattr("tacit.mechanisms.private_quantile._MANY", 1)
    runs, scale = 500, 2
    at = np.flatnonzero(counts)
    common = math.lcm(*(q.denominator for q, _ in ends))
    drawn = choose_together(
        [(at, np.array(counts)[at])] * runs, len(counts) - 1, ends, Fraction(1, scale * common)
    )
    expected = law(counts, ends, scale)
    seen = dict.fromkeys(expected, 0)
    for one in drawn:
        seen[tuple(one)] += 1
    often = [one for one, p in expected.items() if p * runs >= 5]
    off = sum((seen[one] - runs * expected[one]) ** 2 / (runs * expected[one]) for one in often)
    assert special.chdtrc(len(often), off) > 1e-7
    rare = sum(seen.values()) - sum(seen[one] for one in often)
    assert rare <= 30 + 2 * runs * (1 - sum(expected[one] for one in often))


def test_lists_of_many_ends_are_more_than_64_bits_hold() -> None:
    ends = [(q, side * q.denominator) for q in QUARTILES for side in (-1, 1)] * 4
    rows = (np.array([10, 20_000, 60_000]), np.array([400, 400, 400]))
    (found,) = choose_together([rows], 1 << 16, ends, Fraction(4))
    assert found == [10, 10, 20_000, 20_000, 60_000, 60_000] * 4


# The step: what it loses, and what it counts.


def part(*shares: Fraction, kind: str = "percentiles") -> NearQuantilesPart:
    return NearQuantilesPart("x", GRID, shares, (kind,))


@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("shares", [(HALF,), (Fraction(99, 100),), QUARTILES], ids=str)
def test_the_map_is_the_loss_of_the_choice_and_of_the_sums(spent: Noise, shares: Any) -> None:
    ((_, near),) = part(*shares).chains(1, (), spent)
    assert isinstance(near, CountNearQuantiles)
    space = Space(CellTables(1, GRID.cells), SumOfCountChanges())
    claimed = (space >> near).map(spent.rows * spent.one)
    assert claimed == pytest.approx(float(spent.loss), rel=1e-6)
    assert claimed <= spent.loss
    # a row moves the largest cost by the weight at most (above), and one column of the sums
    rows = spent.rows * spent.one
    weight = float(max(max(q, 1 - q) for q in shares)) * rows / float(near.choice)
    unit = np.eye(near.strategy.cells, dtype=int) * rows
    moved = np.array([near.strategy.combined(one) for one in unit], dtype=float)
    if spent.kind == "laplace":
        loss = 2 * weight + np.abs(moved).sum(axis=1).max() / float(near.scale)
    else:
        loss = weight**2 / 2 + (moved**2).sum(axis=1).max() / float(near.scale) ** 2 / 2
    assert float(claimed) == pytest.approx(loss, rel=1e-6)


def test_what_is_drawn_are_cells_at_the_ranks_and_the_rows_about_them() -> None:
    space = Space(CellTables(2, 60), SumOfCountChanges())
    sums = (7 * np.eye(12, dtype=int)).tolist()  # four, the first, three between, the last, four
    near = CountNearQuantiles(("1/2",), 10, 0, "1/40", 2, sums, "1/40")
    groups = [(np.arange(0, 61, 2), np.full(31, 2)), (np.array([], int), np.array([], int))]
    found = (space >> near)(groups)
    (b, c), counts = found[:2], np.array(found[2:14]) // 7
    assert abs(b - 21) <= 2
    assert abs(c - 39) <= 2
    width = c + 1 - b
    middle, quarter = b + 1 + (c - b - 1) // 2, width // 4
    left, right = max(b - width, 0), min(c + 1 + width, 61)
    edges = [0, 0, left, b - quarter, b, b + 1, middle, c, c + 1, c + 1 + quarter, right, 61, 61]
    rows = np.repeat(np.arange(0, 61, 2), 2)
    assert counts.tolist() == [
        int(((low <= rows) & (rows < high)).sum()) for low, high in itertools.pairwise(edges)
    ]
    assert found[14 + 2 :] == [0] * 12
    with pytest.raises(UsageError, match="there are 13"):
        space >> replace(near, pieces=3)


def test_by_the_third_rules_two_cells_are_drawn_far() -> None:
    space = Space(CellTables(2, 60), SumOfCountChanges())
    sums = (7 * np.eye(8, dtype=int)).tolist()  # before, far, the two and three between, far, after
    near = CountNearQuantiles(("1/2",), 10, 20, "1/40", 2, sums, "1/40")
    groups = [(np.arange(0, 61, 2), np.full(31, 2)), (np.array([], int), np.array([], int))]
    found = (space >> near)(groups)
    cells, counts = np.array(found[:4]), np.array(found[4:12]) // 7
    # 62 rows, two at each even cell: 31 less 20, less 10, and so on are before the rank 31
    assert (np.abs(cells - [11, 21, 39, 49]) <= 2).all()
    a, b, c, d = cells.tolist()
    middle = b + 1 + (c - b - 1) // 2
    edges = [0, a, b, b + 1, middle, c, c + 1, d + 1, 61]
    rows = np.repeat(np.arange(0, 61, 2), 2)
    assert counts.tolist() == [
        int(((low <= rows) & (rows < high)).sum()) for low, high in itertools.pairwise(edges)
    ]
    assert found[12 + 4 :] == [0] * 8
    with pytest.raises(UsageError, match="there are 9"):
        space >> replace(near, pieces=3)
    with pytest.raises(UsageError, match="rise strictly"):
        replace(near, qs=("1/2", "1/4"))
    with pytest.raises(MismatchError):
        Space(Number("int", 0, 4, grid=Fraction(1)), AbsoluteDistance()) >> near


# Intervals, on data that is made to break them.


def even(n: int) -> np.ndarray:
    return np.linspace(3.0, 33.0, n)


SHAPES = {
    "even": even(301),
    "one value": np.full(200, 7.0),
    "one row": np.array([12.5]),
    "three rows": np.array([0.0, 12.0, 40.0]),
    "at the bounds": np.array([0.0] * 101 + [40.0] * 100),
    "two far clusters": np.concatenate((even(150) / 1000 + 5, even(151) / 1000 + 30)),
    "half a row from the rank": np.array([10.0] * 150 + [10.001] * 151),
    "all in one cell of a coarse grid": 20 + even(300) / 10_000,
    "a comb at the borders of cells": np.repeat(np.arange(0, 40.01, 2.5), 20),
    "a far tail": np.minimum(np.geomspace(1e-3, 40, 400), 40),
}


def on_grid(values: Any) -> np.ndarray:
    return np.floor(np.asarray(values, dtype=float) / float(GRID.step) + 0.5).astype(np.int64)


def released(asked: NearQuantilesPart, values: Any, spent: Noise, runs: int) -> Any:
    ((_, near),) = asked.chains(runs, (), spent)
    at, count = np.unique(on_grid(values), return_counts=True)
    space = Space(CellTables(runs, GRID.cells), SumOfCountChanges())
    found = (space >> near)([(at, count * spent.one)] * runs)
    return asked.estimates([found], spent)[asked.kinds[0]]


def check_coverage(
    values: np.ndarray, spent: Noise, shares: tuple[Fraction, ...], runs: int
) -> None:
    points = np.sort(on_grid(values)) * float(GRID.step)
    found = released(part(*shares), values, spent, runs)
    assert (np.diff(found.value, axis=1) >= 0).all()
    for how in ("linear", "lower", "higher"):
        true = np.quantile(points, [float(q) for q in shares], method=how)
        held = (found.lower <= true) & (true <= found.upper)
        assert (held.sum(axis=0) >= enough(runs)).all(), (how, held.mean(axis=0))


@pytest.mark.few(3)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_on_any_rows_in_short(shape: str) -> None:
    check_coverage(SHAPES[shape], NOISES["laplace"], QUARTILES, 60)


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(HALF,), (Fraction(99, 100),), QUARTILES], ids=str)
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_on_any_rows(shape: str, spent: Noise, shares: Any) -> None:
    check_coverage(SHAPES[shape], spent, shares, 1000)


@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize(
    "cells", [(0, 0), (30_000, 40_000), (7, 3), (900, 30_000, 40_000, 65_000)], ids=str
)
def test_intervals_hold_whatever_cells_were_chosen(spent: Noise, cells: Any) -> None:
    # the rows beside the cells, and the noise that decides, are drawn apart from the choice
    asked, runs = replace(part(HALF), far=len(cells) > 2), 400
    ((_, near),) = asked.chains(1, (), spent)
    for values in (even(301), SHAPES["two far clusters"], np.full(60, 20.0)):
        points = on_grid(values)
        starts, stops = asked.borders(np.array([cells], dtype=float))
        counts = [
            int(((a <= points) & (points <= b)).sum())
            for a, b in zip(starts[0], stops[0], strict=True)
        ]
        assert sum(counts) == len(points)
        exact = near.strategy.combined(np.array(counts) * spent.one)
        draw = tc.noise.discrete_laplace if spent.kind == "laplace" else tc.noise.discrete_gaussian
        drawn = draw(near.scale, (runs, len(exact))).astype(object) + exact
        rows = np.hstack((np.tile(np.array(cells, dtype=object), (runs, 1)), drawn))
        (found,) = asked.estimates([rows.ravel()], spent).values()
        true = np.quantile(points, 0.5) * float(GRID.step)
        held = (found.lower[:, 0] <= true) & (true <= found.upper[:, 0])
        assert held.sum() >= enough(runs), held.mean()


def test_the_difference_of_quartiles_is_within_its_interval_and_empty_groups_have_answers() -> None:
    asked, spent, runs = part(*QUARTILES[::2], kind="interquartile_range"), NOISES["laplace"], 100
    for values in (even(301), SHAPES["one value"]):
        true = np.subtract(*np.quantile(on_grid(values), [0.75, 0.25])) * float(GRID.step)
        found = released(asked, values, spent, runs)
        held = (found.lower <= true) & (true <= found.upper)
        assert held.sum() >= enough(runs)
    nothing = released(asked, [], spent, 20)
    assert ((nothing.value >= 0) & (nothing.value <= 40)).all()


def test_with_much_to_lose_the_value_is_that_of_the_rows() -> None:
    ample = Noise("laplace", Fraction(400), 1)
    for values in (even(301), SHAPES["one value"], SHAPES["all in one cell of a coarse grid"]):
        found = released(part(*QUARTILES), values, ample, 20)
        true = np.quantile(values, [0.25, 0.5, 0.75])
        assert np.abs(found.value - true).max() < 0.2
        assert np.abs(found.upper - found.lower).max() < 1.5


def test_the_error_that_methods_are_compared_by_is_the_mean_distance_of_its_values() -> None:
    asked, spent = part(HALF, kind="median"), NOISES["laplace"]
    values = np.sort(even(2000))
    found = released(asked, values, spent, 300).value
    seen = np.abs(found - np.median(values)).mean()
    assert 0.6 * seen < asked.error_on(spent, values) < 1.6 * seen
    statistic = tc.median("x", 0, 40)
    alone = QuantilePart("x", GRID, "median", HALF)
    exponential = error_of_choice(GRID, HALF, values, 1, alone.scale(spent))
    by_auto = statistic.error_on(GRID, False, spent, values)  # type: ignore[attr-defined]
    # the value of the exponential mechanism is nearer here; its interval is what is longer
    assert by_auto == asked.error_on(spent, values) > exponential


def without_noise(asked: NearQuantilesPart, cells: Sequence[int], points: np.ndarray) -> Any:
    """What a part answers from such cells, and sums on which no noise has fallen."""
    starts, stops = asked.borders(np.array([cells], dtype=float))
    counts = [
        int(((a <= points) & (points <= b)).sum()) for a, b in zip(starts[0], stops[0], strict=True)
    ]
    assert sum(counts) == len(points)  # each row in one group
    spent = NOISES["laplace"]
    exact = asked.strategy(spent.norm).combined(np.array(counts))
    (found,) = asked.estimates([[*cells, *exact]], spent).values()
    return found


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(
    ("shares", "kind"),
    [
        ((HALF,), "percentiles"),
        (QUARTILES, "percentiles"),
        (QUARTILES[::2], "interquartile_range"),
        ((Fraction(1, 10), Fraction(9, 10)), "percentiles"),
    ],
    ids=str,
)
def test_where_cells_miss_a_quantile_its_interval_stays_short(
    shares: Any, kind: str, side: int
) -> None:
    # nothing is drawn here: the rows are counted about given cells, on 5,000 rows, 5 cells each
    points, asked = 5000 + 5 * np.arange(5000), part(*shares, kind=kind)
    reach = math.ceil(asked.reach(NOISES["laplace"]))
    quantiles = [5000 + int(25_000 * q) for q in shares]
    at = [[q - 5 * reach, q + 5 * reach] for q in quantiles]
    usual = without_noise(asked, list(itertools.chain(*at)), points)
    for missed in range(len(shares)):
        # both cells are on one side of the quantile, one of them at it
        off = [
            pair if i != missed else [c + 5 * side * reach for c in pair]
            for i, pair in enumerate(at)
        ]
        found = without_noise(asked, list(itertools.chain(*off)), points)
        widths = [np.ravel(one.upper - one.lower) for one in (found, usual)]
        assert (widths[0] <= 3 * widths[1]).all(), widths


# The choice of the mechanism, certificates, and versions before this one.


def test_the_mechanism_that_is_expected_to_reach_least_is_chosen() -> None:
    spent = NOISES["laplace"]
    for first, shares, kind in (
        (QuantilePart("x", GRID, "median", HALF), (HALF,), "median"),
        (InterquartileRangePart("x", GRID), QUARTILES[::2], "interquartile_range"),
        (PercentilesPart("x", GRID, QUARTILES), QUARTILES, "percentiles"),
    ):
        best = chosen([first, *other_parts("x", GRID, shares, spent, kind)], spent)
        assert isinstance(best, NearQuantilesPart)
        assert best.interval(spent, 0.95) < first.interval(spent, 0.95) / 2
        assert "noisy counts of the rows near" in best.chosen_because
    assert other_parts("x", GRID, [HALF], replace(spent, rules=2), "median") == []
    assert other_parts("x", GRID, [Fraction(1)], spent, "max") == []
    assert other_parts("x", GRID, [Fraction(1, 9973), Fraction(1, 2)], spent, "percentiles") == []
    many = [Fraction(i, 20) for i in range(1, 20)]
    assert other_parts("x", GRID, many, spent, "percentiles") == []


FRAME = pd.DataFrame(
    {"x": np.linspace(10, 70, 400), "whole": np.arange(400) * 3, "g": ["a", "b"] * 200}
)


@pytest.mark.parametrize("price", [{"epsilon": 9}, {"rho": 2}], ids=str)
def test_a_release_says_which_and_is_checked_without_the_data(price: dict[str, Any]) -> None:
    budget = tc.rho(30) if "rho" in price else tc.epsilon(30)
    with tc.Session(FRAME, tc.one_row_each, budget, ledger=tc.in_memory) as session:
        asked = session.group_by("g", keys=["a", "b", "nobody"]).agg(
            m=tc.median("x", 0, 100),
            far=tc.interquartile_range("x", 0, 100),
            ps=tc.percentiles("x", [10, 50, 90], 0, 100),
            whole=tc.median("whole", 0, 2000),
        )
        assert "noisy counts of the rows near" in str(asked.preview(**price))
        answer = asked.release(**price)
        certificate, ledger = answer.certificate, session.ledger
    assert certificate.verify(ledger), str(certificate.verify(ledger))
    assert "values nearer to the ranks" in certificate.to_html()
    body = certificate.body
    assert {c["steps"][-1]["step"] for c in body["chains"]} == {"count_near_quantiles"}
    assert all(float(each).is_integer() for each in answer.column("whole")["value"])
    plan = planner().replan(body)
    numbers = body["answer"]["keys"], body["answer"]["released"]
    narrow, wide = (plan.answer(*numbers, level)["columns"][0] for level in (0.5, 0.999))
    assert all(a <= b for a, b in zip(wide["low"], narrow["low"], strict=True))
    assert all(a >= b for a, b in zip(wide["high"], narrow["high"], strict=True))
    last = len(body["chains"][0]["steps"]) - 1
    for field, value in (
        ("scale", "1/7"),
        ("choice", "1/7"),
        ("reach", 1),
        ("far", 1),
        ("pieces", 1),
    ):
        assert not changed(body, ("chains", 0, "steps", last, field), value).verify()
    assert not changed(body, ("answer", "released", 0, 0), 10**30).verify()


@pytest.mark.parametrize("price", [{"epsilon": 9}, {"rho": 2}], ids=str)
def test_a_certificate_of_the_third_rules_is_checked_by_them(
    price: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = Charge.plan
    monkeypatch.setattr(Charge, "plan", lambda *given: replace(now(*given), rules=3))
    budget = tc.rho(30) if "rho" in price else tc.epsilon(30)
    with tc.Session(FRAME, tc.one_row_each, budget, ledger=tc.in_memory) as session:
        asked = session.agg(
            m=tc.median("x", 0, 100), d=tc.mad("x", 0, 100), t=tc.trimmed_mean("x", "1/10", 0, 100)
        )
        certificate, ledger = asked.release(**price).certificate, session.ledger
    assert certificate.body["intervals"] == 3
    assert all(chain["steps"][-1]["far"] for chain in certificate.body["chains"])
    assert "Draw 4 values at random" in certificate.to_html()
    assert certificate.verify(ledger), str(certificate.verify(ledger))
    assert not changed(certificate.body, ("intervals",), 4).verify()


@pytest.mark.parametrize("rules", [1, 2])
def test_an_open_charge_of_earlier_rules_draws_what_was_paid_for(rules: int) -> None:
    budget = tc.epsilon_delta(20, "1e-6")
    with tc.Session(FRAME, tc.one_row_each, budget, ledger=tc.in_memory) as session:
        asked = session.agg(m=tc.median("x", 0, 100), w=tc.median("whole", 0, 100))
        charge = asked._priced(epsilon=1)
        earlier = replace(charge.requested_plan(), rules=rules)
        assert earlier.cost.parts != charge.requested_plan().cost.parts
        session.ledger.charge(charge.key, earlier.cost, charge.public)
        certificate, ledger = asked.release(epsilon=1).certificate, session.ledger
    assert certificate.body["chains"][0]["steps"][-1]["step"] == "choose_quantile"
    assert certificate.body.get("intervals", 1) == rules
    assert certificate.verify(ledger), str(certificate.verify(ledger))
