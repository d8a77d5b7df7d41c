"""The table of every release and its neighbours."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
import tacit.statistics as ts
from support.figures import CLASSIC, save, texts
from tacit.errors import InfeasibleError, UsageError


@pytest.mark.full
def test_the_classic_table(tmp_path: Path) -> None:
    table = ts.sensitivity_table("median", CLASSIC)
    assert table.value == Fraction(9, 2)
    assert len(table.releases) == 10
    assert all(len(r.neighbours) == 5 for r in table.releases)
    first = table.releases[0]
    assert first.records == (1, 2, 3)
    assert first.local == Fraction(1, 2)
    for release in table.releases:
        assert release.local == ts.sensitivity("median", CLASSIC, at=release.records).value
    frame = table.to_pandas()
    assert len(frame) == 50
    assert frame["global"].sum() == 2
    figure = table.plot()
    shown = texts(figure)
    assert "{1, 2, 11}" in shown
    assert any("global sensitivity" in t for t in shown)
    save(figure, tmp_path)
    assert "global 4.5" in str(table)
    assert repr(table) == "SensitivityTable(median: 10 releases, 50 pairs, global 4.5)"


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
@pytest.mark.parametrize("name", ["mean", "median", "sum", "count", "var", "std"])
def test_a_table_agrees_with_the_sensitivity(relation: Any, name: str) -> None:
    for over in (ts.Records([1, 1, 2, 5, 9], size=3), ts.Values([0, 1, 5], size=2)):
        table = ts.sensitivity_table(name, over, relation=relation)
        assert table.value == ts.sensitivity(name, over, relation=relation).value


def test_a_table_that_cannot_be_listed_or_drawn_says_so() -> None:
    with pytest.raises(InfeasibleError, match="too many to list"):
        ts.sensitivity_table("mean", ts.Records(range(40), size=20))
    with pytest.raises(InfeasibleError, match="finitely many"):
        ts.sensitivity_table("mean", ts.Interval(0, 1, size=3))
    with pytest.raises(UsageError, match="to_pandas"):
        ts.sensitivity_table("mean", ts.Records(range(9), size=4)).plot()


def test_a_table_of_several_columns_is_a_dict() -> None:
    over = tc.Records({"a": [1, 2], "b": [3, 7]}, size=1)
    tables = tc.sensitivity_table("mean", over=over, relation="bounded")
    assert {name: table.value for name, table in tables.items()} == {
        "a": Fraction(1),
        "b": Fraction(4),
    }
    with pytest.raises(UsageError, match="over must be Records"):
        tc.sensitivity_table("mean", over=[1, 2])
