"""Counts of cells together: exact vectors, their sensitivity, and least squares, by definition."""

import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.tables.joint.test_family import ASKED as ASKED_CELLS_ASKED
from tests.tables.joint.test_family import BINS as SHARES_BINS
from tests.tables.joint.test_family import NOISES as SHARES_NOISES
from tests.tables.joint.test_family import SEX as SHARES_SEX

import tacit as tc
from tacit import framework as fw
from tacit.core import Space
from tacit.core.space import step_from
from tacit.errors import MismatchError, UsageError
from tacit.expressions.grid import Grid
from tacit.tables.cell_axis import Axis
from tacit.tables.joint.cell_counts import CellsPart, RequestedCells, key_of
from tacit.tables.joint.family import CellCounts
from tacit.tables.joint.statistics import GROUPED, requested_cells, statistic_by_cells
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.release.release import PlanRunner
from tacit.tables.statistics.base import Setting
from tacit.tables.statistics.part import Columns, Noise
from tacit.tables.steps import table_space

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
    asked = tuple((label, requested_cells(axes)) for label, axes in ASKED.items())
    plan = Plan(Query(source.schema, unit, aggregates=asked), request)
    (found,) = PlanRunner(source).collect(plan).vectors(plan.chains(1), [()])
    source.close()
    return plan, found


def counted(rows, axes):
    """The counts of all cells, the last of an axis for everything else, by definition."""
    shape = [axis.size for axis in axes]
    counts = np.zeros(shape, dtype=np.int64)
    for row in rows:
        counts[tuple(int(axis.code(tc.col).evaluate(row)) for axis in axes)] += 1
    return counts


@pytest.mark.full
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


@pytest.mark.full
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
                most = step.sensitivity * unit.rows * unit.one
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
    return CellsPart(tuple(RequestedCells(axes) for axes in ASKED.values()))


@pytest.mark.full
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
    for asked in part.requested:
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


def noise_of_runs(part, noise, runs):
    """The noise of many runs, a row per run, of each vector of cells."""
    draws = []
    for subset, law in part._laws(noise):
        size = math.prod(part.axes[i].size for i in subset) * runs
        scale = Fraction(law.scale * noise.one)
        made = tc.noise.discrete_gaussian if noise.kind == "gaussian" else tc.noise.discrete_laplace
        draws.append(np.asarray(made(scale, size=size)).reshape(runs, -1) / noise.one)
    return draws


@pytest.mark.full
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.kind}-{noise.rows}")
def test_intervals_cover(noise):
    part, runs = part_of(), 200
    draws = noise_of_runs(part, noise, runs)
    inside = dict.fromkeys(ASKED, 0)
    for run in range(runs):
        found = part.estimates([each[run] for each in draws], noise)
        for label, asked in zip(ASKED, part.requested, strict=True):
            estimate = found[key_of(asked)]
            half = part.half_width(key_of(asked), noise, 1, 0.95)
            inside[label] += bool(abs(float(estimate.value.ravel()[0])) <= half)
    # 95 of 100 and more: 0.85 of 200 would be more than six deviations below
    assert all(number >= 0.85 * runs for number in inside.values()), inside


@pytest.mark.full
def test_a_step_is_built_from_its_description():
    step = CellCounts(size=6, norm="L2", columns=("g", "x"), cells=(2, 3), residual=True)
    assert step_from(step.describe()) == step
    assert step.sensitivity**2 >= 12
    assert CellCounts(6, "L1", ("g", "x"), (2, 3), True).sensitivity == 8
    with pytest.raises(UsageError, match="one number for each cell"):
        CellCounts(size=5, norm="L2", columns=("g", "x"), cells=(2, 3))
    with pytest.raises(MismatchError):
        step.build(Space(fw.Vector(int), fw.L1Distance()))
    with pytest.raises(MismatchError):
        step.build(table_space({"g": "text"}, None))


@pytest.mark.full
def test_a_column_twice_in_a_question_is_refused():
    with pytest.raises(UsageError, match="twice"):
        CellsPart((RequestedCells((SEX, SEX)),)).strategy("gaussian")


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.kind}-{noise.rows}")
def test_consistent_answers_cover_as_often_as_they_say(noise):
    """Over 2,000 runs, of every cell of every question: 95 of 100, within five deviations."""
    part, runs = part_of(), 2000
    draws = noise_of_runs(part, noise, runs)
    halves = [part.half_width(key_of(asked), noise, 1, 0.95) for asked in part.requested]
    inside = [[] for _ in part.requested]
    for run in range(runs):
        found = part.estimates([each[run] for each in draws], noise)
        for told, asked, half in zip(inside, part.requested, halves, strict=True):
            told.append(np.abs(found[key_of(asked)].value.ravel()) <= half)
    deviation = math.sqrt(0.95 * 0.05 / runs)
    for told in inside:
        share = np.mean(told, axis=0)
        assert share.min() >= 0.95 - 5 * deviation
        # not much wider: a step of the grid and, for Laplace noise, 6 percent
        assert share.max() <= 0.97 + 5 * deviation


# Cumulative shares: their definition, their intervals, and plans that ask for them.


SHARES_ASKED = RequestedCells((SHARES_SEX, SHARES_BINS), reading="shares")
EDGES = [0, 20, 50, 97]
AGES = [(i * 37) % 97 for i in range(400)]


def drawn(noise, cells, runs):
    """The noisy numbers of a part of one question, for counts of cells."""
    part = CellsPart((SHARES_ASKED,))
    ((step, _),) = part.chains(1, (), noise)
    ((family, paid),) = part._paid(noise)
    exact = np.array(step.combined(np.asarray(cells, dtype=object)), dtype=np.float64)
    scale = Fraction(family.distribution(paid).scale * noise.one)
    made = tc.noise.discrete_gaussian if noise.kind == "gaussian" else tc.noise.discrete_laplace
    added = np.asarray(made(scale, size=step.size * runs)).reshape(runs, -1) / noise.one
    return part, [[exact + each] for each in added]


@pytest.mark.full
@pytest.mark.parametrize(
    ("most", "noise"),
    [
        (4, SHARES_NOISES[0]),
        (60, SHARES_NOISES[1]),
        (2000, SHARES_NOISES[2]),
        (4, SHARES_NOISES[2]),
    ],
    ids=str,
)
def test_intervals_cover_whatever_the_size_of_the_table(noise, most):
    cells = np.zeros((SHARES_SEX.size, SHARES_BINS.size), dtype=np.int64)
    cells[0, :3], cells[1, :3] = [most, 0, most // 2], [0, 0, most]
    truth = (np.cumsum(cells[:2, :3], axis=1) / cells[:2, :3].sum(axis=1)[:, None]).ravel()
    runs = 500
    part, every = drawn(noise, cells, runs)
    inside, widths = np.zeros(truth.shape), np.zeros(truth.shape)
    for released in every:
        found = part.estimates(released, noise)[key_of(SHARES_ASKED)].coherent()
        value, low, high = (x.ravel() for x in (found.value, found.lower, found.upper))
        assert (low >= 0).all()
        assert (low <= value).all()
        assert (value <= high).all()
        assert (high <= 1).all()
        assert (np.diff(found.value.reshape(2, 3), axis=1) >= 0).all()
        assert (value[2::3] == 1).all()
        inside += (low <= truth + 1e-12) & (truth <= high + 1e-12)
        widths += high - low
    # 95 of 100 and more: fewer than 0.90 have chance 2 in 10^6
    assert inside.min() / runs >= 0.90
    told = part.half_width(key_of(SHARES_ASKED), noise, most, 0.95)
    assert (widths.max() / runs / 2 <= told * 1.6) or told > 0.2


@pytest.mark.full
def test_a_share_is_the_count_below_an_edge_beside_that_of_all_bins():
    frame = pa.table({"age": [*AGES, -5, 200, None], "sex": ["fm"[i % 2] for i in range(403)]})
    with tc.Session(frame, tc.one_row_each, tc.rho(10**7), tc.in_memory, name="people") as session:
        asked = session.group_by("sex", keys=["m", "f", "x"]).agg(below=tc.cdf("age", EDGES))
        plan = session.plan([asked, session.agg(all=tc.cdf("age", EDGES), n=tc.count())])
        groups, whole = plan.release(rho=10**6)
        truth = [sum(age < edge for age in AGES) / len(AGES) for edge in EDGES[1:]]
        assert np.allclose(whole.value("all"), truth, atol=0.01)
        assert whole.column("all")["bins"] == ["[0, 20)", "[0, 50)", "[0, 97]"]
        women = [age for place, age in enumerate(AGES) if place % 2 == 0]
        right = [sum(age < edge for age in women) / len(women) for edge in EDGES[1:]]
        assert np.allclose(groups.value("below", "f"), right, atol=0.01)
        certificate = whole.certificate
        assert certificate.verify(session.ledger)
        page = certificate.to_html()
        assert "the share of the values of" in page
        assert asked.free_answer() is None
        assert plan.release(rho=10**6)[0].replayed
    forged = json.loads(json.dumps(certificate.body))
    forged["answer"]["columns"][0]["value"][0][0] += 1e-6
    assert not tc.Certificate(forged).verify()


@pytest.mark.full
def test_it_costs_what_prefix_sums_cost_and_shares_their_noise():
    frame = pa.table({"age": AGES})
    with tc.Session(frame, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people") as session:
        sums, shares = tc.prefix_sums("age", EDGES), tc.cdf("age", EDGES)
        one, two = session.plan([session.agg(s=sums)]), session.plan([session.agg(f=shares)])
        assert [x["cells"] for x in one.strategy] == [x["cells"] for x in two.strategy]
        both = session.plan([session.agg(s=sums, f=shares)])
        assert len(both.strategy) == 1
        told = both.preview(epsilon=1, rows=[400, 4000]).errors["f"]
        assert told[0] == pytest.approx(10 * told[1])
        # three quarters of the squared error of the sums, beside 400 rows, is a safe least here
        assert told[0] < 2 * both.preview(epsilon=1).errors["s"][0] / 400
        answer, (alone,) = both.release(epsilon="1/2")[0], two.release(epsilon="1/2")
        assert answer.certificate.verify(session.ledger)
        assert alone.certificate.verify(session.ledger)


@pytest.mark.full
def test_nothing_counted_gives_even_shares_and_says_nothing_is_known():
    part, ((noisy,),) = drawn(
        SHARES_NOISES[0], np.zeros((SHARES_SEX.size, SHARES_BINS.size), dtype=int), 1
    )
    found = part.estimates([-np.abs(noisy) * 0 - 50.0], SHARES_NOISES[0])[
        key_of(SHARES_ASKED)
    ].coherent()
    assert np.allclose(found.value.reshape(2, 3)[:, -1], 1)
    assert (found.lower.ravel()[:2] >= 0).all()


@pytest.mark.full
def test_a_share_needs_edges_of_one_column():
    with pytest.raises(UsageError, match="edges"):
        tc.cdf("age", [1])


# What a plan asks of cells: families, and the best split of the loss among them.


def test_questions_about_the_same_cells_are_one_family():
    part = CellsPart(ASKED_CELLS_ASKED)
    first, second = part.families.values()
    assert [axis.name for axis in first.axes] == ["x in 3 bins"]
    assert first.weights == (("ranges", 1),)
    # the listed groups, times the importance; the histogram by group joins
    assert dict(second.weights) == {"prefix_sums": 6, "cells": 2}
    assert [asked.axes for asked in part._alone] == [asked.axes for asked in ASKED_CELLS_ASKED[:2]]
    for kind in ("gaussian", "laplace"):
        assert sum(share for _, _, share in part.measured(kind)) == 1


def test_the_shares_are_the_best_split():
    part = CellsPart(ASKED_CELLS_ASKED)
    for kind, norm, power in (("gaussian", "L2", 1), ("laplace", "L1", 2)):
        alone, shares = part.split(kind)
        assert alone + sum(shares.values()) == 1
        totals = [part.strategy(kind).total, *(f.total(norm) for f in part.families.values())]
        best = [float(share) for share in (alone, *shares.values())]

        def whole(split, totals=totals, power=power):
            return sum(t / r**power for t, r in zip(totals, split, strict=True))

        for seed in range(20):
            drawn = [share * random.Random(seed).uniform(0.5, 2) for share in best]
            drawn[seed % len(drawn)] *= 1.3
            assert whole(best) <= whole([r / sum(drawn) for r in drawn]) * (1 + 1e-6)


def test_groups_of_a_question_by_itself_are_refused():
    with pytest.raises(UsageError, match="are answered in a plan"):
        CellsPart(ASKED_CELLS_ASKED).chains(2, ("g",), SHARES_NOISES[0])


# Statistics by groups in a plan: against the definition, and against the same by themselves.


ROWS = [
    {
        "person": i // 2,
        "sex": "fmx"[i % 7 % 3],
        "site": i * i % 5,
        "age": (i * 37) % 97 if i % 13 else None,
        "pay": float("nan") if i % 17 == 0 else (i * 7919) % 1000 / 7,
    }
    for i in range(600)
]
UNITS = [tc.one_row_each, tc.unit("person", rows=2)]
PRICES = [(tc.rho(10**7), {"rho": 10**6}), (tc.epsilon(10**6), {"epsilon": 10**5})]


def opened(budget, unit=tc.one_row_each):
    table = pa.Table.from_pylist(ROWS)
    return tc.Session(table, unit, budget, tc.in_memory, name="people")


def of(name, **wanted):
    found = [r[name] for r in ROWS if all(r[key] == value for key, value in wanted.items())]
    return np.array([v for v in found if v is not None and v == v])


@pytest.mark.few(3)
@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize(("budget", "price"), PRICES, ids=["gaussian", "laplace"])
def test_answers_are_near_the_truth_and_the_certificate_holds(budget, price, unit):
    keys = {"sex": ["m", "f"], "site": [0, 1, 4]}
    with opened(budget, unit) as session:
        plan = session.plan(
            [
                session.agg(n=tc.count(), all=tc.mean("age", 0, 100)),
                session.group_by("sex", "site", keys=keys).agg(
                    n=tc.count(), age=tc.mean("age", 0, 100), spread=tc.std("age", 0, 100)
                ),
                session.group_by("site", keys=[4, 0]).agg(
                    pay=tc.sum("pay", 0, 200), mid=tc.median("age", 0, 100)
                ),
                session.filter(tc.col("age") >= 50).agg(old=tc.mean("pay", 0, 200)),
            ]
        )
        plan.preview(**price)
        whole, both, site, old = plan.release(**price)
        found = whole.certificate.verify(session.ledger)
        assert found, str(found)
        assert "sex" in whole.certificate.to_html()
        assert plan.cost(**price).amount == 0
    assert whole.value("all") == pytest.approx(of("age").mean(), abs=0.1)
    for sex, place in itertools.product("mf", (0, 1, 4)):
        truth = of("age", sex=sex, site=place)
        assert both.value("age", sex, place) == pytest.approx(truth.mean(), abs=0.3)
        assert both.value("spread", sex, place) == pytest.approx(truth.std(), abs=0.3)
    for place in (0, 4):
        assert site.value("pay", place) == pytest.approx(of("pay", site=place).sum(), abs=5)
        middle = np.sort(of("age", site=place))
        near = middle[len(middle) // 2 - 4 : len(middle) // 2 + 5]
        assert near[0] <= site.value("mid", place) <= near[-1]
    with_age = [r for r in ROWS if r["age"] is not None and r["age"] >= 50]
    pay = np.array([r["pay"] for r in with_age if r["pay"] == r["pay"]])
    assert old.value("old") == pytest.approx(pay.mean(), abs=0.3)
    assert both.to_pandas().shape[0] == 6


AXES = (Axis(("sex",), (("f",), ("m",))), Axis(("site",), ((1,), (2,), (3,))))


def kind_part_of(asked, axes=AXES):
    def grid(each, bits):
        return Grid.for_bounds(each.lower, each.upper, bits=bits)

    whole = statistic_by_cells(axes, asked)
    return whole.part(Setting(grid, 1, False), None).settled()


@pytest.mark.parametrize("kind", GROUPED)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_its_chain_is_that_of_the_statistic_by_the_same_groups(kind, noise):
    q = {"percentile": (25,), "percentiles": ([25, 50],)}.get(kind, ())
    asked = getattr(tc, kind)("age", *q, 0, 100)
    part = kind_part_of(asked)
    spent = Noise(noise, Fraction(1, 2), 3)
    ends = part.chains(1, (), spent)
    assert ends == part.inner.chains(12, ("sex", "site"), spent)
    assert part.expected_error(kind, spent, 50) == part.inner.expected_error(kind, spent, 50)
    assert part.title.endswith("by sex and site")


def test_the_number_of_a_row_is_that_of_its_cell_and_its_value():
    part = kind_part_of(tc.mean("age", 0, 100))
    ((step, _),) = part.chains(1, (), Noise("laplace", Fraction(1), 1))
    asked = part.request(step, Columns({}, alone=True))
    cells = part.inner.grid.cells
    for (i, sex), (j, site), age in itertools.product(
        enumerate(["f", "m", None]), enumerate([1, 2, 3, 9]), [-5, 0, 17, 100, 1e300]
    ):
        number = asked.value.evaluate({"sex": sex, "site": site, "age": age})
        value = min(max(age, 0), 100)
        assert round(number) == (4 * i + j) * (cells + 1) + round(value * cells / 100)
        assert 0 <= number <= float(asked.grid.upper)
    assert asked.value.evaluate({"sex": "f", "site": 1, "age": None}) is None


def test_what_a_row_moves_is_at_most_the_claimed_distance():
    """Every pair of neighbours of a small table, from the definition."""
    part = kind_part_of(tc.var("age", 0, 100))
    ((step, _),) = part.chains(1, (), Noise("laplace", Fraction(1), 1))
    cells = part.inner.grid.cells
    rows = [c * (cells + 1) + z for c in (0, 5, 11) for z in (0, cells // 3, cells)]

    def vector(numbers):
        found, weights = np.unique(np.array(numbers, dtype=np.int64), return_counts=True)
        return np.array(part.vector(step, [(found, weights)]), dtype=object)

    scale = cells**2
    for few in itertools.combinations_with_replacement(rows, 2):
        for more in rows:
            moved = np.abs(vector([*few, more]) - vector(few)).sum()
            assert moved == scale
    assert not vector([]).any()


def test_quantiles_have_error_in_rank_and_many_groups_are_refused():
    assert kind_part_of(tc.median("age", 0, 100)).error_unit == "rows in rank"
    assert kind_part_of(tc.mean("age", 0, 100)).error_unit == "standard error"
    wide = (Axis(("site",), tuple((i,) for i in range(5000))),) * 2
    with pytest.raises(UsageError, match="groups, and a plan answers at most"):
        kind_part_of(tc.mean("age", 0, 100), wide)


def test_others_by_groups_are_refused_with_the_way_out():
    with opened(tc.rho(1)) as session:
        for wrong in (tc.count_distinct("age"), tc.mean("age", 0, 100, method="smooth")):
            question = session.group_by("site", keys=[1, 2]).agg(x=wrong)
            with pytest.raises(UsageError, match="a plan answers by groups counts"):
                session.plan([question, session.agg(n=tc.count())])


@pytest.mark.parametrize(("budget", "price"), PRICES, ids=["gaussian", "laplace"])
def test_a_weight_gives_a_statistic_more_of_the_loss(budget, price):
    with opened(budget) as session:
        by = session.group_by("site", keys=[0, 1, 4])
        asked = [by.agg(n=tc.count(), age=tc.mean("age", 0, 100), pay=tc.sum("pay", 0, 200))]
        small = {name: value / 10**5 for name, value in price.items()}
        plain = session.plan(asked).preview(**small).errors
        heavy = session.plan(asked, {"pay": 100}).preview(**small).errors
        assert heavy["pay"][0] < plain["pay"][0]
        assert heavy["age"][0] > plain["age"][0]


def test_relative_errors_give_many_small_cells_more():
    with opened(tc.rho(2)) as session:
        keys = list(range(30))
        asked = [session.agg(n=tc.count()), session.group_by("age", keys=keys).agg(m=tc.count())]
        plain, relative = (
            session.plan(asked, least=each).preview(rho=1).errors for each in ("total", "relative")
        )
        assert relative["m"][0] < plain["m"][0]
        assert relative["n"][0] > plain["n"][0]

        def total(errors):
            return errors["n"][0] ** 2 + 30 * (30 * errors["m"][0]) ** 2

        assert total(relative) < total(plain)
