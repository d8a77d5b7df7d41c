"""Files of Arrow, ORC and Avro: what the real writers wrote is what is computed with."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import random
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest

import tacit as tc
from support.tables.column_questions import answers, count
from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.tables.engines.duckdb import frames, schema_files
from tacit.tables.open_source import open_source

DAY = datetime.date
KINDS = {"whole": "integer", "number": "float", "word": "text", "flag": "boolean", "day": "date"}
VALUES: dict[str, list[Any]] = {
    "whole": [0, 1, 5, -1, 2**63 - 1, -(2**63)],
    "number": [0.0, 5.0, -1.5, 2.0**40, float("nan"), float("inf")],
    "word": ["", "a", "é", "z" * 70],
    "flag": [True, False],
    "day": [DAY(1970, 1, 1), DAY(2023, 11, 14), DAY(1, 1, 1), DAY(9999, 12, 31)],
}
SCHEMA = pa.schema(
    [
        *[("p", pa.int64()), ("whole", pa.int64()), ("number", pa.float64())],
        *[("word", pa.string()), ("flag", pa.bool_()), ("day", pa.date32())],
    ]
)
AVRO = {"whole": "long", "number": "double", "word": "string", "flag": "boolean"}


def random_rows(draw: random.Random, size: int) -> list[dict[str, Any]]:
    return [
        {"p": i // 2, **{name: draw.choice([None, *v]) for name, v in VALUES.items()}}
        for i in range(size)
    ]


def write_arrow(path: Path, table: Any) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


def write_stream(path: Path, table: Any) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


def write_avro(path: Path, table: Any) -> None:
    fastavro = pytest.importorskip("fastavro", reason="pip install 'tacit-dp[files]'")
    day = {"type": "int", "logicalType": "date"}
    kinds: dict[str, Any] = {"p": "long", **AVRO, "day": day}
    fields = [{"name": n, "type": ["null", kinds[n]]} for n in table.column_names]
    with path.open("wb") as file:
        schema = {"type": "record", "name": "visit", "fields": fields}
        fastavro.writer(file, schema, table.to_pylist(), codec="deflate", sync_interval=200)


WRITERS: dict[str, Any] = {
    "v.feather": lambda path, table: pa.feather.write_feather(table, str(path)),
    "v.arrow": write_arrow,
    "v.arrows": write_stream,
    "v.orc": lambda path, table: pa.orc.write_table(table, str(path), stripe_size=1),
    "v.avro": write_avro,
}


def rows_of(source: Any, **options: Any) -> list[Any]:
    with open_source(source, **options) as opened:
        names = ", ".join(map(opened.engine.dialect.identifier, opened.schema))
        rows = opened.engine.rows(f"select {names} from {opened.relation} as t")
    return sorted(rows, key=repr)


@pytest.mark.full
@pytest.mark.parametrize("name", WRITERS)
def test_integers_are_those_of_the_same_rows_in_a_table(name, tmp_path):
    table = pa.Table.from_pylist(random_rows(random.Random(name), 30), SCHEMA)
    WRITERS[name](tmp_path / name, table)
    kinds = dict(random.Random(name).sample(sorted(KINDS.items()), 1))
    with open_source(tmp_path / name) as source, open_source(table) as true:
        assert source.columns == {"p": "integer", **KINDS}
        assert answers(source, kinds) == answers(true, kinds)


@pytest.mark.parametrize("name", ["v.feather", "v.arrows", "v.orc"])
def test_a_small_file_is_read_where_it_is_as_a_large_one_is_from_a_copy(
    name, tmp_path, monkeypatch
):
    """Rows are copied only where they take much of the memory; a filter finds the same of both."""
    table = pa.Table.from_pylist(random_rows(random.Random(name), 60), SCHEMA)
    WRITERS[name](tmp_path / name, table)
    found, copied, read = [], [], []
    kind = {"v.feather": "arrow", "v.arrows": "arrow stream", "v.orc": "orc"}[name]
    batches: Any = schema_files._BATCHES[kind]

    def noted(path: str, used: list[str]) -> Any:
        read.append(path)
        return batches(path, used)

    monkeypatch.setitem(schema_files._BATCHES, kind, noted)
    for share in (frames._SHARE, 10**12):
        monkeypatch.setattr(frames, "_SHARE", share)
        with open_source(tmp_path / name) as source:
            found.append(answers(source, {"number": "float", "word": "text"}))
            sizes = source.engine.rows("select estimated_size from duckdb_tables() where temporary")
            copied.append(max(size for (size,) in sizes))
    assert found[0] == found[1]
    assert copied == [0, 60]
    assert len(read) == 2  # once each


@pytest.mark.full
@pytest.mark.parametrize("name", WRITERS)
def test_one_hostile_row_changes_no_other(name, tmp_path):
    row = {"p": 1, "whole": 5, "number": 1.5, "word": "a", "flag": True, "day": DAY(2024, 1, 1)}
    WRITERS[name](tmp_path / name, pa.Table.from_pylist([row], SCHEMA))
    before = rows_of(tmp_path / name)
    days = pa.array([2**31 - 1, 0, -(2**31)], pa.date32())
    words = pa.array([b"\xff", b"a", b"\xed\xa0\x80"]).cast(pa.string(), safe=False)
    table = pa.Table.from_pylist([row] * 3, SCHEMA)
    if name == "v.avro":  # its writer takes no other text than text
        days, words = days.cast(pa.int32()), pa.array(["\0", "a", "x"])
    table = table.set_column(5, "day", days).set_column(3, "word", words)
    WRITERS[name](tmp_path / name, table)
    with open_source(tmp_path / name) as source:
        relation = source.relation
        (counts,) = source.engine.rows(f"select count(*), count(word) from {relation} as t")
        same = source.engine.rows(f"select p, whole, number, word, flag from {relation} as t")
    assert counts == (3, 3 if name == "v.avro" else 1)
    assert before[0][:5] in same


@pytest.mark.full
def test_avro_by_the_meanings_of_its_schema(tmp_path):
    fastavro = pytest.importorskip("fastavro", reason="pip install 'tacit-dp[files]'")
    types: dict[str, Any] = {
        "cost": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        "at": {"type": "long", "logicalType": "timestamp-millis"},
        "kind": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]},
        "either": ["null", "int", "string"],
        "more": {"type": "map", "values": "long"},
        "small": "int",
    }
    schema = {
        "type": "record",
        "name": "visit",
        "fields": [{"name": n, "type": t} for n, t in types.items()],
    }
    moment = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    row = {"cost": decimal.Decimal("1.25"), "at": moment, "kind": "B", "either": 3, "more": {}}
    far = {**row, "at": 2**62, "cost": decimal.Decimal("-99.99"), "either": "x"}
    with (tmp_path / "v.avro").open("wb") as file:
        fastavro.writer(file, schema, [{**row, "small": 7}, {**far, "small": -1}])
    with open_source(tmp_path / "v.avro") as source:
        kinds = {"cost": "decimal", "at": "date", "kind": "text", "either": "other"}
        assert source.columns == {**kinds, "more": "other", "small": "integer"}
        rows = source.engine.rows(f"select cost, kind, small from {source.relation} as t")
    assert sorted(rows) == [
        (decimal.Decimal("-99.99"), "B", -1),
        (decimal.Decimal("1.25"), "B", 7),
    ]
    options: Any = {"ledger": tc.in_memory}
    with tc.Session(tmp_path / "v.avro", tc.one_row_each, tc.epsilon(1e9), **options) as session:
        late = session.filter(tc.col("at") >= DAY(2024, 1, 1)).agg(n=tc.count())
        assert late.release(epsilon=1e8).value("n") == 2
        with pytest.raises(UsageError, match="either"):
            session.group_by("either", keys=[3]).agg(n=tc.count()).preview(epsilon=1)


@pytest.mark.parametrize("name", ["v.arrow", "v.arrows", "v.orc"])
def test_what_is_missing_is_known_of_a_column_that_no_statistic_reads(name, tmp_path):
    columns = {"list": [[1], None, []], "binary": [b"a", None, b""], "number": [1, 2, 3]}
    if name != "v.orc":
        columns["time"] = [datetime.time(1), None, datetime.time(0)]
    WRITERS[name](tmp_path / name, pa.table(columns))
    with open_source(tmp_path / name) as source:
        for column in columns:
            missing = int(column != "number")
            assert count(source, tc.col(column).is_null()) == missing, column


def test_what_is_missing_is_known_of_every_column_of_avro(tmp_path):
    fields: dict[str, Any] = {
        "map": ["null", {"type": "map", "values": "long"}],
        "either": ["null", "int", "string"],
        "bytes": ["null", "bytes"],
        "number": "int",
    }
    rows = [
        {"map": {}, "either": 1, "bytes": b"", "number": 1},
        {"map": None, "either": None, "bytes": None, "number": 2},
    ]
    with open_source(avro_of(tmp_path / "v.avro", fields, rows)) as source:
        for column in fields:
            missing = int(column != "number")
            assert count(source, tc.col(column).is_null()) == missing, column


def avro_of(path: Path, fields: Any, rows: Any) -> Path:
    fastavro = pytest.importorskip("fastavro", reason="pip install 'tacit-dp[files]'")
    fields = [{"name": n, "type": t} for n, t in fields.items()]
    with path.open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, rows)
    return path


def test_decimals_of_avro_keep_all_their_digits(tmp_path):
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}
    with decimal.localcontext(prec=40):
        cells = [
            decimal.Decimal(f"{sign}123456789012345678901234567890123456.7{i}")
            for i in range(3)
            for sign in ("", "-")
        ]
        path = avro_of(tmp_path / "d.avro", {"p": kind}, [{"p": cell} for cell in cells])
    with decimal.localcontext(prec=2):  # a setting of the user's
        assert {row[0] for row in rows_of(path)} == set(cells)


@pytest.mark.parametrize("wrap", [list, lambda n: {"type": "array", "items": n}, lambda n: n])
def test_a_type_of_avro_within_itself_is_refused_and_one_used_twice_is_not(wrap, tmp_path):
    fields = [{"name": "next", "type": wrap(["null", "n.node"])}]
    node: Any = {"type": "record", "name": "n.node", "fields": fields}
    if wrap is not list:
        node = {"type": "map", "values": node}
    path = avro_of(tmp_path / "v.avro", {"p": "long", "t": ["null", node]}, [{"p": 1}])
    with pytest.raises(DataSourceError, match="a type within itself"):
        open_source(path)
    plain: Any = {"type": "enum", "name": "node", "symbols": ["A"]}
    path = avro_of(path, {"p": "long", "t": plain, "u": "node"}, [{"p": 1, "t": "A", "u": "A"}])
    with open_source(path) as source:
        assert source.columns["p"] == "integer"


def test_times_of_orc_are_refused_and_hinder_no_other_column(tmp_path):
    far = pa.array([0, 2**61], pa.timestamp("us"))
    pa.orc.write_table(pa.table({"p": [1, 2], "at": far}), str(tmp_path / "v.orc"))
    with open_source(tmp_path / "v.orc") as source:
        assert source.columns == {"p": "integer", "at": "other"}
        assert source.engine.rows(f"select sum(p) from {source.relation} as t") == [(3,)]
        assert "holds times of ORC" in source.schema["at"].problem


@pytest.mark.full
@pytest.mark.parametrize("name", WRITERS)
def test_files_that_are_cut_short_or_are_something_else(name, tmp_path):
    WRITERS[name](tmp_path / name, pa.Table.from_pylist(random_rows(random.Random(1), 50), SCHEMA))
    data = (tmp_path / name).read_bytes()
    for broken in (data[: len(data) * 2 // 3], data[:5], b"p,whole\n1,2\n"):
        (tmp_path / name).write_bytes(broken)
        with pytest.raises(DataSourceError, match=name) as raised:
            rows_of(tmp_path / name)
        assert "zzz" not in str(raised.value)
    with pytest.raises((UsageError, DataSourceError), match=r"skip= is for CSV|v\."):
        open_source(tmp_path / name, skip=1)


def test_several_files_and_a_list_of_them(tmp_path):
    table = pa.Table.from_pylist(random_rows(random.Random(2), 6), SCHEMA)
    for name in ("1.arrow", "2.arrow"):
        write_arrow(tmp_path / name, table)
    files = [tmp_path / "2.arrow", tmp_path / "1.arrow"]
    for source in (tmp_path, tmp_path / "*.arrow", files, [str(file) for file in files]):
        assert len(rows_of(source)) == 12
    with open_source(files) as one, open_source(files[::-1]) as two:
        assert one.identity == two.identity
        assert one.name.endswith(") 1.arrow + 2.arrow")
        assert one.reading_from(str(tmp_path.parent)).options["path"].endswith(one.name)
    write_arrow(tmp_path / "2.arrow", table.drop(["day"]))
    with pytest.raises(DataSourceError, match="have other columns or types"):
        open_source(files)
    for paths, match in (([], "at least one"), (["s3://b/v.parquet"], "local files")):
        with pytest.raises(UsageError, match=match):
            open_source(paths)


def test_a_dict_of_columns():
    whole, day = np.array([1, 2, 3]), np.array(["2024-01-01", "NaT", "1970-01-01"], "datetime64[D]")
    table = {"p": whole, "word": ["a", None, 5], "day": day, "n": np.array([1.5, np.nan, -1])}
    with open_source(table) as source:
        kinds = {"p": "integer", "word": "undeclared", "day": "undeclared", "n": "float"}
        assert source.columns == kinds
    assert [row[:3] for row in rows_of(table)] == [
        (1, "a", "2024-01-01"),
        (2, None, None),
        (3, "5", "1970-01-01"),
    ]
    for wrong, match in (
        ({"a": [1], "b": []}, "different lengths"),
        ({"a": 1}, "not a list"),
        ({}, "no columns"),
        ({"a": [1], "A": [2]}, "capital letters"),
        ({1: [1]}, "named by text"),
    ):
        with pytest.raises(DataSourceError, match=match):
            open_source(wrong)


def test_what_an_array_masks_is_missing():
    kinds = ["int64", "float16", "float64", "bool", "datetime64[s]", "datetime64[D]", "U3", "O"]
    cells = np.array([1, 0, 1])
    table = {n: np.ma.array(cells.astype(n), mask=[False, True, False]) for n in kinds}
    table = {"m0": np.ma.array(cells), "c0": table["int64"], **table}
    rows = rows_of(table)
    assert [[cell is None for cell in row[1:]] for row in rows].count([True] * 9) == 1
    assert all(None not in row for row in rows if row[1] is not None)
    assert [row[:2] for row in rows] == [(0, None), (1, 1), (1, 1)]


def test_a_column_of_orc_named_like_a_part_of_another_hinders_no_other(tmp_path):
    struct = pa.array([{"b": 5}, {"b": 6}])
    table = pa.table({"a.b": [1, 2], "a": struct, "l.b": [7, 8], "c": ["x", None]})
    pa.orc.write_table(table, str(tmp_path / "v.orc"))
    assert sorted(row[2:] for row in rows_of(tmp_path / "v.orc")) == [(7, "x"), (8, None)]
    with (
        tc.Session(tmp_path / "v.orc", tc.one_row_each, tc.epsilon(1)) as session,
        pytest.raises(UsageError, match=r"'a\.b' has a name that pyarrow takes for a part"),
    ):
        session.agg(n=tc.sum("a.b", 0, 9)).preview(epsilon=1)


def test_the_order_of_bytes_of_an_array_is_no_matter():
    days = np.array(["2024-01-01", "NaT"], "datetime64[s]")
    table = {
        "i": np.array([1, -2]),
        "h": np.array([1.5, 2], "f2"),
        "d": np.array([0.5, 9]),
        "t": days,
    }
    other = {n: cells.astype(cells.dtype.newbyteorder()) for n, cells in table.items()}
    assert not any(cells.dtype.isnative for cells in other.values())
    other["m"] = np.ma.array(other["i"], mask=[True, False])
    table["m"] = np.ma.array(table["i"], mask=[True, False])
    assert rows_of(other) == rows_of(table)
    frame = pd.DataFrame({n: other[n] for n in "ihd"})
    assert not frame.dtypes["i"].isnative
    assert rows_of(frame) == rows_of({n: table[n] for n in "ihd"})


@pytest.mark.full
def test_a_dataset_of_pyarrow(tmp_path):
    table = pa.Table.from_pylist(random_rows(random.Random(3), 20), SCHEMA)
    pa.parquet.write_table(table, tmp_path / "v.parquet")
    data = pa.dataset.dataset(str(tmp_path / "v.parquet"))
    with open_source(data) as source, open_source(table) as true:
        assert answers(source, {"number": "float"}) == answers(true, {"number": "float"})
    chosen = data.filter(pa.dataset.field("number") <= 5)
    with pytest.raises(DataSourceError, match="selects rows"):
        open_source(chosen)
    assert len(rows_of(pa.dataset.dataset([data, data]))) == 40
    (tmp_path / "v.csv").write_text("a\n1\n")
    with pytest.raises(DataSourceError, match=r"of \.?csv files"):
        open_source(pa.dataset.dataset(str(tmp_path / "v.csv"), format="csv"))
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(DataSourceError, match="table of Delta"):
        open_source(data)


def test_no_value_fails_a_question_of_a_dataset_whose_files_differ(tmp_path):
    def written(name: str, cells: list[int | None], kind: pa.DataType) -> None:
        pa.parquet.write_table(pa.table({"x": pa.array(cells, kind)}), tmp_path / name)

    written("a.parquet", [1], pa.int32())
    written("b.parquet", [None], pa.null())
    data = pa.dataset.dataset(str(tmp_path))
    match = r"column 'x' of the dataset is int32, and int64 in b\.parquet"
    with open_source(data) as source:
        written("b.parquet", [5], pa.int64())
        with pytest.raises(DataSourceError, match=match):
            source.engine.rows(f"select * from {source.relation}")
    for whole in (data, pa.dataset.dataset([data])):
        with pytest.raises(DataSourceError, match=match):
            open_source(whole)
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataSourceError, match=r"b\.parquet of the dataset cannot be read"):
        open_source(data)
    written("b.parquet", [None], pa.null())
    assert rows_of(data) == [(1,), (None,)]


@pytest.mark.parametrize("kind", ["jsonl", "xlsx", "avro", "db", "dta"])
def test_texts_that_one_array_does_not_hold_are_several_batches(kind, tmp_path, monkeypatch):
    """Of more than 2^31 bytes of text pyarrow makes several arrays; one more row decides that."""
    path = tmp_path / f"t.{kind}"
    table = {"s": ["a", "b", "c", "a"], "n": [1, 2, 3, 4]}
    options: dict[str, Any] = {}
    if kind == "jsonl":
        path.write_text(
            "".join(f'{{"s": "{s}", "n": {n}}}\n' for s, n in zip(*table.values(), strict=True))
        )
        options = {"types": {"s": "text", "n": "integer"}}
    elif kind == "avro":
        avro_of(path, {"s": "string", "n": "long"}, pa.table(table).to_pylist())
    elif kind == "db":
        with contextlib.closing(sqlite3.connect(path)) as made, made:
            made.execute("create table t (s text, n integer)")
            made.executemany("insert into t values (?, ?)", zip(*table.values(), strict=True))
        options = {"table": "t"}
    elif kind == "dta":
        pd.DataFrame(table).to_stata(path, write_index=False)
    else:
        pd.DataFrame(table).to_excel(path, index=False)
        options = {"types": {"s": "text", "n": "integer"}}

    def several(values: Any, type: Any = None, **more: Any) -> Any:
        one = made_of(values, type, **more)
        text = pa.types.is_string(one.type) or pa.types.is_binary(one.type)
        return pa.chunked_array([one[:3], one[3:]]) if text else one

    made_of = pa.array
    monkeypatch.setattr(pa, "array", several)
    with open_source(path, **options) as source:
        assert count(source, col("s") == "a") == 2
        assert count(source, col("n") > 1) == 3


@pytest.mark.slow
def test_texts_of_orc_may_be_more_than_one_array_holds(tmp_path):
    path = tmp_path / "t.orc"
    with pa.orc.ORCWriter(path, compression="zstd", dictionary_key_size_threshold=1.0) as writer:
        for first in range(0, 17_000, 1000):
            ids = range(first, first + 1000)
            writer.write(pa.table({"t": pa.array(["a" * 140_000] * 1000), "n": ids}))
    with open_source(path) as source:
        assert count(source, col("n") >= 1) == 16_999


def test_a_batch_of_orc_with_more_text_than_arrow_holds_is_several(tmp_path, monkeypatch):
    table = pa.table({"t": ["a"] * 900 + ["b" * 5000] * 40 + ["c"] * 60, "n": range(1000)})
    path = tmp_path / "t.orc"
    pa.orc.write_table(table, path)
    sizes = []

    class Format:
        def make_fragment(self, *_: object) -> Format:
            return self

        def to_batches(self, columns: list[str], batch_size: int, **_: Any) -> Any:
            sizes.append(batch_size)
            for batch in table.select(columns).to_batches(max_chunksize=batch_size):
                if batch.nbytes > 12_000:
                    raise pa.ArrowCapacityError("array cannot contain more")
                yield batch

    monkeypatch.setattr(pyarrow.dataset, "OrcFileFormat", Format)
    monkeypatch.setattr(schema_files, "_ROWS", 512)
    with open_source(path) as source:
        assert source.engine.rows(f"select sum(n), count(t) from {source.relation} as t") == [
            (499_500, 1000)
        ]
    assert sizes == [512, 32, 2]
