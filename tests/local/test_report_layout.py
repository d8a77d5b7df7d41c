"""Batches of reports: their shapes, and the range of each value."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import UsageError
from tacit.local.oracle import Layout

INTEGER = Layout("integer", 1, 1000)
BITS = Layout("bits", 14, 2)
ROWS = Layout("integers", 3, 5)


def test_a_batch_has_the_smallest_type_and_shape_that_hold_the_reports():
    shapes = [(layout.empty(7).shape, layout.empty(7).dtype) for layout in (INTEGER, BITS, ROWS)]
    assert shapes == [((7,), np.uint16), ((7, 2), np.uint8), ((7, 3), np.uint8)]


def test_lists_objects_and_truth_values_are_read_as_whole_numbers():
    assert INTEGER.check([1, 2]).tolist() == [1, 2]
    assert INTEGER.check(np.array([1, 2], object)).tolist() == [1, 2]
    assert INTEGER.check(np.array([True, False])).tolist() == [1, 0]
    assert ROWS.check([(1, 2, 3), (4, 0, 1)]).tolist() == [[1, 2, 3], [4, 0, 1]]
    assert BITS.check(np.asfortranarray([[255, 63], [0, 1]])).flags.c_contiguous


@pytest.mark.parametrize(
    ("layout", "reports", "problem"),
    [
        (INTEGER, [[1]], "shape"),
        (BITS, [1, 2], "shape"),
        (ROWS, [[1, 2]], "shape"),
        (ROWS, [[1, 2, 3], [1]], "one length"),
        (INTEGER, [0.5], "whole numbers"),
        (INTEGER, ["1"], "whole numbers"),
        (INTEGER, np.ma.masked_array([1, 2], [False, True]), "missing"),
    ],
)
def test_what_is_no_batch_is_refused(layout, reports, problem):
    with pytest.raises(UsageError, match=problem):
        layout.check(reports)


def test_values_out_of_range_and_bits_behind_the_last_are_invalid():
    assert INTEGER.valid(INTEGER.check([0, 999, 1000, -1])).tolist() == [True, True, False, False]
    assert ROWS.valid(ROWS.check([[0, 4, 2], [0, 5, 2]])).tolist() == [True, False]
    assert BITS.valid(BITS.check([[255, 63], [0, 64]])).tolist() == [True, False]
