"""The text of a query: where an error stands, and that long ones end soon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

import tacit as tc
from support.tables.visits import ROWS
from tacit.errors import UnsupportedQueryError
from tacit.sql.parse import parse
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
