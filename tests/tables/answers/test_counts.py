"""The number of different values of a column: its bound, estimate and interval, and a release."""

import datetime
import itertools
import random
from fractions import Fraction

import pandas as pd
import pytest

import tacit as tc
from support.tables import tables_reference as reference
from tables.answers.released import enough
from tacit.errors import MismatchError, UsageError
from tacit.expressions.expression import col
from tacit.tables.answers.base import Noise
from tacit.tables.answers.counts import CountDistinctPart
from tacit.tables.open_source import open_source
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Distinct

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
            query = Query(source, unit, by={"g": col("g")}, keys=["a", "b"])
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
        assert Query(source, unit).run([asked]).of(asked).tolist() == [different]
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
            session.with_column("month", tc.col("day").month())
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
    kinds = tc.Space(tc.Vector(str), tc.SymmetricDistance()) >> tc.count_distinct()
    assert kinds(["a", "b", "a"]) == 2
    with pytest.raises(MismatchError):
        tc.Space(tc.Vector(str), tc.SymmetricDistance()) >> tc.count_distinct("x")
