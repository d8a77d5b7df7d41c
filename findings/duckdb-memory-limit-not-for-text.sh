#!/usr/bin/env bash
# duckdb 2.0.1 (Python 3.11): memory_limit, and a query that makes a long text.
#
# Guess: a query that needs more than the limit fails with an OutOfMemoryException.
# Seen:  with memory_limit = 64MB, length(repeat('x', 500000000)) is answered, and the process
#        has held about a gigabyte: texts of expressions are not counted.
# So a limit on memory does not bound a query of someone else; its functions must be chosen too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1
"$folder/venv/bin/python" - <<'PY'
import resource

import duckdb

connection = duckdb.connect(":memory:", config={"memory_limit": "64MB", "threads": 1})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
(length,) = connection.execute("select length(repeat('x', 500000000))").fetchone()
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(f"limit 64 MB; a text of {length:,} bytes; resident before {before} MB, at most {after} MB")
assert length == 500_000_000
assert after - before > 400
PY
