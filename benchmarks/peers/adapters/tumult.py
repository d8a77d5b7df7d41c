"""Tumult Analytics on a local Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import pandas as pd
from benchmarks.peers.adapters.base import AGE, GROUPS, HOURS, Adapter, Answer, Columns
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session


class Tumult(Adapter):
    """A cached Spark table in; a fresh session of the total budget a question."""

    relation = "add or remove one row"
    accounting = "session of total epsilon, spent whole on one query"
    children = True

    def version(self) -> str:
        return version("tmlt.analytics")

    def load(self, columns: Columns) -> None:
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "4g")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.execution.arrow.pyspark.enabled", "true")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        self.table = spark.createDataFrame(pd.DataFrame(dict(columns))).cache()
        self.table.count()
        self.keys = KeySet.from_dict({"occupation": list(range(GROUPS))})
        self.people = QueryBuilder("people")

    def evaluate(self, query: Any, epsilon: float) -> pd.DataFrame:
        budget = PureDPBudget(epsilon)
        session = Session.from_dataframe(budget, "people", self.table, AddOneRow())
        frame: pd.DataFrame = session.evaluate(query, budget).toPandas()
        return frame

    def one(self, query: Any, epsilon: float) -> float:
        return float(self.evaluate(query, epsilon)["answer"].iloc[0])

    def by_group(self, query: Any, epsilon: float) -> list[float]:
        frame = self.evaluate(query, epsilon).sort_values("occupation")
        return [float(value) for value in frame["answer"]]

    def tasks(self) -> Mapping[str, Callable[[float], Answer]]:
        people, grouped = self.people, self.people.groupby(self.keys)
        single = {
            "count": people.count(name="answer"),
            "sum": people.sum("hours", *HOURS, name="answer"),
            "mean": people.average("age", *AGE, name="answer"),
            "median": people.median("age", *AGE, name="answer"),
        }
        by_group = {
            "group_count": grouped.count(name="answer"),
            "group_mean": grouped.average("age", *AGE, name="answer"),
        }
        return {
            **{name: self.task(self.one, query) for name, query in single.items()},
            **{name: self.task(self.by_group, query) for name, query in by_group.items()},
        }

    @staticmethod
    def task(run: Callable[[Any, float], Answer], query: Any) -> Callable[[float], Answer]:
        return lambda epsilon: run(query, epsilon)


ADAPTER = Tumult
