"""A query in SQL is the question that the methods of Python ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tacit as tc
from support.tables.visits import ROWS
from tacit.accounting.ledger_chain import canonical
from tacit.errors import UnsupportedQueryError

C = tc.col


@pytest.fixture(scope="module")
def session() -> Iterator[tc.Session]:
    with tc.Session(
        ROWS,
        tc.unit("person", rows=8, groups=3),
        tc.epsilon_delta(1000, "1e-3"),
        name="visits",
    ) as opened:
        yield opened


def described(question: Any, **price: Any) -> str:
    """What the ledger knows a question by."""
    question.preview(**(price or {"epsilon": 1}))
    return canonical(question._query.describe())


SAME: dict[str, Any] = {
    "select count(*) as n from visits": lambda s: s.agg(n=tc.count()),
    "select count(*) from visits v where v.age >= 18 and cost < 50": lambda s: s.filter(
        C("age") >= 18, C("cost") < 50
    ).agg(count=tc.count()),
    "select avg(clamp(cost, 0, 100)) as c, median(clamp(cost, 0, 100)) from visits": lambda s: (
        s.agg(c=tc.mean("cost", 0, 100), median_cost=tc.median("cost", 0, 100))
    ),
    "select site as s, count(*) as n from visits where site in (1, 2, 3) group by site": lambda s: (
        s.filter(C("site").is_in([1, 2, 3])).group_by("site", keys=[1, 2, 3]).agg(n=tc.count())
    ),
    "SELECT sum(CLAMP(Cost, -0.1, 1e2)) AS t FROM Visits GROUP BY month(day)": lambda s: (
        s.with_column("month(day)", C("day").month())
        .group_by("month(day)", keys=[*range(1, 13), None])
        .agg(t=tc.sum("cost", "-0.1", 100))
    ),
    "select case when age < 18 then 'minor' else 'adult' end as grown, count(distinct person) as p"
    " from visits group by grown": lambda s: (
        s.with_column("grown", tc.when(C("age") < 18).then("minor").otherwise("adult"))
        .group_by("grown", keys=["minor", "adult"])
        .agg(p=tc.count_people())
    ),
    "with old as (select cost * 2 as twice, * from visits where not age < 40), dear as "
    "(select twice, sex from old where twice > 3) select var_pop(clamp(twice, 0, 9)) v from dear": (
        lambda s: (
            s.with_column("twice", C("cost") * 2)
            .filter(C("age") >= 40, C("cost") * 2 > 3)
            .agg(v=tc.var("twice", 0, 9))
        )
    ),
    "select count(cost) as n from (select cost from visits) as inside": lambda s: s.with_column(
        "when((cost is missing), 0, 1)", tc.when(C("cost").is_null()).then(0).otherwise(1)
    ).agg(n=tc.sum("when((cost is missing), 0, 1)", 0, 1)),
    "select percentile_cont(0.9) within group (order by clamp(cost, 0, 9)) as p, "
    "quantile_cont(clamp(cost, 0, 9), 0.25) as q, min(clamp(cost, 0, 9)) as low from visits": (
        lambda s: s.agg(
            p=tc.percentile("cost", 90, 0, 9),
            q=tc.percentile("cost", 25, 0, 9),
            low=tc.min("cost", 0, 9),
        )
    ),
    "select sum(clamp(\"Big\", 0, 9)) as b from visits where day >= date '1970-03-01'": lambda s: (
        s.filter(C("day") >= __import__("datetime").date(1970, 3, 1)).agg(b=tc.sum("Big", 0, 9))
    ),
    "select count(*) filter (where sex = 'f') as women from visits": lambda s: s.with_column(
        "when((sex == 'f'), 1, 0)", tc.when(C("sex") == "f").then(1).otherwise(0)
    ).agg(women=tc.sum("when((sex == 'f'), 1, 0)")),
    "select count(*) as n from visits where at >= date '2000-01-01'": lambda s: s.filter(
        C("at") >= __import__("datetime").date(2000, 1, 1)
    ).agg(n=tc.count()),
    "select count(distinct site) as s, corr(clamp(age, 0, 99), clamp(cost, 0, 9)) as r, "
    "covar_samp(clamp(age, 0, 99), clamp(cost, 0, 9)) from visits": lambda s: s.agg(
        s=tc.count_distinct("site"),
        r=tc.correlation("age", "cost", {"age": (0, 99), "cost": (0, 9)}),
        covariance_age_cost=tc.covariance("age", "cost", {"age": (0, 99), "cost": (0, 9)}),
    ),
    "from visits select count(*) as n having n > 3 order by n limit 1": lambda s: s.agg(
        n=tc.count()
    ),
}


@pytest.mark.parametrize("text", SAME)
def test_the_same_question_in_python_and_in_sql_is_one(session: tc.Session, text: str) -> None:
    assert described(session.sql(text)) == described(SAME[text](session))


def test_each_replays_the_other(session: tc.Session) -> None:
    text = "select sex, avg(clamp(age, 0, 99)) as age from visits where sex in ('f') group by sex"
    asked = session.filter(C("sex").is_in(["f"])).group_by("sex", keys=["f"])
    asked = asked.agg(age=tc.mean("age", 0, 99))
    first = session.sql(text).release(epsilon="1/4")
    again = asked.release(epsilon="1/4")
    assert (first.replayed, again.replayed) == (False, True)
    assert first.to_dict() == again.to_dict()
    assert asked.release(epsilon="1/8").replayed is False
    assert session.sql(text).release(epsilon="1/8").replayed


def test_having_order_and_limit_are_post_processing(session: tc.Session) -> None:
    text = "select site as place, count(*) as n from visits where site in (1, 2, 3) group by site"
    whole = session.sql(text).release(epsilon=1)
    assert whole.by == ("place",)
    counts = dict(zip([key for (key,) in whole.keys], whole.column("n")["value"], strict=True))
    down = sorted(counts, key=lambda key: (-counts[key], key))
    order = session.sql(f"{text} order by n desc, place limit 2 offset 1").release(epsilon=1)
    assert order.replayed
    assert [key for (key,) in order.keys] == down[1:3]
    assert order.column("n")["value"] == [counts[key] for key in down[1:3]]
    middle = counts[down[1]]
    kept = session.sql(f"{text} having count(*) >= {middle} and place <> 99 order by 1 desc")
    assert [k for (k,) in kept.release(epsilon=1).keys] == sorted(
        (key for key in counts if counts[key] >= middle), reverse=True
    )
    assert kept.release(epsilon=1).certificate.verify()
    none = session.sql(f"{text} having n is null").release(epsilon=1)
    assert (len(none), none.replayed) == (0, True)


def test_notes_tell_what_an_answer_is(session: tc.Session) -> None:
    asked = session.sql("select max(clamp(cost, 0, 9)) as m, stddev(clamp(cost, 0, 9)) from visits")
    assert [note.split(" is ")[0] for note in asked.notes] == ["m", "std_cost"]
    assert set(asked.notes) <= set(asked.preview(epsilon=1).notes)


REFUSED = {
    "select * from visits": "never shown",
    "select cost from visits": "never shown",
    "select count(*) from visits where date_part() = 1": "date_part",
    "select count(*) from visits where substring(sex) = 'f'": "substring",
    "select count(*) from visits where width_bucket(cost) = 1": "width_bucket",
    "select count(*) from visits where width_bucket(cost, 0, 1e999, 3) = 1": "width_bucket",
    "select count(*) from visits where [1, 2][1] = site": "BRACKET",
    "select count(*) from visits where " + " and ".join(["age = 1"] * 51): "50 filters",
    "select site, count(*) from visits": "GROUP BY",
    "select count(*) > 3 from visits": "HAVING",
    "select case when count(*) > 3 then 'many' end from visits": "is a number",
    "select sum(clamp(cost, 0, 9)) / cost from visits": "put it into GROUP BY",
    "select 1 + sum(count(*)) over () from visits": "windows",
    "select quantile_cont(clamp(cost, 0, 9), [0.1, 0.9]) + 1 from visits": "one number",
    "select round(avg(clamp(cost, 0, 9)), 40) from visits": "decimals from -15 to 15",
    "select floor(avg(clamp(cost, 0, 9)), 2) from visits": "floor gives whole numbers",
    "select count(*) * 2 as n, count(*) * 3 as N from visits": "two items",
    "select site, count(*) * 2 as site from visits group by site": "one name",
    "select count(*) as n, count(*) * 2 as n_low from visits": "endings",
    "select distinct site, count(*) from visits group by site": "DISTINCT",
    "select count(distinct site, sex) from visits": "one column",
    "select sum(distinct cost) from visits": "DISTINCT",
    "select count(*) over () from visits": "windows",
    "select count(*) from visits union select count(*) from visits": "UNION",
    "select count(*) from nowhere": "no table 'nowhere'",
    "select count(*) from read_csv('/etc/passwd')": "not run",
    "select count(*) from '/etc/passwd'": "no table",
    "select count(*) from main.visits": "schema",
    "select count(*) from visits tablesample 10%": "sample",
    "select count(*) from visits for update": "lock",
    "select count(*) into copy from visits": "writes",
    "select count(*)": "which table",
    "select count(*) from visits limit 10%": "number of groups",
    "select count(*) from visits group by all": "name the columns",
    "select count(*) from visits group by rollup(site)": "ROLLUP",
    "select count(*) from visits group by 7": "no item 7",
    "select count(*) from visits group by 1": "aggregate",
    "select count(*) from visits qualify 1 = 1": "windows",
    "select count(*) from (select cost from visits limit 3)": "row by row",
    "select count(*) from (select distinct cost from visits)": "row by row",
    "select count(*) from (select site, count(*) from visits group by site)": "only by the person",
    "select count(*) from (select cost, cost from visits)": "two columns",
    "with recursive a as (select 1) select count(*) from a": "recursive",
    "with a as (delete from visits) select count(*) from visits": "",
    "with a as (select cost from visits) select count(*) from visits": "never used",
    "with a as (select age from visits) select sum(clamp(cost, 0, 1)) from a": "no column 'cost'",
    "select avg(cost) from visits": "needs public bounds",
    "select avg(age + 1) from visits": "declare bounds of 'age'",
    "select avg(sex) from visits": "holds text",
    "select avg(clamp(sex, 0, 1)) from visits": "needs numbers",
    "select median(sex) from visits": "needs numbers",
    "select cost, count(*) from visits group by cost": "width_bucket",
    "select site, count(*) from visits group by site having cost > 3": "neither",
    "select sex, count(*) from visits group by sex having avg(cost) > 3": "select list",
    "select count(*) as n, count(*) as N from visits": "two items",
    "select count(*) from visits where at > date '2000-01-01'": "times",
    "select count(*) from visits where at = date '2000-01-01'": "times",
    "select count(*) from visits where coalesce(at, day) = date '2000-01-01'": "times",
    "select at, count(*) from visits group by at": "times",
    "select count(*) from visits order by cost": "neither",
    "select percentile_cont(90) within group (order by cost) from visits": "0 to 1",
    "select count(*), from visits; select 1": "one query",
    "select count(*) from visits; drop table visits": "one query",
    "insert into visits values (1)": "changes",
    "drop table visits": "changes",
    "update visits set cost = 1": "changes",
    "copy visits to 'out.csv'": "changes",
    "attach 'x.db'": "changes",
    "pragma x": "changes",
    "values (1)": "does not start a query",
    "select count(*) from visits /* all": "not closed",
    "select count(*) from visits\n/* a /* b */ where age > 1": "not closed",
    "-- select count(*) from visits": "no query",
    "select count(*) from visits where sex = 'x": "not closed",
    "select count(* from visits": "parsed",
    "": "no query",
    " \n ": "no query",
    ";": "",
    "select count(*) from visits\0": "U+0000",
    "select count(*) from visits where sex = '\u202e'": "U+202E",
    "select count(*) from visits where " + "(" * 60 + "age = 1" + ")" * 60: "nested",
    "select count(*) from visits where " + "not " * 60 + "age = 1": "nested",
    "select count(*) from visits where age = " + "9" * 400: "digits",
    "select " + "+" * 70_000: "characters",
    "select count(*) from visits group by " + ", ".join(f"age > {i}" for i in range(18)): "groups",
    "select count(*) from visits group by " + ", ".join(f"age > {i}" for i in range(21)): "columns",
    "select " + ", ".join(["count(*)"] * 101) + " from visits": "at most 100 items",
    "select count(*) from visits, visits": "declare them in a data set",
}


@pytest.mark.few(3)
@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:60])
def test_what_is_refused_says_where_and_why(session: tc.Session, text: str) -> None:
    spent = session.spent
    with pytest.raises(UnsupportedQueryError) as caught:
        session.sql(text)
    assert REFUSED[text] in caught.value.reason
    line, column = caught.value.position
    assert line >= 1
    assert column >= 1
    assert session.spent == spent


def test_an_answer_and_a_total_may_have_any_name(session: tc.Session) -> None:
    assert session.sql("select count(*) as self from visits").preview(epsilon=1)
    totals = "select person, clamp(sum(cost), 0, 5) as self from visits group by person"
    assert session.sql(f"select avg(self) as self from ({totals})").preview(epsilon=1)


def test_many_conditions_are_released_and_too_many_refused_before(session: tc.Session) -> None:
    said = " and ".join(["age = 1"] * 50)
    session.sql(f"select count(*) from visits where {said}").release(epsilon=1)
