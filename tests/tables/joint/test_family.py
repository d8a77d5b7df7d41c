"""Ranges and prefix sums of bins: exact vectors, their sensitivity, least squares, coverage."""

import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.core.space import step_from
from tacit.errors import UsageError
from tacit.tables.cell_axis import Axis
from tacit.tables.joint.cell_counts import CellsPart, RequestedCells, key_of
from tacit.tables.joint.family import CellCounts, Family
from tacit.tables.joint.statistics import requested_cells
from tacit.tables.joint.strategy import READINGS, taken
from tacit.tables.noise import GridNoise, half_width_of_terms, laplace_tail_bound
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.release.release import PlanRunner
from tacit.tables.statistics.part import Noise
from tacit.workload import range_strategies
from tacit.workload.range_strategies import best_strategy

SEX = Axis(("g",), (("a",), ("b",)))
BINS = Axis(("x",), edges=tuple(map(Fraction, (0, 2, 5, 7))))
ASKED = (
    RequestedCells(()),
    RequestedCells((SEX,)),
    RequestedCells((BINS,), reading="ranges"),
    RequestedCells((SEX, BINS), 3, "prefix_sums"),
    RequestedCells((BINS, SEX)),
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
        (f"q{i}", requested_cells(each.axes, each.importance, each.reading))
        for i, each in enumerate(ASKED)
    )
    plan = Plan(Query(source.schema, unit, aggregates=asked), request)
    (found,) = PlanRunner(source).collect(plan).vectors(plan.chains(1), [()])
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
            most = step.sensitivity * unit.rows * unit.one
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
        deviation = math.sqrt(family.distribution(paid).variance)
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
    part, runs = CellsPart(ASKED), 1000
    draws = []
    ends = part.chains(1, (), noise)[-2:]
    for (step, _), (family, paid) in zip(ends, part._paid(noise), strict=True):
        scale = Fraction(family.distribution(paid).scale * noise.one)
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
            # 95 of 100 and more: of each of 54 numbers, fewer than 0.90 have chance 4 in 10^11
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


# Half-widths of sums of noises: they cover, and are not much too wide.


def exact(terms, level):
    """The least t with P(|sum| <= t) >= level, for weights that are whole numbers."""
    masses = np.ones(1)
    for law, weight, copies in terms:
        reach = int(60 * law.scale)
        place = np.abs(np.arange(-reach * weight, reach * weight + 1))
        off = place / weight / law.scale
        off = off if law.kind == "laplace" else off**2 / 2
        one = np.where(place % weight == 0, np.exp(-off), 0.0)
        for _ in range(copies):
            size = len(masses) + len(one) - 1
            wide = 1 << size.bit_length()
            product = np.fft.rfft(masses, wide) * np.fft.rfft(one / one.sum(), wide)
            masses = np.fft.irfft(product, wide)[:size]
    middle = len(masses) // 2
    tails = masses[middle] + np.concatenate([[0.0], np.cumsum(2 * masses[middle + 1 :])])
    return int(np.searchsorted(tails, level))


@pytest.mark.few(5)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(
    "shape",
    [
        [(5.0, 1, 4)],
        [(0.5, 1, 12)],
        [(3.0, 7, 1), (3.0, 1, 30)],
        [(2.0, 3, 5), (6.0, 1, 9), (1.0, 2, 2)],
        [(1.5, 1, 200)],
    ],
)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_it_covers_and_is_at_most_a_little_too_wide(shape, level, kind):
    terms = tuple((GridNoise(kind, scale, 1.0), weight, n) for scale, weight, n in shape)
    deviation = math.sqrt(sum(n * w * w * law.variance for law, w, n in terms))
    found, least = half_width_of_terms(terms, level), exact(terms, level)
    # between two whole numbers every half-width is as good as the one below
    assert least <= found <= least + 1 + 0.06 * deviation


def test_few_coordinates_are_those_of_one_noise():
    law = GridNoise("laplace", 4.0, 1.0)
    assert half_width_of_terms(((law, 1.0, 1),), 0.95) == law.half_width((1.0,))
    assert half_width_of_terms(((law, 0.0, 9),), 0.95) == half_width_of_terms((), 0.95) == 0


def test_draws_lie_within():
    law = GridNoise("laplace", 3.0, 1.0)
    noise = np.asarray(tc.noise.discrete_laplace(3, size=4000 * 40)).reshape(4000, 40)
    inside = np.abs(noise @ np.full(40, 0.3)) <= half_width_of_terms(((law, 0.3, 40),), 0.95)
    assert 0.93 < inside.mean() < 0.98


@pytest.mark.few(5)
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("weights", [(1,), (1, 1), (4, 1, 1), (3, 2), (1,) * 40])
def test_one_reach_is_enough_for_every_sum_and_not_much_more(level, weights):
    """Against the exact quantile of the continuous sum, from its characteristic function."""
    law = GridNoise("laplace", 1.0, 1e-9)
    terms = tuple((law, float(weight), 1) for weight in weights)
    deviation = math.sqrt(2 * sum(weight**2 for weight in weights))
    quantile = half_width_of_terms(terms, level) / (1.021 if len(weights) > 3 else 1.002)
    assert quantile <= laplace_tail_bound(level) * deviation
    if 0.9 < level < 0.99:
        assert laplace_tail_bound(level) * deviation <= 1.13 * quantile


# The step that counts cells and combines the counts: what it states, and what it refuses.


def test_what_is_no_sum_is_refused():
    step = CellCounts(6, "L1", ("g", "x"), (2, 3), sums=[[1, -2, 0], [1, 1, 0], [1, 1, 1]], along=1)
    assert step.sensitivity == 4
    assert step.shape == (2, 3)
    assert CellCounts(6, "L2", ("g", "x"), (2, 3), sums=step.sums, along=1).sensitivity ** 2 >= 6
    with pytest.raises(UsageError, match="a weight for each cell"):
        CellCounts(6, "L1", ("g", "x"), (2, 3), sums=[[1, 1], [1, 0], [0, 1]], along=1)


def test_sums_are_read_back_and_combined_exactly():
    import numpy as np

    step = CellCounts(6, "L2", ("g", "x"), (2, 3), sums=[[1, -2, 0], [1, 1, 0], [1, 1, 1]], along=1)
    assert step_from(step.describe()) == step
    counts = np.array([[2**70, 1, 5], [0, 3, 0]], dtype=object)
    assert step.combined(counts) == [2**70 - 2, 2**70 + 1, 2**70 + 6, -6, 3, 3]


# Strategies of few numbers in a plan, and certificates that state another strategy.


@pytest.mark.parametrize("loss", [{"rho": "1/2"}, {"epsilon": 1}])
def test_a_certificate_is_verified_with_the_strategy_that_it_states(loss, monkeypatch):
    """As one of an earlier version, which found another strategy for the same question."""
    few = {"L1": 24, "L2": 24}
    people = pd.DataFrame({"x": [i % 30 for i in range(200)]})
    budget = tc.rho(1) if "rho" in loss else tc.epsilon(2)
    forms = []
    for most in (few, {"L1": 256, "L2": 64}):
        monkeypatch.setattr(range_strategies, "_OPTIMISED", most)
        range_strategies.__dict__["_best"].cache_clear()
        session = tc.Session(people, tc.one_row_each, budget, name="people")
        question = session.agg(up_to=tc.prefix_sums("x", range(31)))
        (answer,) = session.plan([question]).release(**loss)
        forms.append(answer.certificate)
    range_strategies.__dict__["_best"].cache_clear()
    chains = [json.loads(one.to_json())["chains"][0]["steps"] for one in forms]
    of = [next(step for step in steps if step["step"] == "cell_counts") for steps in chains]
    assert isinstance(of[0]["sums"], dict)
    assert isinstance(of[1]["sums"], list)
    for one in forms:
        assert one.verify()


@pytest.mark.parametrize(
    "sums",
    [
        [[1] * 6],
        [[1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]],
        {"blocks": [[1, 1, 1]], "sums": [[1, 1]], "weights": [1, 1], "cells": 6},
        {"blocks": [[1, 0], [0, 1]], "sums": [], "weights": [1, 0, 1], "cells": 6},
        {"kernel": [1, 0, -1, 0, 1, 0], "weights": [1] * 6, "kind": "even"},
        {"product": [[[1, 0], [0, 1]], [[1, 1, 1]]]},
    ],
)
def test_a_stated_strategy_that_does_not_determine_the_counts_is_refused(sums):
    bins = Axis(("x",), edges=tuple(map(Fraction, range(7))))
    family = Family((bins,), 0, (("prefix_sums", 1),))
    stated = {"columns": [bins.name], "cells": [bins.size], "along": 0, "norm": "L2"}
    family.use_stated([{**stated, "sums": np.eye(6, dtype=int).tolist()}])
    with pytest.raises(UsageError):
        family.use_stated([{**stated, "sums": sums}])


def test_a_step_of_few_numbers_moves_and_combines_as_its_matrix():
    found = best_strategy({"prefix_sums": 1.0}, 70, "L2")
    axes = (SEX, Axis(("x",), edges=tuple(map(Fraction, range(71)))))
    family = Family(axes, 1, (("prefix_sums", 2),))
    step, _ = family.chain(Noise("gaussian", Fraction(1, 50), 1))
    assert step.sums == found.form
    rows = [[*row, 0] for row in found.matrix.tolist()]
    listed = CellCounts.of(axes, size=step.size, norm="L2", sums=rows, along=1)
    assert listed.sensitivity == step.sensitivity
    assert listed.shape == step.shape
    counts = np.arange(3 * 71).reshape(3, 71).astype(object)
    assert listed.combined(counts) == step.combined(counts)
    assert step_from(step.describe()) == step
    with pytest.raises(UsageError, match="a weight for each cell"):
        CellCounts.of((SEX, BINS), size=3 * 70, norm="L2", sums=found.form, along=1)
