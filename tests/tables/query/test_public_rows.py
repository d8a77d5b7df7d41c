"""The rows of a public table: what is read of it is what is joined, by unique keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pytest

from tacit.errors import UsageError
from tacit.expressions.schema import Column, Schema
from tacit.tables.open_source import Source, open_source
from tacit.tables.query.joins import Join, joined, read_public

Row = tuple[Any, ...]


def put(connection: Any, name: str, types: Sequence[str], rows: Iterable[Row]) -> None:
    listed = ", ".join(f"({', '.join(map(written, row))})" for row in rows)
    columns = ", ".join(types)
    connection.execute(f"create or replace table {name} ({columns})")
    if listed:
        connection.execute(f"insert into {name} values {listed}")


def written(value: Any) -> str:
    return "null" if value is None else f"'{value}'"


def open_public(rows: Iterable[Row], types: Sequence[str]) -> Source:
    connection = duckdb.connect()
    put(connection, "sites", types, rows)
    return open_source(connection, "sites")


TYPES = ("site bigint", "region varchar", "rate decimal(9,2)", "since timestamp", "open boolean")
SITES: list[Row] = [
    (1, "north", "0.25", "2024-01-31 10:30:00", "true"),
    (2, None, None, None, None),
    (None, "nowhere", "1", None, "false"),
]


def test_what_is_read_of_a_public_table_is_what_is_joined() -> None:
    sites = read_public(open_public(SITES, TYPES), "sites", ("site",), ("integer",))
    assert sites.rows == (
        ("1", "north", "0.25", "2024-01-31 10:30:00", "true"),
        ("2", None, None, None, None),
    )
    again = read_public(open_public(SITES[:2][::-1], TYPES), "sites", ("site",), ("integer",))
    assert again.digest == sites.digest
    other = read_public(open_public(SITES[:1], TYPES), "sites", ("site",), ("integer",))
    assert other.digest != sites.digest
    connection = duckdb.connect()
    put(connection, "visits", ("place integer",), [(1,), (1,), (2,), (3,), (None,)])
    source = open_source(connection, "visits")
    join = Join(
        "sites",
        "left",
        (("place", "site"),),
        tuple((name, name, kind) for name, _, kind in sites.columns),
        sites.digest,
    )
    made = joined(source, join, sites.beside(["place"], source.schema, source.engine))
    shown = "place, region, rate, cast(since as varchar), open"
    found = source.engine.rows(f"select {shown} from {made.relation} as r")
    north = (1, "north", 0.25, "2024-01-31 10:30:00", True)
    nothing = [(place, None, None, None, None) for place in (2, 3, None)]
    assert Counter(found) == Counter([north, north, *nothing])
    assert [c.kind for c in made.schema.values()] == ["integer", "text", "float", "date", "boolean"]


@pytest.mark.parametrize("rows", [[], [(None, None, None, None, None)]])
def test_an_empty_public_table_joins_nothing(rows: list[Row]) -> None:
    sites = read_public(open_public(rows, TYPES), "sites", ("site",), ("integer",))
    connection = duckdb.connect()
    put(connection, "visits", ("place integer",), [(1,)])
    source = open_source(connection, "visits")
    columns = tuple((name, name, kind) for name, _, kind in sites.columns)
    join = Join("sites", "left", (("place", "site"),), columns, sites.digest)
    made = joined(source, join, sites.beside(["place"], source.schema, source.engine))
    assert source.engine.rows(f"select * from {made.relation} as r") == [(1, *[None] * 4)]


@pytest.mark.parametrize("twice", [1, "01"])
def test_a_key_is_unique_as_it_is_compared(twice: Any) -> None:
    """Two texts that are one whole number are one key of a column of whole numbers."""
    source = open_public([("1", "a"), (twice, "b")], ("site varchar", "region varchar"))
    read_as_text = twice == "01"
    schema = Schema([Column(n, "undeclared", "VARCHAR") for n in ("site", "region")])
    source = Source("sites", schema, source.engine, source.relation)
    if read_as_text:
        assert len(read_public(source, "sites", ("site",), ("text",)).rows) == 2
    with pytest.raises(UsageError, match="two rows of the public table 'sites' have the same site"):
        read_public(source, "sites", ("site",), ("integer",))


def test_a_public_table_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.tables.query.joins._MOST", 2)
    with pytest.raises(UsageError, match="more than 2 rows"):
        read_public(open_public(SITES, TYPES), "sites", ("site",), ("integer",))
