"""OpenDP through its dataframe interface (polars)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from benchmarks.peers.adapters.base import AGE, GROUPS, HOURS, Adapter, Answer, Columns


class OpenDP(Adapter):
    """A fresh `Context` a question, all of whose loss goes to that question."""

    relation = "add or remove one row"
    accounting = "Context of total epsilon, one query; the mean's two noises share it"

    def version(self) -> str:
        return version("opendp")

    def load(self, columns: Columns) -> None:
        dp.enable_features("contrib")
        self.frame = pl.DataFrame(dict(columns)).lazy()
        self.keys = pl.LazyFrame({"occupation": np.arange(GROUPS)})
        # A public bound on the number of rows, which the library needs to rule out overflow.
        self.margin = dp.polars.Margin(max_length=2 * len(columns["age"]))

    def query(self, epsilon: float) -> Any:
        return dp.Context.compositor(
            data=self.frame,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=epsilon),
            split_evenly_over=1,
            margins=[self.margin],
        ).query()

    def one(self, epsilon: float, expression: Any) -> float:
        return float(self.query(epsilon).select(expression).release().collect().item())

    def by_group(self, epsilon: float, expression: Any) -> list[float]:
        query = self.query(epsilon).group_by("occupation").agg(expression.alias("answer"))
        frame = query.with_keys(self.keys).release().collect().sort("occupation")
        return [float(value) for value in frame["answer"]]

    def tasks(self) -> Mapping[str, Callable[[float], Answer]]:
        # The library adds the namespace `dp` to expressions at run time.
        columns: Any = pl
        age, hours = columns.col("age").dp, columns.col("hours").dp
        return {
            "count": lambda epsilon: self.one(epsilon, dp.len(signed=True)),
            "sum": lambda epsilon: self.one(epsilon, hours.sum(HOURS)),
            "mean": lambda epsilon: self.one(epsilon, age.mean(AGE)),
            "median": lambda epsilon: self.one(epsilon, age.median(list(range(AGE[1] + 1)))),
            "group_count": lambda epsilon: self.by_group(epsilon, dp.len(signed=True)),
            "group_mean": lambda epsilon: self.by_group(epsilon, age.mean(AGE)),
        }


ADAPTER = OpenDP
