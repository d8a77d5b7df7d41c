"""Tumult Analytics on a local Spark."""

from __future__ import annotations

import importlib
import math
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from tacit.audit.attack_suite.system import Account, Bounds, NotOfferedError, Rows
from tacit.audit.attack_suite.systems.forking import seed_everything
from tacit.audit.attack_suite.systems.peers.peer_library import PeerLibrary

__all__ = ["SYSTEM", "Tumult"]

_METHODS = {"sum": "sum", "mean": "average", "variance": "variance", "median": "median"}
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "1",
}


class Tumult(PeerLibrary):
    """``tmlt.analytics.Session`` with one row a person, or bounded rows a person."""

    name = "tumult-analytics"
    title = "Tumult Analytics"
    distribution = "tmlt.analytics"
    modules = ("tmlt.analytics",)

    @cached_property
    def _library(self) -> Any:
        return importlib.import_module("tmlt.analytics")

    @cached_property
    def _spark(self) -> Any:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = importlib.import_module("pyspark.sql").SparkSession.builder.master("local[1]")
        for name, value in _SETTINGS.items():
            builder = builder.config(name, value)
        return builder.config("spark.sql.warehouse.dir", self._folder.name).getOrCreate()

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        """Where the library leaves its answers: the working directory, unless Spark is told."""
        return tempfile.TemporaryDirectory(prefix="tacit-audit-")

    def close(self) -> None:
        """Stop Spark, and remove what the library left."""
        if "_spark" in vars(self):
            self._spark.stop()
            self._folder.cleanup()

    def _session(self, budget: Any, shape: str, rows: Sequence[Any], unit: Any = None) -> Any:
        table = self._spark.createDataFrame(rows, shape)
        protected = unit or self._library.AddOneRow()
        return self._library.Session.from_dataframe(
            budget, "rows", table, protected_change=protected
        )

    def _asked(self, query: Any, budget: Any, shape: str, rows: Sequence[Any], **unit: Any) -> Any:
        session = self._session(budget, shape, rows, **unit)
        return [tuple(row) for row in session.evaluate(query, budget).collect()]

    def statistic(
        self,
        kind: str,
        rows: Rows,
        *,
        bounds: Bounds | None = None,
        edges: Sequence[float] | None = None,
        epsilon: float = 1.0,
    ) -> Any:
        """Ask one aggregate of a column."""
        shape, values = _column(rows)
        budget = self._pure(epsilon)
        start = self._library.QueryBuilder("rows")
        if kind == "count":
            query = start.count(name="a")
        elif kind in _METHODS:
            if bounds is None:
                raise TypeError("low and high are required")  # as its own signature says it
            limits = map(int if shape == "x long" else float, bounds)
            query = getattr(start, _METHODS[kind])("x", *limits, name="a")
        else:
            raise NotOfferedError(f"a {kind} in one query")
        return float(self._asked(query, budget, shape, values)[0][0])

    def _pure(self, epsilon: float) -> Any:
        whole = math.isfinite(epsilon) and epsilon == int(epsilon)
        return self._library.PureDPBudget(int(epsilon) if whole else epsilon)

    def group_counts(
        self,
        keys: Sequence[Any],
        public: Sequence[Any] | None,
        *,
        epsilon: float,
        delta: float = 0.0,
    ) -> Mapping[Any, float]:
        """Count public keys; or find keys at delta, which are all that is returned then."""
        rows = [(str(key),) for key in keys]
        start = self._library.QueryBuilder("rows")
        if public is None:
            budget = self._library.ApproxDPBudget(epsilon, delta)
            found = self._asked(start.get_groups(["g"]), budget, "g string", rows)
            return dict.fromkeys((key for (key,) in found), 0.0)
        keyset = self._library.KeySet.from_dict({"g": list(public)})
        query = start.groupby(keyset).count(name="n")
        return {k: float(n) for k, n in self._asked(query, self._pure(epsilon), "g string", rows)}

    def people_sum(
        self,
        rows: Sequence[tuple[int, str, float]],
        public: Sequence[str],
        *,
        rows_each: int,
        groups_each: int,
        upper: float,
        epsilon: float,
    ) -> Mapping[str, float]:
        """Sum by group under both of its bounds a person."""
        library = self._library
        keyset = library.KeySet.from_dict({"g": list(public)})
        query = (
            library.QueryBuilder("rows")
            .enforce(library.MaxGroupsPerID("g", groups_each))
            .enforce(library.MaxRowsPerGroupPerID("g", rows_each))
            .groupby(keyset)
            .sum("x", 0.0, float(upper), name="s")
        )
        unit = library.AddRowsWithID("person")
        shape = "person long, g string, x double"
        found = self._asked(query, self._pure(epsilon), shape, list(rows), unit=unit)
        return {group: float(total) for group, total in found}

    def joined_count(self, keys: Rows, public_keys: Rows, *, epsilon: float) -> float:
        """Count rows joined with a public table."""
        budget = self._pure(epsilon)
        session = self._session(budget, "site long", [(key,) for key in keys])
        public = self._spark.createDataFrame([(k, 1) for k in public_keys], "site long, one long")
        session.add_public_dataframe("sites", public)
        query = self._library.QueryBuilder("rows").join_public("sites").count(name="n")
        return float(session.evaluate(query, budget).collect()[0][0])

    def account(self, budget: float) -> Account:
        """Return a session, which holds its budget."""
        made = self._session(self._pure(budget), "x long", [(i % 10,) for i in range(100)])
        return _Budget(self, made, budget)

    def seeded(self, seed: int) -> Sequence[float]:
        """Seed Python's and numpy's generators, and count."""
        seed_everything(seed)
        return [self.statistic("count", [1.0] * 9, epsilon=0.01) for _ in range(3)]


class _Budget(Account):
    def __init__(self, system: Tumult, session: Any, budget: float) -> None:
        self._system, self._session, self._budget = system, session, budget

    def ask(self, epsilon: float, label: str) -> float:
        """Count, or sum where the label names bounds."""
        library = self._system._library
        query = library.QueryBuilder("rows").count(name="a")
        if label.startswith("bounds "):
            low, high = (int(word) for word in label.split()[1::2])
            query = library.QueryBuilder("rows").sum("x", low, high, name="a")
        return float(self._session.evaluate(query, library.PureDPBudget(epsilon)).collect()[0][0])

    def spent(self) -> float:
        """Return what is missing of the budget."""
        return self._budget - float(self._session.remaining_privacy_budget.epsilon)


def _column(rows: Rows) -> tuple[str, list[tuple[Any]]]:
    kinds = {type(value) for value in rows if value is not None}
    if str in kinds:
        raise NotOfferedError("a column of numbers with texts in it")
    if kinds == {int}:
        return "x long", [(value,) for value in rows]
    return "x double", [(None if value is None else float(value),) for value in rows]


SYSTEM = Tumult
