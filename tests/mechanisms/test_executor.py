"""Bins are answered here or in other processes: alike, and with progress for a person alone."""

import io
import sys

import numpy as np
import pytest

from tacit.mechanisms.sample_and_aggregate import sample_and_aggregate

SURE = 10**9
"""An epsilon at which the noise is far below what is compared."""


@pytest.mark.full
@pytest.mark.parametrize("parallel", [2, "threading", ("loky", 2)])
def test_bins_answered_elsewhere_are_the_same(parallel):
    pytest.importorskip("joblib")
    offset = 3  # a closure: not importable by name
    m = sample_and_aggregate(
        lambda content: len(content) + offset,
        4,
        (0, 40),
        SURE,
        grid=1,
        default=offset,  # of a bin that chance leaves empty, one time in eighty
        parallel=parallel,
    )
    assert m(list(range(20))) == pytest.approx(5 + offset, abs=0.01)


def test_progress_is_shown_to_a_person_alone(monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    m = sample_and_aggregate(np.mean, 3, (0, 1), 1)
    m([1, 2])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    m([1, 2])
    assert "bins" in screen.getvalue()
