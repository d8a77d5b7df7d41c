"""A question read back from its description is the question, and nothing is left over."""

import json

import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.plan.parse_question import query_from, schema_from

SCHEMA = schema_from([["age", "integer"], ["job", "text"], ["who", "text"]])


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """The description of a question that has one of everything."""
    path = tmp_path_factory.mktemp("asked") / "people.csv"
    path.write_text("age,job,who\n3,a,x\n", encoding="utf-8")
    kinds = {"age": "integer", "job": "text", "who": "text"}
    with tc.Session(
        path, unit=tc.unit("who", rows=2, groups=1), budget=tc.epsilon(1), types=kinds
    ) as session:
        question = (
            session.filter(tc.col("age") > 2)
            .group_by("job", keys=["a", "b"])
            .agg(n=tc.count(), m=tc.mean("age", 0, 9), h=tc.histogram("age", [0, 5, 9]))
        )
        return json.loads(json.dumps(question.release(epsilon=1).certificate.body["question"]))[
            "query"
        ]


def test_a_question_comes_back(described):
    assert json.loads(json.dumps(query_from(described, SCHEMA).describe())) == described


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"by": ["job", "job"]},
        {"keys": [["a"], ["a"]]},
        {"keys": [["a", "b"]]},
        {"keys": []},
        {"where": [{"op": "col", "parameters": ["age"]}]},
    ],
    ids=str,
)
def test_what_nobody_can_ask_is_refused(described, change):
    with pytest.raises((UsageError, LookupError, TypeError, ValueError)):
        query_from({**described, **change}, SCHEMA)


def test_columns_have_names_of_their_own_and_known_kinds():
    for table in ([["a", "text"], ["a", "float"]], [["a", "number"]], [[1, "text"]]):
        with pytest.raises(UsageError):
            schema_from(table)
