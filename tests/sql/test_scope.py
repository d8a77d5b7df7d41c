"""Names in a query: quotes, capital letters, tables that share a column, times of day."""

from __future__ import annotations

from typing import Any

import pytest

from sql.sql_rows import SCHEMA
from tacit.errors import UnsupportedQueryError
from tacit.expressions.expression import col
from tacit.expressions.schema import Column, Schema
from tacit.sql.aggregates import Scope, columns_of, find, plain_name
from tacit.sql.parse import parse


class Question:
    """The rows of a table, of which nothing is asked but their columns."""

    def __init__(self, schema: Schema = SCHEMA) -> None:
        self.schema = schema
        self.made: list[tuple[str, Any]] = []

    def with_column(self, name: str, value: Any) -> Question:
        self.made.append((name, value))
        return self

    def filter(self, condition: Any) -> Question:
        return self


def scope(*tables: str, schema: Schema = SCHEMA) -> Scope:
    question: Any = Question(schema)
    return Scope(question, {name: columns_of(question) for name in tables or ("r",)})


def node(text: str) -> Any:
    return parse(f"select {text} from r").expressions[0]


def identifier(text: str) -> Any:
    return node(text).this


def test_names_without_quotes_are_compared_in_small_letters_of_a_to_z() -> None:
    assert plain_name("ÄBc") == "Äbc"
    known = {"Age": 1, "pay": 2}
    assert find(identifier("AGE"), known, "column") == "Age"
    assert find(identifier('"Age"'), known, "column") == "Age"
    for said in ('"age"', "agee"):
        with pytest.raises(UnsupportedQueryError, match=r"there is no column .*'Age'"):
            find(identifier(said), known, "column")


def test_a_name_that_several_columns_have_is_written_in_quotes() -> None:
    known = {"age": 1, "AGE": 2}
    with pytest.raises(UnsupportedQueryError, match="in quotes"):
        find(identifier("Age"), known, "column")
    assert find(identifier('"AGE"'), known, "column") == "AGE"
    with pytest.raises(UnsupportedQueryError, match="in quotes"):
        find(identifier("age"), known, "column")


def test_a_column_of_two_tables_is_named_with_its_table() -> None:
    both = scope("v", "w")
    with pytest.raises(UnsupportedQueryError, match=r"write table\.a"):
        both.column(node("a"))
    assert both.column(node("W.a")).to_json() == col("a").to_json()
    with pytest.raises(UnsupportedQueryError, match="no table 'x'"):
        both.column(node("x.a"))
    with pytest.raises(UnsupportedQueryError, match="no column of 'v' 'q'"):
        both.column(node("v.q"))


@pytest.mark.parametrize(("text", "said"), [("r.*", "count"), ("s.r.a", "its table and its name")])
def test_what_names_no_column_is_refused(text: str, said: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=said):
        scope().column(node(text))


def test_a_column_with_times_is_not_taken_for_its_days() -> None:
    schema = Schema([Column("at", "date", "TIMESTAMP"), Column("day", "date", "DATE")])
    rows = scope(schema=schema)
    with pytest.raises(UnsupportedQueryError, match="read as its days"):
        rows.column(node("at"))
    assert rows.column(node("at"), times=True).parameters == ("at",)
    assert rows.column(node("day")).parameters == ("day",)
    joined = scope(schema=Schema([Column("at", "date", "date")]))  # a join knows the kind alone
    assert joined.has_times(col("at"))
    assert not joined.has_times(col("at").year())
    assert not joined.has_times(col("other"))


def test_a_value_is_named_once_and_by_its_expression_where_the_name_is_taken() -> None:
    rows = scope()
    made: Any = rows.question
    twice = col("a") * 2
    assert rows.name_of(col("b"), "wanted", node("b")) == "b"
    assert rows.name_of(twice, "twice", node("a")) == "twice"
    assert rows.name_of(col("a") * 2, "other", node("a")) == "twice"  # the same value again
    assert rows.name_of(col("a") + 1, "B", node("a")) == "(a + 1)"
    assert [name for name, _ in made.made] == ["twice", "(a + 1)"]


def test_other_names_are_of_the_same_rows() -> None:
    rows = scope()
    rows.filter(col("a") > 1, node("a"))
    again = rows.renamed({"s": {"x": col("a")}})
    assert again.column(node("s.x")).parameters == ("a",)
    assert len(again.conditions) == 1
    again.filter(col("a") > 2, node("a"))
    assert len(rows.conditions) == 1
