"""FROM: which rows a query asks, row by row; what is not row by row is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from sql.sql_rows import SCHEMA
from tacit.errors import UnsupportedQueryError, UsageError
from tacit.sql.parse import parse
from tacit.sql.relation import Tables, rows_of


class Question:
    """The rows of a table: it keeps the filters that it was given."""

    def __init__(self, name: str, filters: tuple[str, ...] = ()) -> None:
        self.name, self.filters, self.schema = name, filters, SCHEMA

    def filter(self, condition: Any) -> Question:
        return Question(self.name, (*self.filters, str(condition)))


def asked(text: str) -> tuple[Any, Any]:
    """The question, and what its names stand for."""
    opened: Any = Question
    tables = Tables(opened, ("visits", "Sites"))
    tree = parse(text)
    within = tables.with_views(tree.args.get("with_"))
    scope = rows_of(tree, within)
    within.check_used(tree.args.get("with_"))
    question: Any = scope.question
    return question, {t: {n: str(e) for n, e in c.items()} for t, c in scope.tables.items()}


def test_a_table_is_called_by_its_alias() -> None:
    question, names = asked("select count(*) from VISITS v where v.a > 1 and b < 2")
    assert (question.name, list(names)) == ("visits", ["v"])
    assert question.filters == ("(a > 1)", "(b < 2)")
    assert asked('select count(*) from "Sites"')[0].name == "Sites"
    with pytest.raises(UnsupportedQueryError, match="did you mean 'Sites'"):
        asked('select count(*) from "sites"')


def test_a_subquery_is_filters_and_names_for_values() -> None:
    question, names = asked(
        "select count(*) from (select a * 2 as twice, b from visits where a > 0) s where twice > 3"
    )
    assert names == {"s": {"twice": "(a * 2)", "b": "b"}}
    assert question.filters == ("(a > 0)", "((a * 2) > 3)")


def test_views_know_those_before_them_and_hide_a_table_of_their_name() -> None:
    text = (
        "with dear as (select * from visits where a > 9), both as (select b from dear where b < 5) "
        "select count(*) from both"
    )
    question, names = asked(text)
    assert question.filters == ("(a > 9)", "(b < 5)")
    assert names == {"both": {"b": "b"}}
    question, _ = asked("with visits as (select * from visits where a > 1) select 1 from visits")
    assert question.filters == ("(a > 1)",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select 1", "say which table"),
        ("select 1 from nowhere", "no table 'nowhere'"),
        ("select 1 from range(5)", "functions that make tables"),
        ("select 1 from visits where count(*) > 1", "into HAVING"),
        ("select 1 from (select distinct a from visits) s", "DISTINCT is not row by row"),
        ("select 1 from (select a from visits limit 5) s", "depends on the others"),
        ("select 1 from (select a from visits order by a) s", "no meaning"),
        ("select 1 from (select a from visits union all select a from visits) s", "UNION"),
        ("select 1 from (select a + 1 from visits) s", "name this value"),
        ("select 1 from (select a, b as A from visits) s", "two columns called 'A'"),
        ("select 1 from (select sum(a) as t from visits) s", "aggregate outside"),
        ("with v as (select a from visits) select 1 from visits", "never used"),
        ("with v as (select a from visits), V as (select b from visits) select 1 from v", "twice"),
        ("with v as (select a from visits) select 1 from visits join v on v.a = visits.a",
         "not joined"),
    ],
)  # fmt: skip
def test_what_is_not_row_by_row_is_refused(text: str, said: str) -> None:
    with pytest.raises((UnsupportedQueryError, UsageError), match=said):
        asked(text)


def test_a_view_is_read_once_however_often_a_query_is_translated() -> None:
    """What a view stands for is kept in its tree, not in the tables, which stay as they were."""
    opened: Any = Question
    tables = Tables(opened, ("visits",))
    tree = parse("with v as (select a from visits) select 1 from v")
    assert tables.with_views(tree.args["with_"]) is not tables
    assert tables.views == {}
    assert tables.with_views(None) is tables
