#!/usr/bin/env bash
# pandas 3.1.1 and duckdb 2.0.1: a CSV file read with `decimal=","` and `thousands="."`.
#
# Guess: 1.234,5 is 1234.5; 1.5 and the date 05.01.2026 have no groups of three digits, and are no
#        numbers with these signs: missing, or text, or an error.
# Seen:  both remove the sign wherever it stands: 1.5 is 15.0, and in pandas a column of dates is one
#        of integers, 5012026.  Neither warns.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 pandas==3.1.1
cd "$folder" && venv/bin/python - <<'PYTHON'
import duckdb
import pandas as pd

with open("t.csv", "w") as file:
    file.write("x;day\n1.234,5;05.01.2026\n1.5;06.01.2026\n")
table = pd.read_csv("t.csv", sep=";", decimal=",", thousands=".")
x = "select x from read_csv('t.csv', delim=';', decimal_separator=',', thousands='.')"
found = table["x"].tolist(), table["day"].tolist(), [row[0] for row in duckdb.sql(x).fetchall()]
print(pd.__version__, duckdb.__version__, found)
assert found == ([1234.5, 15.0], [5012026, 6012026], [1234.5, 15.0]), found
PYTHON
