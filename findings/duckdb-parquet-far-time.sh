#!/usr/bin/env bash
# duckdb 2.0.1: a Parquet column of timestamp[ms] with one time that microseconds do not hold.
#
# Guess: only reading that column fails.
# Seen:  its statistics are converted while a query is planned, so the sum of another column fails
#        too, as does parquet_metadata(); without statistics in the footer the sum is answered.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 pyarrow==26.0.1
cd "$folder" && venv/bin/python - <<'PYTHON'
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

table = pa.table({"t": pa.array([0, 2**62], pa.timestamp("ms")), "k": [1, 2]})
pq.write_table(table, "with.parquet")
pq.write_table(table, "without.parquet", write_statistics=False)

def ask(sql):
    try:
        return duckdb.sql(sql).fetchall()[0][0]
    except duckdb.ConversionException:
        return "ConversionException"

found = [ask(f"select sum(k) from (select t, k from '{n}.parquet')") for n in ("with", "without")]
found.append(ask("select count(*) from parquet_metadata('with.parquet')"))
print(duckdb.__version__, found)
assert found == ["ConversionException", 3, "ConversionException"], found
PYTHON
