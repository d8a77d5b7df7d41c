"""Columns of Arrow are read by their types, or refused where they are named."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Rows

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
            found = Query(source, OneRowEach(), where=col(name) == value).run([Rows()])
            assert found.of(Rows()).tolist() == [1], name
        for name in ("zoned", "seconds"):
            found = Query(source, OneRowEach(), where=col(name) == "2024-01-01").run([Rows()])
            assert found.of(Rows()).tolist() == [1], name  # in UTC
        for name, kind in KINDS.items():
            if kind == "other":
                with pytest.raises(UsageError) as caught:
                    Query(source, OneRowEach(), where=col(name) == 1)
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
                    Query(opened, OneRowEach(), where=where).run([Rows()]).of(Rows()).tolist()
                    for where in (col("s").lower() == "ok", col("s").is_null())
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
                Query(source, OneRowEach()).run([Rows()])
