"""Bounds of a column found privately: how far they reach, what they miss, and whole releases."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from tacit.cli import run
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.answers.base import Noise
from tacit.tables.answers.histogram import BoundsPart
from tacit.tables.steps import Answers, BoundContributions, table_space

RUNS = 4000
GRID = Grid.for_bounds(-1000, 5000, whole=True)
PART = BoundsPart.between("x", GRID)
NOISES = [Noise("laplace", Fraction(1, 2), 1), Noise("gaussian", Fraction(1, 20), 1)]


def found(values: Any, spent: Noise) -> Any:
    """What is released on a column, many times over: shape (runs, 2)."""
    counts, _ = np.histogram(values, [float(edge) for edge in PART.edges])
    ((step, noise),) = PART.chains(RUNS, (), spent)
    chain = table_space({"x": "int"}, None) >> BoundContributions(1, 1) >> step >> noise
    assert chain.map(1) <= spent.loss
    released = chain(Answers({step: [int(count) for count in counts] * RUNS}))
    return PART.estimates([released], spent)["bounds"].value


@given(st.fractions(-(10**9), 10**9), st.fractions("1/1000", 10**9), st.booleans())
def test_the_edges_are_zero_and_powers_of_two_on_the_grid(low, width, whole):
    grid = Grid.for_bounds(low, low + width, whole=whole)
    edges = BoundsPart.between("x", grid).edges
    offsets = [grid.offset(edge) for edge in edges]
    assert (offsets[0], offsets[-1]) == (0, grid.cells)
    assert all(a < b for a, b in pairwise(offsets))
    assert all(
        edge == 0 or abs(edge / grid.step).numerator.bit_count() == 1 for edge in edges[1:-1]
    )
    assert len(edges) <= 2 * 63 + 3


@pytest.mark.parametrize("spent", NOISES, ids=str)
def test_no_bound_reaches_into_bins_without_rows_but_in_one_of_twenty(spent):
    values = [3] * 300 + [40] * 300 + [-5] * 300
    bounds = found(values, spent)
    wider = (bounds[:, 0] < -8) | (bounds[:, 1] > 64)
    assert wider.mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / RUNS)
    assert (bounds[:, 0] <= -8).all()
    assert (bounds[:, 1] >= 64).all()


@pytest.mark.parametrize("spent", NOISES, ids=str)
def test_without_rows_they_are_those_given(spent):
    bounds = found([], spent)
    given = (bounds[:, 0] == -1000) & (bounds[:, 1] == 5000)
    assert given.mean() >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.parametrize("spent", NOISES, ids=str)
def test_so_many_rows_as_the_preview_says_show(spent):
    rows = int(np.ceil(PART.expected_error("bounds", spent, 0)))
    shown = found([1] * 500 + [200] * rows, spent)[:, 1] >= 256
    assert shown.mean() >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / RUNS)
    few = found([1] * 500 + [200] * (rows // 8), spent)[:, 1] >= 256
    assert few.mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / RUNS)


@pytest.fixture
def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "visits": [*range(20)] * 40 + [10**7],
            "pay": [0.25, -70.5, None] * 267,
            "g": [0, 1, 1] * 267,
        }
    )


@pytest.mark.parametrize("budget", [tc.epsilon(50), tc.rho(50)], ids=str)
def test_a_table_is_asked(people, budget):
    session = tc.Session(people, unit=tc.one_row_each, budget=budget, name="people")
    spent = {"epsilon": 5} if budget == tc.epsilon(50) else {"rho": 5}
    asked = session.agg(tc.bounds("visits"), pay=tc.bounds("pay", -(10**6), 10**6))
    answer = asked.release(**spent)
    assert answer.value("bounds_visits") == [0.0, 32.0]
    # values that are nearer to zero than a step of the grid would be one bin
    assert answer.value("pay") == [-128.0, 0.25 * 2]
    assert answer.certificate.verify()
    groups = (
        session.group_by("g", keys=[0, 1]).agg(b=tc.bounds("visits", 0, 10**6)).release(**spent)
    )
    assert [groups.value("b", key) for key in (0, 1)] == [[0.0, 32.0]] * 2


def test_the_command_line_asks_too(people, tmp_path, capsys):
    people.to_csv(tmp_path / "people.csv", index=False)
    assert not run(
        [
            "release",
            str(tmp_path / "people.csv"),
            "--one-row-each",
            "--epsilon=9",
            f"--ledger={tmp_path / 'ledger'}",
            "--bounds=visits:0:1000000",
        ]
    )
    told = capsys.readouterr().out
    assert "upper" in told
    assert "32" in told


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda: tc.bounds("x", 5, 5), "are equal, both 5"),
        (lambda: tc.bounds(3), "named by text"),
        (lambda: tc.bounds("x", method="smooth"), "one method"),
        (lambda: tc.bounds("x").statistic, "question to a table"),
    ],
)
def test_what_cannot_be_asked_is_refused(bad, message):
    with pytest.raises(UsageError, match=message):
        bad()


def test_a_column_of_text_is_refused(people):
    people["name"] = "somebody"
    session = tc.Session(people, unit=tc.one_row_each, budget=tc.epsilon(1))
    with pytest.raises(UsageError, match="name"):
        session.agg(tc.bounds("name")).release(epsilon=1)
    assert session.remaining == tc.epsilon(1)
