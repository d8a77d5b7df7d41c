"""A question knows its columns, and works them out once each however many are derived."""

from __future__ import annotations

import datetime
from fractions import Fraction

import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.expressions import operations
from tacit.expressions.schema import Column, Schema
from tacit.expressions.value_range import range_of
from tacit.tables.plan import query as declared
from tacit.tables.plan.query import Declared, Query

AGES = Schema([Column("age", "integer", "BIGINT"), Column("name", "text", "VARCHAR")])


def chained(many: int) -> Query:
    """Return a question with many derived columns, each of which reads the one before."""
    query, last = Query(AGES, tc.one_row_each), "age"
    for number in range(many):
        query = query.with_column(f"c{number}", tc.col(last) + number)
        last = f"c{number}"
    return query


def test_derived_columns_are_looked_at_once_each_as_they_are_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []
    kind = operations.kind
    monkeypatch.setattr(operations, "kind", lambda *asked: looked.append(asked) or kind(*asked))

    def work(many: int) -> int:
        looked.clear()
        chained(many).columns.column(f"c{many - 1}")
        return len(looked)

    assert work(200) == 10 * work(20)


def test_all_columns_are_made_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    init = Schema.__init__
    monkeypatch.setattr(
        Schema, "__init__", lambda self, columns: made.append(len(columns)) or init(self, columns)
    )

    def work(many: int) -> int:
        query = Query(AGES, tc.one_row_each, derived=chained(many).derived)
        made.clear()
        assert len(query.columns) == many + 2
        return sum(made)

    assert work(200) == work(20)  # the columns of the source are copied, and none of the derived


def test_columns_added_one_by_one_are_those_of_the_whole_question() -> None:
    one_by_one = chained(5)
    at_once = Query(AGES, tc.one_row_each, derived=one_by_one.derived)
    assert dict(one_by_one.columns) == dict(at_once.columns)
    assert list(one_by_one.columns) == ["age", "name", "c0", "c1", "c2", "c3", "c4"]
    assert list(AGES) == ["age", "name"]
    assert one_by_one.describe() == at_once.describe()


def test_a_derived_column_reads_only_those_before_it() -> None:
    ahead = (("a", tc.col("b") + 1), ("b", tc.col("age") + 1))
    with pytest.raises(UsageError, match="there is no column 'b'"):
        Query(AGES, tc.one_row_each, derived=ahead).columns  # noqa: B018
    with pytest.raises(UsageError, match="there is no column 'b'"):
        Query(AGES, tc.one_row_each).with_column("a", tc.col("b") + 1)


def test_what_is_asked_of_the_columns_does_not_look_at_them_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = chained(20)
    known = query.columns
    monkeypatch.setattr(operations, "kind", lambda *asked: pytest.fail("looked at again"))
    grouped = query.asking(by=("name",), keys=(("a",),), where=(tc.col("c3") > 2,))
    assert grouped.columns is known
    assert grouped.by == ("name",)


def test_bounds_are_worked_out_of_the_columns_that_an_answer_reads_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = (*chained(20).derived, ("double", tc.col("c1") * 2))
    said = Declared(bounds={"age": (Fraction(0), Fraction(100))})
    looked = []
    monkeypatch.setattr(declared, "range_of", lambda *a: looked.append(a[0]) or range_of(*a))
    assert said.bounded(tc.sum("double"), columns).upper == 202
    assert [str(each) for each in looked] == ["(age + 0)", "(c0 + 1)", "(c1 * 2)"]


DAY = datetime.date(2024, 1, 1)


def test_a_date_and_its_text_are_one_key_where_the_column_declares_dates_alone() -> None:
    kinds = {"declared": "date", "undeclared": "undeclared"}
    schema = Schema([Column(name, kind, kind) for name, kind in kinds.items()])

    def keys(name: str, *keys: object) -> object:
        query = Query(schema, tc.one_row_each, by=(name,), keys=tuple((key,) for key in keys))
        return query.describe()["keys"]

    assert keys("declared", DAY) == keys("declared", "2024-01-01") == [["2024-01-01"]]
    # what an older ledger holds is text, and stays so
    assert keys("undeclared", "2024-01-01", "a", 1, True, None) == [
        *(["2024-01-01"], ["a"], [1], [True], [None])
    ]
    assert keys("undeclared", DAY) == [[{"date": "2024-01-01"}]]
    noon = datetime.datetime(2024, 1, 1, 12)
    assert keys("undeclared", noon) == keys("undeclared", DAY)


def test_the_answer_to_text_is_not_replayed_for_dates(tmp_path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("day\n2024-01-01\n2024-01-01 18:30\n2024-01-02\n", encoding="utf-8")
    session = tc.Session(path, tc.one_row_each, tc.epsilon(10**4), tc.in_memory)
    for cost, key in ((1000, "2024-01-01"), (2000, DAY)):
        answer = session.group_by("day", keys=[key]).agg(tc.count()).release(epsilon=1000)
        assert answer.to_pandas()["count"].tolist() == [2]
        assert answer.to_pandas()["day"].tolist() == ["2024-01-01"]
        assert answer.certificate.verify(session.ledger)
        assert session.remaining.amount == 10**4 - cost
    assert "2024-01-01" in str(answer.certificate)
