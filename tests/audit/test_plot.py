"""The picture of a comparison: a histogram a method, and the errors over what was swept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tacit.audit.comparison import draw_comparison

pytest.importorskip("matplotlib")


@dataclass
class Row:
    method: str
    setting: str = ""
    value: float | None = None
    predicted: float = 1.0
    errors: Any = field(default_factory=lambda: np.array([0.5, 1.0, 1.5]))

    @property
    def measured(self) -> float:
        return float(self.errors.mean())

    standard_error = 0.1


@dataclass
class Comparison:
    rows: list[Row]
    statistic: str = "mean"
    size: float = 50.0

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.method for row in self.rows))

    def best(self, method: str) -> Row:
        return min((r for r in self.rows if r.method == method), key=lambda r: r.predicted)

    def percent(self, row: Row) -> Any:
        return 100 * row.errors / self.size


def drawn(*rows: Row) -> Any:
    comparison: Any = Comparison(list(rows))
    return draw_comparison(comparison)


def legend(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


@pytest.mark.full
def test_each_method_is_drawn_at_its_best_setting() -> None:
    figure = drawn(Row("global"), Row("smooth", "Cauchy", predicted=2.0), Row("smooth", "Laplace"))
    assert len(figure.axes) == 1
    assert legend(figure) == ["global", "smooth, Laplace"]
    assert figure.axes[0].get_xscale() == "log"


def test_a_setting_that_was_swept_has_a_panel_with_both_errors_in_percent() -> None:
    swept = [Row("sample and aggregate", f"k = {k}", k, predicted=k / 10) for k in (10, 20, 40)]
    figure = drawn(Row("global"), *swept)
    errors, sweep = figure.axes
    assert sweep.get_xlabel() == "bins"
    assert [t.get_text() for t in sweep.get_xticklabels()] == ["10", "20", "40"]
    predicted = sweep.lines[0]
    assert predicted.get_ydata().tolist() == pytest.approx([2.0, 4.0, 8.0])
    assert errors.get_xlabel() == "percent error of a release"


def test_one_setting_alone_is_no_sweep() -> None:
    assert len(drawn(Row("global"), Row("sample and aggregate", "k = 5", 5)).axes) == 1


def test_a_method_without_error_stands_at_the_end_and_says_so() -> None:
    figure = drawn(Row("global"), Row("smooth", errors=np.zeros(3)))
    assert legend(figure) == ["global", "smooth (no error)"]
    tiny = drawn(Row("global", errors=np.full(3, 1e9)), Row("smooth", errors=np.full(3, 1e-3)))
    assert legend(tiny)[1] == "smooth (errors below the axis)"


def test_a_method_that_always_refused_is_left_out() -> None:
    figure = drawn(Row("global"), Row("propose-test-release", errors=np.array([])))
    assert legend(figure) == ["global"]
