"""The text of a query: where an error stands, and that long ones end soon."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from sql.tables_and_queries import SCHEMA
from tacit.errors import UnsupportedQueryError, UsageError
from tacit.sql.parse import parse, without_comments
from tacit.sql.relation import PEOPLE, Tables, rows_of
from tacit.tables import Question


def test_an_error_says_line_and_column(session: tc.Session) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        session.sql("select count(*)\nfrom visits\nwhere cost < 3 and\n  agee > 1")
    assert caught.value.position == (4, 3)
    assert str(caught.value).startswith("line 4, column 3: there is no column 'agee'; did you mean")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select sum(cost, 0, 100) from visits", "sum(clamp(cost, 0, 100))"),
        ("select min(cost, 0, 100) from visits", "sum(clamp(cost, 0, 100))"),
        ("select count(*) from visits where month(when) = 3", 'is written in quotes, "when"'),
        ("select sum(cost) from visits", "give them, such as sum(clamp(cost, 0, 100))"),
        ("select avg(cost) from visits", "give them, such as avg(clamp(cost, 0, 100))"),
        ("select count(*) from `visits`", 'in double quotes, "site"'),
        ("select [age], count(*) from visits", 'in double quotes, "age"'),
        ("select top 10 count(*) from visits", "limit 10"),
        ("select count(*) from visits fetch first 10 rows only", "limit 10"),
        ("select count(*) from visits where age = %(age)s", "write the value"),
        ("select count(*) from {{ ref('visits') }}", "no templates: write the name"),
        ("select any_value(age) from visits", "values of rows are never shown"),
        ("select first(age) from visits", "values of rows are never shown"),
        ("select count(*) from visits where age > 2024-02-01", "a day as date '2024-02-01'"),
        ("select count(*) from visits where age > timestamp '2024-02-01 00:00'", "date '2024-"),
        ("select cast(count(*) as decimal(10, 2)) from visits", "cast to double or text, or round"),
    ],
)
def test_an_error_gives_its_remedy_in_sql(session: tc.Session, text: str, said: str) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        session.sql(text)
    assert said in str(caught.value)
    assert "tc." not in str(caught.value)


@pytest.mark.full
@pytest.mark.parametrize(
    "text",
    [
        "select count(*) from visits where " + " and ".join(["age > 1"] * 3000),
        "select count(*) from visits where " + " or ".join(["age > 1"] * 3000),
        "select count(*) from visits where age = " + " + ".join(["1"] * 3000),
        "select " + ", ".join(f"c{i}" for i in range(1000)) + " from visits",
        "select " + "case when age = 1 then " * 39 + "1" + " end" * 39 + " from visits",
        "select count(*) from " + "(select * from " * 39 + "visits" + ")" * 39,
        "with " + ", ".join(f"a{i} as (select 1)" for i in range(900)) + " select 1",
        "select count(*) from visits where age in (" + ", ".join(map(str, range(9000))) + ") or 1",
    ],
    ids=["and", "or", "plus", "columns", "case", "subqueries", "with", "in"],
)
def test_long_queries_end_soon_and_without_a_recursion_error(
    session: tc.Session, text: str
) -> None:
    with suppress(UnsupportedQueryError):
        assert isinstance(session.sql(text), Question)


@pytest.mark.parametrize(
    "text",
    [
        "select count(*) from visits" + " join visits" * 40,
        "select count(*) from visits" + " left join visits as a" * 40,
        "select count(*) from visits" + " join (select distinct on (age) 1) as a" * 40,
        "select count(*) from (visits" + " join visits" * 40 + ")",
    ],
)
def test_joins_without_a_condition_are_not_tried_in_every_order(
    session: tc.Session, text: str
) -> None:
    """The parser takes twice as long for each of them: forty would be years."""
    with pytest.raises(UnsupportedQueryError, match="6 joins have no condition"):
        session.sql(text)


def test_joins_with_conditions_are_as_many_as_before() -> None:
    joined = " join b on a.k = b.k" * 30 + " join c using (k)" * 30
    assert parse("select count(*) from a" + joined) is not None


TEXT = (
    "select site , sum ( clamp ( cost , 0 , 9 ) ) as NAME from visits as v where sex <> QUOTED and "
    "age >= 1.5 and sex in ( 'f' , 'm' ) group by site order by 1 desc nulls last limit 3"
)
MARKS = {"NAME": '"-- s"', "QUOTED": "'/* '' --'"}
WORDS = [MARKS.get(word, word) for word in TEXT.split()]
COMMENTS = st.sampled_from(
    [
        *(" ", "\n", "/**/", "/* a */", "/* 'a */", '/* a /* " */ -- */', "/*+ INDEX(v) */"),
        *("-- it's\n", "--\r\n", "-- /*\n", '/* {"app": "dbt", "node": "m"} */ ', "{# dbt #}"),
    ]
)


@given(st.lists(COMMENTS, min_size=len(WORDS) + 1, max_size=len(WORDS) + 1))
def test_comments_between_words_are_white_space(between: list[str]) -> None:
    """Also between GROUP and BY, which the tokenizer takes for one word."""
    text = "".join(a + b for a, b in zip(between, [*WORDS, ""], strict=True))
    assert parse(text) == parse(" ".join(WORDS))
    plain = without_comments(text)
    assert [len(line) for line in plain.splitlines()] == [len(x) for x in text.splitlines()]
    assert "dbt" not in plain


def test_a_question_with_comments_is_the_same_release(session: tc.Session) -> None:
    plain = session.sql("select site, count(*) as n from visits where age >= 18 group by site")
    told = session.sql(
        "-- who asks: secret\nselect site, count(*) /* secret */ as n\nfrom visits /*+ secret */ "
        "where age >= 18 group /* secret */ by site; -- secret"
    )
    price = {"epsilon": "1/2", "delta": "1e-6"}
    first, answer = plain.release(**price), told.release(**price)
    assert answer.replayed
    assert answer.to_dict() == first.to_dict()
    assert "secret" not in answer.certificate.to_json() + repr(told) + str(session.history())


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("select 1 /* a", (1, 10)),
        ("select '--' /* a /* b */", (1, 13)),
        ("select\n 'it''s", (2, 2)),
        ('select /* " */ "a -- ', (1, 16)),
        ("select $$ ' $$, E'\\'' /* {# ", (1, 23)),
        ("select 1 -- '\n{# a", (2, 1)),
    ],
)
def test_an_open_quote_or_comment_is_named_where_it_opens(
    text: str, position: tuple[int, int]
) -> None:
    with pytest.raises(UnsupportedQueryError, match="not closed") as caught:
        parse(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "text",
    [
        "select count(*) /* secret */ from /* secret */",
        "select a b c /* secret */ d",
        "select case when 1 /* secret */ group /* secret */ by 3",
        "select site from visits group -- secret\n by a b c",
        "select count(*) from visits; /*+ secret */ ; -- secret",
        "select count(*) from visits {# secret #} where cst = 1 group /* secret */ by site",
    ],
)
def test_an_error_is_that_of_the_text_without_its_comments(session: tc.Session, text: str) -> None:
    reasons = []
    for written in (text, re.sub(r"/\*.*?\*/|\{#.*?#\}|--[^\n]*", "", text)):
        with pytest.raises(UnsupportedQueryError) as caught:
            session.sql(written)
        reasons.append(caught.value.reason)
    assert reasons[0] == reasons[1]
    assert "secret" not in reasons[0]


# FROM: which rows a query asks, row by row; what is not row by row is refused with its place.


class RelationQuestion:
    """The rows of a table: it keeps the filters that it was given."""

    def __init__(self, name: str, filters: tuple[str, ...] = ()) -> None:
        self.name, self.filters, self.schema = name, filters, SCHEMA

    def filter(self, condition: Any) -> RelationQuestion:
        return RelationQuestion(self.name, (*self.filters, str(condition)))


def asked(text: str) -> tuple[Any, Any]:
    """The question, and what its names stand for."""
    opened: Any = RelationQuestion
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
        ("select 1", "name the table"),
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
    opened: Any = RelationQuestion
    tables = Tables(opened, ("visits",))
    tree = parse("with v as (select a from visits) select 1 from v")
    assert tables.with_views(tree.args["with_"]) is not tables
    assert tables.views == {}
    assert tables.with_views(None) is tables


# Totals per person in SQL have one form.


def test_people_have_a_form() -> None:
    assert set(PEOPLE) == {"people"}
