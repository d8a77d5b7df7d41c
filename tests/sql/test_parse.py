"""The text of a query: where an error stands, and that long ones end soon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.tables.visits import ROWS
from tacit.errors import UnsupportedQueryError
from tacit.sql.parse import parse, without_comments
from tacit.tables import Question


@pytest.fixture(scope="module")
def session() -> Iterator[tc.Session]:
    with tc.Session(
        ROWS,
        tc.unit("person", rows=8, groups=3),
        tc.epsilon_delta(1000, "1e-3"),
        name="visits",
    ) as opened:
        yield opened


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
        ("select count(*) from visits where month(when) = 3", 'stands in quotes, "when"'),
        ("select sum(cost) from visits", "give them, such as sum(clamp(cost, 0, 100))"),
        ("select avg(cost) from visits", "give them, such as avg(clamp(cost, 0, 100))"),
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
    with pytest.raises(UnsupportedQueryError, match="6 joins stand without a condition"):
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
    plain = session.sql("select count(*) as n from visits where age >= 18").release(epsilon="1/2")
    told = session.sql(
        "-- who asks: secret\nselect count(*) /* secret */ as n\nfrom visits /*+ secret */ "
        "where age >= 18 -- secret"
    )
    answer = told.release(epsilon="1/2")
    assert answer.replayed
    assert answer.to_dict() == plain.to_dict()
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


def test_no_error_shows_a_comment(session: tc.Session) -> None:
    for text in ("select count(*) /* secret */ from /* secret */", "select a b c /* secret */ d"):
        with pytest.raises(UnsupportedQueryError) as caught:
            session.sql(text)
        assert "secret" not in str(caught.value)
