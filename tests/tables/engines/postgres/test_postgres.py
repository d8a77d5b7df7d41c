"""Opening tables of PostgreSQL: rights, types, connections, and every way to be wrong."""

from __future__ import annotations

import datetime
import math
import threading
import time
import traceback
from decimal import Decimal
from types import SimpleNamespace
from urllib.parse import quote

import duckdb
import numpy as np
import pandas as pd
import pytest

import tacit as tc
from support.servers.left_out import if_installed, leave_out
from support.servers.postgres_tls import HOST, Authority, missing, tls_server
from support.tables import tables_reference as reference
from tacit.accounting import open_ledger
from tacit.errors import DataSourceError, LedgerError, UsageError
from tacit.expressions.expression import col, literal, when
from tacit.expressions.grid import Grid
from tacit.expressions.timeline import Timeline
from tacit.tables.engines.base import EngineMemoryError
from tacit.tables.engines.postgres import check_server, failure_of, in_postgres
from tacit.tables.open_source import open_source
from tacit.tables.open_source import open_source as tls_open_source
from tacit.tables.plan.query import Query
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Cells, Moments, People, Rows, Total
from tacit.tables.streaming.periods import CountsOverTime, counts_of_periods

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
            found = IntegerQuery(source, OneRowEach()).run([request]).of(request)[0]
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
        assert IntegerQuery(source, PersonUnit("person", rows=1)).run([People()]).of(People()) == [
            2
        ]
        with pytest.raises(UsageError, match=r"'age' may not be read by this user.*GRANT"):
            IntegerQuery(source, OneRowEach()).check(AGE)
        with pytest.raises(UsageError, match="'age' may not be read"):
            IntegerQuery(source, PersonUnit("age", rows=1))
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
    "timestamptz": ("date", "'2020-01-01'"),
    "timetz": ("other", "'12:00+01'"),
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
                    IntegerQuery(source, OneRowEach(), by={"g": col(name)})
            elif kind in ("integer", "decimal", "float"):
                request = Moments(col(name), GRID)
                assert (
                    IntegerQuery(source, OneRowEach()).run([request]).of(request)[0][:2].sum() == 1
                )
            elif kind == "text":
                shown = TYPES[name][1].strip("'")
                query = IntegerQuery(
                    source, OneRowEach(), by={"g": col(name)}, keys=[shown, f"{shown} "]
                )
                assert query.run([Rows()]).of(Rows()).tolist() == [1, 0]
                assert IntegerQuery(source, OneRowEach(), by={"g": col(name)}).people_by_key() == {
                    (shown,): 1
                }
        years = IntegerQuery(source, OneRowEach(), where=col("timestamp").dt.year() > 0)
        assert years.run([Rows()]).of(Rows()) == [0]


def test_a_row_of_nulls_is_not_missing(postgres):
    postgres.run(
        "create type pair as (a int, b int)",
        "create domain couple as pair",
        "create table t (x pair, y couple, z int[], j json)",
        "insert into t values (row(null, null), row(null, null), '{null}', 'null'), "
        "(row(1, null), row(1, 2), '{}', '{}'), (null, null, null, null)",
    )
    with open_source(postgres.dsn(), "t") as source:
        for name in source.columns:
            query = IntegerQuery(source, OneRowEach(), where=col(name).is_null())
            assert query.run([Rows()]).of(Rows()) == [1], name


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
        query = IntegerQuery(source, OneRowEach(), by={"g": col("g")}, keys=["a", "A", None])
        assert query.run([Rows()]).of(Rows()).tolist() == [1, 2, 0]
        assert IntegerQuery(source, OneRowEach(), by={"g": col("g")}).people_by_key() == {
            ("a",): 1,
            ("A",): 2,
        }
        equal = IntegerQuery(source, OneRowEach(), where=(col("g") == "a") | col("g").is_in(["b"]))
        assert equal.run([Rows()]).of(Rows()) == [1]
        people = IntegerQuery(source, PersonUnit("g", rows=1)).run([People(), Rows()])
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
                query = IntegerQuery(source, PersonUnit("a", rows=1), by=by, keys=listed)
                for request in (Rows(), People()):
                    counts = query.run([request]).of(request)[:3] // (
                        1 if isinstance(request, People) else query.unit.one
                    )
                    assert counts.tolist() == [1, 0, 0]
    finally:
        postgres.run(f"alter role {role} reset all")


MOMENTS = [
    *("2023-12-31 23:30:00-01", "2024-01-01 00:30:00+00", "2024-01-01 01:30:00+05:30", "epoch"),
    *("infinity", "-infinity", "4714-11-24 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00"),
    "2024-06-01 12:00:00.25+00",
]


def test_times_with_a_zone_are_read_in_utc_whatever_is_set(postgres):
    """Filters, parts, groups, people and counts over time, as DuckDB reads them."""
    role = postgres.server.role("reader")
    rows = ", ".join(f"('{moment}')" for moment in MOMENTS)
    postgres.run(
        "create domain seen as timestamptz",
        "create table t (at timestamptz, own seen)",
        f"insert into t select v::timestamptz, v::timestamptz from (values {rows}) as t(v)",
        "insert into t values (null, null)",
        f"grant select on t to {role}",
        f"alter role {role} set timezone = 'America/New_York'",
        f"alter role {role} set datestyle = 'German, DMY'",
        f"alter role {role} set intervalstyle = 'sql_standard'",
    )
    at, first = col("at"), datetime.date(2024, 1, 1)
    tests = [
        *(at == first, at >= "2024-01-01", at < "1970-01-02", at.is_null(), at == col("own")),
        *(at.dt.year() == 2024, at.dt.day() == 31, at.dt.month().is_null()),
        at.dt.convert_time_zone("America/New_York").dt.hour() == 19,
    ]
    connection = duckdb.connect()
    connection.execute("set timezone = 'Asia/Tokyo'; create table t (\"at\" timestamptz)")
    for moment in MOMENTS[:6]:  # the others are beyond DuckDB's or, at the end, have a fraction
        connection.execute(f"insert into t values ('{moment}')")
    try:
        with opened(postgres, "t") as source, open_source(connection, "t") as like:
            assert source.columns == {"at": "date", "own": "date"}
            counts = [
                IntegerQuery(source, OneRowEach(), where=test).run([Rows()]).of(Rows())[0]
                for test in tests
            ]
            assert counts == [2, 4, 2, 3, 7, 3, 1, 5, 3]
            by = {"at": at}
            keys = [first, datetime.date(2023, 12, 31), datetime.date(1970, 1, 1), None]
            # of one moment there are two rows, and what is infinite is no one
            for unit, rows in ((OneRowEach(), [2, 1, 1, 5]), (PersonUnit("at", 1), [1, 1, 1, 2])):
                listed = IntegerQuery(source, unit, by=by, keys=keys).run([Rows()]).of(Rows())
                assert (listed // unit.one).tolist() == rows
            found = IntegerQuery(source, OneRowEach(), by=by).people_by_key()
            assert found[(first,)] == 2
            assert found[(None,)] == 5
            for table, total in ((source, 2), (like, 2)):
                line = Timeline.of(table.schema, "at", "2023-12-31T23:30:00", "1h", 2)
                assert line.reads == "seconds"
                step = CountsOverTime(**line.to_json(), branching=2, rows=1, norm="L1")
                query = Query(table.schema, tc.one_row_each)
                assert list(counts_of_periods(table, query, step, 0, 2)) == [0, total]
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
            assert IntegerQuery(source, OneRowEach()).run([AGE]).of(AGE)[0][:2].tolist() == [2, 2]
            query = IntegerQuery(
                source, PersonUnit("person", rows=1), by={"s": col("sex")}, keys=["é"]
            )
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
            IntegerQuery(source, OneRowEach()).run([Rows()])
        connection.rollback()
        assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()) == [4]
        connection.close()
        with pytest.raises(DataSourceError, match="was closed; keep it open"):
            IntegerQuery(source, OneRowEach()).run([Rows()])
    with pytest.raises(UsageError, match="cannot be read from: give psycopg"):
        open_source(psycopg.AsyncConnection(connection.pgconn), "visits")


def test_all_queries_of_a_question_see_one_state_and_the_next_sees_another(visits):
    with opened(visits) as source:
        query = IntegerQuery(source, OneRowEach())
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


# A PostgreSQL that speaks TLS alone: options are handed on, doubts are told.


UNIT = tc.unit("person", rows=2)


@pytest.fixture(scope="module", name="authority")
def _authority(tmp_path_factory):
    lacking = missing()
    if lacking is not None:
        leave_out(*lacking)
    return Authority(tmp_path_factory.mktemp("keys"), "ours")


@pytest.fixture(scope="module", name="stranger")
def _stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("keys"), "stranger")


@pytest.fixture(scope="module", name="server")
def _server(authority):
    with tls_server(authority) as server:
        server.role("certified")
        with server.connect() as connection:
            connection.execute(
                "create table visits (person bigint, age bigint);"
                "insert into visits select i / 2, i % 90 from generate_series(0, 99) as i;"
                "grant select on visits to certified"
            )
        yield server


@pytest.fixture(name="url")
def _url(server):
    """A function that writes the URL of the server, under the name of its certificate."""

    def url(user="curator", host=HOST, secret=True, **options):
        given = {"hostaddr": "127.0.0.1", **{k: quote(str(v), "") for k, v in options.items()}}
        text = server.dsn(user, **given).replace("@127.0.0.1", f"@{host}")
        return text if secret else text.replace(f":{server.password}@", "@")

    return url


def ask(source, ledger, **options):
    with tc.Session(source, unit=UNIT, ledger=ledger, budget=tc.epsilon(2), **options) as session:
        answer = session.agg(n=tc.count()).release(epsilon=1)
        assert session.remaining == tc.epsilon(1)
        return answer.to_dict()["n"]


@pytest.mark.full
@pytest.mark.xdist_group("postgres")
def test_table_and_ledger_are_asked_over_tls_with_the_host_checked(server, url, authority):
    full = {"sslmode": "verify-full", "sslrootcert": authority.root}
    ask(url(**full), url(**full, ledger="full"), table="visits")
    with tls_open_source(url(**full), "visits") as source:
        encrypted = "select ssl from pg_stat_ssl where pid = pg_backend_pid()"
        assert source.engine.rows(encrypted) == [(True,)]
    with open_ledger(url(**full, ledger="full")) as ledger:
        found = ledger._store._connection.execute(encrypted).fetchone()
        assert (found, ledger.spent) == ((True,), tc.epsilon(1))


@pytest.mark.full
@pytest.mark.xdist_group("postgres")
def test_an_open_connection_with_tls_serves(url, authority):
    import psycopg

    with psycopg.connect(url(sslmode="verify-ca", sslrootcert=authority.root)) as connection:
        ask(connection, url(sslmode="require", ledger="open"), table="visits")
        assert not connection.closed


@pytest.mark.full
@pytest.mark.xdist_group("postgres")
def test_a_question_is_cancelled_over_tls(server, url, authority):
    source = tls_open_source(url(sslmode="verify-full", sslrootcert=authority.root), "visits")
    running = "select count(*) from pg_stat_activity where query = 'select pg_sleep(60)'"

    def close():
        end = time.monotonic() + 30
        with server.connect() as connection:
            while not connection.execute(running).fetchone()[0] and time.monotonic() < end:
                time.sleep(0.02)
        source.close()

    thread = threading.Thread(target=close)
    thread.start()
    began = time.monotonic()
    with pytest.raises(DataSourceError, match="was closed while it was read"):
        source.engine.rows("select pg_sleep(60)")
    thread.join()
    assert time.monotonic() - began < 60  # that of the query itself


@pytest.mark.full
@pytest.mark.xdist_group("postgres")
def test_a_role_with_a_certificate_needs_no_password(url, authority):
    certificate, key = authority.sign("certified")
    given = {"user": "certified", "secret": False, "sslrootcert": authority.root}
    given |= {"sslmode": "verify-full", "sslcert": certificate, "sslkey": key}
    ask(url(**given), None, table="visits")
    with pytest.raises(LedgerError, match="cannot be created by the role 'certified'"):
        tc.Session(
            url(**given), table="visits", unit=UNIT, budget=tc.epsilon(1), ledger=url(**given)
        )


def wrong(case, url, ours, other):
    """The URL of a case, and what is told of it."""
    certificate, _ = ours.sign("certified")
    stranger, stranger_key = other.sign("certified")
    somebody, somebody_key = ours.sign("somebody")
    full, client = {"sslmode": "verify-full", "sslrootcert": ours.root}, {"user": "certified"}
    return {
        "authority": (
            url(sslmode="verify-full", sslrootcert=other.root),
            "not signed by an authority in the file of sslrootcert: ask its administrator",
        ),
        "authority, though only TLS was asked for": (
            url(sslmode="require", sslrootcert=other.root),
            "not signed by an authority in the file of sslrootcert",
        ),
        "host": (url(host="127.0.0.1", **full), "is for another host: write the name"),
        "no root": (
            url(sslmode="verify-full", sslrootcert="/no/where.pem"),
            "the file of sslrootcert is not there",
        ),
        "no TLS": (
            url(sslmode="disable"),
            "refuses connections without TLS: write sslmode=verify-full",
        ),
        "mode": (url(sslmode="sometimes"), "sslmode"),
        "no certificate": (url(**client, **full), "give the files with sslcert= and sslkey="),
        "a stranger's certificate": (
            url(**client, **full, sslcert=stranger, sslkey=stranger_key),
            "does not accept the certificate of sslcert",
        ),
        "somebody's certificate": (
            url(**client, **full, sslcert=somebody, sslkey=somebody_key),
            "is not for the user of the address",
        ),
        "no key": (
            url(**client, **full, sslcert=certificate, sslkey="/no/where.key"),
            "the file of sslkey is not there",
        ),
        "another's key": (
            url(**client, **full, sslcert=certificate, sslkey=stranger_key),
            "does not belong to sslcert",
        ),
        "password": (
            url(**full).replace("curator:", "curator:x"),
            "does not know this user with this password|password authentication failed",
        ),
    }[case]


@pytest.mark.full
@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize(
    "case",
    [
        "authority", "authority, though only TLS was asked for", "host", "no root", "no TLS",
        "mode", "no certificate", "a stranger's certificate", "somebody's certificate", "no key",
        "another's key", "password",
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_what_to_do(case, server, url, authority, stranger):
    address, told = wrong(case, url, authority, stranger)
    for open_it, kind in (
        (lambda: tls_open_source(address, "visits"), DataSourceError),
        (lambda: open_ledger(address), LedgerError),
    ):
        with pytest.raises(kind, match=told) as caught:
            open_it()
        assert "cannot be reached" in str(caught.value)
        assert server.password not in str(caught.value)


@pytest.mark.full
@pytest.mark.xdist_group("postgres")
def test_a_server_without_tls_is_not_asked_in_the_open(postgres):
    address = postgres.dsn(sslmode="require")
    for open_it, kind in (
        (lambda: tls_open_source(address, "visits"), DataSourceError),
        (lambda: open_ledger(address), LedgerError),
    ):
        with pytest.raises(kind, match="offers no TLS, which sslmode demands"):
            open_it()


# PostgreSQL on values that raise there where other engines go on, and on tables of many sizes.


HOSTILE = [0.0, -0.0, 5e-324, -5e-324, 2.0**-500, 2.0**-501, 1e-160, 0.5, 3.0, -7.25, 1e160]
HOSTILE += [2.0**500, -(2.0**501), 1.7976931348623157e308, math.inf, -math.inf, math.nan, None]


def open_table(postgres, columns, rows):
    postgres.run(f"create table data ({columns})")
    with postgres.connect() as connection, connection.cursor().copy("copy data from stdin") as copy:
        for row in rows:
            copy.write_row(row)
    return open_source(postgres.dsn(), "data")


@pytest.mark.parametrize("operation", ["+", "-", "*", "/"])
def test_no_product_or_quotient_overflows_or_vanishes(postgres, operation):
    rows = [{"x": x, "y": y} for x in HOSTILE for y in HOSTILE]
    build = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x / y,
    }[operation]
    x, y = col("x"), col("y")
    asked = [build(x, y), build(build(x, y), build(y, x)), build(x, 5e-324), build(1e-200, y)]
    asked += [when(x > 0).then(build(x, literal(0))).otherwise(build(1e300, literal(1e300)))]
    pairs = [(r["x"], r["y"]) for r in rows]
    with open_table(postgres, "x double precision, y double precision", pairs) as source:
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in asked)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    for row, values in zip(rows, found, strict=True):
        assert list(values) == [e.evaluate(row) for e in asked], row


WIDE = ["NaN", "Infinity", "-Infinity", "1e-16000", "1e131071", "-1e131071", "7.5", "-0.001"]
WIDE += ["99999999999999999999999999999999999999.5", "12345678901234567890.12345", "0", "1e38"]


def held(text):
    """A numeric as it is read: NaN is missing; within 10^38, to 38 digits after the point."""
    if text == "NaN":
        return None
    if text.endswith("Infinity"):
        return Decimal(f"{text[0] if text[0] == '-' else ''}1e38")
    return max(
        min(Decimal(text) if "e-" not in text else Decimal(0), Decimal("1e38")), -Decimal("1e38")
    )


@pytest.mark.parametrize(
    "grid",
    [
        Grid.for_bounds(-10, 10),
        Grid.for_bounds("-0.01", "0.01"),
        Grid.for_bounds(-(10**20), 10**20),
        Grid.for_bounds(0, 10**30, whole=True),
    ],
    ids=str,
)
def test_a_numeric_of_any_length_has_a_place_on_the_grid(postgres, grid):
    rows = [{"n": held(text)} for text in WIDE]
    query = {"where": None, "by": {}, "keys": [()], "unit": OneRowEach(), "salt": ""}
    asked = [Moments(col("n"), grid), Total(col("n"), grid), Cells(col("n"), grid)]
    with open_table(postgres, "n numeric", [(text,) for text in WIDE]) as source:
        exact = IntegerQuery(source, OneRowEach()).run(asked)
        for request in asked:
            expected = reference.answer(rows, query, request)
            assert reference.plain(exact.of(request)) == reference.plain(expected)
        for expression in ((col("n") * 2 - 1) / col("n"), col("n") > 7, col("n").is_null()):
            sql = expression.sql(source.schema, source.engine.dialect)
            found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
            assert [v for (v,) in found] == [expression.evaluate(row) for row in rows]


def test_numerics_as_keys_and_people(postgres):
    values = ["1.0", "1.00", "7", "NaN", "1e38", "-5", None]
    with open_table(postgres, "n numeric(60, 0), u numeric", [(v, v) for v in values]) as source:
        query = IntegerQuery(source, OneRowEach(), by={"n": col("n")})
        assert query.people_by_key() == {(1,): 2, (7,): 1, (-5,): 1, (None,): 3}
        keyed = IntegerQuery(source, OneRowEach(), by={"n": col("n")}, keys=[1, 7, None])
        assert keyed.run([Rows()]).of(Rows()).tolist() == [2, 1, 3]
        people = IntegerQuery(source, PersonUnit("u", rows=1))
        assert people.run([People()]).of(People()) == [4]  # two are one, and two are nobody


def test_a_product_with_a_coarse_grid_does_not_vanish(postgres):
    grid = Grid.for_bounds(-(10**15), 10**15)
    assert grid.exponent < 0
    values = [5e-324, -5e-324, 0.0, 2.0**18, -(2.0**18), 1e15, None, math.nan]
    query = {"where": None, "by": {}, "keys": [()], "unit": OneRowEach(), "salt": ""}
    with open_table(postgres, "x double precision", [(v,) for v in values]) as source:
        found = IntegerQuery(source, OneRowEach()).run([Moments(col("x"), grid)])
        expected = reference.answer([{"x": v} for v in values], query, Moments(col("x"), grid))
        assert reference.plain(found.of(Moments(col("x"), grid))) == expected


def test_dates_beyond_the_calendar_are_missing_where_they_have_no_part(postgres):
    days = ["infinity", "-infinity", "0044-03-15 BC", "10000-01-01", "2024-02-29", None]
    with open_table(postgres, "d date", [(d,) for d in days]) as source:
        for part, value in (("year", 2024), ("month", 2)):
            sql = getattr(col("d").dt, part)().sql(source.schema, source.engine.dialect)
            found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
            assert [v for (v,) in found] == [None, None, None, None, value, None]
        keys = IntegerQuery(source, OneRowEach(), by={"d": col("d")}).people_by_key()
        assert {str(key[0]): n for key, n in keys.items()} == {"2024-02-29": 1, "None": 5}


def test_keys_of_every_kind_are_found_whether_listed_or_kept(postgres, monkeypatch):
    values = {
        "text": ["it's", 'a"b\\', "", "ß", "NULL", "{a,b}", None, "12"],
        "bigint": [(1 << 63) - 1, 1 - (1 << 63), 0, None],
        "numeric(38,0)": [(1 << 126) - 1, 1 - (1 << 126), 7, None],
        "boolean": [True, False, None],
    }
    for kind, keys in values.items():
        rows = [(key,) for times, key in enumerate(keys, 1) for _ in range(times)]
        with open_table(postgres, f"g {kind}", rows) as source:
            for most in (len(keys), 0):
                monkeypatch.setattr("tacit.tables.query.keys._LISTED", most)
                query = IntegerQuery(source, OneRowEach(), by={"g": col("g")}, keys=keys)
                for request in (Rows(), People()):
                    counts = query.run([request]).of(request).tolist()
                    assert counts == list(range(1, len(keys) + 1))
        postgres.run("drop table data")


def test_a_hundred_thousand_keys_and_a_giant_among_many(postgres):
    size, giant = 100_000, 30_000
    postgres.run(
        "create table data as select i as person, i % 50 as x, 'key ' || i as g "
        f"from generate_series(0, {size - 1}) as i",
        f"insert into data select 5, 1, 'key ' || i % 7 from generate_series(1, {giant}) as i",
    )
    keys = [f"key {i}" for i in range(0, 2 * size, 2)]
    grid = Grid.for_bounds(0, 49, whole=True)
    unit = PersonUnit("person", rows=3, most_groups=2)
    asked = [Rows(), Moments(col("x"), grid), Bins(col("x"), grid, (0, 10, 49)), People()]
    with open_source(postgres.dsn(), "data") as source:
        exact = IntegerQuery(source, unit, by={"g": col("g")}, keys=keys).run(asked)
        counts = exact.of(Rows())
        assert counts[10 : size // 2].tolist() == [unit.one] * (size // 2 - 10)
        assert counts[size // 2 :].sum() == 0
        alone = counts[:4].sum() - 4 * unit.one  # the giant's rows lie in the first keys
        assert 0 < alone <= 3 * unit.one
        assert exact.of(People()).sum() == size // 2 + 2
        plain = IntegerQuery(source, unit).run([Rows(), Total(col("x"), grid), People()])
        assert plain.of(People()) == [size]
        everybody = (size - 1) * unit.one
        assert everybody < plain.of(Rows())[0] <= everybody + 3 * unit.one


# A session on PostgreSQL from end to end: each aggregate, with much budget, is what numpy says.


PLACE = np.arange(3000)
FRAME = pd.DataFrame(
    {"x": PLACE % 50, "g": np.where(PLACE % 3 == 0, "a", "b"), "person": PLACE // 4}
)
ASKED = {
    "n": (tc.count(), len),
    "people": (tc.count_people(), lambda d: d.person.nunique()),
    "total": (tc.sum("x", 0, 50), lambda d: d.x.sum()),
    "average": (tc.mean("x", 0, 50), lambda d: d.x.mean()),
    "spread": (tc.std("x", 0, 50), lambda d: d.x.std(ddof=0)),
    "middle": (tc.median("x", 0, 50), lambda d: d.x.median()),
    "ninth": (tc.percentile("x", 90, 0, 50), lambda d: d.x.quantile(0.9)),
    "most": (tc.max("x", 0, 50), lambda d: d.x.max()),
}
METHODS = {
    "smooth": {"method": "smooth"},
    "sample_and_aggregate": {"method": "sample_and_aggregate", "bins": 50},
}


@pytest.fixture(name="session_visits")
def _session_visits(postgres):
    reader = postgres.server.role("reader")
    postgres.run("create table visits (x integer, g text, person bigint)")
    with postgres.connect() as connection, connection.cursor().copy("copy visits from stdin") as c:
        for row in FRAME.itertuples(index=False):
            c.write_row(tuple(row))
    postgres.run(f"grant select on visits to {reader}")
    return postgres.dsn(reader)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("person", rows=4, groups=2)], ids=str)
def test_each_aggregate_is_what_numpy_says(session_visits, unit, grouped):
    with tc.Session(session_visits, table="visits", unit=unit, budget=tc.epsilon(10**6)) as session:
        asked = session.group_by("g", keys=["a", "b"]) if grouped else session
        answer = asked.agg(
            bars=tc.histogram("x", [0, 10, 25, 50]), **{n: a for n, (a, _) in ASKED.items()}
        ).release(epsilon=10**6)
        groups = [FRAME[FRAME.g == g] for g in "ab"] if grouped else [FRAME]
        for label, (_, truth) in ASKED.items():
            if label == "people" and unit.column is None:
                continue
            expected = [float(truth(group)) for group in groups]
            assert answer.column(label)["value"] == pytest.approx(expected, abs=1), label
        bars = [np.histogram(group.x, [0, 10, 25, 50])[0].tolist() for group in groups]
        assert answer.column("bars")["value"] == bars


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("person", rows=4)], ids=str)
def test_methods_of_a_question_run_there_too(session_visits, unit, method):
    with tc.Session(
        session_visits, table="visits", unit=unit, budget=tc.epsilon_delta(10**4, "1e-3")
    ) as session:
        asked = session.agg(m=tc.median("x", 0, 50, **METHODS[method]))
        value = asked.release(epsilon=20, delta="1e-4").value("m")
        assert value == pytest.approx(24.5, abs=5)


def test_unknown_keys_are_released(session_visits):
    with tc.Session(
        session_visits, unit=tc.one_row_each, table="visits", budget=tc.epsilon_delta(100, "1e-3")
    ) as session:
        answer = session.group_by("g").agg(n=tc.count()).release(epsilon=50, delta="1e-4")
        assert answer.keys == [("a",), ("b",)]
        assert answer.column("n")["value"] == pytest.approx([1000, 2000], abs=5)


def test_a_person_column_that_cannot_be_read_is_refused_when_the_session_is_made(postgres):
    postgres.run("create table t (who jsonb)")
    with pytest.raises(UsageError, match="'who' has the type jsonb, which identifies nobody"):
        tc.Session(postgres.dsn(), table="t", unit=tc.unit("who", rows=1), budget=tc.epsilon(1))


# What PostgreSQL's errors mean: by their class alone, and never in the server's words.


OPEN, CLOSED = SimpleNamespace(closed=False), SimpleNamespace(closed=True)


@pytest.mark.parametrize(
    ("state", "says", "lost", "memory"),
    [
        ("08006", "connection to PostgreSQL was cut", True, False),
        ("57P01", "connection to PostgreSQL was cut", True, False),
        ("53200", "out of memory", False, True),
        ("53100", "disk is full", False, True),
        ("57014", "took longer", False, False),
        ("42501", "GRANT SELECT", False, False),
        ("40001", "ask again", False, False),
        ("42804", "changed its shape", False, False),
        ("22012", "withheld because it may quote the data", False, False),
        (None, "unknown", False, False),
    ],
)
def test_each_class_has_its_remedy(state, says, lost, memory):
    found = failure_of(state, OPEN)
    assert says in found.message
    assert (found.lost, found.memory) == (lost, memory)
    assert type(found.error()) is (EngineMemoryError if memory else DataSourceError)


def test_a_connection_that_is_gone_is_lost_whatever_the_error_was():
    assert failure_of("22012", CLOSED).lost
    assert failure_of(None, CLOSED, closed=True).message.startswith("the table was closed")
