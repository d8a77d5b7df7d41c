"""Counts of cells together: exact vectors, their sensitivity, and least squares, by definition."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.core import Space
from tacit.core.space import step_from
from tacit.errors import MismatchError, UsageError
from tacit.tables.answers.base import Noise
from tacit.tables.cell_axis import Axis
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.release.release import Collector
from tacit.tables.steps import table_space
from tacit.tables.together.cell_counts import AskedCells, CellsPart, key_of
from tacit.tables.together.family import CellCounts
from tacit.tables.together.kind import cells_asked

pytestmark = pytest.mark.full

SEX = Axis(("g",), (("a",), ("b",)))
BINS = Axis(("x",), edges=(Fraction(0), Fraction(2), Fraction(5)))
SITE = Axis(("s",), ((1,), (2,)))
ASKED = {"n": (), "sex": (SEX,), "bins": (BINS,), "pair": (BINS, SEX), "three": (SITE, SEX, BINS)}
REQUESTS = [tc.epsilon(1), tc.rho("1/2")]


def drawn_rows(source, most=9):
    return [
        {
            "person": source.randint(1, 4),
            "g": source.choice(["a", "b", "c"]),
            "x": source.choice([-9, 0, 1, 2, 5, 77]),
            "s": source.choice([1, 2, 3]),
        }
        for _ in range(source.randint(0, most))
    ]


def vectors(rows, unit, request):
    """Each step with its exact vector and the map of its chain, on a table."""
    columns = {"person": "int64", "g": "str", "x": "int64", "s": "int64"}
    frame = pd.DataFrame(rows, columns=list(columns)).astype(columns)
    source = open_source(frame, name="drawn")
    asked = tuple((label, cells_asked(axes)) for label, axes in ASKED.items())
    plan = Plan(Query(source.schema, unit, aggregates=asked), request)
    (found,) = Collector(source).collect(plan).vectors(plan.chains(1), [()])
    source.close()
    return plan, found


def counted(rows, axes):
    """The counts of all cells, the last of an axis for everything else, by definition."""
    shape = [axis.size for axis in axes]
    counts = np.zeros(shape, dtype=np.int64)
    for row in rows:
        counts[tuple(int(axis.code(tc.col).evaluate(row)) for axis in axes)] += 1
    return counts


@pytest.mark.parametrize("request_", REQUESTS, ids=["laplace", "gaussian"])
def test_the_engine_counts_what_the_definition_says(request_):
    source = random.Random(1)
    by_name = {axis.name: axis for axis in (SEX, BINS, SITE)}
    for _ in range(2):
        rows = drawn_rows(source, 40)
        _, found = vectors(rows, tc.one_row_each, request_)
        for step, vector in found.items():
            axes = [by_name[name] for name in step.columns]
            counts = counted(rows, axes)
            if step.residual:
                for place, axis in enumerate(axes):
                    counts = axis.size * counts - counts.sum(axis=place, keepdims=True)
            assert vector == counts.ravel().tolist()


@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("person", rows=2)], ids=str)
@pytest.mark.parametrize("request_", REQUESTS, ids=["laplace", "gaussian"])
def test_one_person_moves_no_vector_farther_than_its_map(unit, request_):
    source = random.Random(2)
    reached = {}
    for _ in range(3):
        row = {"person": 9, "g": "a", "x": 1, "s": 2}
        rows = [*drawn_rows(source), *[row] * unit.rows]
        if unit.column is None:
            others = [rows[:-1], rows[1:]]
        else:
            others = [[row for row in rows if row["person"] != who] for who in (1, 9)]
        plan, found = vectors(rows, unit, request_)
        for other in others:
            _, moved = vectors(other, unit, request_)
            for step, vector in found.items():
                apart = [a - b for a, b in zip(vector, moved[step], strict=True)]
                most = step.stretch * unit.rows * unit.one
                size = sum(map(abs, apart)) if step.norm == "L1" else math.hypot(*apart)
                assert size <= most * (1 + Fraction(1, 10**12))
                reached[step] = max(reached.get(step, 0), size / float(most))
        assert plan.cost.amount <= request_.amount
    assert all(value > 0.99 for value in reached.values())


NOISES = [
    Noise("gaussian", Fraction(1, 50), 1),
    Noise("laplace", Fraction(1, 10), 1),
    Noise("gaussian", Fraction(1, 20), 3, one=4),
]


def part_of():
    return CellsPart(tuple(AskedCells(axes) for axes in ASKED.values()))


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.kind}-{noise.rows}")
def test_errors_and_weights_are_those_of_least_squares(noise):
    """Against the pseudo-inverse of the whole strategy, over all cells of the domain."""
    part = part_of()
    shape = [axis.size for axis in part.axes]
    cells = math.prod(shape)
    laws = dict(part._laws(noise))
    rows, deviations, spans = [], [], []
    for step, _ in part.chains(1, (), noise):
        subset = part._of(step)
        each = []
        for place in itertools.product(*map(range, shape)):
            one = np.zeros(shape)
            one[place] = 1
            gone = tuple(i for i in range(len(shape)) if i not in subset)
            vector = one.sum(axis=gone)
            if step.residual:
                for axis, n in enumerate(vector.shape):
                    vector = n * vector - vector.sum(axis=axis, keepdims=True)
            each.append(vector.ravel())
        block = np.array(each).T
        spans.append(len(block))
        rows.append(block)
        deviations += [math.sqrt(laws[subset].variance)] * len(block)
    strategy = np.vstack(rows)
    weighted = strategy / np.array(deviations)[:, None]
    inverse = np.linalg.pinv(weighted) / np.array(deviations)
    truth = np.array([random.Random(5).randint(0, 50) for _ in range(cells)], dtype=float)
    offs = np.array([random.Random(i).uniform(-9, 9) for i in range(len(strategy))])
    noisy = strategy @ truth + offs
    released = np.split(noisy, np.cumsum(spans)[:-1])
    found = part.estimates(released, noise)
    fitted = (inverse @ noisy).reshape(shape)
    spread = (inverse * np.array(deviations)) @ (inverse * np.array(deviations)).T
    for asked in part.asked:
        order = part.subset(asked)
        gone = tuple(i for i in range(len(shape)) if i not in order)
        summed = fitted.sum(axis=gone).transpose([sorted(order).index(i) for i in order])
        mine = summed[tuple(slice(0, axis.listed) for axis in asked.axes)].ravel()
        estimate = found[key_of(asked)]
        assert np.allclose(estimate.value.ravel(), mine)
        cell = np.zeros(shape)
        cell[tuple(0 if i in order else slice(None) for i in range(len(shape)))] = 1
        error = math.sqrt(cell.ravel() @ spread @ cell.ravel())
        assert part.expected_error(key_of(asked), noise, 1) == pytest.approx(error)
        if noise.kind == "laplace":  # the weights of the interval are those of the estimate
            terms = part._terms(tuple(sorted(order)), noise)
            total = math.sqrt(sum(n * w * w * law.variance for law, w, n in terms))
            assert total == pytest.approx(error)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.kind}-{noise.rows}")
def test_intervals_cover(noise):
    part, runs = part_of(), 200
    draws = []
    for subset, law in part._laws(noise):
        size = math.prod(part.axes[i].size for i in subset) * runs
        scale = Fraction(law.scale * noise.one)
        made = tc.noise.discrete_gaussian if noise.kind == "gaussian" else tc.noise.discrete_laplace
        draws.append(np.asarray(made(scale, size=size)).reshape(runs, -1) / noise.one)
    inside = dict.fromkeys(ASKED, 0)
    for run in range(runs):
        found = part.estimates([each[run] for each in draws], noise)
        for label, asked in zip(ASKED, part.asked, strict=True):
            estimate = found[key_of(asked)]
            half = part.half_width(key_of(asked), noise, 1, 0.95)
            inside[label] += bool(abs(float(estimate.value.ravel()[0])) <= half)
    # 95 of 100 and more: 0.85 of 200 would be more than six deviations below
    assert all(number >= 0.85 * runs for number in inside.values()), inside


def test_a_step_is_built_from_its_description():
    step = CellCounts(size=6, norm="L2", columns=("g", "x"), cells=(2, 3), residual=True)
    assert step_from(step.describe()) == step
    assert step.stretch**2 >= 12
    assert CellCounts(6, "L1", ("g", "x"), (2, 3), True).stretch == 8
    with pytest.raises(UsageError, match="one number for each cell"):
        CellCounts(size=5, norm="L2", columns=("g", "x"), cells=(2, 3))
    with pytest.raises(MismatchError):
        step.build(Space(tc.Vector(int), tc.L1Distance()))
    with pytest.raises(MismatchError):
        step.build(table_space({"g": "text"}, None))


def test_a_column_twice_in_a_question_is_refused():
    with pytest.raises(UsageError, match="twice"):
        CellsPart((AskedCells((SEX, SEX)),)).strategy("gaussian")


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.kind}-{noise.rows}")
def test_consistent_answers_cover_as_often_as_they_say(noise):
    """Over 2,000 runs, of every cell of every question: 95 of 100, within five deviations."""
    part, runs = part_of(), 2000
    draws = []
    for subset, law in part._laws(noise):
        size = math.prod(part.axes[i].size for i in subset) * runs
        scale = Fraction(law.scale * noise.one)
        made = tc.noise.discrete_gaussian if noise.kind == "gaussian" else tc.noise.discrete_laplace
        draws.append(np.asarray(made(scale, size=size)).reshape(runs, -1) / noise.one)
    halves = [part.half_width(key_of(asked), noise, 1, 0.95) for asked in part.asked]
    inside = [[] for _ in part.asked]
    for run in range(runs):
        found = part.estimates([each[run] for each in draws], noise)
        for told, asked, half in zip(inside, part.asked, halves, strict=True):
            told.append(np.abs(found[key_of(asked)].value.ravel()) <= half)
    deviation = math.sqrt(0.95 * 0.05 / runs)
    for told in inside:
        share = np.mean(told, axis=0)
        assert share.min() >= 0.95 - 5 * deviation
        # not much wider: a step of the grid and, for Laplace noise, 6 percent
        assert share.max() <= 0.97 + 5 * deviation
