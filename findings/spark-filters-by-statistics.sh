#!/usr/bin/env bash
# pyspark 4.3.0 and pyarrow 26.0.1: five rows that pass a filter, without and with one more row.
#
# Guess: a row passes or not by its own values, wherever it is stored.
# Seen:  five rows are left out unless another row that passes is in their group:
#        - `x >= 0` of -0.0 in Parquet of pyarrow: the dictionary has 0.0 above -0.0;
#        - `x > 5` of NaN in Parquet: statistics are without NaN, which is above all numbers;
#        - `x > 5` of NaN in a cached DataFrame, for the same reason;
#        - `t < '1970-01-01 00:00:00.0005'` of times in milliseconds in Parquet: the literal is cut
#          to 0 ms;
#        - `t >= '1500-01-01'` of that time in ORC: its statistics are in the Julian calendar.
# Needs Java 17.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0 pyarrow==26.0.1
cd "$folder" && venv/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import SparkSession

options = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}
options |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
spark = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
nan, instant = float("nan"), pa.timestamp("ms", "UTC")


def parquet(name, cells, kind=None):
    pq.write_table(pa.table({"x": pa.array(cells, kind)}), name)
    return spark.read.parquet(name)


def cached(name, cells):
    frame = spark.createDataFrame([(x,) for x in cells], "x double").coalesce(1).cache()
    frame.count()
    return frame


def orc(name, cells):
    listed = ", ".join(f"timestamp'{cell}'" for cell in cells)
    frame = spark.sql(f"select explode(array({listed})) as x").coalesce(1)
    frame.write.orc(name)
    return spark.read.orc(name)


found = {}
for name, make, cells, other, condition in (
    ("zeros", parquet, [-0.0] * 5, 7.0, "x >= 0"),
    ("nan", parquet, [nan] * 5 + [1.0], 9.0, "x > 5"),
    ("nan in a cache", cached, [nan] * 5 + [1.0], 9.0, "x > 5"),
    ("millis", lambda n, c: parquet(n, c, instant), [0] * 5, -9, "x < timestamp'1970-01-01 00:00:00.0005'"),
    ("orc", orc, ["1500-01-01"] * 5, "2024-01-01", "x >= timestamp'1500-01-01'"),
):
    pair = cells, [*cells, other]
    found[name] = [make(f"{name}-{i}", each).filter(condition).count() for i, each in enumerate(pair)]
print(pyspark.__version__, pa.__version__, found)
assert found == {
    "zeros": [0, 6],
    "nan": [0, 6],
    "nan in a cache": [0, 6],
    "millis": [0, 6],
    "orc": [0, 6],
}, found
PYTHON
