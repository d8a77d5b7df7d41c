"""Tacit: a session on a DataFrame of Spark, with its ledger in a file."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit.accounting.open_ledger import in_memory
from tacit.audit.attack_suite.system import (
    NotReadyError,
    System,
    SystemBudget,
)
from tacit.audit.attack_suite.systems.tacit_session import (
    Column,
    TacitAccount,
    TacitSession,
    budget_for,
    quiet,
    write_parquet,
)
from tacit.errors import need
from tacit.tables import Session, unit
from tacit.tables import sum as total

_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class TacitSpark(TacitSession):
    """Questions of a session on Parquet files that a local Spark reads."""

    name = "tacit-spark"
    _began: Any = None

    def refuse_unready(self) -> None:
        home = os.environ.get("JAVA_HOME")
        if shutil.which("java") is None and not (home and Path(home, "bin", "java").exists()):
            raise NotReadyError("no Java, which Spark needs")

    @cached_property
    def _spark(self) -> Any:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        sql = need("pyspark.sql", "spark")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pyspark, about the versions of others
            self._began = sql.SparkSession.getActiveSession() is None
            builder = sql.SparkSession.builder.master("local[1]")
            for name, value in _SETTINGS.items():
                builder = builder.config(name, value)
            return builder.getOrCreate()

    def close(self) -> None:
        if self._began:
            self._spark.stop()

    @contextlib.contextmanager
    def session(self, columns: Mapping[str, Column], each: Any, budget: Any) -> Iterator[Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            write_parquet(columns, path)
            table = self._spark.read.parquet(str(path))
            with Session(table, each, budget, in_memory, name="rows") as session:
                yield session

    joined_count = System.joined_count  # declared data sets are files or tables of PostgreSQL

    read_sum = System.read_sum  # Spark itself reads files

    def changing_source(self, rows_each: int, *, epsilon: float) -> float:
        drawn = self._spark.sql(
            "select 7 as person, cast(1 as double) as x from range(1000) where rand() < 0.5"
        )
        each = unit("person", rows=rows_each, groups=1)
        opened = Session(drawn, each, budget_for(epsilon), in_memory, name="rows")
        with quiet(), opened as session:
            answer: Any = session.agg(s=total("x", 0, 1)).release(epsilon=epsilon)
            return float(answer.value("s"))

    def account(self, budget: float) -> SystemBudget:
        return TacitAccount.fresh(budget, self._csv)

    def _csv(self, path: Path) -> Any:
        return self._spark.read.schema("x int").csv(str(path), header=True)


SYSTEM = TacitSpark
