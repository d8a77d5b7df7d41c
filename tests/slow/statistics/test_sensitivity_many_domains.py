"""Every statistic, relation and domain against enumeration, on many more and larger domains."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from tacit.errors import InfeasibleError
from tacit.statistics.result import differing_pair

RELATIONS = ["unbounded", "add", "remove", "bounded"]
ROUNDS = 1500


def some_number(draw: random.Random) -> Fraction:
    kind = draw.choice(["ties", "wide", "outlier"])
    if kind == "ties":
        return Fraction(draw.randint(-2, 2), draw.choice([1, 1, 2]))
    if kind == "wide":
        return Fraction(draw.randint(-100, 100), draw.choice([1, 1, 4]))
    return Fraction(draw.choice([-(10**6), 10**9]))


def holds(answer: ts.Sensitivity, value: oracle.Value, truth: Fraction) -> bool:
    if answer.witness is None:
        assert differing_pair(answer.question, answer.statistic.min_size) is None
        return answer.value == truth == 0
    x, y = (tuple(map(Fraction, side)) for side in answer.witness)
    return answer.value == truth == abs(value(x) - value(y))


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("within", [True, False])
def test_populations(relation: Any, within: bool) -> None:
    draw = random.Random(f"{relation} {within}")
    checked = 0
    for _ in range(ROUNDS):
        n = draw.randint(1, 7)
        population = sorted(some_number(draw) for _ in range(n))
        size = draw.choice([None, *range(1, n + 1)])
        k = draw.randint(1, n)
        at = None
        if draw.random() < 0.4:
            at = frozenset(draw.sample(range(n), size or draw.randint(1, n)))
        release = None if at is None else [population[i] for i in at]
        for name in draw.sample(list(oracle.VALUES), 3):
            try:
                found = ts.sensitivity(
                    name, ts.Records(population, size=size), release, k, relation, within
                )
            except InfeasibleError:
                continue
            value = oracle.VALUES[name]
            truth = oracle.over_records(value, population, size, k, relation, within, at)
            assert holds(found, value, truth), (name, population, size, k, at)
            checked += 1
    assert checked > ROUNDS / 2


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("within", [True, False])
def test_values(relation: Any, within: bool) -> None:
    draw = random.Random(f"values {relation} {within}")
    checked = 0
    for _ in range(ROUNDS // 2):
        values = sorted({some_number(draw) for _ in range(draw.randint(1, 4))})
        size = draw.randint(1, 5)
        k = draw.randint(1, 3)
        at = None
        if draw.random() < 0.4:
            at = tuple(draw.choice(values) for _ in range(size))
        for name in draw.sample(list(oracle.VALUES), 2):
            try:
                found = ts.sensitivity(name, ts.Values(values, size=size), at, k, relation, within)
            except InfeasibleError:
                continue
            value = oracle.VALUES[name]
            truth = oracle.over_values(value, values, [size], k, relation, within, at)
            assert holds(found, value, truth), (name, values, size, k, at)
            checked += 1
    assert checked > ROUNDS / 4
