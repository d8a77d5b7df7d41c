"""Public keys in all the forms in which they are listed."""

import datetime

import numpy as np
import pyarrow
import pytest

from tacit.errors import UsageError
from tacit.tables.cell_axis import public_keys

DAY = datetime.date(2024, 2, 29)


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ([3, 1, 2], ((3,), (1,), (2,))),
        (range(2), ((0,), (1,))),
        ([(1,), 2], ((1,), (2,))),
        ([True, None, "a", DAY], ((True,), (None,), ("a",), (DAY,))),
        ([2.0, float("nan")], ((2,), (None,))),
        (np.array([1, 2], dtype=np.int8), ((1,), (2,))),
        ({"a": ["x", "y"]}, (("x",), ("y",))),
        (pyarrow.table({"b": [0, 0, 0], "a": [5, 5, None]}), ((5,), (None,))),
    ],
    ids=str,
)
def test_every_form_of_one_column(keys, found):
    read = public_keys(["a"], keys)
    assert read == found
    assert [type(k) for (k,) in read] == [type(k) for (k,) in found]


def test_columns_of_a_mapping_or_table_come_in_the_order_of_the_question():
    keys = {"b": [1, 2], "a": ["x"], "other": [9]}
    assert public_keys(["a", "b"], keys) == (("x", 1), ("x", 2))
    assert public_keys(["a", "b"], pyarrow.table({"b": [1], "a": ["x"]})) == (("x", 1),)


@pytest.mark.parametrize(
    ("by", "keys", "why"),
    [
        (["a"], [], "list of keys is empty"),
        (["a"], {"a": []}, "list of keys is empty"),
        (["a"], "xy", "not the text"),
        (["a"], 7, "list of values"),
        (["a"], [1, 1.0], "given twice"),
        (["a"], [None, float("nan")], "given twice"),
        (["a"], [(1, 2)], "has 2"),
        (["a", "b"], [1, 2], "tuple"),
        (["a", "b"], [(1,)], "has 1"),
        (["a", "b"], {"a": [1]}, "no values for b"),
        (["a"], [0.5], "not a float"),
        (["a"], [b"x"], "not a bytes"),
        (["a"], ["\ud800"], "half of a character"),
    ],
    ids=str,
)
def test_what_is_no_list_of_keys_is_refused(by, keys, why):
    with pytest.raises(UsageError, match=why):
        public_keys(by, keys)
