"""What the tests of SQL share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import tacit as tc
from sql.tables_and_queries import KINDS, ROWS, TABLE


@pytest.fixture(scope="module")
def engine() -> Any:
    connection = duckdb.connect()
    listed = ", ".join(f"{name} {kind}" for name, kind in KINDS.items())
    connection.execute(f"create table r (place BIGINT, {listed})")
    for index, row in enumerate(TABLE):
        connection.execute("insert into r values (?, ?, ?, ?, ?)", [index, *row.values()])
    return connection


@pytest.fixture(scope="module")
def session() -> Iterator[tc.Session]:
    with tc.Session(
        ROWS,
        tc.unit("person", rows=8, groups=3),
        tc.epsilon_delta(1000, "1e-3"),
        name="visits",
    ) as opened:
        yield opened
