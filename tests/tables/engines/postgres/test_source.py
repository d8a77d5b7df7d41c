"""Opening tables of PostgreSQL: rights, types, connections, and every way to be wrong."""

from __future__ import annotations

import traceback
from types import SimpleNamespace

import pytest

import tacit as tc
from support.servers.left_out import if_installed, leave_out
from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines.postgres import check_server, in_postgres
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, People, Rows

psycopg = if_installed("psycopg")

GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), GRID)
SECRET = "Zaphod"


def told(error):
    return "".join(traceback.format_exception(error, chain=True)) + repr(error.__context__)


@pytest.fixture(name="visits")
def _visits(postgres):
    """A table that the role ``reader`` may read, and nothing else, in a schema with an odd name."""
    reader = postgres.server.role("reader")
    postgres.run(
        "revoke all on schema public from public",
        f"revoke temporary on database {postgres.name} from public",
        'create schema "My ""Clinic"""',
        'create table "My ""Clinic""".visits (person bigint, age double precision, sex text)',
        "insert into \"My \"\"Clinic\"\"\".visits values (1, 31, 'f'), (1, 'NaN', 'm'), "
        "(2, null, null), (null, 45, 'f')",
        f'grant usage on schema "My ""Clinic""" to {reader}',
        f'grant select on "My ""Clinic""".visits to {reader}',
    )
    return postgres


def opened(database, table='My "Clinic".visits', **options):
    return open_source(database.dsn("reader"), table, **options)


def test_a_role_that_may_read_one_table_is_enough_and_nothing_is_left(visits):
    unit = tc.unit("person", rows=2)
    names = "select count(*) from pg_class"
    before = visits.run(names)
    with tc.Session(
        visits.dsn("reader"), table='My "Clinic".visits', unit=unit, budget=tc.epsilon(10**6)
    ) as session:
        assert session.source.name == f'{visits.name}.My "Clinic".visits'
        keys = ["f", "m", 'quo"te', *map(str, range(300))]
        asked = session.group_by("sex", keys=keys).agg(
            n=tc.count(), people=tc.count_people(), age=tc.median("age", 0, 100)
        )
        answer = asked.release(epsilon=10**5)
        assert answer.column("n")["value"][:3] == [1, 1, 0]
        with pytest.raises(DataSourceError, match=r"could not read|no right"):
            session.source.engine.rows("create temporary table t (a int)")
    assert visits.run(names) == before
    assert visits.run("select count(*) from pg_prepared_statements") == [(0,)]


def test_no_password_is_shown(visits):
    password = visits.server.password
    with tc.Session(
        visits.dsn("reader"),
        unit=tc.one_row_each,
        table='My "Clinic".visits',
        budget=tc.epsilon(10),
    ) as session:
        answer = session.agg(n=tc.count()).release(epsilon=1)
        shown = [repr(session), repr(session.source), repr(session.source.engine), session.dataset]
        shown += [repr(session.source.engine._link), repr(session.history()), repr(answer)]
        shown.append(str(answer.certificate.to_json()))
    assert password not in "".join(shown)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "name the table"),
        ("visit", "there is no table 'visit'.*known"),
        ('My "Clinic".visit', "did you mean 'My \"Clinic\".visits'"),
        ("hidden.salaries", "no right to read hidden.salaries.*GRANT USAGE.*GRANT SELECT"),
    ],
)
def test_a_table_that_is_not_there_or_not_for_us(visits, table, message):
    visits.run("create schema hidden", "create table hidden.salaries (person bigint)")
    with pytest.raises(UsageError, match=message) as caught:
        opened(visits, table)
    assert caught.value.__context__ is None
    if table is not None:
        assert "salaries'" not in str(caught.value)  # no table is named that may not be read


def test_a_table_in_public_needs_no_schema_and_a_view_is_a_table(postgres):
    role = postgres.server.role("reader")
    postgres.run(
        "create table t (a int) partition by range (a)",
        "create table part1 partition of t for values from (0) to (10)",
        "insert into t values (1), (9)",
        "create view v as select a * 2 as a from t",
        "create materialized view m as select a from v",
        f"grant select on t, v, m to {role}",
    )
    for table, most in (("t", 9), ("v", 18), ("m", 18), ("public.t", 9)):
        with opened(postgres, table) as source:
            request = Moments(col("a"), GRID)
            found = Query(source, OneRowEach()).run([request]).of(request)[0]
            assert found[2] == GRID.offset(most) + GRID.offset(most // 9)
            assert source.name == f"{postgres.name}.public.{table.removeprefix('public.')}"


def test_columns_that_may_not_be_read_are_told_and_stay_part_of_the_identity(visits):
    reader, other = visits.server.role("reader"), visits.server.role("other")
    table = '"My ""Clinic""".visits'
    visits.run(
        f"revoke select on {table} from {reader}",
        f"grant select (person, sex) on {table} to {reader}",
        f'grant usage on schema "My ""Clinic""" to {other}',
        f"grant select on {table} to {other}",
    )
    with (
        opened(visits) as source,
        open_source(visits.dsn("other"), 'My "Clinic".visits') as whole,
    ):
        assert source.identity == whole.identity
        assert Query(source, PersonUnit("person", rows=1)).run([People()]).of(People()) == [2]
        with pytest.raises(UsageError, match=r"'age' may not be read by this user.*GRANT"):
            Query(source, OneRowEach()).check(AGE)
        with pytest.raises(UsageError, match="'age' may not be read"):
            Query(source, PersonUnit("age", rows=1))
        by_age = tc.Session(source, unit=tc.one_row_each, budget=tc.epsilon(1)).group_by(
            "age", keys=[1]
        )
        with pytest.raises(UsageError, match="'age' may not be read"):
            by_age.agg(n=tc.count()).preview(epsilon=1)


TYPES = {
    "smallint": ("integer", "-3"),
    "numeric(20, 0)": ("integer", "12345678901234567890"),
    "numeric(4, 2)": ("decimal", "'NaN'"),
    "numeric": ("decimal", "'1e-400'"),
    "real": ("float", "'-Infinity'"),
    "char(5)": ("text", "'ab'"),
    "varchar(9)": ("text", "'ab'"),
    "name": ("text", "'ab'"),
    "uuid": ("text", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    "mood": ("text", "'sad'"),
    "positive": ("integer", "7"),
    "amount": ("decimal", "7.25"),
    "timestamp": ("date", "'infinity'"),
    "timestamptz": ("other", "'2020-01-01'"),
    "time": ("other", "'12:00'"),
    "money": ("other", "12.5"),
    "interval": ("other", "'1 day'"),
    "int[]": ("other", "'{1}'"),
    "jsonb": ("other", "'{}'"),
    "bytea": ("other", "'a'"),
    "pair": ("other", "null"),
    "bit(3)": ("other", "'101'"),
}


def test_every_type_has_a_kind_and_what_has_none_is_refused(postgres):
    columns = ", ".join(f'"{t}" {t}' for t in TYPES)
    postgres.run(
        "create type mood as enum ('sad', 'glad')",
        "create domain digits as integer check (value > 0)",
        "create domain positive as digits",
        "create domain amount as numeric(9, 2)",
        "create type pair as (a int, b int)",
        f'create table t ({columns}, double integer generated always as ("smallint" * 2) stored)',
        f"insert into t values ({', '.join(v for _, v in TYPES.values())})",
    )
    with open_source(postgres.dsn(), "t") as source:
        assert source.columns == {**{t: k for t, (k, _) in TYPES.items()}, "double": "integer"}
        for name, kind in source.columns.items():
            if kind == "other":
                with pytest.raises(UsageError, match="has no place in a private statistic"):
                    Query(source, OneRowEach(), by={"g": col(name)})
            elif kind in ("integer", "decimal", "float"):
                request = Moments(col(name), GRID)
                assert Query(source, OneRowEach()).run([request]).of(request)[0][:2].sum() == 1
            elif kind == "text":
                shown = TYPES[name][1].strip("'")
                query = Query(source, OneRowEach(), by={"g": col(name)}, keys=[shown, f"{shown} "])
                assert query.run([Rows()]).of(Rows()).tolist() == [1, 0]
                assert Query(source, OneRowEach(), by={"g": col(name)}).people_by_key() == {
                    (shown,): 1
                }
        years = Query(source, OneRowEach(), where=col("timestamp").year() > 0)
        assert years.run([Rows()]).of(Rows()) == [0]


def test_text_is_told_apart_by_its_characters_people_too(postgres):
    try:
        postgres.run(
            "create collation loose (provider = icu, locale = 'und-u-ks-level2', "
            "deterministic = false)"
        )
    except psycopg.errors.FeatureNotSupported:
        leave_out("a PostgreSQL with ICU", "apt-get install postgresql")
    postgres.run(
        "create table t (g text collate loose, p int)",
        "insert into t values ('a', 1), ('A', 2), ('A', 3)",
    )
    with open_source(postgres.dsn(), "t") as source:
        query = Query(source, OneRowEach(), by={"g": col("g")}, keys=["a", "A", None])
        assert query.run([Rows()]).of(Rows()).tolist() == [1, 2, 0]
        assert Query(source, OneRowEach(), by={"g": col("g")}).people_by_key() == {
            ("a",): 1,
            ("A",): 2,
        }
        equal = Query(source, OneRowEach(), where=(col("g") == "a") | col("g").is_in(["b"]))
        assert equal.run([Rows()]).of(Rows()) == [1]
        people = Query(source, PersonUnit("g", rows=1)).run([People(), Rows()])
        assert people.of(People()) == [2]  # of one row, and of two that weigh as one
        assert people.of(Rows()) == [2 * PersonUnit.one]


def test_row_security_and_hostile_schemas_and_settings_change_nothing(postgres):
    role = postgres.server.role("reader")
    postgres.run(
        "create table t (a double precision, g text, d date, mine boolean)",
        "insert into t values (1, 'NULL', '2020-02-03', true), (2, 'b\\', '2020-02-03', false)",
        "alter table t enable row level security",
        f"create policy p on t for select to {role} using (mine)",
        f"grant select on t to {role}",
        "create function public.md5(text) returns text language sql as 'select (1/0)::text'",
        "create function public.div(numeric, numeric) returns numeric language sql as "
        "'select (1/0)::numeric'",
        f"alter role {role} set search_path = public, pg_catalog",
        f"alter role {role} set standard_conforming_strings = off",
        f"alter role {role} set array_nulls = off",
        f"alter role {role} set datestyle = 'German, DMY'",
        f"alter role {role} set extra_float_digits = -15",
        f"alter role {role} set transform_null_equals = on",
        f"alter role {role} set default_transaction_isolation = 'serializable'",
    )
    try:
        with opened(postgres, "t") as source:
            by = {"g": col("g"), "d": col("d")}
            keys = [("NULL", "2020-02-03"), ("b\\", "2020-02-03"), (None, "2020-03-02")]
            more = [(f"k{i}", "2020-01-01") for i in range(300)]
            for listed in (keys, keys + more):
                query = Query(source, PersonUnit("a", rows=1), by=by, keys=listed)
                for request in (Rows(), People()):
                    counts = query.run([request]).of(request)[:3] // (
                        1 if isinstance(request, People) else query.unit.one
                    )
                    assert counts.tolist() == [1, 0, 0]
    finally:
        postgres.run(f"alter role {role} reset all")


def test_an_open_connection_is_left_as_it_was_found(visits):
    shown = (
        "select string_agg(name || setting, ';' order by name), pg_backend_pid() from pg_settings"
    )
    for autocommit in (True, False):
        with psycopg.connect(
            visits.dsn("reader"), autocommit=autocommit, row_factory=psycopg.rows.dict_row
        ) as connection:
            connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
            connection.execute("set datestyle = 'German'; set client_encoding = 'latin1'")
            connection.commit()
            before = connection.execute(shown).fetchall()
            connection.rollback()
            source = open_source(connection, 'My "Clinic".visits')
            assert Query(source, OneRowEach()).run([AGE]).of(AGE)[0][:2].tolist() == [2, 2]
            query = Query(source, PersonUnit("person", rows=1), by={"s": col("sex")}, keys=["é"])
            for _ in range(12):  # often enough for psycopg to prepare a query
                query.run([Rows()])
            assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            source.close()
            assert connection.execute(shown).fetchall() == before
            assert connection.isolation_level == psycopg.IsolationLevel.SERIALIZABLE
            assert connection.execute("select 1 from pg_prepared_statements").fetchall() == []


def test_a_connection_in_the_midst_of_something_is_refused(visits):
    with psycopg.connect(visits.dsn("reader")) as connection:
        source = open_source(connection, 'My "Clinic".visits')
        connection.execute("select 1")
        with pytest.raises(DataSourceError, match="in the middle of a transaction"):
            Query(source, OneRowEach()).run([Rows()])
        connection.rollback()
        assert Query(source, OneRowEach()).run([Rows()]).of(Rows()) == [4]
        connection.close()
        with pytest.raises(DataSourceError, match="was closed; keep it open"):
            Query(source, OneRowEach()).run([Rows()])
    with pytest.raises(UsageError, match="cannot be read from: give psycopg"):
        open_source(psycopg.AsyncConnection(connection.pgconn), "visits")


def test_all_queries_of_a_question_see_one_state_and_the_next_sees_another(visits):
    with opened(visits) as source:
        query = Query(source, OneRowEach())
        with source.engine.reading():
            assert query.run([Rows()]).of(Rows()) == [4]
            visits.run('insert into "My ""Clinic""".visits values (9, 50, null)')
            assert query.run([Rows()]).of(Rows()) == [4]
        assert query.run([Rows()]).of(Rows()) == [5]


def url(database, **parts):
    given = {"user": "reader", "password": database.server.password, "host": "127.0.0.1"}
    given = {**given, "port": database.server.port, "db": database.name, "options": "", **parts}
    return "postgresql://{user}:{password}@{host}:{port}/{db}{options}".format(**given)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"password": f"{SECRET}%zz"}, "the address of the database cannot be read"),
        ({"password": SECRET}, "does not know this user with this password"),
        ({"user": "nobody"}, "does not know this user"),
        ({"db": "nowhere"}, "there is no such database"),
        ({"port": 1}, "nothing listens"),
        ({"host": "no.such.host.invalid"}, "host"),
        ({"options": "?sslmode=require"}, "no TLS"),
        ({"options": "?sslmode=nonsense"}, "cannot be reached"),
        ({"options": f"?nonsense={SECRET}"}, "cannot be read"),
        ({"options": "?sslmode=verify-full&sslrootcert=/nowhere.pem"}, "TLS|reached"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else None,
)
def test_a_server_that_cannot_be_reached(visits, parts, message):
    with pytest.raises(UsageError, match=message) as caught:
        open_source(url(visits, **parts), "visits")
    shown = told(caught.value)
    assert SECRET not in shown
    assert visits.server.password not in shown
    assert caught.value.__context__ is None


def test_a_missing_password_is_told_as_such(visits, monkeypatch):
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    with pytest.raises(DataSourceError, match="asks for a password; set PGPASSWORD"):
        open_source(url(visits).replace(f":{visits.server.password}@", "@"), "visits")


def test_options_of_the_url_are_handed_on_and_wrong_ones_refused(visits):
    wanted = "?application_name=mine&options=-c%20statement_timeout%3D12345"
    with open_source(url(visits, options=wanted), 'My "Clinic".visits') as source:
        asked = "select current_setting('application_name'), current_setting('statement_timeout')"
        assert source.engine.rows(asked) == [("mine", "12345ms")]
    with opened(visits, timeout=2.5, memory_limit="7 mb", threads=1) as source:
        asked = "'statement_timeout'), ('work_mem'), ('max_parallel_workers_per_gather'"
        found = source.engine.rows(f"select current_setting(n) from (values ({asked})) as t(n)")
        assert found == [("2500ms",), ("7MB",), ("0",)]
    wrong = ({"timeout": 0}, {"timeout": "1"}, {"memory_limit": "much"}, {"threads": 0})
    sizes = tuple({"memory_limit": size} for size in ("-5", "10%", "1kB", "63kB", "2TB"))
    for options in (*wrong, *sizes, {"types": {"age": "float"}}):
        with pytest.raises(UsageError, match=next(iter(options))):
            opened(visits, **options)


def test_a_server_that_is_too_old_or_not_unicode_is_refused(visits):
    for version, encoding, message in ((110022, "UTF8", "PostgreSQL 11, and 12"),
                                       (150000, "SQL_ASCII", "SQL_ASCII")):  # fmt: skip
        info = SimpleNamespace(
            server_version=version, parameter_status={"server_encoding": encoding}.get
        )
        with pytest.raises(DataSourceError, match=message):
            check_server(SimpleNamespace(info=info))
    name = f"{visits.name}_latin"
    visits.run(f"create database {name} encoding 'LATIN1' template template0")
    try:
        with pytest.raises(DataSourceError, match="ENCODING 'UTF8'"):
            open_source(url(visits, db=name), "visits")
    finally:
        visits.run(f"drop database {name}")


def test_what_is_no_postgresql_is_not_taken_for_it():
    assert not in_postgres("mysql://host/db")
    assert not in_postgres(3)
    with pytest.raises(UsageError, match="timeout= is for"):
        open_source("people.csv", timeout=3)
