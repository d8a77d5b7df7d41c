"""Tables of a declared data set, joined: what a question to a join is, says and refuses."""

from __future__ import annotations

import copy
import pkgutil
from typing import Any

import duckdb
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

import tacit as tc
from support.certificates.certificate_changes import sealed
from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.schema import Column, Schema
from tacit.report.text import question_words
from tacit.tables import question
from tacit.tables.engines.duckdb.engine import DuckEngine, planned_statements
from tacit.tables.open_source import open_source
from tacit.tables.plan.query import Declared, Query
from tacit.tables.query.joins import Join
from tacit.tables.release.opened_table import (
    JoinedTable,
    OtherTable,
    SharedTable,
    beside,
    joined_columns,
    requested_join,
)
from tacit.tables.streaming import periods

VISITS = [(1, 1, 20), (2, 2, 35), (2, 3, 7), (3, 9, 1), (None, 1, 5), (2, None, 8)]
PATIENTS = [(1, 20, 3), (2, 35, 4), (2, 36, 5), (9, 9, 9), (None, 50, 5)]
SITES = [("01", "north", 1), ("2", "south", 2), ("3", "", 3), ("", "nowhere", 4)]
DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 2 }
budget = { epsilon = 1000000000000 }
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
person = { kind = "integer" }
site = { kind = "integer", keys = [1, 2, 3] }
cost = { kind = "integer", bounds = [0, 1000], unit = "euro" }
[tables.patients]
path = "patients.csv"
person = "id"
columns.age = { kind = "integer", bounds = [0, 120] }
columns.cost = { kind = "integer", bounds = [0, 9] }
[tables.sites]
path = "sites.csv"
public = true
key = "site"
columns.region = { keys = ["north", "south"] }
columns.size = { kind = "integer", bounds = [0, 5] }
"""


def csv(names: str, rows: Any) -> str:
    lines = [",".join("" if v is None else str(v) for v in row) for row in rows]
    return "\n".join([names, *lines, ""])


@pytest.fixture
def clinic(tmp_path):
    (tmp_path / "visits.csv").write_text(csv("person,site,cost", VISITS))
    (tmp_path / "patients.csv").write_text(csv("id,age,cost", PATIENTS))
    (tmp_path / "sites.csv").write_text(csv("site,region,size", SITES))
    (tmp_path / "visits.toml").write_text(DECLARED)
    return tmp_path


@pytest.fixture
def session(clinic):
    with tc.open(clinic / "visits.toml") as opened:
        yield opened


def exact(question: Any) -> dict[str, Any]:
    """What a question answers at a loss so large that the noise is below a millionth."""
    found = question.release(epsilon=1_000_000_000).to_dict()
    return {n: v for n, v in found.items() if not n.endswith(("_error", "_low", "_high"))}


def test_a_public_table_adds_its_columns_and_keeps_every_row(session):
    asked = session.join("sites").agg(n=tc.count(), size=tc.sum("size"))
    found = exact(asked)
    assert found["n"] == [5]  # the row without a person is nobody's
    assert round(found["size"][0]) == 1 + 2 + 3
    only = session.join("sites", how="inner").agg(n=tc.count())
    assert exact(only)["n"] == [3]


def test_groups_and_bounds_of_the_joined_table_are_those_declared(session):
    asked = session.join("sites").group_by("region").agg(n=tc.count(), size=tc.mean("size"))
    found = exact(asked)
    assert found["region"] == ["north", "south"]
    assert found["n"] == [1, 1]


def test_people_are_joined_and_then_limited(session):
    asked = session.join("patients").agg(n=tc.count(), who=tc.count_people(), age=tc.sum("age"))
    found = exact(asked)
    # person 2 has three visits and two rows of patients: six rows, which count as five
    assert found["who"] == [2]
    assert found["n"] == [6]
    assert found["age"][0] == pytest.approx(20 + 5 / 6 * 3 * (35 + 36), abs=0.01)
    left = session.join("patients", how="left").agg(who=tc.count_people())
    assert exact(left)["who"] == [3]


def test_a_name_that_is_taken_gets_the_name_of_its_table(session):
    joined = session.join("sites").join("patients")
    found = exact(joined.agg(own=tc.sum("cost"), theirs=tc.sum("patients.cost")))
    assert found["theirs"][0] == pytest.approx(3 + 3 * (4 + 5), abs=0.01)
    with pytest.raises(UsageError, match="no column 'id'"):
        joined.agg(x=tc.mean("id", 0, 1))


def test_a_join_is_part_of_the_question_and_its_certificate_is_derived_again(session, clinic):
    plain = session.agg(n=tc.count()).release(epsilon=1)
    asked = session.join("sites").join("patients").group_by("region").agg(n=tc.count())
    answer = asked.release(epsilon=1)
    assert not answer.replayed
    assert "joins" not in plain.certificate.body["question"]["query"]
    again = session.join("sites").join("patients").group_by("region").agg(n=tc.count())
    assert again._table is asked._table  # what the engine keeps serves both
    assert isinstance(again._table, JoinedTable)
    assert again.release(epsilon=1).replayed
    assert not session.join("patients").agg(n=tc.count()).release(epsilon=1).replayed
    body = answer.certificate.body
    steps = [step["step"] for step in body["chains"][0]["steps"]]
    assert steps[:2] == ["join", "join"]
    assert [step["distance"] for step in body["chains"][0]["steps"]][:2] == ["1", "1"]
    told = question_words(body["question"])
    assert "joined with sites (public, content" in told
    assert (
        "patients by the person (person = id; a person with more than 1000 rows there has no "
        "match); "
        "rows without a match are left out" in told
    )
    report = answer.certificate.verify(session.ledger)
    assert report, report.failures
    assert "public table which was joined" in str(report.unchecked)
    assert "public table which was joined" not in str(plain.certificate.verify().unchecked)
    page = clinic / "page.html"
    answer.certificate.save(page)
    assert "Join patients by the person (person = id;" in page.read_text()


def test_a_certificate_that_claims_another_join_is_found_out(session):
    answer = session.join("patients").agg(n=tc.count()).release(epsilon=1)
    assert answer.certificate.verify()
    for place, value, fails in [
        ("how", "left", "chain"),
        ("on", [["cost", "id"]], ""),
        ("on", [["person", "person"]], ""),
        ("table", "sites", ""),
        ("public", "ab" * 32, ""),
        ("most", 2, ""),
        ("most", None, ""),
    ]:
        body = copy.deepcopy(answer.certificate.body)
        body["question"]["query"]["joins"][0][place] = value
        report = sealed(body).verify()
        assert not report, (place, value)
        assert fails in str(report.failures)


def test_another_content_of_a_public_table_is_another_question(session, clinic):
    def question():
        return session.join("sites").agg(size=tc.sum("size"))

    first = question().release(epsilon=1)
    (clinic / "sites.csv").write_text(csv("site,region,size", SITES[::-1]))
    session.refresh()
    assert question().release(epsilon=1).replayed  # the same rows in another order
    old = question()
    (clinic / "sites.csv").write_text(csv("site,region,size", [*SITES, (4, "far", 4)]))
    session.refresh()
    answer = question().release(epsilon=1)
    assert not answer.replayed
    assert old.release(epsilon=1).replayed
    digests = [
        a.certificate.body["question"]["query"]["joins"][0]["public"] for a in (first, answer)
    ]
    assert digests[0] != digests[1]


REFUSED = [
    (lambda s: s.join("visits"), "is the table that is asked"),
    (lambda s: s.join("patient"), "no other table 'patient'; did you mean 'patients'"),
    (lambda s: s.join("patients", on="cost"), "must belong to one person"),
    (lambda s: s.join("patients", on={"person": "age"}), "must belong to one person"),
    (lambda s: s.join("sites", on={"site": "size"}), "joined by its key, site"),
    (lambda s: s.join("sites", on="cost_"), "no column 'cost_'"),
    (lambda s: s.join("sites", on=["site", "cost"]), "give as many columns"),
    (lambda s: s.join("sites", how="outer"), "how is 'left' or 'inner'"),
    (lambda s: s.group_by("site").join("sites"), "join first"),
    (lambda s: s.agg(n=tc.count()).join("sites"), "join first"),
    (lambda s: s.with_columns(size=tc.col("cost") + 1).join("sites"), "join before with_columns"),
    (lambda s: s.join("patients").join("patients"), "is joined already"),
    (lambda s: s.join("sites").join("sites").join("sites"), "names two columns"),
    (lambda s: s.table("patients").join("sites"), "no column 'site'"),
]


def test_what_is_no_join_is_refused_with_the_reason(session):
    for ask, message in REFUSED:
        with pytest.raises(UsageError, match=message):
            ask(session)
        assert session.history() == [], message


def test_two_rows_of_one_key_are_refused_before_the_charge(session, clinic):
    (clinic / "sites.csv").write_text(csv("site,region,size", [*SITES, (1, "again", 3)]))
    with pytest.raises(UsageError, match="two rows of the public table 'sites' have the same site"):
        session.join("sites")
    assert session.history() == []


def test_a_table_without_a_data_set_joins_nothing(clinic):
    types = {"person": "integer"}
    one = tc.Session(clinic / "visits.csv", tc.unit("person", rows=5), tc.epsilon(1), types=types)
    with one, pytest.raises(UsageError, match="declare both in one file"):
        one.join("sites")


def test_rows_that_are_people_of_their_own_join_public_tables_alone(clinic):
    text = DECLARED.replace('{ person = "person", rows = 5, groups = 2 }', '"row"')
    (clinic / "visits.toml").write_text(text.replace('person = "id"\n', ""))
    with tc.open(clinic / "visits.toml") as session:
        assert exact(session.join("sites").agg(n=tc.count(), s=tc.sum("size")))["n"] == [6]
        with pytest.raises(UsageError, match="is a person of its own"):
            session.join("patients")


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("kind", "own", "fits"),
    [
        ("bigint", "integer", True),
        ("ubigint", "integer", True),
        ("varchar", "integer", False),
        ("double", "integer", False),
        ("varchar", "text", True),
        ("uuid", "text", False),
        ("bigint", "text", False),
        ("double", "float", True),
        ("float", "float", True),
        ("date", "date", True),
        ("timestamp", "date", False),
    ],
)
def test_people_of_another_kind_are_refused_by_the_kinds_alone(clinic, kind, own, fits):
    path = clinic / "patients.parquet"
    duckdb.connect().execute(
        f"copy (select cast(null as {kind}) as id, 1 as age, 2 as cost) to '{path}'"
    )
    text = DECLARED.replace("patients.csv", "patients.parquet")
    text = text.replace('person = { kind = "integer" }', f'person = {{ kind = "{own}" }}')
    (clinic / "visits.toml").write_text(text)
    with tc.open(clinic / "visits.toml") as session:
        if fits:
            session.join("patients")
            return
        with pytest.raises(UsageError, match=r"the person is .* in 'person'.* in 'id'"):
            session.join("patients")


def test_opening_and_previewing_a_join_reads_no_row_of_people(clinic, monkeypatch):
    sites = csv("site,region,size,more", [(*site, 0) for site in SITES])
    (clinic / "sites.csv").write_text(sites)
    read: list[str] = []
    place = "tacit.tables.engines.duckdb.source.cleaned"
    cleaned = pkgutil.resolve_name(place)

    def noted(lines: Any, form: Any, fields: int, *rest: Any) -> Any:
        read.append({3: "three", 4: "four"}[fields])
        return cleaned(lines, form, fields, *rest)

    monkeypatch.setattr(place, noted)
    with tc.open(clinic / "visits.toml") as session:
        question = session.join("sites").join("patients").agg(n=tc.count())
        question.preview(epsilon=1)
        assert read == ["four"]  # the public one
        question.release(epsilon=1)
        assert read == ["four", "three", "three"]


def test_files_of_three_kinds_are_joined(clinic):
    duckdb.connect().execute(
        f"copy (select * from read_csv('{clinic}/patients.csv')) to '{clinic}/patients.parquet'"
    )
    with duckdb.connect(str(clinic / "all.duckdb")) as made:
        made.execute(f"create table visits as select * from read_csv('{clinic}/visits.csv')")
        made.execute(f"create table patients as select * from read_csv('{clinic}/patients.csv')")
    found = []
    with tc.open(clinic / "visits.toml") as session:
        asked = {"n": tc.count(), "age": tc.sum("age", 0, 120), "size": tc.sum("size", 0, 5)}
        found.append(exact(session.join("patients").join("sites").agg(**asked)))
    text = DECLARED.replace('"patients.csv"', '"patients.parquet"')
    (clinic / "visits.toml").write_text(text.replace('"visits"', '"other"', 1))
    with tc.open(clinic / "visits.toml", ledger=tc.in_memory) as session:
        found.append(exact(session.join("patients").join("sites").agg(**asked)))
    for name in ("visits", "patients"):
        text = text.replace(f'path = "{name}.csv"', f'path = "all.duckdb"\ntable = "{name}"')
        text = text.replace(f'path = "{name}.parquet"', f'path = "all.duckdb"\ntable = "{name}"')
    (clinic / "visits.toml").write_text(text)
    with tc.open(clinic / "visits.toml", ledger=tc.in_memory) as session:
        found.append(exact(session.join("patients").join("sites").agg(**asked)))
    for each in found:
        for name in asked:
            assert each[name] == pytest.approx(found[0][name], abs=0.01)


def test_people_are_made_of_joined_rows(session):
    joined = session.join("patients").join("sites")
    people = joined.per_person(n=tc.count(), size=tc.sum("size"), age=tc.max("age"))
    answer = people.agg(n=tc.sum("n", 0, 9), age=tc.sum("age")).release(epsilon=1_000_000)
    assert answer.value("n") == pytest.approx(1 + 6, abs=0.01)
    assert answer.value("age") == pytest.approx(20 + 36, abs=0.01)
    body = answer.certificate.body
    assert [join["table"] for join in body["question"]["query"]["inner"]["joins"]] == [
        "patients",
        "sites",
    ]
    assert "joined with sites" in question_words(body["question"])
    report = answer.certificate.verify(session.ledger)
    assert report, report.failures
    with pytest.raises(UsageError, match="join first"):
        session.per_person(n=tc.count()).join("patients")


def test_a_count_over_time_of_a_left_join_with_people_is_refused_before_the_charge(session):
    asked = {"start": 0, "every": 10, "periods": 4, "epsilon": 100_000}
    with pytest.raises(UsageError, match="'patients' with how='inner'"):
        session.join("patients", how="left").count_over_time("cost", **asked)
    assert session.spent.is_nothing
    for rows in (session.join("patients"), session.join("sites", how="left")):
        assert len(rows.count_over_time("cost", **asked).update(now=40)) == 4


def test_a_certificate_of_such_a_count_does_not_verify(session, monkeypatch):
    """As one from before it was refused."""
    joined = session.join("patients", how="left")
    with monkeypatch.context() as before:
        for place in (periods, question):
            before.setattr(place, "require_rows", lambda query: None)
        counter = joined.count_over_time("cost", start=0, every=10, periods=4, epsilon=100_000)
        certificate = counter.update(now=40).certificate
        assert certificate.verify(session.ledger)
    report = certificate.verify(session.ledger)
    assert not report
    assert any("how='inner'" in failure for failure in report.failures), report.failures


# Statements on a table in memory are planned before the charge, once, and run after it.


PEOPLE = pyarrow.table({"site": [0, 1, 1], "age": [31, 45, 52], "who": [1, 1, 2]})


@pytest.fixture
def log(monkeypatch):
    planned_statements.clear()
    asked = []
    run, charge = DuckEngine._run, tc.accounting.Ledger.charge

    def logged(engine, sql, *rest, **how):
        asked.append(sql)
        return run(engine, sql, *rest, **how)

    def charged(ledger, *rest):
        asked.append("charge")
        return charge(ledger, *rest)

    monkeypatch.setattr(DuckEngine, "_run", logged)
    monkeypatch.setattr(tc.accounting.Ledger, "charge", charged)
    return asked


@pytest.mark.parametrize(
    "asked",
    [tc.count(), tc.mean("age", 0, 99), tc.median("age", 0, 99), tc.count_people()],
    ids=str,
)
@pytest.mark.parametrize("keys", [None, [0, 1], [1, 0]], ids=str)
def test_each_statement_is_planned_once_and_run_after_the_charge(log, asked, keys):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(10**6))
    question = session if keys is None else session.group_by("site", keys=keys)
    log.clear()
    answer = question.agg(x=asked).release(epsilon=10**5)
    place = log.index("charge")
    before, after = log[:place], [sql for sql in log[place + 1 :] if not sql.startswith("set ")]
    assert [sql.partition(" as ")[2] for sql in before] == after
    assert all(sql.startswith("prepare ") for sql in before)
    if asked.kind == "count":
        assert [answer.value("x", *key) for key in answer.keys] == (
            [3] if keys is None else [1, 2] if keys[0] == 0 else [2, 1]
        )
    log.clear()
    again = question.agg(x=asked).release(epsilon=10**5 + 1)
    assert [sql for sql in log if not sql.startswith("set ")] == ["charge", *after]
    if asked.kind == "count":
        assert again.to_dict()["x"] == answer.to_dict()["x"]


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "text"])
def test_a_kept_plan_reads_the_rows_anew(log, kind):
    table = PEOPLE if kind != "text" else PEOPLE.append_column("name", [["a", "b", "c"]])
    if kind in ("pandas", "polars"):
        pytest.importorskip(kind)
        table = table.to_pandas() if kind == "pandas" else __import__("polars").from_arrow(table)
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(10**6))
    question = session.group_by("site", keys=[1]).agg(n=tc.count(), s=tc.sum("age", 0, 99))
    for turn in range(3):
        answer = question.release(epsilon=10**5 + turn)
        assert (answer.value("n", 1), answer.value("s", 1)) == (2, 97)
    assert sum(sql.startswith("prepare ") for sql in log) <= 2


def test_a_plan_does_not_outlive_its_table():
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(10**6))
    question = session.agg(n=tc.count())
    question.release(epsilon=1)
    session.source.close()
    with pytest.raises(DataSourceError, match="closed"):
        question.release(epsilon=2)
    assert session.spent == tc.epsilon(1)


def test_people_and_rows_that_must_be_brought_in_are_tried_on_no_rows(log):
    by_person = tc.Session(PEOPLE, tc.unit("who", rows=2), budget=tc.epsilon(1))
    text = pyarrow.table({"name": ["a", "b"]})  # looked through when it is read first
    for session in (by_person, tc.Session(text, unit=tc.one_row_each, budget=tc.epsilon(1))):
        log.clear()
        session.agg(n=tc.count()).release(epsilon=1)
        before = log[: log.index("charge")]
        assert before
        assert not any(sql.startswith("prepare") for sql in before)


def test_what_was_tried_on_no_rows_is_tried_again_only_where_the_rows_may_change(log, tmp_path):
    csv, parquet = tmp_path / "t.csv", tmp_path / "u.parquet"
    pyarrow.csv.write_csv(PEOPLE, csv)
    pyarrow.parquet.write_table(PEOPLE, parquet)
    for source, again in ((PEOPLE, False), (csv, False), (parquet, True)):
        session = tc.Session(source, tc.unit("who", rows=2), budget=tc.epsilon(10**6))
        for tag in ("a", "b"):
            log.clear()
            session.agg(n=tc.count()).release(epsilon=1, tag=tag)
            before = log[: log.index("charge")]
            assert bool(before) is (tag == "a" or again)


def test_a_closed_table_is_refused_before_the_charge(log):
    session = tc.Session(PEOPLE, tc.unit("who", rows=2), budget=tc.epsilon(10))
    question = session.agg(n=tc.count())
    question.release(epsilon=1)
    session.close()
    log.clear()
    with pytest.raises(DataSourceError, match="nothing was spent"):
        question.release(epsilon=1, tag="b")
    assert "charge" not in log


def test_another_session_plans_only_what_was_not_planned_for_such_a_table(log):
    def ask(table, question):
        session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(10**6))
        log.clear()
        answer = session.agg(x=question).release(epsilon=10**5)
        return answer.value("x"), sum(sql.startswith("prepare ") for sql in log)

    older = PEOPLE.set_column(1, "age", pyarrow.array([41, 55, 62]))
    assert ask(PEOPLE, tc.sum("age", 0, 99)) == (128, 1)
    assert ask(older, tc.sum("age", 0, 99)) == (158, 0)
    assert ask(older, tc.sum("age", 0, 98)) == (158, 1)  # another statement
    short = PEOPLE.set_column(1, "age", pyarrow.array([41, 55, 62], pyarrow.int16()))
    assert ask(short, tc.sum("age", 0, 99)) == (158, 1)  # another type
    assert ask(PEOPLE.to_pandas(), tc.sum("age", 0, 99)) == (128, 1)  # another kind of table


def test_who_shares_a_table_with_others_does_not_see_by_the_time_what_they_asked(log):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(10**6))
    for _ in range(2):
        tried = SharedTable(session._table).validated
        log.clear()
        for _ in range(2):
            plan = session.agg(n=tc.count())._priced(epsilon=1).requested_plan()
            tried.check(session.source, plan)
        assert sum(sql.startswith("prepare ") for sql in log) == 1


def test_every_plan_is_that_of_its_own_query():
    with open_source(PEOPLE) as source:
        plan = source.engine.planner()
        queries = {f"select age + {i} from {source.relation}": i for i in range(40)}
        for sql in queries:
            plan(sql)
        for _ in range(2):
            for sql, i in queries.items():
                assert source.engine.rows(sql) == [(31 + i,), (45 + i,), (52 + i,)]
        with pytest.raises(DataSourceError):
            plan("select nothing")


# A join as it is asked for: by which columns, and what it adds.


def never(beside):
    raise AssertionError("a join is asked without opening a table")


ASKED_JOIN_SITES = OtherTable(
    "sites", ("site", "part"), True, never, {"size": (0, 5)}, {"region": ("n",)}
)
ASKED_JOIN_PATIENTS = OtherTable("patients", ("id",), False, never)
NAMELESS = OtherTable("nameless", (), True, never)
OTHERS = {other.name: other for other in (ASKED_JOIN_SITES, ASKED_JOIN_PATIENTS, NAMELESS)}
SCHEMA = Schema([Column(n, "integer", "BIGINT") for n in ("person", "site", "part", "size")])
ASKED = Query(SCHEMA, tc.unit("person", rows=2), table="visits", tables=(("visits", "person"),))


def test_a_public_table_is_joined_by_its_key():
    other, how, pairs = requested_join(OTHERS, ASKED, "sites", None, None)
    assert (other, how, pairs) == (ASKED_JOIN_SITES, "left", (("site", "site"), ("part", "part")))
    turned = requested_join(OTHERS, ASKED, "sites", {"person": "part", "site": "site"}, "inner")
    assert turned[1:] == ("inner", (("site", "site"), ("person", "part")))


def test_people_are_joined_by_the_person():
    for on in (None, "person", {"person": "id"}):
        assert requested_join(OTHERS, ASKED, "patients", on, None)[1:] == (
            "inner",
            (("person", "id"),),
        )


ASKED_JOIN_REFUSED = [
    ("patient", None, None, "did you mean 'patients'"),
    ("visits", None, None, "joined with itself"),
    ("sites", "site", None, "as many columns"),
    ("sites", {"site": "size", "part": "part"}, None, "joined by its key"),
    ("sites", None, "outer", "how is"),
    ("patients", "site", None, "alone"),
    ("nameless", None, None, "has no key"),
]


@pytest.mark.parametrize(("name", "on", "how", "told"), ASKED_JOIN_REFUSED)
def test_what_is_joined_otherwise_is_refused(name, on, how, told):
    with pytest.raises(UsageError, match=told):
        requested_join(OTHERS, ASKED, name, on, how)


def test_people_who_are_rows_are_joined_with_nobody():
    rows = Query(SCHEMA, tc.one_row_each, table="visits")
    with pytest.raises(UsageError, match="joined by the person"):
        requested_join(OTHERS, rows, "patients", None, None)


def test_a_table_of_no_data_set_is_joined_with_none():
    with pytest.raises(UsageError, match="only tables of a data set"):
        requested_join({}, Query(SCHEMA, tc.one_row_each), "sites", None, None)


def test_what_is_declared_of_the_columns_comes_with_them():
    columns = joined_columns(SCHEMA, "sites", {"size": "integer", "region": "text"})
    assert columns == (("sites.size", "size", "integer"), ("region", "region", "text"))
    join = Join("sites", "left", (("site", "site"),), columns, "ab")
    query, said = beside(ASKED, Declared(), join, ASKED_JOIN_SITES)
    assert query.joins == (join,)
    assert (said.bounds, said.keys) == ({"sites.size": (0, 5)}, {"region": ("n",)})


def test_a_computed_column_of_that_name_is_refused():
    query = Query(SCHEMA, tc.one_row_each, derived=(("region", col("site") + 1),))
    columns = joined_columns(SCHEMA, "sites", {"region": "text"})
    with pytest.raises(UsageError, match="join before with_columns"):
        beside(query, Declared(), Join("sites", "left", (), columns, "ab"), ASKED_JOIN_SITES)
