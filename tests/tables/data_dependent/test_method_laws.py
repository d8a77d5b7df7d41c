"""Mechanisms on records of groups, held to their maps: exact laws, and what an engine counts."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.audit import verify
from tacit.core import Space, step_from
from tacit.errors import MismatchError
from tacit.mechanisms import measurement
from tacit.mechanisms.propose_test_release.mechanism import ProposeTestRelease
from tacit.mechanisms.smooth.smooth_noise import SmoothNoise
from tacit.tables.chain.space import UnitDistance, table_space
from tacit.tables.data_dependent.records import (
    ChangedRecords,
    CountedRecords,
    EachGroup,
    RecordsByGroup,
)
from tacit.tables.data_dependent.sample_steps import (
    BinnedRecords,
    ChangedBins,
    MeanOfPeople,
    PeopleInBins,
    SampleMean,
)
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.release.collector import Collector
from tacit.tables.spec import privacy_unit as contributions

CELLS = 2


def column(groups):
    return CountedRecords(groups, Fraction(0), Fraction(4), CELLS)


def records_of(groups):
    return Space(column(groups), ChangedRecords())


def bins_of(groups, bins):
    return Space(BinnedRecords(column(groups), bins), ChangedBins())


def data_sets(groups, most):
    """Every data set of at most so many records, over all groups."""
    places = list(itertools.product(range(groups), range(CELLS + 1)))
    for size in range(most + 1):
        for records in itertools.combinations_with_replacement(places, size):
            yield [
                np.unique(
                    np.array([z for g, z in records if g == own], np.int64), return_counts=True
                )
                for own in range(groups)
            ]


def binned(groups, bins, most):
    return list(data_sets(groups * bins, most))


ON_RECORDS = [
    SmoothNoise("median", 1, distribution="cauchy", grid=2),
    SmoothNoise("mean", 1, "1/20", grid=1),
    SmoothNoise("var", rho="1/2", sigma=1, distribution="arsinh_normal", grid=1),
    SampleMean("median", 2, 1, grid=2),
    SampleMean("mean", 2, "1/2", grid=1),
]
TESTED = ProposeTestRelease("median", 1, 1, "1/10", grid=1)


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


def test_noise_of_half_the_scale_in_each_group_is_caught():
    m = records_of(2) >> EachGroup(SmoothNoise("median", 2, distribution="cauchy", grid=2))
    wrong = measurement(m.input, m.function, lambda d: m.map(d) / 2, distribution=m.law)
    assert verify(wrong, list(data_sets(2, 2))).broken


@pytest.mark.parametrize(
    ("space", "step"),
    [
        *((records_of(1), EachGroup(inner)) for inner in [*ON_RECORDS, TESTED]),
        (bins_of(1, 2), MeanOfPeople("std", 1, "1/2")),
    ],
    ids=str,
)
def test_mechanisms_are_built_again_from_their_description_and_grow(space, step):
    again = step_from(step.describe())
    losses = [(space >> step).map(d) for d in range(4)]
    assert losses == [(space >> again).map(d) for d in range(4)]
    assert losses[0] in (0, (0, 0))
    assert losses == sorted(losses)
    assert (space >> step).distribution(
        [(np.array([1]), np.array([2]))] * (2 if step.name == "mean_of_people" else 1)
    )


def test_distances_of_domains_with_themselves_are_zero():
    for space in (records_of(2), bins_of(2, 3)):
        drawn = space.domain.sample(random.Random(5))
        assert space.domain.contains(drawn)
        assert space.metric.distance(drawn, drawn) == 0
        assert str(space)


def test_steps_are_refused_on_other_spaces():
    people = table_space({"x": "integer"}, "person")
    with pytest.raises(MismatchError, match="SymmetricDistance"):
        people >> RecordsByGroup("x", "0", "1", 4, 1)
    with pytest.raises(MismatchError, match="counted records"):
        people >> EachGroup(ON_RECORDS[0])
    with pytest.raises(MismatchError, match="bins"):
        records_of(1) >> MeanOfPeople("median", 1)


# ---- what the engine counts, on drawn tables of neighbours

PEOPLE, KEYS = [1, 2, 3, 4, 5], (("a",), ("b",), ("c",))
ASKED = {
    "middle": tc.median("x", 0, 4, method="smooth"),
    "spread": tc.std("y", -1, 1, method="ptr", bound="1/4"),
    "sampled": tc.mean("x", 0, 4, method="sample_and_aggregate", bins=3),
}


def draw_table(source):
    rows = [
        {
            "person": source.choice(PEOPLE),
            "g": source.choice("abcd"),
            "x": source.choice([-3, 0, 1, 4, 9]),
            "y": source.choice([float("nan"), -0.5, 0.25, float("inf")]),
        }
        for _ in range(source.randint(0, 14))
    ]
    return pd.DataFrame(rows, columns=["person", "g", "x", "y"]).astype(
        {"person": "int64", "g": "str", "x": "int64", "y": "float64"}
    )


def other_table(table, source, unit):
    if unit.column is None:
        kept = table.drop(index=list(table.index[: source.randint(0, 2)]))
        return pd.concat([kept, draw_table(source).iloc[: source.randint(0, 2)]])
    gone = source.sample(PEOPLE, source.randint(0, 2))
    new = draw_table(source)
    return pd.concat([table[~table["person"].isin(gone)], new[new["person"].isin(gone)]])


def vectors(table, unit):
    source = open_source(table, name="drawn")
    query = Query(source.schema, unit, by=("g",), keys=KEYS, aggregates=tuple(ASKED.items()))
    plan = Plan(query, tc.epsilon_delta(1, "1e-3"))
    chains = plan.chains(len(KEYS))
    found = Collector(source).collect(plan).vectors(chains, list(KEYS))
    source.close()
    return [
        (plan.measurement(end, part.on_people), end[0], found[end[0]])
        for part, ends in zip(plan.parts, chains, strict=True)
        for end in ends
    ]


@pytest.mark.full
@pytest.mark.parametrize(
    "unit",
    [
        tc.one_row_each,
        tc.unit("person", rows=1),
        tc.unit("person", rows=2, groups=1),
        tc.unit("person", rows=3, groups=2),
    ],
    ids=str,
)
def test_records_and_bins_keep_their_maps_whatever_the_salt(unit, monkeypatch):
    moved = 0
    for seed in range(12):
        monkeypatch.setattr(contributions, "new_salt", lambda seed=seed: f"salt {seed}")
        source = random.Random(f"{unit} {seed}")
        u = draw_table(source)
        v = other_table(u, source, unit)
        d_in = UnitDistance(unit.column).distance(u.to_dict("list"), v.to_dict("list"))
        for (chain, step, left), (_, _, right) in zip(
            vectors(u, unit), vectors(v, unit), strict=True
        ):
            limit = Fraction(d_in)
            for link in chain.links[:-1]:
                limit = link.map(limit)
            metric = chain.links[-2].output.metric
            assert metric.distance(left, right) <= limit, (step, seed)
            moved += metric.distance(left, right) > 0
    assert moved > 10


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


def test_one_person_attains_the_map_of_the_records():
    rows = pd.DataFrame({"person": [1, 1], "g": ["a", "b"], "x": [1, 4], "y": [0.0, 0.1]})
    unit = tc.unit("person", rows=2)
    with_one, without = vectors(rows, unit), vectors(rows.iloc[:0], unit)
    for (chain, _, left), (_, _, right) in zip(with_one, without, strict=True):
        assert chain.links[-2].output.metric.distance(left, right) == 2


def test_bins_of_several_groups_are_bins_of_each():
    records = Space(CountedRecords(3, Fraction(0), Fraction(4), 4), ChangedRecords())
    built = records >> EachGroup(SampleMean("mean", bins=2, epsilon=1))
    assert built.map(6) == 6
