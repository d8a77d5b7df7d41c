"""Joins and totals per person in SQL are those of Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tacit as tc
from tacit.accounting.ledger_chain import canonical
from tacit.errors import UnsupportedQueryError

C = tc.col
DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 2 }
budget = { epsilon = 100 }
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
person = { kind = "integer" }
site = { kind = "integer", keys = [1, 2, 3] }
cost = { kind = "integer", bounds = [0, 1000], unit = "euro" }
day = { kind = "date" }
[tables.patients]
path = "patients.csv"
person = "id"
columns.age = { kind = "integer", bounds = [0, 120] }
columns.cost = { kind = "integer", bounds = [0, 9] }
columns.born = { kind = "timestamp" }
[tables.sites]
path = "sites.csv"
public = true
key = "site"
columns.region = { keys = ["north", "south"] }
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tc.Session]:
    place = tmp_path_factory.mktemp("clinic")
    (place / "visits.csv").write_text(
        "person,site,cost,day\n1,1,20,2024-01-01\n2,2,35,2024-01-02\n"
    )
    (place / "patients.csv").write_text("id,age,cost,born\n1,20,3,2000-01-01 00:00\n2,35,4,\n")
    (place / "sites.csv").write_text("site,region\n1,north\n2,south\n")
    (place / "visits.toml").write_text(DECLARED)
    with tc.open(place / "visits.toml", ledger=tc.in_memory) as opened:
        yield opened


SAME: dict[str, Any] = {
    "select site, avg(cost) as cost from visits where day >= date '2024-01-01' group by site": (
        lambda s: (
            s.filter(C("day") >= __import__("datetime").date(2024, 1, 1))
            .group_by("site")
            .agg(cost=tc.mean("cost"))
        )
    ),
    "select avg(cost * 2 + 1) as c from visits": lambda s: s.with_column(
        "((cost * 2) + 1)", C("cost") * 2 + 1
    ).agg(c=tc.mean("((cost * 2) + 1)")),
    "select avg(age) as age from visits join patients on visits.person = patients.id": lambda s: (
        s.join("patients").agg(age=tc.mean("age"))
    ),
    "select s.region, avg(p.cost) as c, count(distinct p.id) as n from visits v "
    "left join sites as s on s.site = v.site join patients p on p.id = v.person "
    "where v.cost > 3 and p.age < 99 group by region": lambda s: (
        s.join("sites", how="left")
        .join("patients")
        .filter(C("cost") > 3, C("age") < 99)
        .group_by("region")
        .agg(c=tc.mean("patients.cost"), n=tc.count_people())
    ),
    "select region, count(*) as n from visits join sites using (site) group by 1": lambda s: (
        s.join("sites", how="inner").group_by("region").agg(n=tc.count())
    ),
    "select avg(age) as age from patients": lambda s: s.table("patients").agg(age=tc.mean("age")),
    "select avg(total) as mean, median(clamp(n, 0, 9)) as n from (select person, "
    "clamp(sum(cost), 0, 500) as total, count(*) as n from visits where site = 1 group by person) "
    "where total > 10": lambda s: (
        s.filter(C("site") == 1)
        .per_person(total=tc.sum("cost", 0, 500), n=tc.count())
        .filter(C("total") > 10)
        .agg(mean=tc.mean("total"), n=tc.median("n", 0, 9))
    ),
    "select avg(t) as t from (select person, sum(cost) as t from visits group by person)": (
        lambda s: s.per_person(t=tc.sum("cost")).agg(t=tc.mean("t"))
    ),
}
REFUSED = {
    "select count(*) from visits join patients on visits.day = patients.born": "person",
    "select count(*) from visits v join visits w on v.person = w.person": "",
    "select count(*) from visits, patients": "how the rows belong",
    "select count(*) from visits cross join patients": "CROSS",
    "select count(*) from visits right join patients on visits.person = patients.id": "RIGHT",
    "select count(*) from visits full join patients on visits.person = patients.id": "FULL",
    "select count(*) from visits natural join patients": "NATURAL",
    "select count(*) from visits join patients on person = id": "with their tables",
    "select count(*) from visits join patients on visits.person < patients.id": "equal",
    "select count(*) from visits join patients on visits.person + 1 = patients.id": "both",
    "select count(*) from visits join (select 1) s on true": "JOIN names a table",
    "select count(*) from visits join nothing on visits.person = nothing.id": "no table to",
    "select count(*) from sites": "no table 'sites'",
    "select count(*) from visits left join sites s on s.site = visits.site "
    "where s.site is null": "no column of 's' 'site'",
    "select avg(cost) from visits join patients on visits.person = patients.id": "several",
    "select count(*) from visits join patients on visits.person = patients.id "
    "where born > date '2000-01-01'": "times",
    "select avg(t) from (select site, sum(cost) as t from visits group by site)": "person",
    "select avg(t) from (select person, sum(cost) from visits group by person)": "name this",
    "select avg(t) from (select person, median(cost) as t from visits group by person)": "made",
    "select avg(t) from (select person, clamp(avg(cost), 0, 1) as t from visits group by "
    "person)": "inside",
    "select avg(t) from (select person, cost as t from visits group by person)": "aggregates",
    "select avg(t) from (select person, sum(cost) as t from visits group by person having "
    "sum(cost) > 1)": "WHERE of the outer",
    "with v as (select * from visits) select count(*) from visits join v on visits.person = "
    "v.person": "common table",
}


def described(question: Any) -> str:
    question.preview(epsilon=1)
    return canonical(question._query.describe())


@pytest.mark.parametrize("text", SAME)
def test_the_same_question_in_python_and_in_sql_is_one(session: tc.Session, text: str) -> None:
    assert described(session.sql(text)) == described(SAME[text](session))


def test_joins_and_people_are_released(session: tc.Session) -> None:
    text = (
        "with people as (select person, avg(visits.cost) as c, min(age) as age from visits "
        "join patients p on visits.person = p.id group by person) select case when age < 18 then "
        "'minor' else 'adult' end as g, avg(c) as c from people group by g"
    )
    answer = session.sql(text).release(epsilon=1)
    assert answer.keys == [("minor",), ("adult",)]
    assert answer.certificate.verify()


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_says_why(session: tc.Session, text: str) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        session.sql(text)
    assert REFUSED[text] in caught.value.reason
