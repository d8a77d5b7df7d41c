"""Parameters of expressions come back from JSON as they were, to the bit."""

import datetime
import json

import pytest

from tacit.expressions.node import from_plain, to_plain

VALUES = [
    None,
    True,
    -(1 << 125),
    "a 'text'",
    0.1,
    float("inf"),
    5e-324,
    -0.0,
    datetime.date(1, 1, 1),
    (1, ("a", datetime.date(2026, 1, 31)), 0.5),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_parameter_comes_back(value):
    again = from_plain(json.loads(json.dumps(to_plain(value))))
    assert (again, type(again), repr(again)) == (value, type(value), repr(value))
