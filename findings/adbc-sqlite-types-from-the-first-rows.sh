#!/usr/bin/env bash
# adbc-driver-sqlite 1.13.0 (Python 3.11): the Arrow type of a column that is declared INTEGER.
#
# Guess: int64, and an error where a row has another type.
# Seen:  the rows of the first batch decide (SQLite stores any type in any column).  One text
#        among the first rows makes the column text; one fraction makes it double; a fraction
#        after the first batch raises an error that all rows before it did not.
# So one row decides how all others are read, and a late row decides whether there is an answer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  adbc-driver-sqlite==1.13.0 adbc-driver-manager==1.13.0 pyarrow==26.0.1
cat >"$folder/seen.py" <<'PY'
import sqlite3
import sys

import adbc_driver_sqlite.dbapi as adbc


def column(odd, at, rows=3000):
    path = f"{sys.argv[1]}/{at}-{type(odd).__name__}.db"
    with sqlite3.connect(path) as database:
        database.execute("create table t (x integer)")
        database.executemany("insert into t values (?)", [(odd if i == at else i,) for i in range(rows)])
    database.close()
    with adbc.connect(path) as connection, connection.cursor() as cursor:
        try:
            cursor.execute("select x from t")
            return str(cursor.fetch_arrow_table().schema.field("x").type)
        except Exception as error:
            return f"{type(error).__name__} when read"


print("all integers:", column(7, 0))
print("one text in row 501:", column("none", 500))
print("one fraction in row 501:", column(0.5, 500))
print("one fraction in row 2001:", column(0.5, 2000))
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" "$folder" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
all integers: int64
one text in row 501: string
one fraction in row 501: double
one fraction in row 2001: OSError when read
SEEN
