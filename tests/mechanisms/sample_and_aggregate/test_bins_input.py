"""Sample-and-aggregate: what is refused with what to do, and what is never seen."""

import math

import numpy as np
import pandas as pd
import pytest

from tacit.errors import UsageError
from tacit.mechanisms.sample_and_aggregate import binning as room
from tacit.mechanisms.sample_and_aggregate.mechanism import sample_and_aggregate

HIGH = 500
"""An epsilon at which the noise is far below what is compared."""


def test_answers_of_bins_stay_inside():
    m = sample_and_aggregate(np.mean, 2, (0, 10**6), 1, default=0)
    before = repr(m), repr(vars(m).keys())
    m([123456.5, 123456.5])
    assert (repr(m), repr(vars(m).keys())) == before
    assert "123456" not in repr(vars(m)) + m.explain() + str(m.describe())


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"function": 3}, "must be a function"),
        ({"bins": 0}, "at least 1"),
        ({"bins": 2.5}, "whole number"),
        ({"bins": 1 << 30}, "at most"),
        ({"bounds": None}, "give bounds"),
        ({"bounds": (5, 5)}, "must be below"),
        ({"bounds": (5, 1)}, "must be below"),
        ({"bounds": 7}, "bounds are"),
        ({"bounds": [(0, 1), 3]}, "bounds are"),
        ({"bounds": (0, math.inf)}, "finite"),
        ({"epsilon": None}, "give epsilon"),
        ({"epsilon": 0}, "above zero"),
        ({"epsilon": -1}, "above zero"),
        ({"aggregate": "means"}, "did you mean 'mean'"),
        ({"relation": "sideways"}, "relation"),
        ({"delta": "1e-6"}, "takes no delta"),
        ({"delta": 1, "aggregate": "smooth"}, "below 1"),
        ({"delta": 0, "aggregate": "smooth"}, "above zero"),
        ({"default": 11}, "outside the bounds"),
        ({"default": [1, 2]}, "default has 2"),
        ({"grid": 0}, "above zero"),
        ({"grid": 100}, "above the range"),
        ({"grid": "1e-20"}, "coarser grid"),
        ({"timeout": 0}, "above zero"),
        ({"parallel": 0}, "at least 1"),
        ({"parallel": "nonesuch"}, "joblib has no backend"),
        ({"parallel": "thredding"}, "did you mean 'threading'"),
        ({"parallel": "dask", "timeout": 3}, "cannot end one bin alone"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(change, message):
    asked = {"function": np.mean, "bins": 5, "bounds": (0, 10), "epsilon": 1} | change
    with pytest.raises(UsageError, match=message):
        sample_and_aggregate(**asked)


@pytest.mark.parametrize("data", ["text", 5, {"x": [1], "y": [1, 2]}, {}])
def test_what_is_no_data_set_is_refused(data):
    with pytest.raises(UsageError, match=r"records|columns"):
        sample_and_aggregate(np.mean, 5, (0, 10), 1)(data)


def test_too_many_ways_are_refused():
    with pytest.raises(UsageError, match="ways"):
        sample_and_aggregate(np.mean, 5, (0, 10), 1).distribution(list(range(9)))
    with pytest.raises(UsageError, match="one number"):
        sample_and_aggregate(np.mean, 5, [(0, 10), (0, 1)], 1).distribution([1])


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


@pytest.mark.parametrize(
    ("bounds", "epsilon", "words"),
    [
        ((0, 10**400), 1, "within 1e120"),
        ((0, "1e-330"), 1, "1e-120 apart"),
        ((10**30, 10**30 + 1), 1, "2.62 units"),
        ((0, 1), "1e-130", "at least 1e-120"),
    ],
)
@pytest.mark.parametrize("aggregate", ["mean", "median", "winsorized_mean"])
def test_what_floats_cannot_carry_is_refused_before_any_record_is_read(
    aggregate, bounds, epsilon, words
):
    with pytest.raises(UsageError, match=words):
        sample_and_aggregate(max, 2, bounds, epsilon, aggregate=aggregate)
