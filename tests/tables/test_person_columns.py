"""A person named by several columns is the tuple of their values, wherever a person is named."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES
from tacit.cli import run
from tacit.errors import LedgerError, UsageError
from tacit.expressions.timeline import Timeline
from tacit.tables.dataset.draft import draft
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.privacy_unit import PersonUnit, person_from
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.joins import Join, joined, of_people
from tacit.tables.query.requests import People, Rows
from tacit.tables.question import charge_of
from tacit.tables.release.release import PlanRunner, rows_of
from tacit.tables.streaming.periods import CountsOverTime, counts_of_periods

ONE = PersonUnit.one
BOTH = tc.unit(["home", "number"], rows=2)
# What a separator, a length or a quote could be taken for.
TEXTS = ["", "|", "1:", "a|", "|a", "1:a|", "a", "a1:a", "é", None]


@pytest.mark.parametrize("engine", ENGINES)
def test_no_text_makes_two_people_one_or_one_person_two(
    engine: str, request: pytest.FixtureRequest
) -> None:
    rows = [
        {"a": a, "b": b, "c": c}
        for a, b, c in itertools.product(TEXTS, TEXTS, (11, None))
        for _ in range(1 + (a == b))
    ]
    source = ENGINES[engine](request)(rows, {"a": "varchar", "b": "varchar", "c": "bigint"})
    more = (("a", "b"), ("c", "a")) if engine == "duckdb" else ()
    for columns in (("b", "a", "c"), *more):
        people = [tuple(row[name] for name in columns) for row in rows]
        owners = Counter(person for person in people if None not in person)
        exact = IntegerQuery(source, PersonUnit(columns, rows=1)).run([Rows(), People()])
        assert exact.of(People()).tolist() == [len(owners)]
        assert exact.of(Rows()).tolist() == [sum(ONE // n * n for n in owners.values())]
    plain = {f"{row['a']}|{row['b']}" for row in rows if None not in (row["a"], row["b"])}
    assert len(plain) < (len(TEXTS) - 1) ** 2  # a separator alone makes people one


def table() -> pd.DataFrame:
    """Visits of people in homes; ``who`` names each person in one column."""
    place = range(120)
    frame = pd.DataFrame(
        {
            "home": pd.array([i % 11 if i % 17 else None for i in place], dtype="Int64"),
            "number": [str(i % 3) if i % 19 else None for i in place],
            "site": [i % 4 for i in place],
            "cost": [float(i * 37 % 90) for i in place],
            "month": [1 + i % 9 for i in place],
        }
    )
    both = frame["home"].astype("string") + "/" + frame["number"].astype("string")
    return frame.assign(who=both)


ASKED = {
    "n": tc.count(),
    "people": tc.count_people(),
    "cost": tc.sum("cost", 0, 99),
    "median": tc.median("cost", 0, 99),
    "sites": tc.count_distinct("site"),
}


def exact_of(session: Any, question: Any) -> list[Any]:
    """What the plan of a question computes, before noise."""
    plan: Plan = charge_of(question, epsilon=1).plan(None)
    keys = plan.query.keys or [()]
    exact = PlanRunner(session.source).collect(plan)
    return [sorted(map(str, v.values())) for v in exact.vectors(plan.chains(len(keys)), keys)]


def sessions() -> list[Any]:
    return [tc.Session(table(), u, tc.epsilon(9)) for u in (BOTH, tc.unit("who", rows=2))]


def test_every_statistic_counts_the_people_that_one_column_would_name() -> None:
    results = []
    for session in sessions():
        with session:
            whole = session.agg(**{k: a for k, a in ASKED.items() if k != "sites"})
            by_site = session.group_by("site", keys=[0, 1, 2, 3]).agg(
                n=tc.count(), cost=tc.sum("cost", 0, 99)
            )
            results.append([exact_of(session, one) for one in (whole, by_site)])
    assert results[0] == results[1]


def test_one_row_a_person_and_counts_over_time_group_by_all_columns() -> None:
    counted = []
    for session in sessions():
        with session:
            people = session.per_person(n=tc.count(), cost=tc.sum("cost", 0, 900))
            release = people.agg(n=tc.count(), cost=tc.mean("cost", 0, 900)).release(epsilon=8)
            assert [*people.schema][:-2] == [*session.unit.columns]
            assert release.certificate.verify()
            made = rows_of(session.source, people._query)
            counted.append(sorted(made.engine.rows(f"select n, cost from {made.relation} as p")))
    assert counted[0] == counted[1]
    assert len(counted[0]) == table()["who"].nunique()


def test_a_count_over_time_follows_people_of_several_columns() -> None:
    line = Timeline("month", "integers", 1, 1, 9)
    counts = []
    for session in sessions():
        with session:
            query = Query(session.source.schema, session.unit)
            step = CountsOverTime(**line.to_json(), branching=2, rows=1, norm="L1")
            counts.append(list(counts_of_periods(session.source, query, step, 0, 9)))
    assert counts[0] == counts[1]
    assert sum(counts[0]) == table()["who"].nunique()


def test_one_column_in_a_list_is_that_column_and_keeps_its_key() -> None:
    one, listed = tc.unit("who", rows=2), tc.unit(["who"], rows=2)
    assert one == listed
    assert listed.describe()["column"] == "who"
    assert BOTH.describe()["column"] == ["home", "number"]
    assert tc.unit(["number", "home"], rows=2) != BOTH
    assert str(BOTH) == "home and number, at most 2 rows in 2 groups"


def test_the_answer_states_its_columns_and_is_verified_and_asked_again_for_free(
    tmp_path: Path,
) -> None:
    frame, ledger = table(), tmp_path / "visits.ledger"
    with tc.Session(frame, BOTH, tc.epsilon(2), ledger, name="visits") as session:
        answer = session.agg(n=tc.count()).release(epsilon=1)
    with tc.Session(frame, BOTH, tc.epsilon(2), ledger, name="visits") as session:
        assert session.agg(n=tc.count()).release(epsilon=1).replayed
    path = tmp_path / "n.json"
    answer.certificate.save(path)
    assert "columns home and number" in repr(answer)
    assert run(["verify", str(path)]) == 0
    other = tc.unit(["number", "home"], rows=2)
    with pytest.raises(LedgerError):
        tc.Session(frame, other, tc.epsilon(2), ledger, name="visits")


def test_sql_counts_and_groups_by_all_columns_of_the_person() -> None:
    with tc.Session(table(), BOTH, tc.epsilon(2), name="visits") as session:
        people = session.sql("select count(distinct (number, home)) as n from visits")
        assert [a.kind for _, a in people._query.aggregates] == ["count_people"]
        text = (
            "select avg(clamp(n, 0, 5)) as m from "
            "(select home, count(*) as n from visits group by number, home)"
        )
        assert session.sql(text)._query.inner is not None
        for wrong in ("group by home)", "group by home, site)", "group by home, number, site)"):
            with pytest.raises(UsageError, match=r"only by the person \(home, number\)"):
                session.sql(text.replace("group by number, home)", wrong))
        with pytest.raises(UsageError, match="distinct values are counted for one column"):
            session.sql("select count(distinct (home, site)) as n from visits")


DECLARED = """
name = "survey"
unit = { person = ["SERIAL", "PERNUM"], rows = 2 }
budget = { epsilon = 1000 }
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
SERIAL = { kind = "integer" }
cost = { kind = "float", bounds = [0, 99] }
[tables.people]
path = "people.csv"
person = ["home", "line"]
[tables.people.columns]
home = { kind = "integer" }
age = { kind = "integer", bounds = [0, 99] }
"""


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    lines = [f"{i % 5},{i % 3 + 1},{i}" for i in range(30)]
    (tmp_path / "visits.csv").write_text("\n".join(["SERIAL,PERNUM,cost", *lines, "1,,5", ""]))
    people = [f"{i % 5},{i % 3 + 1},{20 + i}" for i in range(14)]
    (tmp_path / "people.csv").write_text("\n".join(["home,line,age", *people, "0,,50", ""]))
    path = tmp_path / "survey.toml"
    path.write_text(DECLARED)
    return path


def test_a_declaration_names_people_by_several_columns_in_each_table(
    declared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(declared)]) == 0
    with tc.open(declared) as session:
        joint = session.join("people")
        question = joint.agg(n=tc.count(), age=tc.mean("age"))
        assert question._query.joins[0].on == (("SERIAL", "home"), ("PERNUM", "line"))
        answer = question.release(epsilon=900)
        assert abs(answer.value("n") - 28) < 5  # of 15 people, one has no row there
        assert answer.certificate.verify()
        with pytest.raises(UsageError, match="SERIAL = home and PERNUM = line, alone"):
            session.join("people", on={"SERIAL": "line", "PERNUM": "home"})
        text = "from visits join people on visits.SERIAL = people.home"
        with pytest.raises(UsageError):
            session.sql(f"select count(*) as n {text}")
        session.sql(f"select count(*) as n {text} and visits.PERNUM = people.line")
    capsys.readouterr()
    question = [str(declared), "--count", "--epsilon", "1"]
    assert run(["release", *question, "--json"]) == 0
    assert '"SERIAL"' in capsys.readouterr().out


def test_an_integer_meets_the_text_of_a_column_that_no_one_declared(declared: Path) -> None:
    """Each part of a person in a join is compared as one column would be."""
    text = declared.read_text().replace('home = { kind = "integer" }\n', "")
    declared.write_text(text)
    with tc.open(declared) as session:
        answer = session.join("people").agg(n=tc.count()).release(epsilon=900)
        assert abs(answer.value("n") - 28) < 5


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ('person = ["home"]', "by home, and the unit by SERIAL and PERNUM"),
        ('person = ["home", "home"]', "one name twice"),
        ('person = ["home", 3]', "a list of them"),
        ("person = []", "a list of them"),
    ],
)
def test_a_declaration_with_other_parts_is_refused_where_they_are(
    declared: Path, wrong: str, named: str
) -> None:
    declared.write_text(DECLARED.replace('person = ["home", "line"]', wrong))
    with pytest.raises(UsageError, match=named):
        tc.Dataset.load(declared)


def test_the_same_columns_in_another_order_are_refused_in_a_table_and_between_two() -> None:
    unit: Any = {"person": ["home", "line"], "rows": 1}
    for first, second in (("home", "line"), ("line", "home")), (("a", "b"), ("b", "a")):
        people = {"u": list(first), "v": list(second)}
        tables = {n: {"path": f"{n}.csv", "person": person} for n, person in people.items()}
        with pytest.raises(UsageError, match="elsewhere: people of several columns are matched"):
            tc.Dataset("d", unit, tables)  # type: ignore[arg-type]


def test_what_names_nobody_is_refused() -> None:
    for wrong in ([], ["a", ""], ["a", None], ("a", "a"), {"a", "b"}, [f"c{i}" for i in range(9)]):
        with pytest.raises(UsageError):
            tc.unit(wrong, rows=1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"rows per a and b .* tc\.unit\(\['a', 'b'\], rows=5\)"):
        tc.unit(["a", "b"])
    with pytest.raises(UsageError, match="there is no column 'numbr'; did you mean 'number'"):
        tc.Session(table(), tc.unit(["home", "numbr"], rows=1), tc.epsilon(1))
    connection = duckdb.connect()
    connection.execute("create table data (a integer, b integer[])")
    with pytest.raises(UsageError, match="the person column 'b' has the type"):
        tc.Session(connection, tc.unit(["a", "b"], rows=1), tc.epsilon(1), table="data")


def test_flags_name_several_columns_with_commas_or_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "visits.csv"
    table().drop(columns="who").to_csv(path, index=False)
    asked = ["--rows", "2", "--budget-epsilon", "3", "--count", "--epsilon", "1", "--yes", "--json"]
    for flags in (["--person", "home,number"], ["--person", "home", "--person", "number"]):
        assert run(["release", str(path), *flags, *asked]) == 0, capsys.readouterr().err
        assert '"number"' in capsys.readouterr().out
    assert run(["release", str(path), "--person", "home", *asked]) != 0
    path = tmp_path / "named.csv"
    path.write_text('"last, first",number\nA,1\n')
    person = ["--person", '"last, first"', "--person", "number"]
    assert run(["release", str(path), *person, *asked]) == 0, capsys.readouterr().err
    assert '"last, first"' in capsys.readouterr().out
    capsys.readouterr()
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[source]\npath = "visits.csv"\n[unit]\nperson = ["home", "number"]\n'
        'rows = 2\n[budget]\nepsilon = 1\nledger = "o.ledger"\n[[question]]\nname = "n"\n'
        "epsilon = 1\n"
        '[question.answers]\nn = { statistic = "count" }\n'
    )
    assert run(["preview", "--plan", str(plan)]) == 0, capsys.readouterr().err
    assert "home and number" in capsys.readouterr().out


def test_a_draft_proposes_the_columns_that_name_a_person_in_known_surveys(tmp_path: Path) -> None:
    path = tmp_path / "usa.csv"
    path.write_text("YEAR,SERIAL,PERNUM,AGE\n")
    unit: Any = draft(path).unit
    assert unit["person"] == ["SERIAL", "PERNUM"]


def test_a_part_is_the_same_on_both_sides_of_a_join_whatever_its_type() -> None:
    connection = duckdb.connect()
    shape = "(a bigint, b double, c varchar, d date, n integer)"
    connection.execute(f"create table left_ {shape}; create table right_ {shape}")
    connection.execute("alter table right_ alter a type integer")
    values = (
        "(1, -0.0, '|', date '2024-02-29', 1), (1, 0.0, '|', null, 2), (2, 'nan', 'a', null, 3)"
    )
    connection.execute(f"insert into left_ values {values}; insert into right_ values {values}")
    here, there = (open_source(connection, name) for name in ("left_", "right_"))
    for columns, matches in ((("a", "b", "c"), 4), (("d", "b"), 1), (("c", "a"), 5)):
        on = tuple((name, name) for name in columns)
        join = Join("right_", "inner", on, (("m", "n", "integer"),), None, 100)
        made = joined(here, join, of_people(here, there, join))
        ((number,),) = made.engine.rows(f"select count(*) from {made.relation} as r")
        assert number == matches
    assert person_from(["a"]) == "a"


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("columns", [("at", "x"), "at"])
def test_a_time_beyond_those_that_are_cast_is_a_person_like_any_other(
    unit: str, columns: Any
) -> None:
    pa = pytest.importorskip("pyarrow")
    far = [2**63 - 1, 2**63 - 2, 93 * 10**14, 0, -(2**63) + 1, -(2**63), None]
    at = pa.array(far * 3, pa.int64()).cast(pa.timestamp(unit))
    frame = pa.table({"at": at, "x": [1] * 21, "g": [i // 7 for i in range(21)]})
    with tc.Session(frame, tc.unit(columns, rows=2), tc.epsilon(99), tc.in_memory) as session:
        exact = IntegerQuery(session.source, PersonUnit(columns, rows=3, most_groups=1))
        assert exact.run([People()]).of(People()).tolist() == [6]
        grouped = session.group_by("g", keys=[0, 1, 2]).agg(n=tc.count_people())
        grouped.release(epsilon=1)


@pytest.mark.full
@pytest.mark.parametrize("engine", ["postgresql", "spark"])
def test_other_engines_join_and_group_by_the_same_people(
    engine: str, request: pytest.FixtureRequest
) -> None:
    people = [(a, b) for a in (0.5, -0.0, None) for b in ("", "|", "1:", None)]
    rows = [{"a": a, "b": b, "n": n} for n, (a, b) in enumerate(2 * people)]
    types = {"a": "double", "b": "varchar", "n": "integer"}
    source = ENGINES[engine](request)(rows, types)
    join = Join("other", "inner", (("a", "a"), ("b", "b")), (("m", "n", "integer"),), None, 100)
    made = joined(source, join, of_people(source, source, join))
    ((number,),) = made.engine.rows(f"select count(*) from {made.relation} as r")
    assert number == 4 * len([1 for person in people if None not in person])
    with tc.Session(source, tc.unit(["a", "b"], rows=2), tc.epsilon(9), tc.in_memory) as session:
        each = session.per_person(k=tc.count())
        table = rows_of(session.source, each._query)
        ((whole, most),) = table.engine.rows(f"select count(*), max(k) from {table.relation} as p")
    assert (whole, most) == (6, 2)
