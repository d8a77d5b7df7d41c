"""Answers that are computed from released ones: their values, their intervals, their checks."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from tacit.errors import UsageError
from tacit.expressions.expression import Expression, col, literal, when
from tacit.report.derived import derived_columns, interval_of
from tacit.report.issued import sealed
from tacit.tables.statistics.part import distribution_of_rows

NAMES = ("a", "b", "n")
ROWS = pd.DataFrame(
    {
        "x": np.arange(400) % 90,
        "y": (np.arange(400) * 7) % 50,
        "site": np.arange(400) % 3,
        "town": np.where(np.arange(400) % 3 == 0, "a", "b"),
    }
)


@pytest.fixture(scope="module")
def session() -> Iterator[tc.Session]:
    budget = tc.epsilon_delta(10**9, "1e-2")
    with tc.Session(ROWS, tc.one_row_each, budget, tc.in_memory, name="r") as opened:
        yield opened


NUMBERS = st.one_of(
    st.integers(-(10**6), 10**6),
    st.floats(-1e9, 1e9, allow_subnormal=False),
    st.sampled_from([0, 1, -1, 0.5, 1e-12, 2.0**53]),
)


def _formulas() -> st.SearchStrategy[Expression]:
    leaves = st.one_of(st.sampled_from(NAMES).map(col), NUMBERS.map(literal))

    def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        pairs = st.tuples(inner, inner)
        conditions = st.one_of(
            pairs.map(lambda p: p[0] < p[1]),
            pairs.map(lambda p: p[0] >= p[1]),
            pairs.map(lambda p: p[0] == p[1]),
            pairs.map(lambda p: ~(p[0] > p[1]) | p[0].is_null()),
        )
        return st.one_of(
            pairs.map(lambda p: p[0] + p[1]),
            pairs.map(lambda p: p[0] - p[1]),
            pairs.map(lambda p: p[0] * p[1]),
            pairs.map(lambda p: p[0] / p[1]),
            pairs.map(lambda p: p[0].fill_null(p[1])),
            pairs.map(lambda p: when(p[0] == p[1]).then(None).otherwise(p[0])),
            inner.map(abs),
            inner.map(lambda e: (e * 100).round() / 100),
            inner.map(lambda e: e.clip(-5, 7)),
            st.tuples(conditions, inner, inner).map(
                lambda t: when(t[0]).then(t[1]).otherwise(t[2])
            ),
        )

    return st.recursive(leaves, grown, max_leaves=8)


@examples(2)
@given(
    _formulas(),
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=3),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.sets(st.sampled_from(NAMES), max_size=1),
)
def test_a_formula_of_every_point_of_a_box_is_in_its_interval(
    formula: Expression, ends: Any, shares: Any, unknown: set[str]
) -> None:
    box = {n: (Fraction(min(e)), Fraction(max(e))) for n, e in zip(NAMES, ends, strict=True)}
    found = interval_of(formula, {}, {n: e for n, e in box.items() if n not in unknown})
    assume(found is not None)
    assert found is not None
    for place in range(3):
        row = {
            n: float(low + (high - low) * Fraction((s, 0.0, 1.0)[place]))
            for (n, (low, high)), s in zip(box.items(), shares, strict=True)
        }
        row = {n: min(max(v, float(box[n][0])), float(box[n][1])) for n, v in row.items()}
        row |= dict.fromkeys(unknown, 1e12)
        value = formula.evaluate(row)
        assert value is None or found[0] <= Fraction(value) <= found[1]


BOX = {"a": (Fraction(10), Fraction(20)), "n": (Fraction(2), Fraction(5))}
TOUCHES = {**BOX, "n": (Fraction(0), Fraction(5))}
A, N = col("a"), col("n")


@pytest.mark.parametrize(
    ("formula", "box", "ends"),
    [
        (A / N, BOX, (2, 10)),
        (A / (N - 10), BOX, (-4, Fraction(-5, 4))),
        (A / N, TOUCHES, None),
        (A / when(N == 0).then(None).otherwise(N), BOX, (2, 10)),
        ((A / N).fill_null(0), BOX, (2, 10)),
        ((A / N).fill_null(0), TOUCHES, None),
        (A.fill_null(0), BOX, (10, 20)),
        (when(N < 1).then(None).otherwise(A / N), BOX, (2, 10)),
        (when(N < 3).then(0).otherwise(A), BOX, (0, 20)),
        (A - N, BOX, (5, 18)),
        (when(col("site") == "a").then(A).otherwise(N), BOX, (2, 5)),
        (A + col("site"), BOX, None),
    ],
)
def test_intervals_known_by_hand(formula: Expression, box: Any, ends: Any) -> None:
    group = {"site": "b"} if "==" in str(formula) and "site" in str(formula) else {}
    assert interval_of(formula, group, box) == ends


def test_several_answers_take_intervals_that_hold_together(session: tc.Session) -> None:
    """Of k answers each at 1 - 0.05 / k: the corners are those of the exact law of the noise."""
    text = "select count(*) as n, count(*) - count(distinct x) as d from r"
    answer = session.sql(text).release(epsilon=1)
    body: Any = answer.certificate.body
    n, x = (column["value"][0] for column in body["answer"]["columns"])
    plan = session.agg(n=tc.count(), x=tc.count_distinct("x"))._priced(epsilon=1).requested_plan()
    halves = [distribution_of_rows(noise).half_width((1.0,), 1 - 0.05 / 2) for noise in plan.noises]
    low, high = answer.interval("d")
    assert isinstance(low, int)
    assert isinstance(high, int)
    assert (low, high) == (n - halves[0] - (x + halves[1]), n + halves[0] - (x - halves[1]))


SURE = {
    "sum(clamp(x, 0, 99)) / count(*)": ROWS.x.mean(),
    "avg(clamp(x, 0, 99)) - avg(clamp(y, 0, 49))": ROWS.x.mean() - ROWS.y.mean(),
    "round(100.0 * count_if(x < 45) / count(*), 1)": round(100 * (ROWS.x < 45).mean(), 1),
    "count(*) * 2 + 1": 801,
    "stddev_pop(clamp(x, 0, 99)) / nullif(avg(clamp(x, 0, 99)), 0)": ROWS.x.std(ddof=0)
    / ROWS.x.mean(),
}


@pytest.mark.full
def test_the_intervals_cover(session: tc.Session) -> None:
    """Each in at least 95 of 100 releases; P(Binomial(300, 0.95) < 262) < 1e-6."""
    listed = ", ".join(f"{text} as c{i}" for i, text in enumerate(SURE))
    question = session.sql(f"select {listed} from r")
    held = dict.fromkeys(SURE, 0)
    for turn in range(300):
        answer = question.release(epsilon=2, tag=str(turn))
        for i, (text, truth) in enumerate(SURE.items()):
            low, high = answer.interval(f"c{i}")
            assert low is not None, text
            held[text] += low - 1e-9 <= truth <= high + 1e-9  # type: ignore[operator]
    assert min(held.values()) >= 262


def test_few_releases_are_covered(session: tc.Session) -> None:
    """The small form: P(more than 5 of 8 miss) < 1e-6."""
    missed = 0
    for turn in range(8):
        answer = session.sql("select sum(clamp(x, 0, 99)) / count(*) as m from r")
        low, high = answer.release(epsilon=2, tag=f"few {turn}").interval("m")
        missed += not low <= ROWS.x.mean() <= high  # type: ignore[operator]
    assert missed <= 5


def test_a_certificate_states_and_checks_what_is_computed(session: tc.Session) -> None:
    plain = session.sql("select sum(clamp(x, 0, 99)) as s, count(*) as n from r").release(epsilon=1)
    asked = session.sql("select sum(clamp(x, 0, 99)) / count(*) as m from r")
    before = session.spent
    total = "sum(clamp(x, 0, 99))"
    text = f"select {total} / count(*) as m, {total} as s, count(*) as n from r"
    answer = session.sql(text).release(epsilon=1)
    assert (answer.replayed, session.spent) == (True, before)
    assert answer.labels == ("m", "s", "n")
    assert answer.value("m") == plain.value("s") / plain.value("n")  # type: ignore[operator]
    certificate = answer.certificate
    assert certificate.verify(session.ledger)
    assert "computed from released ones" in str(certificate.verify())
    assert "derived" not in plain.certificate.body
    body = json.loads(certificate.to_json())
    assert body["answer"] == plain.certificate.body["answer"]
    assert "s / n, computed from the released answers" in certificate.to_html()
    assert asked.release(epsilon=1).labels == ("m",)

    def changed(change: Any) -> Any:
        other = copy.deepcopy(body)
        change(other["derived"][0])
        return tc.Certificate(sealed({k: v for k, v in other.items() if k != "digest"}))

    def widen(one: Any) -> None:
        one["low"] = [one["low"][0] - 1]

    for change in (
        lambda one: one.update(value=[one["value"][0] + 1]),
        widen,
        lambda one: one.update(label="n"),
        lambda one: one.update(of=(col("s") * col("n")).to_json()),
        lambda one: one.update(of=col("nobody").to_json()),
        lambda one: one.update(kind="mean"),
        lambda one: one.update(more=1),
        lambda one: one.pop("low"),
    ):
        assert not changed(change).verify()
    bare = {k: v for k, v in body.items() if k not in ("digest", "derived")}
    assert tc.Certificate(sealed(bare)).verify(session.ledger)
    assert not tc.Certificate(sealed({**bare, "derived": []})).verify()
    assert not tc.Certificate({**body, "derived": []}).verify()


def test_it_is_in_every_export(session: tc.Session) -> None:
    asked = session.sql(
        "select site, count(*) * 2 as twice, sum(clamp(x, 0, 99)) / nullif(count(*), 0) as m "
        "from r where site in (0, 1, 2, 9) group by site order by twice desc limit 3"
    )
    answer = asked.release(epsilon=5)
    assert sorted(answer.value("twice", *key) for key in answer.keys) == [  # type: ignore[type-var]
        answer.value("twice", *key) for key in reversed(answer.keys)
    ]
    frame = answer.to_pandas()
    assert list(frame)[:5] == ["site", "twice", "twice_error", "twice_low", "twice_high"]
    assert str(frame.twice.dtype) == "int64"
    assert frame.m.dtype == frame.m_error.dtype == "float64"
    assert answer.to_polars()["twice"].to_list() == frame.twice.to_list()
    assert answer.to_csv().startswith("site,twice,twice_error")
    assert set(answer.to_dict("long")["statistic"]) == {"twice", "m"}
    assert "computed from the released answers" in str(answer)
    assert answer.plot().axes


def test_groups_that_were_found_and_a_free_answer(session: tc.Session) -> None:
    found = session.sql("select town, sum(clamp(x, 0, 99)) / count(*) as m from r group by town")
    answer = found.release(epsilon=50, delta="1e-3")
    assert answer.keys == [("a",), ("b",)]
    assert answer.certificate.verify(session.ledger)
    session.sql("select count(*) as n from r where x < 9").release(epsilon=3)
    free = session.sql("select count(*) / 2 as half from r where x < 9").free_answer()
    assert free is not None
    assert free.certificate.verify(session.ledger)
    low, high = free.interval("half")
    assert low < free.value("half") < high  # type: ignore[operator]
    body = json.loads(free.certificate.to_json())
    body["derived"][0]["value"] = [0.5]
    assert not tc.Certificate(sealed({k: v for k, v in body.items() if k != "digest"})).verify()


def test_a_certificate_with_computed_answers_is_a_source_of_free_ones(session: tc.Session) -> None:
    made = session.sql("select count(*) * 3 as n from r where y < 5").release(epsilon=1).certificate
    free = session.filter(col("y") < 5).agg(k=tc.count()).free_answer([made])
    assert free is not None
    assert free.certificate.verify(session.ledger)
    assert "derived" not in json.dumps(free.certificate.body["sources"]).replace(
        '"derived": []', ""
    )


def test_a_plan_computes_too(session: tc.Session) -> None:
    one = session.sql("select count(*) / 2 as half from r")
    two = session.sql("select count_if(x < 9) / count(*) as share from r")
    try:
        first, second = session.plan([one, two]).release(epsilon=1)
    except UsageError as error:  # what a plan does not answer together, it says before it spends
        pytest.fail(str(error))
    assert first.interval("half")[0] is not None
    assert "together with other answers" in second.about["share"]


def test_an_interval_that_holds_alone_is_not_combined(session: tc.Session) -> None:
    largest = "max(clamp(x, 0, 999))"  # a value that is chosen, not counted
    text = f"select {largest} * 2 as m, {largest} / count(*) as q from r"
    answer = session.sql(text).release(epsilon=4)
    assert answer.interval("m")[0] is not None
    assert answer.interval("q") == (None, None)
    assert answer.about["q"].endswith("none holds for max_x together with other answers")
    assert answer.certificate.verify()


def test_a_ratio_whose_divisor_may_be_zero_says_so(session: tc.Session) -> None:
    ratio = "sum(clamp(x, 0, 99)) / count(*)"
    asked = session.sql(f"select {ratio} as m, count(*) as n from r where x > 900")
    releases = (asked.release(epsilon=f"1/{i}") for i in range(10, 100))

    def says_so(answer: Any) -> bool:
        """Return whether it is not divided by zero, but may be: in one of twenty it is not."""
        low, high = answer.interval("n")
        return answer.value("m") is not None and low <= 0 <= high

    answer = next(filter(says_so, releases))
    assert answer.interval("m") == (None, None)
    assert answer.about["m"].endswith("no interval, where that of what it divides by holds zero")


def test_released_values_that_are_missing_stay_so() -> None:
    column = {"label": "p", "value": [None, 3], "low": [None, 2], "high": [None, 4]}
    answer = {"keys": [[1], [2]], "columns": [{**column, "standard_error": [None, None]}]}
    formulas = [("twice", col("p") * 2), ("zero", col("p").fill_null(0))]
    twice, zero = derived_columns(formulas, ["g"], answer)
    assert (twice["value"], twice["low"], twice["high"]) == ([None, 6], [None, 4], [None, 8])
    assert (zero["value"], zero["low"]) == ([0, 3], [None, 2])


@pytest.mark.parametrize("formula", ["count(*) * 1e308 * 1e308", "-count(*) * 1e200"])
def test_a_number_that_is_too_large_says_so(session: tc.Session, formula: str) -> None:
    answer = session.sql(f"select {formula} as m from r").release(epsilon=4)
    assert answer.interval("m") == (None, None)
    assert answer.about["m"].endswith("no interval, where a number in it may be beyond 3.3e+150")
    assert answer.certificate.verify()
