"""Count, sum and mean by group with tumult-analytics, on a table of ``benchmarks/tables_spark.py``.

It needs a Python of its own, for it wants an older Spark.  What was measured: Python 3.9 with
tmlt.analytics 0.20.2, tmlt.core 0.18.2, pyspark 3.5.9, pandas 1.5.3, numpy 1.26.4 (``pip install
tmlt.analytics`` brings them), Java 17.  Run by ``PEER_PYTHON_TUMULT=... python
benchmarks/tables_spark.py``, or: ``python tumult_tables.py FILE``.
"""

import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddOneRow,
    AddRowsWithID,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)


def java_seconds():
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        if name.endswith("(java") and int(fields[1]) == os.getpid():
            ticks += sum(map(int, fields[11:15]))  # Python workers that have ended are its children
    return ticks / os.sysconf("SC_CLK_TCK")


def main():
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config(
        "spark.ui.enabled", "false"
    )
    spark = builder.getOrCreate()
    rows = spark.read.parquet(sys.argv[1])
    keys = KeySet.from_dict({"occupation": [f"group {i}" for i in range(14)]})
    bounded = QueryBuilder("rows").enforce(MaxRowsPerID(10))
    for unit, start, told in (
        (AddOneRow(), QueryBuilder("rows"), ""),
        (AddRowsWithID("person"), bounded, ", 10 rows a person"),
    ):
        session = Session.from_dataframe(
            PureDPBudget(float("inf")), "rows", rows, protected_change=unit
        )
        table = start.drop_null_and_nan(["age"])
        asked = {
            "count by group": (start.groupby(keys).count(), 3),
            "sum by group": (table.groupby(keys).sum("age", 0, 100), 3),
            "mean by group": (table.groupby(keys).average("age", 0, 100), 1),  # minutes each
        }
        for name, (query, times) in asked.items():
            found = [ask(session, query) for _ in range(times)]
            seconds, elapsed = min(s for s, _ in found), min(c for _, c in found)
            print(f"tumult {name}{told}\t{seconds:.2f}\t{elapsed:.2f}", flush=True)


def ask(session, query):
    begin, clock = java_seconds(), time.perf_counter()
    session.evaluate(query, PureDPBudget(1)).toPandas()
    return java_seconds() - begin, time.perf_counter() - clock


if __name__ == "__main__":
    main()
