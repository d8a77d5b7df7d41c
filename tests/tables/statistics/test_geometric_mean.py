"""The geometric mean: its logarithms, loss, coverage, and a whole release."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit import noise
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.statistics.geometric_mean import (
    GeometricMeanPart,
    LogarithmsByGroup,
    binary_logarithms,
)
from tacit.tables.statistics.part import Noise
from tacit.tables.steps import BoundContributions, table_space

from .released import enough

PART = GeometricMeanPart("x", Grid.for_bounds("1/2", 1000, bits=20))


def test_logarithms_are_near_rise_and_are_whole() -> None:
    numbers = np.unique(np.geomspace(1, 2**62, 50_000).astype(np.int64))
    found = binary_logarithms(numbers)
    exact = np.array([math.log2(int(n)) for n in numbers])
    assert (np.diff(found) >= 0).all()
    assert np.abs(found / 2**24 - exact).max() <= 2**-24 + 2**-29
    powers = 1 << np.arange(62)
    assert (binary_logarithms(powers) == np.arange(62) << 24).all()


def vector(values: Any, one: int = 1) -> list[int]:
    step = float(PART.grid.step)
    positions = np.floor(np.asarray(values, dtype=float) / step + 0.5).astype(np.int64)
    at, count = np.unique(positions - PART.grid.first, return_counts=True)
    return list(
        PART.vector(PART.chains(1, (), Noise("laplace", Fraction(1), 1))[0][0], [(at, count * one)])
    )


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(("rows", "one"), [(1, 1), (5, 1 << 20)])
def test_the_noise_spends_what_was_granted(kind: Any, rows: int, one: int) -> None:
    spent = Noise(kind, Fraction(3, 10), rows, one)
    chain: Any = table_space({"x": "float"}, "p" if rows > 1 else None)
    ((step, last),) = PART.chains(1, (), spent)
    lost = (chain >> BoundContributions(rows, rows) >> step >> last).map(1)
    assert spent.loss * Fraction(999_999, 1_000_000) <= lost <= spent.loss


def test_one_row_moves_both_sums_by_one_row_and_the_value_is_that_of_the_rows() -> None:
    total = PART.row
    for value in (0.5, 3.0, 77.7, 1000.0):
        one, none = vector([20.0, value]), vector([20.0])
        assert sum(abs(a - b) for a, b in zip(one, none, strict=True)) == total
    values = np.geomspace(1, 900, 300)
    spent = Noise("laplace", Fraction(10**6), 1)
    exact = np.array(vector(values)) / total
    found = PART.estimates([exact], spent)["geometric_mean"]
    assert found.value[0] == pytest.approx(math.exp(np.log(values).mean()), rel=1e-4)


def check_coverage(spent: Noise, runs: int) -> None:
    total, scale = PART.row, spent.scale(Fraction(spent.rows))
    draw = noise.discrete_laplace if spent.kind == "laplace" else noise.discrete_gaussian
    unit = total * spent.one
    for values in (np.geomspace(0.5, 1000, 400), [3.0] * 90, [0.5, 1000.0], [9.0]):
        exact = np.array(vector(values, spent.one), dtype=float) / unit
        drawn = draw(scale * unit, (runs, 2)).astype(np.float64) / unit
        found = PART.estimates([(exact + drawn).ravel()], spent)["geometric_mean"]
        true = math.exp(np.log(values).mean())
        held = (found.lower <= true * (1 + 1e-3)) & (true * (1 - 1e-3) <= found.upper)
        assert held.sum() >= enough(runs), held.mean()


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_intervals_hold(kind: Any) -> None:
    check_coverage(Noise(kind, Fraction(1), 1), 2000)
    check_coverage(Noise(kind, Fraction(1), 3, 4), 2000)


@pytest.mark.parametrize("price", [{"epsilon": 9}, {"rho": 4}], ids=str)
def test_by_groups_of_people(price: dict[str, Any]) -> None:
    rows = np.arange(3000)
    table = pd.DataFrame(
        {"p": rows // 2, "x": np.exp(rows % 7), "g": np.where(rows < 1500, "a", "b")}
    )
    budget = tc.rho(30) if "rho" in price else tc.epsilon(30)
    with tc.Session(table, tc.unit("p", rows=2), budget, ledger=tc.in_memory) as session:
        asked = session.group_by("g", keys=["a", "b", "nobody"]).agg(
            m=tc.geometric_mean("x", "1/2", 1000)
        )
        assert all(error > 0 for error in asked.preview(**price).errors["m"])
        answer = asked.release(**price)
        certificate, ledger = answer.certificate, session.ledger
    assert certificate.verify(ledger), str(certificate.verify(ledger))
    assert "geometric mean" in certificate.to_html()
    for name in ("a", "b"):
        low, high = answer.interval("m", name)
        assert 0.9 * math.e**3 < low < high < 1.1 * math.e**3


def test_what_cannot_be_asked() -> None:
    for lower in (0, -3):
        with pytest.raises(UsageError, match="lower bound above zero"):
            tc.geometric_mean("x", lower, 10)
    with pytest.raises(UsageError, match="one method"):
        tc.geometric_mean("x", 1, 10, method="smooth")
    with pytest.raises(UsageError, match="logarithms"):
        tc.sensitivity(tc.geometric_mean("x", 1, 10), over=tc.Values([1, 2], size=2))
    table = pd.DataFrame({"x": [1.5, 2.5]})
    with tc.Session(table, tc.one_row_each, tc.epsilon(1), ledger=tc.in_memory) as session:
        with pytest.raises(UsageError, match="too far apart"):
            session.agg(m=tc.geometric_mean("x", "1/1000", 10**6)).preview(epsilon=1)
        assert session.remaining == tc.epsilon(1)


@pytest.mark.parametrize(
    ("field", "value"),
    [("total", 1 << 20), ("total", 1 << 30), ("cells", 12), ("upper", "2000"), ("lower", "0")],
)
def test_a_step_that_does_not_fit_its_bounds_is_refused(field: str, value: Any) -> None:
    # a smaller total would claim less than a row moves
    ((step, _),) = PART.chains(1, (), Noise("laplace", Fraction(1), 1))
    assert isinstance(step, LogarithmsByGroup)
    table: Any = table_space({"x": "float"}, None) >> BoundContributions(1, 1)
    assert (table >> step).map(1) == 1
    with pytest.raises(UsageError, match="logarithm"):
        table >> replace(step, **{field: value})
