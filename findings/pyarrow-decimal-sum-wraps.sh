#!/usr/bin/env bash
# pyarrow 26.0.1, polars 2.1.0 and DuckDB 2.0.1 (Python 3.11): the sum of a decimal(38, 0) column
# whose exact sum is beyond 128 bits (two values of 10^38 - 1).
#
# Guess: pyarrow wraps or widens; polars wraps; DuckDB raises.
# Seen:  pyarrow wraps to a negative number without a word; polars and DuckDB raise.
# So a sum of decimals is silently wrong in one engine, and whether it fails depends on the
# values in the others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1
cat >"$folder/seen.py" <<'PY'
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

people = pa.table({"x": pa.array([Decimal(10**38 - 1)] * 2, pa.decimal128(38, 0))})


def outcome(call):
    try:
        return "negative" if call() < 0 else "positive"
    except Exception as error:
        return type(error).__name__


print("pyarrow:", outcome(lambda: pc.sum(people["x"]).as_py()))
print("polars:", outcome(lambda: pl.from_arrow(people)["x"].sum()))
print("DuckDB:", outcome(lambda: duckdb.sql("select sum(x) from people").fetchall()[0][0]))
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
pyarrow: negative
polars: ComputeError
DuckDB: OutOfRangeException
SEEN
