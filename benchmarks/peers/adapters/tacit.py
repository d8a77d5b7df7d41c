"""Tacit through its session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from benchmarks.peers.adapters.base import AGE, GROUPS, HOURS, Adapter, Answer, Columns

import tacit as tc


class Tacit(Adapter):
    """An Arrow table in; a fresh session of the total budget a question."""

    relation = "add or remove one row"
    accounting = "session of total epsilon, spent whole on one release"

    def version(self) -> str:
        return tc.__version__

    def load(self, columns: Columns) -> None:
        self.table = pa.table(dict(columns))
        self.keys = list(range(GROUPS))

    def session(self, epsilon: float) -> Any:
        return tc.Session(self.table, unit=tc.one_row_each, budget=tc.epsilon(epsilon), ledger=None)

    def one(self, statistic: Any, epsilon: float) -> float:
        release = self.session(epsilon).agg(answer=statistic).release(epsilon=epsilon)
        return float(release.to_arrow().column("answer")[0].as_py())

    def by_group(self, statistic: Any, epsilon: float) -> list[float]:
        grouped = self.session(epsilon).group_by("occupation", keys=self.keys)
        table = grouped.agg(answer=statistic).release(epsilon=epsilon).to_arrow()
        answers = dict(
            zip(
                table.column("occupation").to_pylist(),
                table.column("answer").to_pylist(),
                strict=True,
            )
        )
        return [float(answers[key]) for key in self.keys]

    def tasks(self) -> Mapping[str, Callable[[float], Answer]]:
        return {
            "count": lambda epsilon: self.one(tc.count(), epsilon),
            "sum": lambda epsilon: self.one(tc.sum("hours", *HOURS), epsilon),
            "mean": lambda epsilon: self.one(tc.mean("age", *AGE), epsilon),
            "median": lambda epsilon: self.one(tc.median("age", *AGE), epsilon),
            "group_count": lambda epsilon: self.by_group(tc.count(), epsilon),
            "group_mean": lambda epsilon: self.by_group(tc.mean("age", *AGE), epsilon),
        }


ADAPTER = Tacit
