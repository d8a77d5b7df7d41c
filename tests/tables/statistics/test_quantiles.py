"""The interquartile range of a column: its loss, estimate and interval, and a whole release."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from tables.statistics.released import enough
from tacit import noise
from tacit.cli import run
from tacit.core import Space, SymmetricDistance, step_from
from tacit.errors import MismatchError, UsageError
from tacit.expressions.grid import Grid
from tacit.mechanisms.private_quantile import error_in_cost, quantile_costs
from tacit.tables.plan.plan import Plan
from tacit.tables.release.release import PlanRunner
from tacit.tables.statistics.histogram import BoundsPart
from tacit.tables.statistics.part import LEVEL, Noise
from tacit.tables.statistics.quantile_choice import (
    ChooseQuantile,
    QuantileCosts,
)
from tacit.tables.statistics.quantiles import InterquartileRangePart, QuantilePart
from tacit.tables.statistics.top_k import TopKPart
from tacit.tables.steps import Answers, BoundContributions, table_space

RUNS = 200
PART = InterquartileRangePart("x", Grid.for_bounds(0, 40, bits=8))
KIND = "interquartile_range"


def on_grid(values):
    """The places of values from 0 to 40 on the grid."""
    return np.floor(np.asarray(values, dtype=float) / float(PART.grid.step) + 0.5).astype(np.int64)


def counted(values):
    return np.unique(on_grid(values), return_counts=True)


def ranges(values):
    """The least and the greatest range of quartiles by their definition, and interpolated ones."""
    points = (on_grid(values) * float(PART.grid.step)).tolist()

    def quartiles(share):
        found = [
            c
            for c in points
            if sum(v < c for v in points) <= share * len(points)
            and sum(v > c for v in points) <= (1 - share) * len(points)
        ]
        return [*found, float(np.quantile(points, float(share)))]

    first, third = quartiles(Fraction(1, 4)), quartiles(Fraction(3, 4))
    return max(min(third) - max(first), 0), max(third) - min(first)


def released(values, spent):
    """What the part releases on a column, many times over."""
    space = table_space({"x": "float"}, "p" if spent.rows > 1 else None)
    chain = space >> BoundContributions(spent.rows, spent.rows)
    cells = [
        (chain >> costs >> choice)(Answers({costs: [counted(values)] * RUNS}))
        for costs, choice in PART.chains(RUNS, (), spent)
    ]
    return PART.estimates(cells, spent)[KIND]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_six_choices_spend_what_was_granted(kind):
    for rows, one in ((1, 1), (5, 1 << 20)):
        spent = Noise(kind, Fraction(3, 10), rows, one)
        chain = table_space({"x": "float"}, "p" if rows > 1 else None)
        chain = chain >> BoundContributions(rows, rows)
        losses = [(chain >> costs >> choice).map(1) for costs, choice in PART.chains(1, (), spent)]
        assert len(losses) == 6
        assert spent.loss * Fraction(999_999, 1_000_000) <= sum(losses) <= spent.loss


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "values",
    [
        np.linspace(3, 33, 400),
        [10] * 150 + [30] * 150,
        [7] * 200,
        [0, 12, 13, 40],
        [],
    ],
    ids=["even", "two values", "one value", "four rows", "no rows"],
)
def test_the_interval_holds_the_range_as_often_as_it_says(kind, values):
    found = released(values, Noise(kind, Fraction(4), 1))
    least, most = ranges(values) if len(values) else (0, 0)
    assert ((found.lower <= least) & (most <= found.upper)).sum() >= enough(RUNS)
    assert (found.lower >= 0).all()
    assert (found.coherent().lower <= found.value).all()
    assert (found.value <= found.coherent().upper).all()
    assert np.isnan(found.standard_error).all()


def test_with_enough_rows_the_answer_and_its_interval_are_near():
    found = released(np.linspace(0, 40, 20_001), Noise("laplace", Fraction(4), 1))
    assert np.abs(found.value - 20).max() < 0.5
    assert (found.upper - found.lower).max() < 2


def test_the_error_in_rank_holds_for_both_quartiles():
    spent, rows = Noise("laplace", Fraction(2), 1), 2000
    values = np.linspace(0, 40, rows)
    said = PART.expected_error(KIND, spent, rows)
    at = on_grid(values)
    upto = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=PART.grid.cells + 1))])
    chain = table_space({"x": "float"}, None) >> BoundContributions(1, 1)
    off = []
    for share, (costs, choice) in zip((0.25, 0.75), PART.chains(RUNS, (), spent), strict=False):
        cells = np.array((chain >> costs >> choice)(Answers({costs: [counted(values)] * RUNS})))
        below, within = upto[cells], upto[cells + 1]
        off.append(np.maximum(np.maximum(below - share * rows, share * rows - within), 0))
    assert (np.maximum(*off) <= said).sum() >= enough(RUNS)

    def missed(rank):  # by one quartile or the other: epsilon 1/2 each, and a row moves costs by 3
        return 2 * (PART.grid.cells + 1) * math.exp(-4 * rank * 0.5 / (2 * 3))

    assert missed(said) <= 0.05 < missed(said - 1)


def test_quartiles_that_crossed_make_no_range_below_zero():
    spent = Noise("laplace", Fraction(1), 1)
    cells = [[9], [5], [0], [10], [2], [20]]
    found = PART.estimates(cells, spent)[KIND].coherent()
    assert (found.value[0], found.lower[0]) == (0, 0)
    assert found.upper[0] == 20 * float(PART.grid.step)


def test_it_is_a_statistic_without_a_column():
    at = tc.sensitivity(tc.interquartile_range(), over=tc.Values([0, 1, 5], size=4))
    assert at.value == tc.sensitivity("iqr", over=tc.Values([0, 1, 5], size=4)).value
    with pytest.raises(UsageError, match="both bounds"):
        tc.interquartile_range("x", 0)
    with pytest.raises(UsageError, match="one method"):
        tc.interquartile_range("x", 0, 1, method="smooth")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("iqr") / "people.csv"
    rows = [f"{i // 2},{i % 80},{'abc'[i % 3]}" for i in range(3000)]
    path.write_text("person,age,site\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def question(session):
    adults = session.filter(tc.col("age") >= 20)
    return adults.agg(spread=tc.interquartile_range("age", 0, 100), n=tc.count())


@pytest.mark.parametrize(
    ("budget", "price"),
    [(tc.epsilon(20), {"epsilon": 6}), (tc.rho(20), {"rho": 2})],
    ids=["epsilon", "rho"],
)
def test_by_public_groups_of_people(table, budget, price):
    protects = tc.unit("person", rows=2)
    with tc.Session(table, unit=protects, budget=budget, ledger=tc.in_memory) as session:
        asked = question(session).group_by("site", keys=["a", "b", "c", "nobody"])
        expected = asked.preview(**price)
        assert expected.units["spread"] == "rows in rank"
        answer = asked.release(**price)
        left = session.remaining
        again = asked.release(**price)
        assert again.replayed
        assert again.value("spread", "a") == answer.value("spread", "a")
        assert session.remaining == left
    assert 20 < answer.value("spread", "a") < 40  # the rows of adults lie evenly in 20..79
    low, high = answer.interval("spread", "a")
    assert 0 <= low <= answer.value("spread", "a") <= high <= 100
    assert answer.value("n", "a") > 500
    checked = answer.certificate.verify()
    assert checked, str(checked)
    page = answer.certificate.to_html()
    assert "the interquartile range of age" in page


def test_with_groups_that_nobody_listed(table):
    budget = tc.epsilon_delta(20, "1e-5")
    with tc.Session(table, unit=tc.one_row_each, budget=budget, ledger=tc.in_memory) as session:
        answer = question(session).group_by("site").release(epsilon=8, delta="1e-6")
    assert answer.keys == [("a",), ("b",), ("c",)]
    assert answer.certificate.verify()


def test_a_certificate_that_was_changed_does_not_hold(table):
    with tc.Session(
        table, unit=tc.one_row_each, budget=tc.epsilon(9), ledger=tc.in_memory
    ) as session:
        body = question(session).release(epsilon=4).certificate.body
    first, *others = body["answer"]["columns"]
    forged = {**first, "value": [first["value"][0] + 1]}
    answer = {**body["answer"], "columns": [forged, *others]}
    assert not tc.Certificate({**body, "answer": answer}).verify()


def test_on_the_command_line_and_in_a_plan(table, tmp_path, capsys):
    ledger = str(tmp_path / "a.ledger")
    flags = ["--interquartile-range", "age:0:100", "--by", "site", "--keys", "a,b"]
    spent = ["--epsilon", "4", "--budget-epsilon", "8", "--ledger", ledger]
    assert run(["release", table, "--one-row-each", *flags, *spent, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["releases"][0]
    assert 0 <= first["answers"][0]["interquartile_range_age"]["value"] <= 100
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
        source = {{ path = "{table}" }}
        budget = {{ ledger = "{ledger}" }}
        [[question]]
        by = ["site"]
        keys = ["a", "b"]
        epsilon = 4
        [question.answers.interquartile_range_age]
        statistic = "interquartile_range"
        column = "age"
        lower = 0
        upper = 100
        """,
        encoding="utf-8",
    )
    assert run(["release", "--plan", str(plan), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["releases"][0]
    assert again["replayed"]
    assert again["answers"] == first["answers"]


# Quantiles of a column: how they are asked, where they lie, and the interval beside them.


DATA = list(range(101)) * 10


def quantile_released(
    aggregate: Any, data: Any = None, epsilon: Any = 10**4
) -> tuple[Any, Any, Any]:
    session = tc.Session(
        pd.DataFrame({"x": DATA if data is None else data}, dtype="int64"),
        unit=tc.one_row_each,
        budget=tc.epsilon(epsilon),
    )
    answer = session.agg(q=aggregate).release(epsilon=epsilon)
    return answer.value("q"), *answer.interval("q")


@pytest.mark.parametrize(
    ("aggregate", "truth"),
    [
        (tc.median("x", 0, 100), 50),
        (tc.percentile("x", 25, 0, 100), 25),
        (tc.percentile("x", "99.9", 0, 100), 100),
        (tc.min("x", 0, 100), 0),
        (tc.max("x", 0, 100), 100),
    ],
    ids=str,
)
def test_with_much_budget_a_quantile_is_the_columns(aggregate: Any, truth: int) -> None:
    value, low, high = quantile_released(aggregate)
    assert value == pytest.approx(truth, abs=1.01)
    assert 0 <= low <= value <= high <= 100


@pytest.mark.parametrize("data", [[], [None] * 3, [-500, 900]])
def test_any_data_have_a_quantile_within_the_bounds(data: Any) -> None:
    session = tc.Session(
        pd.DataFrame({"x": pd.array(data, dtype="Int64")}),
        unit=tc.one_row_each,
        budget=tc.epsilon(1),
    )
    answer = session.agg(q=tc.median("x", 0, 100)).release(epsilon=1)
    low, high = answer.interval("q")
    assert 0 <= low <= answer.value("q") <= high <= 100
    assert answer.column("q")["standard_error"] == [None]


@pytest.mark.parametrize(
    ("q", "meant", "ratio"),
    [
        (0.5, "50, the median", "1/2"),
        ("0.95", "95", "19/20"),
        (1 / 3, "100/3", "1/3"),
        (1e-9, "1e-07", "1/1000000000"),
        (0.123456789, "12.3457", "123456789/1000000000"),
    ],
)
def test_a_percentile_that_looks_like_a_quantile_is_refused(q: Any, meant: str, ratio: str) -> None:
    for call in ((q,), ("x", q), ("x", q, 0, 100)):
        with pytest.raises(UsageError, match=f"write {meant}.*of a percent is '{ratio}'"):
            tc.percentile(*call)
    assert float(tc.percentile("x", ratio, 0, 100).q) == float(q)  # type: ignore[arg-type]
    assert tc.percentile("x", Fraction(ratio), 0, 100) == tc.percentile("x", ratio, 0, 100)


@pytest.mark.parametrize(
    ("q", "meant"),
    [(2, "0.02"), ("99.9", "0.999"), (100, "1"), (1.1, "0.011"), (Fraction(5, 2), "0.025")],
)
def test_a_quantile_that_looks_like_a_percentile_is_refused(q: Any, meant: str) -> None:
    for call in ((q,), ("x", q), ("x", q, 0, 100)):
        with pytest.raises(UsageError, match=f"from 0 to 1, not from 0 to 100 .*: write '{meant}'"):
            tc.quantile(*call)


@pytest.mark.parametrize("p", [0, 1, "0.5", "12.5", 25, 50, "99.9", 100])
def test_a_quantile_and_its_percentile_are_one_question(p: Any) -> None:
    share = Fraction(p) / 100
    percent = "1/2" if p == "0.5" else p
    for q in (share, str(share), float(share), np.float64(float(share))):
        asked = tc.quantile("x", q, 0, 100)
        assert asked == tc.percentile("x", percent, 0, 100)
        assert asked.to_json() == tc.percentile("x", percent, 0, 100).to_json()
        assert tc.quantile(q) == tc.percentile(percent)
        assert tc.quantile(column="x", q=q, lower=0, upper=100) == asked
    smooth = {"method": "smooth", "distribution": "student_t"}
    assert tc.quantile("x", share, 0, 9, **smooth) == tc.percentile("x", percent, 0, 9, **smooth)


@pytest.mark.parametrize("ask", [tc.quantile, tc.percentile])
def test_one_argument_is_q_and_two_are_a_column_and_q(ask: Any) -> None:
    for wrong in ((), (1, 1), (None, None), ("x",), ("x", None, 0, 9)):
        with pytest.raises(UsageError):
            ask(*wrong)


def test_a_quantile_that_was_released_as_a_percentile_is_free() -> None:
    session = tc.Session(pd.DataFrame({"x": range(50)}), tc.one_row_each, tc.epsilon(1))
    first = session.agg(a=tc.percentile("x", 90, 0, 50)).release(epsilon="1/2")
    again = session.agg(a=tc.quantile("x", 0.9, 0, 50)).release(epsilon="1/2")
    assert again.replayed
    assert again.value("a") == first.value("a")


def part(q: Any, kind: str = "percentile") -> QuantilePart:
    return QuantilePart("x", Grid.for_bounds(0, 100, whole=True), kind, Fraction(q))


def test_the_point_takes_half_of_the_loss_and_each_end_a_quarter() -> None:
    chains = part("1/2").chains(1, (), Noise("laplace", Fraction(1), rows=1))
    rates = [1 / Fraction(choice.scale) for _, choice in chains]  # type: ignore[attr-defined]
    assert [rate / sum(rates) for rate in rates] == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]


@pytest.mark.parametrize(("q", "side"), [(0, 0), (1, 100)])
def test_an_extreme_is_one_choice_whose_other_end_is_the_bound(q: int, side: int) -> None:
    noise = Noise("laplace", Fraction(1), rows=1)
    extreme = part(q, "min" if q == 0 else "max")
    assert len(extreme.chains(1, (), noise)) == 1
    found = extreme.estimates([[40]], noise)["median"]
    ends = (float(found.lower[0]), float(found.upper[0]))
    assert ends[0 if q == 0 else 1] == side


def test_more_loss_means_less_error_in_rows() -> None:
    errors = [
        part("1/2").expected_error("median", Noise("laplace", Fraction(e), rows=1), 1000)
        for e in (1, 2, 8)
    ]
    assert errors == sorted(errors, reverse=True)
    noise = Noise("laplace", Fraction(1), rows=1)
    assert part("1/2").half_width("median", noise, 1000, 0.99) > errors[0] > 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda: tc.percentile("x", 101, 0, 9),
        lambda: tc.percentile("x", -1, 0, 9),
        lambda: tc.percentile("x", "much", 0, 9),
        lambda: tc.median("x", 9, 0),
        lambda: tc.min("x", 0, 9, method="smooth"),
        lambda: tc.median("x", 0, 9, method="smoth"),
    ],
)
def test_what_is_no_quantile_is_refused(ask: Any) -> None:
    with pytest.raises((UsageError, TypeError)):
        ask()


# Bounds of a column found privately: how far they reach, what they miss, and whole releases.


HISTOGRAM_RUNS = 4000
GRID = Grid.for_bounds(-1000, 5000, whole=True)
HISTOGRAM_PART = BoundsPart.between("x", GRID)
NOISES = [Noise("laplace", Fraction(1, 2), 1), Noise("gaussian", Fraction(1, 20), 1)]


def found(values: Any, spent: Noise) -> Any:
    """What is released on a column, many times over: shape (runs, 2)."""
    counts, _ = np.histogram(values, [float(edge) for edge in HISTOGRAM_PART.edges])
    ((step, noise),) = HISTOGRAM_PART.chains(HISTOGRAM_RUNS, (), spent)
    chain = table_space({"x": "int"}, None) >> BoundContributions(1, 1) >> step >> noise
    assert chain.map(1) <= spent.loss
    released = chain(Answers({step: [int(count) for count in counts] * HISTOGRAM_RUNS}))
    return HISTOGRAM_PART.estimates([released], spent)["bounds"].value


@given(st.fractions(-(10**9), 10**9), st.fractions("1/1000", 10**9), st.booleans())
def test_the_edges_are_zero_and_powers_of_two_on_the_grid(low, width, whole):
    grid = Grid.for_bounds(low, low + width, whole=whole)
    edges = BoundsPart.between("x", grid).edges
    offsets = [grid.offset(edge) for edge in edges]
    assert (offsets[0], offsets[-1]) == (0, grid.cells)
    assert all(a < b for a, b in pairwise(offsets))
    assert all(
        edge == 0 or abs(edge / grid.step).numerator.bit_count() == 1 for edge in edges[1:-1]
    )
    assert len(edges) <= 2 * 63 + 3


@pytest.mark.parametrize("spent", NOISES, ids=str)
def test_no_bound_reaches_into_bins_without_rows_but_in_one_of_twenty(spent):
    values = [3] * 300 + [40] * 300 + [-5] * 300
    bounds = found(values, spent)
    wider = (bounds[:, 0] < -8) | (bounds[:, 1] > 64)
    assert wider.mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / HISTOGRAM_RUNS)
    assert (bounds[:, 0] <= -8).all()
    assert (bounds[:, 1] >= 64).all()


@pytest.mark.parametrize("spent", NOISES, ids=str)
def test_without_rows_they_are_those_given(spent):
    bounds = found([], spent)
    given = (bounds[:, 0] == -1000) & (bounds[:, 1] == 5000)
    assert given.mean() >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / HISTOGRAM_RUNS)


@pytest.mark.parametrize("spent", NOISES, ids=str)
def test_so_many_rows_as_the_preview_says_show(spent):
    rows = int(np.ceil(HISTOGRAM_PART.expected_error("bounds", spent, 0)))
    shown = found([1] * 500 + [200] * rows, spent)[:, 1] >= 256
    assert shown.mean() >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / HISTOGRAM_RUNS)
    few = found([1] * 500 + [200] * (rows // 8), spent)[:, 1] >= 256
    assert few.mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / HISTOGRAM_RUNS)


@pytest.fixture
def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "visits": [*range(20)] * 40 + [10**7],
            "pay": [0.25, -70.5, None] * 267,
            "g": [0, 1, 1] * 267,
        }
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("budget", [tc.epsilon(50), tc.rho(50)], ids=str)
def test_a_table_is_asked(people, budget):
    spent = {"epsilon": 5} if budget == tc.epsilon(50) else {"rho": 5}
    seen: Counter[Any] = Counter()
    for _ in range(11):  # one of twenty may reach into bins without rows
        session = tc.Session(people, unit=tc.one_row_each, budget=budget, name="people")
        asked = session.agg(tc.bounds("visits"), pay=tc.bounds("pay", -(10**6), 10**6))
        answer = asked.release(**spent)
        groups = session.group_by("g", keys=[0, 1]).agg(b=tc.bounds("visits", 0, 10**6))
        by_group = groups.release(**spent)
        seen["visits", *answer.value("bounds_visits")] += 1
        seen["pay", *answer.value("pay")] += 1
        for key in (0, 1):
            seen[key, *by_group.value("b", key)] += 1
    assert answer.certificate.verify()
    # values of pay that are nearer to zero than a step of the grid would be one bin
    expected = {("visits", 0, 32), ("pay", -128, 0.25 * 2), (0, 0, 32), (1, 0, 32)}
    assert {bounds for bounds, _ in seen.most_common(4)} == expected


def test_the_command_line_asks_too(people, tmp_path, capsys):
    people.to_csv(tmp_path / "people.csv", index=False)
    assert not run(
        [
            "release",
            str(tmp_path / "people.csv"),
            "--one-row-each",
            "--epsilon=9",
            f"--ledger={tmp_path / 'ledger'}",
            "--bounds=visits:0:1000000",
        ]
    )
    told = capsys.readouterr().out
    assert "upper" in told
    assert "32" in told


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda: tc.bounds("x", 5, 5), "are equal, both 5"),
        (lambda: tc.bounds(3), "named by text"),
        (lambda: tc.bounds("x", method="smooth"), "one method"),
        (lambda: tc.bounds("x").statistic, "question to a table"),
    ],
)
def test_what_cannot_be_asked_is_refused(bad, message):
    with pytest.raises(UsageError, match=message):
        bad()


def test_a_column_of_text_is_refused(people):
    people["name"] = "somebody"
    session = tc.Session(people, unit=tc.one_row_each, budget=tc.epsilon(1))
    with pytest.raises(UsageError, match="name"):
        session.agg(tc.bounds("name")).release(epsilon=1)
    assert session.remaining == tc.epsilon(1)


# The most frequent categories: what they lose, who is shown, and intervals that hold together.


TOP_K_RUNS = 400
COUNTS = [500, 480, 60, 55, 50, 5, 0, 0]
TOP_K_PART = TopKPart("x", 3, tuple("abcdefgh"))


def counts_of(frame, unit, keys, by=()):
    """The exact counts of a question, through the private door."""
    with tc.Session(frame, unit=unit, budget=tc.epsilon(1), name="t") as session:
        question = session.agg(top=tc.top_k("x", 1, keys))
        plan = Plan(question._query, tc.epsilon(1))
        chains = plan.chains(1)
        (found,) = PlanRunner(session.source).collect(plan).vectors(chains, [()])
        (vector,) = found.values()
        return vector, plan


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_whole_answer_spends_what_was_granted_for_every_k(kind, k):
    spent = Noise(kind, Fraction(1, 3), 2, 1 << 20)
    ((step, mechanism),) = TopKPart("x", k, TOP_K_PART.categories).chains(1, (), spent)
    chain = table_space({"x": "text"}, "p") >> BoundContributions(2, 2) >> step >> mechanism
    assert Fraction(333_333, 10**6) < chain.map(1) <= Fraction(1, 3)


@pytest.mark.full
def test_a_row_moves_the_counts_by_one_in_all_and_other_values_by_none():
    keys = ["a", "b", None]
    for values in itertools.product(["a", "b", "z", None], repeat=2):
        frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
        both, _ = counts_of(frame, tc.one_row_each, keys)
        assert both == [values.count(key) for key in keys]
        less, _ = counts_of(frame.iloc[:1], tc.one_row_each, keys)
        assert 0 <= sum(abs(u - v) for u, v in zip(both, less, strict=True)) <= 1


def test_a_person_has_at_most_the_weight_of_their_rows():
    frame = pd.DataFrame({"p": [1] * 9 + [2], "x": ["a"] * 6 + ["b"] * 3 + ["c"]})
    unit = tc.unit("p", rows=2)
    counts, _ = counts_of(frame, unit, ["a", "b", "c"])
    assert sum(counts[:2]) <= 2 * unit.one
    assert counts[2] == unit.one


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        ([3, 1, 2], [1, 2, 2, 9]),
        ([True, False], [True, False, False]),
        (["2024-01-01", "2024-01-02"], pd.to_datetime(["2024-01-01", "2024-03-01"])),
        (list(range(75)), [0, 19, 20, 21, 40, 74, 75, -1]),
    ],
    ids=["integers", "booleans", "dates", "many"],
)
def test_categories_of_every_kind_are_counted(keys, values):
    frame = pd.DataFrame({"x": values})
    counts, _ = counts_of(frame, tc.one_row_each, keys)
    seen = [str(v)[:10] if isinstance(v, pd.Timestamp) else v for v in list(values)]
    assert counts == [seen.count(key) for key in keys]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_intervals_of_all_that_is_shown_hold_together(kind):
    spent = Noise(kind, Fraction(1, 4), 1)
    ((step, mechanism),) = TOP_K_PART.chains(TOP_K_RUNS, (), spent)
    chain = table_space({"x": "text"}, None) >> BoundContributions(1, 1) >> step >> mechanism
    noisy = chain(Answers({step: COUNTS * TOP_K_RUNS}))
    found = TOP_K_PART.estimates([noisy], spent)["top_k"]
    shown = ~np.isnan(found.value)
    assert (shown.sum(axis=1) == 3).all()
    exact = np.array(COUNTS)[None, :]
    held = ((found.lower <= exact) & (exact <= found.upper)) | ~shown
    assert held.all(axis=1).sum() >= enough(TOP_K_RUNS)
    far = 2 * TOP_K_PART.half_width("top_k", spent, 0, LEVEL)
    most_left_out = np.where(shown, -1, exact).max(axis=1)
    least_shown = np.where(shown, exact, 10**9).min(axis=1)
    assert (most_left_out - least_shown <= far).sum() >= enough(TOP_K_RUNS)
    assert shown[:, :2].all()  # far ahead of the others


def test_a_release_by_group_replays_and_verifies():
    frame = pd.DataFrame(
        {"g": ["u", "v"] * 300, "x": (["a"] * 200 + ["b"] * 100 + ["c"] * 300), "p": range(600)}
    )
    with tc.Session(frame, unit=tc.unit("p", rows=1), budget=tc.epsilon(20), name="t") as session:
        question = session.group_by("g", keys=["u", "v"]).agg(
            top=tc.top_k("x", 2, ["a", "b", "c"]), n=tc.count_people()
        )
        expected = question.preview(epsilon=8)
        assert expected.units["top"] == "standard error"
        answer = question.release(epsilon=8)
        assert question.release(epsilon=8).replayed
        least = question.epsilon_for({"top": 9})
        seen = question.preview(least, confidence="0.95").intervals
        assert seen["top"][0] <= 9
    column = answer.column("top")
    assert column["bins"] == ["a", "b", "c"]
    assert [[value is None for value in row] for row in column["value"]] == [
        [False, True, False]
    ] * 2
    assert answer.to_dict()["top c"][0] == pytest.approx(150, abs=15)
    assert answer.certificate.verify()
    assert "the 2 most frequent of 3 categories of x" in answer.certificate.to_html()
    assert str(answer)
    forged = dict(answer.certificate.body)
    first, *rest = forged["answer"]["columns"]
    wrong = [[row[0], 1, row[2]] for row in first["value"]]
    forged["answer"] = {**forged["answer"], "columns": [{**first, "value": wrong}, *rest]}
    assert not tc.Certificate(forged).verify()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((3, 1, ["a", "b"]), "named by text"),
        (("x", 0, ["a", "b"]), "k"),
        (("x", 3, ["a", "b"]), "k=3 of 2"),
        (("x", 1, ["a"]), "k=1 of 1"),
        (("x", 1, "ab"), "list of categories"),
        (("x", 1, 3), "list of categories"),
        (("x", 1, ["a", "a"]), "given twice"),
        (("x", 1, [0.5, 1]), "cut numbers with a fraction"),
        (("x", 1, range(401)), "2 to 400"),
    ],
)
def test_what_cannot_be_asked(given, message):
    with pytest.raises(UsageError, match=message):
        tc.top_k(*given)


def test_without_categories_both_remedies_are_told():
    frame = pd.DataFrame({"x": ["a"]})
    options = {"unit": tc.one_row_each, "budget": tc.epsilon(1), "name": "t"}
    with tc.Session(frame, **options) as session:
        question = session.agg(top=tc.top_k("x", 1))
        with pytest.raises(UsageError, match="declare keys for the column in a data set"):
            question.preview(epsilon=1)


@pytest.mark.parametrize("keys", [["a", "b"], [1, "a"], [1, True], ["2024-01-31", "2024-02-01"]])
def test_categories_of_another_kind_are_refused_as_soon_as_they_are_asked(keys):
    frame = pd.DataFrame({"x": [1, 2]})
    options = {"unit": tc.one_row_each, "budget": tc.epsilon(1), "name": "t"}
    with tc.Session(frame, **options) as session:
        with pytest.raises(
            UsageError, match=r"'x' holds integer, and the category .* is of another kind"
        ):
            session.agg(top=tc.top_k("x", 1, keys))
        assert session.agg(top=tc.top_k("x", 1, [1, None])).preview(epsilon=1)


# Private quantiles: the costs by their definition, the map, the law, the coverage.


CELLS = 12


def histogram(values):
    cells, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    return cells, counts


def defined_cost(values, candidate, q, target):
    """The cost by its definition, candidate by candidate, in rationals."""
    a, b = q.numerator, q.denominator
    below = sum(v < candidate for v in values)
    equal = sum(v == candidate for v in values)
    above = len(values) - below - equal
    low = (b - a) * below - a * (above + equal)
    high = (b - a) * (below + equal) - a * above
    if candidate == 0 and target < 0:
        low = -(10**30)
    if candidate == CELLS and target > 0:
        high = 10**30
    return max(low - target, target - high, 0)


def costs(values, q, target):
    starts, lengths, cost = quantile_costs(histogram(values), CELLS, q, target)
    assert starts[0] == 0
    assert lengths.sum() == CELLS + 1
    assert (lengths > 0).all()
    return np.repeat(cost, lengths).tolist()


data = st.lists(st.integers(0, CELLS), max_size=14)
quantiles = st.fractions(0, 1, max_denominator=20)


@given(data, quantiles, st.integers(-80, 80))
@examples(3)
def test_costs_are_those_of_the_definition(values, q, target):
    assert costs(values, q, target) == [
        defined_cost(values, c, q, target) for c in range(CELLS + 1)
    ]
    assert min(costs(values, q, target)) == 0


@given(data, st.integers(0, CELLS), quantiles, st.integers(-80, 80))
@examples(3)
def test_one_row_moves_no_cost_farther_than_the_stretch(values, row, q, target):
    stretch = max(q.numerator, q.denominator - q.numerator)
    gaps = np.abs(np.subtract(costs(values, q, target), costs([*values, row], q, target)))
    assert gaps.max() <= stretch


@given(data.filter(bool))
@examples(1)
def test_cost_zero_is_a_median(values):
    found = [c for c, cost in enumerate(costs(values, Fraction(1, 2), 0)) if cost == 0]
    for c in found:
        assert sum(v < c for v in values) <= len(values) / 2
        assert sum(v > c for v in values) <= len(values) / 2


def test_weights_beyond_64_bits_stay_exact_and_in_reach():
    counts = np.array([1 << 58, 1 << 58], dtype=np.int64)
    starts, lengths, cost = quantile_costs(
        (np.array([3, 9]), counts), CELLS, Fraction(3333, 10_000), 0
    )
    assert cost.dtype == np.int64
    assert (cost >= 0).all()
    assert min(cost) == 0
    assert int(starts[int(np.argmin(cost))]) == 3
    assert lengths.sum() == CELLS + 1
    # far targets need their open end too
    _, _, far = quantile_costs((np.array([3]), counts[:1]), CELLS, Fraction(1, 10_000), -(1 << 62))
    assert far[0] == 0


def choose_chain(one=1, by=("g",), rows=2):
    space = table_space({"x": "float", "g": "text", "p": "integer"}, "p")
    end = QuantileCosts("x", "0", "12", CELLS, "1/4", size=2, one=one, by=by)
    return space >> BoundContributions(rows, 2) >> end, end


def test_the_maps_of_the_choice():
    chain, _ = choose_chain(one=8)
    assert chain.map(1) == 2 * 3 * 8
    assert (chain >> ChooseQuantile(96, 0, "1/4")).map(1) == 1
    concentrated = chain >> ChooseQuantile(96, 0, "1/4", "ZeroConcentratedDP")
    assert concentrated.map(1) == Fraction(1, 8)
    for step in (ChooseQuantile("7/2", -3, "1/4"), choose_chain()[1]):
        assert step_from(step.describe()).describe() == step.describe()


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_scale_spends_what_was_granted(kind):
    for rows, one in ((1, 1), (5, 1 << 20)):
        spent = Noise(kind, Fraction(3, 10), rows, one)
        part = QuantilePart("x", Grid.for_bounds(0, 10), "percentile", Fraction(9, 10))
        space = table_space({"x": "float"}, "p" if rows > 1 else None)
        chain = space >> BoundContributions(rows, rows)
        losses = [(chain >> costs >> choice).map(1) for costs, choice in part.chains(1, (), spent)]
        assert sum(losses) <= spent.loss
        assert sum(losses) >= spent.loss * Fraction(999_999, 1_000_000)


@pytest.mark.full
def test_the_choice_has_the_law_of_the_exponential_mechanism():
    chain, end = choose_chain(rows=1)
    measurement = chain >> ChooseQuantile(4, 0, "1/4")
    values = [2, 2, 7, 9]
    weights = np.exp(-np.array([defined_cost(values, c, Fraction(1, 4), 0) for c in range(13)]) / 4)
    runs = 4000
    answers = Answers({end: [histogram(values)] * runs})
    drawn = np.bincount(measurement(answers), minlength=13)
    expected = runs * weights / weights.sum()
    assert ((drawn - expected) ** 2 / expected).sum() < 60  # chi-square, 12 degrees: p < 1e-7


@pytest.mark.few(36)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("q", ["0", "1/20", "1/2", "9/10", "1"])
@pytest.mark.parametrize("size", [1, 8, 60, 3000])
def test_intervals_of_quantiles_cover(kind, q, size):
    runs = 400
    source = np.random.default_rng(7)
    values = np.floor(source.gamma(2, 3, size=size).clip(0, 40) * 4).astype(int)
    part = QuantilePart("x", Grid.for_bounds(0, 40, bits=8), "percentile", Fraction(q))
    spent = Noise(kind, Fraction(1), 1)
    cells = np.floor(values / 4 / float(part.grid.step) + 0.5).astype(int)
    chains = part.chains(runs, (), spent)
    space = table_space({"x": "float"}, None) >> BoundContributions(1, 1)
    released = []
    for end, choice in chains:
        measurement = space >> end >> choice
        released.append(measurement(Answers({end: [histogram(cells)] * runs})))
    found = part.estimates(released, spent)["percentile"]
    true = np.quantile(cells * float(part.grid.step), float(Fraction(q)))
    held = (found.lower <= true) & (true <= found.upper)
    assert held.sum() >= enough(runs), held.mean()
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()


def test_an_empty_group_is_answered_within_the_bounds():
    part = QuantilePart("x", Grid.for_bounds(0, 40, bits=8), "median", Fraction(1, 2))
    spent = Noise("laplace", Fraction(1), 1)
    empty = (np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    space = table_space({"x": "float"}, None) >> BoundContributions(1, 1)
    released = [
        (space >> end >> choice)(Answers({end: [empty] * 200}))
        for end, choice in part.chains(200, (), spent)
    ]
    found = part.estimates(released, spent)["median"]
    assert found.value.min() >= 0
    assert found.value.max() <= 40


def test_the_error_in_cost_holds():
    scale, runs = Fraction(5), 4000
    cost = np.arange(CELLS + 1)
    limit = error_in_cost(CELLS, scale, 0.05)
    drawn = noise.exponential_choice(cost * 10, 1 / scale, size=runs)
    assert (cost[drawn] * 10 < limit).sum() >= enough(runs)


def test_bad_input_is_refused_when_the_chain_is_built():
    with pytest.raises(UsageError, match="from 0 to 1"):
        QuantileCosts("x", "0", "1", 8, "3/2", size=1)
    with pytest.raises(UsageError, match="above zero"):
        ChooseQuantile(0, 0, "1/2")
    with pytest.raises(MismatchError, match="costs of a quantile"):
        table_space({"x": "float"}, None) >> ChooseQuantile(1, 0, "1/2")
    from tacit.core import Vector

    with pytest.raises(MismatchError):
        Space(Vector(float), SymmetricDistance()) >> QuantileCosts("x", "0", "1", 8, "1/2", size=1)
