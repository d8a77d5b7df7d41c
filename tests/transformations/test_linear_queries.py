"""Linear queries: exact products, and a map that no pair exceeds, for every pair of norms."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from tacit.core import (
    AbsoluteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Number,
    Space,
    Vector,
)
from tacit.errors import MismatchError, UsageError
from tacit.transformations.counts import LinearQueries

NORMS = {"L1": L1Distance(), "L2": L2Distance(), "LInfinity": LInfinityDistance()}
PROVEN = [pair for pair in itertools.product(NORMS, NORMS) if pair != ("L2", "L1")]


def over(norm, size=3):
    return Space(Vector(int, size=size), NORMS[norm])


@pytest.mark.parametrize(("source", "target"), PROVEN)
def test_no_pair_moves_farther_than_the_map(source, target):
    chance = random.Random(f"{source} {target}")
    for _ in range(25):
        matrix = [
            [Fraction(chance.randint(-9, 9), chance.randint(1, 4)) for _ in range(3)]
            for _ in range(chance.randint(1, 3))
        ]
        u, v = ([chance.randint(-4, 4) for _ in range(3)] for _ in range(2))
        t = over(source) >> LinearQueries(matrix, target)
        products = [
            [sum(a * x for a, x in zip(row, side, strict=True)) for row in matrix]
            for side in (u, v)
        ]
        for side, truth in zip((u, v), products, strict=True):
            assert t(side).tolist() == [float(y) for y in truth]  # exact, and rounded once
        moved = NORMS[target].distance(*products)
        assert moved <= t.map(NORMS[source].distance(u, v)) + Fraction(1, 2**60)


def test_maps_that_are_attained_are_the_norms_of_rows_and_columns():
    matrix = [[1, -2, 0], [0, 1, 3]]
    found = {
        (s, t): (over(s) >> LinearQueries(matrix, t)).map(1)
        for s, t in (("L1", "L1"), ("L1", "LInfinity"), ("LInfinity", "LInfinity"))
    }
    assert found == {("L1", "L1"): 3, ("L1", "LInfinity"): 3, ("LInfinity", "LInfinity"): 4}
    assert (over("LInfinity") >> LinearQueries(matrix, "L1")).map(2) == 14
    square = (over("L1") >> LinearQueries(matrix, "L2")).map(1)
    assert 0 <= square**2 - 9 < Fraction(1, 2**50)


def test_the_identity_moves_nothing_farther():
    identity = [[int(i == j) for j in range(3)] for i in range(3)]
    for norm in NORMS:
        t = over(norm) >> LinearQueries(identity)
        assert t([5, -6, 7]).tolist() == [5, -6, 7]
        assert 1 <= t.map(1) <= 1 + Fraction(1, 2**60)


def test_entries_of_one_denominator_stay_whole_units():
    t = over("L1") >> LinearQueries([["1/2", "1/3", 0]])
    assert t([1, 1, 9]).tolist() == [5 / 6]
    assert t.output.domain.element.grid == Fraction(1, 6)


@pytest.mark.parametrize(
    "matrix", [[], [[]], [[1, 2], [3]], 5, [5], [["x"]], [[float("nan")]], [[float("inf")]]]
)
def test_what_is_no_matrix_is_refused(matrix):
    with pytest.raises(UsageError):
        LinearQueries(matrix)
    with pytest.raises(UsageError):
        LinearQueries([[1]], "L7")


@pytest.mark.parametrize(
    ("space", "metric"),
    [
        (over("L1", size=2), None),
        (over("L2"), "L1"),
        (Space(Vector(int), L1Distance()), None),
        (Space(Number("int"), AbsoluteDistance()), None),
    ],
)
def test_spaces_that_do_not_fit_are_refused(space, metric):
    with pytest.raises(MismatchError):
        space >> LinearQueries([[1, 1, 1]], metric)
