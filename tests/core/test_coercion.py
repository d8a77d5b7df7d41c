"""Raw values into arrays: nothing raises, no row is dropped, no value changes another."""

import math

import numpy as np
import pytest

from tacit.core.domains import floats, whole


class Odd:
    """A value that raises when it is asked for a number."""

    def __float__(self):
        raise RuntimeError("no number")


VALUES = [None, "3", b"3", True, 2**63, -(2**70), 10**400, math.nan, -math.inf, 2.5, Odd(), [1]]


def test_each_value_is_read_alone():
    for reads in (floats, whole):
        alone = [reads([value])[0] for value in VALUES]
        together = reads(VALUES)
        assert len(together) == len(VALUES)
        assert np.array_equal(together, np.array(alone), equal_nan=together.dtype.kind == "f")


def test_what_is_no_number_is_missing_or_zero():
    assert np.isnan(floats([None, "3", b"3", Odd(), [1], math.nan])).all()
    assert whole([None, "3", Odd(), math.nan]).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.uint64, np.bool_, object])
def test_arrays_and_lists_are_alike(dtype):
    values = np.array([0, 1, 1, 0], dtype=dtype)
    assert whole(values).tolist() == whole(values.tolist()).tolist() == [0, 1, 1, 0]
    assert floats(values).tolist() == [0.0, 1.0, 1.0, 0.0]


def test_what_is_too_large_stays_at_the_end():
    ends = np.iinfo(np.int64)
    large = np.array([2**64 - 1], dtype=np.uint64)
    assert whole(large).tolist() == whole([2**64 - 1]).tolist() == [ends.max]
    assert whole([1e300, -1e300, math.inf]).tolist() == [ends.max, ends.min, ends.max]
    assert floats([10**400, -(10**400)]).tolist() == [math.inf, -math.inf]


def test_the_array_is_a_new_one():
    given = np.array([1.0, 2.0])
    floats(given)[0] = 9
    assert given.tolist() == [1.0, 2.0]
