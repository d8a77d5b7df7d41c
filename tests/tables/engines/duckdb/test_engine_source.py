"""Opening tables: every kind of source, and every way in which one can be wrong."""

from __future__ import annotations

import os
import pickle
import re
import traceback
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col, from_json
from tacit.expressions.grid import Grid
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.open_source import Source, open_source
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, People, Rows
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), GRID)
FRAME = {"age": [31, 45, None], "sex": ["f", "m", None]}
SECRET = "Zaphod"


def mean_parts(source: Source) -> list[int]:
    with source:
        return list(Query(source, OneRowEach()).run([AGE]).of(AGE)[0][:3])


EXPECTED = [2, 1, GRID.offset(31) + GRID.offset(45)]


def test_every_kind_of_source_gives_the_same_integers(tmp_path):
    table = pa.table(FRAME)
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("age,sex\n31,f\n45,m\n,\n")
    (tmp_path / "a.tsv").write_text("age\tsex\n31\tf\n45\tm\n\t\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "1.csv").write_text("age,sex\n31,f\n")
    (tmp_path / "folder" / "2.csv").write_text("age,sex\n45,m\n,x\n")
    connection = duckdb.connect()
    connection.register("arrow", table)
    connection.execute("create schema s; create table s.t as select * from arrow")
    connection.execute(f"attach '{tmp_path}/d.duckdb' as d; create table d.t as from arrow")
    connection.execute("detach d")
    sources = [
        *(tmp_path / "a.parquet", str(tmp_path / "a.csv"), tmp_path / "a.tsv"),
        *(tmp_path / "folder", str(tmp_path / "folder" / "*.csv")),
        *(table, pd.DataFrame(FRAME), pd.DataFrame(FRAME).astype(object)),
        *(pl.DataFrame(FRAME), pl.DataFrame(FRAME).lazy(), connection.table("s.t")),
        *(table.to_reader(), connection.sql("select * from s.t")),
    ]
    for source in sources:
        assert mean_parts(open_source(source)) == EXPECTED, type(source)
    assert mean_parts(open_source(connection, "s.t")) == EXPECTED
    assert mean_parts(open_source(tmp_path / "d.duckdb", "t")) == EXPECTED


def test_csv_without_rows_or_values_fits_every_use(tmp_path):
    path = tmp_path / "none.csv"
    path.write_text("age,sex\n")
    with open_source(path) as source:
        assert source.columns == {"age": "undeclared", "sex": "undeclared"}
        query = Query(
            source,
            PersonUnit("sex", rows=2),
            where=col("age") > 3,
            by={"s": col("sex")},
            keys=["f"],
        )
        exact = query.run([Rows(), AGE, People()])
        assert exact.of(Rows()).tolist() == [0]
        assert exact.of(AGE).tolist() == [[0, 0, 0, 0]]


def test_declared_kinds_make_misfits_missing_and_drop_no_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"age,sex\n31,f\n{SECRET},m\n1e999,f\n")
    with open_source(path) as source:
        assert source.columns["age"] == "undeclared"
        undeclared = Query(source, OneRowEach()).run([Rows(), AGE])
    with open_source(path, types={"age": "float"}) as source:
        found = Query(source, OneRowEach()).run([Rows(), AGE])
        assert found.of(Rows()).tolist() == [3]
        assert found.of(AGE)[0][:2].tolist() == [1, 2]
        assert found.of(AGE).tolist() == undeclared.of(AGE).tolist()
    with (
        open_source(path, types={"age": "text"}) as source,
        pytest.raises(UsageError, match="needs numbers"),
    ):
        Query(source, OneRowEach()).run([AGE])
    with pytest.raises(UsageError, match="did you mean 'age'"):
        open_source(path, types={"agee": "float"})


BROKEN = {
    "latin.csv": f"a,{SECRET}\xff\n1,2\n".encode("latin-1"),
    "twice.csv": f"{SECRET},{SECRET}\n1,2\n".encode(),
    "open.csv": f'a,"{SECRET}\n1,2\n'.encode(),
    "blank.csv": f"\n{SECRET}\n".encode(),
    "broken.parquet": SECRET.encode() * 10,
    "empty.csv": b"",
    "empty.parquet": b"",
    "notes.doc": SECRET.encode(),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_without_quoting_it(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    with pytest.raises(DataSourceError) as caught:
        open_source(path)
    told = "".join(traceback.format_exception(caught.value, chain=True))
    assert SECRET not in told
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_wrong_places_say_what_to_do(tmp_path):
    (tmp_path / "people.csv").write_text("age\n1\n")
    with pytest.raises(DataSourceError, match="did you mean 'people"):
        open_source(tmp_path / "peple.csv")
    (tmp_path / "hollow").mkdir()
    with pytest.raises(DataSourceError, match=r"no \.csv or \.parquet"):
        open_source(tmp_path / "hollow")
    with pytest.raises(DataSourceError, match="is not a table"):
        open_source(3)
    with pytest.raises(UsageError, match="name the table"):
        open_source(duckdb.connect())
    with pytest.raises(DataSourceError, match="no table 'visit'"):
        open_source(duckdb.connect(), "visit")
    with pytest.raises(UsageError, match="memory_limit"):
        open_source(tmp_path / "people.csv", memory_limit="much")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_is_no_file_says_what_it_is(tmp_path, suffix):
    """A link that leads nowhere was "did you mean" itself, and a pipe was called empty."""
    gone, pipe, null = (tmp_path / (name + suffix) for name in ("gone", "pipe", "null"))
    gone.symlink_to("nowhere")
    os.mkfifo(pipe)
    null.symlink_to("/dev/null")
    for named in (gone, tmp_path / f"gon*{suffix}"):
        with pytest.raises(DataSourceError, match=r"gone.* leads to no file: mend"):
            open_source(named)
    for named, what in ((pipe, pipe), (null, null), (tmp_path / f"pip*{suffix}", pipe)):
        with pytest.raises(DataSourceError, match=re.escape(f"{what} is a pipe, a device")):
            open_source(named)
    gone.unlink()
    with pytest.raises(DataSourceError, match="is a pipe, a device"):
        open_source(tmp_path)


@pytest.mark.parametrize("place", ["/no/where", "~nobody-of-this-name"])
def test_a_place_without_a_folder_is_told(place):
    """They were said to need the right to read, and ended with a traceback."""
    with pytest.raises(DataSourceError, match=re.escape(f"there is no folder {place}")):
        open_source(f"{place}/people.csv")


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age\n1\n")
    with open_source(path) as source:
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(DataSourceError, match="could not be read to its end"):
            Query(source, OneRowEach()).run([AGE])


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "two", 10**9])
def test_a_number_of_threads_is_a_small_whole_one(tmp_path, threads):
    (tmp_path / "people.csv").write_text("age\n31\n")
    with pytest.raises(UsageError, match="threads"):
        open_source(tmp_path / "people.csv", threads=threads)


@pytest.mark.parametrize("limit", ["-5", " -1GB", "0", "", "much", 256, True])
def test_a_memory_limit_that_would_hold_nothing_is_refused(tmp_path, limit):
    (tmp_path / "people.csv").write_text("age\n31\n")
    with pytest.raises(UsageError, match="memory_limit"):
        open_source(tmp_path / "people.csv", memory_limit=limit)


def test_this_folder_has_the_name_of_the_folder_and_an_empty_path_none(tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text("age\n31\n")
    monkeypatch.chdir(tmp_path)
    assert open_source(".").name == tmp_path.name
    with pytest.raises(DataSourceError, match="the path is empty"):
        open_source("")


@pytest.mark.parametrize("table", [5, "", b"visits"])
def test_the_name_of_a_table_is_text(table):
    with pytest.raises(UsageError, match="the name of a table, as text"):
        open_source(duckdb.connect(), table)


def test_a_folder_that_goes_while_it_is_looked_through(tmp_path, monkeypatch):
    def gone(*_):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "rglob", gone)
    with pytest.raises(DataSourceError, match="cannot be looked through") as caught:
        open_source(tmp_path)
    assert caught.value.__context__ is None


def test_a_sound_file_beyond_the_memory_limit_is_not_called_damaged(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,name\n" + f"31,{SECRET}\n" * 100_000)
    with (
        open_source(path, memory_limit="1MB") as source,
        pytest.raises(DataSourceError, match="raise memory_limit") as caught,
    ):
        Query(source, OneRowEach()).run([Rows()])
    assert SECRET not in "".join(traceback.format_exception(caught.value, chain=True))
    assert caught.value.__context__ is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder(tmp_path):
    (tmp_path / "people.csv").write_text("age\n1\n")
    (tmp_path / "people.csv").chmod(0)
    with pytest.raises(DataSourceError, match="no right to read"):
        open_source(tmp_path / "people.csv")


def test_a_file_that_breaks_later_tells_nothing(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": [1.0, 2.0], "name": [SECRET, "b"]}), path)
    with open_source(path) as source:
        path.write_bytes(path.read_bytes()[:40] + SECRET.encode())
        with pytest.raises(DataSourceError) as caught:
            Query(source, OneRowEach()).run([AGE])
    assert SECRET not in "".join(traceback.format_exception(caught.value, chain=True))
    assert caught.value.__context__ is None


def test_identity_is_the_name_and_the_columns_not_the_rows(tmp_path):
    one, two = tmp_path / "1", tmp_path / "2"
    for folder, text in ((one, "age\n1\n"), (two, "age\nx\n")):
        folder.mkdir()
        (folder / "a.csv").write_text(text)
    same = {open_source(f / "a.csv").identity for f in (one, two)}
    assert len(same) == 1
    assert open_source(one / "a.csv", name="b").identity not in same


def test_nothing_stays_on_disk_and_spilled_rows_are_encrypted():
    engine = DuckEngine(memory_limit="200MB")
    ((folder, encrypted),) = engine.rows(
        "select current_setting('temp_directory'), current_setting('temp_file_encryption')"
    )
    assert encrypted
    assert Path(folder).stat().st_mode & 0o077 == 0
    engine.close()
    assert not Path(folder).exists()
    with pytest.raises(DataSourceError, match="closed"):
        engine.rows("select 1")


@pytest.mark.full
def test_beyond_the_memory_limit_rows_spill_unreadably_and_the_answer_is_exact():
    engine = DuckEngine(memory_limit="32MB", threads=1)
    rows = 1_500_000
    try:
        ((folder,),) = engine.rows("select current_setting('temp_directory')")
        table = engine.materialise(
            f"select range as a, '{SECRET}' || md5(range::varchar) as b from range({rows})"
        )
        spilled = [f.read_bytes() for f in Path(folder).iterdir()]
        assert sum(map(len, spilled)) > 1 << 20
        assert not any(SECRET.encode() in text for text in spilled)
        found = engine.rows(f"select sum(a), count(*) from {table} where b like '{SECRET}%'")
        assert found == [(rows * (rows - 1) // 2, rows)]
    finally:
        engine.close()


def test_exact_answers_are_never_shown_or_pickled():
    with open_source(pd.DataFrame({"age": [77.0]})) as source:
        exact = Query(source, OneRowEach()).run([AGE])
        assert (
            repr(exact) == str(exact) == "<exact aggregates of 1 requests in 1 groups, not shown>"
        )
        with pytest.raises(TypeError, match="not private"):
            pickle.dumps(exact)


def test_order_of_rows_and_threads_do_not_change_one_bit():
    random = np.random.default_rng(3)
    age = random.normal(40, 1e3, 20_000) * 10.0 ** random.integers(-300, 300, 20_000)
    frame = pd.DataFrame({"age": age, "p": random.integers(0, 500, 20_000)})
    answers = set()
    for threads, table in ((1, frame), (4, frame.sample(frac=1, random_state=1))):
        with open_source(table, threads=threads) as source:
            for unit in (OneRowEach(), PersonUnit("p", rows=7)):
                found = Query(source, unit).run([AGE]).of(AGE)
                answers.add((type(unit).__name__, tuple(found[0])))
    assert len(answers) == 2


def test_names_with_quotes_unicode_and_keywords():
    name = 'select "a" from ; drop table -- é'
    frame = pd.DataFrame({name: [1.0, 2.0], "group": ["x'); --", "ß"]})
    with open_source(frame) as source:
        request = Moments(col(name), GRID)
        query = Query(source, OneRowEach(), by={"g": col("group")}, keys=["x'); --", "ß", '"'])
        assert query.run([request]).of(request)[:, 0].tolist() == [1, 1, 0]


def test_unknown_keys_and_people_are_bounded_by_the_groups_of_a_person():
    frame = pd.DataFrame({"p": [1] * 50 + [2], "g": [str(i) for i in range(50)] + ["0"]})
    with open_source(frame) as source:
        unit = PersonUnit("p", rows=5, most_groups=3)
        by = {"g": col("g")}
        assert sum(Query(source, unit, by=by).people_by_key().values()) == 4
        keys = [str(i) for i in range(50)]
        assert Query(source, unit, by=by, keys=keys).run([People()]).of(People()).sum() == 4
        assert Query(source, unit).run([People()]).of(People()).tolist() == [2]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: Query(s, OneRowEach(), where=col("agee") > 1), "did you mean 'age'"),
        (lambda s: Query(s, OneRowEach(), where=col("sex") > 1), "side by side"),
        (lambda s: Query(s, OneRowEach(), where=col("sex") < "b"), "needs a value of kind"),
        (lambda s: Query(s, OneRowEach(), where=col("age") + 1), "a filter is a condition"),
        (lambda s: Query(s, OneRowEach(), by={"w": col("wage")}), "cut it into bins"),
        (lambda s: Query(s, OneRowEach(), by={"s": col("sex")}, keys=[]), "empty"),
        (lambda s: Query(s, OneRowEach(), by={"s": col("sex")}, keys=[1]), "not of kind text"),
        (lambda s: Query(s, OneRowEach(), by={"s": col("sex")}, keys=["f", "f"]), "given twice"),
        (lambda s: Query(s, OneRowEach(), by={"s": col("sex")}).run([Rows()]), "not known"),
        (lambda s: Query(s, PersonUnit("who", rows=1)), "no column 'who'"),
        (lambda s: Query(s, OneRowEach()).check(Moments(col("sex"), GRID)), "needs numbers"),
        (lambda s: Grid.for_bounds(3, 3), "must be below"),
        (lambda s: Grid.for_bounds(0, "1e-400"), "rescale"),
        (lambda s: bool(col("age") > 1), "no truth value"),
        (lambda s: from_json(["system", [], []]), "not an operation"),
    ],
)
def test_questions_are_refused_on_public_facts(build, message):
    with (
        open_source(pd.DataFrame({"age": [1], "wage": [0.5], "sex": ["f"]})) as source,
        pytest.raises(UsageError, match=message),
    ):
        build(source)


def test_sums_beyond_64_bits_are_exact():
    huge = pa.table({"x": pa.array([1 << 62] * 4, pa.int64())})
    grid = Grid.for_bounds(0, 1 << 62, whole=True)
    request = Moments(col("x"), grid)
    with open_source(huge) as source:
        assert Query(source, OneRowEach()).run([request]).of(request)[0][2] == 4 * grid.cells
        assert grid.value(grid.cells) == 1 << 62


def test_people_are_grouped_by_an_array_no_longer_than_the_table(tmp_path):
    path, rows = tmp_path / "rows.parquet", 1 << 14
    duckdb.sql(f"copy (select i % 9001 - 7 as p, i % 3 as x from range({rows}) t(i)) to '{path}'")
    asked = "select current_setting('perfect_ht_threshold')"
    connection = duckdb.connect()
    connection.execute(f"create table t as from '{path}'")
    found = []
    with open_source(path) as own, open_source(connection, "t") as given:
        for source in (own, given):
            moments = Moments(col("x"), Grid.for_bounds(0, 2, whole=True))
            answer = Query(source, PersonUnit("p", rows=1)).run([moments]).of(moments)
            found.append((source.engine.rows(asked)[0][0], answer.tolist()))
    assert [int(bits) for bits, _ in found] == [14, 12]
    assert found[0][1] == found[1][1]
