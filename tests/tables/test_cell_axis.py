"""Axes of cells: every row is in exactly one, and the number of its cell is that of its key."""

from __future__ import annotations

import copy
import datetime
import json
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import tacit as tc
from support.clinic import make_clinic
from support.tables.neighbour_fuzz import try_questions
from tacit.errors import UsageError
from tacit.tables.cell_axis import Axis, axis_from, listed, public_keys

SEX = Axis(("sex",), (("f",), ("m",), (None,)))
AGE = Axis(("age",), edges=(Fraction(0), Fraction(18), Fraction(65)))
BOTH = Axis(("sex", "age"), (("f", 3), ("m", 5), (None, 5), ("m", None)))


@pytest.mark.parametrize(
    ("axis", "row", "cell"),
    [
        (SEX, {"sex": "f"}, 0),
        (SEX, {"sex": "m"}, 1),
        (SEX, {"sex": None}, 2),
        (SEX, {"sex": "x"}, 3),
        (AGE, {"age": 0}, 0),
        (AGE, {"age": 17.9}, 0),
        (AGE, {"age": 18}, 1),
        (AGE, {"age": 65}, 1),
        (AGE, {"age": 65.1}, 2),
        (AGE, {"age": -1}, 2),
        (AGE, {"age": None}, 2),
        (AGE, {"age": float("nan")}, 2),
        (BOTH, {"sex": "f", "age": 3}, 0),
        (BOTH, {"sex": None, "age": 5}, 2),
        (BOTH, {"sex": "m", "age": None}, 3),
        (BOTH, {"sex": "f", "age": 5}, 4),
    ],
)
def test_the_cell_of_a_row(axis, row, cell):
    assert axis.code(tc.col).evaluate(row) == cell
    assert axis.code(tc.col, 7).evaluate(row) == 7 * cell


@pytest.mark.parametrize("axis", [SEX, AGE, BOTH])
def test_an_axis_is_read_back(axis):
    assert axis_from(axis.to_json()) == axis
    assert len(axis.names) == axis.listed == axis.size - 1


def test_many_keys_are_no_deep_expression():
    axis = Axis(("site",), tuple((i,) for i in range(100)))
    code = axis.code(tc.col)
    assert [code.evaluate({"site": i}) for i in (0, 57, 99, 100, -1)] == [0, 57, 99, 100, 100]


@pytest.mark.parametrize("listed", [1, 2, 12, 13, 27])
def test_each_of_few_keys_and_of_many_has_its_place(listed):
    axis = Axis(("site",), (*((3 * i,) for i in range(listed - 1)), (None,)))
    code = axis.code(tc.col, 5)
    for row in [*(3 * i for i in range(listed - 1)), None, 1, -3, 3 * listed]:
        place = axis.exact_indices.get(((type(row), row),), listed)
        assert code.evaluate({"site": row}) == 5 * place


def test_keys_of_two_questions_share_an_axis():
    other = Axis(("sex",), (("x",), ("m",)))
    both = SEX.joined(other)
    assert both.keys == (("f",), ("m",), (None,), ("x",))
    assert both.indices_in(other) == [3, 1]
    assert Axis(("flag",), ((True,),)).joined(Axis(("flag",), ((1,),))).listed == 2


@pytest.mark.parametrize(
    "described",
    [
        {"columns": ["sex"], "keys": []},
        {"columns": ["sex"], "keys": [["f"], ["f"]]},
        {"columns": ["sex"], "keys": [["f", "m"]]},
        {"columns": ["sex"], "keys": [[["f"]]]},
    ],
)
def test_what_is_no_axis_is_refused(described):
    with pytest.raises(UsageError):
        axis_from(described)


# A question that a program describes is the question that was asked, and no other.


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with tc.open(make_clinic(tmp_path_factory.mktemp("clinic")), ledger=tc.in_memory) as opened:
        yield opened


QUESTIONS = {
    "plain": lambda s: s.agg(n=tc.count(), people=tc.count_people()),
    "declared": lambda s: s.group_by("site").agg(cost=tc.mean("cost"), v=tc.var("cost")),
    "dates as keys": lambda s: s.group_by("day", keys=["2024-01-05", "2024-02-05"]).agg(
        n=tc.count()
    ),
    "several keys": lambda s: s.group_by(
        "site", "day", keys={"site": [1, 2], "day": ["2024-01-05"]}
    ).agg(n=tc.count()),
    "unknown keys": lambda s: s.group_by("person").agg(n=tc.count()),
    "filters": lambda s: s.filter(tc.col("cost") > 20, tc.col("site").is_in([1, 2])).agg(
        q=tc.percentile("cost", 25)
    ),
    "computed": lambda s: s.with_columns(half=tc.col("cost") / 2).agg(
        h=tc.histogram("half", [0, 100, 500]), c=tc.covariance("cost", "half")
    ),
    "methods": lambda s: s.agg(
        m=tc.median("cost", method="smooth"), a=tc.mean("cost", method="auto", rows=500)
    ),
    "most frequent": lambda s: s.agg(top=tc.top_k("site", 2)),
    "people": lambda s: (
        s.filter(tc.col("cost") >= 1)
        .per_person(total=tc.sum("cost", 0, 5000), n=tc.count())
        .filter(tc.col("n") > 1)
        .agg(total=tc.mean("total"))
    ),
    "another table": lambda s: s.table("patients").agg(age=tc.mean("age")),
    "public beside": lambda s: s.join("sites").group_by("region").agg(n=tc.count()),
    "people beside": lambda s: s.join("patients").agg(age=tc.mean("age"), p=tc.sum("cost")),
    "people of a join": lambda s: (
        s.join("sites", how="inner").per_person(n=tc.count()).agg(n=tc.mean("n", 0, 9))
    ),
}


def without_facts(said):
    """What a client says of joins: it does not know the rows of a public table."""
    if "inner" in said:
        return {**said, "inner": without_facts(said["inner"])}
    joins = [{n: join[n] for n in ("table", "how", "on")} for join in said.get("joins", ())]
    return {**said, "joins": joins} if joins else said


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_a_question_describes_asks_it_again(session, name):
    question = QUESTIONS[name](session)
    said = json.loads(json.dumps(question.described()))
    for description in (said, without_facts(said)):
        again = session.described(description)
        assert again.described() == question.described()
        delta = {"delta": "1e-6"} if question.described()["keys"] is None else {}
        if not delta or not question.described()["by"]:
            assert again.cost(epsilon=1) == question.cost(epsilon=1)


def test_the_same_release_is_found_in_the_ledger(session):
    question = QUESTIONS["public beside"](session)
    first = question.release(epsilon=1)
    again = session.described(without_facts(question.described())).release(epsilon=1)
    assert again.replayed
    assert again.to_dict() == first.to_dict()


def _with(path, value):
    def change(said):
        place = said
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value

    return change


PLAIN = {"unit": {"column": "person", "rows": 5, "groups": 2}}
CHANGES = {
    "another person column": _with(["unit", "column"], "site"),
    "each row a person": _with(["unit"], {"column": None, "rows": 1, "groups": 1}),
    "fewer rows a person": _with(["unit", "rows"], 1),
    "fewer groups": _with(["unit", "groups"], 1),
    "other tables": _with(["tables"], [["visits", "person"]]),
    "another table": _with(["table"], "patients"),
    "a public table": _with(["table"], "sites"),
    "no table": _with(["table"], None),
    "more": _with(["more"], 1),
    "weights": _with(["weights"], [["n", 2]]),
    "a join with itself": _with(["joins"], [{"table": "visits", "how": "left", "on": []}]),
    "a join by another column": _with(
        ["joins"], [{"table": "patients", "how": "inner", "on": [["site", "id"]]}]
    ),
    "a column that is not there": _with(["by"], ["nothing"]),
    "no list": _with(["where"], 7),
    "no expression": _with(["where"], [["os.system", [], ["ls"]]]),
    "no aggregate": _with(["aggregates"], [["n", {"kind": "exec"}]]),
    "a label twice": _with(["aggregates"], [["n", {"kind": "count"}]] * 2),
    "keys without groups": _with(["keys"], [[1]]),
    "too many filters": _with(["where"], [(tc.col("site") == 1).to_json()] * 51),
    "too many columns": _with(["derived"], [["a", (tc.col("site") + 1).to_json()]] * 1001),
    "a filter that is no text": _with(["derived"], [[None, (tc.col("site") + 1).to_json()]]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_no_question_to_the_data_set_is_refused(session, name):
    said = copy.deepcopy(session.agg(n=tc.count()).described())
    CHANGES[name](said)
    with pytest.raises(UsageError):
        session.described(said)


@pytest.mark.parametrize("said", [{}, {"table": []}, {"where": [], "derived": []}])
def test_what_is_no_description_is_refused(session, said):
    with pytest.raises(UsageError, match="does not describe a question"):
        session.described(said)


def test_an_endless_expression_is_refused(session):
    deep = ["column", [], ["site"]]
    for _ in range(3000):
        deep = ["-", [deep], []]
    said = {**session.agg(n=tc.count()).described(), "where": [deep]}
    with pytest.raises(UsageError):
        session.described(said)


# The parts of a question: what each of them refuses, and what all of them make together.


@pytest.fixture(scope="module")
def asking_session(tmp_path_factory):
    with tc.open(make_clinic(tmp_path_factory.mktemp("clinic")), ledger=tc.in_memory) as opened:
        yield opened


def test_a_question_is_built_part_by_part_and_each_part_leaves_the_one_before(asking_session):
    dear = asking_session.filter(tc.col("cost") > 20)
    by_site = dear.agg(n=tc.count()).group_by("site")
    told = by_site.described()
    assert [told["by"], told["keys"], len(told["where"])] == [["site"], [[1], [2], [3]], 1]
    assert dear.described()["by"] == []
    assert asking_session.agg(n=tc.count()).described()["where"] == []


def test_a_table_asks_as_a_question_does(asking_session):
    computed = asking_session.with_columns(dear=tc.col("cost") > 20)
    assert computed.schema["dear"].kind == "boolean"
    people = asking_session.per_person(n=tc.count())
    assert list(people.schema) == ["person", "n"]
    assert asking_session.join("sites").described()["joins"][0]["table"] == "sites"
    assert asking_session.group_by("site").unit == asking_session.unit


REFUSED = {
    "a filter that is no expression": lambda s: s.filter(True),
    "a filter that is a number": lambda s: s.filter(tc.col("cost") + 1),
    "too many filters": lambda s: s.filter(*[tc.col("cost") > i for i in range(51)]),
    "a column that is no expression": lambda s: s.with_columns(a=1),
    "a column that is there": lambda s: s.with_columns(cost=tc.col("cost") + 1),
    "no groups": lambda s: s.group_by(),
    "grouped twice": lambda s: s.group_by("site").group_by("day"),
    "a column grouped twice": lambda s: s.group_by("site", "site"),
    "groups of nothing known": lambda s: s.group_by("sit"),
    "no aggregate": lambda s: s.agg(n=3),
    "a label of a group": lambda s: s.group_by("site").agg(site=tc.count()),
    "people of groups": lambda s: s.group_by("site").per_person(n=tc.count()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_is_refused_when_it_is_said(asking_session, name):
    with pytest.raises(UsageError):
        REFUSED[name](asking_session)


def test_every_statistic_has_a_hint_where_it_is_typed_at_a_table() -> None:
    from tacit.tables.plan.query import SUGGESTIONS
    from tacit.tables.statistics.base import statistics

    assert {known.kind for known in statistics()} <= set(SUGGESTIONS)


# Neighbouring tables of hostile values meet the same fate: a short hunt; the slow tests go on.


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", [11, 12, 10])  # most of their questions can be asked
def test_neighbours_meet_the_same_fate(request, seed):
    assert try_questions("duckdb", request, seed, questions=2) > 2


# Public keys in all the forms in which they are listed.


DAY = datetime.date(2024, 2, 29)


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ([3, 1, 2], ((3,), (1,), (2,))),
        (range(2), ((0,), (1,))),
        ([(1,), 2], ((1,), (2,))),
        ([True, None, "a", DAY], ((True,), (None,), ("a",), (DAY,))),
        ([2.0, float("nan")], ((2,), (None,))),
        (np.array([1, 2], dtype=np.int8), ((1,), (2,))),
        ({"a": ["x", "y"]}, (("x",), ("y",))),
        (pyarrow.table({"b": [0, 0, 0], "a": [5, 5, None]}), ((5,), (None,))),
        (pyarrow.array([1, None]), ((1,), (None,))),
        (pyarrow.chunked_array([["a"], ["b"]]), (("a",), ("b",))),
        (pyarrow.array(["a", "b"]).dictionary_encode(), (("a",), ("b",))),
        ([pyarrow.scalar("a"), pyarrow.scalar(DAY)], (("a",), (DAY,))),
        # a day has one form, however it is written
        ([datetime.datetime(2024, 2, 29)], ((DAY,),)),
        ([datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)], ((DAY,),)),
        (np.array(["2024-02-29", "NaT"], dtype="datetime64[D]"), ((DAY,), (None,))),
        (np.array(["2024-02-29"], dtype="datetime64[ns]"), ((DAY,),)),
        (pandas.to_datetime(["2024-02-29"]), ((DAY,),)),
        (pandas.Series([pandas.Timestamp(DAY), pandas.NaT]), ((DAY,), (None,))),
        (polars.Series([datetime.datetime(2024, 2, 29)]), ((DAY,),)),
    ],
    ids=str,
)
def test_every_form_of_one_column(keys, found):
    read = public_keys(["a"], keys)
    assert read == found
    assert [type(k) for (k,) in read] == [type(k) for (k,) in found]


def test_columns_of_a_mapping_or_table_come_in_the_order_of_the_question():
    keys = {"b": [1, 2], "a": ["x"], "other": [9]}
    assert public_keys(["a", "b"], keys) == (("x", 1), ("x", 2))
    assert public_keys(["a", "b"], pyarrow.table({"b": [1], "a": ["x"]})) == (("x", 1),)


@pytest.mark.parametrize(
    ("by", "keys", "why"),
    [
        (["a"], [], "list of keys is empty"),
        (["a"], {"a": []}, "list of keys is empty"),
        (["a"], "xy", "not the text"),
        (["a"], 7, "list of values"),
        (["a"], [1, 1.0], "given twice"),
        (["a"], [None, float("nan")], "given twice"),
        (["a"], [(1, 2)], "has 2"),
        (["a", "b"], [1, 2], "tuple"),
        (["a", "b"], [(1,)], "has 1"),
        (["a", "b"], {"a": [1]}, "no values for b"),
        (["a"], [0.5], "not a float"),
        (["a"], [b"x"], "not a bytes"),
        (["a"], [datetime.datetime(2024, 2, 29, 8)], "is a time of day"),
        (["a"], [np.datetime64("2024-02-29T00:00:00.000000001")], "is a time of day"),
        (["a"], ["\ud800"], "half of a character"),
    ],
    ids=str,
)
def test_what_is_no_list_of_keys_is_refused(by, keys, why):
    with pytest.raises(UsageError, match=why):
        public_keys(by, keys)


# Edges as callers write them.


def test_edges_are_a_list():
    assert listed(range(3)) == [0, 1, 2]
    with pytest.raises(UsageError, match="a column is named by text, not by 7"):
        listed(7)
