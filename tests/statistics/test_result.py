"""What an answer about a sensitivity says of itself: its value, its witness, what it is not."""

import numpy as np
import pytest

import tacit as tc
from tacit.statistics import lower_bound

POPULATION = tc.Records([1, 2, 2, 5, 9], size=3)


def cells(found):
    (table,) = found.card().parts
    return dict(table.rows)


@pytest.mark.parametrize("statistic", ["mean", "median", "sum", "max"])
@pytest.mark.parametrize("relation", ["unbounded", "bounded", "add", "remove"])
def test_the_witness_that_is_shown_attains_the_value_that_is_shown(statistic, relation):
    found = tc.sensitivity(statistic, over=POPULATION, relation=relation)
    shown = cells(found)
    pair = [[float(v) for v in shown[n].split(", ")] for n in ("a data set", "its neighbour")]
    gap = abs(getattr(np, statistic)(pair[0]) - getattr(np, statistic)(pair[1]))
    assert gap == pytest.approx(float(found))
    assert shown["neighbours"] == f"{relation}, within 1"
    assert found.method in shown["found by"]


def test_long_witnesses_are_cut_and_counted():
    found = tc.sensitivity("mean", over=tc.Values(range(5), size=100))
    assert ", and 76 more" in cells(found)["a data set"]


def test_what_is_no_guarantee_says_so():
    local = tc.sensitivity("mean", over=POPULATION, at=[1, 2, 2])
    assert local.card().title == "Local sensitivity of mean"
    assert any("no guarantee: it is local" in note for note in local.card().notes)
    assert tc.sensitivity("mean", over=POPULATION).card().notes == []
    assert lower_bound(np.mean, POPULATION).card().notes
