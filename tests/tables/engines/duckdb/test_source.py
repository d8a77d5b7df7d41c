"""Opening tables: every kind of source, and every way in which one can be wrong."""

from __future__ import annotations

import datetime
import math
import os
import re
import traceback
import uuid
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines.duckdb.frames import cell_text
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Moments, Rows

GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), GRID)


SECRET = "Zaphod"


def test_declared_kinds_make_misfits_missing_and_drop_no_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"age,sex\n31,f\n{SECRET},m\n1e999,f\n")
    with open_source(path) as source:
        assert source.columns["age"] == "undeclared"
        undeclared = IntegerQuery(source, OneRowEach()).run([Rows(), AGE])
    with open_source(path, types={"age": "float"}) as source:
        found = IntegerQuery(source, OneRowEach()).run([Rows(), AGE])
        assert found.of(Rows()).tolist() == [3]
        assert found.of(AGE)[0][:2].tolist() == [1, 2]
        assert found.of(AGE).tolist() == undeclared.of(AGE).tolist()
    with (
        open_source(path, types={"age": "text"}) as source,
        pytest.raises(UsageError, match="needs numbers"),
    ):
        IntegerQuery(source, OneRowEach()).run([AGE])
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


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_is_no_file_says_what_it_is(tmp_path, suffix):
    """A link that leads nowhere was "did you mean" itself, and a pipe was called empty."""
    gone, pipe, null = (tmp_path / (name + suffix) for name in ("gone", "pipe", "null"))
    gone.symlink_to("nowhere")
    os.mkfifo(pipe)
    null.symlink_to("/dev/null")
    for named in (gone, tmp_path / f"gon*{suffix}"):
        with pytest.raises(DataSourceError, match=r"gone.* leads to no file: repair"):
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
            IntegerQuery(source, OneRowEach()).run([AGE])


def test_a_folder_that_goes_while_it_is_looked_through(tmp_path, monkeypatch):
    def gone(*_):
        raise FileNotFoundError

    monkeypatch.setattr(os, "listdir", gone)
    with pytest.raises(DataSourceError, match="its folders cannot be listed") as caught:
        open_source(tmp_path)
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
            IntegerQuery(source, OneRowEach()).run([AGE])
    assert SECRET not in "".join(traceback.format_exception(caught.value, chain=True))
    assert caught.value.__context__ is None


# Data frames are opened by the types of their columns, and no cell decides how another is read.


FRAMES_GRID = Grid.for_bounds(0, 100)
FRAMES_AGE = Moments(col("age"), FRAMES_GRID)


class Hostile:
    """An object whose every method raises."""

    def __str__(self):
        raise RuntimeError

    __repr__ = __eq__ = __hash__ = __float__ = __bool__ = __str__


ODD = [
    *(Decimal("NaN"), Decimal("sNaN"), "thirty", b"31", [1], {"a": 1}, None, pd.NA, pd.NaT),
    *(math.nan, math.inf, 1j, "\ud800", "\0", 1 << 9999, Decimal("1e999999"), Hostile()),
    *(datetime.date(1, 1, 1), pd.Timestamp("2024-01-01", tz="Asia/Tokyo"), np.float32(0.5)),
    *(np.datetime64("NaT", "ns"), np.str_("x"), datetime.timedelta(1), uuid.UUID(int=1), True),
]


@pytest.mark.few(15)
@pytest.mark.parametrize("odd", ODD, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("place", [0, 999])
def test_one_odd_cell_moves_no_other(odd, place):
    cells = [31] * 999
    cells.insert(place, odd)
    column = pd.Series(cells, dtype=object)
    with open_source(pd.DataFrame({"age": column})) as source:
        assert source.columns == {"age": "undeclared"}
        found = IntegerQuery(source, OneRowEach()).run([Rows(), FRAMES_AGE])
    assert found.of(Rows()).tolist() == [1000]
    present, missing, total, _ = found.of(FRAMES_AGE)[0].tolist()
    assert present + missing == 1000
    own = total - 999 * FRAMES_GRID.offset(31)
    read = (
        ((1000, FRAMES_GRID.offset(1)),)
        if odd is True
        else ((999, 0), (1000, FRAMES_GRID.offset("0.5")))
    )
    assert (present, own) in read


FRAME = pd.DataFrame(
    {
        "age": pd.array([31, None], dtype="Int64"),
        "half": np.array([0.5, np.nan], dtype="float16"),
        "site": pd.Categorical(["a", None]),
        "year": pd.Categorical([2020, 2021]),
        "text": pd.array(["x", None], dtype="string"),
        "at": pd.to_datetime(["2024-01-01 00:30", None]).tz_localize("Asia/Tokyo"),
        "day": pd.to_datetime(["2024-01-01", None]),
        "odd": [object(), 3],
        "period": pd.period_range("2020", periods=2),
        "complex": [1j, 2j],
        "span": pd.to_timedelta([1, 2]),
        "between": pd.interval_range(0, 2),
        "sparse": pd.arrays.SparseArray([0, 1]),
        "long": np.array([1, 2], dtype=np.longdouble),
    }
)


def test_the_types_of_columns_decide_and_an_unknown_one_hinders_no_other():
    kinds = {
        "age": "integer",
        "half": "float",
        "site": "undeclared",
        "year": "undeclared",
        "text": "text",
        "at": "date",
        "day": "date",
        "odd": "undeclared",
        **dict.fromkeys(("period", "complex", "span", "between", "sparse", "long"), "other"),
    }
    for frame in (FRAME, FRAME.iloc[:0], FRAME.iloc[::-1]):
        with open_source(frame) as source:
            assert source.columns == kinds
            found = IntegerQuery(source, OneRowEach(), where=col("year") > 2000).run(
                [Rows(), FRAMES_AGE]
            )
            assert found.of(Rows()).tolist() == [len(frame)]
            for name in ("period", "complex", "sparse"):
                with pytest.raises(UsageError, match="no place in a private statistic"):
                    IntegerQuery(source, OneRowEach(), where=col(name) == 1)
    with open_source(FRAME) as source:
        first = IntegerQuery(source, OneRowEach(), where=col("at") == "2023-12-31").run([Rows()])
        assert first.of(Rows()).tolist() == [1]  # in UTC


def test_polars_objects_are_undeclared_and_a_lazy_frame_waits():
    frame = pl.DataFrame({"age": pl.Series([31, "x", None], dtype=pl.Object), "n": [1, 2, 3]})
    with open_source(frame) as source:
        assert source.columns == {"age": "undeclared", "n": "integer"}
        assert IntegerQuery(source, OneRowEach()).run([FRAMES_AGE]).of(FRAMES_AGE)[0][
            :2
        ].tolist() == [
            1,
            2,
        ]
    asked = []

    def noted(part):
        asked.append(len(part))
        return part

    lazy = pl.DataFrame({"age": [31, 45]}).lazy().map_batches(noted, schema={"age": pl.Int64})
    with open_source(lazy) as source:
        assert (source.columns, asked) == ({"age": "integer"}, [])
        assert IntegerQuery(source, OneRowEach()).run([FRAMES_AGE]).of(FRAMES_AGE)[0][
            :2
        ].tolist() == [
            2,
            0,
        ]
        assert asked == [2]


def test_a_column_that_is_not_named_by_text_is_refused_with_its_place_and_the_remedy():
    for name, kind in ((0, "int"), (("a", "b"), "tuple"), (None, "NoneType")):
        table = pd.DataFrame([[1, 2]], columns=pd.Index(["a", name], dtype=object))
        said = f"column 2 of the pandas table is named by {kind}, not by text: .*columns=str"
        with pytest.raises(DataSourceError, match=said):
            open_source(table)


def test_a_frame_whose_columns_cannot_be_told_apart_is_refused():
    for names, message in ((["a", "a"], "both named 'a'"), (["a", "A"], "only in capital letters")):
        with pytest.raises(DataSourceError, match=message):
            open_source(pd.DataFrame([[1, 2]], columns=names))


def test_the_values_of_an_enumeration_stand_in_no_type_and_steer_nothing():
    connection = duckdb.connect()
    connection.execute("create table t as select 'Zaphod'::enum('Zaphod', 'b') as e, 1 as n")
    connection.execute("alter table t add column l enum('Zaphod')[]")
    connection.execute("alter table t add column \"at\" timestamptz default timestamptz 'infinity'")
    frames = (
        connection.sql("from t"),
        pl.DataFrame({"e": ["Zaphod"], "n": [1]}, schema_overrides={"e": pl.Categorical}),
        pl.DataFrame({"e": ["Zaphod"], "n": [1]}, schema_overrides={"e": pl.Enum(["Zaphod"])}),
        pd.DataFrame({"e": pd.Categorical(["Zaphod"]), "n": [1]}),
    )
    for frame in frames:
        with open_source(frame) as source:
            for key, count in (("Zaphod", 1), ("nobody", 0)):
                query = IntegerQuery(source, OneRowEach(), by={"e": col("e")}, keys=[key])
                assert query.run([Rows()]).of(Rows()).tolist() == [count]
            assert "Zaphod" not in repr([*source.schema.values()])
    with open_source(connection, "t") as source:
        assert source.columns == {"e": "text", "n": "integer", "l": "other", "at": "date"}
        for where, count in ((col("at").is_null(), 1), (col("at") > "2024-01-01", 0)):
            found = IntegerQuery(source, OneRowEach(), where=where).run([Rows()])
            assert found.of(Rows()).tolist() == [count]
        with pytest.raises(UsageError) as caught:
            IntegerQuery(source, OneRowEach(), where=col("l") == 1)
        assert "Zaphod" not in str(caught.value)


def _asked(source, test):
    return int(IntegerQuery(source, OneRowEach(), where=test).run([Rows()]).of(Rows())[0])


@pytest.mark.parametrize("way", ["pandas", "polars", "lazy", "arrow", "stream"])
def test_a_column_without_a_name_is_named_by_its_place(way):
    """R's write.csv gives the column of row names no name, and so does the index of pandas."""
    columns = {"": ["1", "2"], "age": [30, 40]}
    if way == "pandas":
        source = open_source(pd.DataFrame(columns))
    elif way in ("polars", "lazy"):
        frame = pl.DataFrame(columns)
        source = open_source(frame if way == "polars" else frame.lazy())
    else:
        table = pa.table(columns)
        source = open_source(table if way == "arrow" else table.to_reader())
    with source:
        assert list(source.columns) == ["column1", "age"]
        assert _asked(source, col("column1") == "2") == _asked(source, col("age") > 35) == 1


def test_every_type_of_polars_is_read_or_hinders_no_other_column():
    new = {  # types that older releases of polars do not have
        "wide": ("Int128", [(1 << 127) - 1, 5, None]),
        "unsigned": ("UInt128", [(1 << 128) - 1, 5, None]),
        "half": ("Float16", [0.5, float("nan"), None]),
    }
    rows = {
        name: pl.Series(cells, dtype=getattr(pl, kind))
        for name, (kind, cells) in new.items()
        if hasattr(pl, kind)
    } | {
        "list": pl.Series([[1], [], None], dtype=pl.List(pl.Int64)),
        "struct": pl.Series([{"a": 1}, {"a": None}, None]),
        "bytes": pl.Series([b"a", b"", None]),
        "clock": pl.Series([datetime.time(1), datetime.time(2), None]),
        "span": pl.Series([datetime.timedelta(1), datetime.timedelta(2), None]),
        "kind": pl.Series(["a", "b", None], dtype=pl.Categorical),
        "n": pl.Series([1, 2, 3]),
    }
    for frame in (pl.DataFrame(rows), pl.DataFrame(rows).lazy()):
        with open_source(frame) as source:
            for name in rows:
                gaps = 2 if name == "half" else name != "n"
                assert _asked(source, col(name).is_null()) == gaps, name
            for name in {"wide", "unsigned"} & set(rows):
                assert _asked(source, col(name) > 5) == _asked(source, col(name) <= 5) == 1
            if "half" in rows:
                assert _asked(source, col("half") == 0.5) == 1
            with pytest.raises(UsageError, match="list"):
                _asked(source, col("list") == 1)


@pytest.mark.parametrize("far", [False, True], ids=["an error", "a panic"])
def test_a_lazy_frame_that_fails_on_a_row_does_not_quote_it(far):
    x, caught = pl.col("x"), None
    if far:
        cells = pl.Series("x", [0, 1 << 62]).cast(pl.Datetime("ms"))
        computed = [x.dt.year().alias("a"), x.cast(pl.Datetime("us")).alias("b")]
    else:
        cells = pl.Series("x", ["1", "Zaphod"])
        computed = [x.cast(pl.Int64).alias("a")]
    with open_source(cells.to_frame().lazy().with_columns(computed)) as source:
        try:
            assert _asked(source, col("x").is_null()) == 0
        except DataSourceError as error:
            caught = error
    # Some releases of polars (2.0.0) compute both of far times.
    if caught is not None or not far:
        assert "the lazy frame could not be read" in str(caught)
        assert "Zaphod" not in "".join(traceback.format_exception(caught))
        assert caught.__context__ is None


def test_a_union_of_arrow_hinders_no_other_column():
    kinds = pa.array([0, 1, 0], pa.int8())
    union = pa.UnionArray.from_sparse(kinds, [pa.array([1, 2, None]), pa.array(["a", "b", "c"])])
    dense = pa.UnionArray.from_dense(
        kinds, pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["b"])]
    )
    table = pa.table({"u": union, "v": dense, "n": [1, 2, 3]})
    for given in (table, table.to_reader(), table.to_batches()[0]):
        with open_source(given) as source:
            assert _asked(source, col("n") > 1) == 2
            _asked(source, col("u").is_null())
            with pytest.raises(UsageError, match="'u'"):
                _asked(source, col("u") == 1)


# Each type of cell of a frame has its own text.


def test_each_type_of_cell_has_its_own_text():
    at = datetime.datetime(2024, 1, 31, 18, 30)
    zone = datetime.timezone(datetime.timedelta(hours=9))
    assert [cell_text(c) for c in (at, at.replace(tzinfo=zone), at.date(), pd.NaT)] == [
        "2024-01-31 18:30:00",
        "2024-01-31 09:30:00",
        "2024-01-31",
        None,
    ]
    assert cell_text(datetime.datetime(1, 1, 1, tzinfo=zone)) is None
    assert [cell_text(c) for c in (np.int8(3), np.float64("nan"), np.bool_(True), 1e23)] == [
        "3",
        None,
        "true",
        "1e+23",
    ]


# Columns of Arrow are read by their types, or refused where they are named.


ZONED = pa.timestamp("us", "Asia/Tokyo")
AT = datetime.datetime(2024, 1, 1, 0, 30)
ARROW = {
    "names": pa.array(["Zaphod", None]).dictionary_encode(),
    "codes": pa.array([3, None]).dictionary_encode(),
    "view": pa.array(["Zaphod", None], pa.string_view()),
    "large": pa.array(["Zaphod", None], pa.large_string()),
    "money": pa.array([Decimal("1.5"), None], pa.decimal128(38, 2)),
    "wide": pa.array([Decimal("1.5"), None], pa.decimal256(50, 2)),
    "half": pa.array([0.5, None], pa.float16()),
    "list": pa.array([["Zaphod"], None]),
    "nested": pa.array([{"a": 1}, None]),
    "none": pa.nulls(2),
    "zoned": pa.array([AT, None], ZONED),
    "far": pa.array([2**63 - 1, None], ZONED),
    "seconds": pa.array([AT, None], pa.timestamp("s")),
    "span": pa.array([1, None], pa.duration("s")),
    "own": pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "a", "b"), pa.array([1, None])),
}
KINDS = {
    **dict.fromkeys(("names", "view", "large"), "text"),
    "codes": "integer",
    "own": "integer",
    "money": "decimal",
    "none": "missing",
    **dict.fromkeys(("wide", "half", "list", "nested", "span"), "other"),
    **dict.fromkeys(("zoned", "far", "seconds"), "date"),
}


def arrow_sources():
    table = pa.table(ARROW)
    yield table
    yield table.to_reader()
    yield table.to_batches()[0]
    yield pd.DataFrame({n: pd.array(c, dtype=pd.ArrowDtype(c.type)) for n, c in ARROW.items()})


@pytest.mark.few(4)
@pytest.mark.parametrize("table", list(arrow_sources()), ids=lambda t: type(t).__name__)
def test_arrow_columns_are_read_by_their_types_or_refused_where_named(table):
    with open_source(table) as source:
        assert source.columns == {name: KINDS[name] for name in ARROW}
        for name, value in (("view", "Zaphod"), ("names", "Zaphod"), ("codes", 3), ("money", 1.5)):
            found = IntegerQuery(source, OneRowEach(), where=col(name) == value).run([Rows()])
            assert found.of(Rows()).tolist() == [1], name
        for name in ("zoned", "seconds"):
            found = IntegerQuery(source, OneRowEach(), where=col(name) == "2024-01-01").run(
                [Rows()]
            )
            assert found.of(Rows()).tolist() == [1], name  # in UTC
        for name, kind in KINDS.items():
            if kind == "other":
                with pytest.raises(UsageError) as caught:
                    IntegerQuery(source, OneRowEach(), where=col(name) == 1)
                assert "Zaphod" not in str(caught.value)
        assert not any("Zaphod" in column.declared for column in source.schema.values())


@pytest.mark.full
def test_text_of_arrow_that_is_no_unicode_is_missing_and_fails_nothing():
    cells = pa.array([b"ok", b"\xff\xfe", b"\xff", None], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 4, cells.buffers())
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.int8()), text)
    for column in (text, codes, text.cast(pa.large_string(), safe=False)):
        table = pa.table({"s": column, "n": [1, 2, 3, 4]})
        frame = pd.DataFrame({"s": pd.array(column, dtype=pd.ArrowDtype(column.type))})
        for source in (table, table.to_reader(), table.to_batches()[0], frame):
            with open_source(source) as opened:
                found = [
                    IntegerQuery(opened, OneRowEach(), where=where)
                    .run([Rows()])
                    .of(Rows())
                    .tolist()
                    for where in (col("s").str.to_lowercase() == "ok", col("s").is_null())
                ]
                assert found == [[1], [3]], (column.type, type(source))


def test_a_reader_that_failed_is_not_taken_for_an_empty_table():
    def batches():
        yield pa.record_batch({"age": [31]})
        raise OSError

    reader = pa.RecordBatchReader.from_batches(pa.schema([("age", pa.int64())]), batches())
    with open_source(reader) as source:
        for said in ("could not read", "open the table again", "open the table again"):
            with pytest.raises(DataSourceError, match=said):
                IntegerQuery(source, OneRowEach()).run([Rows()])


@pytest.mark.parametrize("kind", ["connection", "relation", "rows read before"])
def test_a_closed_connection_is_named(tmp_path, kind):
    connection = duckdb.connect(str(tmp_path / "rows.duckdb"))
    connection.execute("create table t as select 1 as x; create view v as from t")
    source = connection
    if kind != "connection":
        source = connection.sql("select x + 1 as x from v where x < 9")
    if kind == "rows read before":
        source = source.materialize() if hasattr(source, "materialize") else source.execute()
    connection.close()
    with pytest.raises(DataSourceError, match="connection to the database was closed; keep it"):
        open_source(source, *(["v"] if source is connection else []))
