"""A query in SQL is the question that the methods of Python ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit as tc
from house.project import script
from tacit.accounting.ledger_chain import canonical
from tacit.errors import UnsupportedQueryError, UsageError

C = tc.col


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
    "select mad(clamp(cost, 0, 9)), geomean(clamp(cost, 1, 9)) as g from visits": lambda s: s.agg(
        mad_cost=tc.mad("cost", 0, 9), g=tc.geometric_mean("cost", 1, 9)
    ),
    "select site as s, count(*) as n from visits where site in (1, 2, 3) group by site": lambda s: (
        s.filter(C("site").is_in([1, 2, 3])).group_by("site", keys=[1, 2, 3]).agg(n=tc.count())
    ),
    "SELECT sum(CLAMP(Cost, -0.1, 1e2)) AS t FROM Visits GROUP BY month(day)": lambda s: (
        s.with_columns(**{"month(day)": C("day").dt.month()})
        .group_by("month(day)", keys=[*range(1, 13), None])
        .agg(t=tc.sum("cost", "-0.1", 100))
    ),
    "select case when age < 18 then 'minor' else 'adult' end as grown, count(distinct person) as p"
    " from visits group by grown": lambda s: (
        s.with_columns(grown=tc.when(C("age") < 18).then("minor").otherwise("adult"))
        .group_by("grown", keys=["minor", "adult"])
        .agg(p=tc.count_people())
    ),
    "with old as (select cost * 2 as twice, * from visits where not age < 40), dear as "
    "(select twice, sex from old where twice > 3) select var_pop(clamp(twice, 0, 9)) v from dear": (
        lambda s: (
            s.with_columns(twice=C("cost") * 2)
            .filter(C("age") >= 40, C("cost") * 2 > 3)
            .agg(v=tc.var("twice", 0, 9))
        )
    ),
    "select count(cost) as n from (select cost from visits) as inside": lambda s: s.with_columns(
        **{"when((cost is missing), 0, 1)": tc.when(C("cost").is_null()).then(0).otherwise(1)}
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
    "select count(*) filter (where sex = 'f') as women from visits": lambda s: s.with_columns(
        **{"when((sex == 'f'), 1, 0)": tc.when(C("sex") == "f").then(1).otherwise(0)}
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
    stored = session.sql(f"{text} having count(*) >= {middle} and place <> 99 order by 1 desc")
    assert [k for (k,) in stored.release(epsilon=1).keys] == sorted(
        (key for key in counts if counts[key] >= middle), reverse=True
    )
    assert stored.release(epsilon=1).certificate.verify()
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
    "select count(*)": "name the table",
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
    "select avg(sex) from visits": "is text",
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


# Joins and totals per person in SQL are those of Python.


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
def joins_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tc.Session]:
    place = tmp_path_factory.mktemp("clinic")
    (place / "visits.csv").write_text(
        "person,site,cost,day\n1,1,20,2024-01-01\n2,2,35,2024-01-02\n"
    )
    (place / "patients.csv").write_text("id,age,cost,born\n1,20,3,2000-01-01 00:00\n2,35,4,\n")
    (place / "sites.csv").write_text("site,region\n1,north\n2,south\n")
    (place / "visits.toml").write_text(DECLARED)
    with tc.open(place / "visits.toml", ledger=tc.in_memory) as opened:
        yield opened


JOINS_SAME: dict[str, Any] = {
    "select site, avg(cost) as cost from visits where day >= date '2024-01-01' group by site": (
        lambda s: (
            s.filter(C("day") >= __import__("datetime").date(2024, 1, 1))
            .group_by("site")
            .agg(cost=tc.mean("cost"))
        )
    ),
    "select avg(cost * 2 + 1) as c from visits": lambda s: s.with_columns(
        **{"((cost * 2) + 1)": C("cost") * 2 + 1}
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
JOINS_REFUSED = {
    "select count(*) from visits join patients on visits.day = patients.born": "person",
    "select count(*) from visits v join visits w on v.person = w.person": "",
    "select count(*) from visits, patients": "name the equal keys",
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


def joins_described(question: Any) -> str:
    question.preview(epsilon=1)
    return canonical(question._query.describe())


@pytest.mark.parametrize("text", JOINS_SAME)
def test_joins_the_same_question_in_python_and_in_sql_is_one(
    joins_session: tc.Session, text: str
) -> None:
    assert joins_described(joins_session.sql(text)) == joins_described(
        JOINS_SAME[text](joins_session)
    )


def test_joins_and_people_are_released(joins_session: tc.Session) -> None:
    text = (
        "with people as (select person, avg(visits.cost) as c, min(age) as age from visits "
        "join patients p on visits.person = p.id group by person) select case when age < 18 then "
        "'minor' else 'adult' end as g, avg(c) as c from people group by g"
    )
    answer = joins_session.sql(text).release(epsilon=1)
    assert answer.keys == [("minor",), ("adult",)]
    assert answer.certificate.verify()


@pytest.mark.parametrize("text", JOINS_REFUSED)
def test_what_is_refused_says_why(joins_session: tc.Session, text: str) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        joins_session.sql(text)
    assert JOINS_REFUSED[text] in caught.value.reason


# The queries of TPC-H: what is answered is what DuckDB answers, and what is not says why.


TPCH_REFUSED = {
    "3": "the keys of l_orderkey, o_orderdate, o_shippriority are not public",
    "4": "EXISTS",
    "10": "the keys of o_custkey are not public",
}
SIZES = {"lineitem": 3000, "orders": 700, "customer": 100, "part": 40, "supplier": 20}
SIZES |= {"nation": 25, "region": 3}
TABLES = {
    "lineitem": "pick(i, 1, 700) as l_orderkey, pick(i, 2, 40) as l_partkey, "
    "pick(i, 3, 20) as l_suppkey, cast(1 + pick(i, 4, 50) as decimal(15, 2)) as l_quantity, "
    "cast(900 + pick(i, 5, 10000000) / 1000 as decimal(15, 2)) as l_extendedprice, "
    "cast(pick(i, 6, 11) / 100 as decimal(15, 2)) as l_discount, "
    "cast(pick(i, 7, 9) / 100 as decimal(15, 2)) as l_tax, "
    "['A', 'N', 'R'][1 + pick(i, 8, 3)] as l_returnflag, "
    "['F', 'O'][1 + pick(i, 9, 2)] as l_linestatus, "
    "date '1993-06-01' + cast(pick(i, 10, 900) as integer) as l_shipdate, "
    "l_shipdate + cast(pick(i, 11, 60) - 20 as integer) as l_commitdate, "
    "l_shipdate + cast(pick(i, 12, 60) as integer) as l_receiptdate, "
    "['AIR', 'MAIL', 'SHIP'][1 + pick(i, 13, 3)] as l_shipmode",
    "orders": "i as o_orderkey, pick(i, 14, 100) as o_custkey, "
    "date '1993-06-01' + cast(pick(i, 15, 900) as integer) as o_orderdate, "
    "['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'][1 + pick(i, 16, 5)] "
    "as o_orderpriority, 0 as o_shippriority",
    "customer": "i as c_custkey, pick(i, 17, 25) as c_nationkey, 'BUILDING' as c_mktsegment",
    "part": "i as p_partkey, ['PROMO TIN', 'SMALL TIN'][1 + pick(i, 18, 2)] as p_type",
    "supplier": "i as s_suppkey, pick(i, 19, 25) as s_nationkey",
    "nation": "i as n_nationkey, case i when 8 then 'INDIA' when 9 then 'INDONESIA' when 12 then "
    "'JAPAN' when 18 then 'CHINA' when 21 then 'VIETNAM' else 'N' || i end as n_name, "
    "case when i in (8, 9, 12, 18, 21) then 2 else 1 end as n_regionkey",
    "region": "i as r_regionkey, ['AFRICA', 'AMERICA', 'ASIA'][i + 1] as r_name",
}


@pytest.fixture(scope="module")
def tpch() -> Any:
    return script("benchmarks/tpch.py")


@pytest.fixture(scope="module")
def folder(tpch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small tables with the columns of the specification, and a few of its values."""
    place = tmp_path_factory.mktemp("tpch")
    connection = duckdb.connect()
    connection.execute("create macro pick(i, k, n) as cast(hash(i, k) % n as bigint)")
    for table, columns in TABLES.items():
        rows = f"select {columns} from range({SIZES[table]}) as t(i)"
        connection.execute(f"copy ({rows}) to '{place}/{table}.parquet'")
    tpch.declare(place)
    declared = (place / "tpch.toml").read_text()
    (place / "tpch.toml").write_text(declared.replace("1000000", "1" + "0" * 15))
    return place


@pytest.mark.full
def test_what_is_answered_is_what_the_engine_answers(tpch: Any, folder: Path) -> None:
    pytest.importorskip("sqlglot")
    truth = tpch.plain(folder)
    asked = 0
    with tc.open(folder / "tpch.toml", ledger=tc.in_memory) as session:
        for query in tpch.QUERIES:
            of = session.table("orders") if "from orders" in query.sql else session
            if query.number in TPCH_REFUSED:
                with pytest.raises(UsageError, match=TPCH_REFUSED[query.number]):
                    of.sql(query.sql).release(epsilon=1)
                continue
            answer = of.sql(query.asked or query.sql).release(epsilon=10**13)
            assert answer.certificate.verify(session.ledger), query.number
            assert tpch.error(query, [answer], truth) < 1e-6, query.number
            asked += 1
    assert asked == 10


@pytest.mark.parametrize("table", ["visits", "care.visits"])
def test_a_table_of_a_database_has_its_own_name(tmp_path: Path, table: str) -> None:
    with duckdb.connect(tmp_path / "v.duckdb") as connection:
        connection.execute("create schema care")
        connection.execute(f"create table {table} as select range as a from range(9)")
    session = tc.Session(
        tmp_path / "v.duckdb", tc.one_row_each, tc.epsilon(1), table=table, ledger=tc.in_memory
    )
    counted = repr(session.agg(n=tc.count()))
    for name in ("visits", "VISITS", '"visits"', f'"v.duckdb:{table}"', "v"):
        assert repr(session.sql(f"select count(*) as n from {name}")) == counted
    with pytest.raises(UnsupportedQueryError, match="did you mean 'visits'"):
        session.sql("select count(*) from visit")


@pytest.mark.full
def test_a_table_of_a_server_has_its_own_name(postgres: Any) -> None:
    postgres.run("create table visits (a int)")
    session = tc.Session(
        postgres.dsn(), tc.one_row_each, tc.epsilon(1), table="visits", ledger=tc.in_memory
    )
    assert repr(session.sql("select count(*) as n from visits")) == repr(session.agg(n=tc.count()))
