#!/usr/bin/env bash
# pyspark 4.3.0: a column that ignores case (`string collate utf8_lcase`), written to ORC.
#
# Guess: it is read back as it was written, as from Parquet; or the write is refused.
# Seen:  files of ORC have plain text, without a warning: `name = 'anna'` finds 1 row of 2, and there
#        are 3 groups of 2.  A table `using orc` keeps the collation in its own schema, and every
#        question that filters by the column fails (FAILED_READ_FILE).
# Needs Java 17.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
cd "$folder" && venv/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import pyspark
from pyspark.sql import SparkSession

options = {"spark.ui.enabled": "false", "spark.log.level": "OFF"}
options |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
spark = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
kind = "name string collate utf8_lcase"
people = spark.createDataFrame([("Anna",), ("anna",), ("Otto",)], kind)


def seen(frame):
    try:
        rows = frame.filter("name = 'anna'").count(), frame.groupBy("name").count().count()
        return frame.schema["name"].dataType.simpleString(), *rows
    except Exception as error:
        return "FAILED_READ_FILE" if "FAILED_READ_FILE" in str(error) else repr(error)


found = {"in memory": seen(people)}
for form in ("parquet", "orc"):
    people.write.format(form).save(f"files.{form}")
    found[form] = seen(spark.read.format(form).load(f"files.{form}"))
    people.write.format(form).saveAsTable(f"people_{form}")
    found[f"table of {form}"] = seen(spark.table(f"people_{form}"))
print(pyspark.__version__, found)
kept = ("string collate UTF8_LCASE", 2, 2)
assert found == {
    "in memory": kept,
    "parquet": kept,
    "table of parquet": kept,
    "orc": ("string", 1, 3),
    "table of orc": "FAILED_READ_FILE",
}, found
PYTHON
