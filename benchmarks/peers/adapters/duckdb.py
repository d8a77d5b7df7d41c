"""DuckDB without privacy, over an Arrow table in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import duckdb
import pyarrow as pa
from benchmarks.peers.adapters.base import GROUPS, Adapter, Answer, Columns


class DuckDB(Adapter):
    """Plain SQL; epsilon is not used."""

    relation = "none (no privacy)"
    accounting = "none"

    def version(self) -> str:
        return duckdb.__version__

    def load(self, columns: Columns) -> None:
        self.connection = duckdb.connect()
        self.connection.register("people", pa.table(dict(columns)))

    def one(self, expression: str) -> float:
        row = self.connection.execute(f"SELECT {expression} FROM people").fetchone()
        assert row is not None
        return float(row[0])

    def by_group(self, expression: str) -> list[float]:
        query = f"SELECT occupation, {expression} FROM people GROUP BY occupation"
        answers = dict(self.connection.execute(query).fetchall())
        return [float(answers[key]) for key in range(GROUPS)]

    def tasks(self) -> Mapping[str, Callable[[float], Answer]]:
        return {
            "count": lambda _: self.one("count(*)"),
            "sum": lambda _: self.one("sum(hours)"),
            "mean": lambda _: self.one("avg(age)"),
            "median": lambda _: self.one("median(age)"),
            "group_count": lambda _: self.by_group("count(*)"),
            "group_mean": lambda _: self.by_group("avg(age)"),
        }


ADAPTER = DuckDB
