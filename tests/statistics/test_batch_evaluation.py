"""A function is evaluated on many releases at once, over processes, with progress."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tacit.statistics as ts
from tacit.statistics import search as evaluate
from tacit.statistics.search import batched


def spread_of(x: Any) -> float:
    return float(x[-1] - x[0])


def test_batched_and_single_functions_agree() -> None:
    over = ts.Records([0, 1, 1, 4, 9, 9, 16], size=4)
    for relation in ("unbounded", "add", "remove", "bounded"):
        one = ts.sensitivity(spread_of, over, distance=2, relation=relation)
        many = ts.sensitivity(
            batched(lambda rows: rows[:, -1] - rows[:, 0]), over, distance=2, relation=relation
        )
        assert one.value == many.value
        assert one.witness == many.witness


def test_slow_functions_are_spread_over_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    import joblib

    monkeypatch.setattr(evaluate, "_SPREAD_AFTER", -1.0)
    over = ts.Records(range(12), size=6)
    with joblib.parallel_config(backend="threading", n_jobs=1):
        assert ts.sensitivity(spread_of, over).value == ts.sensitivity(np.ptp, over).value == 7


def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evaluate, "_SHOW_AFTER", 0.0)
    over = ts.Records(range(9), size=4)
    ts.sensitivity(spread_of, over)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    ts.sensitivity(spread_of, over)
    assert "evaluating spread_of" in capsys.readouterr().err
