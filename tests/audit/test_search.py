"""Searches find the pair on which a mechanism falls, and flag none that is right."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit as tc
from tacit.audit.search import search
from tacit.core import (
    Category,
    Frame,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.errors import UsageError

COLUMN = Space(Vector(Number("int", 0, 100)), SymmetricDistance())
SURE = 1 - 1e-6


@pytest.mark.full
def test_noise_for_a_count_on_a_sum_is_found_at_the_bounds():
    def forgetful(ages):
        return sum(ages) + tc.noise.discrete_laplace(20)

    found = search(forgetful, COLUMN, epsilon=1, confidence=SURE, samples=4000)
    assert not found
    assert abs(sum(found.u) - sum(found.v)) > 90  # a loss of 4.95 is hardly told from one of 5
    assert "REFUTED" in str(found)
    assert found.tried >= 60


@pytest.mark.full
def test_an_error_on_the_empty_data_set_is_found():
    def mean(ages):
        try:
            return sum(ages) // len(ages) + tc.noise.discrete_laplace(100)
        except ZeroDivisionError:
            return "error"

    found = search(mean, COLUMN, epsilon=2, confidence=SURE, samples=1000)
    assert not found
    assert [] in (found.u, found.v)


@pytest.mark.full
def test_what_is_not_clamped_is_found_by_values_that_are_no_numbers():
    floats = Space(Vector(Number("float", -9, 9, nullable=True)), SymmetricDistance())

    def total(rows):
        found = sum(min(max(round(x), 0), 10) if x == x else x for x in rows)
        return found + tc.noise.discrete_laplace(10) if found == found else "NaN"

    found = search(total, floats, epsilon=1, confidence=SURE, samples=1000)
    assert not found
    assert any(math.isnan(x) for x in [*found.u, *found.v])


VISITS = Space(
    Frame({"site": Category(("a", "b", "c", "d")), "stay": Number("int", 0, 9)}),
    SymmetricDistance(),
)


@pytest.mark.full
def test_noise_for_one_row_is_found_where_a_person_has_six():
    """A key counts once a person, but a person has rows under several keys."""

    def counts(visits):
        return [min(visits["site"].count(key), 1) + tc.noise.discrete_laplace(1) for key in "abcd"]

    found = search(counts, VISITS, epsilon=1, d_in=6, confidence=SURE, samples=4000)
    assert not found
    assert len(set(found.u["site"]) ^ set(found.v["site"])) > 1


@pytest.mark.full
def test_keys_that_the_rows_show_are_found():
    def shown(visits):
        return sorted(set(visits["site"]))

    found = search(shown, VISITS, epsilon=1, confidence=SURE, samples=1000)
    assert not found
    assert set(found.u["site"]) != set(found.v["site"])


@pytest.mark.full
def test_a_right_claim_stands_on_the_worst_pair():
    def total(ages):
        return sum(ages) + tc.noise.discrete_laplace(100)

    found = search(total, COLUMN, epsilon=1, statistic="sum", confidence=SURE, samples=1000)
    assert found
    assert found.audit.lower < 1


@pytest.mark.full
def test_a_sparse_vector_without_noise_on_its_queries_is_found():
    queries = Space(Vector(Number("int", 0, 1), size=10), LInfinityDistance())

    def above(answers, n):
        level = np.asarray(tc.noise.discrete_laplace(20, size=n))[:, None]
        return list(map(tuple, (np.asarray(answers) >= level).tolist()))

    found = search(
        above, queries, epsilon="1/10", confidence=SURE, samples=20_000, pairs=40, batch=True
    )
    assert not found


def test_a_space_without_neighbours_is_refused():
    alone = Space(Vector(Number("int", 3, 3), size=2), LInfinityDistance())
    with pytest.raises(UsageError, match="no two members"):
        search(lambda data: 0, alone, epsilon=1)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"space": None}, "space is a"),
        ({"space": COLUMN.domain}, "space is a"),
        ({"statistic": "nope"}, "'nope' is unknown"),
        ({"statistic": 5}, "a statistic is a name"),
        ({"seed": "x"}, "seed"),
        ({"confidence": 2}, "between 0 and 1"),
        ({"d_in": 0}, "d_in"),
        ({"mechanism": 7}, "cannot be"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_with_what_to_do(wrong, told):
    given = {"mechanism": sum, "space": COLUMN, "epsilon": 1} | wrong
    with pytest.raises(UsageError, match=told):
        search(given.pop("mechanism"), given.pop("space"), **given)


def test_a_mechanism_that_raises_on_some_data_sets_falls_there():
    """A mean of nobody: that it raises is an output of one neighbour alone."""
    found = search(
        lambda ages: sum(ages) / len(ages), COLUMN, epsilon=1, pairs=4, samples=100, d_in=1
    )
    assert not found
