"""Parameters of expressions come back from JSON as they were, to the bit."""

import datetime
import json

import pytest

from tacit.expressions.expression import col, literal, when
from tacit.expressions.functions import FAR, farthest, from_plain, to_plain

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


@pytest.mark.parametrize(
    ("value", "most"),
    [
        (literal(-3), 3),
        (literal(None), 0),
        (literal(float("-inf")), float("inf")),
        (literal("9"), float("inf")),
        (when(col("old")).then(4).otherwise(-7), 7),
        (when(col("old")).then(4).otherwise(col("age")), float("inf")),
        (when(col("old")).then(4).otherwise(None).fill(9), 9),
        (when(col("old")).then(4).otherwise(-7) + when(col("old")).then(1).otherwise(2), 9),
        (literal(1) - literal(1), 2),
        (literal(FAR) + literal(FAR), 2 * FAR),
        (literal(2) * literal(3), float("inf")),
    ],
    ids=str,
)
def test_no_value_is_farther_from_zero(value, most):
    assert farthest(value) == most
    for row in ({"old": True, "age": 1}, {"old": False, "age": 1}):
        found = value.evaluate(row)
        assert found is None or isinstance(found, str) or abs(found) <= most
