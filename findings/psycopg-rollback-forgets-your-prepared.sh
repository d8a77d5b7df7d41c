#!/bin/bash
# psycopg 3.3.9: after a rollback a connection has the server forget every prepared statement of the
# session, also those that the program prepared itself with SQL's PREPARE.
#
# Guess: psycopg names the statements that it prepares (`_pg3_0`) and forgets those; PostgreSQL keeps
# prepared statements over a rollback, so `EXECUTE mine` goes on working.
# Seen: it works after a rollback as long as psycopg has prepared nothing itself.  Once it has (a
# query with `prepare=True`, or any that was run five times), it sends DEALLOCATE ALL with the first
# query that it may prepare after a rollback, and `EXECUTE mine` fails: the prepared statement does
# not exist.  With `prepare_threshold=None` it is kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "psycopg[binary]==3.3.9" pgserver==0.1.4
cd "$folder"
cat >ask.py <<'PY'
import tempfile

import pgserver
import psycopg


def still_there(address, threshold, times):
    """Whether PREPARE mine lives after a rollback, where a query ran so often before."""
    with psycopg.connect(address, prepare_threshold=threshold) as connection:
        connection.execute("PREPARE mine AS SELECT 1")
        connection.commit()
        for _ in range(times):
            connection.execute("SELECT 2 + %s", [1])
        connection.rollback()
        connection.execute("SELECT 3 + %s", [1])
        names = connection.execute("SELECT name FROM pg_prepared_statements").fetchall()
        connection.rollback()
        return ("mine",) in names


with pgserver.get_server(tempfile.mkdtemp()) as server:
    print("psycopg", psycopg.__version__)
    seen = {}
    for threshold, times in ((5, 0), (5, 20), (None, 20)):
        seen[threshold, times] = still_there(server.get_uri(), threshold, times)
        print(f"prepare_threshold={threshold}, a query {times} times, a rollback: mine is",
              "there" if seen[threshold, times] else "gone")
assert seen == {(5, 0): True, (5, 20): False, (None, 20): True}, "changed"
PY
venv/bin/python ask.py
