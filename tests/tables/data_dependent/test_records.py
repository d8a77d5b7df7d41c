"""Records of groups: each group keeps the map of one, and no distance of anything with itself."""

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from support.tables.grouped_records import data_sets
from support.tables.small_groups import ON_RECORDS, TESTED, records_of, vectors
from tacit.audit import verify
from tacit.mechanisms import measurement
from tacit.mechanisms.smooth import SmoothNoise
from tacit.tables.data_dependent.steps import EachGroup


@pytest.mark.full
@pytest.mark.parametrize("inner", ON_RECORDS, ids=str)
@pytest.mark.parametrize(("groups", "most"), [(1, 3), (2, 2)])
def test_each_group_keeps_the_map_of_one(inner, groups, most):
    m = records_of(groups) >> EachGroup(inner)
    verdict = verify(m, list(data_sets(groups, most)), d_in=2).or_raise()
    assert verdict.kind == "exact"


@pytest.mark.full
def test_each_group_keeps_the_map_of_a_tested_bound():
    few = [([], []), ([0], [1]), ([0, 2], [1, 1])]
    data = [[(np.array(cells, np.int64), np.array(counts, np.int64))] for cells, counts in few]
    assert verify(records_of(1) >> EachGroup(TESTED), data).or_raise().kind == "exact"


def test_noise_of_half_the_scale_in_each_group_is_caught():
    m = records_of(2) >> EachGroup(SmoothNoise("median", 2, distribution="cauchy", grid=2))
    wrong = measurement(m.input, m.function, lambda d: m.map(d) / 2, distribution=m.law)
    assert verify(wrong, list(data_sets(2, 2))).broken


def test_one_person_attains_the_map_of_the_records():
    rows = pd.DataFrame({"person": [1, 1], "g": ["a", "b"], "x": [1, 4], "y": [0.0, 0.1]})
    unit = tc.unit("person", rows=2)
    with_one, without = vectors(rows, unit), vectors(rows.iloc[:0], unit)
    for (chain, _, left), (_, _, right) in zip(with_one, without, strict=True):
        assert chain.links[-2].output.metric.distance(left, right) == 2
