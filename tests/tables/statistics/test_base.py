"""What can be asked: one object for a chain, for a sensitivity and for a table."""

from __future__ import annotations

import datetime
import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from support.tables import tables_reference as reference
from tables.statistics.released import bernstein_sums, enough, moments_part, noisy
from tacit import framework as fw
from tacit.core import Space, SymmetricDistance, Vector
from tacit.data import health_insurance
from tacit.errors import MismatchError, UsageError
from tacit.expressions.dialect import bin_names
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.report.text import distance_words, step_words
from tacit.tables.noise import GridNoise
from tacit.tables.open_source import open_source
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Distinct
from tacit.tables.statistics.base import register_statistic, statistic_named, statistics
from tacit.tables.statistics.counts import CountDistinctPart
from tacit.tables.statistics.method import MOST_BINS, MOST_ROWS, ROWS, Method, read_method
from tacit.tables.statistics.moments import MomentsPart, NoisyMoments
from tacit.tables.statistics.part import Noise


def test_an_aggregate_without_a_column_is_a_step():
    column = Space(Vector(float, bounds=(0, 5)), SymmetricDistance())
    assert (column >> tc.count()).map(1) == 1
    assert (column >> tc.sum() >> fw.laplace(scale=10)).map(1) == Fraction(1, 2)
    with pytest.raises(MismatchError, match="question to a table"):
        column >> tc.sum("x", 0, 5)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (tc.count(), "count()"),
        (tc.count_people(), "count_people()"),
        (tc.sum("x", "-1/2", 3), "sum(x, -0.5, 3)"),
        (tc.percentile("x", "99.9", 0, 1), "percentile(x, 99.9, 0, 1)"),
        (tc.percentile(25), "percentile(25)"),
        (tc.min("x", 0, 1), "min(x, 0, 1)"),
    ],
)
def test_an_aggregate_says_what_it_is(asked, text):
    assert str(asked) == text
    assert asked.to_json()["kind"] == asked.kind


def test_equal_questions_are_equal_however_they_are_written():
    assert tc.mean("x", 0, 0.5) == tc.mean("x", "0", Fraction(1, 2))
    assert tc.median("x", 0, 1).to_json() == tc.median("x", 0.0, "1.0").to_json()
    assert tc.mean("x", 0, 1) != tc.mean("x", 0, 2)


@pytest.mark.parametrize("kind", [tc.sum, tc.mean, tc.var, tc.std, tc.median, tc.min, tc.max])
def test_bounds_are_public_and_rise(kind):
    for wrong, message in [
        (("x", 0), "both bounds"),
        (("x", 1, 1), "are equal, both 1"),
        (("x", 2, 1), "must be in order"),
        (("x", 0, math.inf), "upper bound must be a finite"),
        (("x", math.nan, 1), "lower bound must be a finite"),
        (("x", "a", 1), "lower bound must be a number"),
        (("x", 0, "1e99999999"), "power of ten"),
        ((3, 0, 1), "named by text"),
        ((None, 0, 1), "name the column"),
    ]:
        with pytest.raises(UsageError, match=message):
            kind(*wrong)


def test_percentiles_and_edges_are_checked():
    for wrong in (-1, 101, "x", math.nan):
        with pytest.raises(UsageError, match="percentile"):
            tc.percentile("x", wrong, 0, 1)
    with pytest.raises(UsageError, match="percentile"):
        tc.percentile(3, 50, 0, 1)
    for edges in (None, [], [1], [1, 1], [2, 1], [0, 2, 1], [0, math.nan]):
        with pytest.raises(UsageError, match="edge"):
            tc.histogram("x", edges)
    names = bin_names((Fraction(0), Fraction(1, 2), Fraction(3)))
    assert names == ["[0, 0.5)", "[0.5, 3]"]


@pytest.mark.parametrize("kind", [tc.sum, tc.mean, tc.var, tc.std, tc.median, tc.min, tc.max])
def test_a_column_without_bounds_is_refused_where_none_are_declared(kind, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1.5\n2.5\n", encoding="utf-8")
    with tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
        with pytest.raises(UsageError, match="needs public bounds"):
            s.agg(x=kind("x"))
        assert s.spent.is_nothing


def test_a_statistic_has_a_name_and_an_order_of_its_own():
    mean = statistic_named("mean")
    for other in ({}, {"kind": "another"}, {"order": 1}):
        with pytest.raises(UsageError, match="of its own"):
            register_statistic(type("Taken", (mean,), other))
    orders = [known.order for known in statistics()]
    assert orders == sorted(set(orders))
    with pytest.raises(UsageError, match=r"is called 'maen'.*mean"):
        statistic_named("maen")


def test_bounds_too_near_or_too_far_are_refused_before_any_data(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1.5\n2.5\n", encoding="utf-8")
    with tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
        for low, high in (("1e-400", "2e-400"), (0, "1e400"), (2**60, 2**60 + 1)):
            with pytest.raises(UsageError):
                s.agg(x=tc.mean("x", low, high)).release(epsilon=1)
        assert s.spent.is_nothing


# Which mechanism answers a statistic: its options, and those that belong to another.


def read(method: str, **more: Any) -> Method | None:
    return read_method("median", "age", method, **more)


def test_the_global_method_is_none_and_has_no_options() -> None:
    assert read("global") is None
    for more in ({"bound": 1}, {"bins": 5}, {"distribution": "cauchy"}, {"rows": 9}):
        with pytest.raises(UsageError, match="leave it out"):
            read("global", **more)


@pytest.mark.parametrize(
    ("method", "option", "value"),
    [
        ("ptr", "bound", "1/2"),
        ("ptr", "bound", "search"),
        ("sample_and_aggregate", "bins", 20),
        ("smooth", "distribution", "student_t"),
        ("auto", "bins", 20),
        ("auto", "bound", "search"),
    ],
)
def test_an_option_is_kept_as_plain_json_and_read_again(
    method: str, option: str, value: Any
) -> None:
    found = read(method, **{option: value}, rows=500)
    assert found is not None
    told = found.to_json()
    assert told == {"name": method, option: value, "rows": 500}
    again = read(told.pop("name"), **told)
    assert again == found
    assert str(found) == f"method={method}, {option}={value}, rows=500"


@pytest.mark.parametrize(
    ("method", "more", "said"),
    [
        ("smoth", {}, "did you mean 'smooth'"),
        ("ptr", {}, "needs bound="),
        ("ptr", {"bound": 0}, "above zero"),
        ("ptr", {"bound": "much"}, "bound"),
        ("ptr", {"bound": 1, "bins": 5}, "bins= is for method='sample_and_aggregate'"),
        ("smooth", {"distribution": "normal"}, "unknown"),
        ("smooth", {"bound": 1}, "bound= is for method='ptr'"),
        ("sample_and_aggregate", {"bins": 1}, "at least 2"),
        ("sample_and_aggregate", {"bins": 2.5}, "bins"),
        ("sample_and_aggregate", {"bins": MOST_BINS + 1}, "at most"),
        ("sample_and_aggregate", {"bins": 50, "rows": 49}, "a bin without a row"),
        ("auto", {"rows": 0}, "at least 1"),
        ("auto", {"rows": MOST_ROWS + 1}, "at most"),
    ],
)
def test_options_that_do_not_fit_are_refused(method: str, more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(method, **more)


def test_a_method_is_of_a_column() -> None:
    with pytest.raises(UsageError, match=r'tc\.mean\("age", 0, 100, method="?\'?smooth'):
        read_method("mean", None, "smooth")


def test_rows_to_plan_for_are_those_said_or_ten_thousand() -> None:
    smooth, planned = read("smooth"), read("smooth", rows=7)
    assert smooth is not None
    assert planned is not None
    assert (smooth.planned, planned.planned) == (ROWS, 7)
    tested, searched = read("ptr", bound="1/2"), read("ptr", bound="search")
    assert tested is not None
    assert searched is not None
    assert (tested.searches, tested.bound) == (False, Fraction(1, 2))
    assert searched.searches


# The number of different values of a column: its bound, estimate and interval, and a release.


LINES = list(itertools.product([1, 2], ["a", "b"], [0, 1, 2, None]))
GROUPS = 200


def by_definition(lines, unit, salt="5a17"):
    """The counts of groups a and b, in pure Python."""
    rows = [dict(zip(("person", "g", "x"), line, strict=True)) for line in lines]
    asked = {"unit": unit, "where": None, "by": {"g": col("g")}, "keys": [("a",), ("b",)]}
    return reference.answer(rows, {**asked, "salt": salt}, Distinct(col("x")))


@pytest.mark.few(2)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("salt", ["5a17", "00"])
def test_a_person_moves_all_counts_by_at_most_their_rows(rows, salt):
    """All tables of up to three lines, and every one that someone leaves."""
    unit, most = tc.unit("person", rows=rows), 0
    for size in (1, 2, 3):
        for lines in itertools.combinations(LINES, size):
            u = by_definition(lines, unit, salt)
            for person in (1, 2):
                v = by_definition([line for line in lines if line[0] != person], unit, salt)
                assert all(left >= right for left, right in zip(u, v, strict=True))
                most = max(most, sum(u) - sum(v))
    assert most == rows


def test_a_row_moves_one_count_by_at_most_one():
    for lines in itertools.combinations(LINES, 3):
        u = by_definition(lines, tc.one_row_each)
        for place in range(3):
            v = by_definition(lines[:place] + lines[place + 1 :], tc.one_row_each)
            assert 0 <= sum(u) - sum(v) <= 1


def test_the_engine_keeps_the_bound_with_the_salt_of_a_release(monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")
    draw = random.Random(8)
    unit, asked = tc.unit("person", rows=2), Distinct(col("x"))
    for _ in range(3):
        lines = [(draw.randrange(5), draw.choice("ab"), draw.randrange(6)) for _ in range(30)]
        counts = []
        for kept in (lines, [line for line in lines if line[0] != 0]):
            frame = pd.DataFrame(kept, columns=["person", "g", "x"])
            source = open_source(frame, name="drawn")
            query = IntegerQuery(source, unit, by={"g": col("g")}, keys=["a", "b"])
            counts.append(query.run([asked]).of(asked).tolist())
            assert counts[-1] == by_definition(kept, unit)
            source.close()
        assert 0 <= sum(counts[0]) - sum(counts[1]) <= 2


def test_the_chain_spends_what_was_granted():
    for kind, metric in (("laplace", "L1"), ("gaussian", "L2")):
        noise = Noise(kind, Fraction(1, 4), 3, 1 << 20)
        ((step, mechanism),) = CountDistinctPart("x").chains(2, (), noise)
        assert step.norm == metric
        assert mechanism.scale == noise.scale(Fraction(3))


def columns(values):
    return pd.DataFrame({"x": pd.Series(values), "p": range(len(values))})


@pytest.mark.parametrize(
    ("values", "different"),
    [
        ([0.0, -0.0, float("nan"), 1.5, None, 1.5], 2),
        (["a", "A", "a", "", None, "ä", "a\u0308"], 5),
        ([True, False, None, True], 2),
        ([datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 2)], 2),
        ([2**53, 2**53 + 1, 2**62], 3),
        ([None, None], 0),
    ],
    ids=["floats", "texts", "booleans", "dates", "integers", "nothing"],
)
def test_two_values_are_one_if_they_are_the_same(values, different):
    for unit in (tc.one_row_each, tc.unit("p", rows=1)):
        source = open_source(columns(values), name="t")
        asked = Distinct(col("x"))
        assert IntegerQuery(source, unit).run([asked]).of(asked).tolist() == [different]
        source.close()


@pytest.mark.parametrize("budget", [tc.epsilon(9), tc.rho(9)], ids=["epsilon", "rho"])
def test_the_interval_holds_the_count_as_often_as_it_says(budget):
    rows = [(g, v) for g in range(GROUPS) for v in range(g % 7) for _ in range(2)]
    frame = pd.DataFrame(rows, columns=["g", "x"])
    with tc.Session(frame, unit=tc.one_row_each, budget=budget, name="t") as session:
        question = session.group_by("g", keys=list(range(GROUPS))).agg(kinds=tc.count_distinct("x"))
        price = {"rho": "1/20"} if budget.kind == "concentrated" else {"epsilon": "1/3"}
        expected = question.preview(**price).errors["kinds"]
        answer = question.release(**price)
    column = answer.column("kinds")
    held = [
        low <= g % 7 <= high
        for g, low, high in zip(range(GROUPS), column["low"], column["high"], strict=True)
    ]
    assert sum(held) >= enough(GROUPS)
    assert set(column["standard_error"]) == set(expected)
    assert all(type(value) is int for value in column["value"])
    assert answer.certificate.verify()
    assert "the number of different values of x" in answer.certificate.to_html()
    forged = dict(answer.certificate.body)
    first, *rest = forged["answer"]["columns"][0]["value"]
    changed = [{**forged["answer"]["columns"][0], "value": [first + 1, *rest]}]
    forged["answer"] = {**forged["answer"], "columns": changed}
    assert not tc.Certificate(forged).verify()


def test_people_with_many_values_add_no_more_than_their_rows():
    frame = pd.DataFrame({"p": [1] * 500 + [2], "x": [*range(500), 0]})
    with tc.Session(frame, unit=tc.unit("p", rows=3), budget=tc.epsilon(900), name="t") as session:
        answer = session.agg(kinds=tc.count_distinct("x")).release(epsilon=800)
    assert 3 <= answer.value("kinds") <= 4


def test_of_a_derived_column_and_of_groups_that_nobody_listed():
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=400), "g": ["a", "b"] * 200})
    budget = tc.epsilon_delta(99, "1e-5")
    with tc.Session(frame, unit=tc.one_row_each, budget=budget, name="t") as session:
        answer = (
            session.with_columns(month=tc.col("day").dt.month())
            .group_by("g")
            .agg(months=tc.count_distinct("month"))
            .release(epsilon=80, delta="1e-6")
        )
    assert answer.to_dict()["months"] == [12, 12]
    assert answer.certificate.verify()


def test_what_cannot_be_asked():
    with pytest.raises(UsageError, match="named by text"):
        tc.count_distinct(3)
    with pytest.raises(UsageError, match="one method"):
        tc.count_distinct("x", method="smooth")
    with pytest.raises(UsageError, match="a question to a table"):
        tc.sensitivity(tc.count_distinct("x"), over=tc.Values([0, 1], size=2))
    frame = pd.DataFrame({"x": [1]})
    needs = pytest.raises(UsageError, match=r'needs a column: tc.count_distinct\("column"\)')
    options = {"unit": tc.one_row_each, "budget": tc.epsilon(1), "name": "t"}
    with tc.Session(frame, **options) as session, needs:
        session.agg(kinds=tc.count_distinct())


def test_without_a_column_it_is_a_step_of_a_chain():
    kinds = fw.Space(fw.Vector(str), fw.SymmetricDistance()) >> tc.count_distinct()
    assert kinds(["a", "b", "a"]) == 2
    with pytest.raises(MismatchError):
        fw.Space(fw.Vector(str), fw.SymmetricDistance()) >> tc.count_distinct("x")


# Intervals cover, errors are what is measured, and counts and sums are unbiased.


RUNS = 3000
SHAPES = {
    "low": lambda n: np.zeros(n),
    "high": lambda n: np.ones(n),
    "two": lambda n: (np.arange(n) % 2).astype(float),
    "even": lambda n: (np.arange(n) + 0.5) / max(n, 1),
    "skew": lambda n: ((np.arange(n) + 0.5) / max(n, 1)) ** 6,
}
NOISES = {
    "laplace": Noise("laplace", Fraction(1, 2), 1),
    "laplace, strong": Noise("laplace", Fraction(5), 1),
    "laplace, people": Noise("laplace", Fraction(1), 4, 1 << 20),
    "gaussian": Noise("gaussian", Fraction(1, 8), 1),
    "gaussian, strong": Noise("gaussian", Fraction(20), 1),
    "gaussian, people": Noise("gaussian", Fraction(1, 2), 4, 1 << 20),
}


def truth(y, kind, part, absent):
    low, high = (float(b) for b in part.bounds)
    x = low + (high - low) * y
    if kind == "count":
        return len(y) + absent
    if kind == "sum":
        return x.sum()
    return {"mean": x.mean, "var": x.var, "std": x.std}[kind]()


def coverage_of(part, spent, y, runs, absent=0.0):
    """Return, for each kind, the estimate over runs and the truth."""
    exact = bernstein_sums(y, part.degree, absent if part.missing else None)
    found = part.estimates([noisy(part, exact, spent, runs)], spent)
    return {kind: (found[kind], truth(y, kind, part, absent)) for kind in part.kinds}


@pytest.mark.few(24)
@pytest.mark.parametrize("size", [1, 3, 12, 100, 10_000])
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("kinds", [{"count", "sum", "mean"}, {"count", "mean", "var", "std"}])
def test_intervals_cover(kinds, spent, size):
    for shape, values in SHAPES.items():
        part = moments_part(kinds, missing="count" in kinds)
        y = values(size)
        for kind, (found, true) in coverage_of(part, spent, y, RUNS, absent=2.0).items():
            slack = 1e-6 * (1 + abs(true))
            held = (found.lower <= true + slack) & (true - slack <= found.upper)
            assert held.sum() >= enough(RUNS), (shape, kind, held.mean())
            assert np.isfinite(found.value).all()
            assert (found.lower <= found.upper).all()


@pytest.mark.few(4)
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
def test_intervals_cover_on_the_coarsest_grid(spent):
    part = MomentsPart("x", Grid.for_bounds(0, 1, whole=True), frozenset({"mean", "sum"}), False)
    assert part.grid.cells == 1
    for ones in (0, 1, 5, 49, 50):
        y = np.repeat([1.0, 0.0], [ones, 50 - ones])
        for kind, (found, true) in coverage_of(part, spent, y, RUNS).items():
            held = (found.lower <= true + 1e-9) & (true - 1e-9 <= found.upper)
            assert held.sum() >= enough(RUNS), (kind, ones, held.mean())


@pytest.mark.few(4)
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
def test_an_empty_group_covers_its_count_and_sum(spent):
    part = moments_part({"count", "sum", "mean", "var", "std"}, missing=True)
    found = part.estimates([noisy(part, [0, 0, 0, 0], spent, RUNS)], spent)
    for kind in ("count", "sum"):
        held = (found[kind].lower <= 0) & (found[kind].upper >= 0)
        assert held.sum() >= enough(RUNS), kind
    for kind in ("mean", "var", "std"):
        assert np.isfinite(found[kind].value).all()


@pytest.mark.few(9)
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("kinds", [{"count", "sum", "mean"}, {"count", "mean", "var", "std"}])
def test_standard_errors_are_what_is_measured(spent, kinds):
    part = moments_part(kinds, missing=True)
    y = SHAPES["skew"](20_000)
    for kind, (found, true) in coverage_of(part, spent, y, 20_000).items():
        wrong = found.value - true
        measured = np.sqrt((wrong**2).mean())
        claimed = found.standard_error.mean()
        assert measured == pytest.approx(claimed, rel=0.05), kind
        if kind in ("count", "sum"):
            assert abs(wrong.mean()) < 6 * claimed / np.sqrt(len(wrong)), kind


def test_intervals_are_not_needlessly_wide_in_large_groups():
    spent = NOISES["laplace"]
    part = moments_part({"mean", "var", "std"})
    y = SHAPES["even"](100_000)
    for kind, (found, _) in coverage_of(part, spent, y, 100).items():
        width = (found.upper - found.lower).mean() / found.standard_error.mean()
        assert width < {"mean": 4.6, "var": 30, "std": 30}[kind]


def test_answers_stay_within_what_is_possible():
    spent = NOISES["laplace"]
    part = moments_part({"mean", "var", "std"})
    for size in (0, 1, 2, 30):
        found = part.estimates(
            [noisy(part, bernstein_sums(SHAPES["two"](size), 2, None), spent, 2000)], spent
        )
        assert (found["mean"].value >= -2).all()
        assert (found["mean"].value <= 10).all()
        assert (found["var"].value >= 0).all()
        assert (found["var"].value <= 36).all()
        assert (found["std"].upper <= 6 + 1e-9).all()


@pytest.mark.full
def test_the_band_is_above_the_half_width_everywhere():
    from tacit.tables.statistics.moments import _fieller_band

    for spent in NOISES.values():
        for degree in (1, 2):
            part = moments_part({"mean"} if degree == 1 else {"var"})
            points, band = _fieller_band(part.distribution(spent), degree, 0.95)
            for m in np.linspace(0, 1, 999):
                weights = tuple(np.arange(degree + 1) / degree - m)
                assert np.interp(m, points, band) >= part.distribution(spent).half_width(weights)


@pytest.mark.full
def test_the_least_and_greatest_variance_of_the_box_hold_any_vector_in_it():
    spent = Noise("laplace", Fraction(1), 1)
    part = moments_part({"var"})
    source = np.random.default_rng(5)
    for _ in range(300):
        centre = source.uniform(0, 60, size=3)
        law = part.distribution(spent)
        moments = NoisyMoments(centre[None, :], law, 0.0, 1.0, 2, False)
        low, high = moments._variance_box(moments._mean_share()[0])
        half = law.half_width((1.0,), 1 - 0.05 / 3)
        for _ in range(30):
            y = source.uniform(size=source.integers(1, 60)) ** source.uniform(0.2, 5)
            t = np.array(bernstein_sums(y, 2, None))
            if (np.abs(t - centre) <= half).all():
                assert low[0] - 1e-12 <= y.var() <= high[0] + 1e-12


# The sums that a mean and a variance come from: their map, and what a certificate says of them.


def chain(asked: Any) -> Any:
    whole = tc.epsilon(1)
    session = tc.Session(health_insurance(), tc.unit("person", rows=5), whole, tc.in_memory)
    body: Any = session.agg(m=asked).release(epsilon=1).certificate.body
    return body["chains"][0]


@pytest.mark.parametrize(
    ("asked", "degree"), [(tc.mean("age", 0, 80), 1), (tc.var("age", 10, 80), 2)]
)
def test_five_rows_of_a_person_move_the_sums_by_five(asked: Any, degree: int) -> None:
    step = chain(asked)["steps"][1]
    assert (step["step"], step["degree"], step["size"]) == ("moments", degree, degree + 1)
    assert step["distance"] == "5"


def test_the_words_give_the_distance_in_the_units_of_the_column() -> None:
    step = chain(tc.var("age", 10, 80))["steps"][1]
    assert step_words(step).startswith("Add up age, clamped to [10, 80]")
    told = distance_words(step, "PureDP", last=False)
    assert "the sum of age by 400" in told  # five rows of at most 80
    assert "that of squares above 10 by 24500" in told.replace(",", "")  # five times 70 squared


# What noisy sums say of one group does not depend on how many groups there are.


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("degree", [1, 2])
def test_a_mean_and_its_interval_have_the_same_bits_for_one_group_and_for_many(kind, degree):
    draw = np.random.default_rng(degree)
    sizes = draw.choice([0.0, 1.0, 3.0, 40.0, 1e4, 1e9], (300, 1))
    noisy = np.rint(draw.random((300, degree + 1)) * sizes + draw.normal(0, 9, (300, degree + 1)))
    law = GridNoise(kind, 5.0, 1.0)
    together = NoisyMoments(noisy, law, -3.0, 7.0, degree, missing=False).mean()
    for group, row in enumerate(noisy):
        alone = NoisyMoments(row[None], law, -3.0, 7.0, degree, missing=False).mean()
        for part in ("value", "standard_error", "lower", "upper"):
            assert getattr(alone, part)[0] == getattr(together, part)[group], (row, part)
    assert (together.upper - together.lower < 10).sum() > 10  # some are narrower than the bounds
