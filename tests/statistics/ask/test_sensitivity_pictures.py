"""Profiles, tables and pictures: the numbers they hold and that they are drawn whole."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit.statistics as ts
from tacit.errors import InfeasibleError, UsageError

CLASSIC = ts.Records([1, 2, 3, 10, 11], size=3)
TABLE = {"year": [1, 2, 2, 2, 5, 5, 7, 8, 9, 9], "days": [1, 2, 3, 4, 5, 6, 7, 8, 15, 20]}


def texts(figure: Any) -> list[str]:
    import matplotlib.text

    return [t.get_text() for t in figure.findobj(matplotlib.text.Text) if t.get_text()]


def save(figure: Any, folder: Path) -> None:
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        path = folder / f"figure.{kind}"
        figure.savefig(path)
        assert path.read_bytes().startswith(start)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ["median", "mean", "count", "sum", "max", "var", "std"])
def test_an_answer_draws_its_neighbours(name: str, tmp_path: Path) -> None:
    figure = ts.sensitivity(name, CLASSIC).plot()
    shown = " ".join(texts(figure))
    assert f"Global sensitivity of the {name}" in shown
    assert f"{name}(x) = " in shown
    assert f"{name}(y) = " in shown
    assert "gap = " in shown
    save(figure, tmp_path)


@pytest.mark.full
def test_many_records_are_drawn_as_a_rug(tmp_path: Path) -> None:
    over = ts.Records(np.arange(5000.0) ** 2, size=2500)
    save(ts.sensitivity("mean", over, distance=40, relation="bounded").plot(), tmp_path)


@pytest.mark.full
def test_a_histogram_shows_its_edges_and_both_counts(tmp_path: Path) -> None:
    answer = ts.sensitivity(ts.Histogram([0, 5, 20]), CLASSIC, relation="bounded")
    figure = answer.plot()
    strip = figure.axes[1]
    shown = [bar.get_height() for bar in strip.patches]
    x, y = (answer.statistic.of(sample) for sample in answer.pair)
    assert shown == [*x, *y]
    assert [label.get_text() for label in strip.get_xticklabels()] == ["below 5", "5 or more"]
    save(figure, tmp_path)
    many = ts.Histogram(range(-20, 20))
    save(ts.sensitivity(many, ts.Interval(-5, 5, size=3)).plot(), tmp_path)
    save(ts.sensitivity(ts.Histogram([0, 1]), CLASSIC).plot(), tmp_path)


def test_no_gap_is_drawn_on_a_readable_scale(tmp_path: Path) -> None:
    figure = ts.sensitivity("count", CLASSIC, relation="bounded").plot()
    low, high = figure.axes[1].get_xlim()
    assert high - low >= 1
    assert any("count(x) = count(y) = 3" in t.get_text() for t in figure.axes[1].texts)
    save(figure, tmp_path)


@pytest.mark.full
def test_a_profile_has_a_panel_for_every_column_scope_and_relation(tmp_path: Path) -> None:
    head = {name: column[:6] for name, column in TABLE.items()}
    profile = ts.sensitivity_profile(
        ["mean", "median", "count"], ts.Records(TABLE, size=6), range(1, 6), at=head
    )
    figure = profile.plot()
    assert len(figure.axes) == 2 * 2 * 2
    for panel in figure.axes:
        assert [float(t).is_integer() for t in panel.get_xticks()]
        assert len(panel.get_lines()) == 3
    save(figure, tmp_path)
    assert repr(profile) == "Profile(mean, median, count: 120 points)"
    frame = profile.to_pandas()
    assert len(frame) == 2 * 2 * 2 * 3 * 5
    row = frame.query(
        "column == 'days' and scope == 'global' and relation == 'unbounded' "
        "and statistic == 'mean' and distance == 1"
    )
    assert row["value"].item() == pytest.approx(17 / 6)
    save(profile.plot(log=True), tmp_path)


def test_a_profile_leaves_gaps_where_a_distance_cannot_be_made() -> None:
    profile = ts.sensitivity_profile("mean", CLASSIC, [2, 3], relations="add", within=False)
    assert [row.value is None for row in profile.rows] == [False, True]
    assert profile.to_pandas()["value"].isna().tolist() == [False, True]
    with pytest.raises(InfeasibleError, match="greatest distance is 2"):
        ts.sensitivity_profile("mean", CLASSIC, [3, 4], relations="add", within=False)
    with pytest.raises(UsageError, match="at least one"):
        ts.sensitivity_profile([], CLASSIC)


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


def test_nothing_is_drawn_before_it_is_asked_for() -> None:
    code = (
        "import sys, tacit.statistics as ts;"
        "ts.sensitivity('mean', ts.Records([1, 2, 3], size=2));"
        "ts.sensitivity_profile('mean', ts.Records([1, 2, 3], size=2), [1]);"
        "assert not {'matplotlib', 'pandas', 'rich', 'joblib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.full
def test_pyplot_is_never_touched() -> None:
    code = (
        "import sys, tacit.statistics as ts;"
        "ts.sensitivity('mean', ts.Records([1, 2, 3], size=2)).plot();"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
