"""Ranges and prefix sums of bins: exact vectors, their sensitivity, least squares, coverage."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.answers.base import Noise
from tacit.tables.cell_axis import Axis
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.release.release import Collector
from tacit.tables.together.cell_counts import AskedCells, CellsPart, key_of
from tacit.tables.together.family import Family
from tacit.tables.together.kind import cells_asked
from tacit.tables.together.strategy import READINGS, taken

SEX = Axis(("g",), (("a",), ("b",)))
BINS = Axis(("x",), edges=tuple(map(Fraction, (0, 2, 5, 7))))
ASKED = (
    AskedCells(()),
    AskedCells((SEX,)),
    AskedCells((BINS,), reading="ranges"),
    AskedCells((SEX, BINS), 3, "prefix_sums"),
    AskedCells((BINS, SEX)),
)
NOISES = [
    Noise("gaussian", Fraction(1, 50), 1),
    Noise("laplace", Fraction(1, 10), 1),
    Noise("laplace", Fraction(1, 5), 3, one=4),
]


def matrix(reading, bins):
    """The questions W, from their definition."""
    pairs = {
        "cells": [(i, i + 1) for i in range(bins)],
        "prefix_sums": [(0, i + 1) for i in range(bins)],
        "ranges": list(itertools.combinations(range(bins + 1), 2)),
    }
    return np.array([[low <= i < high for i in range(bins)] for low, high in pairs[reading]])


def vectors(rows, unit, request):
    columns = {"person": "int64", "g": "str", "x": "int64"}
    frame = pd.DataFrame(rows, columns=list(columns)).astype(columns)
    source = open_source(frame, name="drawn")
    asked = tuple(
        (f"q{i}", cells_asked(each.axes, each.importance, each.reading))
        for i, each in enumerate(ASKED)
    )
    plan = Plan(Query(source.schema, unit, aggregates=asked), request)
    (found,) = Collector(source).collect(plan).vectors(plan.chains(1), [()])
    source.close()
    return plan, found


@pytest.mark.full
@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("person", rows=2)], ids=str)
@pytest.mark.parametrize("request_", [tc.epsilon(1), tc.rho("1/2")], ids=["laplace", "gaussian"])
def test_the_vectors_are_the_sums_and_one_person_moves_them_no_farther_than_the_map(unit, request_):
    source = random.Random(3)
    reached = {}
    for x in (-1, 0, 2, 5):  # a row in each bin, so that the largest column is met
        row = {"person": 9, "g": "a", "x": x}
        rows = [
            {"person": source.randint(1, 4), "g": source.choice("abc"), "x": source.randint(-2, 9)}
            for _ in range(6)
        ]
        plan, found = vectors([*rows, *[row] * unit.rows], unit, request_)
        without, moved = vectors(rows, unit, request_)
        assert plan.cost == without.cost
        assert plan.cost.amount <= request_.amount
        for step, vector in found.items():
            apart = [a - b for a, b in zip(vector, moved[step], strict=True)]
            most = step.stretch * unit.rows * unit.one
            size = sum(map(abs, apart)) if step.norm == "L1" else math.hypot(*apart)
            assert size <= most * (1 + Fraction(1, 10**12))
            reached[step] = max(reached.get(step, 0), size / float(most))
            if step.sums and unit.column is None:
                assert vector == by_definition(step, [*rows, row])
    assert all(value > 0.99 for value in reached.values())


def by_definition(step, rows):
    axes = [{"g": SEX, "x in 3 bins": BINS}[name] for name in step.columns]
    counts = np.zeros([axis.size for axis in axes], dtype=np.int64)
    for row in rows:
        counts[tuple(int(axis.code(tc.col).evaluate(row)) for axis in axes)] += 1
    along = np.moveaxis(counts, step.along, 0)
    summed = np.tensordot(np.array(step.sums, dtype=np.int64), along, 1)
    return np.moveaxis(summed, 0, step.along).ravel().tolist()


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.kind}-{noise.rows}")
def test_answers_and_errors_are_those_of_least_squares(noise):
    part = CellsPart(ASKED)
    released = []
    for place, (step, _) in enumerate(part.chains(1, (), noise)):
        rng = random.Random(place)
        released.append([rng.uniform(-50, 50) for _ in range(step.size)])
    found = part.estimates(released, noise)
    for (family, paid), numbers in zip(part._paid(noise), released[-2:], strict=True):
        strategy = family.strategy(noise.norm).matrix.astype(float)
        least = np.linalg.solve(strategy.T @ strategy, strategy.T)
        shape = [axis.size for axis in family.axes]
        shape[family.along] = len(strategy)
        noisy = np.moveaxis(np.reshape(numbers, shape), family.along, -1)
        cells = noisy @ least.T  # the bins come last
        deviation = math.sqrt(family.law(paid).variance)
        mine = [a for a in ASKED if a in part._family_of and len(a.axes) == len(family.axes)]
        assert mine
        for asked in mine:
            w = matrix(asked.reading, BINS.listed).astype(float)
            answers = (cells @ w.T)[:2] if len(shape) == 2 else cells @ w.T
            each = deviation * np.sqrt(np.diag(w @ least @ least.T @ w.T))
            errors = np.broadcast_to(each, answers.shape)
            if asked.axes[0] is BINS and len(asked.axes) == 2:
                answers, errors = answers.T, errors.T
            estimate = found[key_of(asked)]
            assert np.allclose(estimate.value.ravel(), answers.ravel())
            assert np.allclose(estimate.standard_error.ravel(), errors.ravel())
            rms = math.sqrt(np.mean(errors**2))
            assert part.expected_error(key_of(asked), noise, 1) == pytest.approx(rms)


@pytest.mark.full
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.kind}-{noise.rows}")
def test_intervals_cover(noise):
    part, runs = CellsPart(ASKED), 300
    draws = []
    ends = part.chains(1, (), noise)[-2:]
    for (step, _), (family, paid) in zip(ends, part._paid(noise), strict=True):
        scale = Fraction(family.law(paid).scale * noise.one)
        made = tc.noise.discrete_gaussian if noise.kind == "gaussian" else tc.noise.discrete_laplace
        draws.append(np.asarray(made(scale, size=step.size * runs)).reshape(runs, -1) / noise.one)
    for (family, paid), drawn in zip(part._paid(noise), draws, strict=True):
        for reading in READINGS:
            half = family.half_widths(reading, paid, 0.95)
            last = [
                np.moveaxis(family.counts(drawn[run], paid), family.along, -1)
                for run in range(runs)
            ]
            off = np.abs(np.array([taken(reading, cells) for cells in last]))
            share = (off <= half).mean(axis=0)
            # 95 of 100 and more: 0.90 would be four deviations below, of 54 numbers at most
            assert share.min() >= 0.90, (reading, share.min())
            assert share.mean() <= 0.995  # and not much wider than that


def test_a_plan_with_ranges_is_answered_and_its_certificate_holds():
    ages = [(i * 37) % 97 for i in range(400)]
    frame = pd.DataFrame({"age": ages, "sex": ["fm"[i % 2] for i in range(400)]})
    edges = [0, 20, 50, 97]
    with tc.Session(frame, tc.one_row_each, tc.rho(1000), tc.in_memory, name="people") as session:
        by_sex = session.group_by("sex", keys=["m", "f"])
        plan = session.plan(
            [
                session.agg(n=tc.count(), up_to=tc.prefix_sums("age", edges)),
                by_sex.agg(r=tc.ranges("age", edges), h=tc.histogram("age", edges)),
            ]
        )
        first, second = plan.release(rho=100)
        assert session.spent == plan.preview(rho=100).cost
        truth = [sum(age < edge for age in ages) for edge in edges[1:]]
        assert np.allclose(first.value("up_to"), truth, atol=3)
        assert second.column("r")["bins"][:3] == ["[0, 20)", "[0, 50)", "[0, 97]"]
        ranges, bins = second.value("r", "f"), second.value("h", "f")
        assert ranges[2] == pytest.approx(sum(bins))  # they add up
        assert ranges[4] == pytest.approx(bins[1] + bins[2])
        assert first.certificate.verify(session.ledger)
        assert "sums along age" in first.certificate.to_html()
        assert sum(each["share"] for each in plan.strategy) == 1
        again = plan.release(rho=100)
        assert [a.to_dict() for a in again] == [a.to_dict() for a in (first, second)]
        assert again[0].replayed


def test_too_many_bins_are_refused():
    with pytest.raises(UsageError, match="1,025 bins"):
        Family((Axis(("x",), edges=tuple(map(Fraction, range(1026)))),), 0, (("ranges", 1),))
