"""Pairs are members of the space, near each other, and reach its ends."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from tacit.audit.search import changed, extremes, proposed
from tacit.core import (
    AbsoluteDistance,
    Category,
    ChangeOneDistance,
    DiscreteDistance,
    Frame,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.core.metrics import records_of

SPACES = {
    "column": Space(Vector(Number("int", 0, 9)), SymmetricDistance()),
    "floats": Space(Vector(float), SymmetricDistance()),
    "sized": Space(Vector(Number("float", 0, 1), size=4), ChangeOneDistance()),
    "queries": Space(Vector(Number("int", -3, 3), size=6), LInfinityDistance()),
    "number": Space(Number("float", 0, 1), AbsoluteDistance()),
    "label": Space(Category(("a", "b")), DiscreteDistance()),
    "table": Space(
        Frame({"g": Category(("a", "b")), "x": Number("int", 0, 5)}), SymmetricDistance()
    ),
}


@pytest.mark.parametrize("name", SPACES)
def test_every_pair_is_of_two_neighbours(name):
    space, draw = SPACES[name], random.Random(3)
    pairs = proposed(space, Fraction(1), draw)
    assert pairs
    near = [*pairs, *changed(space, pairs[0], Fraction(1), draw)]
    for u, v in near:
        assert space.domain.contains(u)
        assert space.domain.contains(v)
        assert 0 < space.metric.distance(u, v) <= 1
    assert len({repr(pair) for pair in pairs}) == len(pairs)


def test_hostile_values_are_proposed_where_the_domain_holds_them():
    assert extremes(Number("int", 0, 9)) == [0, 9, 1]
    odd = extremes(Number("float", nullable=True))
    assert math.inf in odd
    assert any(isinstance(x, float) and math.isnan(x) for x in odd)
    assert "" in extremes(Category(None))
    assert all(math.isfinite(x) for x in extremes(Number("float", 0, 1)))


def test_queries_move_all_at_once_and_against_each_other():
    moves = [
        tuple(b - a for a, b in zip(u, v, strict=True))
        for u, v in proposed(SPACES["queries"], Fraction(1), random.Random(0))
    ]
    assert (1,) * 6 in moves
    assert (1, 1, 1, -1, -1, -1) in moves


def test_the_witness_of_a_sensitivity_comes_first():
    u, v = proposed(SPACES["column"], Fraction(1), random.Random(0), "sum")[0]
    assert abs(sum(u) - sum(v)) == 9
    u, v = proposed(SPACES["sized"], Fraction(1), random.Random(0), "mean")[0]
    assert abs(sum(u) - sum(v)) == 1


def test_one_against_all_others_and_halves_are_among_the_pairs():
    """The pairs on which sparse vectors lose the most, each coordinate moved by its bound."""
    queries = Space(Vector(Number("int", 0, 1), size=10), LInfinityDistance())
    pairs = proposed(queries, Fraction(1), random.Random(0))
    for split in (1, 5, 9):
        pair = [0] * split + [1] * (10 - split), [1] * split + [0] * (10 - split)
        assert pair in pairs or pair[::-1] in pairs


@pytest.mark.parametrize("name", ["column", "table"])
def test_as_many_records_as_the_distance_allows_come_and_go_at_once(name):
    """All rows of a person: equal ones, and each under another key."""
    space = SPACES[name]
    added = [
        records_of(v)[len(records_of(u)) :]
        for u, v in proposed(space, Fraction(4), random.Random(0))
        if records_of(v)[: len(records_of(u))] == records_of(u)
    ]
    assert any(len(rows) == 4 and len(set(rows)) == 1 for rows in added)
    assert any(len(rows) == 4 and len(set(rows)) > 2 for rows in added)


def test_all_rows_of_a_key_are_left_out_at_once():
    pairs = proposed(SPACES["table"], Fraction(4), random.Random(0))
    assert any(len(u["g"]) > len(v["g"]) and set(u["g"]) > set(v["g"]) for u, v in pairs)
