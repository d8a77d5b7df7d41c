"""The Gini coefficient: its shares, what splitting adds, loss, coverage, and a whole release."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from tacit import noise
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.statistics.spread import Gini
from tacit.tables.statistics.gini import GiniPart, SplitBetweenEdges, edges, edges_of, shares
from tacit.tables.statistics.part import Noise
from tacit.tables.steps import BoundContributions, table_space

from .released import enough

PART = GiniPart("x", Grid.for_bounds(0, 1000, bits=20))
CELLS = PART.grid.cells


def vector(values: Any, one: int = 1) -> Any:
    """Return the exact shares, in units of one over the widest step."""
    positions = np.floor(np.asarray(values, dtype=float) / float(PART.grid.step) + 0.5)
    at, count = np.unique(positions.astype(np.int64), return_counts=True)
    step = PART.chains(1, (), Noise("laplace", Fraction(1), 1))[0][0]
    return np.array(PART.vector(step, [(at, count * one)]), dtype=object)


@given(st.integers(1, 2**31))
def test_edges_reach_the_end_in_steps_of_powers_of_two(cells: int) -> None:
    found = edges(cells).tolist()
    widths = np.diff(found)
    assert found[0] == 0
    assert found[-2] < cells <= found[-1]
    assert all(width & (width - 1) == 0 for width in widths.tolist())
    assert (np.diff(widths[1:]) >= 0).all()
    assert len(found) <= 8 * 13 + 1


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=30), st.integers(1, 5000))
def test_a_row_moves_the_shares_by_one_row_and_keeps_its_mean(at: list[int], cells: int) -> None:
    at = [min(each, cells) for each in at]
    ends, most = edges(cells), int(np.diff(edges(cells)).max())

    def of(rows: list[int]) -> Any:
        return shares(np.array(rows, dtype=np.int64), np.full(len(rows), 1, dtype=object), cells)

    for each in at:
        assert of([each]).sum() == most
        assert (of([each]) >= 0).all()
        assert int((of([each]) * ends).sum()) == each * most
    moved = of(at) - of(at[:-1])
    assert sum(map(abs, moved.tolist())) == most


@given(st.lists(st.integers(0, 300), min_size=1, max_size=12))
def test_splitting_adds_to_the_distances_within_the_bound(at: list[int]) -> None:
    grid = Grid.for_bounds(0, 300, bits=9)
    of = edges_of(grid)
    at = [min(round(each / float(grid.step)), grid.cells) for each in at]
    most = int(np.diff(edges(grid.cells)).max())
    exact = shares(np.array(at, dtype=np.int64), np.full(len(at), 1, dtype=object), grid.cells)
    rows = exact.astype(float) / most
    values = [float(grid.step) * each for each in at]
    apart = sum(abs(a - b) for a in values for b in values) / 2
    split = rows @ of.distances @ rows / 2
    assert apart - 1e-6 <= split <= apart + of.most_within(rows[None])[0] + 1e-6


def test_the_bound_of_splitting_is_attained() -> None:
    # all rows in the middle of the widest step: their distances are 0, and those of their halves
    # are a quarter of all pairs; no step is beside it
    middle = int(edges(CELLS)[-3] + edges(CELLS)[-2]) // 2
    rows = shares(np.array([middle]), np.array([8.0]), CELLS) / PART.row
    of = edges_of(PART.grid)
    split = rows @ of.distances @ rows / 2
    assert split == pytest.approx(16 * of.inside.max()) == of.most_within(rows[None])[0]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(("rows", "one"), [(1, 1), (5, 1 << 20)])
def test_the_noise_spends_what_was_granted(kind: Any, rows: int, one: int) -> None:
    spent = Noise(kind, Fraction(3, 10), rows, one)
    chain: Any = table_space({"x": "float"}, "p" if rows > 1 else None)
    ((step, last),) = PART.chains(1, (), spent)
    lost = (chain >> BoundContributions(rows, rows) >> step >> last).map(1)
    assert spent.loss * Fraction(999_999, 1_000_000) <= lost <= spent.loss


def test_the_value_is_that_of_the_rows() -> None:
    spent = Noise("laplace", Fraction(10**7), 1)
    for values in (np.linspace(0, 1000, 5001), np.geomspace(3, 900, 400), np.arange(8.0)):
        found = PART.estimates([vector(values).astype(float) / PART.row], spent)["gini"]
        assert found.value[0] == pytest.approx(Gini()(values), abs=2e-3)
        assert found.upper[0] - found.lower[0] < 0.02


def check_coverage(spent: Noise, runs: int) -> None:
    unit = PART.row * spent.one
    scale = spent.scale(Fraction(spent.rows)) * unit
    draw = noise.discrete_laplace if spent.kind == "laplace" else noise.discrete_gaussian
    drawn = np.random.default_rng(5)
    for values in (
        drawn.lognormal(5, 0.7, 3000).clip(0, 1000),
        [900.0] * 20 + [1.0] * 400,
        [720.0] * 500,  # in the middle of a step: splitting adds the most
        [1000.0],
    ):
        exact = vector(values, spent.one).astype(float) / unit
        noisy = exact + draw(scale, (runs, len(exact))).astype(np.float64) / unit
        found = PART.estimates([noisy.ravel()], spent)["gini"]
        true = Gini()(np.asarray(values))
        held = (found.lower <= true + 1e-6) & (true - 1e-6 <= found.upper)
        assert held.sum() >= enough(runs), held.mean()


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_intervals_hold(kind: Any) -> None:
    check_coverage(Noise(kind, Fraction(1), 1), 1000)
    check_coverage(Noise(kind, Fraction(1), 3, 4), 1000)


def test_what_is_lost_in_the_noise_is_anything() -> None:
    spent = Noise("laplace", Fraction(1, 100), 1)
    exact = np.zeros((1, len(edges(CELLS))))
    for noisy in (exact, exact - 500):
        found = PART.estimates([noisy], spent)["gini"]
        assert (found.lower[0], found.upper[0]) == (0, 1)


@pytest.mark.parametrize("price", [{"epsilon": 9}, {"rho": 4}], ids=str)
def test_by_groups_of_people(price: dict[str, Any]) -> None:
    rows = np.arange(6000)
    amounts = np.where(rows < 3000, 100 + 0 * rows, np.where(rows % 2, 10, 990))
    table = pd.DataFrame({"p": rows // 2, "x": amounts, "g": np.where(rows < 3000, "a", "b")})
    budget = tc.rho(30) if "rho" in price else tc.epsilon(30)
    with tc.Session(table, tc.unit("p", rows=2), budget, ledger=tc.in_memory) as session:
        asked = session.group_by("g", keys=["a", "b", "nobody"]).agg(i=tc.gini("x", 0, 1000))
        assert all(error > 0 for error in asked.preview(**price).errors["i"])
        answer = asked.release(**price)
        certificate, ledger = answer.certificate, session.ledger
    assert certificate.verify(ledger), str(certificate.verify(ledger))
    assert "Gini coefficient" in certificate.to_html()
    for name, true in (("a", 0.0), ("b", 0.49)):
        low, high = answer.interval("i", name)
        # Its length more on either side (how often they hold is tested above).
        assert 2 * low - high <= true <= 2 * high - low
        assert low < high <= true + 0.1


def test_what_cannot_be_asked() -> None:
    with pytest.raises(UsageError, match="lower bound of 0 or more, not -3"):
        tc.gini("x", -3, 10)
    with pytest.raises(UsageError, match="one method"):
        tc.gini("x", 1, 10, method="smooth")
    chain: Any = table_space({"x": "float"}, "p") >> BoundContributions(1, 1)
    with pytest.raises(UsageError, match="widest step of 100 cells is 8, not 9"):
        chain >> SplitBetweenEdges(1, "L1", "x", "0", "100", 100, 9)
    with pytest.raises(UsageError, match="at most 20 bits"):
        chain >> SplitBetweenEdges(1, "L1", "x", "0", "100", 10**40, 9)


def test_the_lab_has_its_sensitivity() -> None:
    exact = tc.sensitivity(tc.gini(), over=tc.Interval(0, 5, size=4))
    assert exact.value == tc.sensitivity("gini", over=tc.Interval(0, 5, size=4)).value
