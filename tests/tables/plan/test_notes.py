"""What a preview notes: the groups of a person, where they cost and nobody named them."""

from __future__ import annotations

import pyarrow as pa

import tacit as tc

TABLE = pa.table({"who": [1, 1, 2], "site": ["a", "b", "a"], "x": [1, 2, 3]})
UNNAMED = "the unit names no groups"


def notes(unit, keys=("a", "b"), budget=None, asked=None, **price):
    session = tc.Session(TABLE, unit, budget or tc.epsilon(9), tc.in_memory, name="t")
    question = session.group_by("site", keys=None if keys is None else list(keys))
    found = question.agg(n=asked or tc.count_people()).preview(**(price or {"epsilon": 1}))
    return [note for note in found.notes if UNNAMED in note], found


def test_groups_that_nobody_named_are_noted_where_they_cost():
    (note,), dear = notes(tc.unit("who", rows=8))
    assert "tc.unit('who', rows=8, groups=1)" in note
    assert note in str(dear)
    none, cheap = notes(tc.unit("who", rows=8, groups=1))
    assert not none
    assert dear.errors["n"][0] >= 8 * cheap.errors["n"][0]
    assert not notes(tc.unit("who", rows=8, groups=8))[0]


def test_where_they_cost_nothing_nothing_is_noted():
    assert not notes(tc.unit("who", rows=1))[0]
    assert not notes(tc.one_row_each)[0]
    assert not notes(tc.unit("who", rows=8), keys=["a"])[0]
    assert not notes(tc.unit("who", rows=8), asked=tc.mean("x", 0, 9))[0]


def test_keys_that_are_found_cost_as_well():
    found, _ = notes(
        tc.unit("who", rows=8),
        keys=None,
        budget=tc.epsilon_delta(9, "1e-5"),
        asked=tc.count(),
        epsilon=1,
        delta="1e-6",
    )
    assert len(found) == 1
