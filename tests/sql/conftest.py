"""What the tests of SQL share."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from sql.sql_rows import KINDS, TABLE


@pytest.fixture(scope="module")
def engine() -> Any:
    connection = duckdb.connect()
    listed = ", ".join(f"{name} {kind}" for name, kind in KINDS.items())
    connection.execute(f"create table r (place BIGINT, {listed})")
    for index, row in enumerate(TABLE):
        connection.execute("insert into r values (?, ?, ?, ?, ?)", [index, *row.values()])
    return connection
