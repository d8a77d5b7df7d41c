#!/bin/bash
# adbc-driver-postgresql 1.13.0: dates and times without an end, `infinity`, arrive as the earliest of
# all.
#
# Guess: an error that the value is out of range (microseconds since 1970 have no infinity), or a
# missing value.
# Seen: no error.  The days and microseconds that PostgreSQL counts from 2000 are moved to 1970 past
# the end of the integer, so `infinity` of a date is 5.9 million years before 1970, one day *before*
# `-infinity`; a contract that ends never has ended before all others, and a filter `end > today`
# drops it.  The same happens to `infinity` of a timestamp, and to one of PostgreSQL's last year,
# 294276.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q adbc-driver-postgresql==1.13.0 adbc-driver-manager==1.13.0 \
    pyarrow==26.0.1 pgserver==0.1.4
cd "$folder"
cat >ask.py <<'PY'
import tempfile

import adbc_driver_postgresql
import adbc_driver_postgresql.dbapi
import pgserver
import pyarrow as pa

VALUES = {
    "date 'infinity'": pa.int32(),
    "date '-infinity'": pa.int32(),
    "timestamp 'infinity'": pa.int64(),
    "timestamp '294276-12-31'": pa.int64(),
}
print("adbc-driver-postgresql", adbc_driver_postgresql.__version__)
with pgserver.get_server(tempfile.mkdtemp()) as server:
    with adbc_driver_postgresql.dbapi.connect(server.get_uri()) as connection:
        seen = {}
        for value, counted in VALUES.items():
            with connection.cursor() as cursor:
                cursor.execute(f"select {value} as it")
                column = cursor.fetch_arrow_table().column(0)
            seen[value] = column.cast(counted)[0].as_py()
            print(value, "is", column.type, seen[value])
assert list(seen.values()) == [
    -2147472692, -2147472691, -9222425352054775809, -9222426144109551616,
], "changed"
PY
venv/bin/python ask.py
