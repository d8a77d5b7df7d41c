"""Items of a question: missing and other answers are items, and no answer is repeated."""

import numpy as np
import pytest

from tacit.errors import UsageError
from tacit.local import (
    DirectEncoding,
    Items,
)


def test_missing_and_other_answers_are_items_and_stay_counted():
    items = Items(["a", "b"], other="other", missing="missing")
    grr = DirectEncoding(items, epsilon=4)
    answers = ["a", "b", None, float("nan"), np.nan, "c", 3, object(), [1], ("a",)]
    assert items.indices(answers).tolist() == [0, 1, 3, 3, 3, 2, 2, 2, 2, 2]
    assert grr.aggregate(grr.perturb_many(answers)).n == len(answers)
    plain = DirectEncoding(["a", "b"], epsilon=1)
    for odd in ("c", None, [1]):
        with pytest.raises(UsageError, match="not one of the listed items") as caught:
            plain.perturb(odd)
        assert repr(odd) not in str(caught.value)


def test_whole_numbers_outside_a_range_are_refused_or_other():
    with pytest.raises(UsageError):
        DirectEncoding(4, epsilon=1).perturb_many(np.array([0, 4]))
    with pytest.raises(UsageError):
        DirectEncoding(4, epsilon=1).perturb_many(np.array([0, -1]))
    items = Items(range(4), other=9)
    assert items.indices(np.array([0, 7, 3])).tolist() == [0, 4, 3]
