"""Weighted statistics and ratios: their sums, intervals and steps against the definition."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES
from tables.statistics.released import PRODUCT_NOISES, enough
from tacit import noise
from tacit.cli import run
from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.noise import GridNoise
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.question_formats import statistic
from tacit.tables.statistics.part import Columns
from tacit.tables.statistics.weights_and_ratios import (
    CornersPart,
    PerRowPart,
    Ratio,
    RatioOfSums,
    RatioPart,
    WeightedPart,
    WeightedSumByGroup,
    WeightedSumPart,
    range_of_ratio,
)
from tacit.tables.steps import BoundContributions, table_space

GRIDS = Grid.for_bounds(-10, 30, bits=20), Grid.for_bounds(0, 8, bits=20)
MEAN = WeightedPart(("x", "w"), GRIDS, frozenset({"weighted_sum", "weighted_mean"}))
RATIO = RatioPart(("x", "w"), GRIDS, Fraction(1))
FROM_ONE = RatioPart(
    ("x", "w"), (Grid.for_bounds(0, 4, bits=20), Grid.for_bounds(1, 3, bits=20)), Fraction(10)
)
EACH = PerRowPart("x", Grid.for_bounds(2, 10, bits=20), Fraction(1))


# The interval of a ratio of noisy sums.


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("over", "under", "ends"),
    [
        ([0, 0, 1], [0, 1, 1], (0, math.inf)),
        ([-3, 2, 0.5], [1, 1, 0], (-math.inf, math.inf)),
        ([-10, 30], [8, 8], (-1.25, 3.75)),
        ([5, 7], [-1, -2], (-7, -2.5)),
    ],
)
def test_the_interval_holds_every_ratio_that_the_noise_does_not_contradict(
    kind: Any, over: list[float], under: list[float], ends: tuple[float, float]
) -> None:
    law = GridNoise(kind, 2.0, 2.0**-20)
    ratio = RatioOfSums(np.array(over, float), np.array(under, float), *map(float, ends))
    draw = np.random.default_rng(5)
    noisy = draw.normal(0, 1, (12, len(over))) * np.repeat([3.0, 20.0, 300.0], 4)[:, None]
    found = ratio.estimate(noisy, law)
    tried = np.concatenate([np.linspace(-20, 20, 401), [-1e9, -300, 1e-9, 300, 1e9]])
    for row, low, high in zip(noisy, found.lower, found.upper, strict=True):
        for m in tried[(tried >= ends[0]) & (tried <= ends[1])]:
            weights = np.array(over) - m * np.array(under)
            if abs(weights @ row) <= law.half_width(tuple(weights.tolist())):
                assert not low > m
                assert not high < m
    assert (found.value >= ends[0]).all()
    assert (found.value <= ends[1]).all()


def test_the_value_is_within_its_interval_and_the_same_for_every_level() -> None:
    # a denominator that is at least one row, and came out below zero
    ratio, law = RatioOfSums(np.array([0.0, 9]), np.ones(2), 0, 9), GridNoise("laplace", 1, 2**-20)
    noisy = np.array([[3.0, -4.0]])
    found, wide, narrow = (ratio.estimate(noisy, law, level) for level in (0.95, 0.999, 0.5))
    assert 0 < found.lower[0] <= found.value[0] <= found.upper[0]
    assert wide.value == narrow.value == found.value
    assert wide.lower[0] <= found.lower[0]


def rows_of(shape: str, size: int, x: Grid, y: Grid) -> np.ndarray:
    """Rows of two columns on their grids: shape (size, 2)."""
    draw = np.random.default_rng(3)
    share = {
        "free": draw.random((size, 2)),
        "alike": np.repeat(draw.random((size, 1)), 2, axis=1),
        "nothing": np.zeros((size, 2)),
        "rare": (draw.random((size, 2)) < 0.03).astype(float),
    }[shape]
    cells = np.round(share * [x.cells, y.cells])
    return np.asarray(
        cells * [float(x.step), float(y.step)] + [float(x.value(0)), float(y.value(0))]
    )


def corner_sums(part: CornersPart, values: np.ndarray) -> list[float]:
    """The shares of the corners, by their definition."""
    ends = np.array([[float(g.value(0)), float(g.value(g.cells))] for g in part.grids])
    high = (values - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
    sides = [(1 - high[:, i], high[:, i]) for i in (0, 1)]
    return [float((a * b).sum()) for a, b in itertools.product(*sides)]


def drawn(part: Any, exact: list[float], spent: Any, runs: int) -> np.ndarray:
    """The exact coordinates with real noise, many times over."""
    cells = math.prod(g.cells for g in part.grids) if isinstance(part, CornersPart) else None
    grid = Fraction(1, spent.one * (cells or part.grid.cells))
    scale = spent.scale(Fraction(spent.rows)) / grid
    draw = noise.discrete_laplace if spent.kind == "laplace" else noise.discrete_gaussian
    noises = np.array(draw(scale, runs * len(exact)), dtype=np.float64).reshape(runs, -1)
    return np.array(exact) + noises * float(grid)


def coverage(name: str, size: int, runs: int) -> None:
    spent = PRODUCT_NOISES[name]
    for part, shape in itertools.product(
        [MEAN, RATIO, FROM_ONE], ["free", "alike", "nothing", "rare"]
    ):
        values = rows_of(shape, size, *part.grids)
        x, w = values.T
        truth = {"weighted_sum": (x * w).sum()}
        if w.sum():
            truth["weighted_mean"] = (x * w).sum() / w.sum()
            truth["ratio"] = float(getattr(part, "per", 1)) * x.sum() / w.sum()
        found = part.estimates([drawn(part, corner_sums(part, values), spent, runs)], spent)
        for kind, estimate in found.items():
            true = truth.get(kind)
            if true is None:
                continue
            slack = 1e-6 * (1 + abs(true))
            held = ~(estimate.lower > true + slack) & ~(estimate.upper < true - slack)
            assert held.sum() >= enough(runs), (part.title, kind, shape, held.mean())
            assert np.isfinite(estimate.value).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 8, 60, 500, 20_000])
@pytest.mark.parametrize("name", PRODUCT_NOISES)
def test_intervals_cover(name: str, size: int) -> None:
    coverage(name, size, 4000)


@pytest.mark.parametrize(("name", "size"), [("laplace", 1), ("laplace", 60), ("gaussian", 500)])
def test_intervals_cover_in_short(name: str, size: int) -> None:
    coverage(name, size, 150)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_intervals_are_not_needlessly_wide_and_errors_are_those_measured(name: str) -> None:
    spent = PRODUCT_NOISES[name]
    for part in (MEAN, FROM_ONE):
        values = rows_of("free", 20_000, *part.grids)
        for kind, found in part.estimates(
            [drawn(part, corner_sums(part, values), spent, 4000)], spent
        ).items():
            claimed = found.standard_error.mean()
            assert found.value.std() == pytest.approx(claimed, rel=0.15)
            quantile = 1.96 if spent.kind == "gaussian" else 2.12
            assert (found.upper - found.lower).mean() < 2 * quantile * 1.03 * claimed, kind


def test_a_ratio_has_a_quarter_of_the_variance_of_two_sums_in_l1() -> None:
    spent, part = PRODUCT_NOISES["laplace"], RatioPart(("x", "y"), (GRIDS[1],) * 2, Fraction(1))
    even = part.expected_error("ratio", spent, 1000)
    # each sum alone, at half of the loss: a scale of 2 * 8 / epsilon
    alone = math.sqrt(2) * 16 / float(spent.loss) * math.sqrt(2) / (1000 * 4)
    assert even == pytest.approx(alone / 2, rel=1e-3)


def test_of_rows_alone_it_is_the_sum_over_their_number() -> None:
    spent = PRODUCT_NOISES["laplace"]
    values, lacking = np.full(300, 4.0), 100
    share = (values - 2) / 8
    exact = [float((1 - share).sum()), float(share.sum()), float(lacking)]
    found = EACH.estimates([drawn(EACH, exact, spent, 200)], spent)["ratio"]
    assert ((found.lower <= 3) & (found.upper >= 3)).sum() >= enough(200)
    assert found.value.mean() == pytest.approx(3, abs=0.1)
    nothing = EACH.estimates([[0.0, 0.0, 0.0]], spent)["ratio"]
    assert (nothing.lower[0], nothing.upper[0]) == (0, 10)  # a row that lacks a value adds nothing


def test_public_ends_hold_the_ratios_of_any_rows() -> None:
    ends = [(Fraction(a), Fraction(b)) for a, b in itertools.combinations(range(-2, 3), 2)]
    draw = np.random.default_rng(1)
    for x, y in itertools.product(ends, repeat=2):
        low, high = range_of_ratio(x, y)
        rows = draw.integers(0, 2, (40, 3, 2))
        for each in rows:
            over = sum(x[i] for i, _ in each)
            under = sum(y[j] for _, j in each)
            if under:
                assert low <= over / under <= high
    assert range_of_ratio((Fraction(0), Fraction(1)), (Fraction(0), Fraction(2))) == (0, math.inf)


# The exact sums, on every engine.

ROWS = [
    {"x": x, "w": w}
    for x, w in [
        *[(1.5, 2.0), (-40.0, 3.25), (99.0, 9.0), (0.1, -3.0), (None, 4.0), (2.0, None)],
        *[(float("nan"), 1.0), (3.0, float("nan")), (7.3, 0.3), (float("inf"), 0.5)],
    ]
]


def by_hand(grids: tuple[Grid, Grid]) -> list[tuple[Fraction, Fraction]]:
    """The rows that have both, clamped and on the grids."""

    def point(value: Any, grid: Grid) -> Fraction | None:
        if value is None or math.isnan(value):
            return None
        if math.isinf(value):
            return grid.value(grid.cells if value > 0 else 0)
        return grid.value(grid.offset(Fraction(value)))

    pairs = [(point(r["x"], grids[0]), point(r["w"], grids[1])) for r in ROWS]
    return [(x, w) for x, w in pairs if x is not None and w is not None]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_sums_of_every_engine_are_those_by_hand(
    engine: str, request: pytest.FixtureRequest
) -> None:
    load = ENGINES[engine](request)
    rows = [{"person": i, **row} for i, row in enumerate(ROWS)]
    source = load(rows, {"person": "integer", "x": "double", "w": "double"})
    grids = Grid.for_bounds(-10, 30), Grid.for_bounds(0, 8)
    pairs, spent = by_hand(grids), PRODUCT_NOISES["laplace"]
    columns = Columns({}, alone=True)
    total = WeightedSumPart(("x", "w"), grids)
    ratio = RatioPart(("x", "w"), grids, Fraction(1))
    steps = [total.chains(1, (), spent)[0][0], ratio.chains(1, (), spent)[0][0]]
    requests = [total.request(steps[0], columns), ratio.request(steps[1], columns)]
    found = IntegerQuery(source, OneRowEach()).run(requests)
    of_people = IntegerQuery(source, PersonUnit("person", rows=3)).run(requests)
    for each in requests:
        assert (of_people.of(each) == PersonUnit("person", rows=3).one * found.of(each)).all()
    lattice = grids[0].step * grids[1].step
    assert total.vector(steps[0], found.of(requests[0])) == [sum(x * w for x, w in pairs) / lattice]
    shares = []
    for i, j in itertools.product((0, 1), repeat=2):
        share = Fraction(0)
        for x, w in pairs:
            a, b = (
                (v - g.value(0)) / (g.cells * g.step) for v, g in zip((x, w), grids, strict=True)
            )
            share += (a if i else 1 - a) * (b if j else 1 - b)
        shares.append(share * grids[0].cells * grids[1].cells)
    assert ratio.vector(steps[1], found.of(requests[1])) == shares


def test_one_row_at_a_corner_moves_the_sum_by_its_sensitivity() -> None:
    grids = Grid.for_bounds(-10, 3), Grid.for_bounds("0.5", 8)
    part, spent = WeightedSumPart(("x", "w"), grids), PRODUCT_NOISES["laplace"]
    assert part.sensitivity == 80
    step = part.chains(1, (), spent)[0][0]
    chain: Any = table_space({"x": "float", "w": "float"}, "p") >> BoundContributions(3, 3) >> step
    assert chain.map(2) == 2 * 3 * 80
    moved = part.vector(step, [[1, 0, grids[1].cells, 0]])[
        0
    ]  # x at its lower bound, w at its upper
    assert moved * grids[0].step * grids[1].step == -80


@pytest.mark.parametrize(
    "wrong",
    [
        {"cells": (4,)},
        {"cells": (0, 4)},
        {"bounds": (("1", "0"), ("0", "1"))},
        {"bounds": (("1/7", "1"), ("0", "1"))},
    ],
)
def test_a_step_that_is_not_whole_is_refused(wrong: dict[str, Any]) -> None:
    fields = {"columns": ("x", "w"), "bounds": (("0", "1"), ("0", "1")), "cells": (4, 4)} | wrong
    space: Any = table_space({"x": "float", "w": "float"}, None) >> BoundContributions(1, 1)
    with pytest.raises(UsageError):
        space >> WeightedSumByGroup(1, "L1", **fields)


# Whole releases.

ONE = {"x": (0, 1)}
BOUNDS = {"pay": (0, 1000), "w": (0, 50)}


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    draw = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "person": np.arange(3000) // 2,
            "site": np.where(np.arange(3000) % 2, "a", "b"),
            "pay": draw.uniform(0, 1000, 3000),
            "w": draw.gamma(2, 5, 3000),
            "status": np.where(draw.random(3000) < 0.3, "employed", "other"),
        }
    )
    frame.loc[::50, "w"] = np.nan
    frame.loc[1::70, "pay"] = np.nan
    frame.loc[2::90, "w"] = -3
    return frame


@pytest.mark.parametrize(
    ("budget", "price"),
    [(tc.epsilon(20), {"epsilon": 8}), (tc.rho(20), {"rho": 3})],
    ids=["epsilon", "rho"],
)
def test_by_groups_of_people(survey: pd.DataFrame, budget: Any, price: Any) -> None:
    unit = tc.unit("person", rows=2)
    with tc.Session(survey, unit=unit, budget=budget, name="s", ledger=tc.in_memory) as session:
        question = (
            session.with_columns(employed=tc.col("status") == "employed")
            .group_by("site", keys=["a", "b", "none"])
            .agg(
                n=tc.weighted_count("w", 0, 50),
                total=tc.weighted_sum("pay", "w", BOUNDS),
                mean=tc.weighted_mean("pay", "w", BOUNDS),
                share=tc.weighted_mean("employed", "w", {"w": (0, 50)}),
                each=tc.ratio("pay", bounds={"pay": (0, 1000)}),
                rate=tc.ratio("pay", "w", BOUNDS, per=1000),
            )
        )
        answer = question.release(**price)
        assert question.release(**price).replayed
    checked = answer.certificate.verify()
    assert checked, str(checked)
    survey = survey.assign(w=survey.w.clip(0, 50))
    for site in "ab":
        rows = survey[survey.site == site]
        both = rows.dropna(subset=["pay", "w"])
        weighed = rows.dropna(subset=["w"])
        true = {
            "n": rows.w.sum(),
            "total": (both.pay * both.w).sum(),
            "mean": np.average(both.pay, weights=both.w),
            "share": np.average(weighed.status == "employed", weights=weighed.w),
            "each": rows.pay.sum() / len(rows),
            "rate": 1000 * both.pay.sum() / both.w.sum(),
        }
        for label, value in true.items():
            low, high = answer.interval(label, site)
            assert low is not None
            assert high is not None
            assert 2 * low - high <= value <= 2 * high - low, label  # two half-widths more: 1e-7
    low, high = answer.interval("rate", "none")  # of no rows a ratio may be of any size
    assert low is not None
    assert low >= 0
    assert high is None or high > low
    told = answer.about.get("rate", "")
    assert ("what it divides by may be zero" in told) == (high is None)
    page = answer.certificate.to_html()
    assert "the mean of pay weighted by w, over the rows that have both" in page
    assert "times 1000" in page
    assert "Infinity" not in str(answer.to_dict()) + str(answer.certificate.body)


def test_of_one_vector_a_sum_and_a_mean_are_paid_once(survey: pd.DataFrame) -> None:
    with tc.Session(
        survey, unit=tc.one_row_each, budget=tc.epsilon(9), name="s", ledger=tc.in_memory
    ) as session:
        both = session.agg(
            t=tc.weighted_sum("pay", "w", BOUNDS), m=tc.weighted_mean("pay", "w", BOUNDS)
        )
        alone = session.agg(t=tc.weighted_sum("pay", "w", BOUNDS))
        plan = session.plan([both, session.agg(n=tc.weighted_count("w", 0, 50))])
        assert plan.preview(epsilon=2)
        # at the same epsilon: a sum alone has the least noise there can be
        errors = [q.preview(epsilon=2).errors["t"][0] for q in (both, alone)]
        assert errors[1] == pytest.approx(math.sqrt(2) * 50_000 / 2, rel=1e-3)
        assert errors[0] == pytest.approx(errors[1], rel=1e-3)  # from 0, one corner has it all
        answer = both.release(epsilon=2)
        assert len(answer.certificate.body["chains"]) == 1


@pytest.mark.full
def test_in_sql_on_the_command_line_and_in_a_plan(
    survey: pd.DataFrame, tmp_path: Any, capsys: Any
) -> None:
    path = tmp_path / "survey.csv"
    survey.to_csv(path, index=False)
    with tc.Session(str(path), unit=tc.one_row_each, budget=tc.epsilon(9)) as session:
        text = "select wavg(clamp(pay, 0, 1000), clamp(w, 0, 50)) as m from survey"
        asked = session.sql(text)
        assert asked.release(epsilon=1).certificate.verify()
        assert session.agg(m=tc.weighted_mean("pay", "w", BOUNDS)).release(epsilon=1).replayed
    flags = ["--ratio", "pay:0:1000,*", "--weighted-count", "w:0:50", "--weighted-mean"]
    spent = ["pay:0:1000,w:0:50", "--one-row-each", "--epsilon", "2"]
    again = ["--ledger", str(tmp_path / "l.ledger"), "--budget-epsilon", "9"]
    assert run(["release", str(path), *flags, *spent, *again, "--json"]) == 0
    assert "ratio_pay_rows" in capsys.readouterr().out
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
        source = {{ path = "{path}" }}
        unit = "row"
        budget = {{ ledger = "{tmp_path / "l.ledger"}" }}
        [[question]]
        epsilon = 1
        [question.answers.rate]
        statistic = "ratio"
        x = "pay"
        y = "w"
        bounds = {{ pay = [0, 1000], w = [0, 50] }}
        per = 1000
        """,
        encoding="utf-8",
    )
    assert run(["release", "--plan", str(plan)]) == 0, capsys.readouterr().err
    assert "rate" in capsys.readouterr().out


def test_in_a_plan_or_json_a_ratio_is_by_rows_unless_it_says_of_what() -> None:
    asked = {"statistic": "ratio", "x": "x", "bounds": {"x": (0, 1)}}
    assert statistic(asked, "r") == tc.ratio("x", bounds=ONE)
    assert statistic({"statistic": "ratio", "x": "x"}, "r", declared=True) == tc.ratio("x")
    with pytest.raises(UsageError, match="lacks bounds"):
        statistic({"statistic": "ratio", "x": "x"}, "r")
    with pytest.raises(UsageError, match="lacks x"):
        statistic({"statistic": "ratio", "bounds": {}}, "r")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: tc.weighted_count("w", -1, 50), "a weight is not negative"),
        (lambda: tc.weighted_sum("x", "w", {"x": (0, 1), "w": (-1, 5)}), "not negative"),
        (lambda: tc.weighted_mean("x", "x", {"x": (0, 1)}), "given twice"),
        (lambda: tc.weighted_mean("x", "w", {"x": (0, 1), "v": (0, 1)}), "not one of its columns"),
        (lambda: tc.ratio("x", "y", {"x": (1, 0)}), "must be in order"),
        (lambda: tc.ratio("x", "*", {"*": (0, 1)}), "number of rows, which has no bounds"),
        (lambda: tc.ratio("x", per=0), "per"),
        (lambda: tc.ratio("x", per="1e308"), "per is from"),
        (lambda: tc.ratio("x", per=Fraction(1, 10**5000)), "per is from"),
        (lambda: Ratio.read(tc.ratio("x", bounds=ONE).to_json() | {"per": "1e46"}), "per is from"),
        (lambda: tc.ratio(3), "named by text"),  # type: ignore[arg-type]
        (lambda: tc.weighted_count(3), "named by text"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_asked_is_refused(ask: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ask()


def test_bounds_beyond_the_doubles_are_refused_and_groups_may_be_none() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "w": [2.0, 3.0], "site": ["a", "b"]})
    budget = tc.epsilon_delta(9, "1e-3")
    with tc.Session(frame, unit=tc.one_row_each, budget=budget, name="t") as session:
        for far in (2**200, Fraction(1, 2**200)):
            with pytest.raises(UsageError, match="'w' are too far from one"):
                session.agg(tc.ratio("x", "w", {"x": (0, 1), "w": (0, far)})).preview(epsilon=1)
        for per in (2**149, Fraction(1, 2**149)):
            for y in ("*", "w"):
                bounds = {"x": (0, Fraction(per) * 4)} | ({"w": (0, 1)} if y == "w" else {})
                with pytest.raises(UsageError, match="'x', also times per="):
                    session.agg(tc.ratio("x", y, bounds, per=per)).release(epsilon=1)
        assert session.remaining == budget
        wide = {"x": (-(2**149), 2**149), "w": (0, Fraction(1, 2**149))}
        answer = session.agg(r=tc.ratio("x", "w", wide), m=tc.weighted_mean("x", "w", wide))
        assert answer.release(epsilon=1).certificate.verify()
        found = session.group_by("site").agg(r=tc.ratio("x", "w", {"x": (0, 1), "w": (0, 1)}))
        assert found.release(epsilon=1, delta="1e-9").keys == []


def test_true_and_false_are_between_zero_and_one() -> None:
    frame = pd.DataFrame({"person": [1, 1], "ill": [True, False], "w": [2.0, 3.0]})
    unit, spent = tc.unit("person", rows=2), tc.epsilon(9)
    with tc.Session(frame, unit=unit, budget=spent, name="t", ledger=tc.in_memory) as session:
        own = session.agg(m=tc.weighted_mean("ill", "w", {"w": (0, 5)}), r=tc.ratio("ill"))
        one = {"ill": (0, 1)}
        said = session.agg(
            m=tc.weighted_mean("ill", "w", one | {"w": (0, 5)}), r=tc.ratio("ill", bounds=one)
        )
        answer = own.release(epsilon=1)
        assert answer.certificate.verify()
        assert said.release(epsilon=1).replayed
        days = session.per_person(days=tc.sum("ill")).agg(r=tc.ratio("days"))
        assert str(days) == "<Question r=ratio(days, 0, 2, *) of people>"


def test_a_weight_without_bounds_is_refused_and_declared_ones_are_checked(tmp_path: Any) -> None:
    frame = pd.DataFrame({"x": [1.0], "w": [2.0]})
    with (
        tc.Session(frame, unit=tc.one_row_each, budget=tc.epsilon(1), name="t") as session,
        pytest.raises(UsageError, match="'w' needs public bounds"),
    ):
        session.agg(tc.weighted_mean("x", "w", {"x": (0, 1)}))
    with tc.Session(frame, unit=tc.one_row_each, budget=tc.epsilon(1), name="t") as session:
        derived = session.with_columns(v=col("w").clip(-2, 9))
        with pytest.raises(UsageError, match="a weight is not negative"):
            derived.agg(tc.weighted_mean("x", "v", {"x": (0, 1)}))
        assert str(tc.ratio("x", per="1/2")) == "ratio(x, *, per=0.5)"
