"""The question: which moves count, how far any two releases are, and what cannot be asked."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tacit.errors import InfeasibleError, UsageError
from tacit.statistics import Interval, Records, Sample, Values
from tacit.statistics.question import RELATIONS, Question

POPULATION = [1, 2, 2, 5, 9]


def moves_by_listing(n: int, relation: str, k: int, within: bool) -> set[tuple[int, int]]:
    """Every pair of releases of people, by who is in one and not in the other."""
    people = range(len(POPULATION))
    found = set()
    for x in itertools.combinations(people, n):
        for size in range(1, len(POPULATION) + 1):
            for y in itertools.combinations(people, size):
                r, a = len({*x} - {*y}), len({*y} - {*x})
                steps = r if relation == "bounded" else r + a
                fits = {
                    "unbounded": within or 0 in (r, a),
                    "add": r == 0,
                    "remove": a == 0,
                    "bounded": r == a,
                }[relation]
                if fits and (1 <= steps <= k if within else steps == k):
                    found.add((r, a))
    return found


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("n", [1, 3, 5])
def test_moves_are_those_of_pairs_of_releases(n: int, within: bool, relation: Any) -> None:
    for k in range(1, 5):
        expected = moves_by_listing(n, relation, k, within)
        try:
            question = Question(Records(POPULATION, size=n), None, k, relation, within)
        except InfeasibleError:
            assert not within or relation in ("add", "remove")
            assert not expected
            continue
        assert set(question.moves(n)) == expected
        assert set(question.frontier(n)) <= expected
        if relation != "unbounded" or not within:
            assert set(question.frontier(n)) == expected


@pytest.mark.parametrize("relation", RELATIONS)
def test_within_more_than_there_is_stands_as_the_farthest(relation: Any) -> None:
    question = Question(Records(POPULATION, size=2), None, 99, relation)
    assert question.distance == question.farthest()
    (told,) = question.left_out()
    assert "99" in told
    with pytest.raises(InfeasibleError, match="greatest distance"):
        Question(Records(POPULATION, size=2), None, 99, relation, within=False)


def test_values_repeat_without_limit_and_any_distance_is_there() -> None:
    for domain in (Values([0, 1], size=3), Interval(0, 1, size=3)):
        question = Question(domain, None, 50, "add")
        assert (question.population, question.farthest()) == (None, math.inf)
        assert question.most_added(3) == math.inf
        assert question.left_out() == ()


def test_a_release_leaves_the_others_of_its_population() -> None:
    question = Question(Records(POPULATION), Sample([2, 5]))
    assert [int(v) for v in question.rest.fractions()] == [1, 2, 9]
    assert (question.size, question.population, question.smallest()) == (2, 5, 1)
    with pytest.raises(UsageError, match="known population"):
        _ = Question(Values([2, 5]), Sample([2, 5])).rest


@pytest.mark.parametrize(
    ("domain", "at", "more", "said"),
    [
        (Records(POPULATION), [2, 2, 2], {}, "2 3 times, but it exists 2"),
        (Records(POPULATION), [7], {}, "not a part of the population: 7"),
        (Records(POPULATION, size=3), [2], {}, "says size=3"),
        (Values([0, 1]), [2], {}, "not in the value set: 2"),
        (Interval(0, 1), [0, 2], {}, "outside"),
        (Records(POPULATION), None, {"relation": "bound"}, "did you mean 'bounded'"),
        (Records(POPULATION), None, {"distance": 0}, "at least 1"),
        (Records(POPULATION), None, {"distance": 1.5}, "distance"),
    ],
)
def test_what_cannot_be_asked_is_refused(domain: Any, at: Any, more: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Question(domain, None if at is None else Sample(at), **more)


def test_what_the_domain_cannot_make_is_told() -> None:
    bounded = Question(Records(POPULATION, size=4), None, 3, "bounded")
    assert bounded.left_out() == ("only 1 records are left to substitute",)
    exactly = Question(Records(POPULATION, size=2), None, 3, "unbounded", within=False)
    assert exactly.left_out() == ("3 records cannot be removed from 2: only additions count",)
    other = Question(Records(POPULATION, size=4), None, 3, "unbounded", within=False)
    assert other.left_out() == ("3 records cannot be added, as 1 are left: only removals count",)
