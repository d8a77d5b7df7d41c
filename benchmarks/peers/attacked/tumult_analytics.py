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

from tacit.audit.attack_suite.system import (
    Bounds,
    InstalledLibrary,
    NotOfferedError,
    Rows,
    SystemBudget,
    seed_everything,
)

_METHODS = {"sum": "sum", "mean": "average", "variance": "variance", "median": "median"}
_FILTERS = {"quotient": "1 / x > 0", "logarithm": "ln(x) > 0", "number": "double(x) > 0"}
_PEOPLE = "person long, g string"
_AT_ONCE = 500
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "1",
}


class Tumult(InstalledLibrary):
    """``tmlt.analytics.Session`` with one row a person, or bounded rows a person."""

    name = "tumult-analytics"
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
        return self._opened(budget, self._spark.createDataFrame(rows, shape), unit)

    def _opened(self, budget: Any, table: Any, unit: Any = None) -> Any:
        protected = unit or self._library.AddOneRow()
        return self._library.Session.from_dataframe(
            budget, "rows", table, protected_change=protected
        )

    def _answer_of(
        self, query: Any, budget: Any, shape: str, rows: Sequence[Any], **unit: Any
    ) -> Any:
        return _answers(self._session(budget, shape, rows, **unit), query, budget)

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
        # The second time that the same is asked, and later, it is asked for many public groups at
        # once, each with these rows.  The library adds noise to each group on its own, and to a
        # table without groups as to one group, so that each is an answer as the first one was.
        asked = kind, rows, bounds, edges, epsilon
        key = repr(asked)
        if key not in self._ahead:
            self._ahead[key] = []
            return self._released(*asked)[0]
        self._ahead[key] = self._ahead[key] or self._released(*asked, groups=_AT_ONCE)
        return self._ahead[key].pop()

    @cached_property
    def _ahead(self) -> dict[str, list[Any]]:
        """Answers that were not asked for yet, by what was asked."""
        return {}

    def _released(
        self,
        kind: str,
        rows: Rows,
        bounds: Bounds | None,
        edges: Sequence[float] | None,
        epsilon: float,
        groups: int = 0,
    ) -> list[Any]:
        """Return the answers of one release: of all rows, or of each of so many equal groups."""
        library, spark = self._library, self._spark
        shape, values = _column(rows)
        number = int if shape == "x long" else float
        query: Any = library.QueryBuilder("rows")
        table = spark.createDataFrame(values, shape)
        keys: dict[str, list[int]] = {}
        if groups:
            table = spark.range(groups).toDF("g").crossJoin(table)
            keys["g"] = list(range(groups))
        if kind == "histogram":
            if edges is None:
                raise TypeError("bin_edges is required")  # as its own signature says it
            keys["bin"] = list(range(len(edges) - 1))
            spec = library.BinningSpec([number(edge) for edge in edges], keys["bin"])
            query = query.bin_column("x", spec, "bin")
        if keys:
            query = query.groupby(library.KeySet.from_dict(keys))
        if kind in ("count", "histogram"):
            query = query.count(name="a")
        elif bounds is None:
            raise TypeError("low and high are required")  # as its own signature says it
        else:
            query = getattr(query, _METHODS[kind])("x", *map(number, bounds), name="a")
        budget = self._pure(epsilon)
        found = _answers(self._opened(budget, table), query, budget)
        if kind != "histogram":
            return [float(answer) for *_, answer in found]
        bars = [float(answer) for *_, answer in sorted(found)]
        width = len(keys["bin"])
        return [bars[at : at + width] for at in range(0, len(bars), width)]

    def filtered_count(
        self, predicate: str, rows: Rows, *, epsilon: float, other: Rows = ()
    ) -> float:
        """Count under a condition in the SQL of Spark."""
        if predicate not in _FILTERS:
            raise NotOfferedError(f"the predicate {predicate}")
        texts = any(isinstance(value, str) for value in rows)
        shape, values = ("x string", [(x,) for x in rows]) if texts else _column(rows)
        query = self._library.QueryBuilder("rows").filter(_FILTERS[predicate]).count(name="a")
        return float(self._answer_of(query, self._pure(epsilon), shape, values)[0][0])

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
            found = self._answer_of(start.get_groups(["g"]), budget, "g string", rows)
            return dict.fromkeys((key for (key,) in found), 0.0)
        keyset = self._library.KeySet.from_dict({"g": list(public)})
        query = start.groupby(keyset).count(name="n")
        return {
            k: float(n) for k, n in self._answer_of(query, self._pure(epsilon), "g string", rows)
        }

    def people_keys(
        self, rows: Sequence[tuple[int, str]], groups_each: int, *, epsilon: float, delta: float
    ) -> Sequence[str]:
        """Find keys under a bound of the groups of a person."""
        library = self._library
        query = (
            library.QueryBuilder("rows")
            .enforce(library.MaxGroupsPerID("g", groups_each))
            .enforce(library.MaxRowsPerGroupPerID("g", 1))
            .get_groups(["g"])
        )
        unit = library.AddRowsWithID("person")
        budget = library.ApproxDPBudget(epsilon, delta)
        return [key for (key,) in self._answer_of(query, budget, _PEOPLE, list(rows), unit=unit)]

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
        shape = f"{_PEOPLE}, x double"
        found = self._answer_of(query, self._pure(epsilon), shape, list(rows), unit=unit)
        return {group: float(total) for group, total in found}

    def joined_count(self, keys: Rows, public_keys: Rows, *, epsilon: float) -> float:
        """Count rows joined with a public table."""
        budget = self._pure(epsilon)
        session = self._session(budget, "site long", [(key,) for key in keys])
        public = self._spark.createDataFrame([(k, 1) for k in public_keys], "site long, one long")
        session.add_public_dataframe("sites", public)
        query = self._library.QueryBuilder("rows").join_public("sites").count(name="n")
        return float(session.evaluate(query, budget).collect()[0][0])

    def account(self, budget: float) -> SystemBudget:
        """Return a session, which holds its budget."""
        made = self._session(self._pure(budget), "x long", [(i % 10,) for i in range(100)])
        return _Budget(self, made, budget)

    def seeded(self, seed: int) -> Sequence[float]:
        """Seed Python's and numpy's generators, and count."""
        seed_everything(seed)
        return [self._released("count", [1.0] * 9, None, None, 0.01)[0] for _ in range(3)]


class _Budget(SystemBudget):
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


def _answers(session: Any, query: Any, budget: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.evaluate(query, budget).collect()]


def _column(rows: Rows) -> tuple[str, list[tuple[Any]]]:
    kinds = {type(value) for value in rows if value is not None}
    if str in kinds:
        raise NotOfferedError("a column of numbers with texts in it")
    if kinds == {int}:
        return "x long", [(value,) for value in rows]
    return "x double", [(None if value is None else float(value),) for value in rows]


SYSTEM = Tumult
