"""Tables of SQLite: each cell by its own type, each column by its declaration."""

from __future__ import annotations

import datetime
import random
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit as tc
from support.tables.column_questions import answers
from tacit.errors import DataSourceError, UsageError
from tacit.tables.open_source import open_source

TYPES = {"p": "integer", "whole": "INT", "number": "real", "word": "varchar(9)", "flag": "boolean"}
KINDS = {"whole": "integer", "number": "float", "word": "text", "flag": "boolean"}
VALUES: dict[str, list[Any]] = {
    "whole": [0, 1, 5, -1, 2**63 - 1, -(2**63)],
    "number": [0.0, 5.0, -1.5, 2.0**40, 1e300],
    "word": ["", "a", "é", "9", "x" * 70_000],
    "flag": [0, 1],
}
# Of each column cells of other types, which SQLite stores in it all the same.
OTHERS: dict[str, list[Any]] = {
    "whole": ["x", 1.5, b"\0", "", 1e300],
    "number": ["x", b"1", ""],
    "word": [b"a", b""],
    "flag": [2, "yes", 0.5, b"1"],
}


def written(path: Path, rows: list[dict[str, Any]], types: dict[str, str] = TYPES) -> Path:
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute(f"create table visits ({', '.join(f'{n} {t}' for n, t in types.items())})")
    marks = ", ".join("?" for _ in types)
    connection.executemany(
        f"insert into visits values ({marks})", [[row[n] for n in types] for row in rows]
    )
    connection.commit()
    connection.close()
    return path


def random_rows(draw: random.Random, size: int) -> tuple[list[Any], list[Any]]:
    """Return rows, and the same with NULL for what is no value of its column's type."""
    stored, true = [], []
    for number in range(size):
        row: dict[str, Any] = {"p": number // 2}
        known = dict(row)
        for name, values in VALUES.items():
            row[name] = draw.choice([None, *values, *OTHERS[name]])
            fits = any(row[name] is value for value in values)
            known[name] = row[name] if fits else None
        stored.append(row)
        true.append(known)
    return stored, true


def in_duckdb(rows: list[dict[str, Any]]) -> Any:
    connection = duckdb.connect()
    kinds = "p bigint, whole bigint, number double, word varchar, flag boolean"
    connection.execute(f"create table data ({kinds})")
    connection.executemany(
        "insert into data values (?, ?, ?, ?, ?)", [[row[n] for n in TYPES] for row in rows]
    )
    return open_source(connection, "data")


@pytest.mark.parametrize("name", ["v.db", "v.sqlite", "v.sqlite3", "v.duckdb", "v"])
def test_integers_before_noise_are_those_of_the_same_rows_in_a_table(name, tmp_path):
    stored, true = random_rows(random.Random(name), 30)
    kinds = dict(random.Random(name).sample(sorted(KINDS.items()), 1))
    with (
        open_source(written(tmp_path / name, stored), "visits") as source,
        in_duckdb(true) as table,
    ):
        assert source.columns == {"p": "integer", **KINDS}
        assert source.name == f"{name}:visits"
        assert answers(source, kinds) == answers(table, kinds)


@pytest.mark.full
def test_integers_of_every_column_are_those_of_a_table(tmp_path):
    stored, true = random_rows(random.Random(1), 200)
    with open_source(written(tmp_path / "v.db", stored), "visits") as source, in_duckdb(true) as t:
        assert answers(source, KINDS) == answers(t, KINDS)


def rows_of(path: Path) -> list[Any]:
    with open_source(path, "visits") as source:
        return list(source.engine.rows(f"select * from {source.relation} as t order by all"))


def test_one_hostile_row_changes_no_other(tmp_path):
    rows = [{"p": 1, "whole": 5, "number": 1.5, "word": "a", "flag": 1}]
    before = rows_of(written(tmp_path / "v.db", rows))
    hostile = [{name: cell} for name, cells in OTHERS.items() for cell in cells]
    for change in [*hostile, {"p": "x"}, {"p": 2.5}, {"word": "\0"}, {"number": float("inf")}]:
        # among the first rows, by which a driver would decide, and among the last
        table = [{**rows[0], **change}, *rows, {**rows[0], **change}]
        after = rows_of(written(tmp_path / "v.db", table))
        assert len(after) == 3
        assert before[0] in after, change


def test_text_that_is_no_text_is_missing(tmp_path):
    path = written(tmp_path / "v.db", [], {"word": "text", "any_": ""})
    connection = sqlite3.connect(path)
    connection.execute("insert into visits values (cast(x'61fe' as text), cast(x'ff' as text))")
    connection.execute("insert into visits values ('a', 2.5), ('b', 1), ('c', 'x'), ('d', x'00')")
    connection.commit()
    connection.close()
    with open_source(path, "visits") as source:
        assert source.columns == {"word": "text", "any_": "undeclared"}
        rows = source.engine.rows(f"select * from {source.relation} as t")
    assert rows == [(None, None), ("a", "2.5"), ("b", "1"), ("c", "x"), ("d", None)]


def test_days_and_decimals_are_read_as_the_question_needs_them(tmp_path):
    types = {"day": "date", "cost": "decimal(9, 2)"}
    rows = [{"day": "2024-02-29", "cost": 2.25}, {"day": "2023-01-01", "cost": 3}]
    path = written(tmp_path / "v.db", rows, types)
    options: Any = {"table": "visits", "ledger": tc.in_memory}
    with tc.Session(path, tc.one_row_each, tc.epsilon(1e6), **options) as s:
        late = s.filter(tc.col("day") >= datetime.date(2024, 1, 1))
        assert late.agg(cost=tc.sum("cost", 0, 10)).release(epsilon=1e5).value(
            "cost"
        ) == pytest.approx(2.25, abs=0.1)


def test_a_session_and_a_declaration(tmp_path):
    rows, _ = random_rows(random.Random(2), 50)
    written(tmp_path / "v.sqlite3", rows)
    (tmp_path / "d.toml").write_text(
        'name = "d"\nunit = { person = "p", rows = 2 }\nbudget = { epsilon = 1e6 }\n'
        '[tables.visits]\npath = "v.sqlite3"\ntable = "visits"\n'
    )
    tc.Dataset.load(tmp_path / "d.toml").check()
    with tc.open(tmp_path / "d.toml") as session:
        answer = session.agg(n=tc.count_people()).release(epsilon=1e5)
        assert answer.value("n") == 25
    assert tc.check(tmp_path / "v.sqlite3", "visits").rows == 50


def test_a_database_of_duckdb_is_one_by_any_name(tmp_path):
    for name in ("v.db", "v.ddb", "v.sqlite", "v.dat", "v"):
        with duckdb.connect(tmp_path / name) as connection:
            connection.execute("create table visits as select 1 as a")
        with open_source(tmp_path / name, "visits") as source:
            assert source.columns == {"a": "integer"}


def test_what_cannot_be_read_is_said(tmp_path):
    path = written(tmp_path / "v.db", [dict.fromkeys(TYPES)])
    connection = sqlite3.connect(path)
    connection.execute("create view seen as select abs(whole) as a from visits")
    connection.commit()
    connection.close()
    with pytest.raises(DataSourceError, match="'seen' is a view of SQLite"):
        open_source(path, "seen")
    with pytest.raises(DataSourceError, match="there is no table 'visit'; did you mean 'visits'"):
        open_source(path, "visit")
    with pytest.raises(UsageError, match="is a database: name the table"):
        open_source(path)
    with pytest.raises(UsageError, match="a table of a database declares its own columns"):
        open_source(path, "visits", delimiter=";")
    whole = path.read_bytes()
    (tmp_path / "cut.db").write_bytes(whole[:700])
    with pytest.raises(DataSourceError, match="encrypted, damaged or locked"):
        open_source(tmp_path / "cut.db", "visits")


def test_a_table_that_changed_since_it_was_opened_is_not_read(tmp_path):
    path = written(tmp_path / "v.db", [dict.fromkeys(TYPES)])
    with open_source(path, "visits") as source:
        connection = sqlite3.connect(path)
        connection.execute("alter table visits add column more integer")
        connection.commit()
        connection.close()
        with pytest.raises(DataSourceError, match="changed"):
            source.engine.rows(f"select * from {source.relation} as t")
