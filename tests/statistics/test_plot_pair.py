"""The picture of an answer: its neighbours, as dots, as a rug, as counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tacit.statistics as ts
from support.figures import CLASSIC, save, texts


@pytest.mark.full
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
