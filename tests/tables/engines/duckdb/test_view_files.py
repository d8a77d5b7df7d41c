"""The Parquet files of DuckDB views, read as files are."""

from __future__ import annotations

import datetime
import gzip
import os
import threading
import warnings
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from support.tables.column_questions import count
from support.tables.hostile_lines import hostile
from tacit.errors import DataSourceError, DataSourceWarning, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines.base import interruptible
from tacit.tables.engines.csv import LINE_LIMIT, csv_format, parse
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Moments, Rows

VIEWS = {
    "plain": "from 't.parquet'",
    "expression": "select * from read_parquet('t' || '.parquet')",
    "over": "select s, n, t, z from plain where n > 0",
    "named": "with q as (from plain) select q.* from q join (select n from over) using (n)",
    "joined": "select t.* from 't.parquet' where n in (select n from plain)",
    "option": "select read_parquet.* from read_parquet('t.parq*', union_by_name := true)",
    "windowed": "select s, t, z, count(*) over () as n from read_parquet(['t.parquet'])",
}
if duckdb.__version__ >= "2":
    VIEWS["single"] = "from read_single_parquet_file('t.parquet')"


RELATIONS = {
    "read": lambda c: c.read_parquet("t.parquet"),
    "function": lambda c: c.table_function("read_parquet", ["t.parquet"]),
    "view": lambda c: c.view("over"),
    "filtered": lambda c: c.sql("from 't.parquet'").filter("n > 0").project("t, z, s, n"),
    "renamed": lambda c: c.read_parquet("t.parquet").set_alias("x y").filter('"x y".n > 0'),
    "ordered": lambda c: c.read_parquet(["t.parquet"], union_by_name=True).order("n").distinct(),
    "united": lambda c: c.sql("from plain where n = 1").union(
        c.sql("from 't.parquet' where n > 1")
    ),
    "joined": lambda c: c.read_parquet("t.parquet").join(c.sql("select n from plain"), "n"),
    "grouped": lambda c: c.view("plain").aggregate("n, s, max(t) as t, max(z) as z"),
}


def write_cells(bad):
    """Write a row of which nothing can be read, or its neighbour."""
    cells = [0, 1 << 62 if bad else 0]
    text = pa.array([b"a", b"\xff" if bad else b"a"]).cast(pa.string(), safe=False)
    times = {
        name: pa.array(cells, pa.timestamp("ms", zone))
        for name, zone in (("t", None), ("z", "UTC"))
    }
    pq.write_table(pa.table({"s": text, "n": [1, 2], **times}), "t.parquet")


def check_cells(source, bad):
    assert count(source, col("s") == "a") == 2 - bad
    assert count(source, col("n") >= 1) == 2
    t, z = (time > "9999-12-31" for time in (col("t"), col("z")))
    assert count(source, col("s").is_null() & t & z) == bad
    assert count(source, t | z) == bad


@pytest.mark.few(9)
@pytest.mark.parametrize(
    ("name", "transaction"),
    [(name, number % 2 == 0) for number, name in enumerate((*RELATIONS, *VIEWS), start=1)],
)
def test_one_cell_decides_the_fate_of_no_relation(tmp_path, monkeypatch, name, transaction):
    """Text that is not UTF-8 and far times, in relations over files: neighbours are answered."""
    monkeypatch.chdir(tmp_path)
    for bad in (1, 0):
        write_cells(bad)
        connection = duckdb.connect()
        connection.execute("create view plain as from 't.parquet'")
        connection.execute("create view over as select s, n, t, z from plain where n > 0")
        if transaction:
            connection.execute("begin")
        relation = RELATIONS[name](connection) if name in RELATIONS else connection.sql(VIEWS[name])
        with open_source(relation) as source:
            check_cells(source, bad)
        if transaction:  # it was not ended
            connection.execute("commit")
        views = "select view_name from duckdb_views() where not internal order by 1"
        assert connection.execute(views).fetchall() == [("over",), ("plain",)]
        connection.close()


def test_a_relation_whose_files_cannot_be_told_is_refused_by_its_text(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"s": ["a"], "n": [1]}), path)
    connection = duckdb.connect()
    connection.execute(f"create macro m() as table from '{path}'")
    connection.execute("create macro uno() as 1")
    connection.execute("create table kept as select 'a' as s, 1 as n")
    for sql in (
        "from m()",
        f"select *, filename from '{path}'",
        f"from query($$from '{path}'$$)",
        f"from json_execute_serialized_sql(json_serialize_sql($$from '{path}'$$))",
    ):
        with pytest.raises(DataSourceError, match=r"reads Parquet files.*make a table of it"):
            open_source(connection.sql(sql))
    for sql in ("select uno() as n, 'a' as s", "from main.kept where n < 2"):
        with open_source(connection.sql(sql)) as source:
            assert count(source, col("s") == "a") == 1
    read = connection.sql("from main.kept where n < ?", params=[2])  # DuckDB 1 reads it at once
    for relation in (read, read.filter("n > 0")):
        with open_source(relation) as source:
            assert count(source, col("s") == "a") == 1
    connection.execute("create table words as select 'of t.parquet' as s, 1 as n")
    read = connection.sql("from main.words where n < ?", params=[2])  # shown with its rows
    for relation in (read, read.filter("n > 0")):
        with open_source(relation) as source:
            assert count(source, col("s") == "of t.parquet") == 1


def test_a_read_only_database_hinders_no_relation(tmp_path):
    with duckdb.connect(tmp_path / "d.duckdb") as connection:
        connection.execute("create table t as select 'a' as s")
    pq.write_table(pa.table({"s": ["a"]}), tmp_path / "t.parquet")
    with duckdb.connect(tmp_path / "d.duckdb", read_only=True) as connection:
        with open_source(connection.table("t")) as source:
            assert count(source, col("s") == "a") == 1
        files = connection.read_parquet(str(tmp_path / "t.parquet"))
        if duckdb.__version__ < "2":  # there a relation answers by views that it makes
            with pytest.raises(DataSourceError, match="make a table of it"):
                open_source(files)
            return
        with open_source(files) as source:
            assert count(source, col("s") == "a") == 1


LAKES = ("iceberg_scan", "delta_scan", "ducklake_table_changes", "paimon_scan")


@pytest.mark.few(4)
@pytest.mark.parametrize("reader", LAKES)
def test_tables_of_a_lake_are_refused_by_the_name_of_what_reads_them(reader):
    """Where the extension is not at hand, a macro takes the place of its function."""
    connection = duckdb.connect()
    connection.execute(f"create macro {reader}(x) as table select 1 as n")
    connection.execute(f"create view plain as from {reader}('lake')")
    connection.execute("create view over as from plain")
    for place in ((connection, "over"), (connection.view("over"),)):
        with pytest.raises(DataSourceError, match=f"{reader}.*reads a table of a lake"):
            open_source(*place)


# The extension is not at hand: a macro says that a database is of its kind.
KINDS = """create macro duckdb_databases() as table select * replace (
    case when database_name = 'lake' then 'ducklake' else type end as type
) from system.main.duckdb_databases()"""


def test_an_attached_lake_is_refused_by_its_kind(tmp_path):
    connection = duckdb.connect()
    connection.execute("attach ':memory:' as lake; create table lake.t as select 1 as n")
    connection.execute("create view v as from lake.t; create table own as select 1 as n")
    connection.execute(KINDS)
    for relation in (connection.view("v"), connection.sql("from lake.main.t")):
        with pytest.raises(DataSourceError, match="the lake 'lake'"):
            open_source(relation)
    with pytest.raises(DataSourceError, match="the lake 'lake'"):
        open_source(connection, "v")
    open_source(connection, "own").close()
    open_source(connection.table("own")).close()
    with duckdb.connect(tmp_path / "lake.duckdb") as connection:  # the one that is in use
        connection.execute(f"create table t as select 1 as n; {KINDS}")
        with pytest.raises(DataSourceError, match="the lake 'lake'"):
            open_source(connection, "t")
        with pytest.raises(DataSourceError, match="the lake 'lake'"):
            open_source(connection.table("t"))


def test_a_view_without_sql_is_refused(tmp_path):
    """DuckDB before 2.0 has no SQL of a view that a relation made."""
    pq.write_table(pa.table({"s": ["a"]}), tmp_path / "t.parquet")
    connection = duckdb.connect()
    connection.read_parquet(str(tmp_path / "t.parquet")).create_view("v")
    if duckdb.__version__ < "2":
        with pytest.raises(DataSourceError, match="is made in a way"):
            open_source(connection, "v")
    else:
        with open_source(connection, "v") as source:
            assert count(source, col("s") == "a") == 1


@pytest.mark.few(8)
@pytest.mark.parametrize("name", ["over", *(name for name in VIEWS if name != "over")])
def test_one_cell_decides_the_fate_of_no_view(tmp_path, monkeypatch, name):
    """Text that is not UTF-8 and far times, in views of files: neighbours are both answered."""
    monkeypatch.chdir(tmp_path)
    for bad in (1, 0):
        write_cells(bad)
        connection = duckdb.connect()
        for each, sql in VIEWS.items():
            connection.execute(f"create view {each} as {sql}")
        with open_source(connection, name) as source:
            check_cells(source, bad)
        connection.close()


def test_a_view_whose_files_cannot_be_told_is_refused_by_its_text(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"s": ["a"], "n": [1]}), path)
    connection = duckdb.connect()
    connection.execute(f"create macro m() as table from '{path}'")
    connection.execute("create view macro as select * from m()")
    connection.execute(f"create view virtual as select *, filename from '{path}'")
    connection.execute(f"create view text as from query('from ''{path}''')")
    for name in ("macro", "virtual", "text"):
        with pytest.raises(DataSourceError, match=r"reads Parquet files.*make a table of it"):
            open_source(connection, name)
    connection.execute("create macro one() as 1")
    connection.execute("create view own as select one() as n, 'a' as s")
    with open_source(connection, "own") as source:
        assert count(source, col("s") == "a") == 1


@pytest.mark.full
def test_every_function_that_reads_parquet_is_known(tmp_path, monkeypatch):
    # Any function of this DuckDB through which rows of a file come: read as files, or refused.
    monkeypatch.chdir(tmp_path)
    write_cells(0)
    connection = duckdb.connect()
    listed = "select distinct function_name from duckdb_functions() where function_type = 'table'"
    functions = sorted(name for (name,) in connection.execute(listed).fetchall())
    arguments = ("'t.parquet'", "['t.parquet']", "'from ''t.par' || 'quet'''")
    texts = [*arguments, f"json_serialize_sql({arguments[2]})"]
    calls = [f"{name}({text})" for name in functions for text in texts]
    through = [sql for sql in calls if _columns(connection, f"from {sql}") == ["s", "n", "t", "z"]]
    readers = {sql.partition("(")[0] for sql in through}
    assert readers >= {"read_parquet", "query", "json_execute_serialized_sql"}
    for bad in (1, 0):
        write_cells(bad)
        for sql in through:
            connection.execute(f"create or replace view v as select s, n, t, z from {sql}")
            for where in ((connection, "v"), (connection.sql(f"from {sql}"), None)):
                if sql.startswith(("query", "json_execute")):
                    with pytest.raises(DataSourceError, match="make a table of it"):
                        open_source(*where)
                else:
                    with open_source(*where) as source:
                        check_cells(source, bad)


def _columns(connection, sql):
    try:
        return connection.sql(sql).columns
    except duckdb.Error:
        return None


# CSV files in the engine: read once, lazily, as the definition says and as declared.


FORMS = [
    {},
    {"null": ["NA", "a"]},
    {"quote": ""},
    {"delimiter": ";", "quote": "'"},
    {"encoding": "cp1252"},
    {"multiline": 3},
]
SECRET = "Zaphod"


def rows_of(source):
    with source:
        return source.engine.rows(f"select * from {source.relation}")


def written(folder, data, name="people.csv"):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@examples(0.6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hostile, st.sampled_from(FORMS), st.integers(1, 3))
@example(b"\xef\xbb\xbfx,1\n", {}, 2)
@example(b'"NA",NA\n""\n', {"null": ["NA"]}, 2)
@example(b'a"b\n\n\n', {"quote": ""}, 1)
@example(b'1,"a\nb"\n2,c\n', {"multiline": 3}, 2)
def test_the_engine_holds_what_the_definition_says(tmp_path, data, form, width):
    names = ["x", "y", "z"][:width]
    path = written(tmp_path, data + b"\n")
    own = csv_format(header=names, **form).for_file("people.csv")
    expected = [tuple(cells) for cells in parse(data + b"\n", own, width)]
    found = rows_of(open_source(path, header=names, **form))
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_a_line_beyond_the_limit_is_a_row_and_blames_nothing(tmp_path):
    path = written(tmp_path, b"age,name\n31,x\n" + b"4" * (LINE_LIMIT + 1) + b",y\n45,z\n")
    assert sorted(rows_of(open_source(path)), key=repr) == [("31", "x"), ("45", "z"), (None, None)]


def test_opening_reads_the_names_and_nothing_else(tmp_path):
    path = written(tmp_path, "age,sex\n" + "31,f\n" * 100_000)
    source = open_source(path)
    path.write_text("age,sex\n45,m\n")  # what is there when the first query asks
    assert rows_of(source) == [("45", "m")]


def test_a_file_without_a_line_of_names_is_not_even_opened(tmp_path):
    path = written(tmp_path, "1,2\n")
    os.chmod(path, 0o644)
    types = {"a": "integer", "b": "text"}
    source = open_source(path, header=False, types=types)
    path.write_text("3,x\n,y\n")
    assert source.columns == types
    assert sorted(rows_of(source), key=repr) == [(3, "x"), (None, "y")]


def test_a_file_that_goes_fails_after_opening_and_is_read_when_it_is_back(tmp_path):
    path = written(tmp_path, "age\n31\n")
    with open_source(path) as source:
        path.rename(tmp_path / "away.csv")
        query = IntegerQuery(source, OneRowEach())
        with pytest.raises(DataSourceError, match="could not be read to its end") as caught:
            query.run([Rows()])
        assert caught.value.__context__ is None
        (tmp_path / "away.csv").rename(path)
        assert query.run([Rows()]).of(Rows()).tolist() == [1]


def test_a_release_of_a_file_that_went_away_costs_once(tmp_path):
    path = written(tmp_path, "age\n31\n")
    with tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(1)) as session:
        path.rename(tmp_path / "away.csv")
        question = session.agg(n=tc.count())
        with pytest.raises(DataSourceError):
            question.release(epsilon="1/2")
        assert session.remaining == tc.epsilon("1/2")  # charged before a row was asked for
        (tmp_path / "away.csv").rename(path)
        question.release(epsilon="1/2")
        assert session.remaining == tc.epsilon("1/2")


def test_a_file_that_has_other_names_by_then_is_not_read_by_place(tmp_path):
    path = written(tmp_path, "age,pay\n31,7\n")
    with open_source(path) as source:
        path.write_text("pay,age\n7,31\n")
        with pytest.raises(DataSourceError, match="other names of columns"):
            IntegerQuery(source, OneRowEach()).run([Rows()])
        path.write_text("age,pay\n31,7\n32,8\n")
        assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()).tolist() == [2]


def test_a_packed_file_that_ends_early_leaves_no_row_behind(tmp_path):
    packed = gzip.compress(b"age\n" + os.urandom(1 << 16).hex().encode() + b"\n" + b"31\n" * 9)
    path = written(tmp_path, packed, "people.csv.gz")
    with open_source(path) as source:
        path.write_bytes(packed[: len(packed) // 2])
        with pytest.raises(DataSourceError, match="could not be read to its end"):
            IntegerQuery(source, OneRowEach()).run([Rows()])
        path.write_bytes(packed)
        assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()).tolist() == [10]


def test_nothing_of_the_rows_stays_in_the_folder_and_no_thread_waits(tmp_path):
    interruptible(None, int)  # whose thread is kept for the next query
    before = threading.active_count()
    with open_source(written(tmp_path, f"name\n{SECRET}\n")) as source:
        assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()).tolist() == [1]
        left = [f for f in Path(source.engine.folder).rglob("*") if f.is_file()]
        assert [f.name for f in left] == ["owner"]  # which process the folder belongs to
        assert SECRET not in left[0].read_text()
        assert not list(Path(source.engine.folder).glob("rows*"))
    assert threading.active_count() == before


ONE_ODD_ROW = {
    "a date of another form": ("03/13/2020,5,1", "2020-03-07,5,1"),
    "a comment": ("# note", "2020-03-07,5,1"),
    "a field too many": (f"{SECRET},flu,1,9", "2020-03-07,5,1"),
    "a word for a number": ("2020-03-07,thirty,1", "2020-03-07,5,1"),
    "an open quote": ('"2020-03-07,5,1', "2020-03-07,5,1"),
    "another delimiter": ("2020-03-07;5;1", "2020-03-07,5,1"),
    "bytes": ("\0,5,1", "2020-03-07,5,1"),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("odd", ONE_ODD_ROW)
@pytest.mark.parametrize("place", [0, 998], ids=["first", "last"])
def test_one_row_moves_a_count_by_one_and_no_column(tmp_path, odd, place):
    lines = ["2020-03-07,5,1"] * 998
    counts, columns = [], []
    march = (col("day") >= "2020-03-01") & (col("day") < "2020-04-01") & (col("n") > 3)
    for row in ONE_ODD_ROW[odd]:
        path = written(tmp_path, "\n".join(["day,n,k", *lines[:place], row, *lines[place:]]))
        with open_source(path) as source:
            columns.append(source.columns)
            moments = Moments(col("n"), Grid.for_bounds(0, 10))
            found = IntegerQuery(source, OneRowEach(), where=march).run([Rows(), moments])
            counts.append((int(found.of(Rows())[0]), int(found.of(moments)[0][0])))
            assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()).tolist() == [999]
    assert columns[0] == columns[1] == dict.fromkeys(("day", "n", "k"), "undeclared")
    assert counts == [(998, 998), (999, 999)]


def test_a_question_is_answered_alike_declared_or_not(tmp_path):
    text = "who,age,paid,day,smokes\n" + "".join(
        f"p{i % 40},{i % 90},{i / 7},2024-{i % 12 + 1:02}-{i % 28 + 1:02},{i % 3 == 0}\n"
        for i in range(500)
    )
    kinds = {"age": "integer", "paid": "float", "day": "date", "smokes": "boolean", "who": "text"}
    path = written(tmp_path, text + ",,,,\nx,y,z,w,v\n")
    where = (col("age") >= 18) & (col("day") >= "2024-02-10") & ~col("smokes")
    request = Moments(col("paid"), Grid.for_bounds(0, 50))
    answers = []
    for types in (kinds, {}, {"age": "integer"}, {"paid": "float", "smokes": "boolean"}):
        with open_source(path, types=types) as source:
            unit = tc.unit("who", rows=3)
            query = IntegerQuery(
                source, unit, where=where, by={"a": col("age")}, keys=[18, 20, None]
            )
            exact = query.run([request, Rows()])
            counted = IntegerQuery(
                source, unit, by={"m": col("day").dt.month()}, keys=[1, 2, 3]
            ).run([Rows()])
            answers.append(
                [exact.of(request).tolist(), exact.of(Rows()).tolist(), counted.of(Rows()).tolist()]
            )
    assert answers == [answers[0]] * 4
    assert sum(map(sum, answers[0][0])) > 0


def test_declared_dates_and_times_are_read_by_their_format(tmp_path):
    path = written(tmp_path, "d,t\n13.03.2020,13.03.2020 18:30\n03/13/2020,x\n31.02.2020,\n")
    types = {"d": "date", "t": "timestamp"}
    form = {"date_format": "%d.%m.%Y", "time_format": "%d.%m.%Y %H:%M"}
    found = rows_of(open_source(path, types=types, **form))
    at = datetime.datetime(2020, 3, 13, 18, 30)
    assert found == [(at.date(), at), (None, None), (None, None)]
    path = written(tmp_path, "d,t\n2020-03-13,2020-03-13T18:30:00Z\n13.03.2020,\n")
    assert rows_of(open_source(path, types=types)) == [(at.date(), at), (None, None)]


def test_files_of_a_folder_are_joined_by_the_names_in_their_first_lines(tmp_path):
    written(tmp_path, "a,b\n1,2\n", "1.csv")
    written(tmp_path, "b,a\n3,4", "2.csv")
    written(tmp_path, "a\tc\n5\t6,6\n", "3.tsv")
    (tmp_path / "4.csv.gz").write_bytes(gzip.compress(b"a,b\n7,8\n"))
    source = open_source(tmp_path)
    assert list(source.columns) == ["a", "b", "c"]
    rows = [("1", "2", None), ("4", "3", None), ("5", None, "6,6"), ("7", "8", None)]
    assert sorted(rows_of(source)) == rows


@pytest.mark.parametrize("line", ["17,2020-01-31,Zaphod", "3141", "Zaphod,,Yarka", "Zaphod,2.5"])
def test_names_that_look_like_a_record_are_warned_of_without_quoting_them(tmp_path, line):
    path = written(tmp_path, line + "\n1,2\n")
    with pytest.warns(DataSourceWarning, match="may be a record") as told:
        open_source(path)
    assert not any(part and part in str(told[0].message) for part in line.split(",")[1:])


def test_row_names_of_r_and_an_index_of_pandas_are_no_record(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = open_source(written(tmp_path, '"","age"\n"1",31\n'))
        assert list(source.columns) == ["column1", "age"]
    for line in ("Zaphod,", ",,age", ",31"):
        path = written(tmp_path, line + "\n1,2\n")
        with pytest.warns(DataSourceWarning, match="may be a record") as told:
            tc.Session(path, tc.one_row_each, tc.epsilon(1), tc.in_memory).close()
        assert told[0].filename == __file__  # the line of the user, not one of Tacit


def test_a_file_with_another_delimiter_is_pointed_at(tmp_path):
    with pytest.warns(DataSourceWarning, match="delimiter=';'"):
        open_source(written(tmp_path, "age;sex\n31;f\n"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(open_source(written(tmp_path, "age;sex\n31;f\n"), delimiter=";").columns) == [
            "age",
            "sex",
        ]


def test_options_of_csv_files_are_refused_elsewhere(tmp_path):
    import pyarrow as pa

    for option in ({"types": {"a": "text"}}, {"delimiter": ";"}, {"header": ["a"]}):
        with pytest.raises(UsageError, match="is for CSV files"):
            open_source(pa.table({"a": [1]}), **option)
    with pytest.raises(UsageError, match="did you mean 'delimiter'"):
        open_source(written(tmp_path, "a\n"), delimeter=";")
    with pytest.raises(UsageError, match="did you mean 'age'"):
        open_source(written(tmp_path, "age\n"), types={"agee": "text"})


PACKED = gzip.compress(b"age,name\n31,Zaphod\n", mtime=0)


@pytest.mark.parametrize(
    "data",
    [PACKED + b"Zaphod", PACKED[:-6], PACKED[:-8] + bytes(8), b"Za,b\n", PACKED[:12]],
    ids=["more behind it", "cut in its end", "another sum", "not packed", "cut in its rows"],
)
def test_a_damaged_packed_file_is_refused_without_quoting_it(tmp_path, data):
    (tmp_path / "a.csv.gz").write_bytes(data)
    with pytest.raises(DataSourceError, match=r"is damaged, or cut short|is not packed") as caught:
        open_source(tmp_path / "a.csv.gz")
    assert caught.value.__context__ is None
    assert "Za" not in str(caught.value)


def test_missing_texts_may_hold_whatever_parts_and_quotes_fields(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('age,name\n"N,A",x\n"N""A",y\nNA,z\n31,\n')
    with open_source(path, null=["N,A", 'N"A', "NA", '"'], types={"name": "text"}) as source:
        for column, missing in (("age", 3), ("name", 1)):
            query = IntegerQuery(source, OneRowEach(), where=col(column).is_null())
            assert query.run([Rows()]).of(Rows()).tolist() == [missing]
    for said in ({"null": ["\ud800"]}, {"header": ["a", "\ud800"]}):
        with pytest.raises(UsageError, match="Unicode"):
            open_source(path, **said)


def test_a_folder_within_a_folder_may_be_called_like_a_file(tmp_path):
    (tmp_path / "all" / "people.csv").mkdir(parents=True)
    (tmp_path / "all" / "people.csv" / "part-0.csv").write_text("age\n31\n")
    with open_source(tmp_path / "all") as source:
        assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()).tolist() == [1]


def test_a_text_that_is_missing_may_be_padded(tmp_path):
    rows = ["99,a", " 99,b", "99  ,c", "   99   ,d", "199,e", "9 9,f", '" 99",g', "990,h"]
    path = tmp_path / "padded.csv"
    path.write_text("\n".join(["x,y", *rows, '"99" odd,i']) + "\n", encoding="utf-8")
    for null in ("99", " 99"):
        with open_source(path, null=[null]) as source:
            missing = IntegerQuery(source, OneRowEach(), where=col("x").is_null()).run([Rows()])
            assert missing.of(Rows()).tolist() == [6]  # the last line is spoiled
        form = csv_format(null=[null], delimiter=",")
        assert sum(cells[0] is None for cells in parse("\n".join(rows).encode(), form, 2)) == 5


STATISTICS = {
    "x > 5": (5, 6),
    "x <> 1": (5, 6),
    "not (x = 1)": (5, 6),
    "x <= 5": (1, 0),
    "x > 5 and n >= 0": (5, 6),
    "n >= 0": (6, 6),
}
"""Conditions, and how many rows of five NaN and a 1, or a 7, fulfil them in a table of DuckDB."""


def with_nan(folder, other):
    """A file of five NaN and another number, which alone is in its statistics."""
    cells = {"x": [float("nan")] * 5 + [other], "n": range(6)}
    pq.write_table(pa.table(cells), folder / f"{other}.parquet")
    return str(folder / f"{other}.parquet")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        *((kind, "x > 5") for kind in ("dataset", "scanner", "lazy", "view")),
        *zip(("view", "lazy", "scanner", "dataset", "view"), [*STATISTICS][1:], strict=True),
    ],
)
def test_no_statistic_of_a_dataset_decides_which_rows_a_relation_has(tmp_path, kind, condition):
    """DuckDB before 2.0 hands filters on to pyarrow: such a relation is refused by its plan."""
    for other, right in zip((1.0, 7.0), STATISTICS[condition], strict=True):
        path = with_nan(tmp_path, other)
        with duckdb.connect() as connection:
            given = pyarrow.dataset.dataset(path)
            if kind == "scanner":
                given = given.scanner()
            elif kind == "lazy":
                given = pytest.importorskip("polars").scan_parquet(path)
            connection.register("given", given)
            if kind == "view":
                connection.execute("create temp view seen as select * from given")
            name = "seen" if kind == "view" else "given"
            relation = connection.sql(f"select n from {name} where {condition}")
            if duckdb.__version__ < "2":
                with pytest.raises(DataSourceError, match="has Arrow do so"):
                    open_source(relation)
                continue
            with open_source(relation) as source:
                assert count(source, col("n") >= 0) == right


def test_a_relation_of_a_whole_dataset_counts_each_row_for_what_it_is(tmp_path):
    for other in (1.0, float("inf")):
        with duckdb.connect() as connection:
            connection.register("given", pyarrow.dataset.dataset(with_nan(tmp_path, other)))
            with open_source(connection.table("given")) as source:
                assert count(source, col("x").is_null()) == 5
                assert count(source, col("x") > 5) == (other > 5)
                assert count(source, col("n") >= 0) == 6


@pytest.mark.parametrize("condition", ["x > 5", "x != 1", "x <= 5", "n >= 0"])
def test_no_statistic_decides_which_rows_a_lazy_frame_of_polars_has(tmp_path, condition):
    """polars 1.9 leaves out row groups by statistics, which leave NaN out."""
    pl = pytest.importorskip("polars")
    for other in (1.0, 7.0):
        path = with_nan(tmp_path, other)
        part = pl.scan_parquet(path).filter(pl.sql_expr(condition))
        right = pl.read_parquet(path).filter(pl.sql_expr(condition)).height
        with open_source(part) as source:
            assert count(source, col("n") >= 0) == right


def test_a_registered_frame_is_given_as_a_relation(tmp_path):
    with duckdb.connect() as connection:
        connection.register("visits", pa.table({"n": [1, 2]}))
        with pytest.raises(DataSourceError, match=r"connection\.table\('visits'\)"):
            open_source(connection, "visits")
        with open_source(connection.table("visits")) as source:
            assert count(source, col("n") >= 2) == 1


# ---- files without types


@pytest.mark.parametrize(
    ("file", "sql"),
    [
        ("a.csv", "from 'a.csv'"),
        ("a.csv", "select x from read_csv('a.csv', columns = {'x': 'INT', 'y': 'INT'})"),
        ("a.csv", "select * from (select y from read_csv_auto('a.csv')) as t"),
        ("a.json", "from 'a.json'"),
        ("a.json", "select count(*) as x from read_json('a.json')"),
        ("a.json", "select content as x from read_text('a.json')"),
        ("a.csv", "from a.csv"),  # a schema and its table, or else a file
        ("a.csv", "with a as (select 1 as z) select f.x from a, a.csv as f"),
        ("a.csv", "select columns as x from sniff_csv('a.csv')"),
        ("a.csv", "select * from inner_view"),
        ("a.csv", "select * from rows_of_a()"),
        ("a.csv", "select * from rows_of('a.csv')"),  # by its plan
    ],
)
def test_sql_over_files_without_types_is_refused(file, sql, tmp_path, monkeypatch):
    """One more row made a number a text, or failed a question after its charge."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\n1,1\n")
    (tmp_path / "a.json").write_text('{"x": 1, "y": 1}\n')
    with duckdb.connect() as connection:
        connection.execute("create view inner_view as from 'a.csv'")
        connection.execute("create macro rows_of_a() as table from read_csv('a.csv')")
        connection.execute("create macro rows_of(n) as table from query_table(n)")
        connection.execute(f"create view v as {sql}")
        with pytest.raises(DataSourceError, match="takes the types from the rows"):
            open_source(connection, "v")
        with pytest.raises(DataSourceError, match="open the file or the database itself"):
            open_source(connection.sql(sql))
        connection.execute(f"create table t as {sql}")
        open_source(connection, "t").close()
        open_source(connection.sql("from t")).close()


def test_every_function_that_reads_files_without_types_is_known(tmp_path, monkeypatch):
    # Any function of this DuckDB through which rows of a file without types come.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\n1,1\n")
    (tmp_path / "a.json").write_text('{"x": 1, "y": 1}\n')
    connection = duckdb.connect()
    listed = "select distinct function_name from duckdb_functions() where function_type = 'table'"
    functions = sorted(name for (name,) in connection.execute(listed).fetchall())
    calls = [f"{name}('a.{end}')" for name in functions for end in ("csv", "json")]
    through = [call for call in calls if _columns(connection, f"from {call}") == ["x", "y"]]
    assert {call.partition("(")[0] for call in through} >= {"read_csv", "read_json"}
    for call in through:
        with pytest.raises(DataSourceError, match="make a table of it"):
            open_source(connection.sql(f"from {call}"))


@pytest.mark.parametrize("end", [".gz", ".zst", ""])
@pytest.mark.parametrize("bad", [1, 0])
def test_a_parquet_file_is_found_by_each_name_that_duckdb_takes(end, bad, tmp_path, monkeypatch):
    """A name without quotes is that of a schema and its table, or else of a file."""
    monkeypatch.chdir(tmp_path)
    write_cells(bad)
    name = f"'t.parquet{end}'" if end else "t.parquet"
    if end:
        os.rename("t.parquet", f"t.parquet{end}")
    with duckdb.connect() as connection:
        connection.execute(f"create view v as select parquet.* from {name} as parquet")
        for where in ((connection, "v"), (connection.sql(f"from {name}"), None)):
            with open_source(*where) as source:
                check_cells(source, bad)


@pytest.mark.parametrize("way", ["united", "registered", "given", "filtered"])
def test_a_relation_over_a_frame_of_pandas_is_refused(way):
    """DuckDB takes the type of objects from some rows, and fails on another row of another type."""
    numbers = [*range(3000), "none"]
    frame = pd.DataFrame({"n": range(3001), "x": pd.Series(numbers, dtype=object)})
    with duckdb.connect() as connection:
        connection.register("given", frame)
        relation = {
            "united": lambda: connection.sql("select 1 as n union all select n from given"),
            "registered": lambda: connection.view("given"),
            "given": lambda: connection.from_df(frame),
            "filtered": lambda: connection.sql("select n from given where n > 1"),
        }[way]()
        with pytest.raises(DataSourceError, match="give the data frame itself"):
            open_source(relation)
        connection.execute("create table t as select n from given")
        open_source(connection.sql("from t")).close()
