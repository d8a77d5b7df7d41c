"""Records as a person's function meets them."""

import numpy as np
import pytest

from tacit.core import Frame, Vector
from tacit.transformations.rows import keep_records, records, total


def test_a_column_is_its_values():
    domain = Vector(float)
    assert records(domain, domain.read([1, 2.5])) == [1.0, 2.5]


def test_a_row_of_a_table_is_a_dict():
    domain = Frame({"age": int, "job": str})
    read = domain.read({"age": [3, 4], "job": ["a", "b"]})
    assert records(domain, read) == [{"age": 3, "job": "a"}, {"age": 4, "job": "b"}]


def test_rows_that_are_marked_are_kept_in_their_order():
    kept = [True, False, True]
    assert keep_records([1, 2, 3], kept) == [1, 3]
    assert keep_records(np.array([1, 2, 3]), kept).tolist() == [1, 3]
    table = {"a": [1, 2, 3], "b": np.array([4, 5, 6])}
    found = keep_records(table, kept)
    assert (found["a"], found["b"].tolist()) == ([1, 3], [4, 6])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        keep_records([1, 2], kept)


def test_a_function_that_raises_answers_its_default():
    inverse = total(lambda x: 1 / x, default=-1)
    assert [inverse(x) for x in (2, 0, "text")] == [0.5, -1, -1]

    def leaves(record):
        raise SystemExit

    with pytest.raises(SystemExit):  # only what a value does is caught, not what a user does
        total(leaves, default=0)(1)
