"""A question that a program describes is the question that was asked, and no other."""

from __future__ import annotations

import copy
import json

import pytest

import tacit as tc
from support.clinic import make_clinic
from tacit.errors import UsageError


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
    "computed": lambda s: s.with_column("half", tc.col("cost") / 2).agg(
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
