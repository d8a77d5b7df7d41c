"""Marginals counted one by one by Tumult Analytics, with an even split.  Run by marginals.py.

Each takes seconds: those that are answered at the limit of time are told.
"""

import itertools
import json
import os
import sys
import time
from importlib.metadata import version

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddOneRow,
    KeySet,
    PureDPBudget,
    QueryBuilder,
    RhoZCDPBudget,
    Session,
)


def main():
    answered = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Spark prints goes to stderr
    task = json.loads(sys.stdin.read())
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    table = spark.read.csv(task["file"], header=True, inferSchema=True).cache()
    table.count()
    kind = RhoZCDPBudget if task["kind"] == "rho" else PureDPBudget
    amount, asked = float(task["amount"]), len(task["sets"])
    print(json.dumps({"version": version("tmlt.analytics")}), file=answered, flush=True)
    start = time.perf_counter()
    session = Session.from_dataframe(kind(amount), "people", table, AddOneRow())
    answers = []
    for number, chosen in enumerate(task["sets"], start=1):
        listed = itertools.product(*(range(task["cells"][name]) for name in chosen))
        keys = KeySet.from_tuples(list(listed), columns=chosen)
        query = QueryBuilder("people").groupby(keys).count(name="n")
        last = number == asked
        share = session.remaining_privacy_budget if last else kind(amount / asked)
        found = session.evaluate(query, share).toPandas().sort_values(chosen)
        answers.append([float(value) for value in found["n"]])
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "answers": answers}), file=answered, flush=True)
        if seconds > task["limit"]:
            break


if __name__ == "__main__":
    main()
