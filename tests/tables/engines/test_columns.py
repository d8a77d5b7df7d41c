"""Declared columns of a CSV file, cell by cell: what does not fit is missing."""

import datetime

import duckdb
import pytest

from tacit.tables.engines.csv import CsvFormat, declared_sql
from tacit.tables.engines.duckdb.engine import DUCKDB


def read(cell, kind, **form):
    sql = declared_sql("c", kind, CsvFormat(**form), DUCKDB)
    return duckdb.execute(f"select {sql} from (select ?::varchar as c)", [cell]).fetchall()[0][0]


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("integer", " 12 ", 12),
        ("integer", "1.5", None),
        ("float", "-0.5", -0.5),
        ("boolean", "Yes", True),
        ("boolean", "maybe", None),
        ("date", "2026-01-31", datetime.date(2026, 1, 31)),
        ("date", "31.01.2026", None),
        ("timestamp", "2026-01-31 18:30", datetime.datetime(2026, 1, 31, 18, 30)),
        ("text", " x ", " x "),
        (None, "12", "12"),
    ],
)
def test_a_cell_of_a_declared_kind(kind, cell, value):
    assert read(cell, kind) == value


def test_a_format_of_its_own():
    day = {"date_format": "%d.%m.%Y"}
    assert read("31.01.2026", "date", **day) == datetime.date(2026, 1, 31)
    assert read("2026-01-31", "date", **day) is None
    assert read("31.02.2026", "date", **day) is None
    time = {"time_format": "%d.%m.%Y %H:%M"}
    assert read(" 31.01.2026 08:05 ", "timestamp", **time) == datetime.datetime(2026, 1, 31, 8, 5)
