"""Bins of people: whole rows, one bin each, and the mean of people by its map."""

from fractions import Fraction

import pandas as pd
import pytest

import tacit as tc
from support.tables.grouped_records import data_sets
from support.tables.small_groups import bins_of, vectors
from tacit.audit import verify
from tacit.core import Space
from tacit.mechanisms import measurement
from tacit.tables.data_dependent.steps import (
    ChangedRecords,
    CountedRecords,
    EachGroup,
    MeanOfPeople,
    PeopleInBins,
    SampleMean,
)


def binned(groups, bins, most):
    return list(data_sets(groups * bins, most))


@pytest.mark.full
@pytest.mark.parametrize("statistic", ["median", "mean", "std"])
@pytest.mark.parametrize(("groups", "bins"), [(1, 2), (2, 1)])
def test_the_mean_of_people_keeps_its_map_and_attains_it(statistic, groups, bins):
    m = bins_of(groups, bins) >> MeanOfPeople(statistic, 1, "1/2")
    verdict = verify(m, binned(groups, bins, 2), d_in=2).or_raise()
    assert verdict.kind == "exact"
    assert verdict.tight


def test_a_map_that_is_cut_is_caught():
    right = bins_of(1, 2) >> MeanOfPeople("median", 1, "1/2")
    wrong = measurement(
        right.input,
        right.function,
        lambda d: right.map(d) * 2 / 3,
        distribution=right.law,
    )
    assert verify(wrong, binned(1, 2, 2)).broken


@pytest.mark.full
def test_a_person_keeps_whole_rows_and_one_bin():
    table = pd.DataFrame(
        {"person": [7] * 6 + [8], "g": list("aabbcaa"), "x": [0, 1, 2, 3, 4, 0, 2], "y": 0.0}
    )
    unit = tc.unit("person", rows=2, groups=1)
    for _ in range(10):
        for _, step, found in vectors(table, unit):
            if isinstance(step, PeopleInBins):
                used = [sum(len(part[0]) for part in found[i : i + 3]) for i in (0, 3, 6)]
                bins = [i % 3 for i, part in enumerate(found) if len(part[0])]
                assert len(set(bins)) <= 2
                assert sum(used) <= 3
            elif step.column == "x":
                assert sum(int(counts.sum()) for _, counts in found) == 3  # 2 of one, 1 of another


def test_bins_of_several_groups_are_bins_of_each():
    records = Space(CountedRecords(3, Fraction(0), Fraction(4), 4), ChangedRecords())
    built = records >> EachGroup(SampleMean("mean", bins=2, epsilon=1))
    assert built.map(6) == 6
