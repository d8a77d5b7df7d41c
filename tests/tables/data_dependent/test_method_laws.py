"""Mechanisms on records of groups, held to their maps: exact laws, and what an engine counts."""

import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from support.tables.small_groups import ON_RECORDS, PEOPLE, TESTED, bins_of, records_of, vectors
from tacit.core import step_from
from tacit.errors import MismatchError
from tacit.tables import privacy_unit as contributions
from tacit.tables.data_dependent.steps import EachGroup, MeanOfPeople, RecordsByGroup
from tacit.tables.steps import UnitDistance, table_space


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
