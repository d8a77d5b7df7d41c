"""A function on a bin answers within its bounds, whatever it does."""

import math
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from tacit.mechanisms import sample_and_aggregate as room
from tacit.mechanisms.aggregators import BinFunction, coordinates
from tacit.mechanisms.sample_and_aggregate import sample_and_aggregate

HIGH, SURE = 500, 10**9
"""Epsilons at which the noise is far below what is compared."""


def raises(content):
    raise RuntimeError(f"a secret: {content}")


def leaves(content):
    sys.exit(3)


def warns(content):
    warnings.warn(f"a secret: {content}", stacklevel=1)
    return 7.0


@pytest.mark.parametrize(
    "function",
    [
        raises,
        leaves,
        lambda content: math.nan,
        lambda content: None,
        lambda content: "no number",
        lambda content: [1.0, 2.0],
        lambda content: np.zeros((2, 2)),
        lambda content: {"a": 1},
        lambda content: 1j,
        lambda content: 1 / 0,
    ],
)
def test_a_function_that_fails_counts_as_the_default_and_nothing_is_seen(function, capsys, caplog):
    m = sample_and_aggregate(function, 4, (0, 8), SURE, default=2)
    assert m([5, 6, 7]) == pytest.approx(2, abs=1e-3)
    assert m([]) == pytest.approx(2, abs=1e-3)
    seen = capsys.readouterr()
    assert seen.out + seen.err + caplog.text == ""


def test_answers_are_clipped_and_warnings_are_not_shown(capsys):
    for value, shown in [(math.inf, 8), (-math.inf, 0), (1e300, 8), (np.float32(3), 3), ([5], 5)]:
        ask = BinFunction(lambda content, value=value: value, coordinates((0, 8), None, 1, 0))
        assert ask([1]) == (shown,)
    m = sample_and_aggregate(warns, 1, (0, 8), SURE)
    assert m([1]) == pytest.approx(7, abs=1e-3)
    assert capsys.readouterr().err == ""


def test_a_vector_of_the_wrong_length_counts_as_the_defaults():
    m = sample_and_aggregate(lambda rows: 3, 5, [(0, 4), (0, 6)], SURE, default=(1, 2))
    assert m([1, 2, 3]) == pytest.approx([1, 2], abs=1e-3)


def test_answers_of_bins_stay_inside():
    m = sample_and_aggregate(np.mean, 2, (0, 10**6), 1, default=0)
    before = repr(m), repr(vars(m).keys())
    m([123456.5, 123456.5])
    assert (repr(m), repr(vars(m).keys())) == before
    assert "123456" not in repr(vars(m)) + m.explain() + str(m.describe())


@pytest.mark.parametrize("kept", [lambda t: t, lambda t: t["x"]], ids=["frame", "series"])
def test_no_label_of_a_pandas_row_reaches_a_bin(kept):
    table = pd.DataFrame({"x": range(40)}, index=range(1000, 1040))
    parts = [part for part in room.into_bins(kept(table), 4) if part is not None]
    assert sorted(x for part in parts for x in np.ravel(part)) == list(range(40))
    assert all(part.index.tolist() == list(range(len(part))) for part in parts)


class _Panic(BaseException):
    """What an extension raises that is no Exception."""


def test_what_is_no_exception_counts_as_the_default_too():
    def panics(content):
        raise _Panic(str(content))

    m = sample_and_aggregate(panics, 4, (0, 8), HIGH, default=2)
    assert abs(m([1, 2, 3]) - 2) < 0.5

    def stops(content):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample_and_aggregate(stops, 1, (0, 8), HIGH)([1])
