"""Mechanisms of bad parameters, or on spaces that do not fit, are refused at construction."""

import math
from fractions import Fraction

import pytest

import tacit as tc
from tacit.core import (
    AbsoluteDistance,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms import (
    AboveThreshold,
    Exponential,
    FiniteDistribution,
    NoisyMax,
    PermuteAndFlip,
    PrivateQuantile,
    RandomizedResponse,
    SparseVector,
    Staircase,
    TruncatedGeometric,
)

NUMBER = Space(Number("int", 0, 5, grid=Fraction(1)), AbsoluteDistance())


BAD = [
    lambda: TruncatedGeometric(5, 0, 1),
    lambda: TruncatedGeometric(0, 5, 0),
    lambda: TruncatedGeometric(0, math.inf, 1),
    lambda: Staircase(0),
    lambda: Staircase(1, -1),
    lambda: Staircase(1, 3, 0),
    lambda: Exponential(math.nan),
    lambda: Exponential(1, monotone=1),
    lambda: Exponential(1, measure="RenyiDP"),
    lambda: PermuteAndFlip(-1),
    lambda: PermuteAndFlip(1, monotone=0),
    lambda: NoisyMax(1, "laplace"),
    lambda: NoisyMax(1, monotone="no"),
    lambda: SparseVector(0, 0, 1),
    lambda: SparseVector(0, 1, 1, answers=0),
    lambda: SparseVector(math.inf, 1, 1),
    lambda: SparseVector(0, 1, 1, monotone=3),
    lambda: AboveThreshold(0, 1, 1, answers=2),
    lambda: RandomizedResponse(("a",), p="1/2"),
    lambda: RandomizedResponse(("a", "a"), p="1/2"),
    lambda: RandomizedResponse(("a", ["b"]), p="1/2"),
    lambda: RandomizedResponse("ab", p="1/2"),
    lambda: RandomizedResponse(("a", "b")),
    lambda: RandomizedResponse(("a", "b"), p="1/2", epsilon=1),
    lambda: RandomizedResponse(("a", "b"), p=1),
    lambda: RandomizedResponse(("a", "b"), epsilon=math.inf),
    lambda: PrivateQuantile(2, 1),
    lambda: PrivateQuantile("1/2", 0),
    lambda: PrivateQuantile("1/2", 1, grid=-1),
    lambda: PrivateQuantile("1/2", 1, measure="x"),
    lambda: FiniteDistribution.of({0: "1/2"}),
    lambda: FiniteDistribution.of({0: "3/2", 1: "-1/2"}),
    lambda: FiniteDistribution.of({"a": 1}).cdf(3),
    lambda: Space(Vector(int, bounds=(0, 0)), SymmetricDistance()) >> PrivateQuantile("1/2", 1),
]


@pytest.mark.parametrize("build", BAD)
def test_bad_parameters_are_refused_at_construction(build):
    with pytest.raises(UsageError):
        build()


COLUMN = Space(Vector(int), SymmetricDistance())
MISFITS = [
    (COLUMN, TruncatedGeometric(0, 1, 1)),
    (NUMBER, TruncatedGeometric("1/2", 1, 1)),
    (COLUMN, Staircase(1)),
    (NUMBER, Staircase(1, "1/2")),
    (NUMBER, Staircase(1, 2, 3)),
    (COLUMN, Exponential(1)),
    (Space(Vector(int), LInfinityDistance()), PermuteAndFlip(1)),
    (Space(Vector(int, size=0), LInfinityDistance()), NoisyMax(1)),
    (NUMBER, SparseVector(0, 1, 1)),
    (NUMBER, RandomizedResponse(("a", "b"), p="1/2")),
    (COLUMN, PrivateQuantile("1/2", 1)),
    (NUMBER, PrivateQuantile("1/2", 1)),
    (NUMBER, tc.release_keys(1, 5)),
    (NUMBER, tc.continual_count(1)),
]


@pytest.mark.parametrize(("space", "step"), MISFITS, ids=str)
def test_spaces_that_do_not_fit_are_refused(space, step):
    with pytest.raises(MismatchError):
        space >> step
