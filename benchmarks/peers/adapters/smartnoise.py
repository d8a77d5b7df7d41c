"""SmartNoise SQL over a pandas table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import pandas as pd
from benchmarks.peers.adapters.base import AGE, GROUPS, HOURS, Adapter, Answer, Columns
from snsql import Privacy, from_df
from snsql.sql import PrivateReader


def _column(kind: str, bounds: tuple[int, int]) -> dict[str, Any]:
    return {"type": kind, "lower": bounds[0], "upper": bounds[1]}


METADATA = {
    "": {
        "census": {
            "people": {
                "row_privacy": True,
                "censor_dims": False,
                "clamp_counts": False,
                "age": _column("int", AGE),
                "hours": _column("int", HOURS),
                "occupation": {"type": "int"},
            }
        }
    }
}


class SmartNoise(Adapter):
    """SQL text in; the epsilon a column is scaled so that the query costs the total asked for."""

    relation = "add or remove one row"
    accounting = "epsilon a column, scaled so that the library's own cost of the query is the total"

    def version(self) -> str:
        return version("smartnoise-sql")

    def load(self, columns: Columns) -> None:
        # The inner reader keeps the table in its own engine; a private one is made a question.
        people = pd.DataFrame(dict(columns))
        self.reader = from_df(people, metadata=METADATA, privacy=Privacy(epsilon=1.0)).reader
        self.costs: dict[str, float] = {}

    def private(self, epsilon: float) -> PrivateReader:
        return PrivateReader(self.reader, METADATA, Privacy(epsilon=epsilon))

    def rows(self, query: str, epsilon: float) -> list[tuple[Any, ...]]:
        if query not in self.costs:
            self.costs[query] = float(self.private(1.0).get_privacy_cost(query)[0])
        reader = self.private(epsilon / self.costs[query])
        return [tuple(row) for row in reader.execute(query)[1:]]

    def one(self, expression: str, epsilon: float) -> float:
        return float(self.rows(f"SELECT {expression} AS answer FROM census.people", epsilon)[0][0])

    def by_group(self, expression: str, epsilon: float) -> list[float]:
        query = f"SELECT occupation, {expression} AS answer FROM census.people GROUP BY occupation"
        answers = {int(key): float(value) for key, value in self.rows(query, epsilon)}
        return [answers[key] for key in range(GROUPS)]

    def tasks(self) -> Mapping[str, Callable[[float], Answer]]:
        return {
            "count": lambda epsilon: self.one("COUNT(*)", epsilon),
            "sum": lambda epsilon: self.one("SUM(hours)", epsilon),
            "mean": lambda epsilon: self.one("AVG(age)", epsilon),
            "group_count": lambda epsilon: self.by_group("COUNT(*)", epsilon),
            "group_mean": lambda epsilon: self.by_group("AVG(age)", epsilon),
        }


ADAPTER = SmartNoise
